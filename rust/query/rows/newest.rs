//! Finds the newest rows that a filter selects without checking all candidates.
//!
//! Candidates are checked in result order, in growing rounds, until enough rows are selected. A page of a common
//! condition therefore needs few document checks, even in a large store. The number of rows beyond it stays unknown.

use std::collections::BTreeMap;
use std::iter::Peekable;

use crate::bitmap::{LiveRows, RowSet};
use crate::error::Result;
use crate::filter::Filter;
use crate::index::columns::Projection;
use crate::query::cancellation::CancellationToken;
use crate::query::pool::threads;
use crate::query::rows::selection::{Selection, candidates_of, check_documents};
use crate::storage::{ColumnMatch, Snapshot, SnapshotPart};

/// Candidates per thread in the first round, and in the largest one.
const FIRST_PER_THREAD: usize = 8;
const MAX_PER_THREAD: usize = 256;

/// The newest selected rows.
pub(crate) struct Newest<'a> {
    pub(crate) selections: Vec<Selection<'a>>,
    /// The part and the row up to which all selected rows are known, in result order; `None` if these are all rows.
    pub(crate) frontier: Option<(usize, usize)>,
}

/// A row that may be selected: its part, its row there, and whether it is selected for certain.
type CandidateRow = (usize, u32, bool);

/// Returns at least `min_count` of the newest rows that `filter` selects, or all if there are fewer. It stops early,
/// with the rows selected so far, after [`CancellationToken::max_document_checks`] document checks.
///
/// # Errors
/// [`crate::error::Error::Cancelled`]; damage found in an index.
pub(crate) fn newest<'a>(
    snapshot: &'a Snapshot,
    filter: &Filter,
    min_count: usize,
    cancel: &CancellationToken,
) -> Result<Newest<'a>> {
    let parts = snapshot.parts();
    let candidates = candidates_of(parts, filter, cancel)?;
    let mut open = OpenRows::new(parts, &candidates)?;
    let mut by_part: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    let (mut count, mut checks, mut per_thread) = (0, 0, FIRST_PER_THREAD);
    let (mut is_complete, mut last) = (false, None);
    while count < min_count && checks < cancel.max_document_checks() && !is_complete {
        let round = open.next_round(threads() * per_thread);
        is_complete = round.len() < threads() * per_thread;
        last = round.last().map(|(part, row, _)| (*part, *row as usize)).or(last);
        checks += round.iter().filter(|(_, _, is_known)| !is_known).count();
        for (part, rows) in select_round(parts, filter, &round, cancel)? {
            count += rows.len();
            by_part.entry(part).or_default().extend(rows);
        }
        per_thread = (2 * per_thread).min(MAX_PER_THREAD);
    }
    let selections = by_part.into_iter().map(|(index, rows)| {
        let part = &parts[index];
        let rows = LiveRows::new(RowSet::List(rows.into()), part.invisible());
        Selection::of((index, part), rows, Projection::SORT_KEY)
    });
    let frontier = last.filter(|_| !is_complete);
    Ok(Newest { selections: selections.collect::<Result<_>>()?, frontier })
}

/// Returns the selected rows among the candidates of a round, by part and ascending.
fn select_round(
    parts: &[SnapshotPart],
    filter: &Filter,
    round: &[CandidateRow],
    cancel: &CancellationToken,
) -> Result<BTreeMap<usize, Vec<u32>>> {
    let mut by_part: BTreeMap<usize, Vec<(u32, bool)>> = BTreeMap::new();
    for (part, row, is_known) in round {
        by_part.entry(*part).or_default().push((*row, *is_known));
    }
    let mut selected = BTreeMap::new();
    for (index, rows) in by_part {
        let part = &parts[index];
        let unknown: Vec<u32> = rows.iter().filter(|(_, is_known)| !is_known).map(|(row, _)| *row).collect();
        let matching = check_documents(part, filter, &unknown, cancel)?;
        let is_selected = |(row, is_known): &(u32, bool)| *is_known || matching.binary_search(row).is_ok();
        selected.insert(index, rows.into_iter().filter(is_selected).map(|(row, _)| row).collect());
    }
    Ok(selected)
}

/// Rows of a part, ascending, each with whether it is selected for certain.
type CandidateRows<'c> = Peekable<Box<dyn Iterator<Item = (u32, bool)> + 'c>>;

/// The candidates of all parts that are not checked yet, in result order.
struct OpenRows<'c> {
    rows: Vec<CandidateRows<'c>>,
    /// Empty selections that provide the sort keys of each part.
    keys: Vec<Selection<'c>>,
}

impl<'c> OpenRows<'c> {
    fn new(parts: &'c [SnapshotPart], candidates: &'c [ColumnMatch]) -> Result<Self> {
        let rows = parts.iter().zip(candidates).map(|(part, ColumnMatch { certain, unverified })| {
            let is_visible = |row: &u32| !part.invisible().contains(*row);
            let mut certain = certain.from(0).filter(is_visible).peekable();
            let mut unverified = unverified.iter().copied().filter(is_visible).peekable();
            let next = move || match (certain.peek(), unverified.peek()) {
                (Some(known), Some(open)) if known < open => certain.next().map(|row| (row, true)),
                (Some(_), None) => certain.next().map(|row| (row, true)),
                _ => unverified.next().map(|row| (row, false)),
            };
            let rows: Box<dyn Iterator<Item = (u32, bool)> + 'c> = Box::new(std::iter::from_fn(next));
            rows.peekable()
        });
        let no_rows = |part: (usize, &'c SnapshotPart)| {
            Selection::of(part, LiveRows::new(RowSet::NONE, part.1.invisible()), Projection::SORT_KEY)
        };
        let keys = parts.iter().enumerate().map(no_rows).collect::<Result<_>>()?;
        Ok(Self { rows: rows.collect(), keys })
    }

    /// Returns the next candidates, at most `count`. There are fewer only at the end.
    fn next_round(&mut self, count: usize) -> Vec<CandidateRow> {
        let mut round = Vec::with_capacity(count);
        while round.len() < count {
            let heads = self.rows.iter_mut().enumerate();
            let heads = heads.filter_map(|(part, rows)| rows.peek().map(|(row, _)| (part, *row as usize)));
            let first = heads.min_by(|(one, row), (other, other_row)| {
                self.keys[*one].key(*row).cmp(&self.keys[*other].key(*other_row))
            });
            let Some((part, _)) = first else { break };
            round.extend(self.rows[part].next().map(|(row, is_known)| (part, row, is_known)));
        }
        round
    }
}
