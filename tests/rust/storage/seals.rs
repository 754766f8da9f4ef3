//! While a generation is sealed the store goes on, and a seal that fails loses nothing.

use spanwise::error::Error;

use super::contents::{contents, crashed, open};
use super::gated::{Gate, gated, wait_until};
use crate::spans::{export, span};

#[test]
fn spans_that_come_while_a_generation_is_sealed_stay_when_it_is() {
    let (folder, objects, store) = gated(Gate::Open);
    store.ingest(export(&[span(1, 1, 0), span(2, 1, 0), span(3, 1, 0)])).expect("ingested");
    store.flush().expect("flushed");
    store.ingest(export(&[span(1, 2, 0), span(4, 1, 0)])).expect("ingested");
    objects.turn(Gate::Closed);
    let flushing = std::thread::spawn({
        let store = store.clone();
        move || store.flush()
    });
    wait_until(|| store.stats().generations == 2);
    // One trace of the generation that is being sealed, one of the segment before, one new.
    store.ingest(export(&[span(1, 3, 0), span(2, 2, 0), span(5, 1, 0)])).expect("ingested");
    let before = contents(&store.snapshot());
    assert_eq!(before.len(), 5);
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), before);
    objects.turn(Gate::Open);
    flushing.join().expect("a sound thread").expect("flushed");
    assert_eq!(store.stats().segments, 2);
    assert_eq!(contents(&store.snapshot()), before);
    // Only what the second segment superseded may be hidden durably: the rest is replayed.
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), before);
    store.flush().expect("flushed");
    assert_eq!(contents(&store.snapshot()), before);
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), before);
}

#[test]
fn a_seal_that_fails_is_named_and_tried_again() {
    let (folder, objects, store) = gated(Gate::Broken);
    store.ingest(export(&[span(1, 1, 0)])).expect("ingested");
    assert!(matches!(store.flush(), Err(Error::Storage { .. })));
    let fault = store.stats().seal_error.expect("a fault");
    assert!(fault.ends_with("no space is left"), "{fault}");
    store.ingest(export(&[span(1, 2, 0), span(2, 1, 0)])).expect("the store goes on");
    let before = contents(&store.snapshot());
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), before);
    objects.turn(Gate::Open);
    store.flush().expect("flushed");
    assert_eq!(store.stats().seal_error, None);
    assert_eq!(store.stats().segments, 1, "a segment whose rows are all hidden is none");
    assert_eq!(contents(&store.snapshot()), before);
    store.close().expect("closed");
    assert_eq!(contents(&open(&folder).snapshot()), before);
}

#[cfg(target_os = "linux")]
#[test]
fn background_work_has_a_lower_priority_than_what_callers_wait_for() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let store = open(&folder);
    store.ingest(export(&[span(1, 1, 0)])).expect("ingested");
    store.flush().expect("flushed");
    for name in ["spanwise-seal", "spanwise-merge", "spanwise-lowpri"] {
        wait_until(|| niceness_of(name).is_some_and(|nice| nice >= 10));
    }
    let process = std::fs::read_to_string("/proc/self/stat").expect("a file");
    assert_eq!(niceness_of("spanwise-commit"), niceness(&process));
}

/// Returns how nice a thread is whose name begins so, if there is one.
#[cfg(target_os = "linux")]
fn niceness_of(name: &str) -> Option<i32> {
    let threads = std::fs::read_dir("/proc/self/task").expect("a folder");
    let mut stats =
        threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("stat")).ok());
    let of_name = |stat: &String| stat.split_once('(').is_some_and(|(_, rest)| rest.starts_with(name));
    niceness(&stats.find(of_name)?)
}

/// Returns what the nineteenth field says; the third follows the name.
#[cfg(target_os = "linux")]
fn niceness(stat: &str) -> Option<i32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(16)?.parse().ok()
}
