//! Searches over many traces, as page 1 of 20 with the exact total; and ingest.
//!
//! The store is built once under `target/bench-store` and reopened by later runs: one million traces of three
//! spans, or as many of one span as `SPANWISE_BENCH_TRACES` says. Every result is checked before it is timed.

#[path = "traces.rs"]
mod traces;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use spanwise::error::Error;
use spanwise::filter::Filter;
use spanwise::otlp;
use spanwise::search::{self, CancellationToken, Detail, PageRequest, Sort};
use spanwise::storage::{Options, TraceStore};
use traces::{Random, Shape, request};

const SEED: u64 = 7;
const TRACES_A_REQUEST: u64 = 500;
const FIRST_PAGE: PageRequest = PageRequest { page: 1, limit: 20, sort: Sort::NEWEST_FIRST };

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::try_from(since.expect("a clock after 1970").as_nanos()).expect("a clock before 2554")
}

fn ingest(store: &TraceStore, body: Vec<u8>) -> u64 {
    let body = Bytes::from(body);
    loop {
        let export =
            otlp::decode(body.clone(), "application/x-protobuf", None, now()).expect("a good request");
        match store.ingest(export) {
            Ok(ingested) => return ingested.accepted,
            // Ingest outpaces sealing: retry, as a client does after a 503.
            Err(Error::Busy(_)) => std::thread::sleep(Duration::from_millis(20)),
            Err(error) => panic!("{error}"),
        }
    }
}

fn shape() -> Shape {
    match std::env::var("SPANWISE_BENCH_TRACES") {
        Ok(traces) => Shape { traces: traces.parse().expect("a number of traces"), spans_per_trace: 1 },
        Err(_) => Shape { traces: 1_000_000, spans_per_trace: 3 },
    }
}

fn stored(shape: &Shape) -> TraceStore {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/bench-store");
    let folder = folder.join(shape.traces.to_string());
    let marker = folder.join("complete");
    if !marker.exists() {
        drop(std::fs::remove_dir_all(&folder));
        let store = open(&folder.join("store"));
        let mut random = Random::new(SEED);
        for _ in 0..shape.traces / TRACES_A_REQUEST {
            ingest(&store, request(shape, &mut random, TRACES_A_REQUEST));
        }
        store.flush().expect("a seal");
        store.close().expect("a clean end");
        std::fs::write(&marker, "").expect("a marker");
    }
    let begun = Instant::now();
    let store = open(&folder.join("store"));
    println!("opened in {:?}: {:?}; {}", begun.elapsed(), store.stats(), private_memory());
    store
}

/// Returns the process's own memory as reported by the system.
fn private_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find(|line| line.starts_with("RssAnon")).unwrap_or("RssAnon: not known").to_owned()
}

fn open(folder: &std::path::Path) -> TraceStore {
    std::fs::create_dir_all(folder).expect("a folder");
    TraceStore::open(folder.to_str().expect("a plain path"), Options::default()).expect("a store")
}

