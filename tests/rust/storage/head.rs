//! Settled rows of the head are indexed before the flush, and their segment has those indexes.

use std::time::{Duration, Instant};

use spanwise::filter::Filter;
use spanwise::storage::{Options, SnapshotPart, TraceStore};
use tempfile::TempDir;

use crate::filter::spans::said::speaking;
use crate::support::contents::{address, id_of, open, traces_in};
use crate::support::random::Random;
use crate::support::spans::{request, span, with};

/// Returns the numbers of undeleted head rows with and without indexes.
fn rows_of_head(store: &TraceStore) -> [u64; 2] {
    let snapshot = store.snapshot();
    let rows = |is_indexed| {
        let parts = snapshot.parts().iter();
        let parts = parts.filter(|part| !part.is_segment() && part.has_indexes() == is_indexed);
        parts.map(|part: &SnapshotPart| part.count() as u64 - part.invisible().len()).sum()
    };
    [rows(true), rows(false)]
}

fn say(store: &TraceStore, random: &mut Random, traces: u64) {
    for _ in 0..=random.below(12) {
        let (trace, id) = (1 + random.below(traces), 1 + random.below(5));
        let own = with(speaking(random, trace, id), &format!("k{}", random.below(9)), "v");
        store.ingest(request(&[own])).expect("ingested");
    }
}

#[test]
fn indexes_of_the_head_become_those_of_the_segment() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let folder = TempDir::new().expect("a folder");
        let store = open(&folder);
        let traces = 5 + random.below(30);
        for _ in 0..=random.below(3) {
            say(&store, &mut random, traces);
            store.index().expect("indexed");
            assert_eq!(rows_of_head(&store)[1], 0, "seed {seed}");
        }
        if random.below(2) == 0 {
            // Some traces without an index, and spans of indexed traces.
            say(&store, &mut random, traces);
        }
        store.flush().expect("sealed");
        let stats = store.stats();
        let without =
            [stats.segments_without_spans, stats.segments_without_texts, stats.segments_without_attributes];
        assert_eq!((stats.segments, without), (1, [0; 3]), "seed {seed}");
        store.close().expect("closed");
        let report = TraceStore::check(address(&folder)).expect("a sound store");
        assert_eq!((report.indexes, report.other_indexes), (4, Vec::new()), "seed {seed}");
    }
}

#[test]
fn a_trace_that_grows_or_is_deleted_leaves_its_indexed_batch() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    let refund =
        Filter::compile(br#"{"op": "CONTAINS", "key": "output", "value": "refund"}"#).expect("a filter");
    let found = |store: &TraceStore| {
        let snapshot = store.snapshot();
        let rows = snapshot.parts().iter().map(|part| part.rows(&refund, &|| false).expect("found").count());
        rows.sum::<usize>()
    };
    let first: Vec<_> = (1..=6).map(|trace| span(trace, 1, 0)).collect();
    store.ingest(request(&first)).expect("ingested");
    store.index().expect("indexed");
    assert_eq!((rows_of_head(&store), found(&store)), ([6, 0], 0));
    store.ingest(request(&[with(span(2, 2, 1), "output.value", "a refund")])).expect("ingested");
    assert_eq!((rows_of_head(&store), found(&store)), ([5, 1], 1));
    store.index().expect("indexed");
    assert_eq!((rows_of_head(&store), found(&store)), ([6, 0], 1));
    store.delete(&traces_in(&[2, 3]), false).expect("deleted");
    assert_eq!((store.stats().traces, found(&store)), (4, 0));
    assert!(store.snapshot().parts().iter().all(|part| part.find(id_of(2)).is_none()));
}

#[test]
fn what_has_settled_is_indexed_in_the_background() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    let text = "settled ".repeat(2_000);
    let spans: Vec<_> =
        (1..=800).map(|trace| with(span(trace, 1, 0), "input.value", text.as_str())).collect();
    store.ingest(request(&spans)).expect("ingested");
    let deadline = Instant::now() + Duration::from_secs(60);
    while rows_of_head(&store) != [800, 0] {
        assert!(Instant::now() < deadline, "indexed and not: {:?}", rows_of_head(&store));
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn nothing_is_indexed_where_no_index_is_wanted() {
    let folder = TempDir::new().expect("a folder");
    let none = Options { indexes: Vec::new(), ..Options::default() };
    let store = TraceStore::open(address(&folder), none).expect("a store");
    store.ingest(request(&[span(1, 1, 0)])).expect("ingested");
    store.index().expect("indexed");
    assert_eq!(rows_of_head(&store), [0, 1]);
}
