//! Retention: what is too old, or too much, is deleted in the background.
//!
//! It is a deletion like any other, by the clock of this machine: what started before an instant is
//! deleted. Its bytes leave the disk with the merges that follow; segments that are wholly too old go
//! at once.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::storage::committer::delete;
use crate::storage::committer::publish::Published;
use crate::storage::committer::{Order, ask};
use crate::storage::options::Options;
use crate::storage::segment::Segment;
use crate::storage::snapshot::Snapshot;
use crate::time::{now_micros, write_instant};

/// What is kept.
#[derive(Debug, Clone, Copy)]
struct Retention {
    /// Traces that started so many seconds ago at most.
    seconds: Option<u64>,
    /// The newest traces whose documents have so many bytes, as they are stored.
    bytes: Option<u64>,
}

/// Starts the thread of retention, if anything is to be deleted ever. It ends when `closing` does.
pub(crate) fn start(
    options: &Options,
    published: Arc<Published>,
    orders: Sender<Order>,
    closing: Receiver<()>,
) -> std::io::Result<Option<JoinHandle<()>>> {
    let retention = Retention { seconds: options.retain_seconds, bytes: options.retain_bytes };
    let Some(interval) = retention.interval() else { return Ok(None) };
    let retain = move || {
        let mut wait = Duration::ZERO;
        while closing.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
            wait = interval;
            let fault = retention.apply(&published.snapshot.load_full(), &orders).err();
            published.retention_fault.store(fault.map(|fault| Arc::new(fault.to_string())));
        }
    };
    std::thread::Builder::new().name("spanwise-retain".into()).spawn(retain).map(Some)
}

impl Retention {
    /// Returns how often it is looked, or `None` if everything is kept: within a hundredth of the age,
    /// so that little is too old and seldom is anything sealed for it.
    fn interval(self) -> Option<Duration> {
        let by_age = self.seconds.map(|seconds| Duration::from_secs((seconds / 100).clamp(1, 3_600)));
        let by_bytes = self.bytes.map(|_| Duration::from_secs(60));
        by_age.into_iter().chain(by_bytes).min()
    }

    fn apply(self, snapshot: &Snapshot, orders: &Sender<Order>) -> Result<()> {
        let too_old = self.seconds.map(|seconds| {
            let micros = i64::try_from(seconds.saturating_mul(1_000_000)).unwrap_or(i64::MAX);
            now_micros().saturating_sub(micros)
        });
        let too_much = self.bytes.and_then(|bytes| oldest_kept(snapshot, bytes));
        let Some(oldest) = too_old.into_iter().chain(too_much).max() else { return Ok(()) };
        let filter = started_before(oldest)?;
        if delete::count(snapshot, &filter)? == 0 {
            return Ok(());
        }
        let unanswered = || Error::Stopped("the committing thread has ended".into());
        ask(orders, Order::Flush).ok_or_else(unanswered)??;
        ask(orders, |answer| Order::Delete { filter, answer }).ok_or_else(unanswered)?.map(drop)
    }
}

/// Returns the filter that matches what started before `micros`, microseconds since 1970.
fn started_before(micros: i64) -> Result<Filter> {
    let mut instant = String::new();
    write_instant(&mut instant, micros);
    let source = serde_json::json!({"op": "LT", "key": "start_time", "value": instant});
    Ok(Filter::compile(source.to_string().as_bytes())?)
}

/// Returns from which start time on traces are kept so that their documents fit into `bytes`; `None` if
/// all fit. A twentieth less is kept, so that not every trace that comes makes another go.
fn oldest_kept(snapshot: &Snapshot, bytes: u64) -> Option<i64> {
    if stored_since(snapshot, i64::MIN) <= bytes {
        return None;
    }
    let fitting = bytes - bytes / 20;
    let segments = || snapshot.segments().filter(|(segment, _)| segment.count() > 0);
    let last = |segment: &Segment| segment.start_time(segment.count() as usize - 1);
    let mut oldest = segments().map(|(segment, _)| last(segment)).min()?;
    let mut newest = segments().map(|(segment, _)| segment.start_time(0)).max()?.saturating_add(1);
    while oldest < newest {
        let middle = oldest.midpoint(newest);
        if stored_since(snapshot, middle) <= fitting {
            newest = middle;
        } else {
            oldest = middle.saturating_add(1);
        }
    }
    Some(newest)
}

/// Returns the bytes of the documents of sealed traces that started at `micros` or later.
fn stored_since(snapshot: &Snapshot, micros: i64) -> u64 {
    let of_segments = snapshot.segments().map(|(segment, hidden)| {
        let newer = segment.rows_since(micros);
        let rows = (0..newer).filter(|row| !hidden.contains(*row));
        rows.map(|row| segment.stored_bytes(row as usize)).sum::<u64>()
    });
    of_segments.sum()
}
