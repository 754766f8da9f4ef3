//! Tests of `rust/storage/segment/`.

mod index_cache;
mod index_objects;
mod indexes;
mod kept_rows;
