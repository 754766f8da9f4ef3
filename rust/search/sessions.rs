//! Searches for sessions: the filter selects traces, which are then grouped by session, an id with its owner.
//!
//! Sessions are identified by numbers ([`crate::storage::GlobalOrdinals`]) and counted in bitmaps. Rows are read newest
//! first across all parts, and a session takes the position of its first row, so the page is found without reading
//! the rows behind it. Only the sessions of the page are read completely.

use std::collections::HashSet;

use serde::Serialize;

use super::cancellation::CancellationToken;
use super::gather::{SessionPart, ValueOfTrace};
use super::page::{Page, PageRequest, Window};
use super::pool::in_rounds;
use super::selection::{PARTS_PER_THREAD, Selection, SortKey, select};
use super::session_numbers::{SessionNumbers, is_set, set};

use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::index::{Projection, ones, split_session_key};
use crate::schema::Field;
use crate::storage::Snapshot;
use crate::time::write_instant;

/// Rows that are read between two checks for cancellation.
const ROWS_PER_CHECK: usize = 1 << 14;

/// Sessions per thread that are built in one round.
const SESSIONS_PER_THREAD: usize = 64;

/// A session as the response shows it (`docs/reference/api-search.md#session-stats`).
#[derive(Debug, Default, Serialize)]
struct SessionRow<'a> {
    session_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    team_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workflow_id: Option<&'a str>,
    total_traces: u64,
    first_trace_at: String,
    last_trace_at: String,
}

/// The fields of a session besides its id and its owner, in the order of [`SessionTrace::details`].
const DETAIL_FIELDS: [Field; 3] = [Field::AgentId, Field::TeamId, Field::WorkflowId];

/// Returns what is read of rows to group them by session.
pub(super) fn projection() -> Projection {
    let projection = Projection::SORT_KEY.with(Projection::SESSIONS);
    DETAIL_FIELDS.into_iter().fold(projection, Projection::and)
}

/// Returns the requested page of the sessions among the traces that `filter` matches: newest last trace first, then
/// session id ascending, then without an owner, then owner ascending.
///
/// # Errors
/// [`Error::Cancelled`]; damage found while an index is rebuilt.
pub fn sessions(
    snapshot: &Snapshot,
    filter: &Filter,
    request: PageRequest,
    cancel: &CancellationToken,
) -> Result<Page> {
    let selections = select(snapshot, filter, projection(), cancel)?;
    // Not in the pool: a pool thread that waits may pick up another search, which would then wait for the numbers
    // that this one is computing.
    let numbers = SessionNumbers::new(snapshot, &selections)?;
    let total_count = count(&selections, &numbers, cancel)?;
    let page = first_sessions((&selections, &numbers), request.window(), cancel)?;
    let parts = in_rounds(&page, SESSIONS_PER_THREAD, |(_, (_, session))| {
        cancel.check()?;
        Ok(part_of(&traces_of(&selections, &numbers, *session)))
    })?;
    let keys = page.iter().map(|(_, (part, code))| selections[*part].view.session(*code));
    let data = print_sessions(keys.zip(&parts))?;
    Ok(Page { data, total_count, is_exact: true, damage: Vec::new() })
}

/// Returns sessions, each given by its key and all that was selected of it, as a JSON array.
pub(super) fn print_sessions<'p>(
    sessions: impl Iterator<Item = (&'p [u8], &'p SessionPart)>,
) -> Result<Vec<u8>> {
    let rows: Vec<SessionRow<'_>> = sessions.map(|(key, part)| SessionRow::of(key, part)).collect();
    serde_json::to_vec(&rows)
        .map_err(|error| Error::Batch(format!("a session row cannot be printed: {error}")))
}

