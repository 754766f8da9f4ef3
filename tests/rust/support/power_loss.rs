//! Object storage that loses power: only synced data is sure to survive.
//!
//! An object is durable after its put or its `finish` returns. Any part of the other data may survive, in any
//! order. A put or a stream in progress may leave nothing, everything or a part, and a removed object may
//! reappear.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use spanwise::error::{Error, Result};
use spanwise::storage::objects::{ListedObject, ObjectReader, ObjectWriter, Objects, PutError, PutPayload};

use super::memory::Memory;
use super::random::Random;

/// The accident at one of the storage operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Accident {
    /// The power fails during the operation.
    PowerLoss,
    /// The sync of the operation fails, if it has one. After that, all syncs fail.
    FailedSync,
}

/// The objects of a machine with an unreliable power supply. Clones share the same machine.
#[derive(Debug, Clone)]
pub(crate) struct UnreliableObjects {
    machine: Arc<Mutex<Machine>>,
    /// The objects that the running program sees.
    visible: Memory,
}

struct Machine {
    durable: BTreeMap<String, Bytes>,
    /// Removed objects whose removal was not synced.
    removed: Vec<String>,
    /// Unfinished objects, and their written content.
    unfinished: BTreeMap<String, Vec<u8>>,
    random: Random,
    accident: Accident,
    /// The number of operations until the accident.
    remaining: u64,
    is_off: bool,
    has_failed_sync: bool,
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Machine")
    }
}

/// The outcome of an operation.
#[derive(PartialEq, Eq)]
enum Fate {
    Done,
    NotSynced,
    Off,
}

impl Machine {
    /// Counts an operation. `has_sync`: it is durable only if its sync succeeds.
    fn next(&mut self, has_sync: bool) -> Fate {
        if self.is_off {
            return Fate::Off;
        }
        self.remaining = self.remaining.saturating_sub(1);
        if self.remaining == 0 && self.accident == Accident::PowerLoss {
            self.is_off = true;
            return Fate::Off;
        }
        self.has_failed_sync |= self.remaining == 0 && has_sync;
        if self.has_failed_sync && has_sync { Fate::NotSynced } else { Fate::Done }
    }

    /// Keeps none, all or a part of an unsynced object.
    fn keep_some(&mut self, path: &str, content: &[u8]) {
        let below = self.random.below(content.len() as u64 + 1);
        let length = usize::try_from(below).expect("at most the length");
        let kept = match self.random.below(4) {
            0 => return,
            1 => content.to_vec(),
            2 => content[..length].to_vec(),
            // The size was written, the rest was not.
            _ => [&content[..length], &vec![0; content.len() - length]].concat(),
        };
        self.durable.insert(path.to_owned(), kept.into());
    }
}

impl UnreliableObjects {
    /// Returns a machine with these objects, all durable. The accident happens after this many operations.
    pub(crate) fn new(
        durable: BTreeMap<String, Bytes>,
        seed: u64,
        accident: Accident,
        remaining: u64,
    ) -> Self {
        let visible = Memory::default();
        for (path, content) in &durable {
            visible.set(path, content.to_vec());
        }
        let machine = Machine {
            durable,
            removed: Vec::new(),
            unfinished: BTreeMap::new(),
            random: Random::new(seed),
            accident,
            remaining,
            is_off: false,
            has_failed_sync: false,
        };
        Self { machine: Arc::new(Mutex::new(machine)), visible }
    }

    /// Returns the same machine, but with indexes of segments as objects.
    pub(crate) fn keeping_indexes(self) -> Self {
        Self { visible: self.visible.keeping_indexes(), ..self }
    }

    /// Returns `true` if the accident has happened.
    pub(crate) fn had_accident(&self) -> bool {
        let machine = self.locked();
        machine.is_off || machine.has_failed_sync
    }

