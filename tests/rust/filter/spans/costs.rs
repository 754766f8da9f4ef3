//! Laws of the costs of traces and model calls: their order and their aggregations.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};
use spanwise::filter::Filter;
use spanwise::query::{self, Aggregation, CancellationToken, PageRequest, Sort, aggregate};
use spanwise::storage::Snapshot;

use super::conditions::of_trace;
use super::operations::{operations, snapshot_after};
use super::oracle::{SeenCall, SeenTrace, dollars};
use super::traces;

/// A condition on an amount of money.
pub(super) fn amount(key: &'static str) -> impl Strategy<Value = Value> {
    let values = vec![
        json!(0),
        json!(0.01),
        json!(0.010_000_000_1),
        json!(0.02),
        json!(0.25),
        json!(0.26),
        json!(0.5),
    ];
    let value = prop::sample::select(values);
    (prop::sample::select(vec!["EQ", "GT", "GTE", "LT", "LTE", "NEQ", "IN", "EXISTS"]), value).prop_map(
        move |(op, value)| match op {
            "EXISTS" => json!({"op": op, "key": key}),
            "IN" => json!({"op": op, "key": key, "values": [value, 0.25]}),
            op => json!({"op": op, "key": key, "value": value}),
        },
    )
}

fn seen(snapshot: &Snapshot) -> Vec<SeenTrace> {
    traces(snapshot).iter().map(SeenTrace::of).collect()
}

/// Returns the value of a cost field in nanodollars.
fn value(trace: &SeenTrace, key: &str) -> Option<u64> {
    let (known, is_whole) = trace.cost();
    Some(known).filter(|_| is_whole == (key == "cost"))
}

fn answer(snapshot: &Snapshot, request: &Value) -> Value {
    let aggregation = Aggregation::compile(request.to_string().as_bytes()).expect("a good request");
    let result = aggregate(snapshot, &aggregation, &CancellationToken::default()).expect("an answer");
    serde_json::from_slice(&result.data).expect("JSON")
}

fn is_near(found: &Value, expected: f64) -> bool {
    found.as_f64().is_some_and(|found| (found - expected).abs() < 1e-12)
}

/// Returns the group name of a call's model.
fn model(call: &SeenCall) -> Value {
    call.model.clone().into()
}

