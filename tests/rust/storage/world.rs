//! What the world does to a store at work: folders go, disks fill, files change under it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use spanwise::error::{Error, Result};
use spanwise::otlp::TraceId;
use spanwise::storage::objects::{ListedObject, ObjectReader, ObjectWriter, Objects, PutError, PutPayload};
use spanwise::storage::{LocalFolder, Options, TraceStore};
use tempfile::TempDir;

use super::contents::{address, contents, open};
use super::damage::newest;
use crate::spans::{export, span};

/// A folder on a disk of which the test says how much is free.
#[derive(Debug)]
struct OnDisk {
    folder: LocalFolder,
    free: Arc<AtomicU64>,
}

impl Objects for OnDisk {
    fn put_new(&self, path: &str, content: PutPayload) -> std::result::Result<(), PutError> {
        self.folder.put_new(path, content)
    }

    fn get(&self, path: &str) -> Result<Option<Bytes>> {
        self.folder.get(path)
    }

    fn list(&self, folder: &str) -> Result<Vec<ListedObject>> {
        self.folder.list(folder)
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.folder.delete(path)
    }

    fn create(&self, path: &str) -> Result<Box<dyn ObjectWriter>> {
        self.folder.create(path)
    }

    fn open(&self, path: &str) -> Result<Arc<dyn ObjectReader>> {
        self.folder.open(path)
    }

    fn free_bytes(&self) -> Result<Option<u64>> {
        Ok(Some(self.free.load(Ordering::Relaxed)))
    }
}

#[test]
fn a_disk_with_too_little_free_refuses_spans_until_there_is_more() {
    let folder = TempDir::new().expect("a folder");
    let free = Arc::new(AtomicU64::new(1_000));
    let local = LocalFolder::open_or_create(folder.path()).expect("a folder");
    let options = Options { min_free_bytes: 1_000, ..Options::default() };
    let store = TraceStore::open_in(Arc::new(OnDisk { folder: local, free: free.clone() }), options);
    let store = store.expect("a store");
    store.ingest(export(&[span(1, 1, 0)])).expect("exactly enough is free");
    free.store(999, Ordering::Relaxed);
    for _ in 0..2 {
        let Err(Error::Busy(message)) = store.ingest(export(&[span(2, 1, 0)])) else {
            panic!("expected a refusal");
        };
        assert_eq!(message, "the disk has 999 bytes free, expected at least 1000");
    }
    store.flush().expect("what is there is sealed all the same");
    assert_eq!(contents(&store.snapshot()).len(), 1);
    assert!(store.stats().is_acknowledging);
    free.store(1_000, Ordering::Relaxed);
    store.ingest(export(&[span(2, 1, 0)])).expect("it recovers by itself");
}

#[test]
fn a_local_folder_knows_what_its_disk_has_free() {
    let folder = TempDir::new().expect("a folder");
    let objects = LocalFolder::open_or_create(folder.path()).expect("a folder");
    assert!(objects.free_bytes().expect("a count").is_some_and(|free| free > 0));
    let store = |min_free_bytes| {
        let options = Options { min_free_bytes, ..Options::default() };
        TraceStore::open(address(&folder), options).expect("a store")
    };
    assert!(matches!(store(u64::MAX).ingest(export(&[span(1, 1, 0)])), Err(Error::Busy(_))));
    store(0).ingest(export(&[span(1, 1, 0)])).expect("zero never refuses");
}

#[test]
fn a_write_ahead_folder_that_goes_is_not_made_anew_and_nothing_more_is_acknowledged() {
    for what_happens in ["moved", "removed", "replaced"] {
        let folder = TempDir::new().expect("a folder");
        let store = open(&folder);
        store.ingest(export(&[span(1, 1, 0)])).expect("ingested");
        let held = contents(&store.snapshot());
        let (wal, elsewhere) = (folder.path().join("wal"), folder.path().join("elsewhere"));
        if what_happens == "removed" {
            fs::remove_dir_all(&wal).expect("removed");
        } else {
            fs::rename(&wal, &elsewhere).expect("moved");
        }
        if what_happens == "replaced" {
            fs::create_dir(&wal).expect("a folder");
        }
        for _ in 0..2 {
            assert!(
                matches!(store.ingest(export(&[span(2, 1, 0)])), Err(Error::Stopped(_))),
                "{what_happens}"
            );
        }
        let stats = store.stats();
        assert!(!stats.is_acknowledging);
        assert!(
            stats.stopped.is_some_and(|reason| reason.contains("`wal`: the folder was moved or removed"))
        );
        assert_eq!(contents(&store.snapshot()), held, "searches go on");
        assert_eq!(wal.exists(), what_happens == "replaced", "the folder was not made anew");
        drop(store);
        if what_happens == "removed" {
            continue;
        }
        let _replaced = fs::remove_dir(&wal);
        fs::rename(&elsewhere, &wal).expect("moved back");
        assert_eq!(contents(&open(&folder).snapshot()), held);
    }
}

