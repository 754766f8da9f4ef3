//! Model test: after any sequence of operations, a store equals a map from traces to spans.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use spanwise::bulk::{ImportOptions, import};
use spanwise::otlp::{Fragment, SpanId, SpanRef, TraceId, WireSpan, proto};
use spanwise::storage::{Options, TraceStore};
use tempfile::TempDir;

use crate::bulk::batch;
use crate::support::contents::{FragmentContents, address, contents, crashed, fragments, id_of, traces_in};
use crate::support::logs::{log, logs};
use crate::support::spans::{MILLISECOND, request, span};

/// An operation on a store, or an accident.
#[derive(Debug, Clone)]
enum Operation {
    /// Ingests spans: trace, span, and the delay of the span's end in milliseconds.
    Ingest(Vec<(u64, u64, u64)>),
    /// Ingests log records: trace, span, and number.
    Logs(Vec<(u64, u64, u64)>),
    /// Imports spans in two batches.
    Import(Vec<(u64, u64, u64)>),
    Flush,
    /// Deletes these traces.
    Delete(Vec<u64>),
    /// Merges segments, and purges deleted data if true.
    Compact(bool),
    /// Closes and opens the store.
    Reopen,
    /// Simulates a crash: opens a copy of the files without closing the store.
    Crash,
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let arrivals = proptest::collection::vec((1..7_u64, 1..5_u64, 0..3_u64), 1..6);
    let operation = prop_oneof![
        6 => arrivals.clone().prop_map(Operation::Ingest),
        3 => arrivals.clone().prop_map(Operation::Logs),
        3 => arrivals.prop_map(Operation::Import),
        2 => Just(Operation::Flush),
        2 => proptest::collection::vec(1..7_u64, 1..3).prop_map(Operation::Delete),
        1 => any::<bool>().prop_map(Operation::Compact),
        1 => Just(Operation::Reopen),
        1 => Just(Operation::Crash),
    ];
    proptest::collection::vec(operation, 1..24)
}

/// The expected content of the store: the copy of each span with the latest end, all fragments, and the
/// receipt time of each trace.
#[derive(Default)]
struct Model {
    spans: BTreeMap<TraceId, BTreeMap<SpanId, (u64, WireSpan)>>,
    fragments: BTreeMap<TraceId, BTreeSet<Fragment>>,
    created: BTreeMap<TraceId, i64>,
}

impl Model {
    fn ingest(&mut self, spans: &[proto::Span]) {
        for accepted in request(spans).spans {
            let end = SpanRef::of(&accepted.wire.bytes).expect("an accepted span").end;
            let copy = (end, accepted.wire);
            let trace = self.spans.entry(accepted.trace_id).or_default();
            let kept = trace.entry(accepted.span_id).or_insert_with(|| copy.clone());
            if copy > *kept {
                *kept = copy;
            }
        }
    }

    fn ingest_logs(&mut self, records: &[proto::LogRecord]) {
        for fragment in logs(records).fragments {
            self.fragments.entry(fragment.trace_id).or_default().insert(Fragment { position: 0, ..fragment });
        }
    }

    /// Returns the number of deleted traces.
    fn delete(&mut self, traces: &[TraceId]) -> u64 {
        let before = self.spans.len();
        // A filter does not match fragments that wait for their spans.
        self.fragments
            .retain(|trace_id, _| !(traces.contains(trace_id) && self.spans.contains_key(trace_id)));
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
        let expected = self.fragments.iter().map(|(trace_id, fragments)| {
            (*trace_id, (self.spans.contains_key(trace_id), fragments.iter().cloned().collect()))
        });
        assert_eq!(fragments(&store.snapshot()), expected.collect::<FragmentContents>());
    }
}

/// A creation time later than the receipt of any trace, so that an import does not change the creation time
/// of a trace.
const FAR_FUTURE: i64 = 4_000_000_000_000_000;

fn spans_of(arrivals: Vec<(u64, u64, u64)>) -> Vec<proto::Span> {
    let spans = arrivals.into_iter().map(|(trace, id, later)| {
        let mut made = span(trace, id, id);
        made.end_time_unix_nano += later * MILLISECOND;
        made
    });
    spans.collect()
}

fn open(folder: &TempDir, options: &Options) -> TraceStore {
    TraceStore::open(address(folder), options.clone()).expect("a store that opens")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_store_equals_its_model(operations in operations(), seal_objects in 1..6_u64, max_segments in 1..5_u64) {
        let options = Options { seal_objects, max_segments, ..Options::default() };
        let mut folder = TempDir::new().expect("a folder");
        let mut store = open(&folder, &options);
        let mut model = Model::default();
        for operation in operations {
            match operation {
                Operation::Import(arrivals) => {
                    let spans = spans_of(arrivals);
                    let (first, second) = spans.split_at(spans.len() / 2);
                    let batches = [first, second].map(|spans| Ok(batch(spans, FAR_FUTURE)));
                    let imported = import(&store, batches.into_iter(), &ImportOptions::of("")).expect("imported");
                    assert_eq!((imported.accepted, imported.rejected), (spans.len() as u64, 0));
                    model.ingest(&spans);
                }
                Operation::Ingest(arrivals) => {
                    let spans = spans_of(arrivals);
                    store.ingest(request(&spans)).expect("ingested");
                    model.ingest(&spans);
                }
                Operation::Logs(arrivals) => {
                    let records: Vec<_> =
                        arrivals.into_iter().map(|(trace, id, number)| log(trace, id, number)).collect();
                    store.ingest_logs(logs(&records)).expect("ingested");
                    model.ingest_logs(&records);
                }
                Operation::Flush => store.flush().expect("flushed"),
                Operation::Delete(traces) => {
                    let expected = model.delete(&traces.iter().map(|trace| id_of(*trace)).collect::<Vec<_>>());
                    let filter = traces_in(&traces);
                    assert_eq!(store.delete(&filter, true).expect("counted"), expected);
                    assert_eq!(store.delete(&filter, false).expect("deleted"), expected);
                }
                Operation::Compact(purge) => store.compact(purge).expect("compacted"),
                Operation::Reopen => {
                    store.close().expect("closed");
                    store = open(&folder, &options);
                }
                Operation::Crash => {
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
