//! Retention deletes traces that are too old, and the oldest traces of a store that is too large.

use spanwise::storage::{Options, TraceStore};
use spanwise::time::now_micros;
use tempfile::TempDir;

use crate::support::contents::{address, contents, id_of, open};
use crate::support::files::newest;
use crate::support::random::Random;
use crate::support::spans::{MILLISECOND, request, span, with};
use crate::support::wait_until;

/// Returns a span of trace number `trace` that started `seconds` seconds ago.
fn span_of_age(trace: u64, seconds: u64) -> spanwise::otlp::proto::Span {
    let mut made = span(trace, 1, 0);
    let now = u64::try_from(now_micros()).expect("after 1970") * 1_000;
    made.start_time_unix_nano = now - seconds * 1_000 * MILLISECOND;
    made.end_time_unix_nano = made.start_time_unix_nano + MILLISECOND;
    made
}

#[test]
fn old_traces_are_deleted_whether_sealed_or_not() {
    let folder = TempDir::new().expect("a folder");
    let options = Options { retain_seconds: Some(100), ..Options::default() };
    let store = TraceStore::open(address(&folder), options.clone()).expect("a store");
    store.ingest(request(&[span_of_age(1, 99_000), span_of_age(2, 10)])).expect("ingested");
    wait_until(|| store.stats().traces == 1);
    assert_eq!(contents(&store.snapshot()).keys().copied().collect::<Vec<_>>(), [id_of(2)]);
    store.close().expect("closed");
    let kept = open(&folder);
    kept.ingest(request(&[span_of_age(3, 99_000)])).expect("ingested");
    kept.flush().expect("flushed");
    kept.close().expect("closed");
    // Traces that are too old when the store is opened are deleted immediately.
    let store = TraceStore::open(address(&folder), options).expect("a store");
    wait_until(|| store.stats().traces == 1);
    assert_eq!(store.stats().retention_error, None);
}

#[test]
fn the_oldest_traces_are_deleted_when_there_are_too_many_bytes() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    let mut random = Random::new(1);
    for trace in 1..=40 {
        // Incompressible text, so that all documents have about the same size.
        let text: Vec<String> = (0..20).map(|_| random.next().to_string()).collect();
        let text = text.concat();
        store.ingest(request(&[with(span(trace, 1, trace), "input.value", &text)])).expect("ingested");
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
fn without_limits_in_reach_everything_is_kept() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    store.ingest(request(&[span_of_age(1, 1_000_000_000)])).expect("ingested");
    store.flush().expect("flushed");
    store.close().expect("closed");
    let options =
        Options { retain_bytes: Some(1 << 40), retain_seconds: Some(1 << 40), ..Options::default() };
    let store = TraceStore::open(address(&folder), options).expect("a store");
    store.compact(true).expect("compacted");
    assert_eq!(store.stats().traces, 1);
}
