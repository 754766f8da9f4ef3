//! At a high ingest rate documents are stored uncompressed and compressed later. Everything else stays the
//! same.

use std::fs;

use serde_json::Value;
use spanwise::filter::Filter;
use spanwise::storage::{IndexKind, Options, TraceStore};
use tempfile::TempDir;

use crate::support::contents::{Contents, address, contents};
use crate::support::spans::{request, span, with};
use crate::support::wait_until;

/// The size of a generation in bytes of the write-ahead log.
const SEAL_BYTES: u64 = 64 << 10;
const TRACES: u64 = 16;
const TEXT: &str = "what is the weather? ";

fn options() -> Options {
    Options { seal_bytes: SEAL_BYTES, ..Options::default() }
}

/// Returns a store that ingested twice the size of a generation in one request, and flushed it.
fn overloaded(folder: &TempDir, options: Options) -> TraceStore {
    let store = TraceStore::open(address(folder), options).expect("a store that opens");
    ingest_too_much(&store);
    store.flush().expect("flushed");
    store
}

/// Ingests twice the size of a generation in one request.
fn ingest_too_much(store: &TraceStore) {
    let bytes_of_one = usize::try_from(2 * SEAL_BYTES / TRACES).expect("few");
    let text = TEXT.repeat(bytes_of_one / TEXT.len());
    let spans: Vec<_> = (1..=TRACES).map(|trace| with(span(trace, 1, trace), "input.value", &text)).collect();
    store.ingest(request(&spans)).expect("ingested");
}

/// Returns the segments of the newest manifest.
fn segments(folder: &TempDir) -> Vec<Value> {
    let manifests = fs::read_dir(folder.path().join("manifest")).expect("a folder");
    let manifests = manifests.map(|entry| entry.expect("an entry").path());
    // The name of a manifest that is being written is longer.
    let manifests = manifests.filter(|path| path.extension().is_some_and(|kind| kind == "json"));
    let newest = manifests.max().expect("a manifest");
    // The writer may have replaced this manifest with a newer one meanwhile.
    let Ok(content) = fs::read(newest) else { return Vec::new() };
    let manifest: Value = serde_json::from_slice(&content).expect("JSON");
    manifest["manifest"]["segments"].as_array().expect("segments").clone()
}

fn document_bytes(segment: &Value) -> u64 {
    segment["documents"]["bytes"].as_u64().expect("a number")
}

fn decoded_bytes(contents: &Contents) -> u64 {
    contents.values().flat_map(|(_, spans)| spans).map(|span| span.bytes.len() as u64).sum()
}

#[test]
fn documents_with_deferred_compression_read_the_same_and_are_compressed_later() {
    let folder = TempDir::new().expect("a folder");
    let store = overloaded(&folder, options());
    let before = contents(&store.snapshot());
    assert_eq!(before.len() as u64, TRACES);
    let deferred = segments(&folder);
    assert_eq!(deferred.len(), 1);
    assert_eq!(deferred[0]["awaits_compression"], true);
    assert!(document_bytes(&deferred[0]) > decoded_bytes(&before), "stored uncompressed");
    store.close().expect("closed");
    TraceStore::check(address(&folder)).expect("a sound store");

    let store = TraceStore::open(address(&folder), options()).expect("a store that opens");
    wait_until(|| {
        segments(&folder).first().is_some_and(|segment| segment.get("awaits_compression").is_none())
    });
    let compressed = segments(&folder);
    assert_eq!(compressed.len(), 1);
    assert!(document_bytes(&compressed[0]) < decoded_bytes(&before) / 4, "{compressed:?}");
    assert_eq!(contents(&store.snapshot()), before);
    store.close().expect("closed");
    TraceStore::check(address(&folder)).expect("a sound store");
}

#[test]
fn what_questions_look_at_is_not_deferred() {
    let said = Filter::compile(br#"{"op":"CONTAINS","key":"input","value":"refund"}"#).expect("a filter");
    let every = IndexKind::ALL.to_vec();
    // An index of another kind would avoid no document check.
    for (indexes, looks, is_deferred) in
        [(&every, 1, true), (&every, 2, false), (&vec![IndexKind::Spans], 2, true)]
    {
        let folder = TempDir::new().expect("a folder");
        let options = Options { indexes: indexes.clone(), ..options() };
        let store = TraceStore::open(address(&folder), options).expect("a store that opens");
        let first = with(span(TRACES + 1, 1, 0), "input.value", "a refund, please");
        store.ingest(request(&[first])).expect("ingested");
        for _ in 0..looks {
            let found: usize = store
                .snapshot()
                .parts()
                .iter()
                .map(|part| part.rows(&said, &|| false).expect("rows").count())
                .sum();
            assert_eq!(found, 1);
        }
        store.flush().expect("flushed");
        ingest_too_much(&store);
        store.flush().expect("flushed");
        let awaits = |segment: &Value| segment.get("awaits_compression").is_some();
        assert_eq!(segments(&folder).iter().any(awaits), is_deferred, "{looks} looks, {indexes:?}");
        assert_eq!(store.stats().segments_without_spans > 0, is_deferred, "{looks} looks, {indexes:?}");
    }
}

#[test]
fn an_explicit_compaction_compresses_deferred_documents() {
    let folder = TempDir::new().expect("a folder");
    let store = overloaded(&folder, options());
    let before = contents(&store.snapshot());
    store.compact(true).expect("compacted");
    // A single segment is rewritten only because it awaits compression.
    let compacted = segments(&folder);
    assert!(document_bytes(&compacted[0]) < decoded_bytes(&before) / 4, "{compacted:?}");
    assert_eq!(contents(&store.snapshot()), before);
}

#[test]
fn with_a_size_limit_documents_are_compressed_immediately() {
    let folder = TempDir::new().expect("a folder");
    let store = overloaded(&folder, Options { retain_bytes: Some(1 << 30), ..options() });
    let sealed = segments(&folder);
    assert_eq!(sealed[0].get("awaits_compression"), None);
    assert!(document_bytes(&sealed[0]) < decoded_bytes(&contents(&store.snapshot())) / 4);
}
