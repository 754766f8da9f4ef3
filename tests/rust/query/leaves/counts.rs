//! Aggregations, facets and attribute keys.

use proptest::prelude::*;
use serde_json::{Value, json};
use spanwise::query::{
    self, Aggregation, CancellationToken, FacetRequest, Query, Request, Response, aggregate, attribute_keys,
    facets,
};

use super::super::aggregate::requests;
use super::super::filtered::operations;
use super::{Stores, compiled, owned, searched};
use crate::filter::layouts::TEXTS;

/// Returns aggregations with measures that random ones lack: calls by model, costs, spans.
fn special() -> impl Strategy<Value = Value> {
    let calls = json!([
        {"name": "calls", "op": "COUNT"},
        {"name": "input", "op": "SUM", "key": "input_tokens"},
        {"name": "cost", "op": "SUM", "key": "cost"},
        {"name": "failed", "op": "COUNT", "where": {"op": "EQ", "key": "status", "value": "ERROR"}},
    ]);
    let costs = json!([
        {"name": "cost", "op": "AVG", "key": "cost"},
        {"name": "p50", "op": "QUANTILE", "key": "cost", "q": 0.5},
        {"name": "bins", "op": "HISTOGRAM", "key": "cost", "scale": "log", "bins": 7},
        {"name": "called", "op": "COUNT",
         "where": {"op": "SPAN", "where": {"op": "EQ", "key": "type", "value": "LLM"}}},
        {"name": "tokens", "op": "QUANTILE", "key": "total_tokens", "q": 0.9},
    ]);
    let time = prop::option::of((1..9_u8).prop_map(|buckets| json!({"buckets": buckets})));
    (time, 1..4_u8, any::<bool>(), any::<bool>()).prop_map(move |(time, limit, is_of_calls, is_grouped)| {
        let mut request = json!({"measures": if is_of_calls { &calls } else { &costs }});
        if is_of_calls {
            request["by"] = json!([{"key": "model", "limit": limit}]);
        } else if is_grouped {
            request["by"] = json!([{"key": "agent_id", "limit": limit}, {"key": "status", "limit": 2}]);
        }
        if let Some(time) = time {
            request["time"] = time;
        }
        request
    })
}

const FIELDS: [&str; 7] = ["status", "user_id", "agent_id", "team_id", "session_id", "run_id", "name"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn an_aggregation_over_leaves_equals_one_store(
        operations in operations(), layout in 0..4_usize,
        requested in prop::collection::vec((prop_oneof![3 => requests(), 2 => special()], prop::option::of(0..4_usize)), 8),
    ) {
        let stores = Stores::new(layout);
        for operation in &operations {
            stores.apply(operation);
        }
        let (snapshot, token) = (stores.one.snapshot(), CancellationToken::default());
        for (request, owner) in requested {
            let aggregation = Aggregation::compile(request.to_string().as_bytes()).expect("a good request");
            let aggregation = match owner {
                Some(owner) => aggregation.restrict("user_id", TEXTS[owner]).expect("a field"),
                None => aggregation,
            };
            let expected = aggregate(&snapshot, &aggregation, &token).expect("a result");
            let mut search = Query::of_aggregation(aggregation).root(stores.map.shards()).expect("a query");
            let response = stores.response_of(&mut search).expect("a result");
            prop_assert_eq!(response, Response::Aggregate(expected), "{}", request);
            prop_assert!(search.max_bytes().is_some(), "the memory is known before anything is counted");
        }
    }

    #[test]
    fn facets_and_keys_over_leaves_equal_one_store(
        operations in operations(), layout in 0..4_usize,
        requested in prop::collection::vec(
            (searched(), prop::option::of(0..4_usize), 1..5_usize, any::<bool>(), prop::option::of(prop::sample::select(vec!["", "a", "Z"]))), 6),
    ) {
        let stores = Stores::new(layout);
        for operation in &operations {
            stores.apply(operation);
        }
        let (snapshot, token) = (stores.one.snapshot(), CancellationToken::default());
        for (source, owner, limit, exclude_own, prefix) in requested {
            let filter = owned(compiled(&source), owner);
            let mut request = FacetRequest::new(&FIELDS, limit).expect("fields").excluding_own(exclude_own);
            if let Some(prefix) = prefix {
                request = request.with_prefix("agent_id", prefix).expect("one of the fields");
            }
            let expected = facets(&snapshot, &filter, request.clone(), &token).expect("facets");
            let query = Query::new(filter.clone(), Request::Facets(request));
            let response = stores.response(&query).expect("facets");
            prop_assert_eq!(response, Response::Facets(expected), "{}", source);

            let expected = attribute_keys(&snapshot, &filter, ("attributes.", 3), &token).expect("keys");
            let request = Request::Attributes { prefix: "attributes.".to_owned(), limit: 3 };
            let response = stores.response(&Query::new(filter, request)).expect("keys");
            // Leaves may differ in the segments that are already indexed.
            let Response::AttributeKeys(response) = response else { panic!("expected keys, got {response:?}") };
            prop_assert_eq!(response.matched, expected.matched);
            if response.uncounted == 0 && expected.uncounted == 0 {
                prop_assert_eq!(response, expected, "{}", source);
            }
        }
    }
}

#[test]
fn many_values_are_sent_in_several_responses() {
    let stores = Stores::new(1);
    let values = query::MAX_FACET_VALUES;
    let spans: Vec<_> = (1..=3_000_u64)
        .map(|trace| {
            let made = crate::support::spans::span(trace, 1, trace % 7);
            crate::support::spans::with(made, "agno.run.id", &format!("run {:05}", trace % 2_500))
        })
        .collect();
    stores.ingest(&spans);
    let request = FacetRequest::new(&["run_id"], values).expect("a field");
    let (all, token) = (compiled(&Value::Null), CancellationToken::default());
    let expected = facets(&stores.one.snapshot(), &all, request.clone(), &token).expect("facets");
    let query = Query::new(all, Request::Facets(request));
    assert_eq!(stores.response(&query).expect("facets"), Response::Facets(expected));
}
