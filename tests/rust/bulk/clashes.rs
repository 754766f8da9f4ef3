//! Imports into a busy store: segments that change between the preparation and the commit are merged again.

use std::sync::atomic::{AtomicBool, Ordering};

use spanwise::bulk::{ImportOptions, import};
use spanwise::storage::{Options, TraceStore};
use tempfile::TempDir;

use super::batch;
use crate::support::contents::{address, contents, crashed, id_of, open};
use crate::support::spans::{request, span};

#[test]
fn concurrent_ingest_seals_and_merges_lose_and_duplicate_nothing() {
    const TRACES: u64 = 40;
    let folder = TempDir::new().expect("a folder");
    let options = Options { seal_objects: 3, max_segments: 4, ..Options::default() };
    let store = TraceStore::open(address(&folder), options).expect("a store");
    let is_over = AtomicBool::new(false);
    let rounds = std::thread::scope(|scope| {
        let sending = scope.spawn(|| {
            let mut rounds = 0;
            while !is_over.load(Ordering::SeqCst) {
                rounds += 1;
                let spans: Vec<_> = (1..=TRACES).map(|trace| span(trace, 1_000 + rounds, 0)).collect();
                store.ingest(request(&spans)).expect("ingested");
                store.compact(false).expect("compacted");
            }
            rounds
        });
        for id in 1..=20 {
            let spans: Vec<_> = (1..=TRACES).map(|trace| span(trace, id, 0)).collect();
            let report =
                import(&store, [Ok(batch(&spans, 0))].into_iter(), &ImportOptions::of("")).expect("imported");
            assert_eq!(report.accepted, TRACES);
        }
        is_over.store(true, Ordering::SeqCst);
        sending.join().expect("it sent")
    });
    let held = contents(&store.snapshot());
    assert_eq!(held.len() as u64, TRACES);
    assert_eq!(held[&id_of(1)].1.len() as u64, 20 + rounds);
    assert!(held.values().all(|(created_at, spans)| *created_at == 0 && spans.len() as u64 == 20 + rounds));
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), held);
}
