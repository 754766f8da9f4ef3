//! Linearizability: readers check every result against two sets. It must contain the writes that eight
//! writers had acknowledged before the read, and may contain only writes that had started by its end.
//! Meanwhile heads are flushed and segments are merged.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use arrow_array::Array as _;
use arrow_array::cast::AsArray as _;
use arrow_array::types::Int64Type;
use spanwise::filter::Filter;
use spanwise::otlp::TraceId;
use spanwise::query::{self, CancellationToken, Detail, PageRequest, Sort};
use spanwise::schema::Field;
use spanwise::storage::{Options, Snapshot, TraceStore};
use tempfile::TempDir;

use crate::support::contents::{address, contents, crashed, id_of, open, traces_in};
use crate::support::spans::{below, request, span, with};

const WRITERS: u64 = 8;

/// The number of steps between two deletions of a writer, and the age of the deleted trace in steps.
const DELETE_INTERVAL: u64 = 5;

/// The progress of one writer. Its step `n` sends the first span of its trace `n` and the second span of trace `n - 1`.
#[derive(Default)]
struct Progress {
    started: AtomicU64,
    acknowledged: AtomicU64,
    deletion_started: AtomicU64,
    deleted: AtomicU64,
}

/// A writer's progress at one time.
#[derive(Clone, Copy)]
struct ProgressSnapshot {
    sent: u64,
    deleted: u64,
}

fn number(writer: u64, step: u64) -> u64 {
    (writer + 1) * 1_000_000 + step
}

fn write(store: &TraceStore, writer: u64, progress: &Progress, is_stopped: &AtomicBool) {
    let name = format!("writer-{writer}");
    let mut step = 0;
    while !is_stopped.load(SeqCst) {
        step += 1;
        progress.started.store(step, SeqCst);
        let first = with(span(number(writer, step), 1, step), "session.id", &name);
        let second = below(span(number(writer, step - 1), 2, step), 1);
        let spans = if step > 1 { vec![first, second] } else { vec![first] };
        store.ingest(request(&spans)).expect("ingested");
        progress.acknowledged.store(step, SeqCst);
        if step > DELETE_INTERVAL && step % DELETE_INTERVAL == 0 {
            let doomed = step - DELETE_INTERVAL;
            progress.deletion_started.store(doomed, SeqCst);
            store.delete(&traces_in(&[number(writer, doomed)]), false).expect("deleted");
            progress.deleted.store(doomed, SeqCst);
        }
    }
}

/// Returns the traces of a snapshot with their numbers of spans. Asserts that no trace occurs twice.
fn present(snapshot: &Snapshot) -> BTreeMap<TraceId, i64> {
    let mut present = BTreeMap::new();
    for part in snapshot.parts() {
        let batch = part.batch().expect("readable rows");
        let ids = batch.column(Field::TraceId.column()).as_string::<i32>();
        let totals = batch.column_by_name("total_spans").expect("a column").as_primitive::<Int64Type>();
        for row in (0..ids.len()).filter(|row| !part.invisible().contains(u32::try_from(*row).expect("few")))
        {
            let trace_id = TraceId::from_hex(ids.value(row)).expect("an id");
            assert!(present.insert(trace_id, totals.value(row)).is_none(), "{trace_id} occurs twice");
        }
    }
    present
}

/// Asserts that a writer's traces are complete: all traces acknowledged `before`, and only traces started by
/// `after`.
fn assert_as_written(
    present: &BTreeMap<TraceId, i64>,
    writer: u64,
    before: ProgressSnapshot,
    after: ProgressSnapshot,
) {
    for step in 1..=after.sent {
        let spans = present.get(&id_of(number(writer, step))).copied();
        let is_doomed = step % DELETE_INTERVAL == 0;
        if is_doomed && step <= before.deleted {
            assert_eq!(spans, None, "trace {step} of writer {writer} was deleted");
        } else if step <= before.sent && !(is_doomed && step <= after.deleted) {
            let Some(spans) = spans else { panic!("trace {step} of writer {writer} is lost") };
            assert!(step >= before.sent || spans == 2, "trace {step} of writer {writer} is stale");
        }
    }
}

