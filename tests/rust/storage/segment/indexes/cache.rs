//! The index cache is derived data, for row, span and text indexes alike. Searches return the same results in
//! any state of the cache.

use std::fs;
use std::path::{Path, PathBuf};

use spanwise::filter::Filter;
use spanwise::query::{self, CancellationToken, Detail, PageRequest, Sort};
use spanwise::storage::{Options, TraceStore};
use tempfile::TempDir;

use crate::support::contents::{self, address, contents, traces_in};
use crate::support::files::closed_store;
use crate::support::spans::{request, span};

/// Opens a store and builds all of its indexes.
fn open(folder: &TempDir) -> TraceStore {
    let store = contents::open(folder);
    store.index().expect("indexed");
    store
}

/// Returns the files of a cache.
fn cached_files(cache: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(cache) else { return Vec::new() };
    let folders = entries.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> = folders
        .flat_map(|folder| fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").path()))
        .collect();
    files.sort();
    files
}

/// Returns the results of searches over every kind of column.
pub(super) fn results(store: &TraceStore) -> Vec<(Vec<u8>, u64)> {
    let window = PageRequest { page: 1, limit: 100, sort: Sort::NEWEST_FIRST };
    let filters = [
        "{}",
        r#"{"op":"CONTAINS","key":"name","value":"span"}"#,
        r#"{"op":"EQ","key":"status","value":"OK"}"#,
        r#"{"op":"LT","key":"duration_ms","value":1000}"#,
        r#"{"op":"NOT","condition":{"op":"EXISTS","key":"session_id"}}"#,
        r#"{"op":"GT","key":"end_time","value":"1971-01-01"}"#,
        r#"{"op":"SPAN","where":{"op":"CONTAINS","key":"name","value":"span"}}"#,
        r#"{"op":"NOT","condition":{"op":"CONTAINS","key":"text","value":"absent"}}"#,
        r#"{"op":"SPAN","where":{"op":"EXISTS","key":"attributes.input.value"}}"#,
    ];
    let found = filters.map(|source| {
        let filter = Filter::compile(source.as_bytes()).expect("a good filter");
        let page =
            query::runs(&store.snapshot(), &filter, window, Detail::Full, &CancellationToken::default());
        let page = page.expect("a page");
        (page.data, page.total_count)
    });
    found.into()
}

#[test]
fn a_missing_truncated_damaged_or_wrong_index_is_rebuilt() {
    let (folder, held) = closed_store();
    let cache = folder.path().join("cache");
    let expected = results(&open(&folder));
    let sound: Vec<(PathBuf, Vec<u8>)> = cached_files(&cache)
        .into_iter()
        .map(|path| (path.clone(), fs::read(path).expect("a file")))
        .collect();
    assert_eq!(sound.len(), 12);
    let assert_same = |what: &str| {
        let store = open(&folder);
        assert_eq!(contents(&store.snapshot()), held, "{what}");
        assert_eq!(results(&store), expected, "{what}");
        store.close().expect("closed");
        for (path, content) in &sound {
            assert!(fs::read(path).expect("a file") == *content, "{what}: `{}` differs", path.display());
        }
    };
    assert_same("unchanged");
    fs::remove_dir_all(&cache).expect("removed");
    assert_same("missing");
    for (at, (path, content)) in sound.iter().enumerate().take(3) {
        for length in [0, 1, content.len() / 2, content.len() - 1] {
            fs::write(path, &content[..length]).expect("written");
            assert_same("truncated");
        }
        for position in (0..content.len()).filter(|position| content[*position] != 0).step_by(151) {
            let mut flipped = content.clone();
            flipped[position] ^= 1 << (position % 8);
            fs::write(path, flipped).expect("written");
            let store = open(&folder);
            assert_eq!(contents(&store.snapshot()), held, "byte {position}");
            assert_eq!(results(&store), expected, "byte {position}");
        }
        fs::write(path, &sound[at + 3].1).expect("written");
        assert_same("of another segment");
        fs::remove_file(path).expect("removed");
        fs::create_dir(path).expect("a folder");
        assert_eq!(results(&open(&folder)), expected, "not a file");
        fs::remove_dir(path).expect("removed");
    }
}

#[test]
fn the_cache_holds_the_indexes_of_live_segments_only() {
    let folder = TempDir::new().expect("a folder");
    let cache = folder.path().join("cache");
    let store = open(&folder);
    for trace in 1..=3 {
        store.ingest(request(&[span(trace, 1, 0)])).expect("ingested");
        store.flush().expect("flushed");
    }
    store.index().expect("indexed");
    assert_eq!(cached_files(&cache).len(), 12);
    store.delete(&traces_in(&[1]), false).expect("deleted");
    assert_eq!(cached_files(&cache).len(), 8, "a segment without live rows");
    store.compact(false).expect("compacted");
    store.index().expect("indexed");
    assert_eq!(cached_files(&cache).len(), 4, "a merge");
    store.close().expect("closed");
    let stray = cache.join("01ARZ3NDEKTSV4RRFFQ69G5FAV");
    fs::create_dir(&stray).expect("a folder");
    fs::write(stray.join("index"), "stray").expect("written");
    let live: Vec<PathBuf> =
        cached_files(&cache).into_iter().filter(|path| !path.starts_with(&stray)).collect();
    fs::write(live[0].with_file_name("index.new"), "unfinished").expect("written");
    fs::write(live[0].with_file_name("spans.new"), "unfinished").expect("written");
    fs::write(cache.join("also stray"), "stray").expect("written");
    drop(open(&folder));
    assert_eq!(cached_files(&cache), live);
    assert!(!cache.join("also stray").exists());
}

#[test]
fn a_cache_may_be_elsewhere_and_a_store_works_without_one() {
    let (folder, held) = closed_store();
    let elsewhere = TempDir::new().expect("a folder");
    let no_folder = elsewhere.path().join("file");
    fs::write(&no_folder, "a file").expect("written");
    for (cache_dir, files) in [(elsewhere.path().join("cache"), 12), (no_folder, 0)] {
        fs::remove_dir_all(folder.path().join("cache")).unwrap_or_default();
        let options = Options { cache_dir: Some(cache_dir.clone()), ..Options::default() };
        let store = TraceStore::open(address(&folder), options).expect("a store");
        assert_eq!(contents(&store.snapshot()), held);
        store.index().expect("indexed");
        let stats = store.stats();
        let without = [stats.segments_without_spans, stats.segments_without_texts];
        assert_eq!((without, stats.segments_without_attributes), ([0, 0], 0));
        assert_eq!(results(&store).len(), 9);
        assert!(!folder.path().join("cache").exists());
        assert_eq!(cached_files(&cache_dir).len(), files);
    }
}
