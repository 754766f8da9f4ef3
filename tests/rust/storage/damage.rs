//! Damage is named; a store is never silently smaller than it was.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use spanwise::error::Error;
use spanwise::storage::{Options, TraceStore};
use tempfile::TempDir;

use super::contents::{Contents, address, contents, open};
use crate::spans::{export, span};

/// Returns a closed store with two segments, one with hidden rows, and write-ahead.
pub(super) fn closed_store() -> (TempDir, Contents) {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    for spans in [[(1, 1), (4, 1)], [(2, 1), (5, 1)], [(1, 2), (6, 1)]] {
        store.ingest(export(&spans.map(|(trace, id)| span(trace, id, 0)))).expect("ingested");
        store.flush().expect("flushed");
    }
    store.ingest(export(&[span(3, 1, 0)])).expect("ingested");
    store.ingest(export(&[span(2, 2, 0)])).expect("ingested");
    let held = contents(&store.snapshot());
    store.close().expect("closed");
    (folder, held)
}

/// Returns every file of a store but its lock and its cache, with its content.
pub(super) fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.ends_with("cache") {
            continue;
        }
        if path.is_dir() {
            found.extend(files(&path));
        } else if !path.ends_with("LOCK") {
            found.insert(path.clone(), fs::read(&path).expect("a file"));
        }
    }
    found
}

/// Puts a store back as it was.
pub(super) fn restore(folder: &Path, wanted: &BTreeMap<PathBuf, Vec<u8>>) {
    for path in files(folder).keys().filter(|path| !wanted.contains_key(*path)) {
        fs::remove_file(path).expect("removed");
    }
    for (path, content) in wanted {
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, content).expect("written");
    }
}

/// Returns the newest object of a folder of the store.
pub(super) fn newest(folder: &TempDir, within: &str) -> PathBuf {
    let entries = fs::read_dir(folder.path().join(within)).expect("a folder");
    entries.map(|entry| entry.expect("an entry").path()).max().expect("an object")
}

/// Opens a store and reads everything, which may both find damage.
fn read_everything(folder: &TempDir) -> Result<(), Error> {
    let store = TraceStore::open(address(folder), Options::default())?;
    for part in store.snapshot().parts() {
        (0..part.batch()?.num_rows()).try_for_each(|row| part.trace(row).map(drop))?;
    }
    Ok(())
}

/// Asserts that both opening and checking name the object.
fn assert_named(folder: &TempDir, path: &Path) {
    let object = path.strip_prefix(folder.path()).expect("inside").to_string_lossy().into_owned();
    for found in [TraceStore::check(address(folder)).map(drop), read_everything(folder)] {
        match found {
            Err(Error::Damage { object: named, .. }) => assert_eq!(named, object),
            other => panic!("expected damage of `{object}`, got {other:?}"),
        }
    }
}

/// The folder of manifests is left out: what its newest object says is needed to find the others.
fn objects_of_truth(wanted: &BTreeMap<PathBuf, Vec<u8>>) -> impl Iterator<Item = (&PathBuf, &Vec<u8>)> {
    wanted.iter().filter(|(path, content)| {
        let is_live_wal = path.extension().is_none_or(|kind| kind != "wal") || content.len() > 56;
        is_live_wal && path.extension().is_none_or(|kind| kind != "json")
    })
}

#[test]
fn a_missing_or_truncated_object_is_named() {
    let (folder, _) = closed_store();
    let wanted = files(folder.path());
    let mut seen = 0;
    // The last write-ahead object is the one whose loss nothing can tell.
    let last = newest(&folder, "wal");
    for (path, content) in objects_of_truth(&wanted) {
        if *path != last {
            fs::remove_file(path).expect("removed");
            assert_named(&folder, path);
            restore(folder.path(), &wanted);
        }
        fs::write(path, &content[..content.len() - 1]).expect("written");
        assert_named(&folder, path);
        restore(folder.path(), &wanted);
        seen += 1;
    }
    assert_eq!(seen, 3 * 2 + 1 + 2, "three segments, a set of hidden rows, two write-ahead objects");
}

