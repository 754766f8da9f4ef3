//! The threads beside the committer: they write, seal, merge, retain and remove for it.

pub(crate) mod compact;
pub(crate) mod flush;
pub(crate) mod reclaim;
pub(crate) mod retention;
