//! Tests of `rust/storage/follower/`.

mod law;
mod lifecycle;
