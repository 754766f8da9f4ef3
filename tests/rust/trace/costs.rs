//! The costs of spans add up to the cost of their trace, in every representation of the trace.

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use spanwise::otlp::proto;
use spanwise::otlp::proto::any_value::Value;
use spanwise::trace::cost::{CostField, nanodollars_of};
use spanwise::trace::view::TraceView;
use spanwise::trace::{Trace, detail};

use super::made::{attribute, detail_of, message, nodes, span_id, span_json, text, trace};
use super::trace_columns::skeleton_of;

/// A known amount in nanodollars, and whether it is the whole.
type Amount = (u64, bool);

fn nanodollars(number: &Json) -> u64 {
    nanodollars_of(&number.to_string()).expect("an amount in dollars")
}

/// Returns the amount in the members `cost` or `cost_partial`.
fn amount(object: &Json) -> Amount {
    match (object.get("cost"), object.get("cost_partial")) {
        (Some(whole), None) => (nanodollars(whole), true),
        (None, Some(known)) => (nanodollars(known), false),
        both => panic!("one of two costs: {both:?}"),
    }
}

/// Returns the contribution of a node to the cost of its trace.
fn share(node: &Json) -> Amount {
    let cost = node.get("cost").map(nanodollars);
    match node.get("cost_source").and_then(Json::as_str) {
        Some("reported" | "computed") => (cost.expect("a known cost"), true),
        source => {
            assert_eq!(cost, None, "{node}");
            assert!(matches!(source, None | Some("covered" | "unpriced")), "{node}");
            (0, source != Some("unpriced"))
        }
    }
}

fn sum(shares: impl IntoIterator<Item = Amount>) -> Amount {
    shares.into_iter().fold((0, true), |(sum, is_whole), (more, is_known)| (sum + more, is_whole && is_known))
}

/// Returns the number of spans in the subtree of a node.
fn size(node: &Json) -> usize {
    let children = node["spans"].as_array().into_iter().flatten();
    1 + children.map(size).sum::<usize>()
}

/// A random span: parent, type, model, reported cents, and tokens.
type RandomSpan = (u64, &'static str, &'static str, Option<u32>, [i64; 4]);

/// Spans that are mostly nested model calls, with and without tokens, prices and reported costs.
fn calls() -> impl Strategy<Value = Vec<proto::Span>> {
    let kinds = prop::sample::select(vec!["LLM", "LLM", "LLM", "EMBEDDING", "AGENT"]);
    let models = prop::sample::select(vec!["gpt-4o", "gpt-4o", "unheard-of", ""]);
    let report = prop::option::weighted(0.3, 0..3_u32);
    let one = (0..10_u64, kinds, models, report, [0..3_i64, 0..3, 0..3, 0..3]);
    prop::collection::vec(one, 1..12).prop_map(|parts| {
        let span = |(index, part): (usize, RandomSpan)| {
            let (parent, kind, model, report, tokens) = part;
            let id = index as u64 + 1;
            let mut message = message(id, parent, id);
            message.attributes = vec![text("openinference.span.kind", kind)];
            if !model.is_empty() {
                message.attributes.push(text("llm.model_name", model));
            }
            if let Some(report) = report {
                message
                    .attributes
                    .push(attribute("gen_ai.usage.cost", Value::DoubleValue(f64::from(report) / 100.0)));
            }
            let keys = [
                "llm.token_count.prompt",
                "llm.token_count.completion",
                "llm.token_count.prompt_details.cache_read",
                "llm.token_count.completion_details.reasoning",
            ];
            message.attributes.extend(
                keys.iter().zip(tokens).map(|(key, count)| attribute(key, Value::IntValue(count * 1_001))),
            );
            message
        };
        parts.into_iter().enumerate().map(span).collect()
    })
}

/// Returns the cost of a trace that filters, orders and aggregations use.
fn cost_in_lists(trace: &Trace) -> Amount {
    let cost = TraceView::of(trace).cost().expect("readable spans");
    let whole = cost.value(CostField::Whole).map(|amount| (amount.unsigned_abs(), true));
    let known = cost.value(CostField::Partial).map(|amount| (amount.unsigned_abs(), false));
    whole.or(known).expect("one of two costs")
}

