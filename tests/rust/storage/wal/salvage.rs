//! With `recover` a damaged write-ahead log only loses the damaged requests, and reports them from then on.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use spanwise::error::{Error, Result};
use spanwise::storage::objects::{Objects, PutError, PutPayload};
use spanwise::storage::{Options, QuarantinedWal, TraceStore};

use crate::support::contents::{Contents, contents, id_of};
use crate::support::layer::{Intercept, Layer};
use crate::support::memory::Memory;
use crate::support::spans::{request, span};
use crate::support::wait_until;

/// A gate for puts of write-ahead objects. While it is closed, requests collect in the next group.
#[derive(Debug, Default)]
struct PutGate {
    is_closed: Mutex<bool>,
    opened: Condvar,
    waiting: AtomicU64,
}

impl PutGate {
    fn set(&self, is_closed: bool) {
        *self.is_closed.lock().expect("a sound lock") = is_closed;
        self.opened.notify_all();
    }
}

impl Intercept for PutGate {
    fn put_new(
        &self,
        inner: &dyn Objects,
        path: &str,
        content: PutPayload,
    ) -> std::result::Result<(), PutError> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let is_closed = self.is_closed.lock().expect("a sound lock");
        drop(self.opened.wait_while(is_closed, |is_closed| *is_closed && path.starts_with("wal/")));
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        inner.put_new(path, content)
    }
}

/// The number of requests in one write-ahead object.
const TOGETHER: u64 = 6;

/// The path of their object.
const SHARED: &str = "wal/00000000000000000003.wal";

/// Returns the objects of a killed store and its content. It has four write-ahead objects. The third one has
/// the requests of traces 2 to 7.
fn killed_store() -> (Memory, Contents) {
    // A delayed thread may send its request too late for the group.
    let mut stores = (0..100).map(|_| filled_store());
    stores.find(|(memory, _)| memory.paths("wal/", ".wal").len() == 4).expect("a group")
}

fn filled_store() -> (Memory, Contents) {
    let memory = Memory::default();
    let objects = Arc::new(Layer { intercept: PutGate::default(), inner: memory.clone() });
    let store = TraceStore::open_in(objects.clone(), Options::default()).expect("a store");
    objects.intercept.set(true);
    std::thread::scope(|scope| {
        let ingest = |trace| {
            let store = &store;
            scope.spawn(move || store.ingest(request(&[span(trace, 1, 0)])).expect("ingested"));
        };
        ingest(1);
        wait_until(|| objects.intercept.waiting.load(Ordering::Relaxed) == 1);
        let one = store.stats().waiting_bytes;
        (2..2 + TOGETHER).for_each(ingest);
        wait_until(|| store.stats().waiting_bytes == (1 + TOGETHER) * one);
        objects.intercept.set(false);
    });
    store.ingest(request(&[span(9, 1, 0)])).expect("ingested");
    (memory.deep_clone(), contents(&store.snapshot()))
}

fn open(memory: &Memory, recover: bool) -> Result<TraceStore> {
    TraceStore::open_in(Arc::new(memory.clone()), Options { recover, ..Options::default() })
}

/// Opens a store with `recover`. Returns the remaining part of `held`, and the reported losses. Asserts that
/// the store is rejected without `recover`, and that later openings report the same.
fn recovered(damaged: &Memory, held: &Contents) -> (BTreeSet<u64>, Vec<QuarantinedWal>) {
    let rejected = open(damaged, false);
    assert!(matches!(rejected, Err(Error::Damage { .. })));
    let store = open(damaged, true).expect("a store without its damage");
    let found = contents(&store.snapshot());
    assert!(found.iter().all(|(trace_id, trace)| held.get(trace_id) == Some(trace)), "nothing is altered");
    let reported = store.stats().quarantined_wal;
    let killed = damaged.deep_clone();
    store.flush().expect("flushed");
    store.close().expect("closed");
    for memory in [&killed, damaged] {
        let again = open(memory, false).expect("a store that knows its damage");
        assert_eq!(contents(&again.snapshot()), found);
        let now = again.stats().quarantined_wal;
        assert!(now == reported || (now.is_empty() && reported.iter().all(|it| it.lost_requests == Some(0))));
    }
    let lost = (1..=9).filter(|trace| {
        let trace_id = id_of(*trace);
        held.contains_key(&trace_id) && !found.contains_key(&trace_id)
    });
    (lost.collect(), reported)
}

fn ids(traces: &BTreeSet<u64>) -> BTreeSet<String> {
    traces.iter().map(|trace| id_of(*trace).to_string()).collect()
}

