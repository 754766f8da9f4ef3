//! Fragments are stored like spans, but are not traces. Searches exclude them until their spans arrive.

use spanwise::bulk::{Download, Format, ImportOptions, import, spans};
use spanwise::filter::Filter;
use spanwise::otlp::fragment::has_fragments;
use spanwise::otlp::limits::MAX_EVENTS;
use spanwise::query::{self, CancellationToken, Detail, PageRequest};
use spanwise::storage::{Options, Snapshot, TraceStore};
use spanwise::trace::MAX_FRAGMENTS;
use tempfile::TempDir;

use crate::bulk::batch;
use crate::support::contents::{
    FragmentContents, address, contents, crashed, fragments, id_of, open, traces_in,
};
use crate::support::logs::{fragment, log, logs};
use crate::support::spans::{request, span};
use crate::support::wait_until;

/// Returns the numbers of the traces that a search returns, and asserts that counts, ids and sessions agree.
fn found(snapshot: &Snapshot) -> Vec<u64> {
    let (window, token) = (PageRequest::new(1, 100).expect("a page"), CancellationToken::default());
    let page = query::ids(snapshot, &Filter::all(), window, &token).expect("a page");
    let ids: Vec<String> = serde_json::from_slice(&page.data).expect("JSON");
    assert_eq!(page.total_count, ids.len() as u64);
    let numbers: Vec<u64> = (1..100).filter(|number| ids.contains(&id_of(*number).to_string())).collect();
    assert_eq!(numbers.len(), ids.len());
    assert!(contents(snapshot).keys().copied().eq(numbers.iter().map(|number| id_of(*number))));
    for number in 1..100 {
        let detail = query::trace(snapshot, id_of(number), &Filter::all(), Detail::Full).expect("readable");
        assert_eq!(detail.is_some(), numbers.contains(&number));
    }
    let rows: usize = spans(std::sync::Arc::new(reopened(snapshot)), Filter::all())
        .map(|batch| batch.expect("a batch").num_rows())
        .sum();
    assert_eq!(rows, contents(snapshot).values().map(|(_, spans)| spans.len()).sum::<usize>());
    numbers
}

fn reopened(snapshot: &Snapshot) -> Snapshot {
    Snapshot::new(snapshot.parts().to_vec())
}

/// Returns the event names of span 1 of a trace in a search result.
fn shown(snapshot: &Snapshot, trace: u64) -> Vec<String> {
    let detail = query::trace(snapshot, id_of(trace), &Filter::all(), Detail::Full)
        .expect("readable")
        .expect("a trace");
    let detail: serde_json::Value = serde_json::from_slice(&detail).expect("JSON");
    let events = detail.pointer("/tree/0/extra_data/events").and_then(serde_json::Value::as_array).cloned();
    let content =
        |event: &serde_json::Value| event["attributes"]["content"].as_str().expect("text").to_owned();
    events.unwrap_or_default().iter().map(content).collect()
}

/// Changes a store between two arrivals.
type Step = fn(&TempDir, TraceStore) -> (Option<TempDir>, TraceStore);

const STEPS: [(&str, Step); 7] = [
    ("nothing", |_, store| (None, store)),
    ("flush", |_, store| {
        store.flush().expect("flushed");
        (None, store)
    }),
    ("compact", |_, store| {
        store.compact(false).expect("compacted");
        (None, store)
    }),
    ("purge", |_, store| {
        store.compact(true).expect("compacted");
        (None, store)
    }),
    ("reopen", |folder, store| {
        store.close().expect("closed");
        drop(store);
        (None, open(folder))
    }),
    ("kill", |folder, store| {
        let copy = crashed(folder);
        drop(store);
        let store = open(&copy);
        (Some(copy), store)
    }),
    ("backup", |folder, store| {
        let target = TempDir::new().expect("a folder");
        TraceStore::backup(address(folder), address(&target), true).expect("copied");
        drop(store);
        let store = open(&target);
        (Some(target), store)
    }),
];

fn all_fragments(traces: &[(u64, bool, &[u64])]) -> FragmentContents {
    let of_trace = |(trace, is_found, numbers): &(u64, bool, &[u64])| {
        (
            id_of(*trace),
            (*is_found, numbers.iter().map(|number| fragment(&log(*trace, 1, *number))).collect()),
        )
    };
    traces.iter().map(of_trace).collect()
}