/// Returns how many sessions have a selected row. Sessions that only one segment has are counted by its own codes.
pub(super) fn count(
    selections: &[Selection<'_>],
    numbers: &SessionNumbers<'_>,
    cancel: &CancellationToken,
) -> Result<u64> {
    let is_every =
        numbers.is_every_segment() && selections.iter().enumerate().all(has_every_session(numbers));
    let codes_of_part = |(part, selection): (usize, &Selection<'_>)| -> Result<Vec<u64>> {
        cancel.check()?;
        let mut codes = vec![0; selection.view.session_codes().div_ceil(64)];
        if !is_every || !numbers.is_segment(part) {
            selection.view.for_each_session(&selection.rows, |code| _ = set(&mut codes, code));
        }
        Ok(codes)
    };
    let codes: Vec<Vec<u64>> = in_rounds(selections, PARTS_PER_THREAD, codes_of_part)?;
    let mut total = if is_every { numbers.sealed() } else { 0 };
    let mut seen = vec![0; numbers.end().div_ceil(64)];
    for (part, own) in codes.iter().enumerate() {
        let part_numbers = numbers.of_part(part);
        for (word, own) in own.iter().enumerate() {
            let only = !numbers.shared(part).map_or(u64::MAX, |shared| shared[word]);
            total += u64::from((own & only).count_ones());
            for code in ones(word, own & !only).map(|code| code as usize) {
                let is_counted = !numbers.is_segment(part)
                    && match numbers.only_segment(part, code) {
                        Some((segment, code)) => is_every || is_set(&codes[segment], code),
                        None => is_every && numbers.is_sealed(part, code),
                    };
                total += u64::from(!is_counted && set(&mut seen, part_numbers[code] as usize));
            }
        }
    }
    Ok(total)
}

/// Returns a test whether all sessions of a segment have a selected row: only deleted rows are missing, and their
/// sessions have other rows. It holds for every batch of the head.
fn has_every_session<'a>(numbers: &'a SessionNumbers<'_>) -> impl Fn((usize, &Selection<'_>)) -> bool + 'a {
    /// With more deleted rows than this, they are not checked one by one.
    const MAX_DELETED: usize = 1 << 14;
    |(part, selection)| {
        if !numbers.is_segment(part) {
            return true;
        }
        let view = &selection.view;
        let all = 0..u32::try_from(view.count()).unwrap_or(u32::MAX);
        let Some(deleted) = selection.rows.missing_from(&all).filter(|deleted| deleted.len() <= MAX_DELETED)
        else {
            return false;
        };
        let mut codes: Vec<usize> =
            deleted.iter().filter_map(|row| view.session_code(*row as usize)).collect();
        codes.sort_unstable();
        codes.chunk_by(|one, other| one == other).all(|tied| tied.len() < view.rows_of_code(tied[0]))
    }
}

/// A session: a selection that has it, and its code there.
pub(super) type SessionRef = (usize, usize);

/// Returns the sessions of a window, in order, each with the start of its newest trace in microseconds since 1970.
pub(super) fn first_sessions(
    (selections, numbers): (&[Selection<'_>], &SessionNumbers<'_>),
    window: Window,
    cancel: &CancellationToken,
) -> Result<Vec<(i64, SessionRef)>> {
    let (offset, end) = (window.offset, window.end());
    let mut rows = NewestFirst::new(selections);
    let mut seen = vec![0; numbers.end().div_ceil(64)];
    let (mut before, mut tied, mut page) = (0, Vec::<SessionRef>::new(), Vec::new());
    let mut instant = None;
    for step in 0_usize.. {
        if step % ROWS_PER_CHECK == 0 {
            cancel.check()?;
        }
        let next = rows.next_row();
        let start = next.map(|(part, row)| selections[part].view.start_time(row));
        if start != instant {
            // Sessions whose last traces start at the same instant are sorted by id before the page is cut.
            let count = tied.len();
            if before + count > offset {
                tied.sort_unstable_by_key(|(part, code)| {
                    split_session_key(selections[*part].view.session(*code))
                });
                let first = offset.saturating_sub(before);
                let start = instant.unwrap_or_default();
                page.extend(tied.iter().skip(first).take(end - before.max(offset)).map(|one| (start, *one)));
            }
            before += count;
            tied.clear();
            instant = start;
        }
        let Some((part, row)) = next.filter(|_| before < end) else { return Ok(page) };
        let Some(code) = selections[part].view.session_code(row) else { continue };
        if set(&mut seen, numbers.of_part(part)[code] as usize) {
            tied.push((part, code));
        }
    }
    Ok(page)
}

/// The selected rows of all parts, newest first.
struct NewestFirst<'a> {
    selections: &'a [Selection<'a>],
    iterators: Vec<Box<dyn Iterator<Item = u32> + Send + 'a>>,
    next_rows: Vec<Option<(i64, usize)>>,
}

impl<'a> NewestFirst<'a> {
    fn new(selections: &'a [Selection<'a>]) -> Self {
        let iterators = selections.iter().map(|selection| selection.rows.from(0)).collect();
        let mut rows = Self { selections, iterators, next_rows: vec![None; selections.len()] };
        (0..selections.len()).for_each(|part| rows.advance(part));
        rows
    }

    fn advance(&mut self, part: usize) {
        let row = self.iterators[part].next().map(|row| row as usize);
        self.next_rows[part] = row.map(|row| (self.selections[part].view.start_time(row), row));
    }

    /// Returns the part and the number of the next row.
    fn next_row(&mut self) -> Option<(usize, usize)> {
        let next_rows = self.next_rows.iter().enumerate();
        let newest = next_rows.filter_map(|(part, head)| head.map(|(start, row)| (start, part, row)));
        let (_, part, row) = newest.max_by_key(|(start, _, _)| *start)?;
        self.advance(part);
        Some((part, row))
    }
}

