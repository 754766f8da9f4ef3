//! Row sets: the rows that a filter selects in one index, in the representation that is cheapest to compute.
//!
//! A set is a range, lists in the index, a bitmap, or a row test with a known count ([`LazyRowSet`]).
//! [`LiveRows`] excludes deleted rows. [`RowBlock`]s are the units in which columns are read.

mod blocks;
mod list;
mod live;
mod set;
mod lazy_row_set;

pub use blocks::{BLOCK_ROWS, RowBlock};
pub use lazy_row_set::{LazyRowSet, RowTest};
pub use list::RowList;
pub use live::LiveRows;
pub use set::RowSet;
