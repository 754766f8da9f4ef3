//! Imports: stored spans, rejected spans, and resuming an interrupted import.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema};
use prost::Message as _;
use spanwise::bulk::{ImportOptions, ImportReport, import, import_into_shards};
use spanwise::error::{Error, Result};
use spanwise::otlp::proto;
use spanwise::placement::ShardMap;
use spanwise::storage::{ImportRecord, TraceStore};
use spanwise::trace::Trace;
use tempfile::TempDir;

use super::batch;
use crate::support::contents::{contents, crashed, id_of, open, traces_in};
use crate::support::spans::{EPOCH, MILLISECOND, request, span};

fn imported(store: &TraceStore, batches: Vec<RecordBatch>, source: &str) -> Result<ImportReport> {
    import(store, batches.into_iter().map(Ok), &ImportOptions::of(source))
}

#[test]
fn imported_spans_equal_ingested_ones_except_for_created_at() {
    let (one, other) = (TempDir::new().expect("a folder"), TempDir::new().expect("a folder"));
    let (ingested, store) = (open(&one), open(&other));
    // Trace 2 is in a segment, and trace 3 in the head. Trace 4 has spans in both batches.
    for store in [&ingested, &store] {
        store.ingest(request(&[span(2, 1, 0)])).expect("ingested");
        store.flush().expect("flushed");
        store.ingest(request(&[span(3, 1, 0)])).expect("ingested");
    }
    let longer = proto::Span { end_time_unix_nano: EPOCH + 9_000 * MILLISECOND, ..span(2, 1, 0) };
    let spans = [[span(1, 1, 0), longer, span(4, 1, 0)], [span(3, 2, 0), span(4, 2, 0), span(2, 2, 0)]];
    let batches = spans.iter().map(|spans| batch(spans, 17)).collect();
    let report = imported(&store, batches, "").expect("imported");
    assert_eq!((report.accepted, report.rejected), (6, 0));
    for spans in spans {
        ingested.ingest(request(&spans)).expect("ingested");
    }
    let bare = |store: &TraceStore| {
        contents(&store.snapshot()).into_iter().map(|(id, (_, spans))| (id, spans)).collect::<Vec<_>>()
    };
    assert_eq!(bare(&store), bare(&ingested));
    assert!(contents(&store.snapshot()).values().all(|(created_at, _)| *created_at == 17));
    assert_eq!(contents(&open_again(&store, &other).snapshot()).len(), 4);
}

fn open_again(store: &TraceStore, folder: &TempDir) -> TraceStore {
    store.close().expect("closed");
    open(folder)
}

#[test]
fn shards_have_together_what_one_store_has() {
    let folder = TempDir::new().expect("a folder");
    let whole = open(&folder);
    let folders: Vec<_> = (0..3).map(|_| TempDir::new().expect("a folder")).collect();
    let stores: Vec<_> = folders.iter().map(open).collect();
    let map = ShardMap::new(&["0", "10", "11"]).expect("a map");
    let spans: Vec<_> = (1..=200).map(|number| span(number % 40 + 1, number, 0)).collect();
    let nameless = proto::Span { trace_id: vec![0; 16].into(), ..span(1, 7, 0) };
    let batches = || {
        [batch(&spans[..90], 17), batch(&spans[90..], 17), batch(std::slice::from_ref(&nameless), 17)].map(Ok)
    };
    let options = ImportOptions { step_spans: 64, ..ImportOptions::of("") };
    let expected = import(&whole, batches().into_iter(), &options).expect("imported");
    let targets: Vec<_> = stores.iter().collect();
    let report = import_into_shards(&map, &targets, batches().into_iter(), &options).expect("imported");
    assert_eq!((report.accepted, report.rejected), (200, 1));
    assert_eq!(report, expected);
    let mut together = BTreeMap::new();
    for (number, store) in stores.iter().enumerate() {
        let own = contents(&store.snapshot());
        assert!(!own.is_empty());
        assert!(own.keys().all(|trace_id| map.shard_of(*trace_id) == number));
        together.extend(own);
    }
    assert_eq!(together, contents(&whole.snapshot()));
}

