//! Scans and downloads.

use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::TimestampNanosecondType;
use arrow_array::{Array as _, RecordBatch};
use spanwise::bulk::{Download, Format, scan, span_schema, spans};
use spanwise::error::Result;
use spanwise::filter::Filter;
use spanwise::otlp::wire;
use spanwise::schema::trace_schema;
use spanwise::storage::{Snapshot, TraceStore};
use tempfile::TempDir;

use crate::support::contents::{address, id_of, open, traces_in};
use crate::support::spans::{EPOCH, MILLISECOND, failed, request, span};

/// Returns a store with traces 1 to 9: three in each of two segments and three in the head. The second span
/// of trace 1 arrived late.
fn nine(folder: &TempDir) -> TraceStore {
    let store = open(folder);
    for trace in 1..=9 {
        let root = span(trace, 1, trace);
        let root = if trace == 5 { failed(root, "it broke") } else { root };
        store.ingest(request(&[root])).expect("ingested");
        if trace == 3 || trace == 6 {
            store.flush().expect("flushed");
        }
    }
    store.ingest(request(&[span(1, 2, 1)])).expect("ingested");
    store
}

fn file(snapshot: &Arc<Snapshot>, filter: Filter, format: Format) -> Vec<u8> {
    let pieces = Download::new(snapshot.clone(), filter, format).expect("a download");
    pieces.collect::<Result<Vec<_>>>().expect("a whole file").concat()
}

fn ids(batches: &[RecordBatch], column: &str) -> Vec<String> {
    let columns =
        batches.iter().map(|batch| batch.column_by_name(column).expect("a column").as_string::<i32>());
    let mut ids: Vec<String> =
        columns.flat_map(|column| column.iter().flatten().map(str::to_owned)).collect();
    ids.sort();
    ids
}

#[test]
fn a_scan_returns_every_matching_row_once() {
    let folder = TempDir::new().expect("a folder");
    let store = nine(&folder);
    for (filter, expected) in
        [(Filter::all(), (1..=9).collect::<Vec<_>>()), (traces_in(&[1, 5, 77]), vec![1, 5])]
    {
        let batches: Vec<_> = scan(store.snapshot(), filter).map(|batch| batch.expect("a batch")).collect();
        assert!(batches.iter().all(|batch| batch.schema() == trace_schema() && batch.num_rows() > 0));
        let mut wanted: Vec<_> = expected.into_iter().map(|trace| id_of(trace).to_string()).collect();
        wanted.sort();
        assert_eq!(ids(&batches, "trace_id"), wanted);
    }
    assert_eq!(scan(store.snapshot(), traces_in(&[77])).count(), 0);
}

#[test]
fn spans_have_columns_that_need_no_otlp_decoder() {
    let folder = TempDir::new().expect("a folder");
    let store = nine(&folder);
    let batches: Vec<_> =
        spans(store.snapshot(), traces_in(&[5])).map(|batch| batch.expect("a batch")).collect();
    let [batch] = batches.as_slice() else { panic!("expected one batch") };
    assert_eq!(batch.schema(), span_schema());
    let shown = |column: &str| {
        let column = batch.column_by_name(column).expect("a column");
        arrow_cast::display::array_value_to_string(column, 0).expect("a text")
    };
    let columns = ["span_id", "parent_span_id", "name", "kind", "status", "status_message"];
    assert_eq!(
        columns.map(shown),
        ["0000000000000001", "", "span-1", "UNSPECIFIED", "ERROR", "it broke"].map(str::to_owned)
    );
    for (column, after) in [("start_time", 5), ("end_time", 1_005)] {
        let column = batch.column_by_name(column).expect("a column");
        let nanos = column.as_primitive::<TimestampNanosecondType>().value(0);
        assert_eq!(u64::try_from(nanos).expect("after 1970"), EPOCH + after * MILLISECOND);
    }
    assert!(batch.column_by_name("parent_span_id").is_some_and(|column| column.is_null(0)));
}

#[test]
fn a_trace_is_downloaded_completely_from_segments_and_head() {
    let folder = TempDir::new().expect("a folder");
    let store = nine(&folder);
    let batches: Vec<_> =
        spans(store.snapshot(), traces_in(&[1])).map(|batch| batch.expect("a batch")).collect();
    assert_eq!(ids(&batches, "span_id"), ["0000000000000001", "0000000000000002"]);
    assert_eq!(
        spans(store.snapshot(), Filter::all()).map(|batch| batch.expect("a batch").num_rows()).sum::<usize>(),
        10
    );
}

#[test]
fn a_download_reads_the_state_at_its_start() {
    let folder = TempDir::new().expect("a folder");
    let store = nine(&folder);
    let under_way = Download::new(store.snapshot(), Filter::all(), Format::Ndjson).expect("a download");
    store.delete(&Filter::all(), false).expect("deleted");
    store.compact(true).expect("purged");
    let file = under_way.collect::<Result<Vec<_>>>().expect("a whole file").concat();
    assert_eq!(file.split(|byte| *byte == b'\n').count() - 1, 9);
    assert_eq!(empty_file(&store), b"");
}

fn empty_file(store: &TraceStore) -> Vec<u8> {
    file(&store.snapshot(), Filter::all(), Format::Ndjson)
}

#[test]
fn otlp_is_one_message_and_ndjson_has_a_line_per_trace() {
    let folder = TempDir::new().expect("a folder");
    let store = nine(&folder);
    let message = file(&store.snapshot(), Filter::all(), Format::Otlp);
    assert_eq!(wire::split(message.into()).expect("one message").len(), 10);
    let lines = file(&store.snapshot(), traces_in(&[1, 2]), Format::Ndjson);
    let lines: Vec<serde_json::Value> = lines
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| serde_json::from_slice(line).expect("JSON"))
        .collect();
    let mut totals: Vec<_> =
        lines.iter().map(|line| (line["trace_id"].as_str(), line["total_spans"].as_u64())).collect();
    totals.sort();
    let ids = [id_of(1).to_string(), id_of(2).to_string()];
    assert_eq!(totals, [(Some(ids[0].as_str()), Some(2)), (Some(ids[1].as_str()), Some(1))]);
}

#[test]
fn an_unknown_format_is_rejected() {
    let error = Format::from_word("csv").expect_err("no format");
    assert_eq!(
        error.to_string(),
        "expected a format, one of `parquet`, `arrow`, `ndjson`, `otlp`, got `csv`"
    );
    assert_eq!(
        Format::WORDS.map(|(word, _)| Format::from_word(word).expect("a format")),
        Format::WORDS.map(|(_, format)| format)
    );
}

#[test]
fn a_store_in_use_can_be_read_without_its_lock() {
    let folder = TempDir::new().expect("a folder");
    let store = nine(&folder);
    let seen = TraceStore::open_read_only(address(&folder)).expect("a look");
    assert_eq!(
        crate::support::contents::contents(&seen),
        crate::support::contents::contents(&store.snapshot())
    );
    let nothing = TempDir::new().expect("a folder");
    let error = TraceStore::open_read_only(address(&nothing)).expect_err("no store");
    assert_eq!(error.to_string(), "expected a store, found no manifest");
    assert_eq!(std::fs::read_dir(nothing.path()).expect("a folder").count(), 0, "nothing was written");
}
