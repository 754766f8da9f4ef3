//! The store of the benchmarks. It is built once in `target/bench-store` and reopened by later runs. It has
//! one million traces of three spans, or the number in `SPANWISE_BENCH_TRACES` with one span each.

#[path = "traces.rs"]
pub(crate) mod traces;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use bytes::Bytes;
use spanwise::error::Error;
use spanwise::otlp;
use spanwise::storage::{Options, TraceStore};
use traces::{Random, Shape, request};

pub(crate) const SEED: u64 = 7;
const TRACES_A_REQUEST: u64 = 500;

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::try_from(since.expect("a clock after 1970").as_nanos()).expect("a clock before 2554")
}

/// Stores the spans of a request, and retries while the store is busy.
pub(crate) fn ingest(store: &TraceStore, body: Vec<u8>) -> u64 {
    let body = Bytes::from(body);
    loop {
        let export =
            otlp::decode(body.clone(), "application/x-protobuf", None, now()).expect("a good request");
        match store.ingest(export) {
            Ok(ingested) => return ingested.accepted,
            // Ingest is faster than the flush, so the benchmark retries like a client after a 503.
            Err(Error::Busy(_)) => std::thread::sleep(Duration::from_millis(20)),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Returns the shape of the benchmark store.
pub(crate) fn shape() -> Shape {
    match std::env::var("SPANWISE_BENCH_TRACES") {
        Ok(traces) => Shape { traces: traces.parse().expect("a number of traces"), spans_per_trace: 1 },
        Err(_) => Shape { traces: 1_000_000, spans_per_trace: 3 },
    }
}

/// Opens the store. The first run builds it.
pub(crate) fn stored(shape: &Shape) -> TraceStore {
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

/// Returns the private memory of the process as reported by the system.
pub(crate) fn private_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find(|line| line.starts_with("RssAnon")).unwrap_or("RssAnon: not known").to_owned()
}

pub(crate) fn open(folder: &std::path::Path) -> TraceStore {
    std::fs::create_dir_all(folder).expect("a folder");
    TraceStore::open(folder.to_str().expect("a plain path"), Options::default()).expect("a store")
}