#[test]
fn stores_are_as_many_as_shards() {
    let folder = TempDir::new().expect("a folder");
    let (store, map) = (open(&folder), ShardMap::new(&["0", "1"]).expect("a map"));
    let failed = import_into_shards(&map, &[&store], std::iter::empty(), &ImportOptions::of(""));
    assert!(
        matches!(failed, Err(Error::Options(message)) if message == "expected 2 stores of shards, got 1")
    );
}

#[test]
fn every_rejection_is_counted_and_the_first_are_listed() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    let nameless = proto::Span { trace_id: vec![0; 16].into(), ..span(1, 7, 0) };
    let tomorrow = proto::Span { start_time_unix_nano: u64::MAX / 3, ..span(2, 8, 0) };
    let report = imported(&store, vec![batch(&[span(1, 1, 0), nameless], 0), batch(&[tomorrow], 0)], "")
        .expect("imported");
    assert_eq!((report.accepted, report.rejected), (1, 2));
    let quoted: Vec<_> =
        report.rejections.iter().map(|rejection| (rejection.span, rejection.reason.as_str())).collect();
    assert_eq!(quoted[0], (1, "span `0000000000000007`: trace id is all zero"));
    assert_eq!(quoted[1].0, 2);
    assert!(quoted[1].1.ends_with("lies more than 24 hours ahead"), "{}", quoted[1].1);
    assert_eq!(contents(&store.snapshot()).len(), 1);
}

#[test]
fn an_import_keeps_the_limit_on_spans_of_a_trace() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    let spans: Vec<_> = (1..=100_003).map(|id| span(1, id, 0)).collect();
    let report = imported(&store, vec![batch(&spans, 0)], "").expect("imported");
    assert_eq!((report.accepted, report.rejected), (100_000, 3));
    assert_eq!(report.rejections[0].reason, "3 spans of traces that have 100000 spans already");
    let report = imported(&store, vec![batch(&spans[..5], 0)], "").expect("imported");
    assert_eq!((report.accepted, report.rejected), (5, 0), "known spans are welcome");
}

#[test]
fn a_batch_without_a_span_column_is_rejected() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
    let strange =
        RecordBatch::try_from_iter([("trace_id", texts.clone()), ("name", texts)]).expect("a batch");
    let Err(Error::Batch(message)) = imported(&store, vec![strange], "") else {
        panic!("expected a rejection")
    };
    assert_eq!(message, "expected a column `span` of encoded spans, found `trace_id`, `name`");
    let Err(Error::Options(message)) = imported(&store, vec![], "no/path") else {
        panic!("expected a rejection")
    };
    assert_eq!(message, "expected the name of an import to be up to 128 letters, digits, `-` or `_`");
}

#[test]
fn spans_are_read_from_every_arrow_layout_of_bytes() {
    let plain = batch(&[span(1, 1, 0), span(2, 1, 0)], 5);
    let spans = plain.column_by_name("span").expect("a column");
    // The first name is shorter than a view, the second one longer.
    let scopes = ["one", "the name of another scope"]
        .map(|name| proto::InstrumentationScope { name: name.into(), ..Default::default() }.encode_to_vec());
    let plain_scopes: ArrayRef = Arc::new(BinaryArray::from_iter_values(&scopes));
    let coded = |key: DataType| DataType::Dictionary(Box::new(key), Box::new(DataType::Binary));
    for layout in [
        DataType::Binary,
        DataType::LargeBinary,
        DataType::BinaryView,
        coded(DataType::Int8),
        coded(DataType::UInt32),
    ] {
        let folder = TempDir::new().expect("a folder");
        let store = open(&folder);
        let columns = [spans, &plain_scopes].map(|bytes| cast(bytes, &layout).expect("the same bytes"));
        let fields = ["span", "scope"].map(|name| Field::new(name, layout.clone(), true));
        let schema = Arc::new(Schema::new(fields.to_vec()));
        let batch = RecordBatch::try_new(schema, columns.to_vec()).expect("a batch");
        let slices = vec![batch.slice(1, 1), batch.slice(0, 1)];
        assert_eq!(imported(&store, slices, "").expect("imported").accepted, 2);
        let held = contents(&store.snapshot()).into_iter();
        let held: Vec<_> = held.map(|(id, (_, spans))| (id, spans[0].origin.scope.to_vec())).collect();
        assert_eq!(held, [(id_of(1), scopes[0].clone()), (id_of(2), scopes[1].clone())]);
    }
    let folder = TempDir::new().expect("a folder");
    let garbage: ArrayRef = Arc::new(BinaryArray::from_opt_vec(vec![Some(b"\xff\xff".as_slice()), None]));
    let batch = RecordBatch::try_from_iter([("span", garbage)]).expect("a batch");
    assert_eq!(imported(&open(&folder), vec![batch], "").expect("imported").rejected, 2);
}