/// Name, filter, and the range of matching traces per thousand.
const QUERIES: [(&str, &str, (u64, u64)); 16] = [
    ("match_all", "{}", (1_000, 1_000)),
    ("status_error", r#"{"op":"EQ","key":"status","value":"ERROR"}"#, (48, 52)),
    ("agent", r#"{"op":"EQ","key":"agent_id","value":"agent-07"}"#, (20, 50)),
    (
        "five_agents",
        r#"{"op":"IN","key":"agent_id","values":["agent-03","agent-07","agent-11","agent-19","agent-42"]}"#,
        (90, 200),
    ),
    ("slow", r#"{"op":"GT","key":"duration_ms","value":10000}"#, (5, 15)),
    ("not_slow", r#"{"op":"LTE","key":"duration_ms","value":1000}"#, (400, 600)),
    (
        "one_hour",
        r#"{"op":"AND","conditions":[{"op":"GTE","key":"start_time","value":"2026-01-10T10:00:00Z"},
            {"op":"LT","key":"start_time","value":"2026-01-10T11:00:00Z"}]}"#,
        (1, 2),
    ),
    (
        "seven_days",
        r#"{"op":"AND","conditions":[{"op":"GTE","key":"start_time","value":"2026-01-10"},
            {"op":"LT","key":"start_time","value":"2026-01-17"}]}"#,
        (230, 237),
    ),
    ("name_contains", r#"{"op":"CONTAINS","key":"name","value":"_2.run"}"#, (0, 300)),
    ("user_contains", r#"{"op":"CONTAINS","key":"user_id","value":"0042"}"#, (0, 30)),
    ("session_contains", r#"{"op":"CONTAINS","key":"session_id","value":"0042"}"#, (0, 30)),
    ("run_prefix", r#"{"op":"STARTSWITH","key":"run_id","value":"run-0a"}"#, (3, 5)),
    ("not_user", r#"{"op":"NEQ","key":"user_id","value":"user-000042@example.com"}"#, (990, 1_000)),
    (
        "mix",
        r#"{"op":"AND","conditions":[{"op":"OR","conditions":[{"op":"EQ","key":"status","value":"ERROR"},
            {"op":"GT","key":"duration_ms","value":5000}]},
            {"op":"IN","key":"agent_id","values":["agent-03","agent-07","agent-11"]},
            {"op":"NOT","condition":{"op":"CONTAINS","key":"name","value":"run_3"}},
            {"op":"STARTSWITH","key":"user_id","value":"user-00"}]}"#,
        (1, 30),
    ),
    (
        "wide_or",
        r#"{"op":"OR","conditions":[
            {"op":"AND","conditions":[{"op":"EQ","key":"agent_id","value":"agent-01"},{"op":"EQ","key":"status","value":"ERROR"}]},
            {"op":"AND","conditions":[{"op":"EQ","key":"agent_id","value":"agent-02"},{"op":"GT","key":"duration_ms","value":4000}]},
            {"op":"AND","conditions":[{"op":"EQ","key":"agent_id","value":"agent-03"},{"op":"CONTAINS","key":"name","value":"run_1"}]},
            {"op":"AND","conditions":[{"op":"EQ","key":"agent_id","value":"agent-04"},{"op":"LT","key":"duration_ms","value":100}]}]}"#,
        (1, 100),
    ),
    ("created", r#"{"op":"GT","key":"end_time","value":"2026-01-20T12:34:56Z"}"#, (300, 400)),
];

fn searches(criterion: &mut Criterion) {
    let shape = shape();
    let store = stored(&shape);
    let snapshot = store.snapshot();
    let token = CancellationToken::default();
    let mut group = criterion.benchmark_group(format!("search_{}", shape.traces));
    group.sample_size(20).measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(500));
    for (name, source, (min, max)) in QUERIES {
        let filter = Filter::compile(source.as_bytes()).expect("a good filter");
        let page = search::runs(&snapshot, &filter, FIRST_PAGE, Detail::Full, &token).expect("a page");
        let range = shape.traces * min / 1_000..=shape.traces * max / 1_000;
        assert!(range.contains(&page.total_count), "{name}: {}", page.total_count);
        for (page_name, request) in [
            ("first", FIRST_PAGE),
            ("deep", PageRequest { page: 5_000, limit: 20, sort: Sort::NEWEST_FIRST }),
        ] {
            group.bench_function(format!("{name}/{page_name}"), |bencher| {
                bencher.iter(|| search::ids(&snapshot, &filter, request, &token).expect("a page"));
            });
        }
    }
    group.bench_function("full_page", |bencher| {
        bencher.iter(|| {
            search::runs(&snapshot, &Filter::all(), FIRST_PAGE, Detail::Full, &token).expect("a page")
        });
    });
    for name in ["match_all", "status_error", "mix"] {
        let source = QUERIES.iter().find(|query| query.0 == name).expect("a query").1;
        let filter = Filter::compile(source.as_bytes()).expect("a good filter");
        group.bench_function(format!("sessions_{name}"), |bencher| {
            bencher.iter(|| search::sessions(&snapshot, &filter, FIRST_PAGE, &token).expect("a page"));
        });
    }
    println!("{}", private_memory());
    group.finish();
    store.close().expect("a clean end");
}

fn ingests(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(folder.path());
    let shape = Shape { traces: 100_000, spans_per_trace: 6 };
    let mut random = Random::new(SEED);
    let spans = 100 * shape.spans_per_trace;
    let mut group = criterion.benchmark_group("ingest");
    group.sample_size(20).throughput(Throughput::Elements(spans));
    group.bench_function("durable_100_traces_of_6_spans", |bencher| {
        bencher.iter_custom(|rounds| {
            let bodies: Vec<Vec<u8>> = (0..rounds).map(|_| request(&shape, &mut random, 100)).collect();
            let begun = Instant::now();
            for body in bodies {
                assert_eq!(ingest(&store, body), spans);
            }
            begun.elapsed()
        });
    });
    group.finish();
    store.close().expect("a clean end");
}

criterion_group!(benches, searches, ingests);
criterion_main!(benches);
