//! Sets of rows, spans and codes.
//!
//! | type | use it for |
//! |---|---|
//! | [`RowSet`] | the rows that a filter selects in one index, in the form that is cheapest to compute: a range, lists, a bitmap or a test |
//! | [`RowList`] | the form of a [`RowSet`] with a list of rows in the index |
//! | [`LazyRowSet`] | the form of a [`RowSet`] whose number is known before its rows: they are tested when they are read |
//! | [`LiveRows`] | a [`RowSet`] without the deleted rows |
//! | [`RowBlock`] | at most [`BLOCK_ROWS`] neighbouring rows of a set, the unit in which columns are read |
//! | [`Bits`] | a bitmap of rows in which ranks are looked up |
//! | [`Bitmap`] | the spans of one block of a span table |
//! | [`CodeSet`] | the codes of a column that match a condition |
//! | [`SelectionMask`] | a view of words that a condition on integers is evaluated into, 64 at a time |
//!
//! The functions [`set`], [`is_set`], [`fill`], [`ones`] and [`count_common`] work on plain words.

mod bits;
mod lazy_row_set;
mod live_rows;
mod marks;
mod row_block;
mod row_list;
mod row_set;
mod span_bitmap;

pub use bits::{Bits, count_common, fill, is_set, ones, set};
pub use lazy_row_set::{LazyRowSet, RowTest};
pub use live_rows::LiveRows;
pub use marks::{CodeSet, SelectionMask};
pub use row_block::{BLOCK_ROWS, RowBlock};
pub use row_list::RowList;
pub use row_set::RowSet;
pub use span_bitmap::Bitmap;
