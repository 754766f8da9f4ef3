//! Messages of models: the node shows the same text for every shape of the messages.

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use spanwise::otlp::proto::span::Event;
use spanwise::otlp::proto::{self, KeyValue};

use super::made::{attribute, detail_of, message, otlp_value, text, trace};

/// A conversation with a model, and its answer.
#[derive(Debug, Clone)]
pub(super) struct Conversation {
    /// Roles and texts. The last message is from a user.
    pub(super) messages: Vec<(&'static str, String)>,
    pub(super) answer: String,
    /// The arguments of a call of `f`.
    pub(super) call: Option<u8>,
}

impl Conversation {
    pub(super) fn any() -> impl Strategy<Value = Self> {
        let words = || "[a-z]{1,8}( [a-z]{1,8}){0,2}";
        let before =
            prop::collection::vec((prop::sample::select(vec!["system", "user", "assistant"]), words()), 0..4);
        (before, words(), words(), prop::option::of(any::<u8>())).prop_map(
            |(mut messages, question, answer, call)| {
                messages.push(("user", question));
                Self { messages, answer, call }
            },
        )
    }

    fn input(&self) -> &str {
        &self.messages.last().expect("a message").1
    }

    fn output(&self) -> String {
        let call = self.call.map(|x| format!("\nf({})", arguments(x)));
        format!("{}{}", self.answer, call.unwrap_or_default())
    }

    fn calls(&self, write: impl Fn(u8) -> Json) -> Vec<Json> {
        self.call.into_iter().map(write).collect()
    }