#[test]
fn an_interrupted_import_resumes_after_the_durable_steps() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    let spans: Vec<_> = (1..=9).map(|trace| span(trace, 1, 0)).collect();
    let whole = || spans.chunks(2).map(|spans| batch(spans, 0)).collect::<Vec<_>>();
    // Simulates a machine failure after one step with the first four spans.
    let traces = request(&spans[..4]).spans.into_iter().map(|span| {
        let span = Arc::new(spanwise::trace::Span::from_wire(span.wire).expect("an accepted span"));
        Trace::new(span.trace_id, 0).with([span])
    });
    let so_far = ImportRecord { source: "a-file".into(), spans: 4, accepted: 4, rejected: 0 };
    store.bulk_load(traces.collect(), "a-file", Some(so_far.clone())).expect("loaded");
    let folder = crashed(&folder);
    let store = open(&folder);
    assert_eq!(store.import_so_far("a-file"), Some(so_far));
    assert_eq!(store.import_so_far("another"), None);
    store.delete(&traces_in(&[1]), false).expect("deleted");
    store.compact(true).expect("compacted");
    let report = imported(&store, whole(), "a-file").expect("imported");
    assert_eq!((report.accepted, report.rejected, report.resumed), (9, 0, 4));
    assert_eq!(contents(&store.snapshot()).len(), 8, "what was dealt with is not looked at again");
    let store = open_again(&store, &folder);
    assert_eq!(store.import_so_far("a-file"), None, "an import that ended is forgotten");
    assert_eq!(imported(&store, whole(), "a-file").expect("imported").resumed, 0);
    assert_eq!(contents(&store.snapshot()).len(), 9);
}

#[test]
fn spans_of_a_trace_are_merged_across_steps() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    let spans: Vec<_> = (1..=6).flat_map(|id| (1..=4).map(move |trace| span(trace, id, 0))).collect();
    let options = ImportOptions { step_spans: 3, ..ImportOptions::of("") };
    let report = import(&store, [Ok(batch(&spans, 0))].into_iter(), &options).expect("imported");
    assert_eq!((report.accepted, report.rejected), (24, 0));
    let held = contents(&store.snapshot());
    assert_eq!(held.values().map(|(_, spans)| spans.len()).collect::<Vec<_>>(), [6; 4]);
    assert_eq!(contents(&open_again(&store, &folder).snapshot()), held);
}

#[test]
fn the_steps_before_a_failing_source_stay_durable() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    let batches = [Ok(batch(&[span(1, 1, 0)], 0)), Err(Error::Batch("the file ends here".into()))];
    let error = import(&store, batches.into_iter(), &ImportOptions::of("a-file")).expect_err("it failed");
    assert_eq!(error.to_string(), "the file ends here");
    assert_eq!(imported(&store, vec![batch(&[span(1, 1, 0)], 0)], "a-file").expect("imported").accepted, 1);
    assert_eq!(contents(&store.snapshot()).len(), 1);
}
