//! The columns of a text index, which has the same layout as a segment index.

use crate::index::layout::FileKind;

/// The text index of a segment. The rules for tokens and case folding are part of the format.
pub(super) const TEXT: FileKind = FileKind { magic: *b"SPANTXT\n", format: 2 };

/// The dictionary of tokens with several postings.
pub(super) const FREQUENT_COLUMN: usize = 0;
/// The tokens with one posting, by row. It is searched late, and only for rows that earlier columns did not
/// match.
pub(super) const RARE_COLUMN: usize = 1;
/// The UUIDs with one posting. It is searched last, and only for pieces that can be in a UUID.
pub(super) const UUID_COLUMN: usize = 2;
/// For each channel, a bitmap of the rows that have a text.
pub(super) const PRESENT_COLUMN: usize = 3;
