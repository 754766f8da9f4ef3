//! After a purge no decoded file of a store contains any deleted data.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use spanwise::filter::Filter;
use spanwise::otlp::proto;
use spanwise::storage::{Options, TraceStore};
use tempfile::TempDir;

use crate::support::contents::{address, contents, crashed, open};
use crate::support::files::paths_below;
use crate::support::memory::Memory;
use crate::support::spans::{below, request, span, with};
use crate::support::wait_until;

/// A word in every text of the deleted traces, and nowhere else.
const MARKER: &str = "Zanzibar";

/// Returns the occurrences of the marker in the files of a store, as `path: part of the content`.
fn marker_occurrences(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for path in paths_below(folder) {
        let content = fs::read(&path).expect("a file");
        let mut texts = vec![("raw", content.clone())];
        match path.extension().and_then(|kind| kind.to_str()) {
            Some("parquet") => texts.push(("values", values(content.into()))),
            Some("zst") => texts.push(("documents", documents(&content, &path.with_file_name("spans.dict")))),
            _ => {}
        }
        for (what, text) in texts {
            if text.windows(MARKER.len()).any(|piece| piece == MARKER.as_bytes()) {
                found.push(format!("{}: {what}", path.display()));
            }
        }
    }
    found
}

/// Returns all text values of a Parquet file, including dictionary values that no row uses.
fn values(content: Bytes) -> Vec<u8> {
    let reader =
        ParquetRecordBatchReaderBuilder::try_new(content).expect("Parquet").build().expect("a reader");
    let mut texts = Vec::new();
    for batch in reader {
        for column in batch.expect("rows").columns() {
            let dictionary = column.as_any_dictionary_opt();
            let plain = dictionary.map_or(column.clone(), |coded| coded.values().clone());
            texts
                .extend(plain.as_string_opt::<i32>().into_iter().flat_map(|text| text.value_data().to_vec()));
        }
    }
    texts
}

/// Returns the documents of a segment, decoded by the plain zstd decoder.
fn documents(content: &[u8], dictionary: &Path) -> Vec<u8> {
    let dictionary = fs::read(dictionary).unwrap_or_default();
    let mut decoder = zstd::Decoder::with_dictionary(content, &dictionary).expect("a decoder");
    let mut text = Vec::new();
    std::io::copy(&mut decoder, &mut text).expect("documents");
    text
}

/// Returns a span with `word` in each of its texts.
fn span_about(trace: u64, word: &str) -> proto::Span {
    let mut made = span(trace, 1, trace);
    made.name = format!("travel to {word} {trace}");
    let made = with(made, "session.id", word);
    with(
        made,
        "input.value",
        &format!("what is the weather in {word} on day {trace}, and how far is {word}?"),
    )
}

/// Returns a late span of trace 2.
fn late(id: u64) -> proto::Span {
    with(below(span(2, id, 10), 1), "input.value", MARKER)
}

#[test]
fn a_purge_leaves_no_deleted_data() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    for from in [0, 100, 200] {
        let spans: Vec<_> = (from..from + 100)
            .map(|trace| span_about(trace, if trace % 2 == 0 { MARKER } else { "Rome" }))
            .collect();
        store.ingest(request(&spans)).expect("ingested");
        store.flush().expect("flushed");
    }
    // The dictionary contains the marker, rows were superseded, and some are in the write-ahead log only.
    store.compact(false).expect("compacted");
    store.ingest(request(&[late(2), span_about(300, MARKER)])).expect("ingested");
    store.flush().expect("flushed");
    store.ingest(request(&[late(3), span_about(302, MARKER)])).expect("ingested");
    let kinds = ["wal", "parquet", "zst", "dict"];
    let before = marker_occurrences(folder.path());
    for kind in kinds {
        assert!(
            before.iter().any(|place| place.contains(&format!(".{kind}: "))),
            "no `{kind}` in {before:?}"
        );
    }
    let doomed =
        Filter::compile(br#"{"op": "EQ", "key": "session_id", "value": "Zanzibar"}"#).expect("a filter");
    assert_eq!(store.delete(&doomed, false).expect("deleted"), 152);
    let held = contents(&store.snapshot());
    assert_eq!(held.len(), 150);
    assert!(!marker_occurrences(folder.path()).is_empty(), "deletion alone does not purge");
    store.compact(true).expect("purged");
    assert_eq!(marker_occurrences(folder.path()), Vec::<String>::new());
    assert_eq!(contents(&store.snapshot()), held);
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), held);
    store.close().expect("closed");
    TraceStore::check(address(&folder)).expect("a sound store");
}

