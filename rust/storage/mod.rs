//! The storage engine: traces in a write-ahead log, a head in memory, and immutable segments.
//!
//! Each trace is in exactly one live row of a [`Snapshot`]: a row of the head, or a row of a sealed segment. The head
//! is rebuilt from the write-ahead log (`wal.rs`): a request is acknowledged once its spans are durable there. A
//! segment is two immutable files, the rows and the documents, and is live once a manifest names it. When spans
//! come for a stored trace, the whole trace moves to a new row, and the old row is deleted.
//!
//! After a crash the store is what the newest manifest names, and the log after the manifest's checkpoint. So a
//! deletion vector may become durable only together with the segment that supersedes its rows: rows that are
//! superseded by the head are deleted in memory alone, and a replay finds their traces in the old rows, merges, and
//! deletes them again.
//!
//! ```text
//! ingest -> merge_spans -> group_commit (WAL put, publish) -> head
//! head -> cut -> flush (a segment's files) -> manifest_commit, publish -> segments
//! segments -> compaction_picker -> compact (a segment's files) -> manifest_commit, publish -> segments
//! import -> bulk_load (a segment's files) -> manifest_commit, publish -> segments
//! delete (deletion vectors) -> manifest_commit, publish -> segments
//! open -> claim, fence, replay, sweep
//! ```
//!
//! Everything durable is created once, never changed, and checksummed ([`objects`]). Whatever differs from what was
//! written is reported as damage; no result silently comes from a smaller store.

mod backup;
mod changes;
mod check;
mod committer;
mod deletion_interval;
mod follower;
mod global_ordinals;
mod head;
mod ingest;
mod manifest;
mod merged_texts;
pub mod objects;
mod open;
mod options;
mod platform;
mod segment;
mod shared_values;
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
pub use global_ordinals::{GlobalOrdinals, KnownSessions};
pub use ingest::{IngestReport, LogIngestReport};
pub use manifest::ImportRecord;
pub use manifest::quarantined::{QuarantinedSegment, QuarantinedWal};
pub use objects::Objects;
pub use objects::local::LocalFolder;
pub use options::{IndexKind, Options};
pub use segment::PartIndexes;
pub use shared_values::{SharedCodes, SharedValues};
pub use snapshot::columns::PartColumns;
pub use snapshot::value_order::ValueOrder;
pub use snapshot::{ColumnMatch, Snapshot, SnapshotPart};
pub use stats::Stats;
pub use store::TraceStore;
