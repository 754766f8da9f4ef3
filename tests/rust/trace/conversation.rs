//! The messages of a single span have one shape for all programs.

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use spanwise::otlp::SpanId;
use spanwise::otlp::proto::{self, KeyValue, span::Event};
use spanwise::trace::Trace;

use super::captures::Captures;
use super::frameworks;
use super::made::{detail_of, message, nodes, span_id, span_json, text, trace};
use super::messages::{Conversation, SHAPES, arguments, with, with_values};

fn messages_of(span: &proto::Span) -> Json {
    span_json(&trace(std::slice::from_ref(span)), span_id(1))["messages"].clone()
}

fn input_of(attributes: Vec<KeyValue>) -> Json {
    messages_of(&with(attributes))["input"].clone()
}

proptest! {
    #[test]
    fn every_shape_of_a_conversation_gives_the_same_messages(said in Conversation::any()) {
        let input: Vec<Json> = said.messages.iter().map(|(role, text)| json!({"role": role, "text": text})).collect();
        let mut answer = json!({"role": "assistant", "text": said.answer});
        if let Some(x) = said.call {
            answer["tool_calls"] = json!([{"name": "f", "arguments": arguments(x)}]);
        }
        for (name, write) in SHAPES {
            let mut messages = messages_of(&write(&said));
            for call in messages.pointer_mut("/output/0/tool_calls").and_then(Json::as_array_mut).into_iter().flatten() {
                call.as_object_mut().expect("a call").remove("id");
            }
            prop_assert_eq!(messages, json!({"input": input, "output": [answer]}), "{}", name);
        }
    }
}

/// A tool call and its result, in the formats of providers and frameworks for the next request.
fn tool_histories() -> Vec<(&'static str, Json)> {
    let arguments = "{\"id\":7}";
    let object = json!({"id": 7});
    let function = json!({"name": "find", "arguments": arguments});
    let text = "no such order";
    vec![
        (
            "openai chat",
            json!({"messages": [
                {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": function}]},
                {"role": "tool", "tool_call_id": "c1", "content": text},
            ]}),
        ),
        (
            "openai responses",
            json!({"model": "m", "input": [
                {"type": "function_call", "id": "fc_9", "call_id": "c1", "name": "find", "arguments": arguments},
                {"type": "function_call_output", "call_id": "c1", "output": text},
            ]}),
        ),
        (
            "anthropic",
            json!({"messages": [
                {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "find", "input": object}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": text}]}]},
            ]}),
        ),
        (
            "bedrock",
            json!({"messages": [
                {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "find", "input": object}}]},
                {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": text}]}}]},
            ]}),
        ),
        (
            "gemini",
            json!({"contents": [
                {"role": "model", "parts": [{"function_call": {"id": "c1", "name": "find", "args": object}}]},
                {"role": "user", "parts": [{"function_response": {"id": "c1", "name": "find", "response": text}}]},
            ]}),
        ),
        (
            "genkit",
            json!({"messages": [
                {"role": "model", "content": [{"toolRequest": {"ref": "c1", "name": "find", "input": object}}]},
                {"role": "tool", "content": [{"toolResponse": {"ref": "c1", "name": "find", "output": text}}]},
            ]}),
        ),
        (
            "vercel",
            json!([
                {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "find", "input": object}]},
                {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c1", "toolName": "find", "output": text}]},
            ]),
        ),
        (
            "langchain",
            json!({"messages": [
                {"type": "ai", "content": "", "tool_calls": [{"name": "find", "args": object, "id": "c1", "type": "tool_call"}]},
                {"type": "tool", "content": text, "name": "find", "tool_call_id": "c1", "id": "m2"},
            ]}),
        ),
        (
            "llama-index",
            json!({"messages": [
                {"role": "assistant", "blocks": [{"block_type": "tool_call", "tool_call_id": "c1", "tool_name": "find", "tool_kwargs": object}]},
                {"role": "tool", "additional_kwargs": {"tool_call_id": "c1"}, "blocks": [{"block_type": "text", "text": text}]},
            ]}),
        ),
        (
            "parts of OpenTelemetry",
            json!([
                {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "find", "arguments": object}]},
                {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "name": "find", "response": text}]},
            ]),
        ),
        (
            "events",
            json!([
                {"event.name": "gen_ai.assistant.message", "tool_calls": [{"id": "c1", "function": function}]},
                {"event.name": "gen_ai.tool.message", "id": "c1", "content": text},
            ]),
        ),
    ]
}

