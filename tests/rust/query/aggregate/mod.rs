//! For random stores and requests, an aggregation equals the result of the naive evaluator.

mod oracle;

use std::cell::Cell;
use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};
use spanwise::error::Error;
use spanwise::query::{Aggregation, CancellationToken, Query, Response, aggregate};
use spanwise::storage::Snapshot;

use self::oracle::{Row, assert_response, rows, selected};
use super::{Run, instant, runs, stored};

fn conditions() -> impl Strategy<Value = Value> {
    let id = |key: &'static str, prefix: &'static str| {
        (0..5_u8, prop::sample::select(vec!["EQ", "NEQ", "CONTAINS", "GTE"])).prop_map(
            move |(number, op)| json!({"op": op, "key": key, "value": format!("{prefix}-{number}")}),
        )
    };
    let leaf = prop_oneof![
        Just(json!({})),
        Just(json!({"op": "EQ", "key": "status", "value": "ERROR"})),
        Just(json!({"op": "EXISTS", "key": "user_id"})),
        id("agent_id", "agno.agent.id"),
        id("user_id", "user.id"),
        (0..40_000_u32).prop_map(|value| json!({"op": "LT", "key": "duration_ms", "value": value})),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        let whole = inner.prop_filter("not empty", |filter| filter != &json!({})).boxed();
        prop_oneof![
            whole.clone().prop_map(|condition| json!({"op": "NOT", "condition": condition})),
            prop::collection::vec(whole.clone(), 1..3)
                .prop_map(|all| json!({"op": "AND", "conditions": all})),
            prop::collection::vec(whole, 1..3).prop_map(|all| json!({"op": "OR", "conditions": all})),
        ]
    })
}

fn measures() -> impl Strategy<Value = Vec<Value>> {
    let number = || prop::sample::select(vec!["duration_ms", "error_count", "total_spans", "input_tokens"]);
    let text = prop::sample::select(vec!["agent_id", "session_id", "name", "status", "user_id", "run_id"]);
    let op = prop_oneof![
        Just(json!({"op": "COUNT"})),
        text.prop_map(|key| json!({"op": "COUNT_DISTINCT", "key": key})),
        (prop::sample::select(vec!["SUM", "AVG", "MIN", "MAX"]), number())
            .prop_map(|(op, key)| json!({"op": op, "key": key})),
        (number(), prop_oneof![Just(0.0), Just(0.5), Just(0.95), Just(1.0), 0.0..1.0_f64])
            .prop_map(|(key, q)| json!({"op": "QUANTILE", "key": key, "q": q})),
        (number(), prop::sample::select(vec!["log", "linear"]), 1..30_u8, any::<bool>()).prop_map(
            |(key, scale, bins, is_bound)| {
                let mut op = json!({"op": "HISTOGRAM", "key": key, "scale": scale, "bins": bins});
                if is_bound {
                    op["range"] = json!([1, 50_000]);
                }
                op
            }
        ),
    ];
    let measure = (op, prop::option::of(conditions()));
    prop::collection::vec(measure, 1..7).prop_map(|measures| {
        let named = measures.into_iter().enumerate().map(|(index, (mut measure, condition))| {
            measure["name"] = format!("m{index}").into();
            if let Some(condition) = condition {
                measure["where"] = condition;
            }
            measure
        });
        named.collect()
    })
}

pub(super) fn requests() -> impl Strategy<Value = Value> {
    let fields = ["agent_id", "user_id", "session_id", "status", "name"].map(|key| (key, 1..5_u8));
    let by = prop::sample::subsequence(fields.to_vec(), 0..=2).prop_flat_map(|fields| {
        fields
            .into_iter()
            .map(|(key, limits)| limits.prop_map(move |limit| json!({"key": key, "limit": limit})))
            .collect::<Vec<_>>()
    });
    let time = prop::option::of((prop::option::of(0..4_u64), prop::option::of(4..7_u64), 1..8_u8));
    (conditions(), by, time, measures()).prop_map(|(filter, by, time, measures)| {
        let mut request = json!({"filter": filter, "by": by, "measures": measures});
        if let Some((from, to, buckets)) = time {
            request["time"] = json!({"buckets": buckets});
            if let Some(from) = from {
                request["time"]["from"] = instant(from).into();
            }
            if let Some(to) = to {
                request["time"]["to"] = instant(to).into();
            }
        }
        request
    })
}

