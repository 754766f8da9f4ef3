//! Laws of conditions on spans, texts and attributes, against a look at every text and every pair of spans.

mod attributes;
mod costs;
mod examples;
mod matches;
mod oracle;
mod rows;
pub(crate) mod said;
mod stored;

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use spanwise::filter::{Axis, Filter};
use spanwise::index::RowBlock;
use spanwise::otlp::TraceId;
use spanwise::otlp::proto::{self, any_value};
use spanwise::search::{self, CancellationToken, PageRequest, Sort};
use spanwise::storage::{IndexKind, Options, Snapshot, TraceStore};
use spanwise::trace::Trace;

use self::costs::amount;
use self::oracle::SeenTrace;
use super::compiled;
use crate::support::spans::{EPOCH, MILLISECOND, failed, request_from, with};

const NAMES: [&str; 4] = ["plan", "search", "refund", "Plan"];
const KINDS: [&str; 6] = ["", "AGENT", "LLM", "TOOL", "RETRIEVER", "EMBEDDING"];
/// What is said, and what is looked for.
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
const PATTERNS: [&str; 16] = [
    "refund",
    "fund m",
    "REFUND ME TWICE",
    "café",
    "é \"noir\"",
    "noir\"\np",
    "東京",
    "京の",
    "天",
    "σΊσυφος k",
    "example.com",
    "of the",
    "té",
    "_",
    "x",
    "% _",
];

/// A span of a trace, by what selects each of its parts.
#[derive(Debug, Clone)]
struct Made {
    trace: u64,
    id: u64,
    parent: u64,
    start: u64,
    /// Milliseconds; `None` of a span that runs.
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
            // The first value of a key counts, and this is none.
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
enum Operation {
    Span(Made),
    Seal,
    Merge,
    Delete(u64),
    /// With indexes of the documents, or without.
    Reopen(bool),
    Index,
}

const TRACES: u64 = 7;

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

fn operations() -> impl Strategy<Value = Vec<Operation>> {
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

fn content() -> impl Strategy<Value = Value> {
    let key = prop::sample::select(vec!["input", "output", "error", "text"]);
    let ignore_case = prop_oneof![2 => Just(None), 1 => any::<bool>().prop_map(Some)];
    (key, prop::sample::select(PATTERNS.to_vec()), ignore_case, 0..5_u8).prop_map(
        |(key, text, ignore_case, kind)| {
            if kind == 0 {
                return json!({"op": "EXISTS", "key": key});
            }
            let mut condition = json!({"op": "CONTAINS", "key": key, "value": text});
            if let Some(ignore_case) = ignore_case {
                condition["ignore_case"] = ignore_case.into();
            }
            condition
        },
    )
}

fn attribute() -> impl Strategy<Value = Value> {
    let one = prop::sample::select(vec![json!("7"), json!(7), json!(7.5), json!(8), json!(true), json!("")]);
    let key = prop::sample::select(vec![
        "attributes.k",
        "attributes.k",
        "attributes.llm.model_name",
        "attributes.n.0.k",
        "attributes.none",
        "resource.k",
        "resource.other",
    ]);
    (key, one.clone(), one, 0..8_u8).prop_map(|(key, value, other, kind)| {
        let is_comparable = !value.is_boolean();
        match kind {
            0 => json!({"op": "EXISTS", "key": key}),
            1 if is_comparable && !other.is_boolean() => {
                json!({"op": "IN", "key": key, "values": [value, other]})
            }
            2 if is_comparable => json!({"op": "GT", "key": key, "value": value}),
            3 if is_comparable => json!({"op": "LTE", "key": key, "value": value}),
            4 => json!({"op": "NEQ", "key": key, "value": value}),
            5 => json!({"op": "CONTAINS", "key": key, "value": "7"}),
            _ => json!({"op": "EQ", "key": key, "value": value}),
        }
    })
}

/// Returns values of some options of axes, of which each axis takes its own.
fn options(part: impl Strategy<Value = Value>) -> impl Strategy<Value = BTreeMap<&'static str, Value>> {
    let fields = vec![
        "name",
        "type",
        "status",
        "duration_ms",
        "start_time",
        "is_root",
        "depth",
        "child_count",
        "model",
        "tool_name",
        "input_tokens",
        "cost",
        "input",
        "output",
        "error",
        "text",
    ];
    let from = prop::option::of(prop::sample::select(vec!["start", "end"]));
    let scope = prop::option::weighted(0.3, prop::sample::select(vec!["siblings", "trace"]));
    let same = prop::option::weighted(0.4, prop::sample::subsequence(fields, 1..=2));
    (from, scope, same, prop::option::weighted(0.4, part)).prop_map(|(from, scope, same, without)| {
        let given = [
            ("from", from.map(Value::from)),
            ("scope", scope.map(Value::from)),
            ("same", same.map(Value::from)),
            ("without", without),
        ];
        given.into_iter().filter_map(|(option, value)| Some((option, value?))).collect()
    })
}

/// Returns conditions on fields that only some spans have.
fn not_of_all() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![("model", "gpt"), ("tool_name", "search"), ("tool_name", "plan")]);
    let of_words = (prop::sample::select(vec!["EQ", "NEQ", "CONTAINS"]), words.clone());
    let of_tokens = (prop::sample::select(vec!["GTE", "LT", "NEQ"]), prop::sample::select(vec![0, 4000]));
    prop_oneof![
        of_words.prop_map(|(op, (key, value))| json!({"op": op, "key": key, "value": value})),
        words.prop_map(|(key, value)| json!({"op": "IN", "key": key, "values": [value, "none"]})),
        of_tokens.prop_map(|(op, value)| json!({"op": op, "key": "input_tokens", "value": value})),
        prop::sample::select(vec!["model", "tool_name", "input_tokens", "duration_ms", "cost"])
            .prop_map(|key| json!({"op": "EXISTS", "key": key})),
    ]
}

