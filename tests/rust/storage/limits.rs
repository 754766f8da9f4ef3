//! What is refused, and what is only for the owner's eyes.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use spanwise::error::Error;
use spanwise::storage::{Options, TraceStore};
use spanwise::trace::MAX_SPANS;
use tempfile::TempDir;

use super::contents::{address, contents, open};
use crate::spans::{export, span};

#[test]
fn spans_over_the_limit_of_a_trace_are_refused_and_counted() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    let most = u64::try_from(MAX_SPANS).expect("a count");
    let spans: Vec<_> = (1..=most + 2).map(|id| span(1, id, 0)).chain([span(2, 1, 0)]).collect();
    let ingested = store.ingest(export(&spans)).expect("ingested");
    assert_eq!((ingested.accepted, ingested.rejected), (most + 1, 2));
    assert_eq!(ingested.reason, format!("trace {:016x}{:016x} has 100000 spans already", 1, 1));
    let again = store.ingest(export(&[span(1, 1, 0), span(1, most + 3, 0)])).expect("ingested");
    assert_eq!((again.accepted, again.rejected), (1, 1), "a copy of a span that is there is no new one");
    let before = contents(&store.snapshot());
    store.close().expect("closed");
    assert_eq!(contents(&open(&folder).snapshot()), before);
}

#[test]
fn a_store_that_cannot_seal_fast_enough_is_busy_until_it_has() {
    for (max_unsealed_bytes, max_head_bytes) in [(0, 1 << 30), (1 << 30, 0)] {
        busy_until_sealed(Options { max_unsealed_bytes, max_head_bytes, ..Options::default() });
    }
}

#[test]
fn a_trace_that_grows_counts_once_and_small_spans_are_cut_by_what_they_take() {
    let folder = TempDir::new().expect("a folder");
    let options = Options { max_head_bytes: 1 << 20, ..Options::default() };
    let store = TraceStore::open(address(&folder), options).expect("a store");
    let grow = |traces: u64| {
        for id in 1..=40 {
            let spans: Vec<_> = (1..=traces).map(|trace| span(trace, id, 0)).collect();
            store.ingest(export(&spans)).expect("ingested");
        }
    };
    store.ingest(export(&[span(1, 1, 0)])).expect("ingested");
    store.flush().expect("flushed");
    let before = store.stats().wal_checkpoint;
    grow(1);
    assert_eq!((store.stats().generations, store.stats().wal_checkpoint), (1, before));
    grow(40);
    let until = Instant::now() + Duration::from_secs(30);
    while store.stats().wal_checkpoint == before {
        assert!(Instant::now() < until, "nothing was cut: {:?}", store.stats());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn busy_until_sealed(options: Options) {
    let folder = TempDir::new().expect("a folder");
    let store = TraceStore::open(address(&folder), options).expect("a store");
    // The fence of the opening is sealed at once; what is then taken is over the limit.
    let mut taken = 0;
    for id in 1..=20 {
        loop {
            match store.ingest(export(&[span(id, 1, 0)])) {
                Ok(_) => break taken += 1,
                Err(Error::Busy(message)) => assert!(message.contains("wait to be sealed"), "{message}"),
                Err(fault) => panic!("{fault}"),
            }
        }
    }
    assert_eq!(contents(&store.snapshot()).len(), taken);
}

#[test]
fn an_export_without_spans_is_answered_without_a_write() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    let before = store.stats();
    let mut nothing = export(&[]);
    (nothing.rejected, nothing.reason) = (3, "no trace id".into());
    let ingested = store.ingest(nothing).expect("ingested");
    assert_eq!((ingested.accepted, ingested.rejected, ingested.reason.as_str()), (0, 3, "no trace id"));
    assert_eq!(store.stats(), before);
}

#[test]
fn many_threads_ingest_and_every_answer_can_be_found_at_once() {
    let folder = TempDir::new().expect("a folder");
    let store = TraceStore::open(address(&folder), Options { seal_objects: 5, ..Options::default() });
    let store = store.expect("a store");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let store = store.clone();
            scope.spawn(move || {
                for id in 1..=10 {
                    let spans = [span(100 * (thread + 1) + id, 1, id), span(1, 100 * thread + id, 0)];
                    let trace_id = export(&spans).spans[0].trace_id;
                    store.ingest(export(&spans)).expect("ingested");
                    assert!(store.snapshot().find(trace_id).is_some());
                }
            });
        }
    });
    let held = contents(&store.snapshot());
    assert_eq!(held.len(), 41);
    assert_eq!(held.values().map(|(_, spans)| spans.len()).max(), Some(40));
}

#[test]
fn unknown_options_are_refused() {
    let unknown = serde_json::from_str::<Options>(r#"{"seal_byte": 1}"#);
    assert!(unknown.expect_err("a refusal").to_string().contains("unknown field `seal_byte`"));
    let some = serde_json::from_str::<Options>(r#"{"seal_bytes": 1}"#).expect("options");
    assert_eq!(some, Options { seal_bytes: 1, ..Options::default() });
}

#[test]
fn only_the_owner_reads_a_store() {
    let parent = TempDir::new().expect("a folder");
    let root = parent.path().join("store");
    let store = TraceStore::open(root.to_str().expect("UTF-8"), Options::default()).expect("a store");
    store.ingest(export(&[span(1, 1, 0)])).expect("ingested");
    store.flush().expect("flushed");
    store.ingest(export(&[span(1, 2, 0)])).expect("ingested");
    assert_private(&root);
}

fn assert_private(path: &Path) {
    let metadata = fs::metadata(path).expect("metadata");
    let mode = metadata.permissions().mode() & 0o777;
    assert_eq!(mode, if metadata.is_dir() { 0o700 } else { 0o600 }, "`{}`", path.display());
    if metadata.is_dir() {
        for entry in fs::read_dir(path).expect("a folder") {
            assert_private(&entry.expect("an entry").path());
        }
    }
}
