//! Random spans with texts in every supported form: plain texts, JSON messages, other values, numbered
//! attributes, events, errors.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};
use spanwise::otlp::proto::{self, any_value::Value};

use crate::support::logs::{text, value};
use crate::support::random::Random;
use crate::support::spans::{failed, span};

/// Pieces of texts: starts of escapes and of JSON, letters that differ by case, separators between texts.
const PIECES: [&str; 48] = [
    "new ",
    "used",
    "feed ",
    "u0041",
    "the order",
    "of the",
    "Refund me",
    " ",
    " ",
    "\"",
    "\": \"",
    "\", \"",
    ", ",
    ": ",
    "/",
    "https://a.b/c",
    "-",
    "_",
    "tool-call",
    "\\",
    "\\n",
    "\\u0041",
    "\\u00",
    "\n",
    "\t",
    "\u{1b}[0m",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "1",
    "2.5",
    "true",
    "null",
    "e",
    "Kelvin \u{212a}",
    "ſo",
    "stack",
    "É",
    "né",
    "東京",
    "の 天気",
    "🙂",
    "x",
    "did not",
    "1,000",
];
const KINDS: [&str; 5] = ["AGENT", "LLM", "TOOL", "CHAIN", ""];

fn index(random: &mut Random, bound: usize) -> usize {
    usize::try_from(random.below(bound as u64)).expect("small")
}

fn one<T: Copy>(random: &mut Random, of: &[T]) -> T {
    of[index(random, of.len())]
}

/// Returns a text.
pub(super) fn said(random: &mut Random) -> String {
    let count = random.below(6);
    (0..count).map(|_| one(random, &PIECES)).collect()
}

/// Returns JSON in the style of different programs: with letters outside ASCII or all letters as escapes,
/// with escaped slashes, or as a nested JSON text.
fn written(random: &mut Random, json: &Json) -> String {
    let json = if random.below(3) == 0 {
        serde_json::to_string_pretty(json).expect("JSON")
    } else {
        json.to_string()
    };
    let style = random.below(6);
    let mut out = String::new();
    let mut is_escaped = false;
    for letter in json.chars() {
        let is_plain = !is_escaped && (letter.is_ascii_alphanumeric() || " -_.".contains(letter));
        let is_hidden = match style {
            0 => !letter.is_ascii(),
            1 => !letter.is_ascii() || (is_plain && is_in_text(&out) && random.below(6) == 0),
            _ => false,
        };
        if is_hidden {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}").expect("written to memory");
            }
        } else {
            out.push_str(if style == 2 && letter == '/' { "\\" } else { "" });
            out.push(letter);
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    out
}

/// Returns `true` if the next character is within a JSON string.
fn is_in_text(json: &str) -> bool {
    let (mut is_within, mut is_escaped) = (false, false);
    for letter in json.chars() {
        is_within ^= letter == '"' && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
    }
    is_within && !is_escaped
}

/// Returns a part of a message, or its content.
fn content(random: &mut Random) -> Json {
    let own = said(random);
    match random.below(8) {
        0 => {
            json!([{"type": "text", "text": own}, {"type": said(random)}, {"type": "image-url", "url": said(random)}])
        }
        1 => json!([{"type": "tool_result", "content": {own: said(random), "n": [1, 2.5, true]}}]),
        2 => json!([{"type": "tool_result", "tool_use_id": own, "name": said(random)}]),
        3 => json!([{"type": "thinking", "thinking": own}, said(random)]),
        4 => {
            let parts = json!([{"type": "text", "text": own}]);
            json!(written(random, &parts))
        }
        _ => json!(own),
    }
}

fn message(random: &mut Random) -> Json {
    let role = one(random, &["user", "assistant", "system", "tool"]);
    let mut message = json!({"role": role, "content": content(random)});
    if random.below(3) == 0 {
        let arguments = json!({"q": said(random), said(random): [said(random), 7, null]});
        let arguments = if random.below(2) == 0 { arguments } else { json!(written(random, &arguments)) };
        message["tool_calls"] =
            json!([{"id": "1", "function": {"name": said(random), "arguments": arguments}}]);
    }
    message
}

