//! Downloaded and re-imported spans are unchanged.

use std::sync::Arc;

use arrow_array::RecordBatch;
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use proptest::prelude::*;
use spanwise::bulk::{Download, Format, ImportOptions, import, spans};
use spanwise::error::{Error, Result};
use spanwise::filter::Filter;
use spanwise::otlp::{self, proto};
use spanwise::query::{self, CancellationToken, Detail, PageRequest, Sort};
use spanwise::storage::{Snapshot, TraceStore};
use tempfile::TempDir;

use crate::support::contents::{contents, open};
use crate::support::spans::{EPOCH, MILLISECOND, below, failed, span, with};

/// Returns a span with every kind of content.
fn full(trace: u64, id: u64, seed: u64) -> proto::Span {
    let mut made = with(below(span(trace, id, seed), id / 2), "session.id", &format!("session-{}", seed % 3));
    made = with(made, "user.id", &format!("user-{}", seed % 5));
    made.kind = i32::try_from(seed % 7).expect("small");
    made.trace_state = "a=b".into();
    made.end_time_unix_nano =
        if seed.is_multiple_of(4) { 0 } else { made.end_time_unix_nano + seed * MILLISECOND };
    made.events.push(proto::span::Event { name: "event".into(), time_unix_nano: seed, ..Default::default() });
    made.links.push(proto::span::Link { trace_id: made.trace_id.clone(), ..Default::default() });
    if seed.is_multiple_of(3) { failed(made, "it broke") } else { made }
}

/// Returns a request with resources, scopes and an unknown field.
fn request(spans: &[proto::Span], seed: u64) -> Bytes {
    use prost::Message as _;
    let resource = proto::Resource { dropped_attributes_count: 1, ..Default::default() }.encode_to_vec();
    let scope =
        proto::InstrumentationScope { name: format!("scope-{seed}"), ..Default::default() }.encode_to_vec();
    let encoded = spans.iter().map(|span| {
        let unknown: &[u8] = if seed.is_multiple_of(2) { &[0xf8, 0x3f, 0x01] } else { &[] };
        Bytes::from([&span.encode_to_vec(), unknown].concat())
    });
    let scope_spans =
        proto::ScopeSpans { scope: scope.into(), spans: encoded.collect(), schema_url: "s".into() };
    let resource = if seed.is_multiple_of(5) { Bytes::new() } else { resource.into() };
    let resource_spans =
        proto::ResourceSpans { resource, scope_spans: vec![scope_spans], schema_url: "r".into() };
    proto::TracesData { resource_spans: vec![resource_spans] }.encode_to_vec().into()
}

fn fill(store: &TraceStore, requests: &[(Vec<(u64, u64)>, u64)]) {
    for (spans, seed) in requests {
        let spans: Vec<_> = spans.iter().map(|(trace, id)| full(*trace, *id, seed + id)).collect();
        let request = otlp::decode(request(&spans, *seed), "application/x-protobuf", None, 2 * EPOCH);
        store.ingest(request.expect("a good request")).expect("ingested");
        if seed.is_multiple_of(3) {
            store.flush().expect("flushed");
        }
    }
}

/// Returns every page of runs and sessions.
fn all_pages(snapshot: &Snapshot) -> Vec<(Vec<u8>, u64)> {
    let filters = [r"{}", r#"{"op": "EQ", "key": "status", "value": "ERROR"}"#];
    let mut all_pages = Vec::new();
    for source in filters {
        let filter = Filter::compile(source.as_bytes()).expect("a good filter");
        for page in 1..4 {
            let window = PageRequest { page, limit: 5, sort: Sort::NEWEST_FIRST };
            let runs = query::runs(snapshot, &filter, window, Detail::Full, &CancellationToken::default());
            let sessions = query::sessions(snapshot, &filter, window, &CancellationToken::default());
            all_pages.extend([runs, sessions].map(|page| {
                let page = page.expect("a page");
                (page.data, page.total_count)
            }));
        }
    }
    all_pages
}

fn arrow(
    batches: impl Iterator<Item = std::result::Result<RecordBatch, arrow_schema::ArrowError>>,
) -> Vec<Result<RecordBatch>> {
    batches.map(|batch| batch.map_err(|error| Error::Batch(error.to_string()))).collect()
}

/// Returns the spans of a snapshot after a round trip through a file.
fn through(format: Format, snapshot: &Arc<Snapshot>) -> Vec<Result<RecordBatch>> {
    let pieces = Download::new(snapshot.clone(), Filter::all(), format).expect("a download");
    let file = Bytes::from(pieces.collect::<Result<Vec<_>>>().expect("a whole file").concat());
    match format {
        Format::Parquet => {
            let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("Parquet");
            arrow(reader.with_batch_size(3).build().expect("a reader"))
        }
        _ => arrow(arrow_ipc::reader::StreamReader::try_new(file.as_ref(), None).expect("a stream")),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn a_downloaded_and_imported_store_gives_the_same_results(
        requests in proptest::collection::vec(
            (proptest::collection::vec((1..12_u64, 1..6_u64), 1..8), 0..40_u64), 1..12),
        backwards: bool,
    ) {
        let (from, to) = (TempDir::new().expect("a folder"), TempDir::new().expect("a folder"));
        let store = open(&from);
        fill(&store, &requests);
        let snapshot = store.snapshot();
        let direct = arrow(spans(snapshot.clone(), Filter::all()));
        for mut batches in [direct, through(Format::Parquet, &snapshot), through(Format::Arrow, &snapshot)] {
            if backwards {
                batches.reverse();
            }
            let copy = open(&to);
            let imported = import(&copy, batches.into_iter(), &ImportOptions::of("")).expect("imported");
            prop_assert_eq!(imported.rejected, 0);
            prop_assert_eq!(contents(&copy.snapshot()), contents(&snapshot));
            prop_assert_eq!(all_pages(&copy.snapshot()), all_pages(&snapshot));
            copy.close().expect("closed");
            // The import is durable, and repeating it adds no span.
            prop_assert_eq!(contents(&open(&to).snapshot()), contents(&snapshot));
        }
    }
}