/// Asserts that a group has the sums of its calls.
fn assert_calls(total: &Value, calls: &[&SeenCall]) -> Result<(), TestCaseError> {
    prop_assert_eq!(&total["calls"], calls.iter().filter(|call| call.is_innermost).count());
    prop_assert_eq!(&total["tokens"], calls.iter().map(|call| call.tokens).sum::<u64>());
    let known: u64 = calls.iter().filter_map(|call| call.cost).sum();
    let is_whole = calls.iter().all(|call| call.cost.is_some());
    let (present, missing) = if is_whole { ("cost", "partial") } else { ("partial", "cost") };
    prop_assert!(is_near(&total[present], dollars(known)), "{} of {}", total, known);
    prop_assert_eq!(&total[missing], &Value::Null);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn pages_by_cost_have_traces_without_one_last(operations in operations(), ascending in any::<bool>(), limit in 1..4_usize) {
        let (_folder, snapshot) = snapshot_after(&operations);
        for key in ["cost", "cost_partial"] {
            let mut expected = seen(&snapshot);
            expected.sort_by_key(|trace| (Reverse(trace.row().start_time), trace.row().trace_id));
            let amount = |trace: &SeenTrace| value(trace, key).map(i128::from);
            expected.sort_by_key(|trace| {
                amount(trace).map_or(i128::MAX, |amount| if ascending { amount } else { -amount })
            });
            let expected: Vec<String> = expected.iter().map(|trace| trace.row().trace_id.to_string()).collect();
            let mut found: Vec<String> = Vec::new();
            for page in 1..=9 {
                let request = PageRequest { page, limit, sort: Sort::by(key, ascending).expect("a key") };
                let page = query::ids(&snapshot, &Filter::all(), request, &CancellationToken::default()).expect("a page");
                found.extend(serde_json::from_slice::<Vec<String>>(&page.data).expect("ids"));
            }
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn costs_are_aggregated_over_the_traces_that_have_one(operations in operations(), condition in of_trace()) {
        let (_folder, snapshot) = snapshot_after(&operations);
        let key_of = |name: &str| if name.starts_with("partial") { "cost_partial" } else { "cost" };
        let measure = |name: &str, op: &str| json!({"name": name, "op": op, "key": key_of(name)});
        let mut measures: Vec<Value> = vec![json!({"name": "count", "op": "COUNT"})];
        for (name, op) in [("sum", "SUM"), ("avg", "AVG"), ("min", "MIN"), ("max", "MAX"), ("partial", "SUM")] {
            measures.push(measure(name, op));
        }
        measures.push(json!({"name": "median", "op": "QUANTILE", "key": "cost", "q": 0.5}));
        measures.push(json!({"name": "some", "op": "SUM", "key": "cost", "where": condition}));
        measures.push(json!({"name": "bins", "op": "HISTOGRAM", "key": "cost", "bins": 3, "range": [0, 0.3]}));
        let answer = answer(&snapshot, &json!({"by": [{"key": "name", "limit": 100}], "measures": measures}));
        let mut groups: BTreeMap<String, Vec<SeenTrace>> = BTreeMap::new();
        for trace in seen(&snapshot) {
            groups.entry(trace.row().name.clone()).or_default().push(trace);
        }
        prop_assert_eq!(answer["groups"].as_array().expect("groups").len(), groups.len());
        for group in answer["groups"].as_array().expect("groups") {
            let traces = &groups[group["by"]["name"].as_str().expect("a name")];
            let total = &group["total"];
            let mut costs: Vec<u64> = traces.iter().filter_map(|trace| value(trace, "cost")).collect();
            costs.sort_unstable();
            prop_assert_eq!(&total["count"], traces.len());
            prop_assert!(is_near(&total["sum"], dollars(costs.iter().sum())), "{} of {:?}", total, costs);
            let partial: u64 = traces.iter().filter_map(|trace| value(trace, "cost_partial")).sum();
            prop_assert!(is_near(&total["partial"], dollars(partial)), "{}", total);
            let matching = traces.iter().filter(|trace| trace.truth(&condition) == Some(true));
            let some: u64 = matching.filter_map(|trace| value(trace, "cost")).sum();
            prop_assert!(is_near(&total["some"], dollars(some)), "{} of {}", total, condition);
            if let (Some(least), Some(greatest)) = (costs.first(), costs.last()) {
                prop_assert!(is_near(&total["min"], dollars(*least)) && is_near(&total["max"], dollars(*greatest)));
                let middle = dollars(costs[(costs.len() - 1) / 2] + costs[costs.len() / 2]) / 2.0;
                prop_assert!(is_near(&total["median"], middle), "{} of {:?}", total, costs);
                let mean = dollars(costs.iter().sum()) / costs.iter().map(|_| 1.0).sum::<f64>();
                prop_assert!(is_near(&total["avg"], mean), "{} of {:?}", total, costs);
            } else {
                prop_assert!(["min", "max", "median", "avg"].iter().all(|name| total[name].is_null()));
            }
            let bins = &group["histograms"]["bins"];
            prop_assert_eq!(&bins["edges"], &json!([0, 0.1, 0.2, 0.3]));
            let within = |from: f64, to: f64| costs.iter().filter(|cost| (from..to).contains(&dollars(**cost))).count();
            prop_assert_eq!(&bins["counts"], &json!([within(0.0, 0.1), within(0.1, 0.2), within(0.2, 0.3)]));
            prop_assert_eq!(&bins["above"], within(0.3, 1e9));
        }
    }

    #[test]
    fn calls_by_model_add_up_to_those_of_the_selected_traces(
        operations in operations(), filter in of_trace(), condition in of_trace(), limit in 1..4_usize,
    ) {
        let (_folder, snapshot) = snapshot_after(&operations);
        let measures = |condition: &Value| json!([
            {"name": "calls", "op": "COUNT", "where": condition},
            {"name": "tokens", "op": "SUM", "key": "input_tokens", "where": condition},
            {"name": "cost", "op": "SUM", "key": "cost", "where": condition},
            {"name": "partial", "op": "SUM", "key": "cost_partial", "where": condition},
        ]);
        for condition in [&json!({}), &condition] {
            let request = json!({"filter": filter, "by": [{"key": "model", "limit": limit}], "measures": measures(condition),
                "time": {"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T00:00:00.010Z", "buckets": 10}});
            let answer = answer(&snapshot, &request);
            let selected: Vec<SeenTrace> =
                seen(&snapshot).into_iter().filter(|trace| trace.truth(&filter) == Some(true)).collect();
            let is_measured = |trace: &SeenTrace| condition == &json!({}) || trace.truth(condition) == Some(true);
            let calls: Vec<(bool, SeenCall)> = selected
                .iter()
                .flat_map(|trace| trace.calls().into_iter().map(|call| (is_measured(trace), call)))
                .collect();
            let is_call = |call: &SeenCall| call.is_innermost || call.tokens > 0 || call.cost != Some(0);
            let mut models: BTreeMap<String, (Value, usize)> = BTreeMap::new();
            for (_, call) in calls.iter().filter(|(_, call)| is_call(call)) {
                let (_, count) = models.entry(model(call).to_string()).or_insert((model(call), 0));
                *count += usize::from(call.is_innermost);
            }
            prop_assert_eq!(&answer["groups_total"], models.len());
            let mut order: Vec<&(Value, usize)> = models.values().collect();
            order.sort_by_key(|(model, count)| (Reverse(*count), model.is_null(), model.to_string()));
            let shown = answer["groups"].as_array().expect("groups");
            let kept: Vec<&Value> = order.iter().take(limit).map(|(model, _)| model).collect();
            prop_assert_eq!(shown.iter().map(|group| &group["by"]["model"]).collect::<Vec<_>>(), kept.clone());
            let of_group = |is_in: &dyn Fn(&Value) -> bool| -> Vec<&SeenCall> {
                let measured = calls.iter().filter(|(is_measured, _)| *is_measured).map(|(_, call)| call);
                measured.filter(|call| is_in(&model(call))).collect()
            };
            for (group, name) in shown.iter().zip(&kept) {
                assert_calls(&group["total"], &of_group(&|model| model == *name))?;
                let series: u64 = group["series"]["tokens"].as_array().expect("a series").iter().filter_map(Value::as_u64).sum();
                prop_assert_eq!(&group["total"]["tokens"], series);
            }
            prop_assert_eq!(answer.get("other").is_some(), order.len() > limit);
            if let Some(other) = answer.get("other") {
                assert_calls(&other["total"], &of_group(&|model| !kept.contains(&model)))?;
            }
        }
    }
}
