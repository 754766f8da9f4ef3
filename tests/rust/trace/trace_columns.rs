//! The trace columns of every span agree with its detail.

use std::sync::Arc;

use proptest::prelude::*;
use prost::Message as _;
use serde_json::{Value as Json, json};
use spanwise::otlp::proto::any_value::Value;
use spanwise::otlp::{Origin, SpanId, WireSpan, proto};
use spanwise::trace::trace_columns::write_skeleton;
use spanwise::trace::{Span, Trace, detail};

use super::captures::Captures;
use super::frameworks;
use super::made::{RECEIVED, attribute, detail_of, message, messages, text, trace, trace_id};

/// The maximum number of characters of a text in a column.
const SHOWN: usize = 200;

pub(super) fn skeleton_of(trace: &Trace) -> Json {
    let mut out = Vec::new();
    write_skeleton(&mut out, trace).expect("a readable trace");
    serde_json::from_slice(&out).expect("JSON")
}

/// Returns the nodes of a tree with the positions of their parents, each before its children.
fn with_parents(detail: &Json) -> Vec<(i64, &Json)> {
    let mut found = Vec::new();
    let mut open: Vec<(i64, &Json)> =
        detail["tree"].as_array().expect("a tree").iter().rev().map(|root| (-1, root)).collect();
    while let Some((parent, node)) = open.pop() {
        let position = i64::try_from(found.len()).expect("a few");
        found.push((parent, node));
        open.extend(node["spans"].as_array().into_iter().flatten().rev().map(|child| (position, child)));
    }
    found
}

/// Returns the trace columns with texts instead of codes.
fn decoded(columns: &Json, key: &str) -> Vec<Json> {
    let column = &columns[key];
    let Some(codes) = column.get("codes") else { return column.as_array().expect("a column").clone() };
    let text = |code: &Json| match code.as_i64().expect("a code") {
        -1 => Json::Null,
        code => column["values"][usize::try_from(code).expect("a position")].clone(),
    };
    let values = column["values"].as_array().expect("texts");
    assert!(values.iter().all(Json::is_string), "{key}: {values:?}");
    codes.as_array().expect("codes").iter().map(text).collect()
}

fn beginning(text: &Json) -> Json {
    match text.as_str() {
        Some(text) if text.chars().count() > SHOWN => {
            json!(format!("{}…", text.chars().take(SHOWN).collect::<String>()))
        }
        _ => text.clone(),
    }
}

/// Returns a count like in a column: numbers and texts of numbers; 0 if it is missing.
fn count(value: &Json) -> u64 {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.split('.').next().and_then(|whole| whole.parse().ok()).unwrap_or(0)
}

fn length(list: &Json) -> usize {
    list.as_array().map_or(0, Vec::len)
}

/// Asserts that the trace columns of `trace` equal its detail without texts.
fn assert_same(trace: &Trace, label: &str) {
    let (detail, skeleton) = (detail_of(trace), skeleton_of(trace));
    let mut preview = Vec::new();
    detail::write_preview(&mut preview, trace).expect("a readable trace");
    let mut head = skeleton.clone();
    head.as_object_mut().expect("an object").remove("spans");
    assert_eq!(head, serde_json::from_slice::<Json>(&preview).expect("JSON"), "{label}");

    let columns = &skeleton["spans"];
    let nodes = with_parents(&detail);
    let is_model = |node: &Json| node["type"] == "LLM" || node["type"] == "EMBEDDING";
    let of_model =
        |node: &Json, key: &str| if is_model(node) { node["metadata"][key].clone() } else { Json::Null };
    let expected = |key: &str| -> Vec<Json> {
        let value = |(parent, node): &(i64, &Json)| match key {
            "span_id" => node["id"].clone(),
            "parent" => json!(parent),
            "type" => beginning(&node["type"]),
            "name" => beginning(&node["name"]),
            "model" => beginning(&of_model(node, "model")),
            "tool" => beginning(&node["metadata"]["tool_name"]),
            "error" => beginning(&node["error"]),
            "events" => json!(length(&node["extra_data"]["events"])),
            _ => json!(length(&node["extra_data"]["links"])),
        };
        nodes.iter().map(value).collect()
    };
    for key in ["span_id", "parent", "type", "name", "model", "tool", "error", "events", "links"] {
        assert_eq!(decoded(columns, key), expected(key), "{key} of {label}");
    }
    for (position, (_, node)) in nodes.iter().enumerate() {
        let label = format!("span {} of {label}", node["id"]);
        assert_times(trace, columns, position, &label);
        let tokens = |key: &str| columns[key][position].as_u64().expect("a count");
        for (key, part) in [("input_tokens", "cached_tokens"), ("output_tokens", "reasoning_tokens")] {
            let own = count(&of_model(node, key));
            assert!([0, own].contains(&tokens(key)), "{key} of {label}");
            let own_part = if tokens(key) > 0 { count(&of_model(node, part)) } else { 0 };
            assert_eq!(tokens(part), own_part, "{part} of {label}");
        }
        for (key, bytes) in [("input", "input_bytes"), ("output", "output_bytes")] {
            let is_there = columns[bytes][position].as_u64().expect("a size") > 0;
            assert!(is_there || node[key].is_null() || node[key] == "", "{bytes} of {label}");
        }
    }
    for key in ["input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens"] {
        let counts = columns[key].as_array().expect("a column").iter();
        let sum: u64 = counts.map(|count| count.as_u64().expect("a count")).sum();
        assert_eq!(skeleton[key], sum, "{key} of {label}");
    }
    let lengths = columns.as_object().expect("columns").values();
    let lengths = lengths.map(|column| length(column.get("codes").unwrap_or(column)));
    assert!(lengths.into_iter().all(|length| length == nodes.len()), "{label}");
}

