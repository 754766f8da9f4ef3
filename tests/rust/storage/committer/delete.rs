//! Deleted traces are gone from every result immediately, and stay gone.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use spanwise::error::Error;
use spanwise::filter::Filter;
use spanwise::storage::{Options, TraceStore};
use tempfile::TempDir;

use crate::support::contents::{address, contents, crashed, id_of, open, traces_in};
use crate::support::gate::{Gate, gated_store};
use crate::support::spans::{request, span, with};
use crate::support::wait_until;

/// Returns a store with traces 1 and 2 in one segment and trace 3 in another. Trace 4 and late spans of trace
/// 1 are in the head.
fn store_with_four() -> (TempDir, TraceStore) {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    store.ingest(request(&[span(1, 1, 0), span(2, 1, 0)])).expect("ingested");
    store.flush().expect("flushed");
    store.ingest(request(&[span(3, 1, 0)])).expect("ingested");
    store.flush().expect("flushed");
    store.ingest(request(&[span(4, 1, 0), span(1, 2, 0)])).expect("ingested");
    (folder, store)
}

#[test]
fn deleted_traces_are_gone_wherever_they_were_stored_and_stay_gone() {
    for traces in [vec![1], vec![2, 4], vec![3], vec![1, 2, 3, 4], vec![9]] {
        let (folder, store) = store_with_four();
        let mut expected = contents(&store.snapshot());
        expected.retain(|trace_id, _| !traces.iter().any(|trace| id_of(*trace) == *trace_id));
        let count = 4 - expected.len() as u64;
        assert_eq!(store.delete(&traces_in(&traces), true).expect("counted"), count);
        assert_eq!(contents(&store.snapshot()).len(), 4, "a dry run deletes nothing");
        assert_eq!(store.delete(&traces_in(&traces), false).expect("deleted"), count);
        assert_eq!(contents(&store.snapshot()), expected);
        assert_eq!(store.stats().traces, expected.len() as u64);
        assert_eq!(contents(&open(&crashed(&folder)).snapshot()), expected);
        assert_eq!(store.delete(&traces_in(&traces), false).expect("deleted"), 0);
        store.close().expect("closed");
        assert_eq!(contents(&open(&folder).snapshot()), expected);
    }
}

#[test]
fn everything_deleted_leaves_no_segment() {
    let (folder, store) = store_with_four();
    assert_eq!(store.delete(&Filter::all(), false).expect("deleted"), 4);
    assert_eq!(store.stats().segments, 0);
    let segments = std::fs::read_dir(folder.path().join("segments")).expect("a folder");
    assert_eq!(segments.count(), 0);
    store.close().expect("closed");
    assert!(contents(&open(&folder).snapshot()).is_empty());
}

#[test]
fn spans_that_arrive_after_a_deletion_start_a_new_trace() {
    let (folder, store) = store_with_four();
    let first_created = contents(&store.snapshot())[&id_of(1)].0;
    store.delete(&traces_in(&[1]), false).expect("deleted");
    store.ingest(request(&[span(1, 2, 0), span(1, 3, 0)])).expect("ingested");
    let held = contents(&store.snapshot());
    let (created, spans) = &held[&id_of(1)];
    assert!(*created > first_created);
    assert_eq!(spans.len(), 2, "the first span is gone");
    store.flush().expect("flushed");
    assert_eq!(contents(&store.snapshot()), held);
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), held);
}

#[test]
fn a_replay_does_not_restore_a_deleted_trace() {
    let (folder, store) = store_with_four();
    // One request, so one write-ahead entry, with a stored span of trace 2 and a new one of trace 5.
    store.ingest(request(&[span(2, 1, 0), span(5, 1, 0)])).expect("ingested");
    store.delete(&traces_in(&[2]), false).expect("deleted");
    let held = contents(&store.snapshot());
    assert!(!held.contains_key(&id_of(2)) && held.contains_key(&id_of(5)));
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), held);
}

