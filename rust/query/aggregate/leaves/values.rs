//! All values of a field with their numbers of rows, on one leaf and added up over leaves.
//!
//! A leaf sends its values in ascending order, a limited number at a time. The root consumes the values up to the point
//! that all leaves have passed, so its memory does not grow with the number of values.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::query::aggregate::groups::GroupedField;
use crate::query::aggregate::leaves::messages::{Values, ValuesRequest};
use crate::query::aggregate::parts::Part;
use crate::query::aggregate::request::By;
use crate::query::aggregate::texts::{UsedTexts, merge_from, used_texts};
use crate::query::cancellation::CancellationToken;
use crate::query::facets::Top;
use crate::query::messages::unexpected;
use crate::query::rows::selection::Selection;
use crate::schema::Field;

/// Values that a leaf sends in one response.
const VALUES_PER_RESPONSE: u64 = 1 << 16;

/// The values of a field among selected rows.
pub(crate) struct ValueCounts {
    parts: Vec<Part>,
    used: Vec<UsedTexts>,
    field: Field,
}

impl ValueCounts {
    /// Counts the values of selected rows.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`].
    pub(crate) fn new(
        selections: Vec<Selection<'_>>,
        field: Field,
        cancel: &CancellationToken,
    ) -> Result<Self> {
        let parts: Vec<Part> = selections.into_iter().map(Part::of).collect();
        let used = used_texts(&parts, field, cancel)?;
        Ok(Self { parts, used, field })
    }

    /// Returns the requested values.
    ///
    /// # Errors
    /// [`crate::error::Error::Cancelled`].
    pub(crate) fn values(&self, request: &ValuesRequest, cancel: &CancellationToken) -> Result<Values> {
        values_of(&self.parts, (self.field, &self.used), request, cancel)
    }
}

/// Returns the requested values of a field in `parts`, which use the texts in `used`.
///
/// # Errors
/// [`crate::error::Error::Cancelled`].
pub(super) fn values_of(
    parts: &[Part],
    (field, used): (Field, &[UsedTexts]),
    request: &ValuesRequest,
    cancel: &CancellationToken,
) -> Result<Values> {
    let missing = used.iter().map(|used| used.missing).sum();
    let mut page = Values { missing, ..Values::default() };
    let prefix = request.prefix.as_bytes();
    let is_before =
        |text: &[u8]| text < prefix || request.after.as_deref().is_some_and(|after| text <= after);
    merge_from(parts, (field, used), is_before, cancel, |text, _, rows| {
        if !text.starts_with(prefix) {
            return false;
        }
        if page.texts.len() as u64 >= request.limit {
            page.has_more = true;
            return false;
        }
        page.texts.push(text.to_vec());
        page.counts.push(rows);
        true
    })?;
    Ok(page)
}

/// The position up to which a leaf has sent its values.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Cursor {
    Start,
    After(Vec<u8>),
    End,
}

/// Adds up the values of several leaves.
pub(crate) struct ValueMerge {
    request: ValuesRequest,
    cursors: Vec<Cursor>,
    /// Values that other leaves may still send.
    pending: BTreeMap<Vec<u8>, u64>,
    /// The number of rows without a value, by leaf.
    missing: Vec<u64>,
}

impl ValueMerge {
    /// Starts with the first values of all leaves.
    pub(crate) fn new(leaves: usize, field: Field, excludes_own: bool, prefix: &str) -> Self {
        let request = ValuesRequest {
            field: field.key().to_owned(),
            excludes_own,
            prefix: prefix.to_owned(),
            after: None,
            limit: VALUES_PER_RESPONSE,
        };
        let cursors = vec![Cursor::Start; leaves];
        Self { request, cursors, pending: BTreeMap::new(), missing: vec![0; leaves] }
    }

    /// Returns the number of rows without a value.
    pub(crate) fn missing(&self) -> u64 {
        self.missing.iter().sum()
    }

    /// Returns the position up to which all leaves have sent their values.
    fn bound(&self) -> Cursor {
        self.cursors.iter().min().cloned().unwrap_or(Cursor::End)
    }

    /// Returns the requests for further values; `None` once all values are known.
    pub(crate) fn next_requests(&self) -> Option<Vec<Option<ValuesRequest>>> {
        let bound = self.bound();
        let after = match &bound {
            Cursor::Start => None,
            Cursor::After(value) => Some(value.clone()),
            Cursor::End => return None,
        };
        let request = ValuesRequest { after, ..self.request.clone() };
        Some(self.cursors.iter().map(|cursor| (*cursor == bound).then(|| request.clone())).collect())
    }

    /// Adds the next values of a leaf.
    ///
    /// # Errors
    /// [`crate::error::Error::Busy`] if the response is invalid.
    pub(crate) fn add(&mut self, leaf: usize, values: Values) -> Result<()> {
        let Values { texts, counts, missing, has_more } = values;
        if texts.len() != counts.len() || (has_more && texts.is_empty()) || leaf >= self.cursors.len() {
            return Err(unexpected());
        }
        self.missing[leaf] = missing;
        let last = texts.last().filter(|_| has_more);
        self.cursors[leaf] = last.map_or(Cursor::End, |last| Cursor::After(last.clone()));
        for (value, count) in texts.into_iter().zip(counts) {
            *self.pending.entry(value).or_default() += count;
        }
        Ok(())
    }

    /// Removes the values that no leaf can send again, and calls `visit` with each of them, ascending, and its number
    /// of rows.
    pub(crate) fn drain(&mut self, mut visit: impl FnMut(Vec<u8>, u64)) {
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

/// The values of a field to group by, added up over leaves.
pub(super) struct GroupValues {
    by: By,
    merge: ValueMerge,
    /// The most frequent values so far. The flag is true for rows without a value.
    top: Top<(bool, Vec<u8>)>,
    /// The number of values so far.
    total: usize,
}

impl GroupValues {
    /// Starts with the first values of all leaves.
    pub(super) fn new(leaves: usize, by: By) -> Self {
        Self { by, merge: ValueMerge::new(leaves, by.field, false, ""), top: Top::new(by.limit), total: 0 }
    }

    /// Returns the requests for further values; `None` once all values are known.
    pub(super) fn next_requests(&mut self) -> Option<Vec<Option<ValuesRequest>>> {
        let Self { merge, top, total, .. } = self;
        merge.drain(|value, rows| {
            *total += 1;
            top.offer(rows, (false, value));
        });
        merge.next_requests()
    }

    /// Adds the next values of a leaf.
    ///
    /// # Errors
    /// The errors of [`ValueMerge::add`].
    pub(super) fn add(&mut self, leaf: usize, values: Values) -> Result<()> {
        self.merge.add(leaf, values)
    }

    /// Returns the groups of the most frequent values. Call it once all values are known.
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
