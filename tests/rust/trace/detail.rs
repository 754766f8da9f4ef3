//! The JSON of a trace is always valid and complete.

use std::sync::Arc;

use proptest::prelude::*;
use prost::Message as _;
use serde_json::{Value as Json, json};
use spanwise::otlp::proto::any_value::Value;
use spanwise::otlp::proto::{self, ArrayValue};
use spanwise::otlp::{Origin, WireSpan};
use spanwise::trace::tree::Forest;
use spanwise::trace::{Span, Trace, detail};

use super::made::{
    RECEIVED, attribute, detail_of, message, messages, nodes, span_id, span_json, text, trace, trace_id,
};

/// Returns the nodes as (id, ids of the children), built recursively.
fn naive_tree(trace: &Trace, forest: &Forest, members: &[usize]) -> Json {
    let node = |index: &usize| {
        let below = naive_tree(trace, forest, forest.children(*index));
        json!([trace.spans()[*index].span_id.to_string(), below])
    };
    members.iter().map(node).collect()
}

fn shown_tree(spans: &Json) -> Json {
    let nodes = spans.as_array().into_iter().flatten();
    nodes.map(|node| json!([node["id"], shown_tree(&node["spans"])])).collect()
}

proptest! {
    #[test]
    fn the_tree_is_the_forest(messages in messages()) {
        let trace = trace(&messages);
        let forest = Forest::of(trace.spans());
        let detail = detail_of(&trace);
        prop_assert_eq!(shown_tree(&detail["tree"]), naive_tree(&trace, &forest, forest.roots()));
    }

    #[test]
    fn a_single_span_equals_its_node_without_children(messages in messages()) {
        let trace = trace(&messages);
        let detail = detail_of(&trace);
        for node in nodes(&detail) {
            let mut node = node.clone();
            node.as_object_mut().expect("a node").remove("spans");
            let number = u64::from_str_radix(node["id"].as_str().expect("an id"), 16).expect("a number");
            let mut span = span_json(&trace, span_id(number));
            for key in ["messages", "price", "subtree"] {
                span.as_object_mut().expect("a span").remove(key);
            }
            prop_assert_eq!(span, node);
        }
    }
}

#[test]
fn a_missing_span_writes_nothing() {
    let mut out = b"before".to_vec();
    assert!(!detail::write_span(&mut out, &trace(&[message(1, 0, 1)]), span_id(2)).expect("an answer"));
    assert_eq!(out, b"before");
}

#[test]
fn members_are_in_the_documented_order() {
    let mut root = failed(1, 0, "it broke");
    root.attributes.extend([
        text("openinference.span.kind", "CHAIN"),
        text("agno.step.type", "agent"),
        text("agno.workflow.id", "w"),
        text("agno.team.id", "t"),
        text("agno.agent.id", "a"),
        text("agno.run.id", "r"),
        text("session.id", "s"),
        text("user.id", "u"),
        text("input.value", "in"),
        text("output.value", "out"),
    ]);
    let mut out = Vec::new();
    detail::write_trace(&mut out, &trace(&[root, message(2, 1, 2)])).expect("a readable trace");
    let written = String::from_utf8(out).expect("UTF-8");
    let mut index = 0;
    for key in [
        "trace_id",
        "name",
        "status",
        "duration",
        "start_time",
        "end_time",
        "total_spans",
        "error_count",
        "input",
        "error",
        "run_id",
        "session_id",
        "user_id",
        "agent_id",
        "team_id",
        "workflow_id",
        "created_at",
        "tree",
        "id",
        "name",
        "type",
        "duration",
        "start_time",
        "end_time",
        "status",
        "input",
        "output",
        "error",
        "spans",
        "id",
        "step_type",
        "metadata",
        "extra_data",
    ] {
        let found = written[index..].find(&format!("\"{key}\":"));
        index += found.unwrap_or_else(|| panic!("`{key}` after byte {index} of {written}"));
    }
}

fn failed(id: u64, parent: u64, status_message: &str) -> proto::Span {
    let code = proto::status::StatusCode::Error as i32;
    let status = Some(proto::Status { message: status_message.to_owned(), code });
    proto::Span { status, ..message(id, parent, id) }
}