#[test]
fn a_replay_does_not_restore_a_trace_that_was_being_sealed_when_its_span_came_again() {
    let (folder, objects, store) = gated_store(Gate::Closed);
    store.ingest(request(&[span(1, 1, 0)])).expect("ingested");
    let flushing = std::thread::spawn({
        let store = store.clone();
        move || store.flush()
    });
    wait_until(|| store.stats().generations == 2);
    // The write-ahead object of the next generation has a span of the trace that is being flushed.
    store.ingest(request(&[span(1, 1, 0), span(2, 1, 0)])).expect("ingested");
    objects.set_gate(Gate::Open);
    flushing.join().expect("a sound thread").expect("flushed");
    assert_eq!(store.delete(&traces_in(&[1]), false).expect("deleted"), 1);
    let held = contents(&store.snapshot());
    assert!(held.keys().eq(&[id_of(2)]), "{held:?}");
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), held);
}

#[test]
fn a_snapshot_still_reads_traces_that_were_deleted_since() {
    let (_folder, store) = store_with_four();
    store.flush().expect("flushed");
    let held = store.snapshot();
    let before = contents(&held);
    store.delete(&Filter::all(), false).expect("deleted");
    assert_eq!(contents(&held), before);
}

#[test]
fn requests_wait_while_a_deletion_flushes_the_head() {
    let (folder, objects, store) = gated_store(Gate::Open);
    store.ingest(request(&[span(1, 1, 0), span(2, 1, 0)])).expect("ingested");
    objects.set_gate(Gate::Closed);
    let deleting = std::thread::spawn({
        let store = store.clone();
        move || store.delete(&traces_in(&[1]), false)
    });
    wait_until(|| store.stats().generations == 2);
    // Sent while the deletion runs, so either may be first.
    let sending = std::thread::spawn({
        let store = store.clone();
        move || store.ingest(request(&[span(1, 2, 0), span(3, 1, 0)]))
    });
    objects.set_gate(Gate::Open);
    let deleted = deleting.join().expect("a sound thread").expect("deleted");
    sending.join().expect("a sound thread").expect("ingested");
    assert_eq!(deleted, 1);
    let held = contents(&store.snapshot());
    match held.get(&id_of(1)) {
        Some((_, spans)) => assert_eq!(spans.len(), 1, "only the later span"),
        None => assert_eq!(held.len(), 2),
    }
    assert!(held.contains_key(&id_of(2)) && held.contains_key(&id_of(3)));
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), held);
}

#[test]
fn a_deletion_of_sealed_traces_waits_for_no_seal_and_neither_do_requests() {
    let (folder, objects, store) = gated_store(Gate::Open);
    for traces in [[1, 2], [3, 4]] {
        store.ingest(request(&traces.map(|trace| span(trace, 1, 0)))).expect("ingested");
        store.flush().expect("flushed");
    }
    objects.set_gate(Gate::Closed);
    // A late span of a trace that is not deleted, and a new trace.
    store.ingest(request(&[span(2, 2, 0), span(5, 1, 0)])).expect("ingested");
    assert_eq!(store.delete(&traces_in(&[1, 3]), false).expect("deleted"), 2);
    store.ingest(request(&[span(6, 1, 0)])).expect("ingested");
    let held = contents(&store.snapshot());
    assert_eq!(held.keys().copied().collect::<Vec<_>>(), [2, 4, 5, 6].map(id_of));
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), held);
    objects.set_gate(Gate::Open);
    store.flush().expect("flushed");
    assert_eq!(contents(&store.snapshot()), held);
}

#[test]
fn what_comes_while_a_deletion_flushes_stays_unless_it_is_more_of_what_is_deleted() {
    let (folder, objects, store) = gated_store(Gate::Open);
    let doomed =
        Filter::compile(br#"{"op": "EQ", "key": "session_id", "value": "doomed"}"#).expect("a filter");
    let of_session = |trace, id| with(span(trace, id, 0), "session.id", "doomed");
    store.ingest(request(&[of_session(1, 1), of_session(2, 1), span(3, 1, 0)])).expect("ingested");
    objects.set_gate(Gate::Closed);
    let deleting = std::thread::spawn({
        let (store, doomed) = (store.clone(), doomed.clone());
        move || store.delete(&doomed, false)
    });
    wait_until(|| store.stats().generations == 2);
    store.ingest(request(&[of_session(4, 1), of_session(2, 2)])).expect("requests do not wait");
    objects.set_gate(Gate::Open);
    let deleted = deleting.join().expect("a sound thread").expect("deleted");
    // Late spans of trace 2 arrived, so the rest of the head was flushed as well, with trace 4.
    assert_eq!(deleted, 3);
    let held = contents(&store.snapshot());
    assert!(held.keys().eq(&[id_of(3)]), "{held:?}");
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), held);

    store.ingest(request(&[of_session(5, 1)])).expect("ingested");
    objects.set_gate(Gate::Closed);
    let deleting = std::thread::spawn({
        let store = store.clone();
        move || store.delete(&doomed, false)
    });
    wait_until(|| store.stats().generations == 2);
    store.ingest(request(&[of_session(6, 1)])).expect("requests do not wait");
    objects.set_gate(Gate::Open);
    assert_eq!(deleting.join().expect("a sound thread").expect("deleted"), 1);
    let held = contents(&store.snapshot());
    assert!(held.keys().eq(&[id_of(3), id_of(6)]), "what was not acknowledged before stays: {held:?}");
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), held);
}

