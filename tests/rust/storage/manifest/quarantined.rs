//! With `recover` a store opens without its damaged segments and reports them from then on.

use std::fs;

use serde_json::json;
use spanwise::error::Error;
use spanwise::storage::{Options, TraceStore};
use tempfile::TempDir;

use crate::support::contents::{address, contents, open};
use crate::support::files::{closed_store, files, newest, restore};
use crate::support::forge;
use crate::support::spans::{request, span};

fn recovered(folder: &TempDir) -> TraceStore {
    let options = Options { recover: true, ..Options::default() };
    TraceStore::open(address(folder), options).expect("a store without its damage")
}

#[test]
fn damage_of_any_object_quarantines_only_its_segment() {
    let (folder, held) = closed_store();
    let wanted = files(folder.path());
    let segments = wanted.keys().filter(|path| path.starts_with(folder.path().join("segments")));
    for path in segments {
        let content = &wanted[path];
        for damage in ["flipped", "cut", "gone"] {
            let mut damaged = content.clone();
            damaged[content.len() / 2] ^= 4;
            match damage {
                "flipped" => fs::write(path, &damaged).expect("written"),
                "cut" => fs::write(path, &content[..content.len() / 2]).expect("written"),
                _ => fs::remove_file(path).expect("removed"),
            }
            let store = recovered(&folder);
            let quarantined = store.stats().quarantined;
            assert_eq!(quarantined.len(), 1, "{damage} `{}`", path.display());
            let object = path.strip_prefix(folder.path()).expect("inside").display().to_string();
            assert!(object.starts_with(&quarantined[0].segment), "{quarantined:?}");
            assert!(quarantined[0].error.contains(&object), "{quarantined:?}");
            let found = contents(&store.snapshot());
            assert_eq!(found == held, quarantined[0].traces == 0, "quarantined traces are in no result");
            for (trace_id, (_, spans)) in found {
                assert!(spans.iter().all(|span| held[&trace_id].1.contains(span)));
            }
            store.close().expect("closed");
            restore(folder.path(), &wanted);
        }
    }
}

#[test]
fn a_store_keeps_the_record_and_the_files_of_quarantined_segments() {
    let (folder, _) = closed_store();
    let documents: Vec<_> =
        files(folder.path()).into_keys().filter(|path| path.ends_with("spans.otlp.zst")).collect();
    let before = files(folder.path());
    for path in &documents[..2] {
        let mut damaged = before[path].clone();
        damaged[7] ^= 1;
        fs::write(path, damaged).expect("written");
    }
    let damaged = files(&folder.path().join("segments"));
    let store = recovered(&folder);
    let quarantined = store.stats().quarantined;
    assert_eq!(quarantined.len(), 2);
    store.ingest(request(&[span(8, 1, 0)])).expect("ingested");
    store.flush().expect("flushed");
    let held = contents(&store.snapshot());
    store.close().expect("closed");
    for _ in 0..2 {
        let store = open(&folder);
        assert_eq!(store.stats().quarantined, quarantined);
        assert_eq!(contents(&store.snapshot()), held);
        store.close().expect("closed");
    }
    let report = TraceStore::check(address(&folder)).expect("what is left is sound");
    assert_eq!(report.quarantined, quarantined);
    let now = files(&folder.path().join("segments"));
    for path in damaged.keys().filter(|path| documents[..2].iter().any(|own| own.parent() == path.parent())) {
        assert_eq!(now.get(path), damaged.get(path));
    }
}

#[test]
fn recover_changes_nothing_in_a_sound_store() {
    let (folder, held) = closed_store();
    let store = recovered(&folder);
    assert_eq!(contents(&store.snapshot()), held);
    assert!(store.stats().quarantined.is_empty() && store.stats().quarantined_wal.is_empty());
    store.close().expect("closed");
}

#[test]
fn further_files_of_a_segment_are_kept_copied_verified_and_removed_with_it() {
    let (folder, held) = closed_store();
    let manifest = newest(&folder, "manifest");
    let content = b"of a later program";
    let mut further = None;
    forge::manifest(&manifest, |manifest| {
        let segment = &mut manifest["segments"][0];
        segment["files"] =
            json!({"later.index": {"bytes": content.len(), "crc32c": crc32c::crc32c(content)}});
        let id = segment["id"].as_str().expect("an id");
        further = Some(folder.path().join("segments").join(id).join("later.index"));
    });
    let further = further.expect("a path");
    fs::write(&further, content).expect("written");
    let store = open(&folder);
    store.ingest(request(&[span(8, 1, 0)])).expect("ingested");
    store.flush().expect("flushed");
    store.close().expect("closed");
    TraceStore::check(address(&folder)).expect("a sound store");
    let target = TempDir::new().expect("a folder");
    TraceStore::backup(address(&folder), address(&target), true).expect("copied");
    let within = further.strip_prefix(folder.path()).expect("inside");
    assert_eq!(fs::read(target.path().join(within)).expect("a copy"), content);
    for damage in [b"of a later progran".as_slice(), b""] {
        fs::write(&further, damage).expect("written");
        let found = TraceStore::check(address(&folder));
        assert!(
            matches!(&found, Err(Error::Damage { object, .. }) if further.ends_with(object)),
            "{found:?}"
        );
    }
    fs::write(&further, content).expect("written");
    let store = open(&folder);
    store.compact(true).expect("compacted");
    assert_eq!(contents(&store.snapshot()).len(), held.len() + 1);
    assert!(!further.exists());
}

#[test]
fn names_of_further_files_that_are_no_plain_names_are_damage() {
    let (folder, _) = closed_store();
    let wanted = files(folder.path());
    for name in ["", "../x", "/x", "a/b", "X", "traces.parquet", "spans.dict", "hidden-1.roaring", ".x"] {
        forge::manifest(&newest(&folder, "manifest"), |manifest| {
            manifest["segments"][0]["files"] = json!({name: {"bytes": 0, "crc32c": 0}});
        });
        let found = TraceStore::check(address(&folder));
        assert!(matches!(found, Err(Error::Damage { .. })), "`{name}`: {found:?}");
        restore(folder.path(), &wanted);
    }
}
