//! Pages of sessions: the filter selects traces, then those with a session are grouped.
//!
//! Two passes: the first counts and dates every session, by its code within each part; the second
//! looks again at the rows of only those sessions that the page shows.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use rayon::prelude::*;
use serde::Serialize;

use super::selection::{OrderKey, Selection, select};
use super::{Cancel, POOL, Page, Window};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::index::Needed;
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
    let needed = DETAILS.into_iter().fold(Needed::ORDER.and(Field::SessionId), Needed::and);
    let selections = select(snapshot, filter, needed, cancel)?;
    let tallies = tally(&selections, cancel)?;
    let total_count = tallies.len() as u64;
    let page = cut(tallies, window);
    let rows = describe(&selections, &page, cancel)?;
    let data = serde_json::to_vec(&rows)
        .map_err(|fault| Error::Batch(format!("a session row cannot be printed: {fault}")))?;
    Ok(Page { data, total_count })
}

/// The fields of a session beside its own id, in the order of [`Member::details`].
const DETAILS: [Field; 4] = [Field::UserId, Field::AgentId, Field::TeamId, Field::WorkflowId];

/// Returns every session with its tally.
fn tally<'a>(selections: &'a [Selection<'a>], cancel: &Cancel) -> Result<Vec<(&'a [u8], Tally)>> {
    let tally_part = |part: &Selection<'_>| {
        cancel.check()?;
        let mut by_code = vec![Tally::NONE; part.view.session_codes()];
        part.rows.for_each(|row| {
            let row = row as usize;
            let Some(code) = part.view.session_code(row) else { return };
            let start = part.view.start_time(row);
            by_code[code] = by_code[code].and(Tally { traces: 1, first: start, last: start });
        });
        Ok(by_code)
    };
    let by_part: Vec<Vec<Tally>> =
        POOL.install(|| selections.par_iter().map(tally_part).collect::<Result<_>>())?;
    // A session may occur in several parts.
    let mut by_session: HashMap<&'a [u8], Tally> = HashMap::new();
    for (part, by_code) in selections.iter().zip(by_part) {
        for (code, tally) in by_code.into_iter().enumerate().filter(|(_, tally)| tally.traces > 0) {
            let known = by_session.entry(part.view.session(code)).or_insert(Tally::NONE);
            *known = known.and(tally);
        }
    }
    Ok(by_session.into_iter().collect())
}

/// Returns the sessions of one page, in order.
fn cut<'a>(mut tallies: Vec<(&'a [u8], Tally)>, window: Window) -> Vec<(&'a [u8], Tally)> {
    let offset = usize::try_from(window.offset()).unwrap_or(usize::MAX);
    if offset >= tallies.len() {
        return Vec::new();
    }
    let end = offset.saturating_add(window.limit).min(tallies.len());
    let order = |(session, tally): &(&'a [u8], Tally)| (Reverse(tally.last), *session);
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
    selections: &'a [Selection<'a>],
    page: &[(&'a [u8], Tally)],
    cancel: &Cancel,
) -> Result<Vec<SessionRow<'a>>> {
    let places: HashMap<&[u8], usize> =
        page.iter().enumerate().map(|(place, (session, _))| (*session, place)).collect();
    let mut members: Vec<Vec<Member<'a>>> = page.iter().map(|_| Vec::new()).collect();
    for part in selections {
        cancel.check()?;
        let codes = 0..part.view.session_codes();
        let place_of_code: Vec<Option<usize>> =
            codes.map(|code| places.get(part.view.session(code)).copied()).collect();
        if place_of_code.iter().all(Option::is_none) {
            continue;
        }
        for row in part.rows.from(0).map(|row| row as usize) {
            let Some(place) = part.view.session_code(row).and_then(|code| place_of_code[code]) else {
                continue;
            };
            let details = DETAILS.map(|field| part.view.text(field, row));
            members[place].push(Member { key: part.key(row), details });
        }
    }
    Ok(page.iter().zip(members).map(|((session, tally), members)| finish(session, *tally, members)).collect())
}

fn finish<'a>(session_id: &'a [u8], tally: Tally, mut members: Vec<Member<'a>>) -> SessionRow<'a> {
    members.sort_unstable_by(|one, other| one.key.cmp(&other.key));
    let latest = |at: usize| members.iter().find_map(|member| member.details[at]);
    let mut seen = HashSet::new();
    let in_order = members.iter().rev().filter_map(|member| member.details[1]);
    let agents: Vec<&str> = in_order.filter(|agent| seen.insert(*agent)).collect();
    let mut row = SessionRow {
        session_id: std::str::from_utf8(session_id).unwrap_or_default(),
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