#[test]
fn a_deletion_from_many_segments_is_one_step() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    for segment in 1..=7 {
        store.ingest(request(&[span(2 * segment, 1, 0), span(2 * segment + 1, 1, 0)])).expect("ingested");
        store.flush().expect("flushed");
    }
    let manifest = store.stats().manifest;
    let deleted: Vec<u64> = (1..=7).map(|segment| 2 * segment).collect();
    assert_eq!(store.delete(&traces_in(&deleted), false).expect("deleted"), 7);
    assert_eq!(store.stats().manifest, manifest + 1);
    let held = contents(&store.snapshot());
    assert!(held.keys().eq(&(1..=7).map(|segment| id_of(2 * segment + 1)).collect::<Vec<_>>()));
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), held);
}

#[test]
fn a_deletion_that_cannot_flush_deletes_nothing_and_can_be_retried() {
    let (folder, objects, store) = gated_store(Gate::Broken);
    store.ingest(request(&[span(1, 1, 0), span(2, 1, 0)])).expect("ingested");
    let before = contents(&store.snapshot());
    let failed = store.delete(&traces_in(&[1]), false);
    assert!(matches!(failed, Err(Error::Storage { .. })), "{failed:?}");
    assert_eq!(contents(&store.snapshot()), before);
    store.ingest(request(&[span(3, 1, 0)])).expect("the store continues");
    objects.set_gate(Gate::Open);
    assert_eq!(store.delete(&traces_in(&[1]), false).expect("deleted"), 1);
    let held = contents(&store.snapshot());
    assert_eq!(held.len(), 2);
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), held);
}

/// Threads send traces to be deleted and traces to be kept, and delete the former at the same time.
#[test]
fn deleting_during_ingest_deletes_exactly_what_was_acknowledged_before() {
    let folder = TempDir::new().expect("a folder");
    let options = Options { seal_objects: 7, ..Options::default() };
    let store = TraceStore::open(address(&folder), options).expect("a store");
    let doomed =
        Filter::compile(br#"{"op": "EQ", "key": "session_id", "value": "doomed"}"#).expect("a filter");
    let is_stopped = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let senders: Vec<_> = (0..4_u64)
            .map(|thread| {
                let (store, doomed) = (&store, &doomed);
                scope.spawn(move || {
                    for round in 0..20 {
                        let number = 1_000 * (thread + 1) + 2 * round;
                        let stays = with(span(number, 1, round), "session.id", "stays");
                        let goes = with(span(number + 1, 1, round), "session.id", "doomed");
                        store.ingest(request(&[stays, goes])).expect("ingested");
                        if round % 4 == thread % 4 {
                            store.delete(doomed, false).expect("deleted");
                            assert!(
                                store.snapshot().find(id_of(number + 1)).is_none(),
                                "acknowledged before"
                            );
                        }
                        assert!(store.snapshot().find(id_of(number)).is_some());
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !is_stopped.load(Ordering::Relaxed) {
                contents(&store.snapshot());
            }
        });
        for sender in senders {
            sender.join().expect("a sound thread");
        }
        is_stopped.store(true, Ordering::Relaxed);
    });
    store.delete(&doomed, false).expect("deleted");
    let stay: BTreeSet<_> = (0..4_u64)
        .flat_map(|thread| (0..20).map(move |round| id_of(1_000 * (thread + 1) + 2 * round)))
        .collect();
    let held = contents(&store.snapshot());
    assert!(held.keys().eq(&stay), "expected {} traces, found {}", stay.len(), held.len());
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), held);
}
