//! The retention thread: deletes traces that are too old, the oldest traces if the store is too large, and
//! fragments whose spans have not arrived.
//!
//! Retention deletes like any caller, by this machine's clock: traces that started before an instant. Later
//! merges free their disk space. Segments with only expired traces are removed at once.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::schema::Field;
use crate::storage::options::Options;
use crate::storage::segment::Segment;
use crate::storage::snapshot::count::{count_of, is_in_head};
use crate::storage::snapshot::published::Published;
use crate::storage::snapshot::{RowKind, Snapshot};
use crate::storage::state::command::{Command, execute};
use crate::time::{now_micros, write_instant};

/// The retention limits.
#[derive(Debug, Clone, Copy)]
struct Retention {
    /// The maximum age of traces in seconds, measured from their start.
    seconds: Option<u64>,
    /// The maximum size of stored documents in bytes.
    bytes: Option<u64>,
    /// The maximum age in seconds of traces without spans, measured from the arrival of the first fragment.
    fragment_seconds: u64,
}

/// Starts the retention thread. It ends when the other end of `closing` is dropped.
pub(crate) fn start(
    options: &Options,
    published: Arc<Published>,
    commands: Sender<Command>,
    closing: Receiver<()>,
) -> std::io::Result<JoinHandle<()>> {
    let retention = Retention {
        seconds: options.retain_seconds,
        bytes: options.retain_bytes,
        fragment_seconds: options.retain_fragment_seconds,
    };
    let interval = retention.interval();
    let run = move || {
        let mut wait = Duration::ZERO;
        while closing.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
            wait = interval;
            let error = retention.apply(&published.snapshot.load_full(), &commands).err();
            published.retention_error.store(error.map(|error| Arc::new(error.to_string())));
        }
    };
    std::thread::Builder::new().name("spanwise-retain".into()).spawn(run)
}

impl Retention {
    /// Returns the time between two checks: about 1% of the maximum age. This keeps few expired traces, and
    /// rarely flushes the head early.
    fn interval(self) -> Duration {
        let of_age = |seconds: u64| Duration::from_secs((seconds / 100).clamp(1, 3_600));
        let by_bytes = self.bytes.map(|_| Duration::from_secs(60));
        let limits = self.seconds.map(of_age).into_iter().chain(by_bytes);
        limits.fold(of_age(self.fragment_seconds), Duration::min)
    }

    fn apply(self, snapshot: &Snapshot, commands: &Sender<Command>) -> Result<()> {
        let by_bytes = self.bytes.and_then(|bytes| oldest_retained(snapshot, bytes));
        if let Some(oldest) = self.seconds.map(seconds_ago).into_iter().chain(by_bytes).max() {
            let filter = before(Field::StartTime, oldest)?;
            delete(snapshot, commands, RowKind::Trace, &filter)?;
            delete(snapshot, commands, RowKind::Fragments, &filter)?;
        }
        let filter = before(Field::CreatedAt, seconds_ago(self.fragment_seconds))?;
        delete(snapshot, commands, RowKind::Fragments, &filter)
    }
}

/// Deletes the rows of `kind` that the filter matches, if the snapshot has any.
fn delete(snapshot: &Snapshot, commands: &Sender<Command>, kind: RowKind, filter: &Filter) -> Result<()> {
    if count_of(snapshot, kind, filter)? == 0 {
        return Ok(());
    }
    let filter = filter.clone();
    let ended = || Error::Stopped("the committing thread has ended".into());
    if is_in_head(snapshot, kind, &filter)? {
        execute(commands, Command::Flush).ok_or_else(ended)??;
    }
    execute(commands, |reply| Command::Delete { filter, kind, reply }).ok_or_else(ended)?.map(drop)
}

/// Returns the instant `seconds` seconds ago, in microseconds since 1970.
fn seconds_ago(seconds: u64) -> i64 {
    let micros = i64::try_from(seconds.saturating_mul(1_000_000)).unwrap_or(i64::MAX);
    now_micros().saturating_sub(micros)
}

/// Returns the filter for traces whose `field` is before `micros`, in microseconds since 1970.
fn before(field: Field, micros: i64) -> Result<Filter> {
    let mut instant = String::new();
    write_instant(&mut instant, micros);
    let source = serde_json::json!({"op": "LT", "key": field.key(), "value": instant});
    Ok(Filter::compile(source.to_string().as_bytes())?)
}

/// Returns the start time of the oldest traces to keep so that the stored documents fit into `bytes`; `None`
/// if they fit already. It frees another 5%, so that not every new trace causes a deletion.
fn oldest_retained(snapshot: &Snapshot, bytes: u64) -> Option<i64> {
    if stored_since(snapshot, i64::MIN) <= bytes {
        return None;
    }
    let target = bytes - bytes / 20;
    let segments = || snapshot.segments().filter(|(segment, _)| segment.count() > 0);
    let last = |segment: &Segment| segment.start_time(segment.count() as usize - 1);
    let mut oldest = segments().map(|(segment, _)| last(segment)).min()?;
    let mut newest = segments().map(|(segment, _)| segment.start_time(0)).max()?.saturating_add(1);
    while oldest < newest {
        let middle = oldest.midpoint(newest);
        if stored_since(snapshot, middle) <= target {
            newest = middle;
        } else {
            oldest = middle.saturating_add(1);
        }
    }
    Some(newest)
}

/// Returns the stored size in bytes of the documents of traces in segments that started at `micros` or later.
fn stored_since(snapshot: &Snapshot, micros: i64) -> u64 {
    let of_segments = snapshot.segments().map(|(segment, deleted)| {
        let newer = segment.rows_since(micros);
        let rows = (0..newer).filter(|row| !deleted.contains(*row));
        rows.map(|row| segment.stored_bytes(row as usize)).sum::<u64>()
    });
    of_segments.sum()
}