fn exception(message: &str) -> proto::span::Event {
    let attributes = vec![text("exception.type", "Broken"), text("exception.message", message)];
    proto::span::Event { name: "exception".into(), attributes, ..proto::span::Event::default() }
}

#[test]
fn the_error_comes_from_the_first_source_that_has_one() {
    let mut span = failed(1, 0, "by the status");
    span.attributes = vec![text("exception.message", "by the attribute"), text("error.type", "by the type")];
    span.events = vec![exception("overcome"), exception("by the event")];
    let error = |message: &proto::Span| detail_of(&trace(std::slice::from_ref(message)))["error"].clone();
    assert_eq!(error(&span), "by the status");
    span.status = failed(1, 0, "").status;
    assert_eq!(error(&span), "by the attribute");
    span.attributes.remove(0);
    assert_eq!(error(&span), "by the event");
    span.events = vec![exception("")];
    assert_eq!(error(&span), "Broken");
    span.events.clear();
    assert_eq!(error(&span), "by the type");
    span.attributes.clear();
    assert_eq!(error(&span), "the span failed and did not say why");
}

#[test]
fn a_failed_run_shows_its_error_and_no_output() {
    let agent = [text("openinference.span.kind", "AGENT"), text("output.value", "half")].to_vec();
    let below = failed(2, 1, "the cause");
    let of_run = |status: Option<proto::Status>| {
        detail_of(&trace(&[
            proto::Span { attributes: agent.clone(), ..proto::Span { status, ..message(1, 0, 1) } },
            below.clone(),
        ]))
    };
    let succeeded = of_run(None);
    assert_eq!(succeeded["status"], "ERROR", "a child failed");
    assert_eq!((&succeeded["output"], &succeeded["error"]), (&json!("half"), &json!("the cause")));
    assert_eq!(succeeded["tree"][0]["status"], "OK");
    assert_eq!(succeeded["tree"][0]["error"], Json::Null);
    let broken = of_run(failed(1, 0, "its own").status);
    assert_eq!((&broken["output"], &broken["error"]), (&Json::Null, &json!("the cause")));
    assert_eq!(broken["tree"][0]["error"], "its own");
    assert_eq!(broken["tree"][0]["output"], "half", "the node keeps what was sent");
}

#[test]
fn the_error_of_a_trace_is_the_first_cause_below_the_run() {
    let kind = |span: proto::Span| proto::Span {
        attributes: vec![text("openinference.span.kind", "AGENT")],
        ..span
    };
    let error = |spans: &[proto::Span]| detail_of(&trace(spans))["error"].clone();
    let run = kind(failed(2, 1, "run status: error"));
    let spans = [
        failed(1, 0, "bad gateway"),
        run.clone(),
        message(3, 2, 10),
        proto::Span { start_time_unix_nano: 30, ..failed(4, 3, "later") },
        proto::Span { start_time_unix_nano: 20, ..failed(5, 3, "step failed") },
        message(6, 5, 21),
        failed(7, 6, "upstream exploded"),
        proto::Span { start_time_unix_nano: 5, ..failed(8, 1, "not of the run") },
    ];
    assert_eq!(error(&spans), "upstream exploded", "the first failure, and what is below it");
    assert_eq!(error(&spans[..4]), "later");
    assert_eq!(error(&spans[..2]), "run status: error");
    assert_eq!(
        error(&[failed(1, 0, "bad gateway"), kind(message(2, 1, 1))]),
        "bad gateway",
        "the run did not fail"
    );
}

#[test]
fn a_chain_without_output_shows_that_of_its_last_child() {
    let chain = |output: &str| {
        let kind = text("openinference.span.kind", "CHAIN");
        proto::Span { attributes: vec![kind, text("output.value", output)], ..message(1, 0, 1) }
    };
    let child = |id: u64, end: u64| proto::Span {
        attributes: vec![text("output.value", &format!("of {id}"))],
        end_time_unix_nano: end,
        ..message(id, 1, id)
    };
    let output =
        |chain: proto::Span| detail_of(&trace(&[chain, child(2, 90), child(3, 50)]))["output"].clone();
    assert_eq!(output(chain("")), "of 2");
    assert_eq!(output(chain("None")), "of 2");
    assert_eq!(output(chain("own")), "own");
    let agent = text("openinference.span.kind", "AGENT");
    assert_eq!(output(proto::Span { attributes: vec![agent], ..message(1, 0, 1) }), Json::Null);
}

