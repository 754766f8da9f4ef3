//! Tests of `rust/trace/`.

mod captures;
mod detail;
mod facts;
mod forest;

mod made;
mod row;