    fn each(&self, write: impl Fn(&str, &str) -> Json) -> Json {
        self.messages.iter().map(|(role, text)| write(role, text)).collect()
    }
}

pub(super) fn arguments(x: u8) -> String {
    json!({"x": x}).to_string()
}

/// The span of a conversation in a convention.
pub(super) type Shape = (&'static str, fn(&Conversation) -> proto::Span);

pub(super) fn with(attributes: Vec<KeyValue>) -> proto::Span {
    let kind = text("openinference.span.kind", "LLM");
    proto::Span { attributes: attributes.into_iter().chain([kind]).collect(), ..message(1, 0, 1) }
}

pub(super) fn with_values(input: &Json, output: &Json) -> proto::Span {
    with(vec![text("input.value", &input.to_string()), text("output.value", &output.to_string())])
}

fn openai_chat(said: &Conversation) -> proto::Span {
    let messages = said.each(|role, text| json!({"role": role, "content": text}));
    let calls =
        said.calls(|x| json!({"type": "function", "function": {"name": "f", "arguments": arguments(x)}}));
    let answer = json!({"role": "assistant", "content": said.answer, "tool_calls": calls});
    with_values(
        &json!({"model": "m", "messages": messages}),
        &json!({"choices": [{"index": 0, "message": answer}]}),
    )
}

fn openai_responses(said: &Conversation) -> proto::Span {
    let messages =
        said.each(|role, text| json!({"role": role, "content": [{"type": "input_text", "text": text}]}));
    let answer = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": said.answer}]});
    let calls = said.calls(|x| json!({"type": "function_call", "name": "f", "arguments": arguments(x)}));
    let items: Vec<_> =
        [json!({"type": "reasoning", "summary": []}), answer].into_iter().chain(calls).collect();
    with_values(&json!({"model": "m", "input": messages}), &json!({"id": "r", "output": items}))
}

fn anthropic(said: &Conversation) -> proto::Span {
    let messages = said.each(|role, text| json!({"role": role, "content": [{"type": "text", "text": text}]}));
    let calls = said.calls(|x| json!({"type": "tool_use", "id": "1", "name": "f", "input": {"x": x}}));
    let content: Vec<_> = [json!({"type": "text", "text": said.answer})].into_iter().chain(calls).collect();
    with_values(&json!({"messages": messages}), &json!({"role": "assistant", "content": content}))
}

fn gemini(said: &Conversation) -> proto::Span {
    let role_of = |role: &str| if role == "assistant" { "model" } else { role }.to_owned();
    let contents = said.each(|role, text| json!({"role": role_of(role), "parts": [{"text": text}]}));
    let calls = said.calls(|x| json!({"function_call": {"name": "f", "args": {"x": x}}}));
    let parts: Vec<_> = [json!({"text": said.answer})].into_iter().chain(calls).collect();
    with_values(
        &json!({"contents": contents}),
        &json!({"candidates": [{"content": {"parts": parts, "role": "model"}}]}),
    )
}

fn langchain_constructors(said: &Conversation) -> proto::Span {
    let class = |role: &str| match role {
        "user" => "HumanMessage",
        "assistant" => "AIMessage",
        _ => "SystemMessage",
    };
    let dumped = |class: &str, arguments: Json| json!({"lc": 1, "type": "constructor", "id": ["langchain", class], "kwargs": arguments});
    let messages = said.each(|role, text| dumped(class(role), json!({"content": text})));
    let calls = said.calls(|x| json!({"name": "f", "args": {"x": x}, "id": "1"}));
    let answer = dumped("AIMessage", json!({"content": said.answer, "type": "ai", "tool_calls": calls}));
    let generation = json!({"text": said.answer, "generation_info": {}, "message": answer});
    with_values(&json!({"messages": [messages]}), &json!({"generations": [[generation]], "llm_output": {}}))
}

fn langchain_data(said: &Conversation) -> proto::Span {
    let kind = |role: &str| {
        if role == "user" {
            "human"
        } else if role == "assistant" {
            "ai"
        } else {
            role
        }
        .to_owned()
    };
    let messages = said.each(|role, text| json!({"type": kind(role), "data": {"content": text}}));
    let calls = said.calls(|x| json!({"name": "f", "args": {"x": x}}));
    let answer = json!({"type": "ai", "data": {"content": said.answer, "tool_calls": calls}});
    let state: Vec<Json> = messages.as_array().into_iter().flatten().cloned().chain([answer]).collect();
    with_values(&json!({"messages": messages}), &json!({"messages": state}))
}

fn llama_index(said: &Conversation) -> proto::Span {
    let block = |text: &str| json!([{"block_type": "text", "text": text}]);
    let messages =
        said.each(|role, text| json!({"role": role, "additional_kwargs": {}, "blocks": block(text)}));
    let calls = said.calls(|x| json!({"function": {"name": "f", "arguments": arguments(x)}}));
    let answer = json!({"role": "assistant", "blocks": block(&said.answer), "tool_calls": calls});
    with_values(&json!({"messages": messages}), &json!({"message": answer}))
}

fn openinference_numbered(said: &Conversation) -> proto::Span {
    let mut sent = vec![text("input.value", "{\"request\": 1}"), text("output.value", "{\"response\": 1}")];
    for (number, (role, content)) in said.messages.iter().enumerate() {
        let prefix = format!("llm.input_messages.{number}.message");
        sent.push(text(&format!("{prefix}.role"), role));
        sent.push(text(&format!("{prefix}.contents.0.message_content.type"), "text"));
        sent.push(text(&format!("{prefix}.contents.0.message_content.text"), content));
    }
    sent.push(text("llm.output_messages.0.message.role", "assistant"));
    sent.push(text("llm.output_messages.0.message.content", &said.answer));
    if let Some(x) = said.call {
        let call = "llm.output_messages.0.message.tool_calls.0.tool_call.function";
        sent.push(text(&format!("{call}.name"), "f"));
        sent.push(text(&format!("{call}.arguments"), &arguments(x)));
    }
    with(sent)
}

fn traceloop_numbered(said: &Conversation) -> proto::Span {
    let mut sent = Vec::new();
    for (number, (role, content)) in said.messages.iter().enumerate() {
        sent.push(text(&format!("gen_ai.prompt.{number}.role"), role));
        sent.push(text(&format!("gen_ai.prompt.{number}.content"), content));
    }
    sent.push(text("gen_ai.completion.0.role", "assistant"));
    sent.push(text("gen_ai.completion.0.content", &said.answer));
    if let Some(x) = said.call {
        sent.push(text("gen_ai.completion.0.tool_calls.0.name", "f"));
        sent.push(text("gen_ai.completion.0.tool_calls.0.arguments", &arguments(x)));
    }
    with(sent)
}

fn vercel(said: &Conversation) -> proto::Span {
    let messages = said.each(|role, text| json!({"role": role, "content": [{"type": "text", "text": text}]}));
    let mut content = vec![json!({"type": "text", "text": said.answer})];
    content.extend(said.calls(|x| json!({"type": "tool-call", "toolName": "f", "input": {"x": x}})));
    let answer = json!([{"role": "assistant", "content": content}]);
    with(vec![text("ai.prompt.messages", &messages.to_string()), text("output.value", &answer.to_string())])
}

fn genai_events(said: &Conversation) -> Vec<Json> {
    let named = |role: &str, content: &str| json!({"event.name": format!("gen_ai.{role}.message"), "role": role, "content": content});
    let calls =
        said.calls(|x| json!({"type": "function", "function": {"name": "f", "arguments": arguments(x)}}));
    let answer = json!({"role": "assistant", "content": said.answer, "tool_calls": calls});
    let choice = json!({"event.name": "gen_ai.choice", "index": 0, "message": answer});
    let Json::Array(events) = said.each(named) else { return vec![choice] };
    events.into_iter().chain([choice]).collect()
}

fn events_attribute(said: &Conversation) -> proto::Span {
    with(vec![text("events", &Json::Array(genai_events(said)).to_string())])
}

fn span_events(said: &Conversation) -> proto::Span {
    let event = |event: Json| {
        let Json::Object(mut members) = event else { return Event::default() };
        let name = members.remove("event.name").and_then(|name| name.as_str().map(str::to_owned));
        let plain = |value: Json| if value.is_object() { json!(value.to_string()) } else { value };
        let value = |value: Json| otlp_value(&plain(value)).value.expect("a value");
        let attributes = members.into_iter().map(|(key, member)| attribute(&key, value(member))).collect();
        Event { name: name.unwrap_or_default(), attributes, ..Event::default() }
    };
    proto::Span { events: genai_events(said).into_iter().map(event).collect(), ..with(Vec::new()) }
}

pub(super) const SHAPES: [Shape; 12] = [
    ("openai chat", openai_chat),
    ("openai responses", openai_responses),
    ("anthropic", anthropic),
    ("gemini", gemini),
    ("langchain constructors", langchain_constructors),
    ("langchain data", langchain_data),
    ("llama-index", llama_index),
    ("openinference, numbered", openinference_numbered),
    ("traceloop, numbered", traceloop_numbered),
    ("vercel", vercel),
    ("events attribute", events_attribute),
    ("span events", span_events),
];

proptest! {
    #[test]
    fn every_shape_of_a_conversation_shows_the_same_text(said in Conversation::any()) {
        for (name, write) in SHAPES {
            let span = write(&said);
            let detail = detail_of(&trace(std::slice::from_ref(&span)));
            let node = &detail["tree"][0];
            prop_assert_eq!(node["input"].as_str(), Some(said.input()), "input, {}", name);
            prop_assert_eq!(node["output"].as_str(), Some(&*said.output()), "output, {}", name);
            for sent in span.attributes.iter().filter(|sent| !sent.key.starts_with("openinference")) {
                prop_assert!(!node["extra_data"]["attributes"][&sent.key].is_null(), "{} of {}", sent.key, name);
            }
        }
    }

    #[test]
    fn what_is_no_message_is_shown_as_it_was_sent(
        json in prop::sample::select(vec![
            "[]", "{}", "[1,2]", "{\"a\": 1}", "[[\"a\",\"b\"]]", "{\"messages\": 3}", "{\"input\": {}}", "[{\"a\": {}}]",
            "{\"role\"", "[", "{\"content\": \"x\"}", "{\"prompt\": 1, \"input\": [0.5]}", "{\"input\": \"a\", \"n\": 1}",
        ]),
    ) {
        let span = with(vec![text("input.value", json), text("output.value", json)]);
        let detail = detail_of(&trace(&[span]));
        let node = &detail["tree"][0];
        prop_assert_eq!((node["input"].as_str(), node["output"].as_str()), (Some(json), Some(json)));
        prop_assert!(node["extra_data"].is_null(), "nothing is shown twice");
    }
}

#[test]
fn agno_tools_and_the_standard_messages_are_shown_as_they_were_sent() {
    let sent = "{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}]}";
    for attributes in [
        vec![text("openinference.span.kind", "LLM"), text("input.value", sent), text("agno.run.id", "r")],
        vec![text("openinference.span.kind", "TOOL"), text("input.value", sent)],
        vec![text("gen_ai.operation.name", "chat"), text("gen_ai.input.messages", sent)],
    ] {
        let detail = detail_of(&trace(&[proto::Span { attributes, ..message(1, 0, 1) }]));
        assert_eq!(detail["tree"][0]["input"], sent);
    }
}

#[test]
fn a_failed_call_has_the_input_of_its_events_and_no_output() {
    let events = json!([
        {"event.name": "gen_ai.user.message", "content": "hi"},
        {"event.name": "gen_ai.assistant.message", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]},
        {"event.name": "gen_ai.tool.message", "content": "7"},
    ]);
    let detail = detail_of(&trace(&[with(vec![text("events", &events.to_string())])]));
    let node = &detail["tree"][0];
    assert_eq!((&node["input"], &node["output"]), (&json!("hi"), &Json::Null));
}

#[test]
fn the_message_of_a_tool_is_its_content() {
    let dumped = "{\"type\": \"tool\", \"data\": {\"content\": \"It is clear.\", \"tool_call_id\": \"1\"}}";
    let attributes = vec![text("openinference.span.kind", "TOOL"), text("output.value", dumped)];
    let detail = detail_of(&trace(&[proto::Span { attributes, ..message(1, 0, 1) }]));
    assert_eq!(detail["tree"][0]["output"], "It is clear.");
}

#[test]
fn a_tool_whose_messages_are_events_was_called_with_the_first_and_returned_the_choice() {
    let event = |name: &str, key: &str, content: &str| Event {
        name: name.into(),
        attributes: vec![text(key, content)],
        ..Event::default()
    };
    let events = vec![
        event("gen_ai.tool.message", "content", "{\"city\": \"Paris\"}"),
        event("gen_ai.choice", "message", "[{\"text\": \"It is clear.\"}]"),
    ];
    let attributes = vec![text("gen_ai.operation.name", "execute_tool"), text("gen_ai.tool.name", "f")];
    let detail = detail_of(&trace(&[proto::Span { attributes, events, ..message(1, 0, 1) }]));
    let node = &detail["tree"][0];
    assert_eq!((&node["input"], &node["output"]), (&json!("{\"city\": \"Paris\"}"), &json!("It is clear.")));
    assert_eq!(node["metadata"]["parameters"], "{\"city\": \"Paris\"}");
}

#[test]
fn deep_and_large_json_is_shown_as_it_was_sent() {
    let deep = "[".repeat(100_000);
    let content = "x".repeat(2 << 20);
    let large = json!([{"role": "user", "content": content}]).to_string();
    for sent in [deep, large] {
        let detail = detail_of(&trace(&[with(vec![text("input.value", &sent)])]));
        assert_eq!(detail["tree"][0]["input"], sent);
    }
}
