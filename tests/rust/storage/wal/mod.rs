//! Tests of `rust/storage/wal/`.

mod salvage;
