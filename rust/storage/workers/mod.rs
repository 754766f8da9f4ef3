//! The worker threads of the committer: WAL writes, head indexing, flush, merge, indexing, retention, reclaim
//! and claim watch.

pub(crate) mod claim_watch;
pub(crate) mod compact;
pub(crate) mod flush;
pub(crate) mod head_index;
pub(crate) mod index;
pub(crate) mod reclaim;
pub(crate) mod retention;
pub(crate) mod wal_writer;