fn assert_times(trace: &Trace, columns: &Json, position: usize, label: &str) {
    let id = columns["span_id"][position].as_str().expect("an id");
    let trace = trace.assembled();
    let span = trace.span(SpanId::from_hex(id).expect("an id")).expect("a span");
    let first = trace.spans().iter().map(|span| span.start / 1_000).min().expect("a span");
    assert_eq!(columns["start_us"][position], span.start / 1_000 - first, "{label}");
    let duration = (span.end / 1_000).saturating_sub(span.start / 1_000);
    let expected = if span.end == 0 { Json::Null } else { json!(duration) };
    assert_eq!(columns["duration_us"][position], expected, "{label}");
}

#[test]
fn the_skeletons_of_all_captures_are_their_details() {
    for (case, traces) in Captures::read().cases {
        for trace in traces.values() {
            assert_same(trace, &format!("{} {}", case.framework, case.case));
        }
    }
    let mut parts = [0, 0];
    for (case, trace) in frameworks::traces() {
        assert_same(&trace, &case);
        let columns = &skeleton_of(&trace)["spans"];
        for (sum, key) in parts.iter_mut().zip(["cached_tokens", "reasoning_tokens"]) {
            *sum += columns[key].as_array().expect("a column").iter().filter_map(Json::as_u64).sum::<u64>();
        }
    }
    assert!(parts.iter().all(|sum| *sum > 0), "cached and reasoning tokens: {parts:?}");
}

/// Nested model calls with parts of their tokens. Some have no end, events or content.
fn rich_messages() -> impl Strategy<Value = Vec<proto::Span>> {
    let extras = prop::collection::vec((0..4_i64, 0..4_i64, any::<[bool; 4]>()), 12);
    (messages(), extras).prop_map(|(mut messages, extras)| {
        for (message, (output, part, [is_running, has_event, has_content, has_link])) in
            messages.iter_mut().zip(extras)
        {
            message.attributes.extend([
                attribute("gen_ai.usage.output_tokens", Value::IntValue(output)),
                attribute("gen_ai.usage.cache_read.input_tokens", Value::IntValue(part)),
                attribute("gen_ai.usage.reasoning.output_tokens", Value::IntValue(part)),
                text("gen_ai.request.model", "m".repeat(usize::try_from(part).expect("a few") * 80).as_str()),
            ]);
            if is_running {
                message.end_time_unix_nano = 0;
            }
            if has_content {
                message.attributes.push(text("input.value", "Where is it?"));
                message.attributes.push(text("tool.name", "find"));
            }
            if has_event {
                let attributes = vec![text("content", "It is here.")];
                let name = "gen_ai.choice".to_owned();
                message.events.push(proto::span::Event { name, attributes, ..proto::span::Event::default() });
            }
            if has_link {
                message.links.push(proto::span::Link::default());
            }
        }
        messages
    })
}

