//! One writer: claiming a store stops the previous writer, and no acknowledged data is lost.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

use spanwise::error::Error;
use spanwise::storage::objects::{ListedObject, Objects, PutError, PutPayload};
use spanwise::storage::{LocalFolder, Options, TraceStore};
use tempfile::TempDir;

use crate::support::contents::{contents, id_of, traces_in};
use crate::support::layer::{Intercept, Layer};
use crate::support::memory::Memory;
use crate::support::spans::{request, span};

/// Opens the store without its lock, as a second machine on the same object store would.
fn claim(folder: &TempDir) -> TraceStore {
    let objects = LocalFolder::open_or_create(folder.path()).expect("a folder");
    TraceStore::open_in(Arc::new(objects), Options::default()).expect("a store that opens")
}

#[test]
fn a_replaced_writer_acknowledges_and_answers_nothing_more() {
    for flushes_first in [false, true] {
        let folder = TempDir::new().expect("a folder");
        let first = claim(&folder);
        first.ingest(request(&[span(1, 1, 0)])).expect("ingested");
        let second = claim(&folder);
        second.ingest(request(&[span(2, 1, 0)])).expect("ingested");
        if flushes_first {
            second.flush().expect("removes the write-ahead objects, but not the fence");
            second.ingest(request(&[span(3, 1, 0)])).expect("ingested");
        }
        assert!(matches!(first.ingest(request(&[span(4, 1, 0)])), Err(Error::Stopped(_))));
        assert!(matches!(first.ingest(request(&[span(4, 1, 0)])), Err(Error::Stopped(_))));
        assert!(matches!(first.flush(), Err(Error::Stopped(_))));
        let stats = first.stats();
        assert!(!stats.is_acknowledging);
        assert!(stats.stopped.is_some_and(|reason| reason.contains("another writer holds the store")));
        // Immediately, before the next check of the claim.
        assert!(matches!(first.present(), Err(Error::Stopped(_))));
        assert!(matches!(first.delete(&traces_in(&[1]), true), Err(Error::Stopped(_))));
        second.ingest(request(&[span(1, 2, 0)])).expect("ingested");
        let before = contents(&second.snapshot());
        assert_eq!(before.len(), 2 + usize::from(flushes_first));
        drop((first, second));
        assert_eq!(contents(&claim(&folder).snapshot()), before);
    }
}

/// Returns the time until `store` stops answering.
fn time_until_it_stops(store: &TraceStore) -> Duration {
    let began = Instant::now();
    while store.present().is_ok() {
        assert!(began.elapsed() < Duration::from_secs(60), "it still answers");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(matches!(store.present(), Err(Error::Stopped(_))), "{:?}", store.present());
    assert!(store.stats().holding_error.is_some());
    began.elapsed()
}

#[test]
fn a_replaced_writer_that_nobody_writes_to_stops_answering() {
    let memory = Memory::default();
    let first = filled(&memory);
    let second = claim_in(&memory);
    time_until_it_stops(&first);
    assert!(matches!(first.ingest(request(&[span(9, 1, 0)])), Err(Error::Stopped(_))));
    assert_eq!(contents(&second.present().expect("the holder answers")).len(), 3);
}

#[test]
fn a_store_whose_folder_was_moved_stops_answering() {
    for is_replaced in [false, true] {
        let parent = TempDir::new().expect("a folder");
        let (place, elsewhere) = (parent.path().join("traces"), parent.path().join("elsewhere"));
        let address = |path: &Path| path.to_str().expect("UTF-8").to_owned();
        let store = TraceStore::open(&address(&place), Options::default()).expect("a store");
        store.ingest(request(&[span(1, 1, 0)])).expect("ingested");
        std::fs::rename(&place, &elsewhere).expect("moved");
        let other = is_replaced
            .then(|| TraceStore::open(&address(&place), Options::default()).expect("another store"));
        time_until_it_stops(&store);
        assert!(matches!(store.ingest(request(&[span(2, 1, 0)])), Err(Error::Stopped(_))));
        drop((store, other));
        let found = TraceStore::open(&address(&elsewhere), Options::default()).expect("the store");
        assert_eq!(contents(&found.snapshot()).len(), 1);
    }
}

/// Object storage that temporarily cannot be listed.
#[derive(Debug, Default)]
struct Unreachable(Arc<AtomicBool>);

impl Intercept for Unreachable {
    fn list(&self, inner: &dyn Objects, folder: &str) -> spanwise::error::Result<Vec<ListedObject>> {
        if self.0.load(Ordering::Relaxed) {
            return Err(Error::Storage { object: folder.into(), message: "no route to the bucket".into() });
        }
        inner.list(folder)
    }
}

#[test]
fn a_writer_that_cannot_look_at_its_claim_answers_nothing_until_it_can() {
    let is_away = Arc::new(AtomicBool::new(false));
    let unreachable = Layer { intercept: Unreachable(is_away.clone()), inner: Memory::default() };
    let store = TraceStore::open_in(Arc::new(unreachable), Options::default()).expect("a store that opens");
    store.ingest(request(&[span(1, 1, 0)])).expect("ingested");
    is_away.store(true, Ordering::Relaxed);
    while store.stats().holding_error.is_none() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let error = store.present().expect_err("nobody can tell who holds the store");
    assert!(matches!(&error, Error::Busy(why) if why.contains("no route to the bucket")), "{error}");
    is_away.store(false, Ordering::Relaxed);
    assert_eq!(contents(&store.present().expect("it answers again")).len(), 1);
}

#[test]
fn a_replaced_writer_cannot_flush() {
    let folder = TempDir::new().expect("a folder");
    let first = claim(&folder);
    first.ingest(request(&[span(1, 1, 0)])).expect("ingested");
    let second = claim(&folder);
    assert!(matches!(first.flush(), Err(Error::Stopped(_))));
    second.flush().expect("flushed");
    assert_eq!(contents(&second.snapshot()).len(), 1);
    drop((first, second));
    assert_eq!(contents(&claim(&folder).snapshot()).len(), 1);
}

/// Opens the store in object storage that several machines share.
fn claim_in(memory: &Memory) -> TraceStore {
    TraceStore::open_in(Arc::new(memory.clone()), Options::default()).expect("a store that opens")
}

/// Returns a store with two traces in a segment each, and a third in the write-ahead log only.
fn filled(memory: &Memory) -> TraceStore {
    let store = claim_in(memory);
    for trace in 1..=2 {
        store.ingest(request(&[span(trace, 1, 0)])).expect("ingested");
        store.flush().expect("flushed");
    }
    store.ingest(request(&[span(3, 1, 0)])).expect("ingested");
    store
}

#[test]
fn a_writer_that_was_replaced_several_times_changes_nothing() {
    type Attempt = fn(&TraceStore) -> bool;
    let attempts: [(&str, Attempt); 4] = [
        ("ingest", |first| matches!(first.ingest(request(&[span(9, 1, 0)])), Err(Error::Stopped(_)))),
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
            // Everything is flushed, so only the numbers of fences remain.
            last.flush().expect("flushed");
            last.ingest(request(&[span(4, 1, 0)])).expect("ingested");
            last.flush().expect("flushed");
            let held = contents(&last.snapshot());
            assert!(attempt(&first), "{what} after {claims} claims");
            for other in &others {
                assert!(attempt(other), "{what} of another after {claims} claims");
            }
            last.ingest(request(&[span(5, 1, 0)])).expect("the last writer continues");
            last.flush().expect("flushed");
            drop((first, others, last));
            let found = contents(&claim_in(&memory).snapshot());
            assert_eq!(found.len(), 5, "{what} after {claims} claims");
            assert!(held.iter().all(|(id, trace)| found.get(id) == Some(trace)), "{what} after {claims}");
        }
    }
}

