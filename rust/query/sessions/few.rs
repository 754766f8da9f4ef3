//! Groups few selected rows by session. Each row is read, and other sessions of the store are not needed.
//!
//! Session numbers ([`super::numbers`]) are computed again whenever segments have changed. A search with few rows, such
//! as the sessions of one user, does not wait for them.

use std::cmp::Reverse;
use std::collections::HashMap;

use ahash::RandomState;

use crate::index::columns::split_session_key;
use crate::query::rows::page_rows::PageRow;
use crate::query::rows::selection::{Selection, SortKey};

/// A session with its selected rows.
pub(crate) struct Session<'s> {
    /// The key, as input of [`split_session_key`].
    pub(crate) key: &'s [u8],
    /// The start of its newest selected trace, in microseconds since 1970.
    pub(crate) start: i64,
    /// Its selected rows, newest first.
    pub(crate) rows: Vec<PageRow>,
}

/// Returns the sessions of selected rows, in the order of results.
pub(crate) fn sessions_of<'s>(selections: &'s [Selection<'_>]) -> Vec<Session<'s>> {
    let mut rows: Vec<(SortKey<'s>, PageRow, &'s [u8])> = Vec::new();
    for (part, selection) in selections.iter().enumerate() {
        selection.rows.for_each(|row| {
            let row = row as usize;
            if let Some(code) = selection.view.session_code(row) {
                rows.push((selection.key(row), (part, row), selection.view.session(code)));
            }
        });
    }
    rows.sort_unstable();
    let mut indexes: HashMap<&[u8], usize, RandomState> = HashMap::default();
    let mut sessions: Vec<Session<'s>> = Vec::new();
    for (trace, row, key) in rows {
        let index = *indexes.entry(key).or_insert(sessions.len());
        match sessions.get_mut(index) {
            Some(session) => session.rows.push(row),
            None => sessions.push(Session { key, start: trace.start_time(), rows: vec![row] }),
        }
    }
    sessions.sort_by_key(|session| (Reverse(session.start), split_session_key(session.key)));
    sessions
}
