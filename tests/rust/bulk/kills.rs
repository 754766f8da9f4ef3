//! An import into shards that is killed and repeated loses and duplicates no span.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use spanwise::bulk::{ImportOptions, import_into_shards};
use spanwise::otlp::proto;
use spanwise::placement::ShardMap;
use spanwise::storage::{Options, TraceStore};
use tempfile::TempDir;

use super::batch;
use crate::support::contents::contents;
use crate::support::random::Random;
use crate::support::spans::span;

const STORE: &str = "SPANWISE_TEST_IMPORT";
const SHARDS: [&str; 3] = ["0", "10", "11"];
const TRACES: u64 = 40;
const SPANS: u64 = 12;

/// Returns the spans of every trace: all first spans, then all second ones.
fn spans() -> Vec<proto::Span> {
    (1..=SPANS).flat_map(|id| (1..=TRACES).map(move |trace| span(trace, id, 0))).collect()
}

/// Opens a store for each prefix, in its own folder.
fn stores(folder: &Path) -> Vec<TraceStore> {
    let open_one = |prefix: &&str| {
        let place = folder.join(format!("shard-{prefix}"));
        TraceStore::open(place.to_str().expect("a path"), Options::default()).expect("a store")
    };
    SHARDS.iter().map(open_one).collect()
}

/// Imports a few traces per step.
fn run(stores: &[TraceStore]) -> (u64, u64) {
    let (spans, map) = (spans(), ShardMap::new(&SHARDS).expect("a map"));
    let stores: Vec<&TraceStore> = stores.iter().collect();
    let options = ImportOptions { step_spans: 16, ..ImportOptions::of("the-same") };
    let batches = spans.chunks(50).map(|spans| Ok(batch(spans, 0)));
    let report = import_into_shards(&map, &stores, batches, &options).expect("imported");
    (report.accepted, report.resumed)
}

#[test]
#[ignore = "this is the process that is killed"]
fn importing_process() {
    let Ok(url) = std::env::var(STORE) else { return };
    run(&stores(Path::new(&url)));
}

fn killed_after(folder: &Path, wait: Duration) {
    let mut importing = Command::new(std::env::current_exe().expect("this binary"))
        .args(["bulk::kills::importing_process", "--exact", "--ignored"])
        .env(STORE, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a process");
    std::thread::sleep(wait);
    importing.kill().expect("killed");
    importing.wait().expect("ended");
}

#[test]
fn a_repeatedly_killed_import_loses_and_duplicates_nothing() {
    let folder = TempDir::new().expect("a folder");
    let mut random = Random::new(7);
    for _ in 0..6 {
        killed_after(folder.path(), Duration::from_millis(20 + random.below(200)));
    }
    let stores = stores(folder.path());
    let (accepted, _resumed) = run(&stores);
    assert_eq!(accepted, TRACES * SPANS);
    let held: Vec<_> = stores.iter().map(|store| contents(&store.snapshot())).collect();
    assert!(held.iter().all(|held| !held.is_empty()));
    assert_eq!(held.iter().map(BTreeMap::len).sum::<usize>() as u64, TRACES);
    assert!(held.iter().flat_map(BTreeMap::values).all(|(_, spans)| spans.len() as u64 == SPANS));
}
