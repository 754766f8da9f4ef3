//! The storage engine: traces in a write-ahead log, an in-memory head, and immutable segments.
//!
//! Each trace has exactly one live row in a [`Snapshot`], either in the head or in a segment. The head is
//! rebuilt from the write-ahead log (`wal.rs`): a request is acknowledged after its spans are durable there.
//! A segment consists of two immutable files, the rows and the documents. It is live when a manifest names
//! it. When spans arrive for a stored trace, the whole trace moves to a new row, and the old row is deleted.
//!
//! After a crash, the newest manifest and the log after its checkpoint define the store. Therefore a deletion
//! vector may only become durable together with the segment that supersedes its rows. Rows superseded by the
//! head are deleted in memory only. A replay finds their traces in the old rows, merges them, and deletes the
//! rows again.
//!
//! ```text
//! ingest -> merge_spans -> group_commit (WAL put, publish) -> head
//! head -> rotate -> flush (a segment's files) -> manifest_commit, publish -> segments
//! segments -> compaction_picker -> compact (a segment's files) -> manifest_commit, publish -> segments
//! import -> bulk_load (a segment's files) -> manifest_commit, publish -> segments
//! delete (deletion vectors) -> manifest_commit, publish -> segments
//! open -> claim, fence, replay, sweep
//! ```
//!
//! Every durable object is created once, never changed, and checksummed ([`objects`]). Any difference from
//! the written content is reported as damage. No result is silently computed from an incomplete store.

mod backup;
mod changes;
mod check;
mod committer;
mod deletion_interval;
mod follower;
mod head;
mod ingest;
mod manifest;
pub mod objects;
mod open;
mod options;
mod platform;
mod segment;
pub mod snapshot;
mod state;
mod stats;
pub mod store;
mod threads;
mod wal;
mod workers;

pub use backup::BackupReport;
pub use changes::{Changes, MAX_CHANGES};
pub use check::CheckReport;
pub use follower::Follower;
pub use ingest::{IngestReport, LogIngestReport};
pub use manifest::ImportRecord;
pub use manifest::quarantined::{QuarantinedSegment, QuarantinedWal};
pub use objects::Objects;
pub use objects::local::LocalFolder;
pub use options::{IndexKind, Options};
pub use segment::PartIndexes;
pub use snapshot::columns::PartColumns;
pub use snapshot::value_order::ValueOrder;
pub use snapshot::{ColumnMatch, Snapshot, SnapshotPart};
pub use stats::Stats;
pub use store::TraceStore;