#[test]
fn steps_are_matched_by_name_not_by_position() {
    let texts = |texts: &[&str]| {
        let values = texts.iter().map(|text| super::made::otlp_value(&json!(text))).collect();
        Value::ArrayValue(ArrayValue { values })
    };
    let workflow = |names: &[&str], types: &[&str]| proto::Span {
        attributes: vec![
            text("openinference.span.kind", "CHAIN"),
            attribute("agno.workflow.steps", texts(names)),
            attribute("agno.workflow.step_types", texts(types)),
        ],
        ..message(1, 0, 1)
    };
    let step = |id: u64, span_name: &str, attributes: &[(&str, &str)]| proto::Span {
        name: span_name.into(),
        attributes: attributes.iter().map(|(key, value)| text(key, value)).collect(),
        ..message(id, 1, id)
    };
    let steps = [
        step(2, "polish.execute", &[]),
        step(3, "x.execute", &[("graph.node.name", "draft")]),
        step(4, "fact_check.execute", &[]),
        step(5, "publish.execute", &[]),
        step(6, "draft.execute", &[("agno.step.type", "agent")]),
    ];
    let step_types = |workflow: proto::Span| {
        let detail = detail_of(&trace(&[&[workflow], &steps[..]].concat()));
        let children = detail["tree"][0]["spans"].as_array().expect("children").clone();
        children.iter().map(|child| child["step_type"].clone()).collect::<Json>()
    };
    let names = ["draft", "fact-check", "polish"];
    let by_name = json!(["Parallel", "Step", "Condition", null, "Step"]);
    assert_eq!(step_types(workflow(&names, &["Step", "Condition", "Parallel"])), by_name);
    assert_eq!(step_types(workflow(&names, &["Step", "function", "Condition", "Parallel"])), by_name);
    assert_eq!(step_types(workflow(&names, &["Step", "Condition"])), json!([null, null, null, null, "Step"]));
}

#[test]
fn spans_that_are_no_declared_step_belong_to_what_is_declared_where_they_stand() {
    let workflow = |declared: &[(&str, &str)]| {
        let list = |words: Vec<&str>| {
            let values = words.iter().map(|text| super::made::otlp_value(&json!(text))).collect();
            Value::ArrayValue(ArrayValue { values })
        };
        let named = declared.iter().map(|(name, _)| *name).filter(|name| !name.is_empty());
        proto::Span {
            attributes: vec![
                text("openinference.span.kind", "WORKFLOW"),
                attribute("agno.workflow.steps", list(named.collect())),
                attribute("agno.workflow.step_types", list(declared.iter().map(|(_, word)| *word).collect())),
            ],
            ..message(1, 0, 1)
        }
    };
    let step_types = |declared: &[(&str, &str)], steps: &[&str]| {
        let step = |(number, name): (usize, &&str)| proto::Span {
            name: format!("{name}.execute"),
            attributes: vec![text("openinference.span.kind", "WORKFLOW")],
            ..message(number as u64 + 2, 1, number as u64 + 2)
        };
        let children = steps.iter().enumerate().map(step);
        let detail =
            detail_of(&trace(&std::iter::once(workflow(declared)).chain(children).collect::<Vec<_>>()));
        let children = detail["tree"][0]["spans"].as_array().expect("children").clone();
        children.iter().map(|child| child["step_type"].clone()).collect::<Json>()
    };
    let declared = [("a", "Step"), ("if", "Condition"), ("b", "Parallel"), ("", "function")];
    assert_eq!(
        step_types(&declared, &["a", "x", "y", "b", "f"]),
        json!(["Step", "Condition", "Condition", "Parallel", "function"])
    );
    assert_eq!(step_types(&declared, &["a", "b", "f"]), json!(["Step", "Parallel", "function"]), "not met");
    let adjacent = [("loop", "Loop"), ("route", "Router")];
    assert_eq!(step_types(&adjacent, &["x", "x", "y"]), json!(["Loop", "Loop", "Router"]));
    assert_eq!(step_types(&adjacent, &["x", "y", "z"]), json!(["Step", "Step", "Step"]), "nobody can tell");
    assert_eq!(step_types(&[("a", "Step"), ("a", "Step")], &["a", "a"]), json!(["Step", "Step"]));
    assert_eq!(step_types(&[], &["x"]), json!(["Step"]), "a part of a step");
}

