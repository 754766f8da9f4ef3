//! Tests of `rust/trace/`.

mod captures;
mod detail;
mod documents;
mod attributes;
mod forest;
mod fragments;
mod golden;
mod json;
mod made;
mod messages;
mod row;
mod size;
