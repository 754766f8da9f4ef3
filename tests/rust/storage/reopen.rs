//! What was acknowledged is there after the store was closed and opened again, sealed or not.

use spanwise::error::Error;
use spanwise::storage::{Options, TraceStore};
use tempfile::TempDir;

use super::contents::{address, contents, open};
use crate::spans::{below, export, span, with};

#[test]
fn a_store_reopened_holds_what_it_held() {
    for is_flushed in [false, true] {
        let folder = TempDir::new().expect("a folder");
        let store = open(&folder);
        let spans = [span(1, 1, 0), below(span(1, 2, 10), 1), with(span(2, 1, 5), "session.id", "s")];
        let ingested = store.ingest(export(&spans)).expect("ingested");
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
fn late_spans_move_a_trace_wherever_it_stands() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    for id in 1..=6 {
        let both = [span(1, id, id), span(2 + id, 1, id)];
        store.ingest(export(&both)).expect("ingested");
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
    store.ingest(export(&spans)).expect("ingested");
    let before = contents(&store.snapshot());
    for flush in [true, false] {
        assert_eq!(store.ingest(export(&spans)).expect("ingested").accepted, 3);
        assert_eq!(contents(&store.snapshot()), before);
        if flush {
            store.flush().expect("flushed");
        }
    }
    store.close().expect("closed");
    assert_eq!(contents(&open(&folder).snapshot()), before);
}

#[test]
fn a_closed_store_takes_nothing_and_its_snapshots_stay_readable() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    store.ingest(export(&[span(1, 1, 0)])).expect("ingested");
    store.flush().expect("flushed");
    let held = store.snapshot();
    store.close().expect("closed");
    store.close().expect("closing again does nothing");
    assert!(matches!(store.ingest(export(&[span(2, 1, 0)])), Err(Error::Closed)));
    assert!(matches!(store.flush(), Err(Error::Closed)));
    assert!(!store.stats().is_acknowledging);
    std::fs::remove_dir_all(folder.path().join("segments")).expect("removed");
    assert_eq!(contents(&held).len(), 1);
}

#[test]
fn a_second_opening_is_refused_until_the_first_is_closed() {
    let folder = TempDir::new().expect("a folder");
    let first = open(&folder);
    let second = TraceStore::open(address(&folder), Options::default());
    let Err(Error::Locked(message)) = second else { panic!("expected a locked store") };
    assert!(message.contains(&format!("process {}", std::process::id())), "{message}");
    first.ingest(export(&[span(1, 1, 0)])).expect("the first goes on");
    drop(first);
    assert_eq!(contents(&open(&folder).snapshot()).len(), 1);
}

#[test]
fn addresses_that_are_no_folder_are_refused() {
    for (url, expected) in [
        ("s3://key:secret@bucket", "expected a folder or a `file://` address, got `s3://`"),
        ("file://elsewhere/x", "expected `file://` and an absolute path, got `file://elsewhere/x`"),
        ("", "expected a folder, got an empty address"),
    ] {
        let Err(Error::Options(message)) = TraceStore::open(url, Options::default()) else {
            panic!("expected a refusal of `{url}`");
        };
        assert_eq!(message, expected);
    }
    let folder = TempDir::new().expect("a folder");
    let url = format!("file://{}/with%20space", folder.path().display());
    TraceStore::open(&url, Options::default()).expect("a store").close().expect("closed");
    assert!(folder.path().join("with space/manifest").is_dir());
}

#[test]
fn many_small_commits_stay_few_parts_and_lose_nothing() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    for commit in 1..=70 {
        // Every third request brings a late span of a trace that an earlier batch holds.
        let spans = if commit % 3 == 0 { [span(commit - 2, 2, 5)] } else { [span(commit, 1, 0)] };
        store.ingest(export(&spans)).expect("ingested");
        assert!(store.snapshot().parts().len() <= 16, "after commit {commit}");
    }
    let before = contents(&store.snapshot());
    assert_eq!(before.len(), (1..=70).filter(|commit| commit % 3 != 0).count());
    store.close().expect("closed");
    assert_eq!(contents(&open(&folder).snapshot()), before);
}
