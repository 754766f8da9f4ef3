//! Whatever happens to a store, it equals a map from traces to spans.

use std::collections::BTreeMap;

use proptest::prelude::*;
use spanwise::bulk::{ImportOptions, import};
use spanwise::otlp::{SpanId, SpanRef, TraceId, WireSpan, proto};
use spanwise::storage::{Options, TraceStore};
use tempfile::TempDir;

use super::contents::{address, contents, crashed, id_of, traces_in};
use crate::bulk::batch;
use crate::spans::{MILLISECOND, export, span};

/// What can happen to a store.
#[derive(Debug, Clone)]
enum Event {
    /// Spans arrive: trace, span, and how much later than usual the span ends.
    Ingest(Vec<(u64, u64, u64)>),
    /// Spans are imported, in two batches.
    Import(Vec<(u64, u64, u64)>),
    Flush,
    /// These traces are deleted.
    Delete(Vec<u64>),
    /// Segments are merged; whether nothing may be left of what was deleted.
    Compact(bool),
    /// The store is closed and opened.
    Reopen,
    /// The machine fails: the store is opened from what is on disk, the old one never closed.
    Crash,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let arrivals = proptest::collection::vec((1..7_u64, 1..5_u64, 0..3_u64), 1..6);
    let event = prop_oneof![
        6 => arrivals.clone().prop_map(Event::Ingest),
        3 => arrivals.prop_map(Event::Import),
        2 => Just(Event::Flush),
        2 => proptest::collection::vec(1..7_u64, 1..3).prop_map(Event::Delete),
        1 => any::<bool>().prop_map(Event::Compact),
        1 => Just(Event::Reopen),
        1 => Just(Event::Crash),
    ];
    proptest::collection::vec(event, 1..24)
}

/// The store as it should be: of each span the copy with the later end, and when each trace was
/// first seen.
#[derive(Default)]
struct Model {
    spans: BTreeMap<TraceId, BTreeMap<SpanId, (u64, WireSpan)>>,
    created: BTreeMap<TraceId, i64>,
}

impl Model {
    fn ingest(&mut self, spans: &[proto::Span]) {
        for accepted in export(spans).spans {
            let end = SpanRef::of(&accepted.wire.bytes).expect("an accepted span").end;
            let copy = (end, accepted.wire);
            let trace = self.spans.entry(accepted.trace_id).or_default();
            let kept = trace.entry(accepted.span_id).or_insert_with(|| copy.clone());
            if copy > *kept {
                *kept = copy;
            }
        }
    }

    /// Returns how many traces there were to delete.
    fn delete(&mut self, traces: &[TraceId]) -> u64 {
        let before = self.spans.len();
        self.spans.retain(|trace_id, _| !traces.contains(trace_id));
        self.created.retain(|trace_id, _| !traces.contains(trace_id));
        (before - self.spans.len()) as u64
    }

    fn assert_equals(&mut self, store: &TraceStore) {
        let held = contents(&store.snapshot());
        assert!(held.keys().eq(self.spans.keys()), "the store holds {held:?}");
        for (trace_id, (created_at, spans)) in held {
            let expected: Vec<_> = self.spans[&trace_id].values().map(|(_, wire)| wire.clone()).collect();
            assert_eq!(spans, expected);
            assert_eq!(*self.created.entry(trace_id).or_insert(created_at), created_at);
        }
    }
}

/// Later than anything is received: what was received stays when it was.
const LONG_AFTER: i64 = 4_000_000_000_000_000;

fn made(arrivals: Vec<(u64, u64, u64)>) -> Vec<proto::Span> {
    let made = arrivals.into_iter().map(|(trace, id, later)| {
        let mut made = span(trace, id, id);
        made.end_time_unix_nano += later * MILLISECOND;
        made
    });
    made.collect()
}

fn open(folder: &TempDir, options: &Options) -> TraceStore {
    TraceStore::open(address(folder), options.clone()).expect("a store that opens")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_store_equals_its_model(events in events(), seal_objects in 1..6_u64, max_segments in 1..5_u64) {
        let options = Options { seal_objects, max_segments, ..Options::default() };
        let mut folder = TempDir::new().expect("a folder");
        let mut store = open(&folder, &options);
        let mut model = Model::default();
        for event in events {
            match event {
                Event::Import(arrivals) => {
                    let spans = made(arrivals);
                    let (first, second) = spans.split_at(spans.len() / 2);
                    let batches = [first, second].map(|spans| Ok(batch(spans, LONG_AFTER)));
                    let imported = import(&store, batches.into_iter(), &ImportOptions::of("")).expect("imported");
                    assert_eq!((imported.accepted, imported.rejected), (spans.len() as u64, 0));
                    model.ingest(&spans);
                }
                Event::Ingest(arrivals) => {
                    let spans = made(arrivals);
                    store.ingest(export(&spans)).expect("ingested");
                    model.ingest(&spans);
                }
                Event::Flush => store.flush().expect("flushed"),
                Event::Delete(traces) => {
                    let expected = model.delete(&traces.iter().map(|trace| id_of(*trace)).collect::<Vec<_>>());
                    let filter = traces_in(&traces);
                    assert_eq!(store.delete(&filter, true).expect("counted"), expected);
                    assert_eq!(store.delete(&filter, false).expect("deleted"), expected);
                }
                Event::Compact(purge) => store.compact(purge).expect("compacted"),
                Event::Reopen => {
                    store.close().expect("closed");
                    store = open(&folder, &options);
                }
                Event::Crash => {
                    folder = crashed(&folder);
                    store = open(&folder, &options);
                }
            }
            model.assert_equals(&store);
        }
        store.close().expect("closed");
        TraceStore::check(address(&folder)).expect("a sound store");
    }
}
