//! Tests of `rust/storage/segment/`.

mod index_cache;
mod indexes;
mod kept_rows;
