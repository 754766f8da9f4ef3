//! Everything acknowledged is available after a store is reopened, in segments or in the write-ahead log.

use spanwise::error::Error;
use spanwise::storage::{Options, TraceStore};
use tempfile::TempDir;

use crate::support::contents::{address, contents, open};
use crate::support::spans::{below, request, span, with};

#[test]
fn a_reopened_store_holds_the_same() {
    for is_flushed in [false, true] {
        let folder = TempDir::new().expect("a folder");
        let store = open(&folder);
        let spans = [span(1, 1, 0), below(span(1, 2, 10), 1), with(span(2, 1, 5), "session.id", "s")];
        let ingested = store.ingest(request(&spans)).expect("ingested");
        assert_eq!((ingested.accepted, ingested.rejected), (3, 0));
        if is_flushed {
            store.flush().expect("flushed");
        }
        let before = contents(&store.snapshot());
        assert_eq!(before.len(), 2);
        assert_eq!(store.stats().segments, u64::from(is_flushed));
        store.close().expect("closed");
        let store = open(&folder);
        assert_eq!(contents(&store.snapshot()), before);
        assert_eq!(store.stats().traces, 2);
    }
}

#[test]
fn late_spans_extend_a_trace_wherever_it_is_stored() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    for id in 1..=6 {
        let both = [span(1, id, id), span(2 + id, 1, id)];
        store.ingest(request(&both)).expect("ingested");
        if id % 2 == 0 {
            store.flush().expect("flushed");
        }
    }
    let before = contents(&store.snapshot());
    assert_eq!(before.len(), 7);
    assert_eq!(before.values().map(|(_, spans)| spans.len()).max(), Some(6));
    store.close().expect("closed");
    let store = open(&folder);
    assert_eq!(contents(&store.snapshot()), before);
    store.close().expect("closed");
    let report = TraceStore::check(address(&folder)).expect("a sound store");
    assert_eq!((report.segments, report.sealed_traces, report.deleted_rows), (3, 7, 2));
}

#[test]
fn sending_everything_twice_changes_nothing() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    let spans = [span(1, 1, 0), span(1, 2, 1), span(2, 1, 0)];
    store.ingest(request(&spans)).expect("ingested");
    let before = contents(&store.snapshot());
    for flush in [true, false] {
        assert_eq!(store.ingest(request(&spans)).expect("ingested").accepted, 3);
        assert_eq!(contents(&store.snapshot()), before);
        if flush {
            store.flush().expect("flushed");
        }
    }
    store.close().expect("closed");
    assert_eq!(contents(&open(&folder).snapshot()), before);
}

#[test]
fn a_closed_store_accepts_nothing_and_its_snapshots_stay_readable() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    store.ingest(request(&[span(1, 1, 0)])).expect("ingested");
    store.flush().expect("flushed");
    let held = store.snapshot();
    store.close().expect("closed");
    store.close().expect("closing again does nothing");
    assert!(matches!(store.ingest(request(&[span(2, 1, 0)])), Err(Error::Closed)));
    assert!(matches!(store.flush(), Err(Error::Closed)));
    assert!(!store.stats().is_acknowledging);
    std::fs::remove_dir_all(folder.path().join("segments")).expect("removed");
    assert_eq!(contents(&held).len(), 1);
}

#[test]
fn many_small_commits_are_merged_into_few_parts_and_lose_nothing() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    for commit in 1..=70 {
        // Every third request is a late span of a trace in an earlier batch.
        let spans = if commit % 3 == 0 { [span(commit - 2, 2, 5)] } else { [span(commit, 1, 0)] };
        store.ingest(request(&spans)).expect("ingested");
        assert!(store.snapshot().parts().len() <= 16, "after commit {commit}");
    }
    let before = contents(&store.snapshot());
    assert_eq!(before.len(), (1..=70).filter(|commit| commit % 3 != 0).count());
    store.close().expect("closed");
    assert_eq!(contents(&open(&folder).snapshot()), before);
}

#[test]
fn a_request_without_spans_writes_nothing() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    let before = store.stats();
    let mut empty = request(&[]);
    (empty.rejected, empty.reason) = (3, "no trace id".into());
    let ingested = store.ingest(empty).expect("ingested");
    assert_eq!((ingested.accepted, ingested.rejected, ingested.reason.as_str()), (0, 3, "no trace id"));
    assert_eq!(store.stats(), before);
}

#[test]
fn concurrent_requests_are_searchable_once_acknowledged() {
    let folder = TempDir::new().expect("a folder");
    let store = TraceStore::open(address(&folder), Options { seal_objects: 5, ..Options::default() });
    let store = store.expect("a store");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let store = store.clone();
            scope.spawn(move || {
                for id in 1..=10 {
                    let spans = [span(100 * (thread + 1) + id, 1, id), span(1, 100 * thread + id, 0)];
                    let trace_id = request(&spans).spans[0].trace_id;
                    store.ingest(request(&spans)).expect("ingested");
                    assert!(store.snapshot().find(trace_id).is_some());
                }
            });
        }
    });
    let held = contents(&store.snapshot());
    assert_eq!(held.len(), 41);
    assert_eq!(held.values().map(|(_, spans)| spans.len()).max(), Some(40));
}
