//! Objects, write-ahead, head, segments: where does a trace live, and what survives a crash?
//!
//! A trace lives in exactly one row of a [`Snapshot`] that is not hidden: a row of the head, or a row
//! of a sealed segment. The head is memory, rebuilt from the write-ahead ([`wal`]): a request is
//! acknowledged once its spans are durable there. A segment is two immutable files, the rows and the
//! documents, and it is live once a [`manifest`] names it. When spans come for a trace that stands
//! somewhere already, the whole trace moves to a new row, and the old one is hidden.
//!
//! What survives a crash is what the newest manifest names, and the write-ahead after the number it
//! says is folded. So a set of hidden rows may only be durable together with the segment that
//! supersedes them: rows hidden on behalf of the head are hidden in memory alone, and the replay
//! finds their traces in the old place, merges, and hides them again.
//!
//! ```text
//! ingest -> arrivals (what would change) -> commit -> writing (write-ahead put, publish) -> head
//! head -> cut -> seal (a segment's files) -> fold -> install (manifest), publish -> segments
//! segments -> plan -> merge (a segment's files) -> compact -> install (manifest), publish -> segments
//! import -> adopt (a segment's files) -> install (manifest), publish -> segments
//! delete (rows are hidden) -> install (manifest), publish -> segments
//! open -> recover (claim, fence, replay, sweep)
//! ```
//!
//! Everything durable is created once, never changed, and checksummed ([`objects`]). What is not as
//! it was written is named as damage; nothing is ever answered with a silently smaller store.

mod backup;
mod check;
mod committer;
mod global_ordinals;
mod head;
mod manifest;
pub mod objects;
mod open;
mod options;
mod priority;
mod segment;
pub mod snapshot;
mod state;
pub mod store;
mod threads;
mod wal;
mod workers;

pub use backup::Copied;
pub use check::Report;
pub use global_ordinals::{GlobalOrdinals, KnownSessions};
pub use manifest::ImportRecord;
pub use objects::Objects;
pub use objects::local::LocalFolder;
pub use options::Options;
pub use snapshot::columns::PartColumns;
pub use snapshot::{Snapshot, SnapshotPart};
pub use state::open_segments::Aside;
pub use store::{Ingested, Stats, TraceStore};
