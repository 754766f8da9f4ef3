//! Compaction changes the storage of traces but not their content, under any concurrent operation.

use std::fs;
use std::time::{Duration, Instant};

use spanwise::error::Error;
use spanwise::storage::{Options, SnapshotPart, TraceStore};
use tempfile::TempDir;

use crate::support::contents::{address, contents, crashed, id_of, open, traces_in};
use crate::support::files::newest;
use crate::support::gate::{Gate, gated_store};
use crate::support::spans::{request, span, with};
use crate::support::wait_until;

/// Ingests traces and flushes them as one segment.
fn add_segment(store: &TraceStore, traces: impl IntoIterator<Item = u64>) {
    let spans: Vec<_> = traces.into_iter().map(|trace| span(trace, 1, trace)).collect();
    store.ingest(request(&spans)).expect("ingested");
    store.flush().expect("flushed");
}

/// Returns the names of the files of the segments, sorted.
fn segment_files(folder: &TempDir) -> Vec<String> {
    let mut found = Vec::new();
    for segment in fs::read_dir(folder.path().join("segments")).expect("a folder") {
        // A folder may be removed meanwhile.
        for file in fs::read_dir(segment.expect("an entry").path()).into_iter().flatten() {
            found.push(file.expect("an entry").file_name().to_string_lossy().into_owned());
        }
    }
    found.sort();
    found
}

#[test]
fn segments_become_one_and_older_snapshots_stay_readable() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    for traces in [1..4, 3..6, 6..9] {
        add_segment(&store, traces);
    }
    store.ingest(request(&[span(1, 2, 0), span(9, 1, 0)])).expect("ingested");
    let held = store.snapshot();
    let before = contents(&held);
    assert_eq!(before.len(), 9);
    store.compact(false).expect("compacted");
    assert_eq!(store.stats().segments, 1);
    assert_eq!(segment_files(&folder), ["spans.otlp.zst", "traces.parquet"]);
    assert_eq!(contents(&store.snapshot()), before);
    assert_eq!(contents(&held), before, "its files are removed, but still open");
    let manifest = store.stats().manifest;
    store.compact(false).expect("compacted");
    assert_eq!(store.stats().manifest, manifest, "there is nothing left to merge");
    store.close().expect("closed");
    TraceStore::check(address(&folder)).expect("a sound store");
    assert_eq!(contents(&open(&folder).snapshot()), before);
}

#[test]
fn segments_of_one_size_are_merged_in_the_background() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    for trace in 1..=8 {
        add_segment(&store, [trace]);
    }
    wait_until(|| store.stats().segments == 1);
    assert_eq!(contents(&store.snapshot()).len(), 8);
}

#[test]
fn documents_of_young_segments_are_merged_without_recompression() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    let mut sealed = Vec::new();
    for trace in 1..=8 {
        let made = |span_id| with(span(trace, span_id, trace), "input.value", &"what is it? ".repeat(200));
        store.ingest(request(&[made(1), made(2)])).expect("ingested");
        store.flush().expect("flushed");
        if trace == 7 {
            sealed = document_files(&folder);
        }
    }
    let before = contents(&store.snapshot());
    wait_until(|| store.stats().segments == 1);
    wait_until(|| segment_files(&folder).len() == 2);
    let merged = document_files(&folder).remove(0);
    assert_eq!(sealed.len(), 7);
    assert!(sealed.iter().all(|frame| merged.windows(frame.len()).any(|window| window == frame)));
    assert_eq!(contents(&store.snapshot()), before);
    store.close().expect("closed");
    TraceStore::check(address(&folder)).expect("a sound store");
}

/// Returns the contents of all document files.
fn document_files(folder: &TempDir) -> Vec<Vec<u8>> {
    let segments = fs::read_dir(folder.path().join("segments")).expect("a folder");
    segments.filter_map(|segment| fs::read(segment.ok()?.path().join("spans.otlp.zst")).ok()).collect()
}

#[test]
fn the_number_of_segments_is_limited() {
    let folder = TempDir::new().expect("a folder");
    let options = Options { max_segments: 3, max_segment_traces: 4, ..Options::default() };
    let store = TraceStore::open(address(&folder), options).expect("a store");
    for trace in 1..=30 {
        add_segment(&store, [trace]);
        assert!(store.stats().segments <= 3);
    }
    assert_eq!(contents(&store.snapshot()).len(), 30);
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()).len(), 30);
}

