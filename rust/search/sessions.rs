//! Pages of sessions: the filter selects traces, then those with a session are grouped.
//!
//! Sessions are known by numbers ([`crate::storage::Ordinals`]). How many there are is counted in
//! bitmaps. Rows are walked newest first, side by side, and a session is where it is first
//! met: so the page is found without a look at what comes behind it. Only the sessions of the page
//! are looked at whole.

use std::collections::HashSet;

use serde::Serialize;

use super::numbered::{Numbered, is_set, set};
use super::pool::in_rounds;
use super::selection::{OrderKey, PARTS, Selection, select};
use super::{CancellationToken, Page, PageRequest};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::index::{Projection, ones};
use crate::schema::Field;
use crate::storage::Snapshot;
use crate::time::write_instant;

/// So many rows are walked between two looks at whether the search is still wanted.
const STRIDE: usize = 1 << 14;

/// So many sessions a thread are looked at in one round.
const SESSIONS: usize = 64;

/// One session as an answer shows it (specification, "`TraceSessionStats`").
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
    total_traces: usize,
    first_trace_at: String,
    last_trace_at: String,
}

/// The fields of a session beside its own id, in the order of [`Member::details`].
const DETAILS: [Field; 4] = [Field::UserId, Field::AgentId, Field::TeamId, Field::WorkflowId];

/// Returns the page of sessions among the traces that `filter` selects: newest last trace first, then
/// session id ascending.
///
/// # Errors
/// [`Error::Cancelled`]; damage met while an index is built anew.
pub fn sessions(
    snapshot: &Snapshot,
    filter: &Filter,
    window: PageRequest,
    cancel: &CancellationToken,
) -> Result<Page> {
    let projection = DETAILS.into_iter().fold(Projection::SORT_KEY.and(Field::SessionId), Projection::and);
    let selections = select(snapshot, filter, projection, cancel)?;
    // Not in the pool: a thread that waits there for others may take up another search, and that would
    // wait for the numbers that this one is making.
    let numbered = Numbered::new(snapshot, &selections)?;
    let total_count = count(&selections, &numbered, cancel)?;
    let page = cut(&selections, &numbered, window, cancel)?;
    let described = |(_, session): (usize, &Place)| describe(&selections, &numbered, *session, cancel);
    let rows: Vec<SessionRow<'_>> = in_rounds(&page, SESSIONS, described)?;
    let data = serde_json::to_vec(&rows)
        .map_err(|fault| Error::Batch(format!("a session row cannot be printed: {fault}")))?;
    Ok(Page { data, total_count })
}

/// Returns how many sessions have a selected row. Those that only one segment has are counted by its own codes.
fn count(selections: &[Selection<'_>], numbered: &Numbered<'_>, cancel: &CancellationToken) -> Result<u64> {
    let is_every =
        numbered.is_every_segment() && selections.iter().enumerate().all(has_every_session(numbered));
    let codes_of_part = |(part, selection): (usize, &Selection<'_>)| -> Result<Vec<u64>> {
        cancel.check()?;
        let mut codes = vec![0; selection.view.session_codes().div_ceil(64)];
        if !is_every || !numbered.is_segment(part) {
            selection.view.for_each_session(&selection.rows, |code| _ = set(&mut codes, code));
        }
        Ok(codes)
    };
    let codes: Vec<Vec<u64>> = in_rounds(selections, PARTS, codes_of_part)?;
    let mut total = if is_every { numbered.sealed() } else { 0 };
    let mut met = vec![0; numbered.end().div_ceil(64)];
    for (part, own) in codes.iter().enumerate() {
        let numbers = numbered.of_part(part);
        for (place, own) in own.iter().enumerate() {
            let only = !numbered.shared(part).map_or(u64::MAX, |shared| shared[place]);
            total += u64::from((own & only).count_ones());
            for code in ones(place, own & !only).map(|code| code as usize) {
                let is_counted = !numbered.is_segment(part)
                    && match numbered.only_segment(part, code) {
                        Some((segment, code)) => is_every || is_set(&codes[segment], code),
                        None => is_every && numbered.is_sealed(part, code),
                    };
                total += u64::from(!is_counted && set(&mut met, numbers[code] as usize));
            }
        }
    }
    Ok(total)
}

/// Tells whether all sessions of a segment have a selected row: nothing but hidden rows is missing, and
/// their sessions have others. Of a batch of the head nothing is asked.
fn has_every_session<'a>(numbered: &'a Numbered<'_>) -> impl Fn((usize, &Selection<'_>)) -> bool + 'a {
    /// More hidden rows than this are not looked at one by one.
    const FEW: usize = 1 << 14;
    |(part, selection)| {
        if !numbered.is_segment(part) {
            return true;
        }
        let view = &selection.view;
        let all = 0..u32::try_from(view.count()).unwrap_or(u32::MAX);
        let Some(hidden) = selection.rows.missing_from(&all).filter(|hidden| hidden.len() <= FEW) else {
            return false;
        };
        let mut codes: Vec<usize> =
            hidden.iter().filter_map(|row| view.session_code(*row as usize)).collect();
        codes.sort_unstable();
        codes.chunk_by(|one, other| one == other).all(|alike| alike.len() < view.rows_of_code(alike[0]))
    }
}

