//! Random operations on a store: spans that arrive in any order, flushes, merges and deletions.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use spanwise::otlp::TraceId;
use spanwise::otlp::proto::{self, any_value};
use spanwise::storage::{IndexKind, Options, Snapshot, TraceStore};

use super::compiled;
use crate::support::spans::{EPOCH, MILLISECOND, failed, request_from, with};

pub(super) const NAMES: [&str; 4] = ["plan", "search", "refund", "Plan"];
pub(super) const KINDS: [&str; 6] = ["", "AGENT", "LLM", "TOOL", "RETRIEVER", "EMBEDDING"];
/// The texts of spans.
const TEXTS: [&str; 12] = [
    "refund me twice",
    "Refund Me",
    "{\"q\": \"caf\\u00e9 \\\"noir\\\"\\nplease\"}",
    "café \"noir\"\nplease",
    "東京の天気",
    "[\"{\\\"q\\\": \\\"\\\\u6771\\\\u4eac\\\"}\"]",
    "Σίσυφος K",
    "connection refused, example.com",
    "e\u{301}té",
    "100% _done_",
    "x",
    "",
];

/// A span of a trace, given by a selector for each of its parts.
#[derive(Debug, Clone)]
pub(super) struct Made {
    trace: u64,
    id: u64,
    parent: u64,
    start: u64,
    /// Milliseconds; `None` for a running span.
    lasts: Option<u64>,
    name: u8,
    kind: u8,
    texts: [u8; 2],
    is_failed: bool,
    attribute: u8,
    /// Nanoseconds after the millisecond of the start, less than a microsecond.
    nanos: u64,
}

impl Made {
    fn span(&self) -> proto::Span {
        let pick = |of: &[&'static str], seed: u8| of[usize::from(seed) % of.len()];
        let start = EPOCH + self.start * MILLISECOND + self.nanos;
        let mut span = proto::Span {
            trace_id: [1_u64.to_be_bytes(), self.trace.to_be_bytes()].concat().into(),
            span_id: self.id.to_be_bytes().to_vec().into(),
            name: pick(&NAMES, self.name).into(),
            start_time_unix_nano: start,
            end_time_unix_nano: self.lasts.map_or(0, |lasts| start + lasts * MILLISECOND),
            ..proto::Span::default()
        };
        if self.parent > 0 {
            span.parent_span_id = self.parent.to_be_bytes().to_vec().into();
        }
        for (key, text) in [
            ("openinference.span.kind", pick(&KINDS, self.kind)),
            ("input.value", pick(&TEXTS, self.texts[0])),
            ("output.value", pick(&TEXTS, self.texts[1])),
            (
                "llm.model_name",
                ["", "gpt", "gpt-4o", "gpt"][usize::from(self.attribute & 1 | self.attribute >> 3 & 2)],
            ),
            ("llm.token_count.prompt", if self.attribute & 2 == 2 { "4000" } else { "" }),
            ("llm.cost.total", if self.attribute & 32 == 32 { "0.25" } else { "" }),
            ("tool.name", if self.attribute & 4 == 4 { "search" } else { "" }),
        ] {
            if !text.is_empty() {
                span = with(span, key, text);
            }
        }
        if self.texts[0] & 1 == 1 {
            span = with(span, "n.0.k", "7");
        }
        if self.attribute % 8 == 7 {
            // The first value of a key counts, and this one is missing.
            span.attributes.push(proto::KeyValue { key: "k".into(), ..proto::KeyValue::default() });
        }
        let value = match self.attribute % 8 {
            0 => None,
            1 => Some(any_value::Value::StringValue("7".into())),
            2 => Some(any_value::Value::IntValue(7)),
            3 => Some(any_value::Value::DoubleValue(7.5)),
            4 => Some(any_value::Value::BoolValue(self.attribute & 8 == 8)),
            6 => Some(any_value::Value::StringValue("7".repeat(200))),
            7 => Some(any_value::Value::IntValue(8)),
            _ => Some(any_value::Value::ArrayValue(proto::ArrayValue::default())),
        };
        if let Some(value) = value {
            let value = Some(proto::AnyValue { value: Some(value) });
            span.attributes.push(proto::KeyValue { key: "k".into(), value, ..proto::KeyValue::default() });
        }
        if self.is_failed { failed(span, pick(&TEXTS, self.texts[0] ^ self.name)) } else { span }
    }

    /// Returns the attributes of its resource.
    fn resource(&self) -> Vec<(&'static str, any_value::Value)> {
        match self.kind / 64 {
            0 => vec![],
            1 => vec![("k", any_value::Value::StringValue("7".into()))],
            2 => vec![("k", any_value::Value::IntValue(7)), ("k", any_value::Value::IntValue(8))],
            _ => vec![("other", any_value::Value::StringValue("7".repeat(129)))],
        }
    }
}

#[derive(Debug, Clone)]
pub(super) enum Operation {
    Span(Made),
    Seal,
    Merge,
    Delete(u64),
    /// With or without document indexes.
    Reopen(bool),
    Index,
}

/// The ids of traces range from one to this.
pub(super) const TRACES: u64 = 7;

fn made() -> impl Strategy<Value = Made> {
    let lasts = prop_oneof![5 => (0..4_u64).prop_map(Some), 1 => Just(None)];
    let places = (1..=TRACES, 1..7_u64, 0..8_u64, 0..6_u64, lasts);
    let parts = (any::<u8>(), any::<u8>(), any::<[u8; 2]>(), prop::bool::weighted(0.3), any::<u8>());
    let nanos = prop_oneof![10 => Just(0), 1 => 0..1_000_u64];
    (places, parts, nanos).prop_map(
        |((trace, id, parent, start, lasts), (name, kind, texts, is_failed, attribute), nanos)| Made {
            trace,
            id,
            parent,
            start,
            lasts,
            name,
            kind,
            texts,
            is_failed,
            attribute,
            nanos,
        },
    )
}

pub(super) fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let operation = prop_oneof![
        40 => made().prop_map(Operation::Span),
        3 => Just(Operation::Seal),
        1 => Just(Operation::Merge),
        1 => (1..=TRACES).prop_map(Operation::Delete),
        2 => any::<bool>().prop_map(Operation::Reopen),
        3 => Just(Operation::Index),
    ];
    prop::collection::vec(operation, 0..60)
}