proptest! {
    #[test]
    fn the_skeleton_of_any_forest_is_its_detail(messages in rich_messages()) {
        assert_same(&trace(&messages), "a made trace");
    }
}

#[test]
fn texts_that_repeat_are_written_once_and_long_ones_are_cut() {
    let mut long = message(2, 1, 2);
    long.name = "é".repeat(SHOWN + 1);
    let mut alike = message(3, 1, 3);
    // It differs from the other text only after the displayed part.
    alike.name = format!("{}!", "é".repeat(SHOWN));
    let columns = &skeleton_of(&trace(&[message(1, 0, 1), long, alike]))["spans"];
    let shown = format!("{}…", "é".repeat(SHOWN));
    assert_eq!(columns["name"], json!({"values": ["span 1", shown], "codes": [0, 1, 1]}));
    assert_eq!(columns["type"], json!({"values": ["UNKNOWN"], "codes": [0, 0, 0]}));
    assert_eq!(columns["model"], json!({"values": [], "codes": [-1, -1, -1]}));
}

#[test]
fn a_call_around_calls_counts_only_what_they_do_not() {
    let call = |id, parent, input: i64, cached: i64| {
        let mut call = message(id, parent, id);
        call.attributes = vec![
            text("openinference.span.kind", "LLM"),
            attribute("llm.token_count.prompt", Value::IntValue(input)),
            attribute("llm.token_count.completion", Value::IntValue(7)),
            attribute("llm.token_count.prompt_details.cache_read", Value::IntValue(cached)),
        ];
        call
    };
    let mut inside = call(2, 1, 20, 5);
    inside.attributes.retain(|attribute| attribute.key != "llm.token_count.completion");
    let skeleton = skeleton_of(&trace(&[call(1, 0, 20, 6), inside]));
    let columns = &skeleton["spans"];
    assert_eq!(columns["input_tokens"], json!([0, 20]));
    assert_eq!(columns["cached_tokens"], json!([0, 5]));
    assert_eq!(columns["output_tokens"], json!([7, 0]));
    assert_eq!((&skeleton["input_tokens"], &skeleton["output_tokens"]), (&json!(20), &json!(7)));
}

#[test]
fn the_input_of_a_span_is_measured_where_it_was_sent() {
    let mut sent = message(1, 0, 1);
    sent.attributes = vec![
        text("openinference.span.kind", "LLM"),
        text("input.value", r#"{"messages":[{"role":"user","content":"Hi"}]}"#),
    ];
    let mut numbered = message(2, 1, 2);
    numbered.attributes = vec![
        text("openinference.span.kind", "LLM"),
        text("llm.input_messages.0.message.role", "user"),
        text("llm.input_messages.0.message.content", "Hello"),
    ];
    let mut listed = message(3, 1, 3);
    let values = proto::ArrayValue { values: vec![proto::AnyValue { value: Some(Value::IntValue(1)) }] };
    listed.attributes = vec![attribute("input.value", Value::ArrayValue(values))];
    let columns = &skeleton_of(&trace(&[sent, numbered, listed, message(4, 1, 4)]))["spans"];
    assert_eq!(columns["input_bytes"], json!([45, 5, 3, 0]));
    assert_eq!(columns["output_bytes"], json!([0, 0, 0, 0]));
}

#[test]
fn a_deep_chain_is_written() {
    let spans: Vec<proto::Span> = (1..=20_000).map(|id| message(id, id - 1, id)).collect();
    let columns = &skeleton_of(&trace(&spans))["spans"];
    assert_eq!(columns["parent"][19_999], 19_998);
    assert_eq!(columns["parent"][0], -1);
}

#[test]
fn a_span_that_cannot_be_read_writes_nothing() {
    let mut failed = message(1, 0, 1);
    failed.status = Some(proto::Status { code: 2, message: "broken".to_owned() });
    let mut bytes = failed.encode_to_vec();
    // Field 6, the kind, with a length instead of a number. No view of the span reads it.
    bytes.extend_from_slice(&[0x32, 0x01, 0x00]);
    let wire = WireSpan { bytes: bytes.into(), origin: Arc::new(Origin::default()) };
    let span = Span::from_wire(wire).expect("the fields that ingest reads");
    let mut out = b"before".to_vec();
    assert!(write_skeleton(&mut out, &Trace::new(trace_id(), RECEIVED).with([Arc::new(span)])).is_err());
    assert_eq!(out, b"before");
}
