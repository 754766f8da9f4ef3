//! Pages of sessions: the filter selects traces, then those with a session are grouped.
//!
//! Two passes: the first counts and dates every session, by its code within each part; the second
//! looks again at the rows of only those sessions that the page shows.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use arrow_array::cast::AsArray as _;
use arrow_array::types::Int32Type;
use arrow_array::{Array as _, DictionaryArray, StringArray};
use rayon::prelude::*;
use serde::Serialize;

use super::selection::{OrderKey, Selection, select};
use super::{Cancel, POOL, Page, Window};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::schema::Field;
use crate::storage::Snapshot;
use crate::time::write_instant;

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
    total_traces: u64,
    first_trace_at: String,
    last_trace_at: String,
}

/// What is known of a session before the page is cut: instants are microseconds since 1970.
#[derive(Debug, Clone, Copy)]
struct Tally {
    traces: u64,
    first: i64,
    last: i64,
}

impl Tally {
    const NONE: Self = Self { traces: 0, first: i64::MAX, last: i64::MIN };

    fn and(self, other: Self) -> Self {
        Self {
            traces: self.traces + other.traces,
            first: self.first.min(other.first),
            last: self.last.max(other.last),
        }
    }
}

/// Returns the page of sessions among the traces that `filter` selects: newest last trace first, then
/// session id ascending.
///
/// # Errors
/// [`Error::Cancelled`], or a batch that is not a trace batch.
pub fn sessions(snapshot: &Snapshot, filter: &Filter, window: Window, cancel: &Cancel) -> Result<Page> {
    let selections = select(snapshot, filter, cancel)?;
    let columns: Vec<Columns<'_>> = selections.iter().map(Columns::of).collect();
    let tallies = tally(&columns, cancel)?;
    let total_count = tallies.len() as u64;
    let page = cut(tallies, window);
    let rows = describe(&columns, &page, cancel)?;
    let data = serde_json::to_vec(&rows)
        .map_err(|fault| Error::Batch(format!("a session row cannot be printed: {fault}")))?;
    Ok(Page { data, total_count })
}

/// A selection with the columns that sessions are made from.
struct Columns<'a> {
    selection: &'a Selection<'a>,
    session: Coded<'a>,
    details: [Coded<'a>; 4],
}

/// The fields of [`Columns::details`], in order.
const DETAILS: [Field; 4] = [Field::UserId, Field::AgentId, Field::TeamId, Field::WorkflowId];

impl<'a> Columns<'a> {
    fn of(selection: &'a Selection<'a>) -> Self {
        Self {
            selection,
            session: Coded::of(selection, Field::SessionId),
            details: DETAILS.map(|field| Coded::of(selection, field)),
        }
    }
}

/// A column of dictionary codes.
struct Coded<'a> {
    codes: &'a DictionaryArray<Int32Type>,
    values: &'a StringArray,
}

impl<'a> Coded<'a> {
    fn of(selection: &'a Selection<'a>, field: Field) -> Self {
        let codes = selection.part.batch().column(field.column()).as_dictionary::<Int32Type>();
        Self { codes, values: codes.values().as_string() }
    }

    fn code(&self, row: usize) -> Option<usize> {
        self.codes.key(row)
    }

    fn value(&self, row: usize) -> Option<&'a str> {
        self.code(row).map(|code| self.values.value(code))
    }
}

/// Returns every session with its tally.
fn tally<'a>(columns: &[Columns<'a>], cancel: &Cancel) -> Result<Vec<(&'a str, Tally)>> {
    let tally_part = |part: &Columns<'a>| {
        cancel.check()?;
        let mut by_code = vec![Tally::NONE; part.session.values.len()];
        for row in part.selection.rows() {
            let Some(code) = part.session.code(row) else { continue };
            let start = part.selection.key(row).start_time();
            by_code[code] = by_code[code].and(Tally { traces: 1, first: start, last: start });
        }
        Ok(by_code)
    };
    let by_part: Vec<Vec<Tally>> =
        POOL.install(|| columns.par_iter().map(tally_part).collect::<Result<_>>())?;
    // A session may occur in several parts, and under several codes of one part.
    let mut by_session: HashMap<&'a str, Tally> = HashMap::new();
    for (part, by_code) in columns.iter().zip(by_part) {
        for (code, tally) in by_code.into_iter().enumerate().filter(|(_, tally)| tally.traces > 0) {
            let known = by_session.entry(part.session.values.value(code)).or_insert(Tally::NONE);
            *known = known.and(tally);
        }
    }
    Ok(by_session.into_iter().collect())
}

/// Returns the sessions of one page, in order.
fn cut<'a>(mut tallies: Vec<(&'a str, Tally)>, window: Window) -> Vec<(&'a str, Tally)> {
    let offset = usize::try_from(window.offset()).unwrap_or(usize::MAX);
    if offset >= tallies.len() {
        return Vec::new();
    }
    let end = offset.saturating_add(window.limit).min(tallies.len());
    let order = |(session, tally): &(&'a str, Tally)| (Reverse(tally.last), *session);
    if end < tallies.len() {
        tallies.select_nth_unstable_by_key(end, order);
    }
    tallies.truncate(end);
    if offset > 0 {
        tallies.select_nth_unstable_by_key(offset, order);
    }
    let mut page = tallies.split_off(offset);
    page.sort_unstable_by_key(order);
    page
}

/// A selected row of a session that the page shows.
struct Member<'a> {
    key: OrderKey<'a>,
    /// Values of [`DETAILS`].
    details: [Option<&'a str>; 4],
}

/// Returns the finished rows of the page's sessions.
fn describe<'a>(
    columns: &[Columns<'a>],
    page: &[(&'a str, Tally)],
    cancel: &Cancel,
) -> Result<Vec<SessionRow<'a>>> {
    let places: HashMap<&str, usize> =
        page.iter().enumerate().map(|(place, (session, _))| (*session, place)).collect();
    let mut members: Vec<Vec<Member<'a>>> = page.iter().map(|_| Vec::new()).collect();
    for part in columns {
        cancel.check()?;
        let place_of_code: Vec<Option<usize>> =
            part.session.values.iter().map(|value| places.get(value?).copied()).collect();
        if place_of_code.iter().all(Option::is_none) {
            continue;
        }
        for row in part.selection.rows() {
            let Some(place) = part.session.code(row).and_then(|code| place_of_code[code]) else { continue };
            let details = [0, 1, 2, 3].map(|at: usize| part.details[at].value(row));
            members[place].push(Member { key: part.selection.key(row), details });
        }
    }
    Ok(page.iter().zip(members).map(|((session, tally), members)| finish(session, *tally, members)).collect())
}

fn finish<'a>(session_id: &'a str, tally: Tally, mut members: Vec<Member<'a>>) -> SessionRow<'a> {
    members.sort_unstable_by(|one, other| one.key.cmp(&other.key));
    let latest = |at: usize| members.iter().find_map(|member| member.details[at]);
    let mut seen = HashSet::new();
    let in_order = members.iter().rev().filter_map(|member| member.details[1]);
    let agents: Vec<&str> = in_order.filter(|agent| seen.insert(*agent)).collect();
    let mut row = SessionRow {
        session_id,
        user_id: latest(0),
        agent_id: (!agents.is_empty()).then(|| agents.join(", ")),
        team_id: latest(2),
        workflow_id: latest(3),
        total_traces: tally.traces,
        ..SessionRow::default()
    };
    write_instant(&mut row.first_trace_at, tally.first);
    write_instant(&mut row.last_trace_at, tally.last);
    row
}
