//! A folder in which segments are begun only if a gate is open.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use bytes::Bytes;
use spanwise::error::{Error, Result};
use spanwise::storage::objects::{ListedObject, ObjectReader, ObjectWriter, Objects, PutError, PutPayload};
use spanwise::storage::{LocalFolder, Options, TraceStore};
use tempfile::TempDir;

/// What becomes of a segment that is begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gate {
    Open,
    /// Whoever begins a segment waits.
    Closed,
    /// Merges wait, seals do not.
    ClosedToMerges,
    /// No segment can be begun.
    Broken,
}

/// A folder in which segments are begun only if a gate is open.
#[derive(Debug)]
pub(super) struct Gated {
    folder: LocalFolder,
    gate: Mutex<Gate>,
    turned: Condvar,
}

impl Gated {
    pub(super) fn turn(&self, gate: Gate) {
        *self.gate.lock().expect("a sound lock") = gate;
        self.turned.notify_all();
    }
}

impl Objects for Gated {
    fn put_new(&self, path: &str, content: PutPayload) -> std::result::Result<(), PutError> {
        self.folder.put_new(path, content)
    }

    fn get(&self, path: &str) -> Result<Option<Bytes>> {
        self.folder.get(path)
    }

    fn list(&self, folder: &str) -> Result<Vec<ListedObject>> {
        self.folder.list(folder)
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.folder.delete(path)
    }

    fn create(&self, path: &str) -> Result<Box<dyn ObjectWriter>> {
        let gate = self.gate.lock().expect("a sound lock");
        let gate = self.turned.wait_while(gate, |gate| waits_at(*gate)).expect("a sound lock");
        if *gate == Gate::Broken {
            return Err(Error::storage(path, "no space is left"));
        }
        self.folder.create(path)
    }

    fn open(&self, path: &str) -> Result<Arc<dyn ObjectReader>> {
        self.folder.open(path)
    }
}

fn waits_at(gate: Gate) -> bool {
    let is_merging = std::thread::current().name() == Some("spanwise-merge");
    gate == Gate::Closed || (gate == Gate::ClosedToMerges && is_merging)
}

/// Opens a store behind a gate.
pub(super) fn gated(gate: Gate) -> (TempDir, Arc<Gated>, TraceStore) {
    let folder = TempDir::new().expect("a folder");
    let local = LocalFolder::open_or_create(folder.path()).expect("a folder");
    let objects = Arc::new(Gated { folder: local, gate: Mutex::new(gate), turned: Condvar::new() });
    let store = TraceStore::open_in(objects.clone(), Options::default()).expect("a store");
    (folder, objects, store)
}

/// Waits for what another thread brings about.
pub(super) fn wait_until(is_so: impl Fn() -> bool) {
    for _ in 0..10_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("waited in vain");
}
