//! Span tables, text indexes and attribute indexes are built from the documents in the background.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use spanwise::filter::Filter;
use spanwise::storage::{IndexKind, Options, Snapshot, Stats, TraceStore};
use tempfile::TempDir;

use crate::support::contents::{address, open, traces_in};
use crate::support::files::closed_store;
use crate::support::memory::Memory;
use crate::support::spans::{request, span, with};

const NAMED: &str = r#"{"op":"SPAN","where":{"op":"EQ","key":"name","value":"span-2"}}"#;
const SENT: &str = r#"{"op":"EQ","key":"attributes.input.value","value":"a refund, please"}"#;
const SAID: &str = r#"{"op":"CONTAINS","key":"input","value":"refund"}"#;

/// Returns the number of flushed traces that a filter matches, and `true` if no document was checked.
fn matching(snapshot: &Snapshot, filter: &str) -> (usize, bool) {
    let filter = Filter::compile(filter.as_bytes()).expect("a good filter");
    let (mut count, mut is_decided) = (0, true);
    for part in snapshot.parts().iter().filter(|part| part.is_segment()) {
        is_decided &= part.candidates(&filter, &|| false).expect("candidates").unverified.is_empty();
        count += part.rows(&filter, &|| false).expect("rows").count();
    }
    (count, is_decided)
}

#[test]
fn indexes_are_made_in_the_background_and_found_when_the_store_is_opened_again() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    for trace in 1..=5 {
        let said = with(span(trace, 1, 0), "input.value", "a refund, please");
        store.ingest(request(&[said, span(trace, 2, 1)])).expect("ingested");
    }
    store.flush().expect("sealed");
    let patience = Instant::now() + Duration::from_secs(60);
    let waiting = |stats: Stats| {
        stats.segments_without_spans + stats.segments_without_texts + stats.segments_without_attributes
    };
    while waiting(store.stats()) > 0 {
        assert!(Instant::now() < patience, "{:?}", store.stats());
        std::thread::sleep(Duration::from_millis(10));
    }
    for filter in [NAMED, SENT, SAID] {
        assert_eq!(matching(&store.snapshot(), filter), (5, true));
    }
    store.close().expect("closed");
    // A read-only store has the built indexes.
    let read = TraceStore::open_read_only(address(&folder)).expect("a snapshot");
    for filter in [NAMED, SENT, SAID] {
        assert_eq!(matching(&read, filter), (5, true));
    }
    let report = TraceStore::check(address(&folder)).expect("a sound store");
    assert_eq!((report.indexes, report.other_indexes), (4, Vec::new()));
}

#[test]
fn no_index_is_made_that_is_not_wanted() {
    let (folder, _) = closed_store();
    let options = Options { indexes: vec![IndexKind::Texts], ..Options::default() };
    let store = TraceStore::open(address(&folder), options).expect("a store");
    store.index().expect("indexed");
    assert_eq!(store.stats().segments_without_spans, store.stats().segments);
    assert_eq!(store.stats().segments_without_texts, 0);
    assert!(!matching(&store.snapshot(), NAMED).1);
}

#[test]
fn a_check_names_a_cached_file_that_is_not_what_the_store_would_build() {
    let (folder, _) = closed_store();
    let store = open(&folder);
    store.index().expect("indexed");
    store.close().expect("closed");
    let mut tables: Vec<_> = fs::read_dir(folder.path().join("cache"))
        .expect("a cache")
        .map(|entry| entry.expect("an entry").path().join("spans"))
        .collect();
    tables.sort();
    fs::copy(&tables[0], &tables[1]).expect("copied");
    let report = TraceStore::check(address(&folder)).expect("a sound store");
    assert_eq!(report.other_indexes, [tables[1].display().to_string()]);
    assert_eq!(report.indexes, 11);
}