fn read(take: impl Fn() -> Arc<Snapshot>, progress: &[Progress]) {
    let moment = |sent: fn(&Progress) -> &AtomicU64, deleted: fn(&Progress) -> &AtomicU64| {
        let of_one = |one: &Progress| ProgressSnapshot {
            sent: sent(one).load(SeqCst),
            deleted: deleted(one).load(SeqCst),
        };
        progress.iter().map(of_one).collect::<Vec<_>>()
    };
    let before = moment(|one| &one.acknowledged, |one| &one.deleted);
    let snapshot = take();
    let present = present(&snapshot);
    let after = moment(|one| &one.started, |one| &one.deletion_started);
    for (writer, (before, after)) in (0..).zip(before.into_iter().zip(&after)) {
        assert_as_written(&present, writer, before, *after);
    }
    let max_traces: u64 = after.iter().map(|moment| moment.sent).sum();
    assert!(present.len() as u64 <= max_traces, "nothing is there that was not sent");
    // A page and its count come from one snapshot.
    let window = PageRequest { page: 1, limit: 20, sort: Sort::NEWEST_FIRST };
    let page = query::runs(&snapshot, &Filter::all(), window, Detail::Full, &CancellationToken::default())
        .expect("a page");
    assert_eq!(page.total_count, present.len() as u64);
    let runs: Vec<serde_json::Value> = serde_json::from_slice(&page.data).expect("JSON");
    assert_eq!(runs.len(), present.len().min(20));
    for run in runs {
        let trace_id = run["trace_id"].as_str().and_then(TraceId::from_hex).expect("an id");
        assert_eq!(run["total_spans"].as_i64(), present.get(&trace_id).copied());
    }
}

fn check_history(seconds: u64) {
    let folder = TempDir::new().expect("a folder");
    let options = Options { seal_objects: 10, max_segments: 6, ..Options::default() };
    let store = TraceStore::open(address(&folder), options).expect("a store");
    let progress: Vec<Progress> = (0..WRITERS).map(|_| Progress::default()).collect();
    let (is_stopped, end) = (AtomicBool::new(false), Instant::now() + Duration::from_secs(seconds));
    std::thread::scope(|scope| {
        let (store, is_stopped) = (&store, &is_stopped);
        for (writer, progress) in (0..).zip(&progress) {
            scope.spawn(move || write(store, writer, progress, is_stopped));
        }
        let reader = |reads: &dyn Fn()| {
            while Instant::now() < end {
                reads();
            }
        };
        let progress = &progress;
        let mut readers: Vec<_> =
            (0..2).map(|_| scope.spawn(move || reader(&|| read(|| store.snapshot(), progress)))).collect();
        let url = address(&folder);
        readers.push(scope.spawn(move || {
            let follower = TraceStore::follow(url, Options::default()).expect("a reader");
            let take = || {
                follower.refresh().expect("refreshed");
                follower.snapshot()
            };
            reader(&|| read(take, progress));
        }));
        let mut purges = false;
        while Instant::now() < end && readers.iter().all(|reader| !reader.is_finished()) {
            std::thread::sleep(Duration::from_millis(300));
            purges = !purges;
            store.compact(purges).expect("compacted");
        }
        is_stopped.store(true, SeqCst);
    });
    read(|| store.snapshot(), &progress);
    let held = contents(&store.snapshot());
    assert!(held.len() as u64 > WRITERS, "something was written");
    assert_eq!(contents(&open(&crashed(&folder)).snapshot()), held);
    store.close().expect("closed");
    TraceStore::check(address(&folder)).expect("a sound store");
}

#[test]
fn nothing_is_lost_stale_or_duplicated() {
    check_history(3);
}

#[test]
#[ignore = "takes a minute"]
fn nothing_is_lost_stale_or_duplicated_for_a_minute() {
    check_history(60);
}
