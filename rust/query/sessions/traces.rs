//! The selected traces of a session, and their values in the response.

use std::collections::HashSet;

use super::{SessionPart, TraceValue};
use crate::index::columns::Projection;
use crate::query::rows::selection::{Selection, SortKey};
use crate::schema::Field;

/// The fields of a session besides its id and its owner, in the order of [`SessionTrace::details`].
const DETAIL_FIELDS: [Field; 3] = [Field::AgentId, Field::TeamId, Field::WorkflowId];

/// Returns the columns that group rows by session.
pub(crate) fn projection() -> Projection {
    let projection = Projection::SORT_KEY.with(Projection::SESSIONS);
    DETAIL_FIELDS.into_iter().fold(projection, Projection::and)
}

/// A selected trace of a session.
pub(crate) struct SessionTrace<'a> {
    pub(crate) key: SortKey<'a>,
    /// The values of [`DETAIL_FIELDS`].
    details: [Option<&'a str>; 3],
}

impl<'a> SessionTrace<'a> {
    pub(crate) fn of(selection: &'a Selection<'_>, row: usize) -> Self {
        let details = DETAIL_FIELDS.map(|field| selection.view.text(field, row));
        Self { key: selection.key(row), details }
    }
}

/// Returns the selected traces of a session, given by its key, newest first.
pub(crate) fn traces_of_key<'a>(
    parts: impl Iterator<Item = &'a Selection<'a>>,
    session: &[u8],
) -> Vec<SessionTrace<'a>> {
    let mut traces = Vec::new();
    for part in parts {
        let rows = part.view.rows_of_session(session).into_iter().filter(|row| part.rows.contains(*row));
        traces.extend(rows.map(|row| SessionTrace::of(part, row as usize)));
    }
    traces.sort_unstable_by(|one, other| one.key.cmp(&other.key));
    traces
}

/// Returns the part of a session, from its selected traces, newest first.
pub(crate) fn part_of(traces: &[SessionTrace<'_>]) -> SessionPart {
    let value = |trace: &SessionTrace<'_>, at: usize| {
        let value = trace.details[at]?.to_owned();
        Some(TraceValue { key: trace.key.to_bytes().to_vec(), value })
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
