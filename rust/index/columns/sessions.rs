//! The sessions of rows. A session is identified by its id and its owner, the user of the row. Two users may
//! have sessions with the same id (`docs/reference/api-search.md#session-stats`).
//!
//! A key is one text, so that sessions are sorted, compared and counted like any other text. It is the
//! session id, the owner, and a suffix of nine digits: whether there is an owner, and the length of the id.

use std::collections::HashMap;

use arrow_array::cast::AsArray as _;
use arrow_array::types::Int32Type;
use arrow_array::{Array as _, RecordBatch};

use crate::schema::Field;

/// The number of digits at the end of a key.
const SUFFIX_BYTES: usize = 9;

/// Returns the key of a session.
fn session_key(session_id: &str, owner: Option<&str>) -> String {
    let is_owned = u8::from(owner.is_some());
    format!("{session_id}{}{is_owned}{:08x}", owner.unwrap_or_default(), session_id.len())
}

/// Splits a key into the session id and the owner; `None` if `key` is not a session key.
pub fn split_session_key(key: &[u8]) -> Option<(&str, Option<&str>)> {
    let (texts, suffix) =
        std::str::from_utf8(key).ok()?.split_at_checked(key.len().checked_sub(SUFFIX_BYTES)?)?;
    let length = usize::from_str_radix(suffix.get(1..)?, 16).ok()?;
    let (session_id, owner) = texts.split_at_checked(length)?;
    Some((session_id, Some(owner).filter(|_| suffix.starts_with('1'))))
}

/// The sessions of a batch of rows.
#[derive(Debug)]
pub struct RowSessions {
    /// The key of each code: distinct, in no particular order.
    pub keys: Vec<String>,
    /// The code of each row; `None` if it has no session.
    pub codes: Vec<Option<u32>>,
}

impl RowSessions {
    /// Returns the sessions of rows of [`crate::schema::trace_schema`].
    pub fn of(batch: &RecordBatch) -> Self {
        let column = |field: Field| batch.column(field.column()).as_dictionary::<Int32Type>();
        let (sessions, users) = (column(Field::SessionId), column(Field::UserId));
        let (ids, names) = (sessions.values().as_string::<i32>(), users.values().as_string::<i32>());
        let mut known: HashMap<(usize, Option<usize>), u32, ahash::RandomState> = HashMap::default();
        let mut keys = Vec::new();
        let codes = (0..batch.num_rows()).map(|row| {
            let session = sessions.key(row).filter(|code| !ids.is_null(*code))?;
            let user = users.key(row).filter(|code| !names.is_null(*code));
            Some(*known.entry((session, user)).or_insert_with(|| {
                keys.push(session_key(ids.value(session), user.map(|user| names.value(user))));
                u32::try_from(keys.len() - 1).unwrap_or(u32::MAX)
            }))
        });
        let codes = codes.collect();
        Self { keys, codes }
    }

    /// Returns the code of a row; `None` if it has no session.
    pub fn code(&self, row: usize) -> Option<usize> {
        self.codes[row].map(|code| code as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_sessions_have_different_keys_and_keys_split_into_what_they_were_made_of() {
        let texts = ["", "a", "b", "ab", "a0", "0", "1", "000000001", "100000001", "a100000001", "é"];
        let owners = texts.iter().map(|owner| Some(*owner)).chain([None]);
        let sessions: Vec<_> = owners.flat_map(|owner| texts.map(|id| (id, owner))).collect();
        let keys: std::collections::BTreeSet<_> =
            sessions.iter().map(|(id, owner)| session_key(id, *owner)).collect();
        assert_eq!(keys.len(), sessions.len());
        for (id, owner) in sessions {
            assert_eq!(split_session_key(session_key(id, owner).as_bytes()), Some((id, owner)));
        }
        assert_eq!(split_session_key(b"short"), None);
    }
}
