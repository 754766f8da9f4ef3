//! A query over several leaves returns the same bytes as a query of one store.

mod checks;
mod counts;
mod pages;

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use spanwise::error::Result;
use spanwise::filter::{Filter, SpanFilter};
use spanwise::ingest::RequestSpans;
use spanwise::placement::ShardMap;
use spanwise::query::{CancellationToken, PinnedLeaf, Query, Response, Root};
use spanwise::storage::{Options, Snapshot, TraceStore};
use tempfile::TempDir;

use super::filtered::Operation;
use crate::filter::laws::filters;
use crate::filter::layouts::TEXTS;
use crate::support::spans::{below, failed, request, span, with};

/// The receipt time of all requests.
const RECEIVED: i64 = 1_800_000_000_000_000;

/// Prefixes of 1, 2, 4 and 7 leaves.
const LAYOUTS: [&[&str]; 4] =
    [&[""], &["0", "1"], &["00", "01", "10", "11"], &["000", "001", "010", "011", "100", "101", "11"]];

/// The same traces in one store, and split among leaves.
struct Stores {
    _folders: Vec<TempDir>,
    one: TraceStore,
    leaves: Vec<TraceStore>,
    map: ShardMap,
}

impl Stores {
    fn new(layout: usize) -> Self {
        let map = ShardMap::new(LAYOUTS[layout % LAYOUTS.len()]).expect("a layout");
        let folders: Vec<TempDir> =
            (0..=map.shards()).map(|_| tempfile::tempdir().expect("a folder")).collect();
        let open = |folder: &TempDir| {
            TraceStore::open(folder.path().to_str().expect("a path"), Options::default()).expect("a store")
        };
        let mut leaves: Vec<TraceStore> = folders.iter().map(open).collect();
        let one = leaves.pop().expect("a store");
        Self { _folders: folders, one, leaves, map }
    }

    fn all(&self) -> impl Iterator<Item = &TraceStore> {
        self.leaves.iter().chain([&self.one])
    }

    /// Stores spans in the single store and in their leaves.
    fn ingest(&self, spans: &[spanwise::otlp::proto::Span]) {
        let whole = ShardMap::new(&[""]).expect("a layout");
        for (map, stores) in [(&whole, std::slice::from_ref(&self.one)), (&self.map, self.leaves.as_slice())]
        {
            let request = RequestSpans::new(RECEIVED, request(spans)).expect("spans");
            let split = request.split(map);
            let mut accepted = 0;
            for (leaf, part) in split.parts {
                accepted += stores[leaf].ingest_part(split.received, &part).expect("stored").accepted;
            }
            assert_eq!(accepted, spans.len() as u64);
        }
    }

    fn apply(&self, operation: &Operation) {
        match operation {
            Operation::Span(trace, text, kind) => self.ingest(&spans_of(*trace, *text, *kind)),
            Operation::Seal => self.all().for_each(|store| store.flush().expect("sealed")),
            Operation::Merge => self.all().for_each(|store| store.compact(false).expect("merged")),
            Operation::Delete(one_in) => {
                let ids: Vec<String> = (0..40)
                    .step_by(usize::try_from(*one_in).expect("few"))
                    .map(|trace| format!("{:016x}{trace:016x}", 1))
                    .collect();
                let filter = compiled(&json!({"op": "IN", "key": "trace_id", "values": ids}));
                let one = self.one.delete(&filter, false).expect("deleted");
                let deleted = self.leaves.iter().map(|leaf| leaf.delete(&filter, false).expect("deleted"));
                assert_eq!(deleted.sum::<u64>(), one);
            }
        }
    }

    /// Returns the response of a query over the leaves.
    fn response(&self, query: &Query) -> Result<Response> {
        self.response_of(&mut query.root(self.map.shards())?)
    }

    fn response_of(&self, root: &mut Root) -> Result<Response> {
        self.response_in_rounds(root).map(|(response, _)| response)
    }

    /// Returns the response of a query over the leaves, and the number of rounds.
    fn response_in_rounds(&self, root: &mut Root) -> Result<(Response, usize)> {
        let snapshots: Vec<Arc<Snapshot>> = self.leaves.iter().map(TraceStore::snapshot).collect();
        merged(root, &snapshots)
    }
}

