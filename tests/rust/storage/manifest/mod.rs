//! Tests of `rust/storage/manifest/`.

mod quarantined;
