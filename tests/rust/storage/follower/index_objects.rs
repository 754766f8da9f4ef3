//! Followers of a store whose indexes are objects.

use std::sync::Arc;
use std::time::Duration;

use spanwise::storage::{Follower, Options, TraceStore};
use tempfile::TempDir;

use crate::support::contents::contents;
use crate::support::memory::Memory;
use crate::support::spans::{request, span, with};
use crate::support::wait_until;

/// The document indexes.
const KINDS: [&str; 3] = ["attributes", "spans", "text"];

fn opened(memory: &Memory, options: Options) -> TraceStore {
    TraceStore::open_in(Arc::new(memory.clone()), options).expect("a store")
}

/// Returns the storage of a store with one segment, which has no document index.
fn unindexed() -> Memory {
    let memory = Memory::default().keeping_indexes();
    let writer = opened(&memory, Options { indexes: Vec::new(), ..Options::default() });
    let spans: Vec<_> = (1..=3).map(|trace| with(span(trace, 1, 0), "input.value", "hello")).collect();
    writer.ingest(request(&spans)).expect("ingested");
    writer.flush().expect("flushed");
    writer.close().expect("closed");
    memory
}

/// Builds the document indexes, their objects, and a manifest that records them.
fn index(memory: &Memory) {
    let writer = opened(memory, Options::default());
    writer.index().expect("indexed");
    writer.close().expect("closed");
}

/// Returns the path of an index object of the only segment.
fn object(memory: &Memory, kind: &str) -> String {
    let paths = memory.paths("segments", "");
    let object = paths.into_iter().find(|path| path.contains(&format!("/{kind}-")));
    object.expect("an object")
}

/// Returns a reader that polls only on request.
fn follow(memory: &Memory, cache: &TempDir) -> Follower {
    let cache_dir = Some(cache.path().to_owned());
    let options = Options { follow_milliseconds: 3_600_000, cache_dir, ..Options::default() };
    TraceStore::follow_in(Arc::new(memory.clone()), options).expect("a reader")
}

/// Returns the number of missing document indexes.
fn missing(reader: &Follower) -> u64 {
    let stats = reader.stats();
    stats.segments_without_attributes + stats.segments_without_spans + stats.segments_without_texts
}

/// Returns the reader's cached index of the only segment, by name.
fn cached(cache: &TempDir, kind: &str) -> Option<Vec<u8>> {
    let segments: Vec<_> = cache.path().read_dir().expect("a folder").flatten().collect();
    segments.iter().find_map(|segment| std::fs::read(segment.path().join(kind)).ok())
}

#[test]
fn a_reader_copies_the_objects_that_its_writer_makes_later() {
    let memory = unindexed();
    let own = memory.elsewhere();
    let documents = memory.paths("segments", ".zst");
    assert!(!documents.is_empty());
    let cache = TempDir::new().expect("a folder");
    let reader = follow(&own, &cache);
    assert_eq!((reader.stats().segments, missing(&reader)), (1, 3));
    // From here on the reader cannot build them itself.
    for path in &documents {
        own.fail(path);
    }
    index(&memory);
    reader.refresh().expect("refreshed");
    assert_eq!(reader.stats().segments, 1);
    wait_until(|| missing(&reader) == 0);
    assert_eq!(reader.stats().indexing_error, None);
    for kind in KINDS {
        assert!(cached(&cache, kind) == Some(memory.content(&object(&memory, kind))), "`{kind}`");
    }
}

#[test]
fn a_reader_reads_an_object_that_is_damaged_once() {
    let memory = unindexed();
    index(&memory);
    let expected = contents(&opened(&memory.deep_clone(), Options::default()).snapshot());
    let texts = object(&memory, "text");
    let mut content = memory.content(&texts);
    let middle = content.len() / 2;
    content[middle] ^= 1;
    memory.set(&texts, content);
    let cache = TempDir::new().expect("a folder");
    let reader = follow(&memory, &cache);
    wait_until(|| missing(&reader) == 1);
    // The copying thread finishes the segment soon, and does not revisit it.
    wait_until(|| {
        let before = memory.reads();
        std::thread::sleep(Duration::from_millis(500));
        memory.reads() == before
    });
    assert_eq!((reader.stats().segments_without_texts, reader.stats().indexing_error), (1, None));
    assert_eq!(cached(&cache, "text"), None);
    assert_eq!(contents(&reader.snapshot()), expected);
}