#[test]
fn a_purge_removes_objects_that_no_manifest_names() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    store.ingest(request(&[span(1, 1, 0), span(2, 1, 0)])).expect("ingested");
    let strays = ["segments/01ARZ3NDEKTSV4RRFFQ69G5FAV/traces.parquet", "wal/stray"];
    for stray in strays {
        let path = folder.path().join(stray);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, MARKER).expect("written");
    }
    store.compact(true).expect("purged");
    assert_eq!(marker_occurrences(folder.path()), Vec::<String>::new());
    store.ingest(request(&[span(1, 2, 0)])).expect("ingested");
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), contents(&store.snapshot()));
}

#[test]
fn a_purge_reports_segments_it_cannot_read() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    store.ingest(request(&[span(1, 1, 0)])).expect("ingested");
    store.flush().expect("flushed");
    store.close().expect("closed");
    let documents = paths_below(&folder.path().join("segments"))
        .into_iter()
        .find(|path| path.ends_with("spans.otlp.zst"));
    let documents = documents.expect("documents");
    let mut damaged = fs::read(&documents).expect("a file");
    damaged[20] ^= 1;
    fs::write(&documents, damaged).expect("written");
    let options = Options { recover: true, ..Options::default() };
    let store = TraceStore::open(address(&folder), options).expect("a store");
    let purged = store.compact(true).expect_err("a segment that cannot be read");
    assert!(purged.to_string().contains("so they are not purged"), "{purged}");
}

/// Returns the names of the objects of a store.
fn names(memory: &Memory) -> Vec<String> {
    memory.paths("", "")
}

/// Writes and merges three segments. Returns the superseded objects.
fn superseded(memory: &Memory, store: &TraceStore) -> Vec<String> {
    for trace in 1..=3 {
        store.ingest(request(&[span(trace, 1, trace)])).expect("ingested");
        store.flush().expect("flushed");
    }
    let before = memory.paths("segments/", "");
    store.compact(false).expect("compacted");
    assert_eq!(store.stats().segments, 1);
    before
}

#[test]
fn what_readers_may_hold_lingers_and_manifests_do_not() {
    let memory = Memory::default();
    let options = Options { linger_seconds: Some(2), ..Options::default() };
    let store = TraceStore::open_in(Arc::new(memory.clone()), options).expect("a store");
    let superseded = superseded(&memory, &store);
    let present = names(&memory);
    assert!(superseded.iter().all(|path| present.contains(path)), "segments linger");
    assert!(memory.paths("wal/", "").len() > 3, "the log lingers");
    // The manifest of the claim, and the newest one.
    assert_eq!(memory.paths("manifest/", "").len(), 2);
    wait_until(|| superseded.iter().all(|path| !names(&memory).contains(path)));
    wait_until(|| memory.paths("wal/", "").len() == 1);
    assert_eq!(contents(&store.snapshot()).len(), 3);
}

#[test]
fn a_purge_does_not_linger() {
    let memory = Memory::default();
    let options = Options { linger_seconds: Some(3_600), ..Options::default() };
    let store = TraceStore::open_in(Arc::new(memory.clone()), options).expect("a store");
    let superseded = superseded(&memory, &store);
    store.compact(true).expect("purged");
    let present = names(&memory);
    assert!(superseded.iter().all(|path| !present.contains(path)));
}

#[test]
fn what_lingers_when_a_store_is_closed_lingers_after_the_next_opening_too() {
    let memory = Memory::default();
    let options = |seconds| Options { linger_seconds: Some(seconds), ..Options::default() };
    let store = TraceStore::open_in(Arc::new(memory.clone()), options(3_600)).expect("a store");
    let superseded = superseded(&memory, &store);
    store.close().expect("closed");
    let store = TraceStore::open_in(Arc::new(memory.clone()), options(1)).expect("a store");
    let present = names(&memory);
    assert!(superseded.iter().all(|path| present.contains(path)));
    wait_until(|| superseded.iter().all(|path| !names(&memory).contains(path)));
    assert_eq!(contents(&store.snapshot()).len(), 3);
}