#[test]
fn requests_wait_a_moment_for_a_merge_before_there_are_too_many_segments() {
    let (_folder, objects, store) = gated_store(Gate::ClosedToMerges);
    let limit = Options::default().max_segments;
    let three_quarters = limit / 4 * 3;
    for trace in 1..=three_quarters + 1 {
        add_segment(&store, [trace]);
    }
    let stats = store.stats();
    let began = Instant::now();
    let accepted = store.ingest(request(&[span(limit, 1, 0)]));
    let waited = began.elapsed();
    // A store with a closed gate cannot be closed.
    objects.set_gate(Gate::Open);
    assert!(stats.is_merging);
    assert_eq!(stats.segments, three_quarters + 1, "one merge is under way, and no other one begins");
    accepted.expect("accepted");
    assert!(waited >= Duration::from_secs(1), "the merge got no time");
    store.ingest(request(&[span(limit + 1, 1, 0)])).expect("accepted");
    wait_until(|| !store.stats().is_merging);
    assert!(store.stats().segments < three_quarters);
    assert_eq!(contents(&store.snapshot()).len() as u64, three_quarters + 3);
}

#[test]
fn segments_are_merged_only_up_to_the_maximum_size() {
    let folder = TempDir::new().expect("a folder");
    let options = Options { max_segment_traces: 5, ..Options::default() };
    let store = TraceStore::open(address(&folder), options).expect("a store");
    for trace in 1..=4 {
        add_segment(&store, [2 * trace, 2 * trace + 1]);
    }
    store.compact(false).expect("compacted");
    assert_eq!(store.stats().segments, 2, "four traces each");
    let rows = store.snapshot().parts().iter().map(SnapshotPart::count).collect::<Vec<_>>();
    assert_eq!(rows, [4, 4]);
}

#[test]
fn documents_share_a_dictionary_once_there_are_enough_of_them() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    let made =
        |trace: u64| with(span(trace, 1, trace), "input.value", &format!("what is {trace} times {trace}?"));
    for from in [0, 200] {
        let spans: Vec<_> = (from..from + 200).map(made).collect();
        store.ingest(request(&spans)).expect("ingested");
        store.flush().expect("flushed");
    }
    let before = contents(&store.snapshot());
    assert_eq!(segment_files(&folder).iter().filter(|name| *name == "spans.dict").count(), 0);
    store.compact(false).expect("compacted");
    assert_eq!(segment_files(&folder), ["spans.dict", "spans.otlp.zst", "traces.parquet"]);
    assert_eq!(contents(&store.snapshot()), before);
    store.close().expect("closed");
    TraceStore::check(address(&folder)).expect("a sound store");
    let dictionary =
        fs::read_dir(folder.path().join("segments")).expect("a folder").next().expect("a segment");
    let dictionary = dictionary.expect("an entry").path().join("spans.dict");
    let mut damaged = fs::read(&dictionary).expect("a file");
    damaged[40] ^= 1;
    fs::write(&dictionary, damaged).expect("written");
    let checked = TraceStore::check(address(&folder));
    assert!(
        matches!(&checked, Err(Error::Damage { object, .. }) if object.ends_with("spans.dict")),
        "{checked:?}"
    );
}

#[test]
fn changes_during_a_merge_hold_after_it() {
    let (folder, objects, store) = gated_store(Gate::Open);
    add_segment(&store, [1, 2, 3, 7]);
    add_segment(&store, [4, 5, 6]);
    objects.set_gate(Gate::ClosedToMerges);
    let compacting = std::thread::spawn({
        let store = store.clone();
        move || store.compact(false)
    });
    wait_until(|| store.stats().is_merging);
    // Rows that are superseded durably, deleted, deleted and sent again, and superseded by the head.
    store.ingest(request(&[span(1, 2, 0)])).expect("ingested");
    store.flush().expect("flushed");
    store.delete(&traces_in(&[2, 4, 5, 6]), false).expect("deleted");
    store.ingest(request(&[span(4, 2, 0), span(3, 2, 0), span(1, 3, 0)])).expect("ingested");
    let before = contents(&store.snapshot());
    assert_eq!(before.keys().copied().collect::<Vec<_>>(), [1, 3, 4, 7].map(id_of));
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), before);
    assert!(store.stats().is_merging, "nothing here waits for the merge");
    objects.set_gate(Gate::Open);
    compacting.join().expect("a sound thread").expect("compacted");
    assert_eq!(contents(&store.snapshot()), before);
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), before);
    store.compact(true).expect("compacted");
    assert_eq!(contents(&store.snapshot()), before);
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), before);
}

