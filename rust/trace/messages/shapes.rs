//! The JSON shapes of messages.

use serde_json::{Map, Value as Json};

use super::message::{Message, Role, Side, ToolResult};
use super::parts::{MessageParts, call_in, call_named_by, call_of, lines, thought_of};

/// Members of an object with messages or one message, by side, in order of precedence.
const CONTAINERS: [(Side, &[&str]); 2] = [
    (Side::Input, &["messages", "new_message", "contents", "prompt", "prompts", "input", "kwargs"]),
    (
        Side::Output,
        &[
            "generations",
            "choices",
            "candidates",
            "messages",
            "message",
            "output",
            "content",
            "response",
            "kwargs",
        ],
    ),
];

/// Members of an object with a bare text, by side: the member, and another member that the object must have.
/// Without the latter, the text must be the only member.
const BARE_TEXTS: [(Side, &str, Option<&str>); 6] = [
    (Side::Input, "prompt", Some("prompt")),
    (Side::Input, "input", Some("model")),
    (Side::Input, "input", None),
    (Side::Output, "output", None),
    (Side::Output, "raw", Some("pydantic")),
    (Side::Output, "text", Some("generation_info")),
];

/// Returns the messages in `json`; `None` for other JSON.
pub(super) fn messages(json: &Json, side: Side) -> Option<Vec<Message>> {
    match json {
        Json::Array(items) if !items.is_empty() => {
            if let Some(message) = pair(items) {
                return Some(vec![message]);
            }
            let lists: Option<Vec<_>> = items.iter().map(|item| messages(item, side)).collect();
            Some(lists?.into_iter().flatten().collect())
        }
        Json::Object(object) => {
            let message = message(object, side).map(|message| vec![message]);
            message.or_else(|| bare_text(object, side)).or_else(|| contained(object, side))
        }
        _ => None,
    }
}

/// Returns the message of an object with a bare text.
fn bare_text(object: &Map<String, Json>, side: Side) -> Option<Vec<Message>> {
    let text = BARE_TEXTS.iter().find_map(|(of, key, beside)| {
        let is_meant = beside.map_or(object.len() == 1, |beside| object.contains_key(beside));
        object.get(*key).filter(|_| *of == side && is_meant)?.as_str()
    })?;
    Some(vec![Message::of(role_of_side(side), text)])
}

fn role_of_side(side: Side) -> Role {
    if side == Side::Input { Role::User } else { Role::Assistant }
}

/// Returns the messages in a member of an object.
fn contained(object: &Map<String, Json>, side: Side) -> Option<Vec<Message>> {
    let (_, keys) = CONTAINERS.iter().find(|(of, _)| *of == side)?;
    keys.iter().find_map(|key| match object.get(*key)? {
        Json::Array(texts) if *key == "prompts" => {
            let text = |text: &Json| text.as_str().map(|text| Message::of(Role::User, text));
            texts.iter().map(text).collect()
        }
        inside @ (Json::Array(_) | Json::Object(_)) => messages(inside, side),
        _ => None,
    })
}

/// Returns the message of a pair of role and text.
fn pair(items: &[Json]) -> Option<Message> {
    let [Json::String(role), Json::String(text)] = items else { return None };
    Some(Message::of(role_of(role)?, text))
}

/// Returns the role for a word of a framework.
fn role_of(word: &str) -> Option<Role> {
    let word = word.rsplit('.').next().unwrap_or(word).to_ascii_lowercase();
    match word.trim_end_matches("chunk").trim_end_matches("message") {
        "user" | "human" => Some(Role::User),
        "assistant" | "ai" | "model" | "bot" => Some(Role::Assistant),
        "system" | "developer" => Some(Role::System),
        "tool" | "function" | "toolcall" | "tool_response" => Some(Role::Tool),
        _ => None,
    }
}

