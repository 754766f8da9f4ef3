//! Tests of `rust/search/`.
