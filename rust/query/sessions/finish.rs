//! Writes sessions as JSON.

use serde::Serialize;

use super::{SessionPart, TraceValue};
use crate::error::{Error, Result};
use crate::index::columns::split_session_key;
use crate::time::write_instant;

/// A session in the response (`docs/reference/api-search.md#session-stats`).
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

/// Returns sessions, each given by its key and its selected traces, as a JSON array.
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
        let value = |of: &'p Option<TraceValue>| of.as_ref().map(|of| of.value.as_str());
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
