//! Damage is reported with its object. A store never silently loses data.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use spanwise::error::Error;
use spanwise::storage::{Options, TraceStore};
use tempfile::TempDir;

use crate::support::contents::{Contents, address, contents, crashed, open};
use crate::support::files::{closed_store, files, newest, restore};
use crate::support::spans::{request, span};

/// Opens a store and reads all of it. Both may find damage.
fn read_everything(folder: &TempDir) -> Result<(), Error> {
    let store = TraceStore::open(address(folder), Options::default())?;
    for part in store.snapshot().parts() {
        (0..part.batch()?.num_rows()).try_for_each(|row| part.trace(row).map(drop))?;
    }
    Ok(())
}

/// Asserts that both a check and a full read report damage of the object.
fn assert_reported(folder: &TempDir, path: &Path) {
    let object = path.strip_prefix(folder.path()).expect("inside").to_string_lossy().into_owned();
    for found in [TraceStore::check(address(folder)).map(drop), read_everything(folder)] {
        match found {
            Err(Error::Damage { object: named, .. }) => assert_eq!(named, object),
            other => panic!("expected damage of `{object}`, got {other:?}"),
        }
    }
}

/// Returns the objects of the store, without empty write-ahead objects and without the manifests, which are
/// needed to find the others.
fn live_objects(wanted: &BTreeMap<PathBuf, Vec<u8>>) -> impl Iterator<Item = (&PathBuf, &Vec<u8>)> {
    wanted.iter().filter(|(path, content)| {
        let is_live_wal = path.extension().is_none_or(|kind| kind != "wal") || content.len() > 56;
        is_live_wal && path.extension().is_none_or(|kind| kind != "json")
    })
}

#[test]
fn a_missing_or_truncated_object_is_reported() {
    let (folder, _) = closed_store();
    let wanted = files(folder.path());
    let mut seen = 0;
    for (path, content) in live_objects(&wanted) {
        fs::remove_file(path).expect("removed");
        assert_reported(&folder, path);
        restore(folder.path(), &wanted);
        fs::write(path, &content[..content.len() - 1]).expect("written");
        assert_reported(&folder, path);
        restore(folder.path(), &wanted);
        seen += 1;
    }
    assert_eq!(seen, 3 * 2 + 1 + 2, "three segments, a deletion vector, two write-ahead objects");
}

/// Asserts that every way to read the store finds `held`, or reports a missing object.
fn assert_not_silent(folder: &TempDir, held: &Contents, removed: &Path) {
    let read_only = || TraceStore::open_read_only(address(folder)).map(|snapshot| contents(&snapshot));
    let check = || TraceStore::check(address(folder)).map(|_| held.clone());
    let opened = || TraceStore::open(address(folder), Options::default()).map(|it| contents(&it.snapshot()));
    let before = files(folder.path());
    for (what, found) in [("read_only", read_only()), ("check", check()), ("open", opened())] {
        match found {
            Ok(found) => assert_eq!(found, *held, "{what} does not miss `{}`", removed.display()),
            Err(Error::Damage { .. }) => assert_eq!(files(folder.path()), before, "{what} changed something"),
            Err(error) => panic!("{what} without `{}`: {error}", removed.display()),
        }
    }
}

#[test]
fn after_a_clean_stop_nothing_can_be_removed_silently() {
    for is_flushed in [false, true] {
        let (folder, held) = closed_store();
        if is_flushed {
            let store = open(&folder);
            store.flush().expect("flushed");
            store.close().expect("closed");
        }
        let wanted = files(folder.path());
        let tops = ["wal", "segments", "manifest"].map(|top| folder.path().join(top));
        assert!(wanted.len() > 10 || is_flushed, "{wanted:?}");
        for removed in wanted.keys().chain(&tops) {
            if removed.is_dir() {
                fs::remove_dir_all(removed).expect("removed");
            } else {
                fs::remove_file(removed).expect("removed");
            }
            assert_not_silent(&folder, &held, removed);
            restore(folder.path(), &wanted);
        }
    }
}

#[test]
fn a_killed_store_misses_what_its_newest_manifest_had_seen() {
    let (folder, _) = closed_store();
    let store = open(&folder);
    store.ingest(request(&[span(9, 1, 0)])).expect("ingested");
    let killed = crashed(&folder);
    fs::remove_dir_all(killed.path().join("wal")).expect("removed");
    let missed = TraceStore::check(address(&killed));
    assert!(matches!(missed, Err(Error::Damage { .. })), "{missed:?}");
}

#[test]
fn a_flipped_bit_is_reported() {
    let (folder, _) = closed_store();
    let wanted = files(folder.path());
    for (path, content) in live_objects(&wanted) {
        let is_wal = path.extension().is_some_and(|kind| kind == "wal");
        // The sample of the write-ahead log is denser than the sample of the other objects.
        for place in (0..content.len()).step_by(if is_wal { 7 } else { content.len() / 5 }) {
            let mut damaged = content.clone();
            damaged[place] ^= 1 << (place % 8);
            fs::write(path, damaged).expect("written");
            assert_reported(&folder, path);
            restore(folder.path(), &wanted);
        }
    }
}

#[test]
fn a_damaged_manifest_is_rejected() {
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
fn opening_removes_objects_that_no_manifest_names() {
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
fn late_spans_of_a_damaged_trace_are_rejected_by_themselves() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    store.ingest(request(&[span(1, 1, 0), span(2, 1, 0)])).expect("ingested");
    store.flush().expect("flushed");
    let documents = newest(&folder, "segments").join("spans.otlp.zst");
    let sound = fs::read(&documents).expect("a file");
    let trace_id = request(&[span(1, 1, 0)]).spans[0].trace_id;
    let row = store.snapshot().find(trace_id).expect("a row").1;
    let mut damaged = sound.clone();
    // Documents are in row order, and these two have the same length.
    damaged[row * sound.len() / 2 + 20] ^= 1;
    fs::write(&documents, damaged).expect("written");
    let report = store.ingest(request(&[span(1, 2, 0), span(3, 1, 0), span(1, 3, 0)])).expect("ingested");
    assert_eq!((report.accepted, report.rejected), (1, 2));
    let named = format!("trace {trace_id} cannot be read: ");
    assert!(report.reason.starts_with(&named), "{}", report.reason);
    assert!(report.reason.contains("spans.otlp.zst"), "{}", report.reason);
    let all = store.ingest(request(&[span(1, 2, 0)])).expect("ingested");
    assert_eq!((all.accepted, all.rejected), (0, 1));
    store.ingest(request(&[span(2, 2, 0), span(4, 1, 0)])).expect("other traces are accepted");
    fs::write(&documents, sound).expect("written");
    let repaired = store.ingest(request(&[span(1, 2, 0)])).expect("ingested");
    assert_eq!((repaired.accepted, repaired.rejected), (1, 0));
    let held = contents(&store.snapshot());
    assert_eq!(held.len(), 4);
    store.close().expect("closed");
    assert_eq!(contents(&open(&folder).snapshot()), held, "a replay has nothing of what was rejected");
}
