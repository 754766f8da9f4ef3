//! Tests of `rust/storage/segment/`.

mod indexes;
mod filter_cache;
