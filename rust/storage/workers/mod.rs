//! The threads beside the committer: they write, index, seal, merge, retain and reclaim for it, and watch its claim.

pub(crate) mod claim_watch;
pub(crate) mod compact;
pub(crate) mod flush;
pub(crate) mod head_index;
pub(crate) mod index;
pub(crate) mod reclaim;
pub(crate) mod retention;
pub(crate) mod wal_writer;
