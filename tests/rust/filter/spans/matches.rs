//! Laws of match explanations: the spans and text snippets, compared with a naive search of every span.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};
use spanwise::filter::Filter;
use spanwise::query::{self, CancellationToken, Detail, PageRequest, RunView, Sort};
use spanwise::storage::{Options, Snapshot, TraceStore};

use super::conditions::of_trace;
use super::operations::{operations, snapshot_after};
use super::oracle::{SeenMatches, SeenTrace, is_pattern};
use super::{cases, compiled, traces};
use crate::support::spans::{request, span, with};

const NEWEST: PageRequest = PageRequest { page: 1, limit: 100, sort: Sort::NEWEST_FIRST };

/// Gives each axis a name, and each `SPAN` for which `is_named` returns true.
pub(super) fn with_names(filter: &mut Value, names: &mut usize, is_named: &mut dyn FnMut() -> bool) {
    match filter {
        Value::Array(parts) => parts.iter_mut().for_each(|part| with_names(part, names, is_named)),
        Value::Object(members) => {
            if members.contains_key("where") && (members["op"] != "SPAN" || is_named()) {
                *names += 1;
                // One of the names equals the default name of an unnamed span.
                let name = if *names == 2 { "span_2".to_owned() } else { format!("n{names}") };
                members.insert("as".into(), name.into());
            }
            for key in ["conditions", "condition", "where"] {
                members.get_mut(key).into_iter().for_each(|part| with_names(part, names, is_named));
            }
        }
        _ => {}
    }
}

/// Gives each unnamed `SPAN` its default name.
fn with_defaults(filter: &mut Value, taken: &BTreeSet<String>, defaults: &mut usize) {
    if filter["op"] == "SPAN" && filter["as"].is_null() {
        let name = loop {
            *defaults += 1;
            let name = if *defaults == 1 { "span".into() } else { format!("span_{defaults}") };
            if !taken.contains(&name) {
                break name;
            }
        };
        filter["as"] = name.into();
    }
    match filter["op"].as_str().expect("op") {
        "AND" | "OR" => {
            let parts = filter["conditions"].as_array_mut().expect("conditions");
            for part in parts {
                with_defaults(part, taken, defaults);
            }
        }
        "NOT" => with_defaults(&mut filter["condition"], taken, defaults),
        _ => {}
    }
}

fn named() -> impl Strategy<Value = Value> {
    (of_trace(), prop::collection::vec(any::<bool>(), 8)).prop_map(|(mut filter, named)| {
        let mut named = named.into_iter().cycle();
        with_names(&mut filter, &mut 0, &mut || named.next().unwrap_or_default());
        filter
    })
}

/// Returns the matches of every trace of a page, by trace id.
fn found(snapshot: &Snapshot, filter: &Filter, detail: Detail) -> BTreeMap<String, Value> {
    let view = RunView { detail, with_matches: true };
    let token = CancellationToken::default();
    let page = query::runs(snapshot, filter, NEWEST, view, &token).expect("a page");
    assert_eq!(query::newest_runs(snapshot, filter, NEWEST, view, &token).expect("a page").data, page.data);
    let plain = query::runs(snapshot, filter, NEWEST, detail, &token).expect("a page");
    let mut items: Vec<Value> = serde_json::from_slice(&page.data).expect("items");
    let matches = items.iter_mut().map(|item| {
        let matches = item.as_object_mut().expect("an object").remove("matches").expect("matches");
        (item["trace_id"].as_str().expect("an id").to_owned(), matches)
    });
    let matches = matches.collect();
    assert_eq!(items, serde_json::from_slice::<Vec<Value>>(&plain.data).expect("items"), "all else is equal");
    matches
}

/// Returns the expected JSON of matching spans.
pub(super) fn shown(expected: &SeenMatches) -> Value {
    let spans = expected.spans.iter().map(|(name, ids)| {
        let shown: Vec<&String> = ids.iter().take(32).collect();
        (name.clone(), json!({"count": ids.len(), "span_ids": shown}))
    });
    Value::Object(spans.collect())
}