#[test]
fn a_segments_folder_that_goes_fails_the_seal_and_loses_nothing() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    store.ingest(export(&[span(1, 1, 0)])).expect("ingested");
    store.flush().expect("flushed");
    store.ingest(export(&[span(2, 1, 0)])).expect("ingested");
    let held = contents(&store.snapshot());
    let (segments, elsewhere) = (folder.path().join("segments"), folder.path().join("elsewhere"));
    fs::rename(&segments, &elsewhere).expect("moved");
    assert!(store.flush().is_err());
    assert_eq!(contents(&store.snapshot()), held, "open files stay open");
    fs::rename(&elsewhere, &segments).expect("moved back");
    store.flush().expect("the seal is tried again");
    drop(store);
    assert_eq!(contents(&open(&folder).snapshot()), held);
}

#[test]
fn a_segment_that_changes_under_a_served_store_is_damage_of_its_traces_alone() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    for trace in 1..=2 {
        store.ingest(export(&[span(trace, 1, 0)])).expect("ingested");
        store.flush().expect("flushed");
    }
    let documents = newest(&folder, "segments").join("spans.otlp.zst");
    let sound = fs::read(&documents).expect("documents");
    let trace_id = |trace| -> TraceId { export(&[span(trace, 1, 0)]).spans[0].trace_id };
    let read = |trace| {
        let snapshot = store.snapshot();
        let (place, row) = snapshot.find(trace_id(trace)).expect("a place");
        snapshot.parts()[place].trace(row)
    };
    for damaged in [&sound[..sound.len() / 2], &[], &vec![0; sound.len()]] {
        fs::write(&documents, damaged).expect("written");
        assert!(matches!(read(2), Err(Error::Damage { .. })));
        read(1).expect("other segments answer");
    }
    fs::write(&documents, &sound).expect("written");
    fs::remove_dir_all(documents.parent().expect("a folder")).expect("removed");
    read(2).expect("an open file stays readable");
    store.ingest(export(&[span(3, 1, 0)])).expect("the store goes on");
}

#[test]
fn a_second_store_is_refused_by_whatever_path_it_comes() {
    let folder = TempDir::new().expect("a folder");
    let root = folder.path().join("store");
    let url = root.to_str().expect("UTF-8");
    let first = TraceStore::open(url, Options::default()).expect("a store");
    let refused = |url: &Path| {
        let second = TraceStore::open(url.to_str().expect("UTF-8"), Options::default());
        assert!(matches!(second, Err(Error::Locked(_))), "`{}`: {second:?}", url.display());
    };
    refused(&root);
    let link = folder.path().join("link");
    symlink(&root, &link).expect("a link");
    refused(&link);
    refused(&link.join("..").join("store").join("."));
    fs::remove_file(root.join("LOCK")).expect("removed");
    refused(&root);
    refused(&link);
    fs::write(root.join("LOCK"), "process 1\n").expect("written");
    refused(&root);
    let mounted = folder.path().join("mounted");
    fs::create_dir(&mounted).expect("a folder");
    // Only where mounting is permitted.
    if Command::new("mount")
        .arg("--bind")
        .args([&root, &mounted])
        .output()
        .is_ok_and(|done| done.status.success())
    {
        refused(&mounted);
        assert!(Command::new("umount").arg(&mounted).status().expect("umount").success());
    }
    first.ingest(export(&[span(1, 1, 0)])).expect("the first was not disturbed");
    drop(first);
    let second = TraceStore::open(url, Options::default()).expect("the lock went with its holder");
    assert_eq!(contents(&second.snapshot()).len(), 1);
}

#[test]
fn a_read_only_folder_refuses_to_open_and_refuses_spans_until_it_can_be_written() {
    let folder = TempDir::new().expect("a folder");
    let root = folder.path().join("store");
    fs::create_dir(&root).expect("a folder");
    let url = root.to_str().expect("UTF-8");
    let mount = |arguments: &[&str]| {
        let done = Command::new("mount").args(arguments).arg(url).output();
        done.is_ok_and(|done| done.status.success())
    };
    // Only where mounting is permitted.
    if !mount(&["--bind", url]) {
        return;
    }
    let store = TraceStore::open(url, Options::default()).expect("a store");
    store.ingest(export(&[span(1, 1, 0)])).expect("ingested");
    let can_be_sealed_off = mount(&["-o", "remount,ro,bind"]);
    if can_be_sealed_off {
        for _ in 0..2 {
            let refused = store.ingest(export(&[span(2, 1, 0)]));
            assert!(matches!(refused, Err(Error::Busy(_))), "{refused:?}");
        }
        assert_eq!(contents(&store.snapshot()).len(), 1, "searches go on");
        drop(store);
        let refused = TraceStore::open(url, Options::default());
        assert!(matches!(refused, Err(Error::Options(_))), "{refused:?}");
        assert!(mount(&["-o", "remount,rw,bind"]));
        let store = TraceStore::open(url, Options::default()).expect("it can be written again");
        store.ingest(export(&[span(2, 1, 0)])).expect("ingested");
        assert_eq!(contents(&store.snapshot()).len(), 2);
    }
    assert!(Command::new("umount").args(["--lazy", url]).status().expect("umount").success());
}
