//! A backup of a store in use contains everything that was acknowledged before the backup started.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use spanwise::error::Error;
use spanwise::storage::{Options, TraceStore};
use tempfile::TempDir;

use crate::support::contents::{address, contents, open};
use crate::support::files::{closed_store, files, newest};
use crate::support::spans::{request, span};

#[test]
fn a_backup_of_a_closed_store_holds_the_same_and_changes_nothing() {
    let (folder, held) = closed_store();
    let before = files(folder.path());
    let target = TempDir::new().expect("a folder");
    let copied = TraceStore::backup(address(&folder), address(&target), true).expect("copied");
    assert_eq!(files(folder.path()), before);
    assert!(copied.segments == 3 && copied.wal_objects > 1, "{copied:?}");
    let bytes = files(target.path()).values().map(|content| content.len() as u64).sum::<u64>();
    let manifest = fs::metadata(newest(&target, "manifest")).expect("a manifest").len();
    assert_eq!(bytes, copied.bytes + manifest, "only live objects are copied");
    TraceStore::check(address(&target)).expect("a sound store");
    assert_eq!(contents(&open(&target).snapshot()), held);
}

#[test]
fn backups_under_load_hold_everything_acknowledged_before() {
    let folder = TempDir::new().expect("a folder");
    let store = TraceStore::open(address(&folder), Options { seal_objects: 3, ..Options::default() });
    let store = store.expect("a store");
    let (acknowledged, is_stopped) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1.. {
                if is_stopped.load(Ordering::Relaxed) {
                    break;
                }
                // A new trace, and a late span of a flushed one.
                let spans = [span(number, 1, 0), span(number / 2 + 1, number + 1, 0)];
                store.ingest(request(&spans)).expect("ingested");
                acknowledged.store(number, Ordering::Release);
            }
        });
        for _ in 0..8 {
            let mark = acknowledged.load(Ordering::Acquire);
            let target = TempDir::new().expect("a folder");
            TraceStore::backup(address(&folder), address(&target), true).expect("copied");
            TraceStore::check(address(&target)).expect("a sound store");
            let copy = open(&target);
            let held = contents(&copy.snapshot());
            for number in 1..=mark {
                for expected in request(&[span(number, 1, 0), span(number / 2 + 1, number + 1, 0)]).spans {
                    let spans = held.get(&expected.trace_id).map(|(_, spans)| spans);
                    assert!(spans.is_some_and(|spans| spans.contains(&expected.wire)), "{number} of {mark}");
                }
            }
        }
        is_stopped.store(true, Ordering::Relaxed);
    });
    assert!(store.stats().wal_checkpoint > 9, "the store flushed meanwhile");
}

#[test]
fn a_backup_of_a_damaged_store_or_into_a_folder_that_is_not_empty_fails() {
    let (folder, _) = closed_store();
    let target = TempDir::new().expect("a folder");
    fs::write(target.path().join("note"), "mine").expect("written");
    let failed = TraceStore::backup(address(&folder), address(&target), true);
    assert!(matches!(failed, Err(Error::Options(_))), "{failed:?}");
    assert_eq!(fs::read_dir(target.path()).expect("a folder").count(), 1);
    let empty = TempDir::new().expect("a folder");
    let failed = TraceStore::backup(address(&empty), address(&empty), true);
    assert!(matches!(failed, Err(Error::Options(_))), "{failed:?}");
    for damaged in [newest(&folder, "segments").join("spans.otlp.zst"), newest(&folder, "wal")] {
        let sound = fs::read(&damaged).expect("an object");
        let mut content = sound.clone();
        content[sound.len() / 2] ^= 1;
        fs::write(&damaged, content).expect("written");
        let target = TempDir::new().expect("a folder");
        let failed = TraceStore::backup(address(&folder), address(&target), true);
        assert!(matches!(failed, Err(Error::Damage { .. })), "{failed:?}");
        assert!(TraceStore::check(address(&target)).is_err(), "an unfinished backup is not a store");
        fs::write(&damaged, sound).expect("written");
    }
}
