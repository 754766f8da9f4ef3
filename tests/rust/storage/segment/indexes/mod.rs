//! Tests of `rust/storage/segment/indexes/`.

mod cache;
mod make;
mod merge;
mod objects;
mod read;