fn link() -> proto::span::Link {
    proto::span::Link {
        trace_id: trace_id().as_bytes().to_vec().into(),
        span_id: vec![9; 8].into(),
        trace_state: "k=v".into(),
        attributes: vec![text("why", "cause")],
        dropped_attributes_count: 2,
        flags: 1,
    }
}

fn origin() -> Origin {
    let resource = proto::Resource {
        attributes: vec![text("service.name", "shop")],
        dropped_attributes_count: 1,
        entity_refs: vec![proto::EntityRef { r#type: "service".into(), ..proto::EntityRef::default() }],
    };
    let scope = proto::InstrumentationScope { name: "lib".into(), version: "2".into(), ..Default::default() };
    Origin {
        resource: resource.encode_to_vec().into(),
        resource_schema_url: "https://r".into(),
        scope: scope.encode_to_vec().into(),
        scope_schema_url: "https://s".into(),
    }
}

#[test]
fn everything_that_was_sent_is_shown() {
    let message = proto::Span {
        trace_state: "a=b".into(),
        flags: 0x200,
        kind: 77,
        attributes: vec![text("input.value", "one"), text("input.value", "two")],
        dropped_attributes_count: 3,
        events: vec![proto::span::Event {
            time_unix_nano: 1_500_000_000,
            name: "e".into(),
            attributes: vec![attribute("n", Value::IntValue(1))],
            dropped_attributes_count: 4,
        }],
        dropped_events_count: 5,
        links: vec![link()],
        dropped_links_count: 6,
        status: Some(proto::Status { message: "fine".into(), code: 9 }),
        ..message(1, 99, 1)
    };
    let wire = WireSpan { bytes: message.encode_to_vec().into(), origin: Arc::new(origin()) };
    let span = Arc::new(Span::from_wire(wire).expect("a span"));
    let node = detail_of(&Trace::new(trace_id(), RECEIVED).with([span]))["tree"][0].clone();
    assert_eq!(node["input"], "one");
    assert_eq!(
        node["extra_data"],
        json!({
            "attributes": {"input.value": "two"},
            "dropped_attributes_count": 3,
            "events": [{
                "name": "e", "time": "1970-01-01T00:00:01.500000Z", "attributes": {"n": 1},
                "dropped_attributes_count": 4,
            }],
            "dropped_events_count": 5,
            "links": [{
                "trace_id": "07070707070707070707070707070707", "span_id": "0909090909090909",
                "trace_state": "k=v", "attributes": {"why": "cause"}, "dropped_attributes_count": 2, "flags": 1,
            }],
            "dropped_links_count": 6,
            "status_code": 9,
            "status_message": "fine",
            "kind": 77,
            "parent_span_id": "0000000000000063",
            "trace_state": "a=b",
            "flags": 512,
            "resource": {
                "attributes": {"service.name": "shop"}, "dropped_attributes_count": 1,
                "entity_refs": [{"type": "service"}], "schema_url": "https://r",
            },
            "scope": {"name": "lib", "version": "2", "schema_url": "https://s"},
        })
    );
}

#[test]
fn an_end_before_its_start_is_printed_as_sent() {
    let node = |start: u64, end: u64| {
        let message = proto::Span { end_time_unix_nano: end, ..message(1, 0, start) };
        detail_of(&trace(&[message]))["tree"][0].clone()
    };
    let odd = node(5_000_000_000, 2_000_000_000);
    assert_eq!(
        (&odd["start_time"], &odd["end_time"]),
        (&json!("1970-01-01T00:00:05Z"), &json!("1970-01-01T00:00:02Z"))
    );
    assert_eq!(odd["duration"], "0ms");
    assert_eq!(node(5_000_000_000, 0)["end_time"], "1970-01-01T00:00:05Z");
    assert_eq!(node(5_000_000_000, 6_234_000_000)["duration"], "1.23s");
}

#[test]
fn a_trace_without_spans_still_has_a_tree() {
    assert_eq!(detail_of(&Trace::new(trace_id(), RECEIVED))["tree"], json!([]));
}
