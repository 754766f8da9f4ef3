//! Selects rows in the parts of a snapshot, and reads pages of them in order.

pub(super) mod costs;
pub(super) mod newest;
pub(super) mod page_rows;
pub(super) mod selection;
pub(super) mod sorted;
