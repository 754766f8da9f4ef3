//! One writer: whoever claims a store makes the writer before stop, and nothing acknowledged is lost.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};

use bytes::Bytes;
use spanwise::error::{Error, Result};
use spanwise::storage::objects::{ListedObject, ObjectReader, ObjectWriter, Objects, PutError, PutPayload};
use spanwise::storage::{LocalFolder, Options, TraceStore};
use tempfile::TempDir;

use super::contents::{contents, id_of, traces_in};
use crate::memory::Memory;
use crate::spans::{export, span};

/// Opens the store without its lock, as a second machine over one object store would.
fn claim(folder: &TempDir) -> TraceStore {
    let objects = LocalFolder::open_or_create(folder.path()).expect("a folder");
    TraceStore::open_in(Arc::new(objects), Options::default()).expect("a store that opens")
}

#[test]
fn a_writer_that_was_replaced_stops_and_searches_go_on() {
    for seals_first in [false, true] {
        let folder = TempDir::new().expect("a folder");
        let first = claim(&folder);
        first.ingest(export(&[span(1, 1, 0)])).expect("ingested");
        let second = claim(&folder);
        second.ingest(export(&[span(2, 1, 0)])).expect("ingested");
        if seals_first {
            second.flush().expect("the write-ahead objects are gone, but not the fence");
            second.ingest(export(&[span(3, 1, 0)])).expect("ingested");
        }
        assert!(matches!(first.ingest(export(&[span(4, 1, 0)])), Err(Error::Stopped(_))));
        assert!(matches!(first.ingest(export(&[span(4, 1, 0)])), Err(Error::Stopped(_))));
        assert!(matches!(first.flush(), Err(Error::Stopped(_))));
        let stats = first.stats();
        assert!(!stats.is_acknowledging);
        assert!(stats.stopped.is_some_and(|reason| reason.contains("another writer holds the store")));
        assert_eq!(contents(&first.snapshot()).len(), 1);
        second.ingest(export(&[span(1, 2, 0)])).expect("ingested");
        let before = contents(&second.snapshot());
        assert_eq!(before.len(), 2 + usize::from(seals_first));
        drop((first, second));
        assert_eq!(contents(&claim(&folder).snapshot()), before);
    }
}

#[test]
fn a_writer_that_was_replaced_cannot_seal() {
    let folder = TempDir::new().expect("a folder");
    let first = claim(&folder);
    first.ingest(export(&[span(1, 1, 0)])).expect("ingested");
    let second = claim(&folder);
    assert!(matches!(first.flush(), Err(Error::Stopped(_))));
    second.flush().expect("flushed");
    assert_eq!(contents(&second.snapshot()).len(), 1);
    drop((first, second));
    assert_eq!(contents(&claim(&folder).snapshot()).len(), 1);
}

/// Opens the store in a place that many machines share.
fn claim_in(memory: &Memory) -> TraceStore {
    TraceStore::open_in(Arc::new(memory.clone()), Options::default()).expect("a store that opens")
}

/// Two traces, each in a segment of its own, and a third that is in the write-ahead only.
fn filled(memory: &Memory) -> TraceStore {
    let store = claim_in(memory);
    for trace in 1..=2 {
        store.ingest(export(&[span(trace, 1, 0)])).expect("ingested");
        store.flush().expect("flushed");
    }
    store.ingest(export(&[span(3, 1, 0)])).expect("ingested");
    store
}

#[test]
fn a_writer_that_was_replaced_twice_or_more_changes_nothing() {
    type Attempt = fn(&TraceStore) -> bool;
    let attempts: [(&str, Attempt); 4] = [
        ("ingest", |first| matches!(first.ingest(export(&[span(9, 1, 0)])), Err(Error::Stopped(_)))),
        ("flush", |first| matches!(first.flush(), Err(Error::Stopped(_)))),
        ("delete", |first| matches!(first.delete(&traces_in(&[1]), false), Err(Error::Stopped(_)))),
        ("compact", |first| matches!(first.compact(true), Err(Error::Stopped(_)))),
    ];
    for (what, attempt) in attempts {
        for claims in 1..=3 {
            let memory = Memory::default();
            let first = filled(&memory);
            let mut others: Vec<_> = (0..claims).map(|_| claim_in(&memory)).collect();
            let last = others.pop().expect("a store");
            // Everything is folded, so every number that is not kept is gone.
            last.flush().expect("flushed");
            last.ingest(export(&[span(4, 1, 0)])).expect("ingested");
            last.flush().expect("flushed");
            let held = contents(&last.snapshot());
            assert!(attempt(&first), "{what} after {claims} claims");
            for other in &others {
                assert!(attempt(other), "{what} of another after {claims} claims");
            }
            last.ingest(export(&[span(5, 1, 0)])).expect("the last one goes on");
            last.flush().expect("flushed");
            drop((first, others, last));
            let found = contents(&claim_in(&memory).snapshot());
            assert_eq!(found.len(), 5, "{what} after {claims} claims");
            assert!(held.iter().all(|(id, trace)| found.get(id) == Some(trace)), "{what} after {claims}");
        }
    }
}

