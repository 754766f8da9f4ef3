//! The columns of a text index, which is laid out as the index of a segment.

use crate::index::layout::FileKind;

/// The text index of a segment. What a text is cut into, and how its letters are folded, is part of the format.
pub(super) const TEXT: FileKind = FileKind { magic: *b"SPANTXT\n", format: 2 };

/// The dictionary of tokens with several postings.
pub(super) const FREQUENT_COLUMN: usize = 0;
/// The tokens with one posting, by row. Searched late, and only those of rows that are not found.
pub(super) const RARE_COLUMN: usize = 1;
/// The UUIDs with one posting. Searched last, and only for what can be in a UUID.
pub(super) const UUID_COLUMN: usize = 2;
/// For each channel, a bitmap of the rows that have a text.
pub(super) const PRESENT_COLUMN: usize = 3;
