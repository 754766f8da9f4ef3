//! Tests of `rust/storage/follower/`.

mod index_objects;
mod law;
mod lifecycle;
