//! Tests of `rust/trace/`.

mod captures;
mod detail;
mod facts;
mod forest;
mod golden;

mod made;
mod row;
