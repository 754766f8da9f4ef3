//! The sessions of a shard.

use super::{PinnedSearch, size};
use crate::error::Result;
use crate::search::cancellation::CancellationToken;
use crate::search::gather::digest::{digest, range_of};
use crate::search::gather::wire::{
    AskedDigests, AskedSessionParts, AskedSessions, NewestOfSession, SessionParts, Sessions,
};
use crate::search::page::Window;
use crate::search::selection::Selection;
use crate::search::sessions::{self, FoundSession, SelectedSessions, part_of, traces_of_key};

impl PinnedSearch {
    /// Returns the selected rows, among which are all that have a session.
    fn of_sessions(&self, cancel: &CancellationToken) -> Result<Vec<Selection<'_>>> {
        if sessions::are_excluded(&self.filter) {
            return Ok(Vec::new());
        }
        self.selected(sessions::projection(), cancel)
    }

    pub(super) fn sessions(&self, asked: &AskedSessions, cancel: &CancellationToken) -> Result<Sessions> {
        let selections = self.of_sessions(cancel)?;
        let sessions = SelectedSessions::new(&self.snapshot, &selections)?;
        let window = Window { offset: 0, limit: size(asked.limit) };
        let (count, first) = sessions.page(window, cancel)?;
        let newest = |session: &FoundSession<'_>| NewestOfSession {
            start: session.start,
            session: session.key.to_vec(),
        };
        let first = first.iter().map(newest).collect();
        let mut digests = None;
        if count <= asked.max_digests {
            let mut all = Vec::new();
            sessions.for_each(cancel, |session| all.extend(digest(session)))?;
            digests = Some(all);
        }
        Ok(Sessions { count, first, digests })
    }

    pub(super) fn session_digests(
        &self,
        asked: &AskedDigests,
        cancel: &CancellationToken,
    ) -> Result<Vec<u8>> {
        let selections = self.of_sessions(cancel)?;
        let sessions = SelectedSessions::new(&self.snapshot, &selections)?;
        let mut digests = Vec::new();
        sessions.for_each(cancel, |session| {
            let digest = digest(session);
            if range_of(&digest, asked.ranges.max(1)) == asked.range {
                digests.extend(digest);
            }
        })?;
        Ok(digests)
    }

    pub(super) fn session_parts(
        &self,
        asked: &AskedSessionParts,
        cancel: &CancellationToken,
    ) -> Result<SessionParts> {
        let selections = self.of_sessions(cancel)?;
        let part = |session: &Vec<u8>| {
            cancel.check()?;
            Ok(part_of(&traces_of_key(selections.iter(), session)))
        };
        Ok(SessionParts { parts: asked.sessions.iter().map(part).collect::<Result<_>>()? })
    }
}
