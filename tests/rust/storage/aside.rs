//! With `recover` a store opens without its damaged segments, and says so for ever.

use std::fs;

use spanwise::error::Error;
use spanwise::storage::{Options, TraceStore};
use tempfile::TempDir;

use super::contents::{address, contents, open};
use super::damage::{closed_store, files, restore};
use crate::spans::{export, span};

fn recovered(folder: &TempDir) -> TraceStore {
    let options = Options { recover: true, ..Options::default() };
    TraceStore::open(address(folder), options).expect("a store without its damage")
}

#[test]
fn whichever_object_of_a_segment_is_damaged_only_that_segment_is_set_aside() {
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
            let aside = store.stats().quarantined;
            assert_eq!(aside.len(), 1, "{damage} `{}`", path.display());
            let object = path.strip_prefix(folder.path()).expect("inside").display().to_string();
            assert!(object.starts_with(&aside[0].segment), "{aside:?}");
            assert!(aside[0].error.contains(&object), "{aside:?}");
            let found = contents(&store.snapshot());
            assert_eq!(found == held, aside[0].traces == 0, "what was set aside is in no answer");
            for (trace_id, (_, spans)) in found {
                assert!(spans.iter().all(|span| held[&trace_id].1.contains(span)));
            }
            store.close().expect("closed");
            restore(folder.path(), &wanted);
        }
    }
}

#[test]
fn a_store_never_forgets_what_was_set_aside_and_removes_nothing_of_it() {
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
    let aside = store.stats().quarantined;
    assert_eq!(aside.len(), 2);
    store.ingest(export(&[span(8, 1, 0)])).expect("ingested");
    store.flush().expect("flushed");
    let held = contents(&store.snapshot());
    store.close().expect("closed");
    for _ in 0..2 {
        let store = open(&folder);
        assert_eq!(store.stats().quarantined, aside);
        assert_eq!(contents(&store.snapshot()), held);
        store.close().expect("closed");
    }
    let report = TraceStore::check(address(&folder)).expect("what is left is sound");
    assert_eq!(report.quarantined, aside);
    let now = files(&folder.path().join("segments"));
    for path in damaged.keys().filter(|path| documents[..2].iter().any(|own| own.parent() == path.parent())) {
        assert_eq!(now.get(path), damaged.get(path));
    }
}

#[test]
fn a_sound_store_is_opened_the_same_with_recover_and_damaged_write_ahead_is_still_refused() {
    let (folder, held) = closed_store();
    let store = recovered(&folder);
    assert_eq!(contents(&store.snapshot()), held);
    assert!(store.stats().quarantined.is_empty());
    store.close().expect("closed");
    let is_full = |content: &Vec<u8>| content.len() > 56;
    let wal = files(&folder.path().join("wal")).into_iter().find(|(_, content)| is_full(content));
    let (path, mut content) = wal.expect("write-ahead");
    content[60] ^= 1;
    fs::write(&path, content).expect("written");
    let before = files(folder.path());
    let options = Options { recover: true, ..Options::default() };
    let refused = TraceStore::open(address(&folder), options);
    assert!(matches!(refused, Err(Error::Damage { .. })), "{refused:?}");
    assert_eq!(files(folder.path()), before, "a refused opening writes nothing");
}
