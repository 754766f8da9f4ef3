//! Tests of `rust/trace/`.
