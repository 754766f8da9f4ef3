//! A store in a local folder whose disk fills up, whose folders disappear, and whose files change while it is
//! served.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use spanwise::error::{Error, Result};
use spanwise::otlp::TraceId;
use spanwise::storage::objects::Objects;
use spanwise::storage::{LocalFolder, Options, TraceStore};
use tempfile::TempDir;

use crate::support::contents::{address, contents, open};
use crate::support::files::newest;
use crate::support::layer::{Intercept, Layer};
use crate::support::spans::{request, span};

/// A disk whose free space in bytes is set by the test.
#[derive(Debug)]
struct FreeSpace(Arc<AtomicU64>);

impl Intercept for FreeSpace {
    fn free_bytes(&self, _: &dyn Objects) -> Result<Option<u64>> {
        Ok(Some(self.0.load(Ordering::Relaxed)))
    }
}

#[test]
fn a_full_disk_rejects_spans_until_there_is_space() {
    let folder = TempDir::new().expect("a folder");
    let free = Arc::new(AtomicU64::new(1_000));
    let local = LocalFolder::open_or_create(folder.path()).expect("a folder");
    let options = Options { min_free_bytes: 1_000, ..Options::default() };
    let objects = Layer { intercept: FreeSpace(free.clone()), inner: local };
    let store = TraceStore::open_in(Arc::new(objects), options).expect("a store");
    store.ingest(request(&[span(1, 1, 0)])).expect("exactly enough is free");
    free.store(999, Ordering::Relaxed);
    for _ in 0..2 {
        let Err(Error::Busy(message)) = store.ingest(request(&[span(2, 1, 0)])) else {
            panic!("expected a rejection");
        };
        assert_eq!(message, "the disk has 999 bytes free, expected at least 1000");
    }
    store.flush().expect("a flush is still possible");
    assert_eq!(contents(&store.snapshot()).len(), 1);
    assert!(store.stats().is_acknowledging);
    free.store(1_000, Ordering::Relaxed);
    store.ingest(request(&[span(2, 1, 0)])).expect("recovers by itself");
}

#[test]
fn a_local_folder_reports_the_free_space_of_its_disk() {
    let folder = TempDir::new().expect("a folder");
    let objects = LocalFolder::open_or_create(folder.path()).expect("a folder");
    assert!(objects.free_bytes().expect("a count").is_some_and(|free| free > 0));
    let store = |min_free_bytes| {
        let options = Options { min_free_bytes, ..Options::default() };
        TraceStore::open(address(&folder), options).expect("a store")
    };
    assert!(matches!(store(u64::MAX).ingest(request(&[span(1, 1, 0)])), Err(Error::Busy(_))));
    store(0).ingest(request(&[span(1, 1, 0)])).expect("zero never rejects");
}

#[test]
fn after_the_wal_folder_disappears_nothing_is_acknowledged_and_the_folder_is_not_recreated() {
    for change in ["moved", "removed", "replaced"] {
        let folder = TempDir::new().expect("a folder");
        let store = open(&folder);
        store.ingest(request(&[span(1, 1, 0)])).expect("ingested");
        let held = contents(&store.snapshot());
        let (wal, elsewhere) = (folder.path().join("wal"), folder.path().join("elsewhere"));
        if change == "removed" {
            fs::remove_dir_all(&wal).expect("removed");
        } else {
            fs::rename(&wal, &elsewhere).expect("moved");
        }
        if change == "replaced" {
            fs::create_dir(&wal).expect("a folder");
        }
        for _ in 0..2 {
            assert!(matches!(store.ingest(request(&[span(2, 1, 0)])), Err(Error::Stopped(_))), "{change}");
        }
        let stats = store.stats();
        assert!(!stats.is_acknowledging);
        assert!(
            stats.stopped.is_some_and(|reason| reason.contains("`wal`: the folder was moved or removed"))
        );
        assert_eq!(contents(&store.snapshot()), held, "searches continue");
        assert_eq!(wal.exists(), change == "replaced", "the folder is not recreated");
        drop(store);
        if change == "removed" {
            continue;
        }
        let _replaced = fs::remove_dir(&wal);
        fs::rename(&elsewhere, &wal).expect("moved back");
        assert_eq!(contents(&open(&folder).snapshot()), held);
    }
}

