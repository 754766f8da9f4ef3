//! The limits of a trace and of the head.

use std::time::{Duration, Instant};

use spanwise::error::Error;
use spanwise::storage::{Options, TraceStore};
use spanwise::trace::MAX_SPANS;
use tempfile::TempDir;

use crate::support::contents::{address, contents, open};
use crate::support::spans::{request, span};

#[test]
fn spans_over_the_limit_of_a_trace_are_rejected_and_counted() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    let max = u64::try_from(MAX_SPANS).expect("a count");
    let spans: Vec<_> = (1..=max + 2).map(|id| span(1, id, 0)).chain([span(2, 1, 0)]).collect();
    let ingested = store.ingest(request(&spans)).expect("ingested");
    assert_eq!((ingested.accepted, ingested.rejected), (max + 1, 2));
    assert_eq!(ingested.reason, format!("trace {:016x}{:016x} has 100000 spans already", 1, 1));
    let again = store.ingest(request(&[span(1, 1, 0), span(1, max + 3, 0)])).expect("ingested");
    assert_eq!((again.accepted, again.rejected), (1, 1), "a copy of a stored span is accepted");
    let before = contents(&store.snapshot());
    store.close().expect("closed");
    assert_eq!(contents(&open(&folder).snapshot()), before);
}

#[test]
fn a_store_that_cannot_flush_fast_enough_is_busy_until_it_has() {
    for (max_unsealed_bytes, max_head_bytes) in [(0, 1 << 30), (1 << 30, 0)] {
        assert_busy_until_flushed(Options { max_unsealed_bytes, max_head_bytes, ..Options::default() });
    }
}

#[test]
fn a_growing_trace_is_counted_once_and_a_generation_is_cut_by_its_memory() {
    let folder = TempDir::new().expect("a folder");
    let options = Options { max_head_bytes: 1 << 20, ..Options::default() };
    let store = TraceStore::open(address(&folder), options).expect("a store");
    let grow = |traces: u64| {
        for id in 1..=40 {
            let spans: Vec<_> = (1..=traces).map(|trace| span(trace, id, 0)).collect();
            store.ingest(request(&spans)).expect("ingested");
        }
    };
    store.ingest(request(&[span(1, 1, 0)])).expect("ingested");
    store.flush().expect("flushed");
    let before = store.stats().wal_checkpoint;
    grow(1);
    assert_eq!((store.stats().generations, store.stats().wal_checkpoint), (1, before));
    grow(40);
    let deadline = Instant::now() + Duration::from_secs(30);
    while store.stats().wal_checkpoint == before {
        assert!(Instant::now() < deadline, "nothing was cut: {:?}", store.stats());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn assert_busy_until_flushed(options: Options) {
    let folder = TempDir::new().expect("a folder");
    let store = TraceStore::open(address(&folder), options).expect("a store");
    // The fence of the opening is flushed immediately. Everything accepted after it exceeds the limit.
    let mut accepted = 0;
    for id in 1..=20 {
        loop {
            match store.ingest(request(&[span(id, 1, 0)])) {
                Ok(_) => break accepted += 1,
                Err(Error::Busy(message)) => assert!(message.contains("wait to be flushed"), "{message}"),
                Err(error) => panic!("{error}"),
            }
        }
    }
    assert_eq!(contents(&store.snapshot()).len(), accepted);
}
