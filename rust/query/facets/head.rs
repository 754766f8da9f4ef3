//! Counts the values of one field in the selected rows of the head.

use std::collections::HashMap;

use arrow_array::cast::AsArray as _;
use arrow_array::types::Int32Type;
use arrow_array::{Array as _, RecordBatch, StringArray};

use crate::bitmap::LiveRows;
use crate::schema::Field;

/// The values of a field in the selected rows of the head.
#[derive(Debug, Default)]
pub(super) struct HeadCounts<'a> {
    /// The values with their counts, ascending.
    pub(super) values: Vec<(&'a str, u64)>,
    /// Rows without a value.
    pub(super) missing: u64,
}

impl<'a> HeadCounts<'a> {
    /// Counts the values that start with `prefix` in the given rows of each batch.
    pub(super) fn new(
        batches: impl Iterator<Item = (&'a RecordBatch, &'a LiveRows)>,
        field: Field,
        prefix: &str,
    ) -> Self {
        let mut counts: HashMap<&str, u64, ahash::RandomState> = HashMap::default();
        let mut missing = 0;
        for (batch, rows) in batches {
            missing += for_each_value(batch, field, rows, |value, count| {
                if value.starts_with(prefix) {
                    *counts.entry(value).or_default() += count;
                }
            });
        }
        let mut values: Vec<(&str, u64)> = counts.into_iter().collect();
        values.sort_unstable();
        Self { values, missing }
    }
}

/// Calls `visit` with the values of a batch and how often each occurs; values may repeat. Returns the number of rows
/// without a value.
fn for_each_value<'a>(
    batch: &'a RecordBatch,
    field: Field,
    rows: &LiveRows,
    mut visit: impl FnMut(&'a str, u64),
) -> u64 {
    let column = batch.column(field.column());
    let mut missing = 0;
    let Some(coded) = column.as_dictionary_opt::<Int32Type>() else {
        let texts: &StringArray = column.as_string();
        rows.for_each(|row| {
            if texts.is_valid(row as usize) {
                visit(texts.value(row as usize), 1);
            } else {
                missing += 1;
            }
        });
        return missing;
    };
    let texts: &StringArray = coded.values().as_string();
    let mut counts = vec![0_u64; texts.len()];
    rows.for_each(|row| match coded.key(row as usize).filter(|code| texts.is_valid(*code)) {
        Some(code) => counts[code] += 1,
        None => missing += 1,
    });
    let present = counts.into_iter().enumerate().filter(|(_, count)| *count > 0);
    present.for_each(|(code, count)| visit(texts.value(code), count));
    missing
}
