//! Tests of `rust/storage/committer/`.

mod compaction;
mod delete;
mod flush;
mod group_commit;
mod ingest_rate;
