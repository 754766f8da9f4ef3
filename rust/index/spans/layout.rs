//! The columns of a span table file.

use crate::index::FileKind;
use crate::trace::view::{SPAN_FIELDS, SpanColumn, SpanField};

pub(super) const SPAN_TABLE: FileKind = FileKind { magic: *b"SPANTAB\n", format: 4 };

/// The columns of every table. The columns of words and of numbers follow, in the order of their fields.
#[derive(Debug, Clone, Copy)]
pub(super) enum SpanTableColumn {
    Codes,
    Parents,
    Subtrees,
    Starts,
    Ends,
    Firsts,
    Bases,
    Unreadable,
    Fractions,
    Magnitudes,
}

/// The first column of words, and the first column of numbers.
pub(super) const FIRST_WORD: usize = 10;
pub(super) const FIRST_NUMBER: usize = 24;

/// The words by which combinations are sorted first. Combinations with equal values in a prefix of this list
/// get adjacent codes.
const SORTED_BY: [&str; 4] = ["type", "status", "tool_name", "model"];

/// Returns the positions of words among [`fields`], in the sort order of combinations.
pub(super) fn sorted_by() -> Vec<usize> {
    let position = |key: &&str| fields(SpanColumn::Word).position(|field| field.key == *key);
    let mut positions: Vec<usize> = SORTED_BY.iter().filter_map(position).collect();
    let others = fields(SpanColumn::Word).enumerate().filter(|(_, field)| !SORTED_BY.contains(&field.key));
    positions.extend(others.map(|(position, _)| position));
    positions
}

/// Returns the fields with this kind of column, in the order of [`SPAN_FIELDS`].
pub(super) fn fields(column: SpanColumn) -> impl Iterator<Item = &'static SpanField> + Clone {
    SPAN_FIELDS.iter().filter(move |field| field.column == column)
}

/// Returns the identity of a table: its source and its fields.
pub(super) fn identity_of(source: &str) -> String {
    let keys = |column| fields(column).map(|field| field.key).collect::<Vec<_>>().join(",");
    format!("{source} {} {}", keys(SpanColumn::Word), keys(SpanColumn::Number))
}