/// A selected trace of a session on the page.
pub(super) struct SessionTrace<'a> {
    key: SortKey<'a>,
    /// The values of [`DETAIL_FIELDS`].
    details: [Option<&'a str>; 3],
}

/// Returns the selected traces of a session, newest first.
fn traces_of<'a>(
    selections: &'a [Selection<'a>],
    numbers: &SessionNumbers<'_>,
    session: SessionRef,
) -> Vec<SessionTrace<'a>> {
    let having = selections.iter().enumerate().filter(|(part, _)| numbers.may_have(*part, session));
    traces_in(having.map(|(_, part)| part), selections[session.0].view.session(session.1))
}

fn traces_in<'a>(parts: impl Iterator<Item = &'a Selection<'a>>, session: &[u8]) -> Vec<SessionTrace<'a>> {
    let mut traces = Vec::new();
    for part in parts {
        for row in part.view.rows_of_session(session).into_iter().filter(|row| part.rows.contains(*row)) {
            let row = row as usize;
            let details = DETAIL_FIELDS.map(|field| part.view.text(field, row));
            traces.push(SessionTrace { key: part.key(row), details });
        }
    }
    traces.sort_unstable_by(|one, other| one.key.cmp(&other.key));
    traces
}

/// Returns the selected traces of a session, given by its key, newest first.
pub(super) fn traces_of_key<'a>(selections: &'a [Selection<'a>], session: &[u8]) -> Vec<SessionTrace<'a>> {
    traces_in(selections.iter(), session)
}

/// Returns what there is of a session, from its selected traces, newest first.
pub(super) fn part_of(traces: &[SessionTrace<'_>]) -> SessionPart {
    let value = |trace: &SessionTrace<'_>, at: usize| {
        let value = trace.details[at]?.to_owned();
        Some(ValueOfTrace { key: trace.key.to_bytes().to_vec(), value })
    };
    let mut seen = HashSet::new();
    let oldest_first =
        traces.iter().rev().filter(|trace| trace.details[0].is_some_and(|own| seen.insert(own)));
    let agents = oldest_first.filter_map(|trace| value(trace, 0)).collect();
    SessionPart {
        count: traces.len() as u64,
        oldest: traces.last().map_or(i64::MAX, |trace| trace.key.start_time()),
        newest: traces.first().map_or(i64::MIN, |trace| trace.key.start_time()),
        team: traces.iter().find_map(|trace| value(trace, 1)),
        workflow: traces.iter().find_map(|trace| value(trace, 2)),
        agents,
    }
}

impl<'p> SessionRow<'p> {
    fn of(key: &'p [u8], part: &'p SessionPart) -> Self {
        let (session_id, user_id) = split_session_key(key).unwrap_or_default();
        let agents: Vec<&str> = part.agents.iter().map(|agent| agent.value.as_str()).collect();
        let value = |of: &'p Option<ValueOfTrace>| of.as_ref().map(|of| of.value.as_str());
        let mut row = Self {
            session_id,
            user_id,
            agent_id: (!agents.is_empty()).then(|| agents.join(", ")),
            team_id: value(&part.team),
            workflow_id: value(&part.workflow),
            total_traces: part.count,
            ..Self::default()
        };
        for (printed, start) in
            [(&mut row.first_trace_at, part.oldest), (&mut row.last_trace_at, part.newest)]
        {
            write_instant(printed, start);
        }
        row
    }
}

/// Calls `visit` with the key of every session that has a selected row, each once.
///
/// # Errors
/// [`Error::Cancelled`].
pub(super) fn for_each_session(
    selections: &[Selection<'_>],
    numbers: &SessionNumbers<'_>,
    cancel: &CancellationToken,
    mut visit: impl FnMut(&[u8]),
) -> Result<()> {
    let mut seen = vec![0; numbers.end().div_ceil(64)];
    for (part, selection) in selections.iter().enumerate() {
        cancel.check()?;
        let mut codes = vec![0; selection.view.session_codes().div_ceil(64)];
        selection.view.for_each_session(&selection.rows, |code| _ = set(&mut codes, code));
        for (word, bits) in codes.into_iter().enumerate() {
            for code in ones(word, bits).map(|code| code as usize) {
                if set(&mut seen, numbers.of_part(part)[code] as usize) {
                    visit(selection.view.session(code));
                }
            }
        }
    }
    Ok(())
}