fn of_span() -> impl Strategy<Value = Value> {
    let number = || (prop::sample::select(vec!["EQ", "GT", "GTE", "LT", "NEQ"]), 0..4_i64);
    let field = prop_oneof![
        prop::sample::select(NAMES.to_vec())
            .prop_map(|name| json!({"op": "EQ", "key": "name", "value": name})),
        prop::sample::select(KINDS[1..].to_vec())
            .prop_map(|kind| json!({"op": "EQ", "key": "type", "value": kind})),
        prop::sample::select(vec!["OK", "error"])
            .prop_map(|status| json!({"op": "NEQ", "key": "status", "value": status})),
        not_of_all(),
        amount("cost"),
        any::<bool>().prop_map(|root| json!({"op": "EQ", "key": "is_root", "value": root})),
        (prop::sample::select(vec!["duration_ms", "depth", "child_count"]), number())
            .prop_map(|(key, (op, value))| json!({"op": op, "key": key, "value": value})),
        Just(json!({"op": "GT", "key": "start_time", "value": "2026-01-01T00:00:00.002Z"})),
    ];
    let leaf = prop_oneof![6 => field, 1 => content(), 3 => attribute()];
    leaf.prop_recursive(3, 8, 2, |part| {
        let parts = || prop::collection::vec(part.clone(), 1..3);
        let axis = prop::sample::select(Axis::all().collect::<Vec<_>>());
        prop_oneof![
            parts().prop_map(|parts| json!({"op": "AND", "conditions": parts})),
            parts().prop_map(|parts| json!({"op": "OR", "conditions": parts})),
            part.clone().prop_map(|part| json!({"op": "NOT", "condition": part})),
            (axis, options(part.clone()), part.clone()).prop_map(|(axis, options, part)| {
                let mut filter = json!({"op": axis.word(), "where": part});
                for option in axis.options() {
                    options.get(*option).into_iter().for_each(|value| filter[*option] = value.clone());
                }
                filter
            }),
        ]
    })
    .prop_filter("within the limits", |part| {
        let text = part.to_string();
        text.matches("\"where\"").count() < 5
    })
}

