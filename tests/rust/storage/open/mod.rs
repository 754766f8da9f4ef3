//! Tests of `rust/storage/open.rs`.

mod claims;
mod processes;
