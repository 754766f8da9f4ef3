//! Group commit: the next group collects requests while one is being written. Neither is visible or
//! acknowledged before it is durable.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

use spanwise::error::{Error, Result};
use spanwise::otlp::proto::Span;
use spanwise::storage::objects::{Objects, PutError, PutPayload};
use spanwise::storage::{Options, TraceStore};

use crate::support::contents::{contents, id_of};
use crate::support::layer::{Intercept, Layer};
use crate::support::memory::Memory;
use crate::support::random::Random;
use crate::support::spans::{request, span, with};

/// The outcome of a put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PutFate {
    Created,
    /// The put fails, and no object is created.
    NotCreated,
    /// The put fails, although the object is created.
    Unknown,
}

type Decide = dyn FnMut(&str) -> PutFate + Send;

/// Decides the outcome of every put of a write-ahead object.
struct PutControl {
    decide: Mutex<Box<Decide>>,
    /// Until this is true, every put succeeds.
    is_active: AtomicBool,
}

impl std::fmt::Debug for PutControl {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("PutControl")
    }
}

impl Intercept for PutControl {
    fn put_new(
        &self,
        inner: &dyn Objects,
        path: &str,
        content: PutPayload,
    ) -> std::result::Result<(), PutError> {
        let is_controlled = path.starts_with("wal/") && self.is_active.load(Ordering::Relaxed);
        let fate =
            if is_controlled { self.decide.lock().expect("a sound lock")(path) } else { PutFate::Created };
        let injected = || Err(PutError::Failed(Error::storage(path, "injected")));
        match fate {
            PutFate::Created => inner.put_new(path, content),
            PutFate::NotCreated => injected(),
            PutFate::Unknown => inner.put_new(path, content).and_then(|()| injected()),
        }
    }

    fn reads_are_durable(&self, _: &dyn Objects) -> bool {
        true
    }
}

fn open_with(decide: impl FnMut(&str) -> PutFate + Send + 'static) -> (Memory, TraceStore) {
    let memory = Memory::default();
    let intercept = PutControl { decide: Mutex::new(Box::new(decide)), is_active: AtomicBool::new(false) };
    let objects = Arc::new(Layer { intercept, inner: memory.clone() });
    let store = TraceStore::open_in(objects.clone(), Options::default()).expect("a store");
    objects.intercept.is_active.store(true, Ordering::Relaxed);
    (memory, store)
}

/// Opens a store whose puts signal that they started, and wait to receive their outcome.
fn open_blocking() -> (TraceStore, Receiver<()>, Sender<PutFate>) {
    let ((started, starts), (decide, decisions)) = (channel(), channel());
    let (_, store) = open_with(move |_| {
        started.send(()).expect("a receiver");
        decisions.recv().expect("a sender")
    });
    (store, starts, decide)
}

/// Returns a large span, which is committed in the next group while others are being written.
fn large(trace: u64, id: u64) -> Span {
    with(span(trace, id, 0), "text", &"x".repeat(1 << 20))
}

fn ingest_in<'scope>(
    scope: &'scope Scope<'scope, '_>,
    store: &'scope TraceStore,
    spans: &[Span],
) -> ScopedJoinHandle<'scope, Result<()>> {
    let request = request(spans);
    scope.spawn(move || store.ingest(request).map(drop))
}

/// Gives the committer time to collect the requests. The assertions hold even if it is slower.
fn wait_for_gathering() {
    std::thread::sleep(Duration::from_millis(100));
}

#[test]
fn nothing_is_visible_before_it_is_durable_and_a_failed_put_fails_the_groups_after_it() {
    for fate in [PutFate::Created, PutFate::NotCreated, PutFate::Unknown] {
        let (store, starts, decide) = open_blocking();
        std::thread::scope(|scope| {
            let first = ingest_in(scope, &store, &[span(1, 1, 0)]);
            starts.recv().expect("a put");
            let second = ingest_in(scope, &store, &[span(1, 2, 0), large(2, 1)]);
            wait_for_gathering();
            assert!(!first.is_finished() && !second.is_finished());
            assert!(contents(&store.snapshot()).is_empty());
            decide.send(fate).expect("a receiver");
            let is_stored = first.join().expect("no panic");
            assert_eq!(is_stored.is_ok(), fate == PutFate::Created, "{fate:?}: {is_stored:?}");
            decide.send(PutFate::Created).expect("a receiver");
            let is_second_stored = second.join().expect("no panic");
            assert!(matches!(is_second_stored, Ok(()) | Err(Error::Busy(_))), "{is_second_stored:?}");
            let spans = |trace| contents(&store.snapshot()).get(&id_of(trace)).map_or(0, |held| held.1.len());
            if fate != PutFate::Unknown {
                let expected = usize::from(is_stored.is_ok()) + usize::from(is_second_stored.is_ok());
                assert_eq!(spans(1), expected, "{fate:?}");
            }
            assert_eq!(spans(2), usize::from(is_second_stored.is_ok()), "{fate:?}");
            if fate == PutFate::Created {
                assert!(is_second_stored.is_ok());
            }
        });
    }
}

#[test]
fn a_repeated_request_is_acknowledged_once_the_first_one_is_durable() {
    for fate in [PutFate::Created, PutFate::NotCreated] {
        let (store, starts, decide) = open_blocking();
        std::thread::scope(|scope| {
            let first = ingest_in(scope, &store, &[large(1, 1)]);
            starts.recv().expect("a put");
            let again = ingest_in(scope, &store, &[large(1, 1)]);
            wait_for_gathering();
            assert!(!again.is_finished(), "acknowledged before it is durable");
            decide.send(fate).expect("a receiver");
            assert_eq!(first.join().expect("no panic").is_ok(), fate == PutFate::Created);
            decide.send(fate).expect("the channel is open");
            assert_eq!(again.join().expect("no panic").is_ok(), fate == PutFate::Created);
            assert_eq!(contents(&store.snapshot()).len(), usize::from(fate == PutFate::Created));
        });
    }
}

#[test]
fn when_some_puts_fail_everything_acknowledged_is_held_and_recovered() {
    const THREADS: u64 = 8;
    const REQUESTS: u64 = 12;
    for seed in 0..4 {
        let mut random = Random::new(seed);
        let (memory, store) = open_with(move |_| match random.below(8) {
            0 => PutFate::NotCreated,
            1 => PutFate::Unknown,
            _ => PutFate::Created,
        });
        let text = &"x".repeat(300 << 10);
        let requests = |thread: u64| {
            let store = &store;
            move || {
                let mut random = Random::new(seed << 8 | thread);
                let mut acknowledged = Vec::new();
                for number in 0..REQUESTS {
                    let (trace, id) = (random.below(4), 1 + thread * REQUESTS + number);
                    match store.ingest(request(&[with(span(trace, id, 0), "text", text)])) {
                        Ok(_) => acknowledged.push((trace, id)),
                        Err(Error::Busy(_)) => {}
                        Err(error) => panic!("expected a rejection, got {error}"),
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
            let expected = request(&[with(span(trace, id, 0), "text", text)]).spans.remove(0).wire;
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
