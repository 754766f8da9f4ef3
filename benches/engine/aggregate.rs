//! Aggregations over many traces: all traces, one value, a tenth, and the traces of one user. Every result is
//! checked before it is timed. The store comes from `store.rs`.

#[path = "store.rs"]
#[allow(dead_code, reason = "nothing is ingested here but the store itself")]
mod store;

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::{Value, json};
use spanwise::query::{Aggregation, CancellationToken, aggregate};
use store::{private_memory, shape, stored};

/// The name, and the members of a request except its filter.
fn questions() -> [(&'static str, Value); 6] {
    let numbers = json!([
        {"name": "count", "op": "COUNT"},
        {"name": "errors", "op": "COUNT", "where": {"op": "EQ", "key": "status", "value": "ERROR"}},
        {"name": "p95", "op": "QUANTILE", "key": "duration_ms", "q": 0.95},
    ]);
    let count = json!([{"name": "count", "op": "COUNT"}]);
    let (time, agents) = (json!({"buckets": 60}), json!([{"key": "agent_id", "limit": 10}]));
    [
        ("time_count", json!({"time": time, "measures": count})),
        ("time", json!({"time": time, "measures": numbers})),
        ("time_by_agent", json!({"time": time, "by": agents, "measures": numbers})),
        ("by_agent_and_status", json!({"by": [agents[0], {"key": "status"}], "measures": count})),
        (
            "histogram",
            json!({"measures": [
                {"name": "h", "op": "HISTOGRAM", "key": "duration_ms", "scale": "log", "bins": 24},
            ]}),
        ),
        (
            "sessions",
            json!({"time": time, "measures": [
                {"name": "sessions", "op": "COUNT_DISTINCT", "key": "session_id"},
            ]}),
        ),
    ]
}

/// The name, the filter, the user restriction, and the range of matching traces per thousand.
type Selection = (&'static str, Value, Option<&'static str>, (u64, u64));

fn filters() -> [Selection; 4] {
    [
        ("everything", json!({}), None, (1_000, 1_000)),
        ("agent", json!({"op": "EQ", "key": "agent_id", "value": "agent-07"}), None, (20, 50)),
        ("contains", json!({"op": "CONTAINS", "key": "user_id", "value": "7@"}), None, (50, 150)),
        ("own", json!({}), Some("user-000042@example.com"), (0, 1)),
    ]
}

fn aggregations(criterion: &mut Criterion) {
    let shape = shape();
    let store = stored(&shape);
    let snapshot = store.snapshot();
    let token = CancellationToken::default();
    let mut group = criterion.benchmark_group(format!("aggregate_{}", shape.traces));
    group.sample_size(20).measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(500));
    for (question, body) in questions() {
        for (name, filter, owner, (min, max)) in filters() {
            let mut body = body.clone();
            body["filter"] = filter;
            let aggregation = Aggregation::compile(body.to_string().as_bytes()).expect("a good request");
            let aggregation = match owner {
                Some(owner) => aggregation.restrict("user_id", owner).expect("a field"),
                None => aggregation,
            };
            let ask = || aggregate(&snapshot, &aggregation, &token).expect("an answer");
            let result = ask();
            let range = shape.traces * min / 1_000..=shape.traces * max / 1_000;
            assert!(range.contains(&result.matched), "{name}: {}", result.matched);
            assert_counts_add_up(&serde_json::from_slice(&result.data).expect("JSON"), result.matched);
            group.bench_function(format!("{question}/{name}"), |bencher| bencher.iter(ask));
        }
    }
    println!("{}", private_memory());
    group.finish();
    store.close().expect("a clean end");
}

/// Asserts that the counts of all groups add up to the count of all traces, in total and over time.
fn assert_counts_add_up(data: &Value, matched: u64) {
    let groups = data["groups"].as_array().expect("groups").iter().chain(data.get("other"));
    let (mut total, mut series, mut is_counted) = (0, 0, false);
    for group in groups {
        let Some(count) = group["total"]["count"].as_u64() else { continue };
        let buckets = group["series"]["count"].as_array();
        is_counted = true;
        total += count;
        series += buckets.map_or(count, |buckets| buckets.iter().filter_map(Value::as_u64).sum());
    }
    assert!(!is_counted || (total, series) == (matched, matched), "{total} and {series} of {matched}");
}

criterion_group!(benches, aggregations);
criterion_main!(benches);
