//! Sets of rows: what a filter selects in one index, in the form that was found with the least work.
//!
//! A set is a range, lists as they lie in the index, a bitmap, or a test of single rows of which the number is known
//! ([`LazyRowSet`]). [`LiveRows`] are a set without the rows that are deleted; [`RowBlock`]s are what columns are read by.

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