#[test]
fn a_result_names_its_call_in_every_shape() {
    for (name, history) in tool_histories() {
        let found = input_of(vec![text("input.value", &history.to_string())]);
        let [asked, result] = found.as_array().map(Vec::as_slice).unwrap_or_default() else {
            panic!("{name}: {found}");
        };
        let call = json!({"id": "c1", "name": "find", "arguments": "{\"id\":7}"});
        assert_eq!(*asked, json!({"role": "assistant", "text": "", "tool_calls": [call]}), "{name}");
        let mut result = result.clone();
        result.as_object_mut().expect("a message").remove("name");
        assert_eq!(result, json!({"role": "tool", "text": "no such order", "tool_call_id": "c1"}), "{name}");
    }
}

#[test]
fn numbered_attributes_name_the_call_of_a_result() {
    let prefix = "llm.input_messages";
    let found = input_of(vec![
        text(&format!("{prefix}.0.message.role"), "assistant"),
        text(&format!("{prefix}.0.message.tool_calls.0.tool_call.id"), "c1"),
        text(&format!("{prefix}.0.message.tool_calls.0.tool_call.function.name"), "find"),
        text(&format!("{prefix}.0.message.tool_calls.0.tool_call.function.arguments"), "{}"),
        text(&format!("{prefix}.1.message.role"), "tool"),
        text(&format!("{prefix}.1.message.tool_call_id"), "c1"),
        text(&format!("{prefix}.1.message.content"), "none"),
    ]);
    let call = json!({"id": "c1", "name": "find", "arguments": "{}"});
    let asked = json!({"role": "assistant", "text": "", "tool_calls": [call]});
    assert_eq!(found, json!([asked, {"role": "tool", "text": "none", "tool_call_id": "c1"}]));
}

#[test]
fn results_in_a_message_of_a_user_come_before_its_text() {
    let content = json!([
        {"type": "text", "text": "And now?"},
        {"type": "tool_result", "tool_use_id": "a", "content": "one"},
        {"type": "tool_result", "tool_use_id": "b", "content": "two"},
    ]);
    let sent = json!({"messages": [{"role": "user", "content": content}]});
    let expected = json!([
        {"role": "tool", "text": "one", "tool_call_id": "a"},
        {"role": "tool", "text": "two", "tool_call_id": "b"},
        {"role": "user", "text": "And now?"},
    ]);
    assert_eq!(input_of(vec![text("input.value", &sent.to_string())]), expected);
}

