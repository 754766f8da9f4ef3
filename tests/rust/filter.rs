//! Tests of `rust/filter/`.