#[test]
fn a_purge_leaves_no_word_of_a_deleted_trace_in_any_index() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    for trace in 1..=3 {
        let secret = with(span(trace, 1, 0), "llm.model_name", &format!("secret-{trace}"));
        let secret = with(secret, &format!("secret-{trace}.key"), "1");
        let secret = with(secret, "input.value", &format!("told {trace}-told"));
        store.ingest(request(&[with(secret, "openinference.span.kind", "LLM")])).expect("ingested");
    }
    store.flush().expect("sealed");
    store.index().expect("indexed");
    let holds = |word: &str| {
        let folders = fs::read_dir(folder.path().join("cache")).expect("a cache");
        let files =
            folders.flat_map(|folder| fs::read_dir(folder.expect("an entry").path()).expect("a folder"));
        let mut contents = files.map(|file| fs::read(file.expect("an entry").path()).expect("a file"));
        contents.any(|content| content.windows(word.len()).any(|window| window == word.as_bytes()))
    };
    assert!(holds("secret-2") && holds("2-told"));
    store.delete(&traces_in(&[2]), false).expect("deleted");
    store.compact(true).expect("purged");
    store.index().expect("indexed");
    assert!(holds("secret-1") && !holds("secret-2") && holds("secret-3"));
    assert!(holds("1-told") && !holds("2-told") && holds("3-told"));
}

#[test]
fn a_segment_with_a_damaged_document_has_no_index_of_texts() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    for trace in 1..=3 {
        store
            .ingest(request(&[with(span(trace, 1, 0), "input.value", "a refund, please")]))
            .expect("ingested");
    }
    store.flush().expect("sealed");
    store.close().expect("closed");
    fs::remove_dir_all(folder.path().join("cache")).expect("removed");
    let segments = fs::read_dir(folder.path().join("segments")).expect("segments");
    let documents: Vec<_> =
        segments.map(|entry| entry.expect("an entry").path().join("spans.otlp.zst")).collect();
    let mut content = fs::read(&documents[0]).expect("documents");
    let last = content.len() - 9;
    content[last] ^= 1;
    fs::write(&documents[0], content).expect("written");
    let store = open(&folder);
    store.index().expect("indexed");
    let stats = store.stats();
    assert_eq!((stats.segments_without_spans, stats.segments_without_texts), (0, 1));
    assert_eq!(matching(&store.snapshot(), SAID), (2, false));
    let negated = format!(r#"{{"op":"NOT","condition":{SAID}}}"#);
    assert_eq!(
        matching(&store.snapshot(), &negated),
        (0, false),
        "what was said in a damaged document is unknown"
    );
}

#[test]
fn a_segment_that_cannot_be_indexed_keeps_no_other_from_being_indexed() {
    let objects = Memory::default();
    let open = |indexes| {
        let options = Options { indexes, ..Options::default() };
        TraceStore::open_in(Arc::new(objects.clone()), options).expect("a store")
    };
    let store = open(Vec::new());
    for trace in 1..=3 {
        store.ingest(request(&[span(trace, 1, trace)])).expect("ingested");
        store.flush().expect("sealed");
    }
    store.close().expect("closed");
    // The newest segment would be indexed first.
    let documents = objects.paths("segments", "spans.otlp.zst");
    objects.fail(documents.iter().max().expect("documents"));
    let store = open(IndexKind::ALL.to_vec());
    let patience = Instant::now() + Duration::from_secs(60);
    while store.stats().segments_without_texts > 1 {
        assert!(Instant::now() < patience, "{:?}", store.stats());
        std::thread::sleep(Duration::from_millis(10));
    }
    let stats = store.stats();
    assert_eq!((stats.segments_without_spans, stats.segments_without_texts), (1, 1));
    assert!(stats.indexing_error.is_some_and(|error| error.contains("injected")));
}

#[test]
fn an_index_that_takes_too_much_memory_is_given_up() {
    let folder = TempDir::new().expect("a folder");
    let options = Options { max_index_bytes: 2_000, ..Options::default() };
    let store = TraceStore::open(address(&folder), options).expect("a store");
    for trace in 1..=40 {
        let said = with(span(trace, 1, 0), "input.value", &format!("a refund of {} please", trace * 7_919));
        store.ingest(request(&[said, span(trace, 2, 1)])).expect("ingested");
    }
    store.flush().expect("sealed");
    store.index().expect("given up");
    let stats = store.stats();
    let without = [stats.segments_without_spans, stats.segments_without_texts];
    assert_eq!((without, stats.segments_without_attributes), ([1, 1], 1));
    for filter in [NAMED, SAID] {
        assert_eq!(matching(&store.snapshot(), filter), (40, false));
    }
}
