//! Tests of `rust/storage/workers/`.

mod reclaim;
mod retention;