proptest! {
    #[test]
    fn the_costs_of_all_spans_add_up_to_the_cost_of_the_trace(messages in calls()) {
        let trace = trace(&messages);
        let expected = cost_in_lists(&trace);
        let detail = detail_of(&trace);
        prop_assert_eq!(amount(&detail), expected);
        prop_assert_eq!(sum(nodes(&detail).into_iter().map(share)), expected);
        let mut preview = Vec::new();
        detail::write_preview(&mut preview, &trace).expect("a readable trace");
        prop_assert_eq!(amount(&serde_json::from_slice(&preview).expect("JSON")), expected);
    }

    #[test]
    fn the_skeleton_has_the_costs_of_the_nodes(messages in calls()) {
        let trace = trace(&messages);
        let (skeleton, detail) = (skeleton_of(&trace), detail_of(&trace));
        prop_assert_eq!(amount(&skeleton), amount(&detail));
        let column = skeleton["spans"]["cost"].as_array().expect("a column");
        let shown = |cost: &Json| if cost.is_null() { (0, false) } else { (nanodollars(cost), true) };
        let shown: Vec<Amount> = column.iter().map(shown).collect();
        prop_assert_eq!(shown, nodes(&detail).into_iter().map(share).collect::<Vec<_>>());
    }

    #[test]
    fn a_subtree_has_the_sums_of_its_spans(messages in calls()) {
        let trace = trace(&messages);
        let (skeleton, detail) = (skeleton_of(&trace), detail_of(&trace));
        let nodes = nodes(&detail);
        for (position, node) in nodes.iter().enumerate() {
            let id = u64::from_str_radix(node["id"].as_str().expect("an id"), 16).expect("a number");
            let span = span_json(&trace, span_id(id));
            let within = position..position + size(node);
            prop_assert_eq!(share(&span), share(node));
            prop_assert_eq!(span.get("price").is_some(), node["cost_source"] == "computed");
            let Some(subtree) = span.get("subtree") else {
                prop_assert_eq!(within.len(), 1);
                continue;
            };
            prop_assert!(within.len() > 1);
            prop_assert_eq!(amount(subtree), sum(nodes[within.clone()].iter().map(|node| share(node))));
            for key in ["input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens"] {
                let column = skeleton["spans"][key].as_array().expect("a column");
                let expected: u64 = column[within.clone()].iter().filter_map(Json::as_u64).sum();
                prop_assert_eq!(&subtree[key], expected, "{}", key);
            }
        }
    }
}

#[test]
fn a_node_names_the_source_of_its_cost() {
    let call = |id, parent, model: &str, report: Option<f64>| {
        let mut call = message(id, parent, id);
        call.attributes = vec![
            text("openinference.span.kind", "LLM"),
            text("llm.model_name", model),
            attribute("llm.token_count.prompt", Value::IntValue(1_000)),
        ];
        call.attributes.extend(report.map(|cost| attribute("gen_ai.usage.cost", Value::DoubleValue(cost))));
        call
    };
    let mut agent = message(1, 0, 1);
    agent.attributes = vec![text("openinference.span.kind", "AGENT"), text("gen_ai.usage.cost", "9")];
    let trace = trace(&[
        agent,
        call(2, 1, "gpt-4o", Some(0.5)),
        call(3, 2, "gpt-4o", Some(0.25)),
        call(4, 1, "gpt-4o-2024-08-06", None),
        call(5, 1, "unheard-of", None),
    ]);
    let detail = detail_of(&trace);
    let shown: Vec<Json> =
        nodes(&detail).iter().map(|node| json!([node.get("cost"), node.get("cost_source")])).collect();
    let expected =
        json!(
            [[null, null], [0.5, "reported"], [null, "covered"], [0.0025, "computed"], [null, "unpriced"],]
        );
    assert_eq!(Json::Array(shown), expected);
    assert_eq!(detail["cost_partial"], json!(0.5025));
    assert_eq!(nodes(&detail)[0]["metadata"]["cost"], 9);
    let root = span_json(&trace, span_id(1));
    assert_eq!(
        root["subtree"],
        json!({"input_tokens": 3_000, "output_tokens": 0, "cached_tokens": 0, "reasoning_tokens": 0,
            "cost_partial": 0.5025})
    );
    assert_eq!(span_json(&trace, span_id(4))["price"]["model"], "gpt-4o");
}
