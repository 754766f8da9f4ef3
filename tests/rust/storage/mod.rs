//! Tests of `rust/storage/`.

mod contents;
mod reopen;
