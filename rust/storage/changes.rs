//! The traces that requests have changed since the store was opened, for readers that follow it.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::otlp::TraceId;

/// The maximum number of changes that are kept, 16 bytes each: 30 seconds at 2,000 traces per second.
pub const MAX_CHANGES: usize = 65_536;

/// The traces that requests have changed, the most recent last. A position is the number of changes since the
/// store was opened: [`crate::storage::Snapshot::changes`] is the position up to which a snapshot contains
/// them.
///
/// Flushes, compactions, deletions and bulk loads are not recorded.
#[derive(Debug, Default)]
pub struct Changes {
    recent: Mutex<Recent>,
}

#[derive(Debug, Default)]
struct Recent {
    /// The position before the first trace.
    first: u64,
    traces: VecDeque<TraceId>,
}

impl Recent {
    fn position(&self) -> u64 {
        self.first + self.traces.len() as u64
    }
}

impl Changes {
    /// Returns the traces that changed after position `after` and up to position `through`, in order, and the
    /// position before the first of them. That position is later than `after` if older changes have been
    /// dropped.
    pub fn between(&self, after: u64, through: u64) -> (u64, Vec<TraceId>) {
        let recent = self.recent();
        let after = after.max(recent.first);
        let index =
            |position: u64| usize::try_from(position.saturating_sub(recent.first)).unwrap_or(usize::MAX);
        let (start, end) = (index(after), index(through).min(recent.traces.len()));
        (after, recent.traces.range(start.min(end)..end).copied().collect())
    }

    /// Adds changed traces, and returns the position after them.
    pub(crate) fn append(&self, traces: &[TraceId]) -> u64 {
        let mut recent = self.recent();
        recent.traces.extend(traces);
        let forgotten = recent.traces.len().saturating_sub(MAX_CHANGES);
        recent.traces.drain(..forgotten);
        recent.first += forgotten as u64;
        recent.position()
    }

    /// Drops all changes, because some changed traces are unknown.
    pub(crate) fn forget(&self) {
        let mut recent = self.recent();
        recent.first = recent.position() + 1;
        recent.traces.clear();
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn trace(number: u64) -> TraceId {
        TraceId::from_bytes(&[1_u64.to_be_bytes(), number.to_be_bytes()].concat()).expect("an id")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn what_is_remembered_is_returned_in_order(
            groups in prop::collection::vec(0..MAX_CHANGES / 3, 0..6), after in 0..150_000_u64, length in 0..9_000_u64,
        ) {
            let changes = Changes::default();
            let mut all = Vec::new();
            for size in groups {
                let group: Vec<TraceId> = (0..size).map(|number| trace((all.len() + number) as u64)).collect();
                all.extend(&group);
                prop_assert_eq!(changes.append(&group), all.len() as u64);
            }
            let through = (after + length).min(all.len() as u64);
            let (start, found) = changes.between(after, through);
            prop_assert_eq!(start, after.max(all.len().saturating_sub(MAX_CHANGES) as u64));
            let expected = all.iter().enumerate().filter(|(index, _)| (start..through).contains(&(*index as u64)));
            prop_assert!(found.iter().eq(expected.map(|(_, trace)| trace)));
        }
    }
}