#[test]
fn fragments_find_their_spans_whatever_happens_between() {
    for (first, one) in STEPS {
        for (second, two) in STEPS {
            let mut folder = TempDir::new().expect("a folder");
            let mut store = open(&folder);
            let advance = |step: Step, folder: &mut TempDir, store: TraceStore| {
                let (moved, store) = step(folder, store);
                if let Some(moved) = moved {
                    *folder = moved;
                }
                store
            };
            // Trace 1 receives fragments first, trace 2 its span, and the span of trace 3 never arrives.
            store.ingest_logs(logs(&[log(1, 1, 5), log(3, 1, 1)])).expect("ingested");
            store.ingest(request(&[span(2, 1, 0)])).expect("ingested");
            assert_eq!(found(&store.snapshot()), [2]);
            store = advance(one, &mut folder, store);
            assert_eq!(found(&store.snapshot()), [2], "after {first}");
            store.ingest(request(&[span(1, 1, 0)])).expect("ingested");
            store.ingest_logs(logs(&[log(2, 1, 7), log(1, 1, 4), log(1, 1, 5)])).expect("ingested");
            store = advance(two, &mut folder, store);
            let what = format!("after {first} and {second}");
            assert_eq!(found(&store.snapshot()), [1, 2], "{what}");
            let expected = [(1, true, &[4, 5][..]), (2, true, &[7]), (3, false, &[1])];
            assert_eq!(fragments(&store.snapshot()), all_fragments(&expected), "{what}");
            assert_eq!(shown(&store.snapshot(), 1), ["message 4", "message 5"], "{what}");
            assert_eq!(shown(&store.snapshot(), 2), ["message 7"], "{what}");
            assert_eq!(store.stats().traces, 2, "{what}");
            store.flush().expect("flushed");
            store.close().expect("closed");
            let checked = TraceStore::check(address(&folder)).expect("a sound store");
            assert_eq!(checked.sealed_traces, 2, "{what}");
        }
    }
}

#[test]
fn what_is_known_is_not_written_again() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    let ingested = store.ingest_logs(logs(&[log(1, 1, 1), log(1, 1, 1)])).expect("ingested").stored;
    assert_eq!((ingested.accepted, ingested.rejected), (2, 0));
    let before = store.stats().wal_through;
    let again = store.ingest_logs(logs(&[log(1, 1, 1)])).expect("ingested").stored;
    assert_eq!((again.accepted, store.stats().wal_through), (1, before));
    let nothing = store.ingest_logs(logs(&[])).expect("ingested");
    assert_eq!((nothing.stored.accepted, store.stats().wal_through), (0, before));
}

#[test]
fn a_trace_begins_with_its_first_span() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    store.ingest_logs(logs(&[log(1, 1, 1)])).expect("ingested");
    let before = spanwise::time::now_micros();
    store.ingest(request(&[span(1, 1, 0)])).expect("ingested");
    let (created_at, _) = contents(&store.snapshot())[&id_of(1)];
    assert!(created_at >= before);
    store.ingest_logs(logs(&[log(1, 1, 2)])).expect("ingested");
    assert_eq!(contents(&store.snapshot())[&id_of(1)].0, created_at);
    store.close().expect("closed");
    assert_eq!(contents(&open(&folder).snapshot())[&id_of(1)].0, created_at, "after a replay");
}

#[test]
fn a_deletion_takes_the_fragments_of_its_traces_and_no_others() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    store.ingest(request(&[span(1, 1, 0), span(2, 1, 0)])).expect("ingested");
    store.ingest_logs(logs(&[log(1, 1, 1), log(2, 1, 2), log(3, 1, 3)])).expect("ingested");
    assert_eq!(store.delete(&traces_in(&[1, 3]), false).expect("deleted"), 1);
    let left = all_fragments(&[(2, true, &[2]), (3, false, &[3])]);
    assert_eq!(fragments(&store.snapshot()), left);
    // Fragments that arrive after a deletion wait for spans that also arrive after it.
    store.ingest_logs(logs(&[log(1, 1, 4)])).expect("ingested");
    assert_eq!(found(&store.snapshot()), [2]);
    store.ingest(request(&[span(1, 1, 0)])).expect("ingested");
    assert_eq!(shown(&store.snapshot(), 1), ["message 4"]);
    assert_eq!(store.delete(&Filter::all(), false).expect("deleted"), 2);
    assert_eq!(fragments(&store.snapshot()), all_fragments(&[(3, false, &[3])]));
}