fn respond(snapshot: &Snapshot, request: &Value, owner: Option<&str>) -> (Value, u64) {
    let aggregation = Aggregation::compile(request.to_string().as_bytes()).expect("a good request");
    let aggregation = match owner {
        Some(owner) => aggregation.restrict("user_id", owner).expect("a field"),
        None => aggregation,
    };
    let result = aggregate(snapshot, &aggregation, &CancellationToken::default()).expect("a result");
    (serde_json::from_slice(&result.data).expect("JSON"), result.matched)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_aggregation_equals_the_naive_evaluator(
        mut runs in runs(), chunk in 1..20_usize, flush_after in 0..6_usize, deleted_every in 0..9_u64,
        requests in prop::collection::vec(requests(), 8),
    ) {
        let (_folder, store) = stored(&mut runs, chunk, flush_after, deleted_every);
        let snapshot = store.snapshot();
        let rows = rows(&snapshot, &runs);
        for request in requests {
            let (response, matched) = respond(&snapshot, &request, None);
            prop_assert_eq!(matched, selected(&rows, &request).len() as u64);
            assert_response(&request, &response, &rows);
        }
    }

    #[test]
    fn owners_add_up_to_the_whole_and_each_equals_a_store_of_its_own_traces(
        mut runs in runs(), chunk in 1..20_usize, flush_after in 0..6_usize, deleted_every in 0..9_u64,
        condition in conditions(), requests in prop::collection::vec(requests(), 4),
    ) {
        let owned = |run: &Run| run.user.is_some();
        runs.retain(owned);
        let (_folder, store) = stored(&mut runs, chunk, flush_after, deleted_every);
        let snapshot = store.snapshot();
        let rows = rows(&snapshot, &runs);
        let owners: Vec<String> = (0..4).map(|user| format!("user.id-{user}")).collect();
        for request in requests {
            for owner in &owners {
                let own: Vec<&Run> = runs.iter().filter(|run| format!("user.id-{}", run.user.expect("an owner")) == *owner).collect();
                let own_rows: Vec<Row> = rows_of(&rows, &own);
                let (response, _) = respond(&snapshot, &request, Some(owner));
                assert_response(&request, &response, &own_rows);
            }
        }
        let request = json!({"filter": condition, "time": {"from": instant(0), "to": instant(9), "buckets": 9}, "measures": [
            {"name": "count", "op": "COUNT"}, {"name": "sum", "op": "SUM", "key": "duration_ms"},
            {"name": "slow", "op": "HISTOGRAM", "key": "duration_ms", "scale": "log", "bins": 9, "range": [0, 60_000]},
        ]});
        let (whole, _) = respond(&snapshot, &request, None);
        let each: Vec<Value> = owners.iter().map(|owner| respond(&snapshot, &request, Some(owner)).0).collect();
        for pointer in ["/groups/0/total", "/groups/0/series", "/groups/0/histograms/slow"] {
            let mut sum = each[0].pointer(pointer).expect("numbers").clone();
            each[1..].iter().for_each(|own| add(&mut sum, own.pointer(pointer).expect("numbers")));
            prop_assert_eq!(&sum, whole.pointer(pointer).expect("numbers"), "{}", pointer);
        }
    }
}

fn rows_of(rows: &[Row], own: &[&Run]) -> Vec<Row> {
    let ids: BTreeSet<String> = own.iter().map(|run| run.trace_id()).collect();
    let own = rows.iter().filter(|row| row.text("trace_id").is_some_and(|id| ids.contains(&id)));
    own.map(|row| Row { start_time: row.start_time, cells: row.cells.clone() }).collect()
}

