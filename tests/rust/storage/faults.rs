//! Storage that fails at its n-th operation, for every n: what was acknowledged is recovered.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use spanwise::error::{Error, Result};
use spanwise::storage::objects::{ListedObject, ObjectReader, ObjectWriter, Objects, PutError, PutPayload};
use spanwise::storage::{Options, TraceStore};

use super::contents::{Contents, contents, id_of, traces_in};
use crate::memory::Memory;
use crate::spans::{export, span};

/// How an operation fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failure {
    /// It does not happen.
    Before,
    /// It happens, but its caller is told it did not.
    After,
    /// It does not happen, nor does any operation after it.
    FromThenOn,
}

/// A place whose operations are counted, and of which one fails.
#[derive(Debug)]
struct Faulty {
    memory: Memory,
    fault: Arc<Fault>,
}

#[derive(Debug)]
struct Fault {
    count: AtomicUsize,
    /// Which operation fails, counted from zero.
    at: usize,
    failure: Failure,
}

impl Fault {
    fn around<T>(&self, path: &str, operation: impl FnOnce() -> Result<T>) -> Result<T> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let injected = || Err(Error::storage(path, "injected"));
        match self.failure {
            Failure::Before if number == self.at => injected(),
            Failure::FromThenOn if number >= self.at => injected(),
            Failure::After if number == self.at => operation().and_then(|_| injected()),
            _ => operation(),
        }
    }
}

impl Objects for Faulty {
    fn put_new(&self, path: &str, content: PutPayload) -> std::result::Result<(), PutError> {
        let mut outcome = Ok(());
        let happened = self.fault.around(path, || {
            outcome = self.memory.put_new(path, content);
            Ok(())
        });
        happened.map_err(PutError::Failed).and(outcome)
    }

    fn get(&self, path: &str) -> Result<Option<Bytes>> {
        self.fault.around(path, || self.memory.get(path))
    }

    fn list(&self, folder: &str) -> Result<Vec<ListedObject>> {
        self.fault.around(folder, || self.memory.list(folder))
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.fault.around(path, || self.memory.delete(path))
    }

    fn create(&self, path: &str) -> Result<Box<dyn ObjectWriter>> {
        let writer = self.fault.around(path, || self.memory.create(path))?;
        Ok(Box::new(FaultyWriter { path: path.to_owned(), writer, fault: self.fault.clone() }))
    }

    fn open(&self, path: &str) -> Result<Arc<dyn ObjectReader>> {
        let reader = self.fault.around(path, || self.memory.open(path))?;
        Ok(Arc::new(FaultyReader { path: path.to_owned(), reader, fault: self.fault.clone() }))
    }
}

#[derive(Debug)]
struct FaultyReader {
    path: String,
    reader: Arc<dyn ObjectReader>,
    fault: Arc<Fault>,
}

impl ObjectReader for FaultyReader {
    fn bytes(&self) -> u64 {
        self.reader.bytes()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.fault.around(&self.path, || self.reader.read_at(offset, buffer))
    }
}

struct FaultyWriter {
    path: String,
    writer: Box<dyn ObjectWriter>,
    fault: Arc<Fault>,
}

impl ObjectWriter for FaultyWriter {
    fn write(&mut self, content: &[u8]) -> Result<()> {
        self.fault.around(&self.path, || self.writer.write(content))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let Self { path, writer, fault } = *self;
        fault.around(&path, || writer.finish())
    }
}

/// The requests of every run: new traces, late spans of each, and copies.
const REQUESTS: [&[(u64, u64)]; 5] =
    [&[(1, 1), (2, 1)], &[(1, 2), (3, 1)], &[(2, 2)], &[(1, 1), (1, 3)], &[(4, 1), (3, 2)]];

/// What must hold after a run.
#[derive(Default)]
struct Outcome {
    /// These spans are there.
    acknowledged: Vec<(u64, u64)>,
    /// These traces are not.
    deleted: Vec<u64>,
}

