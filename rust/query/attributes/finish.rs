//! Writes the most frequent attribute keys as JSON.

use std::collections::HashMap;

use serde::Serialize;

use crate::error::{Error, Result};

/// Counted attribute keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttributeKeys {
    /// A JSON list of keys as filters spell them, each with the number of traces that have a span with it: the most
    /// frequent first, then by name.
    pub data: Vec<u8>,
    /// The number of keys.
    pub distinct: u64,
    /// The number of traces that the filter matches.
    pub matched: u64,
    /// The number of matching traces that are not counted, because their attributes are not indexed yet.
    pub uncounted: u64,
}

/// A key with the number of traces that have it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct KeyCount {
    key: String,
    count: u64,
}

/// Returns the `limit` most frequent keys as JSON, and the number of all keys.
///
/// # Errors
/// Never, because texts and numbers serialize without errors.
pub(super) fn most_frequent<S>(counts: HashMap<String, u64, S>, limit: usize) -> Result<(Vec<u8>, u64)> {
    let mut keys: Vec<KeyCount> = counts.into_iter().map(|(key, count)| KeyCount { key, count }).collect();
    let distinct = keys.len() as u64;
    keys.sort_unstable_by(|one, other| other.count.cmp(&one.count).then_with(|| one.key.cmp(&other.key)));
    keys.truncate(limit);
    let data = serde_json::to_vec(&keys)
        .map_err(|error| Error::Batch(format!("the keys cannot be printed: {error}")))?;
    Ok((data, distinct))
}