pub(super) fn assert_texts(pieces: &[Value], expected: &[(Value, Vec<(String, String)>)]) {
    let fits = |piece: &Value, (leaf, of): &(Value, Vec<(String, String)>)| {
        let text = |key: &str| piece[key].as_str().expect("a text").to_owned();
        let at = |key: &str| usize::try_from(piece[key].as_u64().expect("a number")).expect("a position");
        let context: Vec<char> = text("context").chars().collect();
        let highlighted: String = context[at("start")..at("end")].iter().collect();
        assert!(context.len() <= at("end") - at("start") + 2 * 61, "cut to its surroundings");
        of.contains(&(text("span_id"), text("field"))) && is_pattern(leaf, &highlighted)
    };
    for piece in pieces {
        assert!(expected.iter().any(|leaf| fits(piece, leaf)), "{piece} is none of {expected:?}");
    }
    let different: BTreeSet<String> = pieces.iter().map(ToString::to_string).collect();
    assert_eq!(different.len(), pieces.len(), "nothing twice");
    assert!(pieces.len() <= 8);
    let pairs = |(_, of): &(Value, Vec<(String, String)>)| of.len();
    let is_whole = expected.iter().map(pairs).sum::<usize>() <= 8;
    for leaf in expected.iter().filter(|leaf| pairs(leaf) > 0) {
        let own: Vec<&Value> = pieces.iter().filter(|piece| fits(piece, leaf)).collect();
        assert!(!own.is_empty() || expected.len() > 8, "nothing of {leaf:?} in {pieces:?}");
        for (id, field) in leaf.1.iter().filter(|_| is_whole) {
            let is_there = own.iter().any(|piece| piece["span_id"] == **id && piece["field"] == **field);
            assert!(is_there, "{id} {field} of {leaf:?} in {pieces:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn matches_are_what_a_look_at_every_span_finds(
        operations in operations(), filters in prop::collection::vec(named(), 20),
    ) {
        let (_folder, snapshot) = snapshot_after(&operations);
        let seen: Vec<_> =
            traces(&snapshot).iter().map(|trace| (trace.trace_id.to_string(), SeenTrace::of(trace))).collect();
        for source in filters {
            let filter = compiled(&source.to_string());
            let all = found(&snapshot, &filter, Detail::Preview);
            prop_assert_eq!(&found(&snapshot, &filter, Detail::Full), &all);
            let text = source.to_string();
            let taken = (1..10).map(|name| if name == 2 { "span_2".into() } else { format!("n{name}") });
            let taken = taken.filter(|name| text.contains(&format!("\"as\":\"{name}\""))).collect();
            let mut whole = source.clone();
            with_defaults(&mut whole, &taken, &mut 0);
            for (id, trace) in &seen {
                let expected = trace.matches(&whole);
                let Some(matches) = all.get(id) else { continue };
                prop_assert_eq!(&matches["spans"], &shown(&expected), "{} of {}", whole, id);
                assert_texts(matches["texts"].as_array().expect("texts"), &expected.texts);
            }
        }
    }
}

#[test]
fn a_named_span_that_alone_decides_has_as_many_spans_as_it_asks_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let store =
        TraceStore::open(folder.path().to_str().expect("a path"), Options::default()).expect("a store");
    for trace in 1..=40_u64 {
        let spans: Vec<_> = (1..=trace)
            .map(|id| with(span(trace, id, id), "input.value", &format!("{}refund", "no ".repeat(40))))
            .collect();
        store.ingest(request(&spans)).expect("ingested");
    }
    let source = json!({"op": "SPAN", "as": "refunds", "at_least": 35,
        "where": {"op": "CONTAINS", "key": "input", "value": "REFUND"}});
    let all = found(&store.snapshot(), &compiled(&source.to_string()), Detail::Summary);
    assert_eq!(all.len(), 6);
    for matches in all.values() {
        let refunds = &matches["spans"]["refunds"];
        assert!(refunds["count"].as_u64() >= Some(35));
        assert_eq!(
            refunds["span_ids"].as_array().map(Vec::len),
            Some(32),
            "the ids are cut, the count is not"
        );
        let pieces = matches["texts"].as_array().expect("texts");
        assert_eq!(pieces.len(), 8);
        assert_eq!(pieces[0]["context"], format!("…{}refund", "no ".repeat(20)));
        assert_eq!((&pieces[0]["start"], &pieces[0]["end"]), (&json!(61), &json!(67)));
    }
}