fn of_trace() -> impl Strategy<Value = Value> {
    let bounds = (prop::option::of(0..3_u64), prop::option::of(0..4_u64));
    let span = (of_span(), bounds).prop_map(|(part, (at_least, at_most))| {
        let mut span = json!({"op": "SPAN", "where": part});
        if let Some(least) = at_least {
            span["at_least"] = least.into();
        }
        if let Some(most) = at_most.filter(|most| at_least.unwrap_or(1) <= *most) {
            span["at_most"] = most.into();
        }
        span
    });
    let column = prop_oneof![
        Just(json!({"op": "GT", "key": "total_spans", "value": 2})),
        Just(json!({"op": "EQ", "key": "status", "value": "ERROR"})),
        Just(json!({"op": "EXISTS", "key": "agent_id"})),
    ];
    let cost = prop_oneof![3 => amount("cost"), 1 => amount("cost_partial")];
    prop_oneof![5 => span, 3 => content(), 2 => attribute(), 1 => column, 2 => cost]
        .prop_recursive(2, 4, 2, |part| {
            let parts = || prop::collection::vec(part.clone(), 1..3);
            prop_oneof![
                parts().prop_map(|parts| json!({"op": "AND", "conditions": parts})),
                parts().prop_map(|parts| json!({"op": "OR", "conditions": parts})),
                part.clone().prop_map(|part| json!({"op": "NOT", "condition": part})),
            ]
        })
        .prop_filter("within the limits", |filter| {
            let text = filter.to_string();
            text.matches("\"where\"").count() <= 8 && text.matches("\"CONTAINS\"").count() <= 16
        })
}

fn id(trace: u64) -> TraceId {
    TraceId::from_hex(&format!("{:016x}{trace:016x}", 1)).expect("an id")
}

fn traces(snapshot: &Snapshot) -> Vec<Trace> {
    let found = (1..=TRACES).filter_map(|trace| snapshot.find(id(trace)));
    found.map(|(part, row)| snapshot.parts()[part].trace(row).expect("a readable document")).collect()
}

fn found(snapshot: &Snapshot, filter: &Filter) -> Vec<String> {
    let request = PageRequest { page: 1, limit: 100, sort: Sort::NEWEST_FIRST };
    let page = search::ids(snapshot, filter, request, &CancellationToken::default()).expect("a page");
    let mut ids: Vec<String> = serde_json::from_slice(&page.data).expect("ids");
    assert_eq!(ids.len() as u64, page.total_count);
    ids.sort_unstable();
    ids
}

/// Asserts that pages which end a search once they are full are those of the whole search.
fn assert_newest(snapshot: &Snapshot, filter: &Filter, source: &Value) {
    let (level, token) = (search::Detail::Summary, CancellationToken::default());
    for page in 1..4 {
        let request = PageRequest { page, limit: 2, sort: Sort::NEWEST_FIRST };
        let whole = search::runs(snapshot, filter, request, level, &token).expect("a page");
        let newest = search::newest_runs(snapshot, filter, request, level, &token).expect("a page");
        assert_eq!(newest.data, whole.data, "page {page} of {source}");
        assert!(newest.total_count <= whole.total_count, "page {page} of {source}");
        if newest.is_exact {
            assert_eq!(newest.total_count, whole.total_count, "page {page} of {source}");
        } else {
            assert!(newest.total_count > 2 * page, "page {page} of {source}");
        }
    }
}

