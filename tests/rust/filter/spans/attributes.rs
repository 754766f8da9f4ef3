//! Laws and limits of the attribute index, and of the keys that it counts.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};
use spanwise::filter::Filter;
use spanwise::query::{AttributeKeys, CancellationToken, attribute_keys};
use spanwise::storage::{Options, Snapshot, SnapshotPart, TraceStore};
use spanwise::trace::Trace;

use super::conditions::of_trace;
use super::operations::{Operation, TRACES, id, operations, snapshot_after};
use super::oracle::SeenTrace;
use super::{assert_found, cases, compiled};
use crate::support::spans::{request, request_from, span, with};

fn counted(snapshot: &Snapshot, filter: &Filter, prefix: &str, limit: usize) -> AttributeKeys {
    attribute_keys(snapshot, filter, (prefix, limit), &CancellationToken::default()).expect("counted")
}

/// Returns the traces, each with its part.
fn traces(snapshot: &Snapshot) -> impl Iterator<Item = (&SnapshotPart, Trace)> {
    let found = (1..=TRACES).filter_map(|trace| snapshot.find(id(trace)));
    found.map(|(part, row)| {
        let part = &snapshot.parts()[part];
        (part, part.trace(row).expect("a readable document"))
    })
}

fn by_key(keys: &AttributeKeys) -> Vec<(String, u64)> {
    let items: Vec<Value> = serde_json::from_slice(&keys.data).expect("JSON");
    let of_item = |item: &Value| {
        (item["key"].as_str().expect("a key").to_owned(), item["count"].as_u64().expect("a count"))
    };
    items.iter().map(of_item).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn keys_are_counted_as_a_look_at_every_span_counts_them(
        mut operations in operations(), source in of_trace(), limit in 1..8_usize, prefix in 0..4_usize,
    ) {
        operations.push(Operation::Index);
        let (_folder, snapshot) = snapshot_after(&operations);
        let prefix = ["", "attributes.", "resource.k", "attributes.llm.m"][prefix];
        let (mut expected, mut matched, mut uncounted) = (BTreeMap::<String, u64>::new(), 0, 0);
        for (part, trace) in traces(&snapshot) {
            let seen = SeenTrace::of(&trace);
            if seen.truth(&source) == Some(true) {
                matched += 1;
                // A segment that awaits its compression is not indexed.
                if part.is_segment() && part.attributes().is_none() {
                    uncounted += 1;
                    continue;
                }
                for key in seen.attribute_names() {
                    let is_numbered = key.split('.').any(|part| part.parse::<u64>().is_ok());
                    if !is_numbered && key.starts_with(prefix) {
                        *expected.entry(key).or_default() += 1;
                    }
                }
            }
        }
        let mut expected: Vec<(String, u64)> = expected.into_iter().collect();
        expected.sort_by_key(|(_, count)| u64::MAX - count);
        let found = counted(&snapshot, &compiled(&source.to_string()), prefix, limit);
        prop_assert_eq!(found.distinct, expected.len() as u64);
        expected.truncate(limit);
        prop_assert_eq!(by_key(&found), expected);
        prop_assert_eq!((found.matched, found.uncounted), (matched, uncounted));
    }
}

#[test]
fn what_is_beyond_the_limit_of_keys_is_found_in_the_documents() {
    const KEYS: usize = 4_096;
    let folder = tempfile::tempdir().expect("a folder");
    let store =
        TraceStore::open(folder.path().to_str().expect("a path"), Options::default()).expect("a store");
    for trace in 1..=6 {
        let first = (trace - 1) * 1_000;
        let many = (first..first + 1_000).map(|key| format!("key-{key}"));
        let span = many.fold(span(trace, 1, trace), |span, key| with(span, &key, "value"));
        let host =
            ("host.name", spanwise::otlp::proto::any_value::Value::StringValue(format!("host-{trace}")));
        store.ingest(request_from(&[host], &[span])).expect("ingested");
    }
    store.flush().expect("sealed");
    store.index().expect("indexed");
    assert_eq!(store.stats().segments_without_attributes, 0);
    let filters: Vec<Value> = [0, 999, 1_000, 4_094, 4_095, 4_096, 5_000, 5_999, 6_000]
        .into_iter()
        .flat_map(|key| {
            let key = format!("attributes.key-{key}");
            let equal = json!({"op": "EQ", "key": key, "value": "value"});
            let other = json!({"op": "NEQ", "key": key, "value": "value"});
            let exists = json!({"op": "EXISTS", "key": key});
            let on_span = json!({"op": "SPAN", "where": {"op": "NOT", "condition": exists}, "at_most": 0});
            [equal, other, exists, on_span]
        })
        .chain([json!({"op": "IN", "key": "resource.host.name", "values": ["host-6", "host-1"]})])
        .collect();
    assert_found(&store, &filters).expect("found");
    let keys = counted(&store.snapshot(), &Filter::all(), "", 1_000);
    assert_eq!((keys.distinct, keys.matched, keys.uncounted), (KEYS as u64, 6, 0));
}

#[test]
fn a_key_of_few_spans_is_decided_by_the_index_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let store =
        TraceStore::open(folder.path().to_str().expect("a path"), Options::default()).expect("a store");
    for trace in 1..=200 {
        let key = if trace % 67 == 0 { "few" } else { "many" };
        store.ingest(request(&[with(span(trace, 1, trace), key, &trace.to_string())])).expect("ingested");
    }
    store.flush().expect("sealed");
    store.index().expect("indexed");
    let snapshot = store.snapshot();
    for (key, count) in [("few", 2), ("many", 198), ("none", 0)] {
        let key = format!("attributes.{key}");
        let exists = json!({"op": "EXISTS", "key": key});
        let on_span = json!({"op": "SPAN", "where": {"op": "GTE", "key": key, "value": "0"}});
        for (source, expected) in [(&exists, count), (&on_span, count)] {
            let filter = compiled(&source.to_string());
            for part in snapshot.parts().iter().filter(|part| part.count() > 0) {
                let candidates = part.candidates(&filter, &|| false).expect("candidates");
                assert_eq!(
                    (candidates.certain.count(), candidates.unverified.len()),
                    (expected, 0),
                    "{source}"
                );
            }
        }
    }
}

#[test]
fn what_is_not_indexed_yet_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options { indexes: Vec::new(), ..Options::default() };
    let store = TraceStore::open(folder.path().to_str().expect("a path"), options).expect("a store");
    store.ingest(request(&[with(span(1, 1, 0), "k", "7")])).expect("ingested");
    store.flush().expect("sealed");
    store.ingest(request(&[with(span(2, 1, 0), "k", "7")])).expect("ingested");
    let all = counted(&store.snapshot(), &Filter::all(), "attributes.k", 10);
    assert_eq!((by_key(&all), all.matched, all.uncounted), (vec![("attributes.k".into(), 1)], 2, 1));
    let of_head = compiled(&json!({"op": "EQ", "key": "trace_id", "value": id(2).to_string()}).to_string());
    let head = counted(&store.snapshot(), &of_head, "attributes.k", 10);
    assert_eq!((by_key(&head), head.matched, head.uncounted), (vec![("attributes.k".into(), 1)], 1, 0));
    for limit in [0, 1_001] {
        let token = CancellationToken::default();
        let error =
            attribute_keys(&store.snapshot(), &Filter::all(), ("", limit), &token).expect_err("rejected");
        assert_eq!(error.to_string(), format!("expected a limit from 1 to 1000, got {limit}"));
    }
}
