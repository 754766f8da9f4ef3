//! Index objects: a machine without a cache reads them instead of building indexes. Searches return the same
//! results in any state of the objects.

use std::collections::BTreeMap;
use std::fs;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use spanwise::error::Result;
use spanwise::storage::objects::{ObjectWriter, Objects};
use spanwise::storage::{Options, TraceStore};
use tempfile::TempDir;

use crate::storage::segment::indexes::cache::results;
use crate::support::contents::{address, contents, open, traces_in};
use crate::support::files::closed_store;
use crate::support::forge::sealed_manifest;
use crate::support::layer::{Intercept, Layer};
use crate::support::memory::Memory;
use crate::support::spans::{request, span, with};

const INDEXES: [&str; 4] = ["attributes", "index", "spans", "text"];

fn opened(memory: &Memory, options: Options) -> TraceStore {
    TraceStore::open_in(Arc::new(memory.clone()), options).expect("a store")
}

/// Returns the storage of a closed store with four segments, whose indexes are objects.
fn indexed() -> Memory {
    let (folder, _) = closed_store();
    let memory = Memory::of_folder(folder.path()).keeping_indexes();
    for path in memory.paths("cache", "") {
        memory.delete(&path).expect("removed");
    }
    let store = opened(&memory, Options::default());
    store.flush().expect("sealed");
    close_indexed(&store);
    memory
}

fn close_indexed(store: &TraceStore) {
    store.index().expect("indexed");
    store.close().expect("closed");
}

/// Returns the newest manifest.
fn manifest(memory: &Memory) -> Value {
    let path = memory.paths("manifest", ".json").pop().expect("a manifest");
    let envelope: Value = serde_json::from_slice(&memory.content(&path)).expect("JSON");
    envelope["manifest"].clone()
}

/// Changes the newest manifest.
fn forge(memory: &Memory, change: impl FnOnce(&mut Value)) {
    let path = memory.paths("manifest", ".json").pop().expect("a manifest");
    let mut changed = manifest(memory);
    change(&mut changed);
    memory.set(&path, sealed_manifest(&Value::from(2), &changed.to_string()));
}

/// Returns the content of every index object of the newest manifest, by segment and index. Asserts that there
/// are no others.
fn objects(memory: &Memory) -> BTreeMap<(String, String), Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut named = Vec::new();
    for segment in manifest(memory)["segments"].as_array().expect("segments") {
        let id = segment["id"].as_str().expect("an id");
        for (name, file) in segment["files"].as_object().into_iter().flatten() {
            let path = format!("segments/{id}/{name}");
            let content = memory.content(&path);
            assert_eq!(file["crc32c"], crc32c::crc32c(&content));
            let index = name.split('-').next().expect("a name");
            found.insert((id.to_owned(), index.to_owned()), content);
            named.push(path);
        }
    }
    named.sort();
    let kinds = INDEXES.map(|index| format!("/{index}-"));
    let present = memory.paths("segments", "");
    let present = present.into_iter().filter(|path| kinds.iter().any(|kind| path.contains(kind)));
    assert_eq!(present.collect::<Vec<_>>(), named);
    found
}

/// Signals that the last index of a segment is about to be written, and waits.
#[derive(Debug)]
struct BeforeLast {
    reached: Sender<()>,
    released: Mutex<Receiver<()>>,
}

impl Intercept for BeforeLast {
    fn create(&self, inner: &dyn Objects, path: &str) -> Result<Box<dyn ObjectWriter>> {
        if path.contains("/attributes-") {
            let _nobody_waits_any_more = self.reached.send(());
            let _released = self.released.lock().expect("a sound lock").recv();
        }
        inner.create(path)
    }
}

