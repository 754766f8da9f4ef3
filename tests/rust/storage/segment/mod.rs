//! Tests of `rust/storage/segment/`.

mod indexes;
mod kept_rows;
