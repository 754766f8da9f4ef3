//! Storage whose n-th operation fails, for every n. Everything acknowledged is recovered.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use spanwise::error::{Error, Result};
use spanwise::storage::objects::{ListedObject, ObjectReader, ObjectWriter, Objects, PutError, PutPayload};
use spanwise::storage::{Options, TraceStore};

use crate::support::contents::{Contents, contents, id_of, traces_in};
use crate::support::memory::Memory;
use crate::support::spans::{request, span};

/// The type of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failure {
    /// The operation has no effect.
    Before,
    /// The operation takes effect, but reports an error.
    After,
    /// Neither the operation nor any later one has an effect.
    FromThenOn,
}

/// Object storage with an injected error.
#[derive(Debug)]
struct FailingObjects {
    memory: Memory,
    injection: Arc<Injection>,
}

/// Counts the operations, and fails one of them.
#[derive(Debug)]
struct Injection {
    count: AtomicUsize,
    /// The number of the operation that fails, from zero.
    at: usize,
    failure: Failure,
}

impl Injection {
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

impl Objects for FailingObjects {
    fn put_new(&self, path: &str, content: PutPayload) -> std::result::Result<(), PutError> {
        let mut outcome = Ok(());
        let result = self.injection.around(path, || {
            outcome = self.memory.put_new(path, content);
            Ok(())
        });
        result.map_err(PutError::Failed).and(outcome)
    }

    fn get(&self, path: &str) -> Result<Option<Bytes>> {
        self.injection.around(path, || self.memory.get(path))
    }

    fn list(&self, folder: &str) -> Result<Vec<ListedObject>> {
        self.injection.around(folder, || self.memory.list(folder))
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.injection.around(path, || self.memory.delete(path))
    }

    fn create(&self, path: &str) -> Result<Box<dyn ObjectWriter>> {
        let writer = self.injection.around(path, || self.memory.create(path))?;
        Ok(Box::new(FailingWriter { path: path.to_owned(), writer, injection: self.injection.clone() }))
    }

    fn keeps_indexes(&self) -> bool {
        self.memory.keeps_indexes()
    }

    fn open(&self, path: &str) -> Result<Arc<dyn ObjectReader>> {
        let reader = self.injection.around(path, || self.memory.open(path))?;
        Ok(Arc::new(FailingReader { path: path.to_owned(), reader, injection: self.injection.clone() }))
    }
}

#[derive(Debug)]
struct FailingReader {
    path: String,
    reader: Arc<dyn ObjectReader>,
    injection: Arc<Injection>,
}

impl ObjectReader for FailingReader {
    fn bytes(&self) -> u64 {
        self.reader.bytes()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.injection.around(&self.path, || self.reader.read_at(offset, buffer))
    }
}

struct FailingWriter {
    path: String,
    writer: Box<dyn ObjectWriter>,
    injection: Arc<Injection>,
}

impl ObjectWriter for FailingWriter {
    fn write(&mut self, content: &[u8]) -> Result<()> {
        self.injection.around(&self.path, || self.writer.write(content))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let Self { path, writer, injection } = *self;
        injection.around(&path, || writer.finish())
    }
}

/// The requests of every run: new traces, late spans of each, and copies.
const REQUESTS: [&[(u64, u64)]; 5] =
    [&[(1, 1), (2, 1)], &[(1, 2), (3, 1)], &[(2, 2)], &[(1, 1), (1, 3)], &[(4, 1), (3, 2)]];

/// The conditions after a run.
#[derive(Default)]
struct Expected {
    /// Spans that must be stored.
    acknowledged: Vec<(u64, u64)>,
    /// Traces that must not be stored.
    deleted: Vec<u64>,
}

/// Opens a store, ingests, flushes, deletes and compacts. Returns the conditions that must be true
/// afterwards.
fn run(objects: Arc<dyn Objects>) -> Expected {
    let mut expected = Expected::default();
    let Ok(store) = TraceStore::open_in(objects, Options::default()) else { return expected };
    for spans in REQUESTS {
        expected.ingest(&store, spans);
        let _failed = store.flush();
    }
    expected.delete(&store, 2);
    let _failed = store.compact(false);
    expected.ingest(&store, &[(1, 4), (5, 1)]);
    expected.delete(&store, 3);
    let _failed = store.compact(true);
    expected.ingest(&store, &[(3, 3)]);
    store.close().expect("closed");
    expected
}

impl Expected {
    fn ingest(&mut self, store: &TraceStore, ids: &[(u64, u64)]) {
        let spans: Vec<_> = ids.iter().map(|(trace, id)| span(*trace, *id, 0)).collect();
        match store.ingest(request(&spans)) {
            Ok(_) => {
                self.acknowledged.extend(ids);
                self.deleted.retain(|deleted| ids.iter().all(|(trace, _)| trace != deleted));
            }
            // The request may have taken effect.
            Err(Error::Stopped(_)) => self.deleted.clear(),
            Err(Error::Busy(_) | Error::Storage { .. }) => {}
            Err(error) => panic!("expected a rejection, got {error}"),
        }
        self.assert_found(store);
    }