#[test]
fn a_merge_whose_rows_are_all_deleted_meanwhile_leaves_no_segment() {
    let (folder, objects, store) = gated_store(Gate::Open);
    add_segment(&store, [1, 2]);
    add_segment(&store, [3]);
    objects.set_gate(Gate::ClosedToMerges);
    let compacting = std::thread::spawn({
        let store = store.clone();
        move || store.compact(false)
    });
    wait_until(|| store.stats().is_merging);
    store.delete(&traces_in(&[1, 2, 3]), false).expect("deleted");
    objects.set_gate(Gate::Open);
    compacting.join().expect("a sound thread").expect("compacted");
    assert_eq!(store.stats().segments, 0);
    assert!(segment_files(&folder).is_empty());
    assert!(contents(&open(&crashed(&folder)).snapshot()).is_empty());
}

#[test]
fn a_failed_merge_is_reported_and_the_store_continues() {
    let (folder, objects, store) = gated_store(Gate::Open);
    add_segment(&store, [1]);
    add_segment(&store, [2]);
    let before = contents(&store.snapshot());
    objects.set_gate(Gate::Broken);
    assert!(matches!(store.compact(false), Err(Error::Storage { .. })));
    assert!(store.stats().merge_error.is_some_and(|error| error.ends_with("no space is left")));
    assert_eq!(contents(&store.snapshot()), before);
    objects.set_gate(Gate::Open);
    store.ingest(request(&[span(3, 1, 0)])).expect("ingested");
    store.compact(false).expect("compacted");
    assert_eq!((store.stats().segments, store.stats().merge_error), (1, None));
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()).len(), 3);
}

/// Flips a bit in the documents of the newest segment.
fn damage_newest(folder: &TempDir) {
    let documents = newest(folder, "segments").join("spans.otlp.zst");
    let mut content = fs::read(&documents).expect("documents");
    // The first document belongs to the trace that started last.
    content[20] ^= 1;
    fs::write(&documents, content).expect("written");
}

#[test]
fn a_segment_with_a_damaged_document_keeps_no_other_from_being_merged() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    for segment in 1..=12 {
        add_segment(&store, [2 * segment, 2 * segment + 1]);
        if segment == 4 {
            damage_newest(&folder);
        }
    }
    wait_until(|| store.stats().segments == 5);
    let is_named = || store.stats().merge_error.is_some_and(|error| error.contains("spans.otlp.zst"));
    assert!(is_named(), "{:?}", store.stats());
    assert!(matches!(store.compact(false), Err(Error::Damage { .. })), "who asks for it is told");
    assert!(is_named());
    store.delete(&traces_in(&[9]), false).expect("deleted");
    store.compact(false).expect("what was damaged is deleted");
    assert_eq!(store.stats().merge_error, None);
    assert_eq!(contents(&store.snapshot()).len(), 23);
}

#[test]
fn a_deleted_document_that_is_damaged_hinders_no_background_merge() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    for segment in 1..=8 {
        add_segment(&store, [2 * segment, 2 * segment + 1]);
        if segment == 4 {
            damage_newest(&folder);
            store.delete(&traces_in(&[9]), false).expect("deleted");
        }
    }
    wait_until(|| store.stats().segments == 1);
    assert_eq!(store.stats().merge_error, None);
    assert_eq!(contents(&store.snapshot()).len(), 15);
}

#[test]
fn closing_a_store_does_not_wait_for_a_merge() {
    let (folder, objects, store) = gated_store(Gate::Open);
    add_segment(&store, [1]);
    add_segment(&store, [2]);
    let before = contents(&store.snapshot());
    objects.set_gate(Gate::ClosedToMerges);
    let compacting = std::thread::spawn({
        let store = store.clone();
        move || store.compact(false)
    });
    wait_until(|| store.stats().is_merging);
    let closing = std::thread::spawn({
        let store = store.clone();
        move || store.close()
    });
    let compacted = compacting.join().expect("a sound thread");
    assert!(matches!(compacted, Err(Error::Closed)), "{compacted:?}");
    objects.set_gate(Gate::Open);
    closing.join().expect("a sound thread").expect("closed");
    assert_eq!(segment_files(&folder).len(), 4, "the unfinished segment is removed");
    assert_eq!(contents(&open(&folder).snapshot()), before);
}
