//! The store accepts spans during a flush, and a failed flush loses no data.

use spanwise::error::Error;

use crate::support::contents::{contents, crashed, open};
use crate::support::gate::{Gate, gated_store};
use crate::support::spans::{request, span};
use crate::support::wait_until;

#[test]
fn spans_that_arrive_during_a_flush_are_kept() {
    let (folder, objects, store) = gated_store(Gate::Open);
    store.ingest(request(&[span(1, 1, 0), span(2, 1, 0), span(3, 1, 0)])).expect("ingested");
    store.flush().expect("flushed");
    store.ingest(request(&[span(1, 2, 0), span(4, 1, 0)])).expect("ingested");
    objects.set_gate(Gate::Closed);
    let flushing = std::thread::spawn({
        let store = store.clone();
        move || store.flush()
    });
    wait_until(|| store.stats().generations == 2);
    // One trace of the generation that is being flushed, one of the earlier segment, and a new one.
    store.ingest(request(&[span(1, 3, 0), span(2, 2, 0), span(5, 1, 0)])).expect("ingested");
    let before = contents(&store.snapshot());
    assert_eq!(before.len(), 5);
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), before);
    objects.set_gate(Gate::Open);
    flushing.join().expect("a sound thread").expect("flushed");
    assert_eq!(store.stats().segments, 2);
    assert_eq!(contents(&store.snapshot()), before);
    // Only rows that the second segment supersedes may be deleted durably. The others are replayed.
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), before);
    store.flush().expect("flushed");
    assert_eq!(contents(&store.snapshot()), before);
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), before);
}

#[test]
fn a_failed_flush_is_reported_and_retried() {
    let (folder, objects, store) = gated_store(Gate::Broken);
    store.ingest(request(&[span(1, 1, 0)])).expect("ingested");
    assert!(matches!(store.flush(), Err(Error::Storage { .. })));
    let error = store.stats().flush_error.expect("an error");
    assert!(error.ends_with("no space is left"), "{error}");
    store.ingest(request(&[span(1, 2, 0), span(2, 1, 0)])).expect("the store continues");
    let before = contents(&store.snapshot());
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), before);
    objects.set_gate(Gate::Open);
    store.flush().expect("flushed");
    assert_eq!(store.stats().flush_error, None);
    assert_eq!(store.stats().segments, 1, "a segment without live rows is dropped");
    assert_eq!(contents(&store.snapshot()), before);
    store.close().expect("closed");
    assert_eq!(contents(&open(&folder).snapshot()), before);
}