#[test]
fn one_bad_bit_loses_one_request_at_most_and_it_is_named() {
    let (sound, held) = killed_store();
    let content = sound.content(SHARED);
    let mut named = 0;
    let sample: Vec<usize> = (0..content.len()).step_by(3).collect();
    for at in &sample {
        let (at, bit) = (*at, at % 8);
        let mut flipped = content.clone();
        flipped[at] ^= 1 << bit;
        let damaged = sound.deep_clone();
        damaged.set(SHARED, flipped);
        let (lost, reported) = recovered(&damaged, &held);
        assert!(lost.len() <= 1, "byte {at}: {lost:?} are lost");
        let [report] = reported.as_slice() else { panic!("byte {at}: {reported:?}") };
        assert_eq!(report.object, SHARED);
        assert_eq!(report.lost_requests, Some(lost.len() as u64), "byte {at}");
        assert_eq!(report.traces, report.trace_ids.len() as u64);
        named += usize::from(report.trace_ids.iter().cloned().collect::<BTreeSet<_>>() == ids(&lost));
    }
    // Flips in the trace id itself, a fifth of such a small request, cannot be attributed.
    assert!(4 * named > 3 * sample.len(), "{named} of {}", sample.len());
}

#[test]
fn zeroed_cut_and_missing_objects_lose_no_more_than_what_they_held() {
    let (sound, held) = killed_store();
    let content = sound.content(SHARED);
    for from in (0..content.len()).step_by(41) {
        let mut zeroed = content.clone();
        zeroed[from..].iter_mut().take(64).for_each(|byte| *byte = 0);
        let damaged = sound.deep_clone();
        damaged.set(SHARED, zeroed);
        if open(&damaged.deep_clone(), false).is_ok() {
            continue;
        }
        let (lost, reported) = recovered(&damaged, &held);
        let requests = reported[0].lost_requests;
        assert!(requests.is_none_or(|requests| requests == lost.len() as u64), "{reported:?} but {lost:?}");
        assert!(from == 0 || lost.len() <= 2, "byte {from}: {lost:?}");
        let cut = sound.deep_clone();
        cut.set(SHARED, content[..from].to_vec());
        let (lost, _) = recovered(&cut, &held);
        assert!(!lost.contains(&1) && !lost.contains(&9));
    }
    let gone = sound.deep_clone();
    gone.delete(SHARED).expect("deleted");
    let (lost, reported) = recovered(&gone, &held);
    assert_eq!(lost, (2..2 + TOGETHER).collect());
    assert_eq!((reported.len(), reported[0].lost_requests), (1, None));
    assert!(reported[0].error.contains("the object is missing"), "{reported:?}");
}

#[test]
fn a_lost_log_is_one_record() {
    let (sound, _) = killed_store();
    open(&sound, false).expect("a store").close().expect("closed");
    let held = contents(&open(&sound.deep_clone(), false).expect("a store").snapshot());
    for path in sound.paths("wal/", ".wal") {
        sound.delete(&path).expect("deleted");
    }
    let (lost, reported) = recovered(&sound, &held);
    assert_eq!(lost.len(), held.len());
    let [report] = reported.as_slice() else { panic!("{reported:?}") };
    assert_eq!(report.object, "wal/00000000000000000001.wal");
    assert_eq!(report.last_object.as_deref(), Some("wal/00000000000000000005.wal"));
}

#[test]
fn an_object_of_format_1_is_lost_as_a_whole() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/store-1");
    let sound = Memory::of_folder(&golden);
    let held = contents(&open(&sound.deep_clone(), false).expect("a store").snapshot());
    let wal = sound.paths("wal/", ".wal").into_iter().filter(|path| sound.content(path).len() > 56);
    for path in wal.collect::<Vec<_>>() {
        let content = sound.content(&path);
        for at in (0..content.len()).step_by(97) {
            let damaged = sound.deep_clone();
            let mut flipped = content.clone();
            flipped[at] ^= 1;
            damaged.set(&path, flipped);
            assert!(open(&damaged.deep_clone(), false).is_err());
            let store = open(&damaged, true).expect("a store without its damage");
            let reported = store.stats().quarantined_wal;
            assert_eq!(reported[0].object, path);
            assert_eq!(reported[0].lost_requests, Some(u64::from(at >= 56)), "byte {at}");
            assert!(at < 56 || reported[0].traces > 0, "byte {at}: {reported:?}");
            let found = contents(&store.snapshot());
            for (trace_id, (_, spans)) in &found {
                assert!(spans.iter().all(|span| held[trace_id].1.contains(span)));
            }
        }
    }
}

#[test]
fn nothing_that_was_sent_passes_for_a_request() {
    // The spans of a request contain a copy of a whole write-ahead object with a damaged first request.
    let (inner, _) = killed_store();
    let copied = inner.content(SHARED);
    let memory = Memory::default();
    let store = open(&memory, false).expect("a store");
    let mut outer = span(20, 1, 0);
    outer.trace_state = copied.iter().map(|byte| char::from(*byte % 128)).collect();
    outer.name = "holds a log".into();
    store.ingest(request(&[outer])).expect("ingested");
    let killed = memory.deep_clone();
    drop(store);
    let path = "wal/00000000000000000002.wal";
    let mut content = killed.content(path);
    content[60] ^= 1;
    content.extend_from_slice(&copied);
    killed.set(path, content);
    let store = open(&killed, true).expect("a store without its damage");
    assert!(contents(&store.snapshot()).is_empty(), "requests of another object are no requests of this one");
}
