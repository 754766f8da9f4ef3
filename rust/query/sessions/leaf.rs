//! The sessions of a leaf.

use super::digest::{digest, range_of};
use super::selected::{SelectedSession, SelectedSessions};
use super::traces::{part_of, projection, traces_of_key};
use super::{
    DigestsRequest, SessionPart, SessionPartsRequest, SessionPartsResponse, SessionStart, Sessions,
    SessionsRequest,
};
use crate::error::Result;
use crate::query::cancellation::CancellationToken;
use crate::query::leaf::SnapshotLeaf;
use crate::query::messages::size;
use crate::query::page::Window;
use crate::query::pool::par_map_chunked;
use crate::query::rows::selection::Selection;
use crate::schema::Field;

/// Sessions per thread that are read in one round.
const SESSIONS_PER_THREAD: usize = 64;

impl<'a> SnapshotLeaf<'a> {
    /// Returns the selected rows, which include all rows with a session.
    fn rows_of_sessions(self, cancel: &CancellationToken) -> Result<Vec<Selection<'a>>> {
        if self.query.filter.excludes(Field::SessionId) {
            return Ok(Vec::new());
        }
        self.selected(projection(), cancel)
    }

    /// Returns a window of sessions: newest last trace first, then session id ascending, then without an owner, then
    /// owner ascending.
    pub(crate) fn sessions(self, request: &SessionsRequest, cancel: &CancellationToken) -> Result<Sessions> {
        let selections = self.rows_of_sessions(cancel)?;
        // Not in the pool: a pool thread that waits may take another search, which would then wait for the ordinals
        // that this search is computing.
        let sessions = SelectedSessions::new(self.snapshot, &selections)?;
        let window = Window { offset: size(request.offset), limit: size(request.limit) };
        let (count, page) = sessions.page(window, cancel)?;
        let parts = if request.with_parts { parts_of(&sessions, &page, cancel)? } else { Vec::new() };
        let start = |session: &SelectedSession<'_>| SessionStart {
            start: session.start,
            session: session.key.to_vec(),
        };
        let window = page.iter().map(start).collect();
        let mut digests = None;
        if count <= request.max_digests {
            let mut all = Vec::new();
            sessions.for_each(cancel, |session| all.extend(digest(session)))?;
            digests = Some(all);
        }
        Ok(Sessions { count, window, digests, parts })
    }

    /// Returns the digests of the sessions in one range.
    pub(crate) fn session_digests(
        self,
        request: &DigestsRequest,
        cancel: &CancellationToken,
    ) -> Result<Vec<u8>> {
        let selections = self.rows_of_sessions(cancel)?;
        let sessions = SelectedSessions::new(self.snapshot, &selections)?;
        let mut digests = Vec::new();
        sessions.for_each(cancel, |session| {
            let digest = digest(session);
            if range_of(&digest, request.ranges.max(1)) == request.range {
                digests.extend(digest);
            }
        })?;
        Ok(digests)
    }

    /// Returns the parts of sessions.
    pub(crate) fn session_parts(
        self,
        request: &SessionPartsRequest,
        cancel: &CancellationToken,
    ) -> Result<SessionPartsResponse> {
        let selections = self.rows_of_sessions(cancel)?;
        let part = |session: &Vec<u8>| {
            cancel.check()?;
            Ok(part_of(&traces_of_key(selections.iter(), session)))
        };
        Ok(SessionPartsResponse { parts: request.sessions.iter().map(part).collect::<Result<_>>()? })
    }
}

fn parts_of(
    sessions: &SelectedSessions<'_>,
    page: &[SelectedSession<'_>],
    cancel: &CancellationToken,
) -> Result<Vec<SessionPart>> {
    let part = |session| part_of(&sessions.traces(session));
    if sessions.are_few() {
        return Ok(page.iter().map(part).collect());
    }
    par_map_chunked(page, SESSIONS_PER_THREAD, |(_, session)| {
        cancel.check()?;
        Ok(part(session))
    })
}