#[test]
fn fragments_that_wait_too_long_are_deleted() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    store.ingest_logs(logs(&[log(1, 1, 1), log(2, 1, 1)])).expect("ingested");
    store.ingest(request(&[span(1, 1, 0)])).expect("ingested");
    store.flush().expect("flushed");
    store.close().expect("closed");
    let options = Options { retain_fragment_seconds: 0, ..Options::default() };
    let store = TraceStore::open(address(&folder), options).expect("a store");
    wait_until(|| fragments(&store.snapshot()).len() == 1);
    assert_eq!(fragments(&store.snapshot()), all_fragments(&[(1, true, &[1])]));
    assert_eq!(store.stats().retention_error, None);
}

#[test]
fn fragments_are_as_old_as_they_say_for_the_retention_of_traces() {
    let folder = TempDir::new().expect("a folder");
    let options = Options { retain_seconds: Some(100), ..Options::default() };
    let store = TraceStore::open(address(&folder), options).expect("a store");
    store.ingest_logs(logs(&[log(1, 1, 1)])).expect("ingested");
    wait_until(|| fragments(&store.snapshot()).is_empty());
}

#[test]
fn an_import_joins_spans_with_their_fragments() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    store.ingest_logs(logs(&[log(1, 1, 1), log(2, 1, 2)])).expect("ingested");
    let rows = batch(&[span(1, 1, 0)], 17);
    import(&store, [Ok(rows)].into_iter(), &ImportOptions::of("")).expect("imported");
    assert_eq!(found(&store.snapshot()), [1]);
    assert_eq!(contents(&store.snapshot())[&id_of(1)].0, 17);
    assert_eq!(fragments(&store.snapshot()), all_fragments(&[(1, true, &[1]), (2, false, &[2])]));
    assert_eq!(shown(&store.snapshot(), 1), ["message 1"]);
}

#[test]
fn a_download_holds_fragments_as_events() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    store.ingest(request(&[span(1, 1, 0)])).expect("ingested");
    store.ingest_logs(logs(&[log(1, 1, 1), log(1, 9, 2), log(2, 1, 3)])).expect("ingested");
    for _ in 0..2 {
        let download = Download::new(store.snapshot(), Filter::all(), Format::Otlp).expect("a download");
        let file = download.map(|chunk| chunk.expect("a chunk")).collect::<Vec<_>>().concat();
        assert!(!has_fragments(&file));
        let copy = TempDir::new().expect("a folder");
        let copy = open(&copy);
        copy.ingest_body(&file, "application/x-protobuf", None).expect("ingested");
        assert_eq!(shown(&copy.snapshot(), 1), ["message 1"]);
        // Data that is sent back to its source is not duplicated.
        store.ingest_body(&file, "application/x-protobuf", None).expect("ingested");
        assert_eq!(shown(&store.snapshot(), 1), ["message 1"]);
        store.flush().expect("flushed");
    }
}

#[test]
fn fragments_over_the_limits_are_rejected_and_counted() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    let max = MAX_EVENTS as u64;
    let records: Vec<_> = (0..max + 2).map(|number| log(1, 1, number)).chain([log(1, 2, 0)]).collect();
    let ingested = store.ingest_logs(logs(&records)).expect("ingested").stored;
    assert_eq!((ingested.accepted, ingested.rejected), (max + 1, 2));
    let id = id_of(1);
    let reason = format!("trace {id} has 100000 log records already, or one of its spans has 1024");
    assert_eq!(ingested.reason, reason);
    let again = store.ingest_logs(logs(&[log(1, 1, 0), log(1, 1, max + 3)])).expect("ingested").stored;
    assert_eq!((again.accepted, again.rejected), (1, 1), "a copy of a stored record is accepted");
    let of_span = |id: u64| (0..max).map(move |number| log(2, id, number));
    let spans = MAX_FRAGMENTS as u64 / max + 1;
    let sent = logs(&(1..=spans).flat_map(of_span).collect::<Vec<_>>());
    let ingested = store.ingest_logs(sent).expect("ingested").stored;
    assert_eq!(ingested.accepted, MAX_FRAGMENTS as u64);
    let before = fragments(&store.snapshot());
    store.close().expect("closed");
    assert_eq!(fragments(&open(&folder).snapshot()), before);
}