fn apply(store: &mut TraceStore, operation: &Operation, open: &dyn Fn(bool) -> TraceStore) {
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

fn store_in(path: &str, with_indexes: bool) -> TraceStore {
    let kinds = if with_indexes { IndexKind::ALL.to_vec() } else { Vec::new() };
    TraceStore::open(path, Options { indexes: kinds, ..Options::default() }).expect("a store")
}

/// Returns the state of a store after some operations, and its folder.
fn snapshot_after(operations: &[Operation]) -> (tempfile::TempDir, Arc<Snapshot>) {
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

/// Asserts that what the indexes of segments decide is so.
fn assert_decided(snapshot: &Snapshot, filter: &Filter, source: &Value) -> Result<(), TestCaseError> {
    for part in snapshot.parts() {
        let Some(indexes) = part.indexes(filter).expect("indexes") else { continue };
        let verifier = filter.verifier(indexes.of_filters());
        let rows: Vec<u32> = (0..).take(part.count()).collect();
        let decided = verifier.decide(&RowBlock::List(&rows));
        let every = u32::try_from(rows.len()).expect("few rows");
        prop_assert_eq!(&verifier.decide(&RowBlock::Range(0..every)), &decided, "{} of a range", source);
        // A range that begins anywhere.
        let tail = RowBlock::Range(every / 3..every);
        let of_tail = verifier.decide(&tail);
        let thirds: Vec<u32> = rows.iter().copied().step_by(3).collect();
        let of_thirds = verifier.decide(&RowBlock::List(&thirds));
        for (all, tails, by_three) in [
            (&decided.matching, &of_tail.matching, &of_thirds.matching),
            (&decided.open, &of_tail.open, &of_thirds.open),
        ] {
            let expected: Vec<bool> = tail.iter().map(|row| all.contains(row as usize)).collect();
            let found: Vec<bool> = (0..tail.len()).map(|position| tails.contains(position)).collect();
            prop_assert_eq!(found, expected, "{} of the rest", source);
            let expected: Vec<bool> = thirds.iter().map(|row| all.contains(*row as usize)).collect();
            let found: Vec<bool> = (0..thirds.len()).map(|position| by_three.contains(position)).collect();
            prop_assert_eq!(found, expected, "{} of every third", source);
        }
        for row in rows {
            let truth = SeenTrace::of(&part.trace(row as usize).expect("readable")).truth(source);
            if !decided.open.contains(row as usize) {
                prop_assert_eq!(
                    decided.matching.contains(row as usize),
                    truth == Some(true),
                    "{} of {}",
                    source,
                    row
                );
            }
        }
    }
    Ok(())
}

/// Asserts that each filter, and its negation, finds what a look at everything finds.
fn assert_found(store: &TraceStore, filters: &[Value]) -> Result<(), TestCaseError> {
    let snapshot = store.snapshot();
    let seen: Vec<(String, SeenTrace)> =
        traces(&snapshot).iter().map(|trace| (trace.trace_id.to_string(), SeenTrace::of(trace))).collect();
    for source in filters {
        let negated = json!({"op": "NOT", "condition": source});
        for source in [source, &negated] {
            let filter = compiled(&source.to_string());
            let matching = seen.iter().filter(|(_, trace)| trace.truth(source) == Some(true));
            let expected: Vec<&String> = matching.map(|(id, _)| id).collect();
            let ids = found(&snapshot, &filter);
            prop_assert_eq!(ids.iter().collect::<Vec<_>>(), expected.clone(), "{}", source);
            prop_assert_eq!(
                store.delete(&filter, true).expect("counted"),
                expected.len() as u64,
                "{}",
                source
            );
            assert_newest(&snapshot, &filter, source);
            assert_decided(&snapshot, &filter, source)?;
            // The one-row questions of single traces agree.
            for (id, _) in &seen {
                let trace_id = TraceId::from_hex(id).expect("an id");
                let shown =
                    search::trace(&snapshot, trace_id, &filter, search::Detail::Summary).expect("read");
                prop_assert_eq!(shown.is_some(), expected.contains(&id), "{} of {}", source, id);
            }
        }
    }
    Ok(())
}

/// Number of stores; in `make test-slow` filters by the hundred thousand.
fn cases() -> u32 {
    std::env::var("SPAN_CASES").map_or(60, |cases| cases.parse().expect("a number"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn what_is_found_equals_a_look_at_every_text_and_every_pair_of_spans(
        operations in operations(), filters in prop::collection::vec(of_trace(), 20),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().to_str().expect("a path");
        let open = |with_indexes| store_in(path, with_indexes);
        let mut store = open(true);
        // What is asked again is answered by what is kept of the segments that are still there.
        for operations in operations.chunks(operations.len().div_ceil(2).max(1)) {
            for operation in operations {
                apply(&mut store, operation, &open);
            }
            assert_found(&store, &filters)?;
        }
        store.close().expect("closed");
        // Indexes that were made at a seal, made of documents or merged are the same.
        let report = TraceStore::check(path).expect("a sound store");
        prop_assert_eq!(report.other_indexes, Vec::<String>::new());
    }

    #[test]
    fn the_printed_form_is_the_same_filter(source in of_trace()) {
        let printed = compiled(&source.to_string()).canonical();
        prop_assert_eq!(&compiled(&printed).canonical(), &printed);
    }
}
