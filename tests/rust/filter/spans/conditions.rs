//! Random conditions on spans and on traces.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};
use spanwise::filter::Axis;

use super::costs::amount;
use super::operations::{KINDS, NAMES};

/// Patterns for text searches.
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

/// Returns random options of axes. Each axis uses the ones that it supports.
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

/// Returns conditions on fields that are NULL for some spans.
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

pub(super) fn of_span() -> impl Strategy<Value = Value> {
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

pub(super) fn of_trace() -> impl Strategy<Value = Value> {
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