/// Waits until every segment has its document indexes.
fn wait_until_indexed(store: &TraceStore) {
    let patience = Instant::now() + Duration::from_secs(60);
    loop {
        let stats = store.stats();
        let missing =
            [stats.segments_without_spans, stats.segments_without_texts, stats.segments_without_attributes];
        if missing == [0; 3] {
            return;
        }
        assert!(Instant::now() < patience, "{stats:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn indexes_become_objects_that_few_manifests_record() {
    let memory = Memory::default().keeping_indexes();
    let store = opened(&memory, Options::default());
    for trace in 1..=4 {
        store.ingest(request(&[span(trace, 1, 0)])).expect("ingested");
        store.flush().expect("sealed");
        let sealed = manifest(&memory)["segments"].as_array().expect("segments").last().cloned();
        let files = sealed.expect("a segment")["files"].as_object().expect("files").clone();
        assert!(files.keys().any(|name| name.starts_with("index-")), "one manifest for rows and their index");
    }
    let before = store.stats().manifest;
    close_indexed(&store);
    assert_eq!(objects(&memory).len(), 16);
    let after = manifest(&memory)["number"].as_u64().expect("a number");
    assert_eq!(after, before + 1, "one for all indexes of documents");
}

#[test]
fn indexes_are_recorded_while_nothing_else_happens() {
    let memory = Memory::default().keeping_indexes();
    let store = opened(&memory, Options::default());
    store.ingest(request(&[span(1, 1, 0)])).expect("ingested");
    store.flush().expect("sealed");
    let patience = Instant::now() + Duration::from_secs(60);
    let recorded = || manifest(&memory)["segments"][0]["files"].as_object().map_or(0, serde_json::Map::len);
    while recorded() < 4 {
        assert!(Instant::now() < patience, "{:?}", store.stats());
        std::thread::sleep(Duration::from_millis(50));
    }
    let (published, written) = (store.stats().manifest, manifest(&memory)["number"].as_u64());
    assert_eq!(Some(published), written);
}

#[test]
fn what_was_written_of_indexes_is_recorded_though_the_store_closes_meanwhile() {
    let memory = Memory::default().keeping_indexes();
    let ((reached, is_reached), (release, released)) = (channel(), channel());
    let intercept = BeforeLast { reached, released: Mutex::new(released) };
    let store = TraceStore::open_in(Arc::new(Layer { intercept, inner: memory.clone() }), Options::default());
    let store = store.expect("a store");
    store.ingest(request(&[span(1, 1, 0)])).expect("ingested");
    store.flush().expect("sealed");
    is_reached.recv_timeout(Duration::from_secs(60)).expect("indexes are made");
    std::thread::scope(|scope| {
        let closing = scope.spawn(|| store.close());
        // Long enough for a committer without pending work to end.
        std::thread::sleep(Duration::from_millis(100));
        drop(release);
        closing.join().expect("no panic").expect("closed");
    });
    let found = objects(&memory);
    assert!(found.len() >= 3, "{:?}", found.keys());
}

#[test]
fn a_machine_without_a_cache_reads_objects_and_neither_rows_nor_documents() {
    let memory = indexed();
    let sound = objects(&memory);
    assert_eq!(sound.len(), 16);
    let expected = results(&opened(&memory.deep_clone(), Options::default()));
    for path in memory.paths("segments", "traces.parquet").iter().chain(&memory.paths("segments", ".zst")) {
        memory.fail(path);
    }
    let cache = TempDir::new().expect("a folder");
    for (cache_dir, files) in [(None, 0), (Some(cache.path().to_owned()), 16)] {
        let store = opened(&memory, Options { cache_dir, ..Options::default() });
        wait_until_indexed(&store);
        assert_eq!(store.stats().indexing_error, None);
        store.close().expect("closed");
        assert_eq!(objects(&memory), sound);
        assert_eq!(Memory::of_folder(cache.path()).paths("", "").len(), files);
    }
    for ((segment, index), content) in &sound {
        assert!(fs::read(cache.path().join(segment).join(index)).expect("cached") == *content);
    }
    // After they are cached, no object is read.
    let is_index = |path: &String| INDEXES.iter().any(|index| path.contains(&format!("/{index}-")));
    memory.paths("segments", "").iter().filter(|path| is_index(path)).for_each(|path| memory.fail(path));
    let store = opened(&memory, Options { cache_dir: Some(cache.path().to_owned()), ..Options::default() });
    wait_until_indexed(&store);
    drop(store);
    let readable = memory.deep_clone();
    let store = opened(&readable, Options { cache_dir: Some(cache.path().to_owned()), ..Options::default() });
    wait_until_indexed(&store);
    assert_eq!(results(&store), expected);
}

/// Writes and records an index object of another program version.
fn make_foreign(memory: &Memory, path: &str) {
    let mut content = memory.content(path);
    let length = content.len();
    let table = length
        - 20
        - usize::try_from(u64::from_le_bytes(content[length - 20..length - 12].try_into().expect("8")))
            .expect("small");
    let digit = table + br#"{"format":"#.len();
    content[digit] = b'9';
    let checksum = crc32c::crc32c(&content[table..length - 20]).to_le_bytes();
    content[length - 12..length - 8].copy_from_slice(&checksum);
    forge(memory, |manifest| {
        for segment in manifest["segments"].as_array_mut().expect("segments") {
            let id = segment["id"].as_str().expect("an id").to_owned();
            if let Some(name) = path.strip_prefix(&format!("segments/{id}/")) {
                segment["files"][name]["crc32c"] = crc32c::crc32c(&content).into();
            }
        }
    });
    memory.set(path, content);
}

#[test]
fn an_object_that_is_missing_damaged_or_of_another_version_is_replaced() {
    let sound = indexed();
    let wanted = objects(&sound);
    let expected = results(&opened(&sound.deep_clone(), Options::default()));
    let paths = sound.paths("segments", "");
    let one_of =
        |index: &str| paths.iter().find(|path| path.contains(&format!("/{index}-"))).expect("an object");
    for path in INDEXES.map(one_of) {
        for damage in ["missing", "empty", "truncated", "flipped", "of another version"] {
            let memory = sound.deep_clone();
            let mut content = memory.content(path);
            match damage {
                "missing" => memory.delete(path).expect("removed"),
                "empty" => memory.set(path, Vec::new()),
                "truncated" => memory.set(path, content[..content.len() - 1].to_vec()),
                "flipped" => {
                    let middle = content.len() / 2;
                    content[middle] ^= 1;
                    memory.set(path, content);
                }
                _ => make_foreign(&memory, path),
            }
            let store = opened(&memory, Options::default());
            assert_eq!(results(&store), expected, "{damage} `{path}`, before it is made anew");
            store.index().expect("indexed");
            assert_eq!(results(&store), expected, "{damage} `{path}`");
            store.close().expect("closed");
            assert!(objects(&memory) == wanted, "{damage} `{path}`: the same bytes are there again");
            assert!(memory.paths(path, "").is_empty(), "under another name");
        }
    }
}

#[test]
fn objects_go_with_their_segments_and_what_no_manifest_names_at_the_next_opening() {
    let memory = indexed();
    let store = opened(&memory, Options::default());
    store.compact(false).expect("compacted");
    close_indexed(&store);
    assert_eq!(objects(&memory).len(), 4);
    let segment = memory.paths("segments", "traces.parquet").pop().expect("a segment");
    let stray = segment.replace("traces.parquet", "text-17");
    memory.set(&stray, b"what a killed process had no time to record".to_vec());
    opened(&memory, Options::default()).close().expect("closed");
    assert_eq!(objects(&memory).len(), 4);
}

#[test]
fn a_purge_leaves_no_word_of_a_deleted_trace_in_any_object() {
    let memory = Memory::default().keeping_indexes();
    let store = opened(&memory, Options::default());
    for trace in 1..=3 {
        let secret = with(span(trace, 1, 0), "llm.model_name", &format!("secret-{trace}"));
        let secret = with(secret, "session.id", &format!("secret-{trace}"));
        store
            .ingest(request(&[with(secret, "input.value", &format!("told {trace}-told"))]))
            .expect("ingested");
    }
    store.flush().expect("sealed");
    store.index().expect("indexed");
    let holders = |word: &str| {
        let mut paths = memory.paths("segments", "");
        paths.retain(|path| memory.content(path).windows(word.len()).any(|piece| piece == word.as_bytes()));
        paths.len()
    };
    assert!(
        holders("secret-2") >= 3 && holders("2-told") >= 2,
        "index, spans, attributes; text and attributes"
    );
    store.delete(&traces_in(&[2]), false).expect("deleted");
    for _ in 0..2 {
        // An index that is built while its segment is rebuilt does not come back.
        store.compact(true).expect("purged");
        assert_eq!((holders("secret-2"), holders("2-told")), (0, 0));
        store.index().expect("indexed");
        assert_eq!((holders("secret-2"), holders("2-told")), (0, 0));
        assert!(holders("secret-1") > 0 && holders("3-told") > 0);
    }
    store.close().expect("closed");
    assert_eq!(objects(&memory).len(), 4);
}

#[test]
fn a_check_counts_objects_and_lists_those_that_are_not_what_they_should_be() {
    let memory = indexed();
    let folder = TempDir::new().expect("a folder");
    memory.write_to(folder.path());
    let report = TraceStore::check(address(&folder)).expect("a sound store");
    assert_eq!((report.indexes, report.other_indexes), (16, Vec::new()));
    let paths = memory.paths("segments", "");
    let text = paths.iter().find(|path| path.contains("/text-")).expect("an index of texts");
    let spans = paths.iter().find(|path| path.contains("/spans-")).expect("a table of spans");
    fs::write(folder.path().join(text), "something else").expect("written");
    fs::remove_file(folder.path().join(spans)).expect("removed");
    let report = TraceStore::check(address(&folder)).expect("nothing is lost");
    assert_eq!((report.indexes, report.other_indexes), (14, vec![spans.clone(), text.clone()]));
}

#[test]
fn a_backup_has_the_objects_that_are_sound_unless_it_is_to_have_none() {
    let memory = indexed();
    let folder = TempDir::new().expect("a folder");
    memory.write_to(folder.path());
    let backup = |indexes| {
        let target = TempDir::new().expect("a folder");
        let report = TraceStore::backup(address(&folder), address(&target), indexes).expect("copied");
        (report, target)
    };
    let (with, copy) = backup(true);
    assert_eq!(with.indexes, 16);
    assert_eq!(objects(&Memory::of_folder(copy.path())), objects(&memory));
    let (without, copy) = backup(false);
    assert_eq!(without.indexes, 0);
    assert!(objects(&Memory::of_folder(copy.path())).is_empty());
    let bytes: usize = objects(&memory).values().map(Vec::len).sum();
    assert_eq!(with.bytes, without.bytes + bytes as u64);
    let mut damaged = memory.paths("segments", "");
    damaged.retain(|path| path.contains("/index-"));
    fs::write(folder.path().join(&damaged[0]), "something else").expect("written");
    fs::remove_file(folder.path().join(&damaged[1])).expect("removed");
    let (some, copy) = backup(true);
    assert_eq!(some.indexes, 14);
    assert_eq!(objects(&Memory::of_folder(copy.path())).len(), 14);
    let held = contents(&opened(&memory, Options::default()).snapshot());
    assert_eq!(contents(&open(&copy).snapshot()), held);
}

#[test]
fn a_folder_moves_objects_to_its_cache() {
    let memory = indexed();
    let wanted = objects(&memory);
    let folder = TempDir::new().expect("a folder");
    memory.write_to(folder.path());
    let store = open(&folder);
    wait_until_indexed(&store);
    close_indexed(&store);
    let left = Memory::of_folder(folder.path());
    assert!(objects(&left).is_empty(), "no second copy of the same bytes");
    for ((segment, index), content) in &wanted {
        assert!(left.content(&format!("cache/{segment}/{index}")) == *content);
    }
}
