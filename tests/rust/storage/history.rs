//! Histories: eight writers, and readers that check every answer against what was acknowledged before
//! they asked and what was begun before they got it, while heads are sealed and segments merged.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use arrow_array::Array as _;
use arrow_array::cast::AsArray as _;
use arrow_array::types::Int64Type;
use spanwise::filter::Filter;
use spanwise::otlp::TraceId;
use spanwise::schema::Field;
use spanwise::search::{self, CancellationToken, Detail, PageRequest};
use spanwise::storage::{Options, Snapshot, TraceStore};
use tempfile::TempDir;

use super::contents::{address, contents, crashed, id_of, open, traces_in};
use crate::spans::{below, export, span, with};

const WRITERS: u64 = 8;

/// Every so many traces a writer deletes the one that is so many steps old.
const DELETED: u64 = 5;

/// How far one writer is. Its step `n` sends the first span of its trace `n`, and the second of `n - 1`.
#[derive(Default)]
struct Progress {
    begun: AtomicU64,
    acknowledged: AtomicU64,
    deletion_begun: AtomicU64,
    deleted: AtomicU64,
}

/// A moment of a writer's progress.
#[derive(Clone, Copy)]
struct Moment {
    sent: u64,
    deleted: u64,
}

fn number(writer: u64, step: u64) -> u64 {
    (writer + 1) * 1_000_000 + step
}

fn write(store: &TraceStore, writer: u64, progress: &Progress, is_over: &AtomicBool) {
    let name = format!("writer-{writer}");
    let mut step = 0;
    while !is_over.load(SeqCst) {
        step += 1;
        progress.begun.store(step, SeqCst);
        let first = with(span(number(writer, step), 1, step), "session.id", &name);
        let second = below(span(number(writer, step - 1), 2, step), 1);
        let spans = if step > 1 { vec![first, second] } else { vec![first] };
        store.ingest(export(&spans)).expect("ingested");
        progress.acknowledged.store(step, SeqCst);
        if step > DELETED && step % DELETED == 0 {
            let doomed = step - DELETED;
            progress.deletion_begun.store(doomed, SeqCst);
            store.delete(&traces_in(&[number(writer, doomed)]), false).expect("deleted");
            progress.deleted.store(doomed, SeqCst);
        }
    }
}

/// Returns the traces of a snapshot with the number of their spans, having checked that none is doubled.
fn present(snapshot: &Snapshot) -> BTreeMap<TraceId, i64> {
    let mut present = BTreeMap::new();
    for part in snapshot.parts() {
        let batch = part.batch().expect("readable rows");
        let ids = batch.column(Field::TraceId.column()).as_string::<i32>();
        let totals = batch.column_by_name("total_spans").expect("a column").as_primitive::<Int64Type>();
        for row in (0..ids.len()).filter(|row| !part.hidden().contains(u32::try_from(*row).expect("few"))) {
            let trace_id = TraceId::from_hex(ids.value(row)).expect("an id");
            assert!(present.insert(trace_id, totals.value(row)).is_none(), "{trace_id} is doubled");
        }
    }
    present
}

/// Asserts that a writer's traces are there: all that were acknowledged `before`, none not begun by `after`.
fn assert_as_written(present: &BTreeMap<TraceId, i64>, writer: u64, before: Moment, after: Moment) {
    for step in 1..=after.sent {
        let spans = present.get(&id_of(number(writer, step))).copied();
        let is_doomed = step % DELETED == 0;
        if is_doomed && step <= before.deleted {
            assert_eq!(spans, None, "trace {step} of writer {writer} was deleted");
        } else if step <= before.sent && !(is_doomed && step <= after.deleted) {
            let Some(spans) = spans else { panic!("trace {step} of writer {writer} is lost") };
            assert!(step >= before.sent || spans == 2, "trace {step} of writer {writer} is stale");
        }
    }
}

fn read(store: &TraceStore, progress: &[Progress]) {
    let moment = |sent: fn(&Progress) -> &AtomicU64, deleted: fn(&Progress) -> &AtomicU64| {
        let of_one =
            |one: &Progress| Moment { sent: sent(one).load(SeqCst), deleted: deleted(one).load(SeqCst) };
        progress.iter().map(of_one).collect::<Vec<_>>()
    };
    let before = moment(|one| &one.acknowledged, |one| &one.deleted);
    let snapshot = store.snapshot();
    let present = present(&snapshot);
    let after = moment(|one| &one.begun, |one| &one.deletion_begun);
    for (writer, (before, after)) in (0..).zip(before.into_iter().zip(&after)) {
        assert_as_written(&present, writer, before, *after);
    }
    let most: u64 = after.iter().map(|moment| moment.sent).sum();
    assert!(present.len() as u64 <= most, "nothing is there that was not sent");
    // A page and its count come from one state.
    let window = PageRequest { page: 1, limit: 20 };
    let page = search::runs(&snapshot, &Filter::all(), window, Detail::Full, &CancellationToken::default())
        .expect("a page");
    assert_eq!(page.total_count, present.len() as u64);
    let shown: Vec<serde_json::Value> = serde_json::from_slice(&page.data).expect("JSON");
    assert_eq!(shown.len(), present.len().min(20));
    for run in shown {
        let trace_id = run["trace_id"].as_str().and_then(TraceId::from_hex).expect("an id");
        assert_eq!(run["total_spans"].as_i64(), present.get(&trace_id).copied());
    }
}

fn check_history(seconds: u64) {
    let folder = TempDir::new().expect("a folder");
    let options = Options { seal_objects: 10, max_segments: 6, ..Options::default() };
    let store = TraceStore::open(address(&folder), options).expect("a store");
    let progress: Vec<Progress> = (0..WRITERS).map(|_| Progress::default()).collect();
    let (is_over, end) = (AtomicBool::new(false), Instant::now() + Duration::from_secs(seconds));
    std::thread::scope(|scope| {
        let (store, is_over) = (&store, &is_over);
        for (writer, progress) in (0..).zip(&progress) {
            scope.spawn(move || write(store, writer, progress, is_over));
        }
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let progress = &progress;
                scope.spawn(move || {
                    while Instant::now() < end {
                        read(store, progress);
                    }
                })
            })
            .collect();
        let mut purges = false;
        while Instant::now() < end && readers.iter().all(|reader| !reader.is_finished()) {
            std::thread::sleep(Duration::from_millis(300));
            purges = !purges;
            store.compact(purges).expect("compacted");
        }
        is_over.store(true, SeqCst);
    });
    read(&store, &progress);
    let held = contents(&store.snapshot());
    assert!(held.len() as u64 > WRITERS, "something was written");
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), held);
    store.close().expect("closed");
    TraceStore::check(address(&folder)).expect("a sound store");
}

#[test]
fn nothing_is_lost_stale_or_doubled() {
    check_history(3);
}

#[test]
#[ignore = "takes a minute"]
fn nothing_is_lost_stale_or_doubled_for_a_minute() {
    check_history(60);
}
