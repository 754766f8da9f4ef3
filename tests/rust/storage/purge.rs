//! After a purge no object of a store, decoded, holds anything of what was deleted.

use std::fs;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray as _;
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use spanwise::filter::Filter;
use spanwise::otlp::proto;
use spanwise::storage::{Options, TraceStore};
use tempfile::TempDir;

use super::contents::{address, contents, crashed, open};
use crate::spans::{below, export, span, with};

/// Stands in every text of the traces that are deleted, and nowhere else.
const MARKER: &str = "Zanzibar";

/// Returns the texts of a store's objects in which the marker is found, as `path: what it is in`.
fn traces_of_the_marker(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for path in files(folder) {
        let content = fs::read(&path).expect("a file");
        let mut texts = vec![("as it is", content.clone())];
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

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Returns every text value of a Parquet file, those in dictionaries that no row uses included.
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

/// Returns the documents of a segment, decoded as any zstd tool would.
fn documents(content: &[u8], dictionary: &Path) -> Vec<u8> {
    let dictionary = fs::read(dictionary).unwrap_or_default();
    let mut decoder = zstd::Decoder::with_dictionary(content, &dictionary).expect("a decoder");
    let mut text = Vec::new();
    std::io::copy(&mut decoder, &mut text).expect("documents");
    text
}

/// Returns a trace with the marker in each of its texts, or with another word.
fn made(trace: u64, word: &str) -> proto::Span {
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
fn nothing_is_left_of_what_was_deleted() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    for from in [0, 100, 200] {
        let spans: Vec<_> = (from..from + 100)
            .map(|trace| made(trace, if trace % 2 == 0 { MARKER } else { "Rome" }))
            .collect();
        store.ingest(export(&spans)).expect("ingested");
        store.flush().expect("flushed");
    }
    // The dictionary has learnt the marker, rows were superseded, and some are in the write-ahead only.
    store.compact(false).expect("compacted");
    store.ingest(export(&[late(2), made(300, MARKER)])).expect("ingested");
    store.flush().expect("flushed");
    store.ingest(export(&[late(3), made(302, MARKER)])).expect("ingested");
    let kinds = ["wal", "parquet", "zst", "dict"];
    let before = traces_of_the_marker(folder.path());
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
    assert!(!traces_of_the_marker(folder.path()).is_empty(), "deleted is not purged");
    store.compact(true).expect("purged");
    assert_eq!(traces_of_the_marker(folder.path()), Vec::<String>::new());
    assert_eq!(contents(&store.snapshot()), held);
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), held);
    store.close().expect("closed");
    TraceStore::check(address(&folder)).expect("a sound store");
}

#[test]
fn a_purge_leaves_nothing_that_no_manifest_names() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    store.ingest(export(&[span(1, 1, 0), span(2, 1, 0)])).expect("ingested");
    let strays = ["segments/01ARZ3NDEKTSV4RRFFQ69G5FAV/traces.parquet", "wal/stray"];
    for stray in strays {
        let path = folder.path().join(stray);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, MARKER).expect("written");
    }
    store.compact(true).expect("purged");
    assert_eq!(traces_of_the_marker(folder.path()), Vec::<String>::new());
    store.ingest(export(&[span(1, 2, 0)])).expect("ingested");
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), contents(&store.snapshot()));
}

#[test]
fn a_purge_says_what_it_could_not_reach() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    store.ingest(export(&[span(1, 1, 0)])).expect("ingested");
    store.flush().expect("flushed");
    store.close().expect("closed");
    let documents =
        files(&folder.path().join("segments")).into_iter().find(|path| path.ends_with("spans.otlp.zst"));
    let documents = documents.expect("documents");
    let mut damaged = fs::read(&documents).expect("a file");
    damaged[20] ^= 1;
    fs::write(&documents, damaged).expect("written");
    let options = Options { recover: true, ..Options::default() };
    let store = TraceStore::open(address(&folder), options).expect("a store");
    let purged = store.compact(true).expect_err("a segment that cannot be read");
    assert!(purged.to_string().contains("nothing of it is purged"), "{purged}");
}