/// Claims the store twice while a manifest is put: the first claim uses the manifest's number, and the second removes
/// it again.
#[derive(Debug)]
struct ConcurrentClaims {
    memory: Memory,
    is_armed: AtomicBool,
}

impl Intercept for ConcurrentClaims {
    fn put_new(
        &self,
        inner: &dyn Objects,
        path: &str,
        content: PutPayload,
    ) -> std::result::Result<(), PutError> {
        if !path.starts_with("manifest/") || !self.is_armed.swap(false, Ordering::Relaxed) {
            return inner.put_new(path, content);
        }
        drop(claim_in(&self.memory));
        let outcome = inner.put_new(path, content);
        drop(claim_in(&self.memory));
        outcome
    }
}

#[test]
fn a_claim_whose_number_was_used_and_removed_uses_another() {
    let memory = Memory::default();
    drop(filled(&memory));
    let held = contents(&claim_in(&memory).snapshot());
    let intercept = ConcurrentClaims { memory: memory.clone(), is_armed: AtomicBool::new(true) };
    let contested = Layer { intercept, inner: memory };
    let store = TraceStore::open_in(Arc::new(contested), Options::default()).expect("a store that opens");
    store.ingest(request(&[span(4, 1, 0)])).expect("ingested");
    let found = contents(&store.snapshot());
    assert!(held.iter().all(|(id, trace)| found.get(id) == Some(trace)));
    assert_eq!(found.len(), held.len() + 1);
}

#[test]
fn of_many_concurrent_writers_one_remains_and_nothing_acknowledged_is_lost() {
    for round in 0..5_u64 {
        let memory = Memory::default();
        drop(filled(&memory));
        let acknowledged = Mutex::new(vec![1, 2, 3]);
        let all_are_open = Barrier::new(8);
        let remaining = std::thread::scope(|scope| {
            let open = |number: u64| {
                let (memory, acknowledged, all_are_open) = (memory.clone(), &acknowledged, &all_are_open);
                scope.spawn(move || {
                    let opened = TraceStore::open_in(Arc::new(memory), Options::default());
                    let ingest = |trace: u64| {
                        let store = opened.as_ref().ok()?;
                        store.ingest(request(&[span(trace, 1, 0)])).ok()?;
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
        assert_eq!(remaining.iter().filter(|is_writer| **is_writer).count(), 1, "round {round}");
        let held = contents(&claim_in(&memory).snapshot());
        for trace in acknowledged.into_inner().expect("a sound lock") {
            assert!(held.contains_key(&id_of(trace)), "round {round}: trace {trace} is lost");
        }
    }
}
