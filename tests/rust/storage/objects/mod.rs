//! Tests of `rust/storage/objects/`.

mod local;
mod lock;