#[test]
fn after_the_segments_folder_disappears_a_flush_fails_and_nothing_is_lost() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    store.ingest(request(&[span(1, 1, 0)])).expect("ingested");
    store.flush().expect("flushed");
    store.ingest(request(&[span(2, 1, 0)])).expect("ingested");
    let held = contents(&store.snapshot());
    let (segments, elsewhere) = (folder.path().join("segments"), folder.path().join("elsewhere"));
    fs::rename(&segments, &elsewhere).expect("moved");
    assert!(store.flush().is_err());
    assert_eq!(contents(&store.snapshot()), held, "open files stay open");
    fs::rename(&elsewhere, &segments).expect("moved back");
    store.flush().expect("the flush is retried");
    drop(store);
    assert_eq!(contents(&open(&folder).snapshot()), held);
}

#[test]
fn changing_a_segment_of_a_served_store_damages_only_its_traces() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    for trace in 1..=2 {
        store.ingest(request(&[span(trace, 1, 0)])).expect("ingested");
        store.flush().expect("flushed");
    }
    let documents = newest(&folder, "segments").join("spans.otlp.zst");
    let sound = fs::read(&documents).expect("documents");
    let trace_id = |trace| -> TraceId { request(&[span(trace, 1, 0)]).spans[0].trace_id };
    let read = |trace| {
        let snapshot = store.snapshot();
        let (part, row) = snapshot.find(trace_id(trace)).expect("a row");
        snapshot.parts()[part].trace(row)
    };
    for damaged in [&sound[..sound.len() / 2], &[], &vec![0; sound.len()]] {
        fs::write(&documents, damaged).expect("written");
        assert!(matches!(read(2), Err(Error::Damage { .. })));
        read(1).expect("other segments are readable");
    }
    fs::write(&documents, &sound).expect("written");
    fs::remove_dir_all(documents.parent().expect("a folder")).expect("removed");
    read(2).expect("an open file stays readable");
    store.ingest(request(&[span(3, 1, 0)])).expect("the store continues");
}

#[test]
fn a_read_only_folder_cannot_be_opened_and_rejects_spans_until_it_is_writable() {
    let folder = TempDir::new().expect("a folder");
    let root = folder.path().join("store");
    fs::create_dir(&root).expect("a folder");
    let url = root.to_str().expect("UTF-8");
    let mount = |arguments: &[&str]| {
        let done = Command::new("mount").args(arguments).arg(url).output();
        done.is_ok_and(|done| done.status.success())
    };
    // Runs only where mounting is permitted.
    if !mount(&["--bind", url]) {
        return;
    }
    let store = TraceStore::open(url, Options::default()).expect("a store");
    store.ingest(request(&[span(1, 1, 0)])).expect("ingested");
    let is_read_only = mount(&["-o", "remount,ro,bind"]);
    if is_read_only {
        for _ in 0..2 {
            let rejected = store.ingest(request(&[span(2, 1, 0)]));
            assert!(matches!(rejected, Err(Error::Busy(_))), "{rejected:?}");
        }
        assert_eq!(contents(&store.snapshot()).len(), 1, "searches continue");
        drop(store);
        let rejected = TraceStore::open(url, Options::default());
        assert!(matches!(rejected, Err(Error::Options(_))), "{rejected:?}");
        assert!(mount(&["-o", "remount,rw,bind"]));
        let store = TraceStore::open(url, Options::default()).expect("writable again");
        store.ingest(request(&[span(2, 1, 0)])).expect("ingested");
        assert_eq!(contents(&store.snapshot()).len(), 2);
    }
    assert!(Command::new("umount").args(["--lazy", url]).status().expect("umount").success());
}

#[test]
fn only_the_owner_may_read_a_store() {
    let parent = TempDir::new().expect("a folder");
    let root = parent.path().join("store");
    let store = TraceStore::open(root.to_str().expect("UTF-8"), Options::default()).expect("a store");
    store.ingest(request(&[span(1, 1, 0)])).expect("ingested");
    store.flush().expect("flushed");
    store.ingest(request(&[span(1, 2, 0)])).expect("ingested");
    assert_private(&root);
}

fn assert_private(path: &Path) {
    let metadata = fs::metadata(path).expect("metadata");
    let mode = metadata.permissions().mode() & 0o777;
    assert_eq!(mode, if metadata.is_dir() { 0o700 } else { 0o600 }, "`{}`", path.display());
    if metadata.is_dir() {
        for entry in fs::read_dir(path).expect("a folder") {
            assert_private(&entry.expect("an entry").path());
        }
    }
}