pub(super) fn id(trace: u64) -> TraceId {
    TraceId::from_hex(&format!("{:016x}{trace:016x}", 1)).expect("an id")
}

pub(super) fn apply(store: &mut TraceStore, operation: &Operation, open: &dyn Fn(bool) -> TraceStore) {
    match operation {
        Operation::Span(made) => {
            store.ingest(request_from(&made.resource(), &[made.span()])).expect("ingested");
        }
        Operation::Seal => store.flush().expect("sealed"),
        Operation::Merge => store.compact(false).expect("merged"),
        Operation::Delete(trace) => {
            let filter = json!({"op": "EQ", "key": "trace_id", "value": id(*trace).to_string()});
            store.delete(&compiled(&filter.to_string()), false).expect("deleted");
        }
        Operation::Reopen(with_indexes) => {
            store.close().expect("closed");
            *store = open(*with_indexes);
        }
        Operation::Index => store.index().expect("indexed"),
    }
}

pub(super) fn store_in(path: &str, with_indexes: bool) -> TraceStore {
    let kinds = if with_indexes { IndexKind::ALL.to_vec() } else { Vec::new() };
    TraceStore::open(path, Options { indexes: kinds, ..Options::default() }).expect("a store")
}

/// Returns the state of a store after some operations, and its folder.
pub(super) fn snapshot_after(operations: &[Operation]) -> (tempfile::TempDir, Arc<Snapshot>) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("a path");
    let open = |with_indexes| store_in(path, with_indexes);
    let mut store = open(true);
    for operation in operations {
        apply(&mut store, operation, &open);
    }
    let snapshot = store.snapshot();
    (folder, snapshot)
}