    fn delete(&mut self, store: &TraceStore, trace: u64) {
        match store.delete(&traces_in(&[trace]), false) {
            Ok(_) => {
                self.acknowledged.retain(|(deleted, _)| *deleted != trace);
                self.deleted.push(trace);
            }
            // The deletion may have taken effect.
            Err(Error::Stopped(_)) => self.acknowledged.retain(|(deleted, _)| *deleted != trace),
            Err(Error::Storage { .. }) => {}
            Err(error) => panic!("expected a rejection, got {error}"),
        }
        self.assert_found(store);
    }

    fn assert_found(&self, store: &TraceStore) {
        let held = findable_traces(store);
        assert!(self.acknowledged.iter().all(|(trace, _)| held.contains(trace)), "searches continue");
        assert!(self.deleted.iter().all(|trace| !held.contains(trace)), "deleted traces are gone");
    }
}

/// Returns the traces in a snapshot without reading documents, because the storage may be failing.
fn findable_traces(store: &TraceStore) -> Vec<u64> {
    let snapshot = store.snapshot();
    (1..=5).filter(|trace| snapshot.find(id_of(*trace)).is_some()).collect()
}

fn holds(held: &Contents, (trace, id): (u64, u64)) -> bool {
    let expected = request(&[span(trace, id, 0)]).spans.remove(0);
    held.get(&expected.trace_id).is_some_and(|(_, spans)| spans.contains(&expected.wire))
}

#[test]
fn everything_acknowledged_is_recovered_whichever_operation_fails() {
    for failure in [Failure::Before, Failure::After, Failure::FromThenOn] {
        for at in 0.. {
            let memory = Memory::default().keeping_indexes();
            let injection = Arc::new(Injection { count: AtomicUsize::new(0), at, failure });
            let Expected { acknowledged, deleted } =
                run(Arc::new(FailingObjects { memory: memory.clone(), injection: injection.clone() }));
            let store =
                TraceStore::open_in(Arc::new(memory), Options::default()).expect("a store that opens");
            let held = contents(&store.snapshot());
            for span in &acknowledged {
                assert!(holds(&held, *span), "{failure:?} at operation {at}: {span:?} is lost");
            }
            for trace in deleted {
                assert!(!held.contains_key(&id_of(trace)), "{failure:?} at operation {at}: {trace} is back");
            }
            assert!(store.ingest(request(&[span(9, 1, 0)])).is_ok(), "{failure:?} at operation {at}");
            if injection.count.load(Ordering::Relaxed) <= at {
                let expected = [(1, 1), (1, 2), (1, 3), (1, 4), (3, 3), (4, 1), (5, 1)];
                let acknowledged: BTreeSet<_> = acknowledged.into_iter().collect();
                assert!(acknowledged.iter().eq(&expected), "without an error everything is acknowledged");
                break;
            }
        }
    }
}
