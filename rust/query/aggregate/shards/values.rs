//! All values of a field with their numbers of rows: in one shard, and added up over shards.
//!
//! A shard sends them in ascending order, so many at a time, and the front door takes those before which no shard has any
//! more: what it keeps does not grow with the number of values.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::query::aggregate::groups::GroupedField;
use crate::query::aggregate::parts::Part;
use crate::query::aggregate::request::By;
use crate::query::aggregate::shards::wire::{Values, ValuesRequest};
use crate::query::aggregate::texts::{UsedTexts, merge_from, used_texts};
use crate::query::cancellation::CancellationToken;
use crate::query::facets::Top;
use crate::query::messages::unexpected;
use crate::query::rows::selection::Selection;
use crate::schema::Field;

/// Values that a shard sends at once.
const VALUES_AT_ONCE: u64 = 1 << 16;

/// The values of a field among selected rows.
pub(in crate::query) struct ValueCounts {
    parts: Vec<Part>,
    used: Vec<UsedTexts>,
    field: Field,
}

impl ValueCounts {
    /// Counts the values of selected rows.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`].
    pub(in crate::query) fn new(
        selections: Vec<Selection<'_>>,
        field: Field,
        cancel: &CancellationToken,
    ) -> Result<Self> {
        let parts: Vec<Part> = selections.into_iter().map(Part::of).collect();
        let used = used_texts(&parts, field, cancel)?;
        Ok(Self { parts, used, field })
    }

    /// Returns the values that are asked for.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`].
    pub(in crate::query) fn values(
        &self,
        asked: &ValuesRequest,
        cancel: &CancellationToken,
    ) -> Result<Values> {
        values_of(&self.parts, (self.field, &self.used), asked, cancel)
    }
}

/// Returns the values of a field in parts of which these texts are used.
///
/// # Errors
/// [`crate::error::Error::Cancelled`].
pub(super) fn values_of(
    parts: &[Part],
    (field, used): (Field, &[UsedTexts]),
    asked: &ValuesRequest,
    cancel: &CancellationToken,
) -> Result<Values> {
    let missing = used.iter().map(|used| used.missing).sum();
    let mut found = Values { missing, ..Values::default() };
    let prefix = asked.prefix.as_bytes();
    let is_before = |text: &[u8]| text < prefix || asked.after.as_deref().is_some_and(|after| text <= after);
    merge_from(parts, (field, used), is_before, cancel, |text, _, rows| {
        if !text.starts_with(prefix) {
            return false;
        }
        if found.texts.len() as u64 >= asked.limit {
            found.has_more = true;
            return false;
        }
        found.texts.push(text.to_vec());
        found.counts.push(rows);
        true
    })?;
    Ok(found)
}

/// How far a shard has sent its values.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Cursor {
    Start,
    After(Vec<u8>),
    End,
}

/// Adds up the values of shards.
pub(in crate::query) struct ValueMerge {
    asked: ValuesRequest,
    cursors: Vec<Cursor>,
    /// Values that another shard may still have.
    pending: BTreeMap<Vec<u8>, u64>,
    /// How many rows have no value, by shard.
    missing: Vec<u64>,
}

impl ValueMerge {
    /// Begins with the first values of `shards` shards.
    pub(in crate::query) fn new(shards: usize, field: Field, excludes_own: bool, prefix: &str) -> Self {
        let asked = ValuesRequest {
            field: field.key().to_owned(),
            excludes_own,
            prefix: prefix.to_owned(),
            after: None,
            limit: VALUES_AT_ONCE,
        };
        let cursors = vec![Cursor::Start; shards];
        Self { asked, cursors, pending: BTreeMap::new(), missing: vec![0; shards] }
    }

    /// Returns how many rows have no value.
    pub(in crate::query) fn missing(&self) -> u64 {
        self.missing.iter().sum()
    }

    /// Returns how far all shards have sent their values.
    fn bound(&self) -> Cursor {
        self.cursors.iter().min().cloned().unwrap_or(Cursor::End)
    }

    /// Returns what to ask each shard; `None` once all values are known.
    pub(in crate::query) fn wanted(&self) -> Option<Vec<Option<ValuesRequest>>> {
        let bound = self.bound();
        let after = match &bound {
            Cursor::Start => None,
            Cursor::After(value) => Some(value.clone()),
            Cursor::End => return None,
        };
        let asked = ValuesRequest { after, ..self.asked.clone() };
        Some(self.cursors.iter().map(|cursor| (*cursor == bound).then(|| asked.clone())).collect())
    }

    /// Takes the next values of a shard.
    ///
    /// # Errors
    /// [`crate::error::Error::Busy`] if they are none.
    pub(in crate::query) fn take(&mut self, shard: usize, values: Values) -> Result<()> {
        let Values { texts, counts, missing, has_more } = values;
        if texts.len() != counts.len() || (has_more && texts.is_empty()) || shard >= self.cursors.len() {
            return Err(unexpected());
        }
        self.missing[shard] = missing;
        let last = texts.last().filter(|_| has_more);
        self.cursors[shard] = last.map_or(Cursor::End, |last| Cursor::After(last.clone()));
        for (value, count) in texts.into_iter().zip(counts) {
            *self.pending.entry(value).or_default() += count;
        }
        Ok(())
    }

    /// Calls `visit` with the values that no shard has any more of, ascending, with their numbers of rows.
    pub(in crate::query) fn drain(&mut self, mut visit: impl FnMut(Vec<u8>, u64)) {
        let bound = self.bound();
        while let Some(first) = self.pending.first_entry() {
            let is_known = match &bound {
                Cursor::Start => false,
                Cursor::After(bound) => first.key() <= bound,
                Cursor::End => true,
            };
            if !is_known {
                break;
            }
            let (value, count) = first.remove_entry();
            visit(value, count);
        }
    }
}

/// The values of a field to group by, added up.
pub(super) struct GroupValues {
    by: By,
    merge: ValueMerge,
    /// The most frequent ones of those that are known, each with whether it stands for what has none.
    top: Top<(bool, Vec<u8>)>,
    /// How many are known.
    total: usize,
}

impl GroupValues {
    /// Begins with the first values of `shards` shards.
    pub(super) fn new(shards: usize, by: By) -> Self {
        Self { by, merge: ValueMerge::new(shards, by.field, false, ""), top: Top::new(by.limit), total: 0 }
    }

    /// Returns what to ask each shard; `None` once all values are known.
    pub(super) fn wanted(&mut self) -> Option<Vec<Option<ValuesRequest>>> {
        let Self { merge, top, total, .. } = self;
        merge.drain(|value, rows| {
            *total += 1;
            top.offer(rows, (false, value));
        });
        merge.wanted()
    }

    /// Takes the next values of a shard.
    ///
    /// # Errors
    /// As [`ValueMerge::take`].
    pub(super) fn take(&mut self, shard: usize, values: Values) -> Result<()> {
        self.merge.take(shard, values)
    }

    /// Returns the groups of the most frequent values. Call it once all are known.
    pub(super) fn grouped(&mut self) -> GroupedField {
        let missing = self.merge.missing();
        let mut top = std::mem::replace(&mut self.top, Top::new(self.by.limit));
        if missing > 0 {
            top.offer(missing, (true, Vec::new()));
        }
        let text = |(is_missing, value): (bool, Vec<u8>)| {
            (!is_missing).then(|| String::from_utf8_lossy(&value).into_owned())
        };
        let values = top.into_sorted().into_iter().map(|(_, value)| text(value)).collect();
        GroupedField::of_values(self.by.field, values, self.total + usize::from(missing > 0))
    }
}
