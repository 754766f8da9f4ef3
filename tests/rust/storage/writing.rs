//! One group is gathered while another is being written: nothing of either is shown or acknowledged too soon.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

use bytes::Bytes;
use spanwise::error::{Error, Result};
use spanwise::otlp::proto::Span;
use spanwise::storage::objects::{ListedObject, ObjectReader, ObjectWriter, Objects, PutError, PutPayload};
use spanwise::storage::{Options, TraceStore};

use super::contents::{contents, id_of};
use crate::memory::Memory;
use crate::random::Random;
use crate::spans::{export, span, with};

/// What becomes of a put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Done,
    Absent,
    /// It happens, but its caller is told it did not.
    Doubtful,
}

type Decide = dyn FnMut(&str) -> Fate + Send;

/// A place where somebody decides what becomes of each put of write-ahead.
struct Fated {
    memory: Memory,
    decide: Mutex<Box<Decide>>,
    /// Not before this is true.
    is_asked: AtomicBool,
}

impl std::fmt::Debug for Fated {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.memory.fmt(formatter)
    }
}

impl Objects for Fated {
    fn put_new(&self, path: &str, content: PutPayload) -> std::result::Result<(), PutError> {
        let is_asked = path.starts_with("wal/") && self.is_asked.load(Ordering::Relaxed);
        let fate = if is_asked { self.decide.lock().expect("a sound lock")(path) } else { Fate::Done };
        let injected = || Err(PutError::Failed(Error::storage(path, "injected")));
        match fate {
            Fate::Done => self.memory.put_new(path, content),
            Fate::Absent => injected(),
            Fate::Doubtful => self.memory.put_new(path, content).and_then(|()| injected()),
        }
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

    fn reads_are_durable(&self) -> bool {
        true
    }
}

fn opened(decide: impl FnMut(&str) -> Fate + Send + 'static) -> (Memory, TraceStore) {
    let memory = Memory::default();
    let objects = Arc::new(Fated {
        memory: memory.clone(),
        decide: Mutex::new(Box::new(decide)),
        is_asked: AtomicBool::new(false),
    });
    let store = TraceStore::open_in(objects.clone(), Options::default()).expect("a store");
    objects.is_asked.store(true, Ordering::Relaxed);
    (memory, store)
}

/// Opens a store whose puts tell that they begin, and wait to be told how they end.
fn held() -> (TraceStore, Receiver<()>, Sender<Fate>) {
    let ((begun, begins), (tell, told)) = (channel(), channel());
    let (_, store) = opened(move |_| {
        begun.send(()).expect("somebody who waits");
        told.recv().expect("somebody who tells")
    });
    (store, begins, tell)
}

/// Spans of so many bytes that they are gathered while others are being written.
fn large(trace: u64, id: u64) -> Span {
    with(span(trace, id, 0), "text", &"x".repeat(1 << 20))
}

fn sent<'scope>(
    scope: &'scope Scope<'scope, '_>,
    store: &'scope TraceStore,
    spans: &[Span],
) -> ScopedJoinHandle<'scope, Result<()>> {
    let export = export(spans);
    scope.spawn(move || store.ingest(export).map(drop))
}

/// Gives the committer the time to gather what was sent; what is asserted holds if it is slower, too.
fn while_it_gathers() {
    std::thread::sleep(Duration::from_millis(100));
}