/// A place in which two others claim the store while a manifest is put: the first has the number, and
/// the second removes it.
#[derive(Debug)]
struct Contested {
    memory: Memory,
    is_contested: AtomicBool,
}

impl Objects for Contested {
    fn put_new(&self, path: &str, content: PutPayload) -> std::result::Result<(), PutError> {
        if !path.starts_with("manifest/") || !self.is_contested.swap(false, Ordering::Relaxed) {
            return self.memory.put_new(path, content);
        }
        drop(claim_in(&self.memory));
        let outcome = self.memory.put_new(path, content);
        drop(claim_in(&self.memory));
        outcome
    }

    fn get(&self, path: &str) -> Result<Option<Bytes>> {
        self.memory.get(path)
    }

    fn list(&self, folder: &str) -> Result<Vec<ListedObject>> {
        self.memory.list(folder)
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.memory.delete(path)
    }

    fn create(&self, path: &str) -> Result<Box<dyn ObjectWriter>> {
        self.memory.create(path)
    }

    fn open(&self, path: &str) -> Result<Arc<dyn ObjectReader>> {
        self.memory.open(path)
    }
}

#[test]
fn a_claim_whose_number_was_taken_and_let_go_takes_another() {
    let memory = Memory::default();
    drop(filled(&memory));
    let held = contents(&claim_in(&memory).snapshot());
    let contested = Contested { memory: memory.clone(), is_contested: AtomicBool::new(true) };
    let store = TraceStore::open_in(Arc::new(contested), Options::default()).expect("a store that opens");
    store.ingest(export(&[span(4, 1, 0)])).expect("ingested");
    let found = contents(&store.snapshot());
    assert!(held.iter().all(|(id, trace)| found.get(id) == Some(trace)));
    assert_eq!(found.len(), held.len() + 1);
}

#[test]
fn of_many_that_open_at_once_at_most_one_acknowledges_and_nothing_acknowledged_is_lost() {
    for round in 0..5_u64 {
        let memory = Memory::default();
        drop(filled(&memory));
        let acknowledged = Mutex::new(vec![1, 2, 3]);
        let all_are_open = Barrier::new(8);
        let at_the_end = std::thread::scope(|scope| {
            let open = |number: u64| {
                let (memory, acknowledged, all_are_open) = (memory.clone(), &acknowledged, &all_are_open);
                scope.spawn(move || {
                    let opened = TraceStore::open_in(Arc::new(memory), Options::default());
                    let ingest = |trace: u64| {
                        let store = opened.as_ref().ok()?;
                        store.ingest(export(&[span(trace, 1, 0)])).ok()?;
                        acknowledged.lock().expect("a sound lock").push(trace);
                        Some(())
                    };
                    for trace in 0..4 {
                        let _replaced = ingest(100 + 10 * number + trace);
                        let _replaced = opened.as_ref().map(TraceStore::flush);
                    }
                    all_are_open.wait();
                    assert!(matches!(&opened, Ok(_) | Err(Error::Locked(_))), "{opened:?}");
                    ingest(1_000 + number).is_some()
                })
            };
            let threads: Vec<_> = (0..8).map(open).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
        });
        assert_eq!(at_the_end.iter().filter(|is_writer| **is_writer).count(), 1, "round {round}");
        let held = contents(&claim_in(&memory).snapshot());
        for trace in acknowledged.into_inner().expect("a sound lock") {
            assert!(held.contains_key(&id_of(trace)), "round {round}: trace {trace} is lost");
        }
    }
}