#[test]
fn a_flipped_bit_is_named() {
    let (folder, _) = closed_store();
    let wanted = files(folder.path());
    for (path, content) in objects_of_truth(&wanted) {
        let is_wal = path.extension().is_some_and(|kind| kind == "wal");
        // Every byte of the write-ahead, a sample of the others.
        for place in (0..content.len()).step_by(if is_wal { 7 } else { content.len() / 5 }) {
            let mut damaged = content.clone();
            damaged[place] ^= 1 << (place % 8);
            fs::write(path, damaged).expect("written");
            assert_named(&folder, path);
            restore(folder.path(), &wanted);
        }
    }
}

#[test]
fn a_damaged_manifest_is_refused() {
    let (folder, _) = closed_store();
    let wanted = files(folder.path());
    let path = newest(&folder, "manifest");
    let content = &wanted[&path];
    for place in (0..content.len() - 1).step_by(5) {
        let mut damaged = content.clone();
        damaged[place] ^= 1;
        fs::write(&path, damaged).expect("written");
        for found in [TraceStore::check(address(&folder)).map(drop), read_everything(&folder)] {
            assert!(
                matches!(found, Err(Error::Damage { .. } | Error::Options(_))),
                "byte {place}: {found:?}"
            );
        }
        restore(folder.path(), &wanted);
    }
}

#[test]
fn a_store_without_its_manifests_is_not_an_empty_store() {
    let (folder, _) = closed_store();
    for path in files(&folder.path().join("manifest")).keys() {
        fs::remove_file(path).expect("removed");
    }
    let opened = TraceStore::open(address(&folder), Options::default());
    assert!(matches!(opened, Err(Error::Damage { .. })));
}

#[test]
fn opening_removes_what_no_manifest_names() {
    let (folder, held) = closed_store();
    let strays = ["segments/01ARZ3NDEKTSV4RRFFQ69G5FAV/traces.parquet", "wal/stray", "manifest/x.json#1"];
    for stray in strays {
        let path = folder.path().join(stray);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, "stray").expect("written");
    }
    let store = open(&folder);
    assert_eq!(contents(&store.snapshot()), held);
    for stray in strays {
        assert!(!folder.path().join(stray).exists(), "`{stray}` is still there");
    }
    assert!(!folder.path().join("segments/01ARZ3NDEKTSV4RRFFQ69G5FAV").exists());
}

#[test]
fn late_spans_of_an_unreadable_trace_are_refused_and_the_store_goes_on() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    store.ingest(export(&[span(1, 1, 0), span(2, 1, 0)])).expect("ingested");
    store.flush().expect("flushed");
    let documents = newest(&folder, "segments").join("spans.otlp.zst");
    let sound = fs::read(&documents).expect("a file");
    let place = store.snapshot().find(export(&[span(1, 1, 0)]).spans[0].trace_id).expect("a place").1;
    let mut damaged = sound.clone();
    // Documents stand in the order of their rows, and these two are equally long.
    damaged[place * sound.len() / 2 + 20] ^= 1;
    fs::write(&documents, damaged).expect("written");
    let before = store.stats();
    let refused = store.ingest(export(&[span(1, 2, 0), span(3, 1, 0)]));
    assert!(matches!(refused, Err(Error::Damage { .. })), "{refused:?}");
    assert_eq!(store.stats(), before, "nothing was written");
    store.ingest(export(&[span(2, 2, 0), span(4, 1, 0)])).expect("other traces are taken");
    fs::write(&documents, sound).expect("written");
    store.ingest(export(&[span(1, 2, 0)])).expect("what is sound again is taken");
    assert_eq!(contents(&store.snapshot()).len(), 3);
}