/// A session: a selection that has it, and its code there.
type Place = (usize, usize);

/// Returns the sessions of one page, in order.
fn cut(
    selections: &[Selection<'_>],
    numbered: &Numbered<'_>,
    window: PageRequest,
    cancel: &CancellationToken,
) -> Result<Vec<Place>> {
    let offset = usize::try_from(window.offset()).unwrap_or(usize::MAX);
    let end = offset.saturating_add(window.limit);
    let mut walk = Walk::new(selections);
    let mut met = vec![0; numbered.end().div_ceil(64)];
    let (mut before, mut alike, mut page) = (0, Vec::<Place>::new(), Vec::new());
    let mut instant = None;
    for step in 0_usize.. {
        if step % STRIDE == 0 {
            cancel.check()?;
        }
        let next = walk.step();
        let start = next.map(|(part, row)| selections[part].view.start_time(row));
        if start != instant {
            // All that begin at one instant are ordered among themselves before the page is cut.
            let count = alike.len();
            if before + count > offset {
                alike.sort_unstable_by_key(|(part, code)| selections[*part].view.session(*code));
                let first = offset.saturating_sub(before);
                page.extend(alike.iter().skip(first).take(end - before.max(offset)));
            }
            before += count;
            alike.clear();
            instant = start;
        }
        let Some((part, row)) = next.filter(|_| before < end) else { return Ok(page) };
        let Some(code) = selections[part].view.session_code(row) else { continue };
        if set(&mut met, numbered.of_part(part)[code] as usize) {
            alike.push((part, code));
        }
    }
    Ok(page)
}

/// Walks the selected rows of all parts, newest first.
struct Walk<'a> {
    selections: &'a [Selection<'a>],
    rests: Vec<Box<dyn Iterator<Item = u32> + Send + 'a>>,
    heads: Vec<Option<(i64, usize)>>,
}

impl<'a> Walk<'a> {
    fn new(selections: &'a [Selection<'a>]) -> Self {
        let rests = selections.iter().map(|selection| selection.rows.from(0)).collect();
        let mut walk = Self { selections, rests, heads: vec![None; selections.len()] };
        (0..selections.len()).for_each(|part| walk.advance(part));
        walk
    }

    fn advance(&mut self, part: usize) {
        let row = self.rests[part].next().map(|row| row as usize);
        self.heads[part] = row.map(|row| (self.selections[part].view.start_time(row), row));
    }

    /// Returns the part and the row of the next one.
    fn step(&mut self) -> Option<(usize, usize)> {
        let heads = self.heads.iter().enumerate();
        let newest = heads.filter_map(|(part, head)| head.map(|(start, row)| (start, part, row)));
        let (_, part, row) = newest.max_by_key(|(start, _, _)| *start)?;
        self.advance(part);
        Some((part, row))
    }
}

/// A selected row of a session that the page shows.
struct Member<'a> {
    key: OrderKey<'a>,
    /// Values of [`DETAILS`].
    details: [Option<&'a str>; 4],
}

/// Returns the selected rows of a session.
fn members<'a>(selections: &'a [Selection<'a>], numbered: &Numbered<'_>, session: Place) -> Vec<Member<'a>> {
    let mut members = Vec::new();
    let having = selections.iter().enumerate().filter(|(part, _)| numbered.may_have(*part, session));
    let session = selections[session.0].view.session(session.1);
    for (_, part) in having {
        for row in part.view.rows_of_session(session).into_iter().filter(|row| part.rows.contains(*row)) {
            let row = row as usize;
            let details = DETAILS.map(|field| part.view.text(field, row));
            members.push(Member { key: part.key(row), details });
        }
    }
    members.sort_unstable_by(|one, other| one.key.cmp(&other.key));
    members
}

/// Returns the finished row of a session, of which at least one row is selected.
fn describe<'a>(
    selections: &'a [Selection<'a>],
    numbered: &Numbered<'_>,
    session: Place,
    cancel: &CancellationToken,
) -> Result<SessionRow<'a>> {
    cancel.check()?;
    let members = members(selections, numbered, session);
    let latest = |at: usize| members.iter().find_map(|member| member.details[at]);
    let mut seen = HashSet::new();
    let in_order = members.iter().rev().filter_map(|member| member.details[1]);
    let agents: Vec<&str> = in_order.filter(|agent| seen.insert(*agent)).collect();
    let mut row = SessionRow {
        session_id: std::str::from_utf8(selections[session.0].view.session(session.1)).unwrap_or_default(),
        user_id: latest(0),
        agent_id: (!agents.is_empty()).then(|| agents.join(", ")),
        team_id: latest(2),
        workflow_id: latest(3),
        total_traces: members.len(),
        ..SessionRow::default()
    };
    for (printed, member) in
        [(&mut row.first_trace_at, members.last()), (&mut row.last_trace_at, members.first())]
    {
        write_instant(printed, member.map_or(0, |member| member.key.start_time()));
    }
    Ok(row)
}
