//! Follows a store: readers receive the committed traces that match their filters
//! (`docs/reference/api-search.md#tail`).
//!
//! The store records which traces changed ([`Changes`]), but not their content. A [`poll`] advances all readers to one
//! snapshot. It looks up the rows of the changed traces, evaluates the filters on these rows alone, and queues the ids
//! of the matching traces. A trace is read from the snapshot only when it is sent. Queues therefore take little memory,
//! and readers receive the latest state of a trace. Ingest does not depend on readers and never waits for them.

mod candidates;
mod event;
mod reader;

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

pub use event::{EventKind, TailEvent};
pub use reader::{MAX_QUEUED, MIN_INTERVAL, Tail};

use self::candidates::Candidates;
use crate::error::{Error, Result};
use crate::otlp::TraceId;
use crate::query::items::{PAGE_MEMORY, damaged_item, item};
use crate::storage::{Changes, Snapshot, SnapshotPart};
use crate::trace::detail::Detail;

/// The maximum number of changes that are evaluated together, which bounds the memory of their rows.
const MAX_EVALUATED: u64 = 8_192;

/// A reader gets no further events in one poll after this many bytes.
const MAX_POLL_BYTES: usize = 256 << 10;

/// The result of a poll.
#[derive(Debug, Default)]
pub struct Polled {
    /// The events of each reader, in the order of the readers.
    pub events: Vec<Vec<TailEvent>>,
    /// True if a reader has a deferred event, so that it must be polled even if nothing changes.
    pub has_deferred: bool,
    /// The damage of traces that are marked as damaged, and the errors of traces that could not be read.
    pub errors: Vec<String>,
}

/// Advances readers to a snapshot, and returns the next events of each. Each reader is paired with its maximum number
/// of events. Readers must be distinct.
///
/// # Errors
/// Damage found while an index is rebuilt.
pub fn poll(
    snapshot: &Snapshot,
    changes: &Changes,
    readers: &[(&Tail, usize)],
    now: Instant,
) -> Result<Polled> {
    let mut by_position: BTreeMap<u64, Vec<&Tail>> = BTreeMap::new();
    for (reader, _) in readers {
        by_position.entry(reader.position()).or_default().push(reader);
    }
    for (position, group) in by_position {
        advance(snapshot, changes, &group, position)?;
    }
    let mut items = Items { snapshot, known: HashMap::new(), errors: Vec::new() };
    let mut polled = Polled::default();
    for (reader, max_events) in readers {
        polled.events.push(next_events(&mut items, reader, *max_events, now)?);
        polled.has_deferred |= reader.has_deferred();
    }
    polled.errors = items.errors;
    Ok(polled)
}

/// Offers the matching changes between `position` and the snapshot to readers that are all at `position`.
fn advance(snapshot: &Snapshot, changes: &Changes, readers: &[&Tail], mut position: u64) -> Result<()> {
    let through = snapshot.changes();
    while position < through {
        let end = through.min(position + MAX_EVALUATED);
        let (start, recent) = changes.between(position, end);
        let is_gap = start > position;
        let latest = latest_changes(start, &recent);
        let candidates = Candidates::of(snapshot, latest.iter().map(|(trace_id, _)| *trace_id));
        position = end.max(start.min(through));
        for reader in readers {
            let matching = candidates.matching(reader.filter())?;
            let matching = latest.iter().zip(matching).filter(|(_, location)| location.is_some());
            reader.advance(matching.map(|(change, _)| *change), position, is_gap);
        }
    }
    Ok(())
}

/// Returns each of the `changed` traces once, with the position of its last change, in that order. The changes follow
/// `start`.
fn latest_changes(start: u64, changed: &[TraceId]) -> Vec<(TraceId, u64)> {
    let latest: HashMap<TraceId, u64> = changed.iter().copied().zip(start + 1..).collect();
    let mut latest: Vec<(TraceId, u64)> = latest.into_iter().collect();
    latest.sort_unstable_by_key(|(_, position)| *position);
    latest
}

/// Returns the next events of a reader. A queued trace that no longer matches or no longer exists is skipped.
fn next_events(
    items: &mut Items<'_>,
    reader: &Tail,
    max_events: usize,
    now: Instant,
) -> Result<Vec<TailEvent>> {
    let snapshot = items.snapshot;
    let mut batch = reader.start_batch(max_events, now);
    let candidates = Candidates::of(snapshot, batch.traces().iter().copied());
    let locations = candidates.matching(reader.filter())?;
    let mut bytes = 0;
    for (index, location) in locations.into_iter().enumerate() {
        if bytes >= MAX_POLL_BYTES {
            batch.requeue_from(index);
            break;
        }
        let Some(location) = location else { continue };
        match items.of(location) {
            Some(item) => bytes += batch.add(index, item, snapshot.changes()),
            None => batch.count_dropped(),
        }
    }
    Ok(batch.finish())
}

/// The JSON of the traces that readers receive in one poll. Each trace is written once.
struct Items<'a> {
    snapshot: &'a Snapshot,
    known: HashMap<(usize, u32), Option<Vec<u8>>>,
    errors: Vec<String>,
}

impl Items<'_> {
    /// Returns the JSON of the trace in a row; `None` if it cannot be read.
    fn of(&mut self, (part, row): (usize, u32)) -> Option<&[u8]> {
        let Self { snapshot, known, errors } = self;
        let known = known.entry((part, row)).or_insert_with(|| {
            let written = write_item(&snapshot.parts()[part], row as usize, errors);
            written.map_err(|error| errors.push(error.to_string())).ok()
        });
        known.as_deref()
    }
}

/// Returns the JSON of the trace in a row. A trace with a damaged document is marked as damaged, and the damage is
/// recorded.
fn write_item(part: &SnapshotPart, row: usize, damage: &mut Vec<String>) -> Result<Vec<u8>> {
    let _permit = PAGE_MEMORY.acquire(part.document_bytes(row), || Ok(()))?;
    match part.trace(row) {
        Ok(trace) => item(&trace, Detail::Preview),
        Err(error @ Error::Damage { .. }) => {
            damage.push(error.to_string());
            damaged_item(&part.batch()?, row, Detail::Preview).ok_or(error)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Filter;
    use crate::storage::MAX_CHANGES;

    #[test]
    fn a_reader_that_is_too_far_behind_receives_one_gap() {
        let (changes, reader) = (Changes::default(), Tail::new(Filter::all(), 0));
        let trace_id = TraceId::from_bytes(&[1; 16]).expect("an id");
        let kinds = |position: u64| {
            let snapshot = Snapshot::default().after(&Snapshot::default(), position);
            let polled = poll(&snapshot, &changes, &[(&reader, 1)], Instant::now()).expect("a poll");
            polled.events[0].iter().map(|event| event.kind).collect::<Vec<_>>()
        };
        let remembered = changes.append(&vec![trace_id; MAX_CHANGES]);
        assert_eq!(kinds(remembered), []);
        let lost = changes.append(&vec![trace_id; MAX_CHANGES + 1]);
        assert_eq!(kinds(lost), [EventKind::Gap]);
        assert_eq!(kinds(lost), []);
        assert!(reader.rewind(0));
        assert_eq!(kinds(lost), [EventKind::Gap]);
    }
}