#[test]
fn what_the_system_says_comes_first_wherever_it_was_sent() {
    let messages = json!([{"role": "user", "content": "hi"}]);
    let said = json!([{"role": "system", "text": "Be kind."}, {"role": "user", "text": "hi"}]);
    for request in [
        json!({"system": "Be kind.", "messages": messages}),
        json!({"system": [{"type": "text", "text": "Be kind."}], "messages": messages}),
        json!({"model": "m", "instructions": "Be kind.", "input": messages}),
        json!({"systemInstruction": {"parts": [{"text": "Be kind."}]}, "contents": [{"role": "user", "parts": [{"text": "hi"}]}]}),
    ] {
        assert_eq!(input_of(vec![text("input.value", &request.to_string())]), said, "{request}");
    }
    let sent = r#"[{"role":"user","parts":[{"type":"text","content":"hi"}]}]"#;
    let instructions = text("gen_ai.system_instructions", r#"[{"type":"text","content":"Be kind."}]"#);
    assert_eq!(input_of(vec![text("gen_ai.input.messages", sent), instructions]), said);
}

#[test]
fn thoughts_are_apart_from_the_text() {
    for answer in [
        json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Yes."}]}),
        json!({"choices": [{"message": {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm."}}]}),
        json!({"output": [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]},
        ]}),
        json!([{"role": "assistant", "parts": [{"type": "reasoning", "content": "Hm."}, {"type": "text", "content": "Yes."}]}]),
    ] {
        let messages = messages_of(&with_values(&json!("?"), &answer));
        let expected = json!([{"role": "assistant", "text": "Yes.", "reasoning": "Hm."}]);
        assert_eq!(messages, json!({"output": expected}), "{answer}");
    }
}

#[test]
fn a_conversation_that_was_sent_as_one_is_split_before_its_answer() {
    let whole = json!([
        {"role": "user", "parts": [{"type": "text", "content": "hi"}]},
        {"role": "assistant", "parts": [{"type": "text", "content": "hello"}]},
        {"role": "user", "parts": [{"type": "text", "content": "bye"}]},
        {"role": "assistant", "parts": [{"type": "text", "content": "farewell"}]},
    ]);
    let attributes =
        vec![text("openinference.span.kind", "AGENT"), text("pydantic_ai.all_messages", &whole.to_string())];
    let messages = messages_of(&proto::Span { attributes, ..message(1, 0, 1) });
    let said = |role: &str, text: &str| json!({"role": role, "text": text});
    let input = json!([said("user", "hi"), said("assistant", "hello"), said("user", "bye")]);
    assert_eq!(messages, json!({"input": input, "output": [said("assistant", "farewell")]}));
}

#[test]
fn what_is_shown_as_it_was_sent_is_read_as_messages_too_unless_it_is_of_a_tool() {
    let sent = r#"{"messages": [{"role": "user", "content": "hi"}]}"#;
    let said = json!({"input": [{"role": "user", "text": "hi"}]});
    let of_kind = |kind: &str, key: &str| {
        let attributes =
            vec![text("openinference.span.kind", kind), text("input.value", sent), text(key, "x")];
        messages_of(&proto::Span { attributes, ..message(1, 0, 1) })
    };
    assert_eq!(of_kind("LLM", "agno.run.id"), said);
    assert_eq!(of_kind("TOOL", "tool.name"), Json::Null);
}

#[test]
fn a_later_source_is_read_if_the_first_holds_no_messages() {
    let details = Event {
        name: "gen_ai.client.inference.operation.details".to_owned(),
        attributes: vec![text(
            "gen_ai.input.messages",
            r#"[{"role":"user","parts":[{"type":"text","content":"hi"}]}]"#,
        )],
        ..Event::default()
    };
    let span = proto::Span { events: vec![details], ..with(vec![text("input.value", "hi")]) };
    assert_eq!(messages_of(&span), json!({"input": [{"role": "user", "text": "hi"}]}));
}

#[test]
fn what_is_no_conversation_gives_no_messages() {
    let deep = "[".repeat(100_000);
    let large = json!([{"role": "user", "content": "x".repeat(2 << 20)}]).to_string();
    for sent in ["hi", "[]", "{\"a\": 1}", "{\"messages\": 3}", &deep, &large] {
        let span = with(vec![text("input.value", sent), text("output.value", sent)]);
        assert_eq!(messages_of(&span), Json::Null);
    }
}

/// The texts of messages that contribute to a node's text.
fn texts(messages: &Json) -> Vec<String> {
    let text = |message: &Json| message["text"].as_str().unwrap_or_default().to_owned();
    messages.as_array().into_iter().flatten().map(text).collect()
}

/// Returns all captured traces, each with the names of its program and case.
fn captured() -> Vec<(String, Trace)> {
    let cases = Captures::read().cases.into_iter().flat_map(|(case, traces)| {
        let name = format!("{} {}", case.framework, case.case);
        traces.into_values().map(move |trace| (name.clone(), trace))
    });
    cases.chain(frameworks::traces()).collect()
}

#[test]
fn captured_model_calls_have_messages_that_say_what_the_node_says() {
    let (mut sides, mut read) = (0, 0);
    for (case, trace) in captured() {
        let detail = detail_of(&trace);
        for node in nodes(&detail).into_iter().filter(|node| node["type"] == "LLM") {
            let id = SpanId::from_hex(node["id"].as_str().expect("an id")).expect("an id");
            let messages = &span_json(&trace, id)["messages"];
            for side in ["input", "output"] {
                let Some(shown) = node[side].as_str() else { continue };
                let said = texts(&messages[side]);
                sides += 1;
                read += usize::from(!said.is_empty());
                if shown.starts_with(['{', '[']) || said.is_empty() {
                    continue;
                }
                let is_said = said.iter().any(|text| shown.contains(&**text) && !text.is_empty());
                let has_calls = !messages[side].pointer("/0/tool_calls").is_none_or(Json::is_null);
                assert!(is_said || has_calls, "{case}: {side} {shown} in {said:?}");
            }
        }
    }
    println!("{read} of {sides}");
    assert!(read * 10 > sides * 9, "{read} of {sides} sides were read");
}

#[test]
fn captured_results_of_tools_name_a_call_before_them() {
    let (mut results, mut paired) = (0, 0);
    for (_, trace) in captured() {
        for span in trace.spans() {
            let messages = span_json(&trace, span.span_id)["messages"].clone();
            let mut calls: Vec<Json> = Vec::new();
            for message in messages["input"].as_array().into_iter().flatten() {
                let asked = message["tool_calls"].as_array().into_iter().flatten();
                calls.extend(asked.map(|call| call["id"].clone()).filter(|id| !id.is_null()));
                if message["role"] == "tool" {
                    results += 1;
                    paired += usize::from(calls.contains(&message["tool_call_id"]));
                }
            }
        }
    }
    assert!(results > 50 && paired * 10 > results * 8, "{paired} of {results} results name their call");
}
