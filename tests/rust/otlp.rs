//! Tests of `rust/otlp/`.