#[test]
fn nothing_is_shown_before_it_is_durable_and_what_stands_on_it_falls_with_it() {
    for fate in [Fate::Done, Fate::Absent, Fate::Doubtful] {
        let (store, begins, tell) = held();
        std::thread::scope(|scope| {
            let first = sent(scope, &store, &[span(1, 1, 0)]);
            begins.recv().expect("a put");
            let second = sent(scope, &store, &[span(1, 2, 0), large(2, 1)]);
            while_it_gathers();
            assert!(!first.is_finished() && !second.is_finished());
            assert!(contents(&store.snapshot()).is_empty());
            tell.send(fate).expect("somebody who asks");
            let is_stored = first.join().expect("no panic");
            assert_eq!(is_stored.is_ok(), fate == Fate::Done, "{fate:?}: {is_stored:?}");
            tell.send(Fate::Done).expect("somebody who asks");
            let is_second_stored = second.join().expect("no panic");
            assert!(matches!(is_second_stored, Ok(()) | Err(Error::Busy(_))), "{is_second_stored:?}");
            let spans = |trace| contents(&store.snapshot()).get(&id_of(trace)).map_or(0, |held| held.1.len());
            if fate != Fate::Doubtful {
                let expected = usize::from(is_stored.is_ok()) + usize::from(is_second_stored.is_ok());
                assert_eq!(spans(1), expected, "{fate:?}");
            }
            assert_eq!(spans(2), usize::from(is_second_stored.is_ok()), "{fate:?}");
            if fate == Fate::Done {
                assert!(is_second_stored.is_ok());
            }
        });
    }
}

#[test]
fn that_nothing_is_new_is_said_once_what_is_repeated_is_durable() {
    for fate in [Fate::Done, Fate::Absent] {
        let (store, begins, tell) = held();
        std::thread::scope(|scope| {
            let first = sent(scope, &store, &[large(1, 1)]);
            begins.recv().expect("a put");
            let again = sent(scope, &store, &[large(1, 1)]);
            while_it_gathers();
            assert!(!again.is_finished(), "acknowledged before anything of it is durable");
            tell.send(fate).expect("somebody who asks");
            assert_eq!(first.join().expect("no panic").is_ok(), fate == Fate::Done);
            tell.send(fate).expect("the channel is open");
            assert_eq!(again.join().expect("no panic").is_ok(), fate == Fate::Done);
            assert_eq!(contents(&store.snapshot()).len(), usize::from(fate == Fate::Done));
        });
    }
}

#[test]
fn of_many_writes_of_which_some_fail_exactly_those_acknowledged_or_late_are_held() {
    const THREADS: u64 = 8;
    const REQUESTS: u64 = 12;
    for seed in 0..4 {
        let mut random = Random::new(seed);
        let (memory, store) = opened(move |_| match random.below(8) {
            0 => Fate::Absent,
            1 => Fate::Doubtful,
            _ => Fate::Done,
        });
        let text = &"x".repeat(300 << 10);
        let requests = |thread: u64| {
            let store = &store;
            move || {
                let mut random = Random::new(seed << 8 | thread);
                let mut acknowledged = Vec::new();
                for number in 0..REQUESTS {
                    let (trace, id) = (random.below(4), 1 + thread * REQUESTS + number);
                    match store.ingest(export(&[with(span(trace, id, 0), "text", text)])) {
                        Ok(_) => acknowledged.push((trace, id)),
                        Err(Error::Busy(_)) => {}
                        Err(fault) => panic!("expected a refusal, got {fault}"),
                    }
                    if number % 5 == 4 {
                        store.flush().expect("flushed");
                    }
                }
                acknowledged
            }
        };
        let acknowledged: Vec<(u64, u64)> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(requests(thread))).collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
        });
        assert!((1..THREADS * REQUESTS).contains(&(acknowledged.len() as u64)), "seed {seed}");
        let held = contents(&store.snapshot());
        for (trace, id) in acknowledged {
            let expected = export(&[with(span(trace, id, 0), "text", text)]).spans.remove(0).wire;
            assert!(
                held[&id_of(trace)].1.contains(&expected),
                "seed {seed}: span {id} of trace {trace} is lost"
            );
        }
        drop(store);
        let again = TraceStore::open_in(Arc::new(memory), Options::default()).expect("a store");
        let recovered = contents(&again.snapshot());
        assert!(held.iter().all(|(id, trace)| {
            recovered.get(id).is_some_and(|found| trace.1.iter().all(|span| found.1.contains(span)))
        }));
    }
}
