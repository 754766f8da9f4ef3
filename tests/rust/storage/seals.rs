//! While a generation is sealed the store goes on, and a seal that fails loses nothing.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use bytes::Bytes;
use spanwise::error::{Error, Result};
use spanwise::storage::objects::{Listed, ObjectReader, ObjectWriter, Objects, PutFault};
use spanwise::storage::{Folder, Options, TraceStore};
use tempfile::TempDir;

use super::contents::{contents, crashed, open};
use crate::spans::{export, span};

/// What becomes of a segment that is begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gate {
    Open,
    /// Whoever begins a segment waits.
    Closed,
    /// No segment can be begun.
    Broken,
}

/// A folder in which segments are begun only if a gate is open.
#[derive(Debug)]
struct Gated {
    folder: Folder,
    gate: Mutex<Gate>,
    turned: Condvar,
}

impl Gated {
    fn turn(&self, gate: Gate) {
        *self.gate.lock().expect("a sound lock") = gate;
        self.turned.notify_all();
    }
}

impl Objects for Gated {
    fn put_new(&self, path: &str, content: Bytes) -> std::result::Result<(), PutFault> {
        self.folder.put_new(path, content)
    }

    fn get(&self, path: &str) -> Result<Option<Bytes>> {
        self.folder.get(path)
    }

    fn list(&self, folder: &str) -> Result<Vec<Listed>> {
        self.folder.list(folder)
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.folder.delete(path)
    }

    fn create(&self, path: &str) -> Result<Box<dyn ObjectWriter>> {
        let gate = self.gate.lock().expect("a sound lock");
        let gate = self.turned.wait_while(gate, |gate| *gate == Gate::Closed).expect("a sound lock");
        if *gate == Gate::Broken {
            return Err(Error::storage(path, "no space is left"));
        }
        self.folder.create(path)
    }

    fn open(&self, path: &str) -> Result<Arc<dyn ObjectReader>> {
        self.folder.open(path)
    }
}

fn gated(gate: Gate) -> (TempDir, Arc<Gated>, TraceStore) {
    let folder = TempDir::new().expect("a folder");
    let local = Folder::prepared(folder.path()).expect("a folder");
    let objects = Arc::new(Gated { folder: local, gate: Mutex::new(gate), turned: Condvar::new() });
    let store = TraceStore::open_in(objects.clone(), Options::default()).expect("a store");
    (folder, objects, store)
}

/// Waits for what another thread brings about.
fn wait_until(is_so: impl Fn() -> bool) {
    for _ in 0..10_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("waited in vain");
}

#[test]
fn spans_that_come_while_a_generation_is_sealed_stay_when_it_is() {
    let (folder, objects, store) = gated(Gate::Open);
    store.ingest(export(&[span(1, 1, 0), span(2, 1, 0), span(3, 1, 0)])).expect("ingested");
    store.flush().expect("flushed");
    store.ingest(export(&[span(1, 2, 0), span(4, 1, 0)])).expect("ingested");
    objects.turn(Gate::Closed);
    let flushing = std::thread::spawn({
        let store = store.clone();
        move || store.flush()
    });
    wait_until(|| store.stats().generations == 2);
    // One trace of the generation that is being sealed, one of the segment before, one new.
    store.ingest(export(&[span(1, 3, 0), span(2, 2, 0), span(5, 1, 0)])).expect("ingested");
    let before = contents(&store.snapshot());
    assert_eq!(before.len(), 5);
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), before);
    objects.turn(Gate::Open);
    flushing.join().expect("a sound thread").expect("flushed");
    assert_eq!(store.stats().segments, 2);
    assert_eq!(contents(&store.snapshot()), before);
    // Only what the second segment superseded may be hidden durably: the rest is replayed.
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), before);
    store.flush().expect("flushed");
    assert_eq!(contents(&store.snapshot()), before);
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), before);
}

#[test]
fn a_seal_that_fails_is_named_and_tried_again() {
    let (folder, objects, store) = gated(Gate::Broken);
    store.ingest(export(&[span(1, 1, 0)])).expect("ingested");
    assert!(matches!(store.flush(), Err(Error::Storage { .. })));
    let fault = store.stats().seal_fault.expect("a fault");
    assert!(fault.ends_with("no space is left"), "{fault}");
    store.ingest(export(&[span(1, 2, 0), span(2, 1, 0)])).expect("the store goes on");
    let before = contents(&store.snapshot());
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), before);
    objects.turn(Gate::Open);
    store.flush().expect("flushed");
    assert_eq!(store.stats().seal_fault, None);
    assert_eq!(store.stats().segments, 2);
    assert_eq!(contents(&store.snapshot()), before);
    store.close().expect("closed");
    assert_eq!(contents(&open(&folder).snapshot()), before);
}