fn merged(root: &mut Root, snapshots: &[Arc<Snapshot>]) -> Result<(Response, usize)> {
    let token = CancellationToken::default();
    let pins = snapshots.iter().map(|snapshot| PinnedLeaf::new(snapshot.clone(), &root.query()));
    let pins: Vec<PinnedLeaf> = pins.collect::<Result<_>>()?;
    let mut rounds = 0;
    while let Some(requests) = root.requests()? {
        let responses = requests
            .iter()
            .zip(&pins)
            .map(|(request, pin)| request.as_ref().map(|request| pin.respond(request, &token)).transpose());
        root.add(&responses.collect::<Result<Vec<_>>>()?)?;
        rounds += 1;
        assert!(rounds < 40, "every round brings the search nearer to its end");
    }
    Ok((root.finish()?, rounds))
}

/// Returns two spans with texts and attributes for the selectors. The second span is below the first.
fn spans_of(trace: u64, text: u8, kind: u8) -> [spanwise::otlp::proto::Span; 2] {
    let first = u64::from(kind % 3) * 2 + 1;
    let mut made = with(span(trace, first, u64::from(kind % 5)), "openinference.span.kind", "CHAIN");
    let keys = ["session.id", "user.id", "agno.agent.id", "agno.run.id", "agno.team.id"];
    for (index, key) in keys.into_iter().enumerate().filter(|(index, _)| kind >> index & 1 == 1) {
        made = with(made, key, TEXTS[(usize::from(text) + index) % TEXTS.len()]);
    }
    TEXTS[usize::from(text) % TEXTS.len()].clone_into(&mut made.name);
    made = with(made, "input.value", &format!("weather in {}", TEXTS[usize::from(kind) % TEXTS.len()]));
    let called =
        below(with(span(trace, first + 1, u64::from(text % 7)), "openinference.span.kind", "LLM"), first);
    let model = ["gpt-4o-mini", "claude-sonnet-4-5", "homemade"][usize::from(text % 3)];
    let mut called = with(called, "llm.model_name", model);
    called = with(called, "llm.token_count.prompt", &(u64::from(text) * 10).to_string());
    [if kind & 64 == 0 { made } else { failed(made, "broken") }, called]
}

fn compiled(source: &Value) -> Filter {
    Filter::compile(source.to_string().as_bytes()).expect("a good filter")
}

/// Returns filters on columns, and filters on texts and spans that need document checks.
fn searched() -> impl Strategy<Value = Value> {
    let patterns = TEXTS.iter().filter(|text| text.chars().any(|letter| letter.is_ascii_alphanumeric()));
    let text = prop::sample::select(patterns.copied().collect::<Vec<&str>>())
        .prop_map(|text| json!({"op": "CONTAINS", "key": "input", "value": text}));
    let spans = prop_oneof![
        Just(json!({"op": "EQ", "key": "status", "value": "ERROR"})),
        Just(json!({"op": "EQ", "key": "type", "value": "LLM"})),
        Just(json!({"op": "CONTAINS", "key": "name", "value": "a"})),
    ];
    let spans = spans.prop_map(|condition| json!({"op": "SPAN", "where": condition}));
    prop_oneof![
        2 => filters(),
        1 => Just(Value::Null),
        1 => text,
        1 => (spans, filters()).prop_map(|(spans, other)| json!({"op": "OR", "conditions": [spans, other]})),
    ]
}

/// Returns conditions on spans.
fn span_conditions() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!({"op": "EQ", "key": "type", "value": "LLM"})),
        Just(json!({"op": "EQ", "key": "status", "value": "ERROR"})),
        Just(json!({"op": "CONTAINS", "key": "name", "value": "span"})),
    ]
}

fn span_filter(source: &Value) -> SpanFilter {
    SpanFilter::compile(source.to_string().as_bytes()).expect("a good condition")
}

/// Returns a filter, restricted to an owner if there is one.
fn owned(filter: Filter, owner: Option<usize>) -> Filter {
    let Some(owner) = owner else { return filter };
    filter.restrict("user_id", TEXTS[owner % TEXTS.len()]).expect("a restriction")
}