/// Returns the text of an attribute with messages.
fn messages(random: &mut Random) -> String {
    let all: Vec<Json> = (0..=random.below(3)).map(|_| message(random)).collect();
    let json = match random.below(7) {
        0 => json!({"messages": all, "system": said(random)}),
        1 => json!({"choices": [{"message": all[0]}]}),
        2 => json!({"prompt": said(random)}),
        3 => json!({"type": "tool", "content": said(random), "tool_call_id": "7"}),
        4 => json!({"kwargs": {"q": said(random)}, said(random): said(random)}),
        _ => json!(all),
    };
    written(random, &json)
}

/// Returns a value that is not a text.
fn other_value(random: &mut Random, depth: u8) -> Value {
    match random.below(if depth == 0 { 5 } else { 7 }) {
        0 => Value::IntValue(one(random, &[0, 1, -42, 1_000])),
        1 => Value::DoubleValue(one(random, &[2.5, f64::NAN, f64::NEG_INFINITY, 1e300])),
        2 => Value::BoolValue(random.below(2) == 0),
        3 => Value::BytesValue(said(random).into_bytes().into()),
        4 => Value::StringValue(said(random)),
        5 => {
            let values = (0..random.below(3)).map(|_| value(other_value(random, depth - 1))).collect();
            Value::ArrayValue(proto::ArrayValue { values })
        }
        _ => {
            let entry = |random: &mut Random| proto::KeyValue {
                key: said(random),
                value: Some(value(other_value(random, depth - 1))),
                ..Default::default()
            };
            let values = (0..random.below(3)).map(|_| entry(random)).collect();
            Value::KvlistValue(proto::KeyValueList { values })
        }
    }
}

fn attribute(random: &mut Random, key: &str) -> proto::KeyValue {
    match random.below(4) {
        0 => text(key, &said(random)),
        1 | 2 => text(key, &messages(random)),
        _ => proto::KeyValue { value: Some(value(other_value(random, 2))), ..text(key, "") },
    }
}

/// Returns an event with a message, or an exception.
pub(super) fn event(random: &mut Random, number: u64) -> proto::span::Event {
    let name =
        one(random, &["gen_ai.user.message", "gen_ai.choice", "gen_ai.tool.message", "exception", "other"]);
    let keys = ["content", "message", "gen_ai.prompt", "tool_calls", "exception.message"];
    let attributes = keys.iter().filter(|_| random.below(2) == 0).copied().collect::<Vec<_>>();
    proto::span::Event {
        name: name.into(),
        time_unix_nano: number,
        attributes: attributes.into_iter().map(|key| attribute(random, key)).collect(),
        ..Default::default()
    }
}

/// Returns a span with texts.
pub(crate) fn speaking(random: &mut Random, trace: u64, id: u64) -> proto::Span {
    let mut span = span(trace, id, random.below(9));
    let kind = one(random, &KINDS);
    if !kind.is_empty() {
        span.attributes.push(text("openinference.span.kind", kind));
    }
    if random.below(4) == 0 {
        span.attributes.push(text("agno.run.id", "run"));
    }
    for key in [
        "input.value",
        "output.value",
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "gen_ai.system_instructions",
        "pydantic_ai.all_messages",
        "error.type",
        "exception.message",
        "metadata",
        "k",
    ] {
        if random.below(4) == 0 {
            span.attributes.push(attribute(random, key));
        }
    }
    for prefix in ["llm.input_messages.", "llm.output_messages.", "gen_ai.prompt.", "gen_ai.completion."] {
        if random.below(8) == 0 {
            let part = one(
                random,
                &["message.content", "content", "message.tool_calls.0.tool_call.function.name", "role"],
            );
            let number = random.below(2);
            span.attributes.push(attribute(random, &format!("{prefix}{number}.{part}")));
        }
    }
    for number in 0..random.below(3) {
        if random.below(3) == 0 {
            span.events.push(event(random, number));
        }
    }
    if random.below(5) == 0 { failed(span, &said(random)) } else { span }
}
