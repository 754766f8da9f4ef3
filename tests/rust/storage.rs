//! Tests of `rust/storage/`.
