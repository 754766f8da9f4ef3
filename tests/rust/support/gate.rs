//! A local folder in which creating a segment blocks or fails, as the test decides.

use std::sync::{Arc, Condvar, Mutex};

use spanwise::error::{Error, Result};
use spanwise::storage::objects::{ObjectWriter, Objects};
use spanwise::storage::{LocalFolder, Options, TraceStore};
use tempfile::TempDir;

use super::layer::{Intercept, Layer};

/// The effect of creating a segment file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gate {
    Open,
    /// Flushes and merges wait.
    Closed,
    /// Merges wait, flushes do not.
    ClosedToMerges,
    /// Creating the file fails.
    Broken,
}

/// Blocks or fails the creation of segments while the gate is not open.
#[derive(Debug)]
pub(crate) struct Gated {
    gate: Mutex<Gate>,
    changed: Condvar,
}

impl Gated {
    fn set(&self, gate: Gate) {
        *self.gate.lock().expect("a sound lock") = gate;
        self.changed.notify_all();
    }
}

impl Intercept for Gated {
    fn create(&self, inner: &dyn Objects, path: &str) -> Result<Box<dyn ObjectWriter>> {
        let gate = self.gate.lock().expect("a sound lock");
        let gate = self.changed.wait_while(gate, |gate| blocks(*gate)).expect("a sound lock");
        if *gate == Gate::Broken {
            return Err(Error::storage(path, "no space is left"));
        }
        inner.create(path)
    }
}

fn blocks(gate: Gate) -> bool {
    let is_merging = std::thread::current().name() == Some("spanwise-merge");
    gate == Gate::Closed || (gate == Gate::ClosedToMerges && is_merging)
}

/// A local folder behind a gate.
pub(crate) type GatedFolder = Layer<Gated, LocalFolder>;

impl GatedFolder {
    /// Opens, closes or breaks the gate.
    pub(crate) fn set_gate(&self, gate: Gate) {
        self.intercept.set(gate);
    }
}

/// Opens a store in a new folder behind a gate.
pub(crate) fn gated_store(gate: Gate) -> (TempDir, Arc<GatedFolder>, TraceStore) {
    let folder = TempDir::new().expect("a folder");
    let inner = LocalFolder::open_or_create(folder.path()).expect("a folder");
    let objects = Layer { intercept: Gated { gate: Mutex::new(gate), changed: Condvar::new() }, inner };
    let objects = Arc::new(objects);
    let store = TraceStore::open_in(objects.clone(), Options::default()).expect("a store");
    (folder, objects, store)
}
