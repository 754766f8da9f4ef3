//! Searches over one million traces, as page 1 of 20 with the exact total; and ingest.
//!
//! The store is built once under `target/bench-store` (three spans a trace) and opened again by later runs.
//! Every answer is checked before it is timed.

#[path = "traces.rs"]
mod traces;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use spanwise::error::Error;
use spanwise::filter::Filter;
use spanwise::otlp;
use spanwise::search::{self, Cancel, Detail, Window};
use spanwise::storage::{Options, TraceStore};
use traces::{Random, Shape, request};

const SHAPE: Shape = Shape { traces: 1_000_000, spans_per_trace: 3 };
const SEED: u64 = 7;
const TRACES_A_REQUEST: u64 = 500;
const FIRST_PAGE: Window = Window { page: 1, limit: 20 };

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
            // Faster than the store seals: what a client would do with a 503.
            Err(Error::Busy(_)) => std::thread::sleep(Duration::from_millis(20)),
            Err(fault) => panic!("{fault}"),
        }
    }
}

fn million() -> TraceStore {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/bench-store");
    let marker = folder.join("complete");
    if !marker.exists() {
        drop(std::fs::remove_dir_all(&folder));
        let store = open(&folder.join("store"));
        let mut random = Random::new(SEED);
        for _ in 0..SHAPE.traces / TRACES_A_REQUEST {
            ingest(&store, request(&SHAPE, &mut random, TRACES_A_REQUEST));
        }
        store.flush().expect("a seal");
        store.close().expect("a clean end");
        std::fs::write(&marker, "").expect("a marker");
    }
    open(&folder.join("store"))
}

fn open(folder: &std::path::Path) -> TraceStore {
    std::fs::create_dir_all(folder).expect("a folder");
    TraceStore::open(folder.to_str().expect("a plain path"), Options::default()).expect("a store")
}

fn searches(criterion: &mut Criterion) {
    let store = million();
    let snapshot = store.snapshot();
    let nobody = Cancel::default();
    let mut group = criterion.benchmark_group("search_1m");
    group.sample_size(30).measurement_time(Duration::from_secs(5));
    let queries = [
        ("match_all", "{}", 1_000_000..=1_000_000),
        ("status_error", r#"{"op":"EQ","key":"status","value":"ERROR"}"#, 49_000..=51_000),
        ("user_contains", r#"{"op":"CONTAINS","key":"user_id","value":"0042"}"#, 1_000..=30_000),
    ];
    for (name, source, expected) in queries {
        let filter = Filter::compile(source.as_bytes()).expect("a good filter");
        let page = search::runs(&snapshot, &filter, FIRST_PAGE, Detail::Full, &nobody).expect("a page");
        assert!(expected.contains(&page.total_count), "{name}: {}", page.total_count);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                search::runs(&snapshot, &filter, FIRST_PAGE, Detail::Full, &nobody).expect("a page")
            });
        });
    }
    let all = Filter::all();
    let page = search::sessions(&snapshot, &all, FIRST_PAGE, &nobody).expect("a page");
    assert!((124_000..=125_000).contains(&page.total_count), "sessions: {}", page.total_count);
    group.bench_function("sessions_match_all", |bencher| {
        bencher.iter(|| search::sessions(&snapshot, &all, FIRST_PAGE, &nobody).expect("a page"));
    });
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
