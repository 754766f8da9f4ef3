//! Indexes of merged segments equal indexes that are built from the documents, and no document is read for
//! them.

use std::time::Duration;

use spanwise::storage::{IndexKind, Options, Stats, TraceStore};
use tempfile::TempDir;

use crate::filter::spans::said::speaking;
use crate::support::contents::{address, open, traces_in};
use crate::support::random::Random;
use crate::support::spans::{request, span, with};

/// Returns the number of segments without each index.
fn without(stats: &Stats) -> [u64; 3] {
    [stats.segments_without_spans, stats.segments_without_texts, stats.segments_without_attributes]
}

/// Ingests spans of new and existing traces, and flushes them.
fn seal_some(store: &TraceStore, random: &mut Random, traces: u64) {
    for _ in 0..=random.below(12) {
        let (trace, id) = (1 + random.below(traces), 1 + random.below(5));
        let own = with(speaking(random, trace, id), &format!("k{}", random.below(9)), "v");
        store.ingest(request(&[own])).expect("ingested");
    }
    store.flush().expect("sealed");
}

#[test]
fn merged_indexes_are_what_would_be_made_of_the_documents() {
    let cases = std::env::var("MERGE_CASES").map_or(25, |cases| cases.parse().expect("a number"));
    for seed in 0..cases {
        let mut random = Random::new(seed);
        let folder = TempDir::new().expect("a folder");
        let mut store = open(&folder);
        let traces = 5 + random.below(30);
        for _ in 0..2 {
            for _ in 0..2 + random.below(4) {
                seal_some(&store, &mut random, traces);
                if random.below(3) == 0 {
                    store.delete(&traces_in(&[1 + random.below(traces)]), false).expect("deleted");
                }
            }
            let is_reopened = random.below(3) == 0;
            if is_reopened {
                // Existing indexes are merged, even right after the store is opened.
                store.close().expect("closed");
                store = open(&folder);
            }
            let is_merged = store.stats().segments > 1;
            store.compact(random.below(2) == 0).expect("merged");
            let stats = store.stats();
            assert_eq!(stats.segments, 1, "seed {seed}");
            // The indexes of a segment without deletions are opened in the background.
            if is_merged || !is_reopened {
                assert_eq!(without(&stats), [0; 3], "seed {seed}");
            }
        }
        store.close().expect("closed");
        let report = TraceStore::check(address(&folder)).expect("a sound store");
        assert_eq!((report.indexes, report.other_indexes), (4, Vec::new()), "seed {seed}");
    }
}

#[test]
fn an_index_that_few_rows_lack_is_made_for_these_and_merged() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    let send = |store: &TraceStore, traces: std::ops::Range<u64>| {
        let spans: Vec<_> = traces.map(|trace| with(span(trace, 1, 0), "input.value", "a refund")).collect();
        store.ingest(request(&spans)).expect("ingested");
        store.flush().expect("sealed");
    };
    send(&store, 1..4);
    store.close().expect("closed");
    let none = Options { indexes: Vec::new(), ..Options::default() };
    let store = TraceStore::open(address(&folder), none).expect("a store");
    send(&store, 4..6);
    store.close().expect("closed");
    let store = open(&folder);
    store.index().expect("indexed");
    store.compact(false).expect("merged");
    assert_eq!(without(&store.stats()), [0; 3]);
    store.close().expect("closed");
    let report = TraceStore::check(address(&folder)).expect("a sound store");
    assert_eq!((report.indexes, report.other_indexes), (4, Vec::new()));
}

#[test]
fn an_index_that_a_segment_lacks_for_good_is_not_merged() {
    let folder = TempDir::new().expect("a folder");
    let texts = Options { indexes: vec![IndexKind::Texts], ..Options::default() };
    let store = TraceStore::open(address(&folder), texts.clone()).expect("a store");
    for trace in 1..=4 {
        store.ingest(request(&[with(span(trace, 1, 0), "input.value", "told")])).expect("ingested");
        store.flush().expect("sealed");
    }
    store.compact(false).expect("merged");
    assert_eq!(without(&store.stats()), [1, 0, 1]);
    store.close().expect("closed");
    // Indexes that would need too much memory are not merged.
    let small = Options { max_index_bytes: 1, ..texts };
    let store = TraceStore::open(address(&folder), small).expect("a store");
    store.ingest(request(&[with(span(5, 1, 0), "input.value", "told")])).expect("ingested");
    store.flush().expect("sealed");
    store.compact(false).expect("merged");
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(without(&store.stats()), [1; 3]);
}
