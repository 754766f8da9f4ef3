//! Tests of `rust/trace/`.

mod captures;
mod detail;
mod documents;
mod attributes;
mod forest;
mod golden;
mod json;
mod made;
mod messages;
mod row;
mod size;