/// Adds all numbers of a value except edges, which must be equal.
fn add(sum: &mut Value, other: &Value) {
    match sum {
        Value::Object(members) => members.iter_mut().for_each(|(name, member)| {
            if name == "edges" { assert_eq!(*member, other[name]) } else { add(member, &other[name]) }
        }),
        Value::Array(items) => {
            items.iter_mut().enumerate().for_each(|(index, item)| add(item, &other[index]));
        }
        number => *number = (number.as_i64().expect("a number") + other.as_i64().expect("a number")).into(),
    }
}

#[test]
fn segments_with_bitmaps_give_the_same_aggregation() {
    let code = |trace: u64, of: u64| u8::try_from(trace * trace % of).ok().filter(|code| *code > 0);
    let run = |trace: u64| Run {
        trace,
        start: trace * 7 % 6_000,
        duration: trace * trace * 31 % 1_000_003,
        session: code(trace, 251),
        user: code(trace, 5),
        agent: code(trace, 7),
        is_error: trace.is_multiple_of(9),
    };
    let mut runs: Vec<Run> = (1..=9_000).map(run).collect();
    let (_folder, store) = stored(&mut runs, 1_500, 2, 11);
    let snapshot = store.snapshot();
    let rows = rows(&snapshot, &runs);
    let failed = json!({"op": "EQ", "key": "status", "value": "ERROR"});
    let measures = json!([
        {"name": "count", "op": "COUNT"},
        {"name": "failed", "op": "COUNT", "where": failed},
        {"name": "median", "op": "QUANTILE", "key": "duration_ms", "q": 0.5},
        {"name": "p99", "op": "QUANTILE", "key": "duration_ms", "q": 0.99, "where": {"op": "EXISTS", "key": "user_id"}},
        {"name": "sessions", "op": "COUNT_DISTINCT", "key": "session_id"},
        {"name": "mean", "op": "AVG", "key": "duration_ms"},
        {"name": "log", "op": "HISTOGRAM", "key": "duration_ms", "scale": "log", "bins": 12},
    ]);
    let filters = [
        json!({}),
        json!({"op": "LT", "key": "duration_ms", "value": 600_000}),
        json!({"op": "EQ", "key": "agent_id", "value": "agno.agent.id-2"}),
        json!({"op": "NEQ", "key": "session_id", "value": "session.id-4"}),
        failed.clone(),
    ];
    for filter in filters {
        for by in [json!([]), json!([{"key": "agent_id", "limit": 3}, {"key": "status", "limit": 1}])] {
            let time = json!({"from": instant(0), "buckets": 12});
            let request = json!({"filter": filter, "by": by, "time": time, "measures": measures});
            let (response, matched) = respond(&snapshot, &request, None);
            assert_eq!(matched, selected(&rows, &request).len() as u64);
            assert_response(&request, &response, &rows);
        }
    }
}

#[test]
fn a_cancelled_aggregation_ends() {
    let run =
        |trace| Run { trace, start: 0, duration: 0, session: None, user: None, agent: None, is_error: false };
    let (_folder, store) = stored(&mut vec![run(1)], 1, 9, 0);
    let aggregation =
        Aggregation::compile(br#"{"measures": [{"name": "n", "op": "COUNT"}]}"#).expect("a request");
    let (query, token) = (Query::of_aggregation(aggregation), CancellationToken::default());
    let reserved = Cell::new(0);
    let reserve = |bytes| {
        reserved.set(bytes);
        Ok(())
    };
    let response = query.run_within(&store.snapshot(), &reserve, &token).expect("a result");
    let Response::Aggregate(result) = response else { panic!("expected numbers, got {response:?}") };
    assert!(reserved.get() >= result.data.len() as u64);
    let cancel = |_| {
        token.cancel();
        Ok(())
    };
    let ended = query.run_within(&store.snapshot(), &cancel, &token);
    assert!(matches!(ended, Err(Error::Cancelled)), "while it counts");
    assert!(matches!(query.run(&store.snapshot(), &token), Err(Error::Cancelled)), "while it selects");
}
