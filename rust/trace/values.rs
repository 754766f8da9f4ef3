//! Long values of a span: truncates them in its JSON, and reads them in parts
//! (`docs/reference/api-search.md#long-values`).
//!
//! Both work on the JSON of [`super::detail::write_span`], so they apply to everything in it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::conventions::JsonObject;
use super::json::JsonWriter;

/// The members whose own members are whole values.
const HOLDERS: [&str; 2] = ["attributes", "metadata"];

/// The requested part of a value.
#[derive(Debug, Clone, Copy)]
pub struct ValuePart<'a> {
    /// The path of the value in the JSON of its span: a JSON Pointer (RFC 6901).
    pub path: &'a str,
    /// The start of the part, in bytes of the value's text. It is moved back to a character boundary.
    pub from: usize,
    /// The maximum size in bytes. The part has whole characters.
    pub max_bytes: Option<usize>,
}

/// A truncated value.
#[derive(Serialize)]
struct TruncatedValue {
    path: String,
    bytes: usize,
}

/// A part of the text of a value.
#[derive(Serialize)]
struct ValuePage<'a> {
    text: &'a str,
    from: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<usize>,
    bytes: usize,
}

/// Appends `span`, the JSON of a span, with every longer value truncated to at most `max_bytes` bytes of
/// whole characters. A member `cut` lists the truncated values, if there are any. A value is a text, or the
/// whole content of an attribute. Values other than text are truncated as JSON text.
pub fn write_truncated(out: &mut Vec<u8>, span: &[u8], max_bytes: usize) {
    let span = raw_of(span);
    let mut truncation = Truncation { max_bytes, path: Vec::new(), truncated: Vec::new() };
    let mut json = JsonWriter::new(out);
    json.begin_object();
    for (key, value) in members(span) {
        truncation.write_member(&mut json, &key, value, false);
    }
    if !truncation.truncated.is_empty() {
        json.key("cut");
        json.serialized(&truncation.truncated);
    }
    json.end_object();
}

/// Appends a part of a value in `span`, the JSON of a span. Returns `false` if the value does not exist.
pub fn write_value_page(out: &mut Vec<u8>, span: &[u8], part: &ValuePart<'_>) -> bool {
    let Some(value) = value_at(raw_of(span), part.path) else { return false };
    let text = text_of(value);
    let start = floor(&text, part.from);
    let end = part.max_bytes.map_or(text.len(), |max| floor(&text, start.saturating_add(max)));
    let next = (end < text.len()).then_some(end);
    let page = ValuePage { text: &text[start..end], from: start, next, bytes: text.len() };
    JsonWriter::new(out).serialized(&page);
    true
}

struct Truncation {
    max_bytes: usize,
    /// The keys and positions of the value being written.
    path: Vec<String>,
    truncated: Vec<TruncatedValue>,
}

impl Truncation {
    fn write_member(&mut self, json: &mut JsonWriter<'_>, key: &str, value: &RawValue, is_whole: bool) {
        json.key(key);
        self.path.push(key.to_owned());
        self.write(json, value, is_whole, HOLDERS.contains(&key));
        self.path.pop();
    }

    /// Writes a value. With `is_whole`, a value other than text is truncated as a whole. With `is_holder`,
    /// this applies to its members.
    fn write(&mut self, json: &mut JsonWriter<'_>, value: &RawValue, is_whole: bool, is_holder: bool) {
        let sent = value.get();
        // The text of a value is never longer than its JSON.
        if sent.len() <= self.max_bytes {
            return json.raw(sent.as_bytes());
        }
        if sent.starts_with('"') || is_whole {
            return self.write_text(json, value);
        }
        if sent.starts_with('{') {
            json.begin_object();
            for (key, inside) in members(value) {
                self.write_member(json, &key, inside, is_holder);
            }
            json.end_object();
        } else if sent.starts_with('[') {
            json.begin_array();
            for (position, inside) in items(value).into_iter().enumerate() {
                self.path.push(position.to_string());
                self.write(json, inside, false, false);
                self.path.pop();
            }
            json.end_array();
        } else {
            json.raw(sent.as_bytes());
        }
    }

    fn write_text(&mut self, json: &mut JsonWriter<'_>, value: &RawValue) {
        let text = text_of(value);
        if text.len() <= self.max_bytes {
            return json.raw(value.get().as_bytes());
        }
        json.text(&text[..floor(&text, self.max_bytes)]);
        self.truncated.push(TruncatedValue { path: pointer(&self.path), bytes: text.len() });
    }
}

/// Returns the JSON Pointer of the keys and positions in `path`.
fn pointer(path: &[String]) -> String {
    let parts = path.iter().map(|part| part.replace('~', "~0").replace('/', "~1"));
    parts.flat_map(|part| ["/".to_owned(), part]).collect()
}

/// Returns the value at a JSON Pointer.
fn value_at<'a>(json: &'a RawValue, pointer: &str) -> Option<&'a RawValue> {
    let parts = pointer.strip_prefix('/')?.split('/').map(|part| part.replace("~1", "/").replace("~0", "~"));
    let mut found = json;
    for part in parts {
        found = if found.get().starts_with('{') {
            members(found).into_iter().find(|(key, _)| *key == part)?.1
        } else {
            let is_number = part == "0" || !part.starts_with(['0', '+']);
            let position = part.parse::<usize>().ok().filter(|_| is_number)?;
            items(found).get(position).copied()?
        };
    }
    Some(found)
}

fn raw_of(span: &[u8]) -> &RawValue {
    serde_json::from_slice(span).expect("the JSON of a span is JSON")
}

fn members(object: &RawValue) -> Vec<(String, &RawValue)> {
    JsonObject::of(object.get()).map(JsonObject::into_members).unwrap_or_default()
}

fn items(array: &RawValue) -> Vec<&RawValue> {
    serde_json::from_str(array.get()).unwrap_or_default()
}

/// Returns the text of a value: a text unchanged, and any other value as JSON.
fn text_of(value: &RawValue) -> Cow<'_, str> {
    serde_json::from_str::<Text<'_>>(value.get()).map_or(Cow::Borrowed(value.get()), |text| text.0)
}

/// A text that is borrowed if its JSON has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Returns the character boundary at or before byte `at`.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