    /// Cuts the power, and returns the surviving objects.
    pub(crate) fn after_power_loss(&self) -> BTreeMap<String, Bytes> {
        let mut machine = self.locked();
        machine.is_off = true;
        for path in std::mem::take(&mut machine.removed) {
            if machine.random.below(2) == 0 {
                machine.durable.remove(&path);
            }
        }
        for (path, written) in std::mem::take(&mut machine.unfinished) {
            machine.keep_some(&path, &written);
        }
        machine.durable.clone()
    }

    fn locked(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().expect("a sound lock")
    }

    fn read<T>(&self, path: &str, read: impl FnOnce() -> Result<T>) -> Result<T> {
        match self.locked().next(false) {
            Fate::Off => Err(off(path)),
            _ => read(),
        }
    }
}

fn off(path: &str) -> Error {
    Error::storage(path, "the power is off")
}

fn not_synced(path: &str) -> Error {
    Error::storage(path, "a sync failed")
}

impl Objects for UnreliableObjects {
    fn put_new(&self, path: &str, content: PutPayload) -> std::result::Result<(), PutError> {
        let bytes = Bytes::from(content.clone());
        let mut machine = self.locked();
        let was_off = machine.is_off;
        let fate = machine.next(true);
        if fate == Fate::Done {
            self.visible.put_new(path, content)?;
            machine.durable.insert(path.to_owned(), bytes);
            return Ok(());
        }
        // A file is complete and synced before it gets its name, so the name never refers to a partial file.
        if !was_off && machine.random.below(2) == 0 && !machine.durable.contains_key(path) {
            machine.durable.insert(path.to_owned(), bytes);
        } else if !was_off {
            machine.keep_some(&format!("{path}#0"), &bytes);
        }
        Err(if fate == Fate::Off {
            PutError::Failed(off(path))
        } else {
            PutError::NotSynced(not_synced(path))
        })
    }

    fn get(&self, path: &str) -> Result<Option<Bytes>> {
        self.read(path, || self.visible.get(path))
    }

    fn list(&self, folder: &str) -> Result<Vec<ListedObject>> {
        self.read(folder, || self.visible.list(folder))
    }

    fn delete(&self, path: &str) -> Result<()> {
        let mut machine = self.locked();
        if machine.next(false) == Fate::Off {
            return Err(off(path));
        }
        machine.removed.push(path.to_owned());
        machine.unfinished.remove(path);
        self.visible.delete(path)
    }

    fn create(&self, path: &str) -> Result<Box<dyn ObjectWriter>> {
        let mut machine = self.locked();
        if machine.next(false) == Fate::Off {
            return Err(off(path));
        }
        machine.unfinished.insert(path.to_owned(), Vec::new());
        let writer = self.visible.create(path)?;
        Ok(Box::new(UnreliableWriter { path: path.to_owned(), objects: self.clone(), writer }))
    }

    fn keeps_indexes(&self) -> bool {
        self.visible.keeps_indexes()
    }

    fn open(&self, path: &str) -> Result<Arc<dyn ObjectReader>> {
        self.read(path, || self.visible.open(path))
    }
}

struct UnreliableWriter {
    path: String,
    objects: UnreliableObjects,
    writer: Box<dyn ObjectWriter>,
}

impl ObjectWriter for UnreliableWriter {
    fn write(&mut self, content: &[u8]) -> Result<()> {
        let mut machine = self.objects.locked();
        if machine.next(false) == Fate::Off {
            return Err(off(&self.path));
        }
        if let Some(written) = machine.unfinished.get_mut(&self.path) {
            written.extend_from_slice(content);
        }
        self.writer.write(content)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let Self { path, objects, writer } = *self;
        let mut machine = objects.locked();
        match machine.next(true) {
            Fate::Off => return Err(off(&path)),
            Fate::NotSynced => return Err(not_synced(&path)),
            Fate::Done => {}
        }
        let written = machine.unfinished.remove(&path).unwrap_or_default();
        machine.durable.insert(path, written.into());
        writer.finish()
    }
}
