//! One flushed trace of 100,000 spans: its trace columns, its tree, and one of its spans. Also a span with a
//! value of 4 MiB.
//!
//! A span has 1 KB of attributes. The sizes of the responses are printed, uncompressed and compressed.

#[path = "traces.rs"]
#[allow(dead_code, reason = "the other benchmarks use the rest")]
mod traces;

use std::io::Write as _;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use flate2::Compression;
use flate2::write::GzEncoder;
use spanwise::filter::Filter;
use spanwise::otlp::{self, SpanId, TraceId, proto};
use spanwise::query::{self, Detail};
use spanwise::storage::{Options, Snapshot, TraceStore};
use spanwise::trace::values::ValuePart;
use traces::{Random, attribute, encoded, number, span};

const SPANS: u64 = 100_000;
const SPANS_A_REQUEST: u64 = 10_000;
const LARGE: [u8; 16] = [1; 16];
const LONG: [u8; 16] = [2; 16];
const LONG_BYTES: usize = 4 << 20;
const START: u64 = 1_767_225_600_000_000_000;

/// Returns the spans of an agent that calls models, tools and itself. Every tenth span is a step with nine
/// spans below it.
fn agent_spans(random: &mut Random) -> Vec<proto::Span> {
    let of_number = |id: u64| {
        let step = (id - 1) / 10 * 10 + 1;
        let parent = if id == 1 {
            0
        } else if id == step {
            1
        } else {
            step
        };
        let start = START + id * 1_000_000 + random.below(900_000);
        let mut made = span(&LARGE, id, start, 900_000 + random.below(1_000_000_000));
        if parent > 0 {
            made.parent_span_id = parent.to_be_bytes().to_vec().into();
        }
        let text = |random: &mut Random, bytes: usize| -> String {
            std::iter::repeat_with(|| format!("{:x} ", random.next())).take(bytes / 17).collect()
        };
        (made.name, made.attributes) = match id % 10 {
            1 => (
                "Support.run".to_owned(),
                vec![attribute("openinference.span.kind", "AGENT"), attribute("agent.name", "support")],
            ),
            2..=6 => (
                "chat gpt-4.1".to_owned(),
                vec![
                    attribute("openinference.span.kind", "LLM"),
                    attribute("llm.model_name", "gpt-4.1-2025-04-14"),
                    number("llm.token_count.prompt", random.below(4_000) + 1),
                    number("llm.token_count.completion", random.below(800) + 1),
                    number("llm.token_count.prompt_details.cache_read", random.below(1_000)),
                ],
            ),
            _ => {
                let tool = format!("tool_{}", random.below(20));
                (
                    tool.clone(),
                    vec![attribute("openinference.span.kind", "TOOL"), attribute("tool.name", &tool)],
                )
            }
        };
        made.attributes.push(attribute("input.value", &text(random, 500)));
        made.attributes.push(attribute("output.value", &text(random, 400)));
        if random.below(100) < 2 {
            made.status =
                Some(proto::Status { code: 2, message: format!("the tool gave up after {} s", id % 30) });
        }
        made
    };
    (1..=SPANS).map(of_number).collect()
}

fn stored(folder: &std::path::Path) -> TraceStore {
    let store =
        TraceStore::open(folder.to_str().expect("a plain path"), Options::default()).expect("a store");
    let ingest = |spans: &[proto::Span]| {
        let body = encoded(spans.to_vec()).into();
        let export = otlp::decode(body, "application/x-protobuf", None, START + 1).expect("a good request");
        assert_eq!(store.ingest(export).expect("room").accepted, spans.len() as u64);
    };
    for spans in agent_spans(&mut Random::new(7)).chunks(usize::try_from(SPANS_A_REQUEST).expect("a number"))
    {
        ingest(spans);
    }
    let mut long = span(&LONG, 1, START, 1);
    long.attributes.push(attribute("input.value", &"é".repeat(LONG_BYTES / 2)));
    ingest(&[long]);
    store.flush().expect("a seal");
    store
}

fn print_sizes(name: &str, body: &[u8]) {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::new(5));
    gzip.write_all(body).expect("a buffer");
    let gzip = gzip.finish().expect("a buffer").len();
    let zstd = zstd::bulk::compress(body, 3).expect("compressed").len();
    println!("{name}: {} bytes, {gzip} with gzip, {zstd} with zstd", body.len());
}

fn single_traces(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = stored(folder.path());
    let snapshot: &Snapshot = &store.snapshot();
    let every = Filter::all();
    let [large, long] = [LARGE, LONG].map(|id| TraceId::from_bytes(&id).expect("an id"));
    let middle = SpanId::from_bytes(&(SPANS / 2).to_be_bytes()).expect("an id");
    let first = SpanId::from_bytes(&1_u64.to_be_bytes()).expect("an id");
    let trace = |level| query::trace(snapshot, large, &every, level).expect("readable").expect("a trace");
    let span = |trace_id, span_id| {
        query::span(snapshot, trace_id, span_id, &every, Some(65_536)).expect("readable").expect("a span")
    };
    let skeleton = trace(Detail::Skeleton);
    let read: serde_json::Value = serde_json::from_slice(&skeleton).expect("JSON");
    assert_eq!(read["spans"]["span_id"].as_array().map(Vec::len), usize::try_from(SPANS).ok());
    print_sizes("skeleton", &skeleton);
    print_sizes("tree", &trace(Detail::Full));
    assert!(span(long, first).len() < 70_000);

    let mut group = criterion.benchmark_group("trace_of_100000_spans");
    group.sample_size(10).measurement_time(Duration::from_secs(5));
    group.bench_function("skeleton", |bencher| bencher.iter(|| trace(Detail::Skeleton)));
    group.bench_function("tree", |bencher| bencher.iter(|| trace(Detail::Full)));
    group.bench_function("one_span", |bencher| bencher.iter(|| span(large, middle)));
    group.finish();
    let mut group = criterion.benchmark_group("value_of_4_MiB");
    group.bench_function("cut", |bencher| bencher.iter(|| span(long, first)));
    let part = ValuePart { path: "/input", from: LONG_BYTES / 2, max_bytes: Some(65_536) };
    group.bench_function("page", |bencher| {
        bencher
            .iter(|| query::value(snapshot, long, first, &every, &part).expect("readable").expect("a value"));
    });
    group.finish();
    store.close().expect("a clean end");
}

criterion_group!(benches, single_traces);
criterion_main!(benches);
