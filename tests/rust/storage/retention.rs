//! What is too old, or too much, goes by itself.

use spanwise::storage::{Options, TraceStore};
use spanwise::time::now_micros;
use tempfile::TempDir;

use super::contents::{address, contents, id_of, open};
use super::damage::newest;
use super::gated::wait_until;
use crate::random::Random;
use crate::spans::{MILLISECOND, export, span, with};

/// Returns a span of trace number `trace` that started so many seconds ago.
fn ago(trace: u64, seconds: u64) -> spanwise::otlp::proto::Span {
    let mut made = span(trace, 1, 0);
    let now = u64::try_from(now_micros()).expect("after 1970") * 1_000;
    made.start_time_unix_nano = now - seconds * 1_000 * MILLISECOND;
    made.end_time_unix_nano = made.start_time_unix_nano + MILLISECOND;
    made
}

#[test]
fn traces_go_when_they_are_too_old_whether_sealed_or_not() {
    let folder = TempDir::new().expect("a folder");
    let options = Options { retain_seconds: Some(100), ..Options::default() };
    let store = TraceStore::open(address(&folder), options.clone()).expect("a store");
    store.ingest(export(&[ago(1, 99_000), ago(2, 10)])).expect("ingested");
    wait_until(|| store.stats().traces == 1);
    assert_eq!(contents(&store.snapshot()).keys().copied().collect::<Vec<_>>(), [id_of(2)]);
    store.close().expect("closed");
    let kept = open(&folder);
    kept.ingest(export(&[ago(3, 99_000)])).expect("ingested");
    kept.flush().expect("flushed");
    kept.close().expect("closed");
    // What is too old already when a store is opened goes at once.
    let store = TraceStore::open(address(&folder), options).expect("a store");
    wait_until(|| store.stats().traces == 1);
    assert_eq!(store.stats().retention_error, None);
}

#[test]
fn the_oldest_traces_go_when_there_are_too_many_bytes() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    let mut random = Random::new(1);
    for trace in 1..=40 {
        // Text that does not compress, so that documents are about equally long.
        let text: Vec<String> = (0..20).map(|_| random.next().to_string()).collect();
        let text = text.concat();
        store.ingest(export(&[with(span(trace, 1, trace), "input.value", &text)])).expect("ingested");
        if trace % 10 == 0 {
            store.flush().expect("flushed");
        }
    }
    store.compact(false).expect("compacted");
    store.close().expect("closed");
    let segment = newest(&folder, "segments").join("spans.otlp.zst");
    let stored = std::fs::metadata(segment).expect("documents").len();
    let options = Options { retain_bytes: Some(stored / 4), ..Options::default() };
    let store = TraceStore::open(address(&folder), options).expect("a store");
    wait_until(|| store.stats().traces < 40);
    let held = contents(&store.snapshot());
    let newest = (41 - held.len() as u64..=40).map(id_of);
    assert!(held.keys().copied().eq(newest), "the newest are kept: {:?}", held.keys());
    assert!((7..=10).contains(&held.len()), "{} traces of 40 are kept", held.len());
}

#[test]
fn everything_is_kept_unless_something_else_is_asked_for() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    store.ingest(export(&[ago(1, 1_000_000_000)])).expect("ingested");
    store.flush().expect("flushed");
    store.close().expect("closed");
    let options =
        Options { retain_bytes: Some(1 << 40), retain_seconds: Some(1 << 40), ..Options::default() };
    let store = TraceStore::open(address(&folder), options).expect("a store");
    store.compact(true).expect("compacted");
    assert_eq!(store.stats().traces, 1);
}
