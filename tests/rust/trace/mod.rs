//! Tests of `rust/trace/`.

pub(crate) mod captures;
mod conversation;
mod costs;
mod detail;
mod documents;
mod attributes;
mod forest;
mod fragments;
mod frameworks;
mod golden;
mod json;
mod made;
mod messages;
mod row;
mod size;
mod trace_columns;
mod values;
