//! Searches for sessions: the filter selects traces, which are then grouped by session, an id with its owner.
//!
//! Of few selected rows each is read ([`few`]). Of many, sessions are identified by numbers ([`crate::storage::GlobalOrdinals`])
//! and counted in bitmaps ([`count`]). A session takes the position of its newest row, so a page at the beginning is found by
//! reading rows newest first across all parts; for a deep one the newest row of every session is found first ([`page`]). Only
//! the sessions of the page are read completely.

mod count;
mod few;
mod newest_rows;
mod numbers;
mod page;
mod selected;
mod traces;

use serde::Serialize;

pub(super) use selected::{FoundSession, SelectedSessions};
pub(super) use traces::{part_of, traces_of_key};

use super::cancellation::CancellationToken;
use super::gather::{SessionPart, ValueOfTrace};
use super::page::{Page, PageRequest};
use super::pool::in_rounds;
use super::selection::select;
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::index::columns::{Projection, split_session_key};
use crate::schema::Field;
use crate::storage::Snapshot;
use crate::time::write_instant;
use traces::DETAIL_FIELDS;

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

/// Returns what is read of rows to group them by session.
pub(super) fn projection() -> Projection {
    let projection = Projection::SORT_KEY.with(Projection::SESSIONS);
    DETAIL_FIELDS.into_iter().fold(projection, Projection::and)
}

/// Whether a filter can match no trace that has a session, so that there are no sessions whatever is stored.
pub(super) fn are_excluded(filter: &Filter) -> bool {
    filter.excludes(Field::SessionId)
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
    let selections =
        if are_excluded(filter) { Vec::new() } else { select(snapshot, filter, projection(), cancel)? };
    // Not in the pool: a pool thread that waits may pick up another search, which would then wait for the numbers
    // that this one is computing.
    let sessions = SelectedSessions::new(snapshot, &selections)?;
    let (total_count, page) = sessions.page(request.window(), cancel)?;
    let part = |session| part_of(&sessions.traces(session));
    let parts = if sessions.are_few() {
        page.iter().map(part).collect()
    } else {
        in_rounds(&page, SESSIONS_PER_THREAD, |(_, session)| {
            cancel.check()?;
            Ok(part(session))
        })?
    };
    let keys = page.iter().map(|session| session.key);
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
