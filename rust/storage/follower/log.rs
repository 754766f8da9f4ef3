//! The write-ahead log of a follower: the objects after the checkpoint, read by name as they appear.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::otlp::TraceId;
use crate::storage::objects::Objects;
use crate::storage::options::Options;
use crate::storage::state::StoreState;
use crate::storage::state::merge_spans::GroupedRequest;
use crate::storage::state::quarantine_wal::quarantine_wal;
use crate::storage::state::replay::{GROUP_BYTES, apply_durable, decode_entry};
use crate::storage::wal::{self, WalEntry};

/// The maximum number of concurrent reads.
const MAX_READS: usize = 8;

/// A decoded log object. It is kept so that it can be applied again to other segments.
#[derive(Debug)]
pub(super) struct LogObject {
    pub(super) number: u64,
    requests: Vec<GroupedRequest>,
    bytes: u64,
}

/// The objects after the checkpoint, in order and without gaps.
#[derive(Debug, Default)]
pub(super) struct Log {
    objects: VecDeque<Arc<LogObject>>,
    /// The expected number of new objects, which is the number of the previous read.
    expected: usize,
}

impl Log {
    /// Returns the objects after number `after`.
    pub(super) fn after(&self, after: u64) -> Vec<Arc<LogObject>> {
        self.objects.iter().filter(|object| object.number > after).cloned().collect()
    }

    /// Returns the number of the last object, or `at_least` if no object is newer.
    pub(super) fn through(&self, at_least: u64) -> u64 {
        self.objects.back().map_or(at_least, |last| last.number.max(at_least))
    }

    /// Drops the objects up to this number, which are contained in segments.
    pub(super) fn forget_through(&mut self, checkpoint: u64) {
        self.objects.retain(|object| object.number > checkpoint);
    }

    /// Reads the next objects, about [`GROUP_BYTES`] at most. Returns `true` if there may be more.
    ///
    /// # Errors
    /// [`Error::Damage`] if an object is damaged, or is missing although the manifest of `state` says that it
    /// exists; [`Error::Options`] for a newer format, [`Error::Storage`].
    pub(super) fn read_next(
        &mut self,
        objects: &dyn Objects,
        state: &mut StoreState,
        options: &Options,
    ) -> Result<bool> {
        let (mut read, mut bytes) = (0, 0);
        while bytes < GROUP_BYTES as u64 {
            let first = self.through(state.manifest.wal_checkpoint) + 1;
            let count = (self.expected.saturating_sub(read) + 1).clamp(1, MAX_READS) as u64;
            for (number, found) in find_together(objects, first..first + count) {
                let Some((entries, size)) = readable(objects, state, (number, found), options)? else {
                    self.expected = read;
                    return Ok(false);
                };
                let requests = entries.into_iter().map(|entry| decode_entry(number, entry));
                let requests = requests.collect::<Result<_>>()?;
                self.objects.push_back(Arc::new(LogObject { number, requests, bytes: size }));
                bytes += size;
                read += 1;
                self.expected = self.expected.max(read);
            }
        }
        Ok(true)
    }
}

/// Applies the objects after those in `state`, and adds the changed traces to `changed`.
///
/// # Errors
/// The errors of [`apply_durable`]. Objects before the failed one remain applied.
pub(super) fn apply(
    state: &mut StoreState,
    objects: &[Arc<LogObject>],
    changed: &mut Vec<TraceId>,
) -> Result<()> {
    let mut rest = objects;
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = |object: &&Arc<LogObject>| {
            bytes += object.bytes;
            bytes <= GROUP_BYTES as u64
        };
        let (group, after) = rest.split_at(rest.iter().take_while(fits).count().max(1));
        let requests = group.iter().flat_map(|object| object.requests.iter().cloned()).collect();
        let (last, bytes) =
            group.iter().fold((0, 0), |(_, bytes), object| (object.number, bytes + object.bytes));
        changed.extend(apply_durable(state, requests, last, bytes)?);
        rest = after;
    }
    Ok(())
}

type FetchedObject = Result<Option<(wal::WalObject, u64)>>;

/// Reads several objects, concurrently if the latency of each read is high.
fn find_together(objects: &dyn Objects, numbers: std::ops::Range<u64>) -> Vec<(u64, FetchedObject)> {
    if objects.read_concurrency() < 2 || numbers.end - numbers.start < 2 {
        let mut found = Vec::new();
        for number in numbers {
            found.push((number, wal::find(objects, number)));
            if !matches!(found.last(), Some((_, Ok(Some(_))))) {
                break;
            }
        }
        return found;
    }
    std::thread::scope(|scope| {
        let looking: Vec<_> =
            numbers.map(|number| (number, scope.spawn(move || wal::find(objects, number)))).collect();
        let died = || Err(Error::storage("wal", "a reading thread has died"));
        looking
            .into_iter()
            .map(|(number, thread)| (number, thread.join().unwrap_or_else(|_| died())))
            .collect()
    })
}

/// Returns the requests of an object and its size in bytes; `None` if it does not exist yet. For a damaged
/// object, returns the requests that the manifest records as salvaged.
fn readable(
    objects: &dyn Objects,
    state: &mut StoreState,
    (number, found): (u64, FetchedObject),
    options: &Options,
) -> Result<Option<(Vec<WalEntry>, u64)>> {
    let error = match found {
        Ok(Some((object, bytes))) => return Ok(Some((object.entries, bytes))),
        Ok(None) if number > state.manifest.wal_through => return Ok(None),
        Ok(None) => Error::damage(wal::path(number), 0, "the object is missing"),
        Err(error) => error,
    };
    quarantine_wal(objects, state, (number, error), options).map(Some)
}
