//! Followers before, between and after writers.

use std::sync::Arc;
use std::time::Duration;

use spanwise::error::Error;
use spanwise::storage::objects::Objects as _;
use spanwise::storage::{Options, TraceStore};
use tempfile::TempDir;

use crate::support::contents::{address, contents, id_of, open, traces_in};
use crate::support::memory::Memory;
use crate::support::spans::{request, span, with};
use crate::support::wait_until;

fn quick() -> Options {
    Options { follow_milliseconds: 5, ..Options::default() }
}

/// A reader that polls only on request.
fn asked() -> Options {
    Options { follow_milliseconds: 3_600_000, ..Options::default() }
}

#[test]
fn a_reader_waits_for_the_store() {
    let root = TempDir::new().expect("a folder");
    let store = root.path().join("later");
    let url = store.to_str().expect("UTF-8");
    let reader = TraceStore::follow(url, quick()).expect("a reader");
    assert!(matches!(reader.present(), Err(Error::Busy(reason)) if reason.contains("there is no store yet")));
    assert_eq!(reader.as_of(), None);
    assert!(!store.exists(), "a reader creates nothing");
    let writer = TraceStore::open(url, Options::default()).expect("a store");
    wait_until(|| reader.present().is_ok_and(|snapshot| contents(&snapshot).is_empty()));
    writer.ingest(request(&[span(1, 1, 0)])).expect("ingested");
    wait_until(|| contents(&reader.snapshot()).contains_key(&id_of(1)));
    assert!(reader.stats().following_error.is_none());
}

#[test]
fn a_reader_goes_on_without_a_writer_and_follows_the_next_one() {
    let memory = Arc::new(Memory::default());
    let first = TraceStore::open_in(memory.clone(), Options::default()).expect("a store");
    first.ingest(request(&[span(1, 1, 0)])).expect("ingested");
    let reader = TraceStore::follow_in(memory.clone(), quick()).expect("a reader");
    assert_eq!(contents(&reader.present().expect("a state")).len(), 1);
    // The first writer is not closed but replaced.
    let second = TraceStore::open_in(memory, Options::default()).expect("a store");
    second.ingest(request(&[span(2, 1, 0)])).expect("ingested");
    second.delete(&traces_in(&[1]), false).expect("deleted");
    reader.refresh().expect("refreshed");
    assert_eq!(contents(&reader.snapshot()).keys().copied().collect::<Vec<_>>(), [id_of(2)]);
    second.close().expect("closed");
    let before = reader.as_of().expect("a time");
    wait_until(|| reader.as_of() > Some(before));
    assert!(reader.lag() < Duration::from_secs(30));
}

#[test]
fn a_reader_of_a_store_that_was_removed_says_so_and_its_lag_grows() {
    let memory = Memory::default();
    let writer = TraceStore::open_in(Arc::new(memory.clone()), Options::default()).expect("a store");
    writer.ingest(request(&[span(1, 1, 0)])).expect("ingested");
    let reader = TraceStore::follow_in(Arc::new(memory.clone()), quick()).expect("a reader");
    memory.paths("", "").iter().for_each(|path| memory.delete(path).expect("removed"));
    wait_until(|| reader.stats().following_error.is_some_and(|error| error.contains("was removed")));
    let as_of = reader.as_of();
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(reader.as_of(), as_of);
    assert_eq!(contents(&reader.present().expect("what it knows")).len(), 1);
}

#[test]
fn a_cache_belongs_to_one_reader() {
    let (folder, cache) = (TempDir::new().expect("a folder"), TempDir::new().expect("a folder"));
    let writer = open(&folder);
    writer.ingest(request(&[with(span(1, 1, 0), "input.value", "hello")])).expect("ingested");
    writer.flush().expect("flushed");
    let options = Options { cache_dir: Some(cache.path().to_owned()), ..quick() };
    let reader = TraceStore::follow(address(&folder), options.clone()).expect("a reader");
    let Err(Error::Locked(error)) = TraceStore::follow(address(&folder), options) else {
        panic!("two readers use one cache");
    };
    assert!(error.contains("each reader needs a folder of its own"), "{error}");
    wait_until(|| reader.stats().segments_without_texts == 0);
    assert!(cache.path().join("indexes").read_dir().expect("a folder").next().is_some());
}

#[test]
fn a_reader_without_a_cache_takes_the_indexes_that_the_writer_makes() {
    let folder = TempDir::new().expect("a folder");
    let writer = TraceStore::open(address(&folder), Options { indexes: Vec::new(), ..Options::default() })
        .expect("a store");
    writer.ingest(request(&[span(1, 1, 0)])).expect("ingested");
    writer.flush().expect("flushed");
    let reader = TraceStore::follow(address(&folder), quick()).expect("a reader");
    assert_eq!((reader.stats().segments, reader.stats().segments_without_spans), (1, 1));
    writer.close().expect("closed");
    let writer = open(&folder);
    writer.index().expect("indexed");
    wait_until(|| reader.stats().segments_without_spans == 0);
}

#[test]
fn a_reader_knows_what_requests_change_and_what_it_missed() {
    let memory = Arc::new(Memory::default());
    let writer = TraceStore::open_in(memory.clone(), Options::default()).expect("a store");
    let reader = TraceStore::follow_in(memory, asked()).expect("a reader");
    for trace in [1, 2] {
        writer.ingest(request(&[span(trace, 1, 0)])).expect("ingested");
    }
    reader.refresh().expect("refreshed");
    let position = reader.snapshot().changes();
    let (first, mut changed) = reader.changes().between(0, position);
    // Changes within one step have no order.
    changed.sort();
    assert_eq!((first, changed), (0, vec![id_of(1), id_of(2)]));
    writer.ingest(request(&[span(3, 1, 0)])).expect("ingested");
    writer.flush().expect("flushed");
    reader.refresh().expect("refreshed");
    // The log object was deleted before the reader polled.
    let (first, changed) = reader.changes().between(position, reader.snapshot().changes());
    assert!(first > position && changed.is_empty());
    assert_eq!(contents(&reader.snapshot()).len(), 3);
}

#[test]
fn what_lingers_is_seen_by_a_reader_that_is_late() {
    let memory = Arc::new(Memory::default());
    let options = Options { linger_seconds: Some(60), ..Options::default() };
    let writer = TraceStore::open_in(memory.clone(), options).expect("a store");
    let reader = TraceStore::follow_in(memory, asked()).expect("a reader");
    writer.ingest(request(&[span(3, 1, 0)])).expect("ingested");
    writer.flush().expect("flushed");
    reader.refresh().expect("refreshed");
    assert_eq!(reader.changes().between(0, reader.snapshot().changes()), (0, vec![id_of(3)]));
}
