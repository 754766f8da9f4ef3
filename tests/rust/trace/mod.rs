//! Tests of `rust/trace/`.

mod captures;
