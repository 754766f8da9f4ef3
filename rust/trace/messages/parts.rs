//! The parts of a message: its texts, its calls of tools, their results.

use serde_json::{Map, Value as Json};

/// What the parts of a message say.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) texts: Vec<String>,
    pub(super) calls: Vec<String>,
    /// The results of tools.
    pub(super) results: Vec<String>,
}

impl Parts {
    /// Reads the content of a message: a text, a part, or a list of parts.
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
        let call_inside = ["function_call", "functionCall", "toolUse", "tool_call"];
        let result_inside = ["function_response", "functionResponse", "toolResult"];
        if let Some(call) = call_inside.iter().find_map(|key| part.get(*key)).and_then(call_text) {
            self.calls.push(call);
        } else if let Some(result) = result_inside.iter().find_map(|key| part.get(*key)) {
            self.results.push(result_text(result));
        } else if matches!(
            &*kind,
            "tool_result" | "tool_call_response" | "tool_return" | "function_call_output"
        ) {
            self.results.push(result_text(&Json::Object(part.clone())));
        } else if matches!(&*kind, "tool_call" | "tool_use" | "function_call") {
            self.calls.extend(call_text(&Json::Object(part.clone())));
        } else if matches!(&*kind, "thinking" | "redacted_thinking" | "reasoning") {
        } else if let Some(text) =
            ["text", "content", "value"].iter().find_map(|key| part.get(*key)?.as_str())
        {
            self.texts.push(text.to_owned());
        } else if !kind.is_empty() {
            self.texts.push(format!("[{kind}]"));
        }
    }

    /// Reads the list `tool_calls` of a message.
    pub(super) fn read_calls(&mut self, calls: &Json) {
        let parsed = calls.as_str().and_then(|text| serde_json::from_str(text).ok());
        let calls = parsed.as_ref().unwrap_or(calls).as_array();
        self.calls.extend(calls.into_iter().flatten().filter_map(call_text));
    }
}

/// Returns a call of a tool as `<name>(<arguments>)`.
pub(super) fn call_text(call: &Json) -> Option<String> {
    let call = call.get("tool_call").unwrap_or(call);
    let call = call.get("function").filter(|function| function.is_object()).unwrap_or(call);
    let name = ["name", "toolName", "tool_name"].iter().find_map(|key| call.get(*key)?.as_str())?;
    let arguments = ["arguments", "args", "input", "tool_kwargs"].iter().find_map(|key| call.get(*key));
    Some(format!("{name}({})", arguments.map(plain).unwrap_or_default()))
}

/// Returns the result of a tool.
fn result_text(result: &Json) -> String {
    let value = ["response", "output", "content", "result"].iter().find_map(|key| result.get(*key));
    plain(value.unwrap_or(result))
}

/// Returns a text as it is, and any other value as JSON.
pub(super) fn plain(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns the parts that a content holds as JSON text: some conventions write lists of parts that way.
fn json_parts(text: &str) -> Option<Json> {
    if !text.starts_with("[{") {
        return None;
    }
    let parts: Json = serde_json::from_str(text).ok()?;
    let is_part =
        |part: &Json| ["type", "text", "toolUse", "toolResult"].iter().any(|key| part.get(key).is_some());
    parts.as_array()?.iter().all(is_part).then_some(parts)
}