/// Parses an object as a message.
fn message(object: &Map<String, Json>, side: Side) -> Option<Message> {
    if let Some(event) = object.get("event.name").and_then(Json::as_str) {
        return message_of_event(event, object, side);
    }
    // A `LangChain` constructor, a choice, a generation, or numbered attributes of `OpenInference`.
    let is_constructor = object.contains_key("lc") || object.get("id").is_some_and(Json::is_array);
    if is_constructor && let Some(Json::Object(arguments)) = object.get("kwargs") {
        let class = object.get("id").and_then(Json::as_array).and_then(|path| path.last()?.as_str());
        let role = role_in(arguments).or_else(|| role_of(class?))?;
        return Some(with_parts(role, arguments));
    }
    for inside in ["message", "delta"] {
        if let Some(Json::Object(inside)) = object.get(inside)
            && let Some(message) = message(inside, side)
        {
            return Some(message);
        }
    }
    let kind = object.get("type").and_then(Json::as_str).unwrap_or_default();
    match kind {
        "function_call" => {
            return Some(asking(object));
        }
        "function_call_output" => return Some(result_message(object)),
        "reasoning" => {
            let reasoning = thought_of(object).unwrap_or_default();
            return Some(Message { reasoning, ..Message::of(Role::Assistant, "") });
        }
        _ => {}
    }
    if object.contains_key("toolCallId") && object.contains_key("toolName") {
        return Some(asking(object));
    }
    if let Some(role) = role_in(object) {
        // An older `LangChain` dump has the message in `data`.
        let dumped = object.get("data").and_then(Json::as_object);
        return Some(with_parts(role, dumped.unwrap_or(object)));
    }
    // Gemini omits the role if there is only one.
    let has_parts = object.get("parts").is_some_and(Json::is_array);
    has_parts.then(|| with_parts(role_of_side(side), object))
}

/// Parses an object that is only a tool call.
fn asking(object: &Map<String, Json>) -> Message {
    let calls = call_in(object).into_iter().collect();
    Message { calls, ..Message::of(Role::Assistant, "") }
}

/// Parses an object that is only the result of a tool.
fn result_message(object: &Map<String, Json>) -> Message {
    let Message { text, .. } = with_parts(Role::Tool, &single("output", object));
    let (id, name) = call_named_by(object);
    let results = vec![ToolResult { id, name, text: text.clone() }];
    Message { results, ..Message::of(Role::Tool, text) }
}

fn single(key: &str, object: &Map<String, Json>) -> Map<String, Json> {
    let content = object.get(key).cloned().unwrap_or_default();
    Map::from_iter([("content".to_owned(), content)])
}

/// Returns the role of an object. The type of a `LangChain` message is its role.
fn role_in(object: &Map<String, Json>) -> Option<Role> {
    if let Some(role) = object.get("role") {
        return Some(role.as_str().and_then(role_of).unwrap_or(Role::System));
    }
    let has_content = object.contains_key("content") || object.get("data").is_some_and(Json::is_object);
    has_content.then(|| role_of(object.get("type")?.as_str()?)).flatten()
}

/// Returns the message of a `GenAI` event. Only `gen_ai.choice` is an answer; assistant messages are earlier
/// answers.
fn message_of_event(event: &str, object: &Map<String, Json>, side: Side) -> Option<Message> {
    let word = event.strip_prefix("gen_ai.")?;
    if word == "choice" {
        return Some(match object.get("message") {
            Some(Json::Object(message)) => with_parts(Role::Assistant, message),
            Some(_) => with_parts(Role::Assistant, &single("message", object)),
            None => with_parts(Role::Assistant, object),
        });
    }
    let role = role_of(word.strip_suffix(".message")?)?;
    Some(if side == Side::Input { with_parts(role, object) } else { Message::of(Role::User, "") })
}

/// Returns a message with the content and the calls of `object`.
fn with_parts(role: Role, object: &Map<String, Json>) -> Message {
    let mut parts = MessageParts::default();
    let with_content = |key: &&&str| object.get(**key).is_some_and(|content| !is_empty(content));
    if let Some(key) = ["content", "contents", "parts", "blocks", "text"].iter().find(with_content) {
        parts.read(&object[*key]);
    }
    for key in ["tool_calls", "toolCalls"] {
        if let Some(calls) = object.get(key) {
            // The content of some frameworks repeats the calls.
            if parts.calls.is_empty() {
                parts.read_calls(calls);
            }
        }
    }
    parts.calls.extend(object.get("function_call").and_then(call_of));
    for key in ["reasoning_content", "reasoning"] {
        parts.thoughts.extend(
            object.get(key).and_then(Json::as_str).filter(|text| !text.is_empty()).map(str::to_owned),
        );
    }
    let MessageParts { texts, thoughts, calls, mut results } = parts;
    let is_other = matches!(role, Role::System | Role::Tool);
    let text = if is_other && texts.is_empty() {
        results.iter().map(|result| result.text.as_str()).collect::<Vec<_>>().join("\n")
    } else {
        lines(texts)
    };
    if role == Role::Tool && results.is_empty() {
        let (id, name) = call_named_by(object);
        results.push(ToolResult { id, name, text: text.clone() });
    }
    Message { role, text, reasoning: lines(thoughts), calls, results }
}

fn is_empty(content: &Json) -> bool {
    match content {
        Json::Null => true,
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.is_empty(),
        _ => false,
    }
}