/// Opens a store, ingests and flushes in turn, deletes and compacts; returns what must hold.
fn run(objects: Arc<dyn Objects>) -> Outcome {
    let mut outcome = Outcome::default();
    let Ok(store) = TraceStore::open_in(objects, Options::default()) else { return outcome };
    for request in REQUESTS {
        outcome.ingest(&store, request);
        let _failed = store.flush();
    }
    outcome.delete(&store, 2);
    let _failed = store.compact(false);
    outcome.ingest(&store, &[(1, 4), (5, 1)]);
    outcome.delete(&store, 3);
    let _failed = store.compact(true);
    outcome.ingest(&store, &[(3, 3)]);
    store.close().expect("closed");
    outcome
}

impl Outcome {
    fn ingest(&mut self, store: &TraceStore, request: &[(u64, u64)]) {
        let spans: Vec<_> = request.iter().map(|(trace, id)| span(*trace, *id, 0)).collect();
        match store.ingest(export(&spans)) {
            Ok(_) => {
                self.acknowledged.extend(request);
                self.deleted.retain(|deleted| request.iter().all(|(trace, _)| trace != deleted));
            }
            // It may yet have happened, whether or not it was acknowledged.
            Err(Error::Stopped(_)) => self.deleted.clear(),
            Err(Error::Busy(_) | Error::Storage { .. }) => {}
            Err(fault) => panic!("expected a refusal, got {fault}"),
        }
        self.assert_found(store);
    }

    fn delete(&mut self, store: &TraceStore, trace: u64) {
        match store.delete(&traces_in(&[trace]), false) {
            Ok(_) => {
                self.acknowledged.retain(|(deleted, _)| *deleted != trace);
                self.deleted.push(trace);
            }
            // It may yet have happened.
            Err(Error::Stopped(_)) => self.acknowledged.retain(|(deleted, _)| *deleted != trace),
            Err(Error::Storage { .. }) => {}
            Err(fault) => panic!("expected a refusal, got {fault}"),
        }
        self.assert_found(store);
    }

    fn assert_found(&self, store: &TraceStore) {
        let held = contents_without_reading(store);
        assert!(self.acknowledged.iter().all(|(trace, _)| held.contains(trace)), "searches go on");
        assert!(self.deleted.iter().all(|trace| !held.contains(trace)), "what was deleted is gone");
    }
}

/// Returns the traces that a snapshot finds; the storage may be broken, so no document is read.
fn contents_without_reading(store: &TraceStore) -> Vec<u64> {
    let snapshot = store.snapshot();
    (1..=5).filter(|trace| snapshot.find(id_of(*trace)).is_some()).collect()
}

fn holds(held: &Contents, (trace, id): (u64, u64)) -> bool {
    let expected = export(&[span(trace, id, 0)]).spans.remove(0);
    held.get(&expected.trace_id).is_some_and(|(_, spans)| spans.contains(&expected.wire))
}

#[test]
fn what_was_acknowledged_is_recovered_whichever_operation_fails() {
    for failure in [Failure::Before, Failure::After, Failure::FromThenOn] {
        for at in 0.. {
            let memory = Memory::default();
            let fault = Arc::new(Fault { count: AtomicUsize::new(0), at, failure });
            let Outcome { acknowledged, deleted } =
                run(Arc::new(Faulty { memory: memory.clone(), fault: fault.clone() }));
            let store =
                TraceStore::open_in(Arc::new(memory), Options::default()).expect("a store that opens");
            let held = contents(&store.snapshot());
            for span in &acknowledged {
                assert!(holds(&held, *span), "{failure:?} at operation {at}: {span:?} is lost");
            }
            for trace in deleted {
                assert!(!held.contains_key(&id_of(trace)), "{failure:?} at operation {at}: {trace} is back");
            }
            assert!(store.ingest(export(&[span(9, 1, 0)])).is_ok(), "{failure:?} at operation {at}");
            if fault.count.load(Ordering::Relaxed) <= at {
                let expected = [(1, 1), (1, 2), (1, 3), (1, 4), (3, 3), (4, 1), (5, 1)];
                let acknowledged: BTreeSet<_> = acknowledged.into_iter().collect();
                assert!(acknowledged.iter().eq(&expected), "without a fault all is acknowledged");
                break;
            }
        }
    }
}
