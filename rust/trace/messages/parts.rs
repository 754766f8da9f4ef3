//! The parts of a message: its texts, its tool calls, and their results.

use serde_json::{Map, Value as Json};

use super::message::{ToolCall, ToolResult};

/// Members with a call id, in order of precedence. An item of a response also has an `id` of its own.
const CALL_IDS: [&str; 8] =
    ["call_id", "tool_call_id", "toolCallId", "tool_use_id", "toolUseId", "tool_id", "ref", "id"];
/// Members with a tool name.
const TOOL_NAMES: [&str; 3] = ["name", "toolName", "tool_name"];

/// The parsed parts of a message.
#[derive(Debug, Default)]
pub(super) struct MessageParts {
    pub(super) texts: Vec<String>,
    /// The reasoning of the model.
    pub(super) thoughts: Vec<String>,
    pub(super) calls: Vec<ToolCall>,
    pub(super) results: Vec<ToolResult>,
}

impl MessageParts {
    /// Parses the content of a message: a text, a part, or a list of parts.
    pub(super) fn read(&mut self, content: &Json) {
        match content {
            Json::String(text) => match json_parts(text) {
                Some(parts) => self.read(&parts),
                None => self.texts.push(text.clone()),
            },
            Json::Array(parts) => parts.iter().for_each(|part| match part {
                Json::String(text) => self.texts.push(text.clone()),
                part => self.read(part),
            }),
            Json::Object(part) => self.read_part(part),
            _ => {}
        }
    }

    fn read_part(&mut self, part: &Map<String, Json>) {
        if let Some(Json::Object(inside)) = part.get("message_content") {
            return self.read_part(inside);
        }
        let kind = ["type", "block_type", "kind"].iter().find_map(|key| part.get(*key)?.as_str());
        let kind = kind.unwrap_or_default().replace('-', "_");
        let call_inside = ["function_call", "functionCall", "toolUse", "toolRequest", "tool_call"];
        let result_inside = ["function_response", "functionResponse", "toolResult", "toolResponse"];
        if let Some(call) = call_inside.iter().find_map(|key| part.get(*key)).and_then(call_of) {
            self.calls.push(call);
        } else if let Some(result) = result_inside.iter().find_map(|key| part.get(*key)) {
            self.results.push(result_of(result));
        } else if matches!(
            &*kind,
            "tool_result" | "tool_call_response" | "tool_return" | "function_call_output"
        ) {
            self.results.push(result_in(part));
        } else if matches!(&*kind, "tool_call" | "tool_use" | "function_call") {
            self.calls.extend(call_in(part));
        } else if matches!(&*kind, "thinking" | "redacted_thinking" | "reasoning") {
            self.thoughts.extend(thought_of(part));
        } else if let Some(text) =
            ["text", "content", "value"].iter().find_map(|key| part.get(*key)?.as_str())
        {
            self.texts.push(text.to_owned());
        } else if !kind.is_empty() {
            self.texts.push(format!("[{kind}]"));
        }
    }

    /// Parses the list `tool_calls` of a message.
    pub(super) fn read_calls(&mut self, calls: &Json) {
        let parsed = calls.as_str().and_then(|text| serde_json::from_str(text).ok());
        let calls = parsed.as_ref().unwrap_or(calls).as_array();
        self.calls.extend(calls.into_iter().flatten().filter_map(call_of));
    }
}

/// Parses a tool call.
pub(super) fn call_of(call: &Json) -> Option<ToolCall> {
    call_in(call.as_object()?)
}

/// Parses an object as a tool call.
pub(super) fn call_in(call: &Map<String, Json>) -> Option<ToolCall> {
    let outer = call.get("tool_call").map_or(Some(call), Json::as_object)?;
    let call = outer.get("function").and_then(Json::as_object).unwrap_or(outer);
    let name = member(call, &TOOL_NAMES)?;
    let arguments = ["arguments", "args", "input", "tool_kwargs"].iter().find_map(|key| call.get(*key));
    let id = member(outer, &CALL_IDS).map(str::to_owned);
    Some(ToolCall { id, name: name.to_owned(), arguments: arguments.map(plain).unwrap_or_default() })
}

/// Parses the result of a tool.
fn result_of(result: &Json) -> ToolResult {
    match result {
        Json::Object(result) => result_in(result),
        other => ToolResult { id: None, name: None, text: text_of_result(other) },
    }
}

/// Parses an object as the result of a tool.
fn result_in(result: &Map<String, Json>) -> ToolResult {
    let value = ["response", "output", "content", "result"].iter().find_map(|key| result.get(*key));
    let text = value.map_or_else(|| plain(&Json::Object(result.clone())), text_of_result);
    let (id, name) = call_named_by(result);
    ToolResult { id, name, text }
}

fn text_of_result(value: &Json) -> String {
    text_of_parts(value).unwrap_or_else(|| plain(value))
}

/// Returns the text of a list of parts; `None` if a part is not a text.
fn text_of_parts(value: &Json) -> Option<String> {
    let mut parts = MessageParts::default();
    value.as_array()?.iter().filter(|part| part.is_object()).for_each(|part| parts.read(part));
    let is_text = !parts.texts.is_empty() && parts.texts.len() == value.as_array()?.len();
    is_text.then(|| lines(parts.texts))
}

/// Returns the call id and the tool name in a tool result or a tool message.
pub(super) fn call_named_by(result: &Map<String, Json>) -> (Option<String>, Option<String>) {
    let others = || result.get("additional_kwargs")?.as_object();
    let id = member(result, &CALL_IDS[..7]).or_else(|| member(others()?, &CALL_IDS));
    let id = id.or_else(|| member(result, &CALL_IDS));
    (id.map(str::to_owned), member(result, &TOOL_NAMES).map(str::to_owned))
}

/// Returns the text of a reasoning part: a text, or a list of parts with texts.
pub(super) fn thought_of(part: &Map<String, Json>) -> Option<String> {
    let content =
        ["thinking", "text", "content", "reasoning", "summary"].iter().find_map(|key| part.get(*key))?;
    let mut inside = MessageParts::default();
    inside.read(content);
    Some(lines(inside.texts)).filter(|text| !text.is_empty())
}

fn member<'a>(object: &'a Map<String, Json>, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| object.get(*key)?.as_str()).filter(|text| !text.is_empty())
}

/// Joins texts with line breaks.
pub(super) fn lines(mut texts: Vec<String>) -> String {
    if texts.len() == 1 { texts.remove(0) } else { texts.join("\n") }
}

/// Returns a text unchanged, and any other value as JSON.
pub(super) fn plain(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Parses content that is JSON text. Some conventions send lists of parts in this way.
fn json_parts(text: &str) -> Option<Json> {
    if !text.starts_with("[{") {
        return None;
    }
    let parts: Json = serde_json::from_str(text).ok()?;
    let is_part =
        |part: &Json| ["type", "text", "toolUse", "toolResult"].iter().any(|key| part.get(key).is_some());
    parts.as_array()?.iter().all(is_part).then_some(parts)
}
