//! One writer: whoever claims a store makes the writer before stop, and nothing acknowledged is lost.

use std::sync::Arc;

use spanwise::error::Error;
use spanwise::storage::{Folder, Options, TraceStore};
use tempfile::TempDir;

use super::contents::contents;
use crate::spans::{export, span};

/// Opens the store without its lock, as a second machine over one object store would.
fn claim(folder: &TempDir) -> TraceStore {
    let objects = Folder::prepared(folder.path()).expect("a folder");
    TraceStore::open_in(Arc::new(objects), Options::default()).expect("a store that opens")
}

#[test]
fn a_writer_that_was_replaced_stops_and_searches_go_on() {
    for seals_first in [false, true] {
        let folder = TempDir::new().expect("a folder");
        let first = claim(&folder);
        first.ingest(export(&[span(1, 1, 0)])).expect("ingested");
        let second = claim(&folder);
        second.ingest(export(&[span(2, 1, 0)])).expect("ingested");
        if seals_first {
            second.flush().expect("the write-ahead objects are gone, but not the fence");
            second.ingest(export(&[span(3, 1, 0)])).expect("ingested");
        }
        assert!(matches!(first.ingest(export(&[span(4, 1, 0)])), Err(Error::Stopped(_))));
        assert!(matches!(first.ingest(export(&[span(4, 1, 0)])), Err(Error::Stopped(_))));
        assert!(matches!(first.flush(), Err(Error::Stopped(_))));
        let stats = first.stats();
        assert!(!stats.is_acknowledging);
        assert!(stats.stopped.is_some_and(|reason| reason.contains("another writer holds the store")));
        assert_eq!(contents(&first.snapshot()).len(), 1);
        second.ingest(export(&[span(1, 2, 0)])).expect("ingested");
        let before = contents(&second.snapshot());
        assert_eq!(before.len(), 2 + usize::from(seals_first));
        drop((first, second));
        assert_eq!(contents(&claim(&folder).snapshot()), before);
    }
}

#[test]
fn a_writer_that_was_replaced_cannot_seal() {
    let folder = TempDir::new().expect("a folder");
    let first = claim(&folder);
    first.ingest(export(&[span(1, 1, 0)])).expect("ingested");
    let second = claim(&folder);
    assert!(matches!(first.flush(), Err(Error::Stopped(_))));
    second.flush().expect("flushed");
    assert_eq!(contents(&second.snapshot()).len(), 1);
    drop((first, second));
    assert_eq!(contents(&claim(&folder).snapshot()).len(), 1);
}
