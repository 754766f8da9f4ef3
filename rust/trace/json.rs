//! JSON written straight into a buffer, with commas where they belong.
//!
//! OTLP values become JSON so that nothing is lost: bytes are base64 text, and numbers JSON does
//! not know are the texts `NaN`, `Infinity` and `-Infinity`. OTLP forbids equal keys in one map,
//! but senders slip: such a key is written once, its value an array of all that was sent for it,
//! in order. Nesting is walked with an explicit stack.

use std::collections::HashMap;
use std::vec;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::otlp::proto::{AnyValue, KeyValue, any_value::Value};
use crate::time::write_instant;

/// A writer of JSON that remembers whether a comma is due.
pub(super) struct Json<'a> {
    out: &'a mut Vec<u8>,
    is_comma_due: bool,
}

impl<'a> Json<'a> {
    /// Returns a writer of one value at the end of `out`.
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, is_comma_due: false }
    }

    /// Returns a writer that goes on in an object which already has members.
    pub(super) fn resumed(out: &'a mut Vec<u8>) -> Self {
        Self { out, is_comma_due: true }
    }

    pub(super) fn begin_object(&mut self) {
        self.begin(b'{');
    }

    pub(super) fn end_object(&mut self) {
        self.end(b'}');
    }

    pub(super) fn begin_array(&mut self) {
        self.begin(b'[');
    }

    pub(super) fn end_array(&mut self) {
        self.end(b']');
    }

    /// Writes a member's key; its value is written next.
    pub(super) fn key(&mut self, key: &str) {
        self.text(key);
        self.out.push(b':');
        self.is_comma_due = false;
    }

    pub(super) fn text(&mut self, text: &str) {
        self.separate();
        serde_json::to_writer(&mut *self.out, text).expect("a text is JSON, and a buffer takes it");
    }

    /// Writes finished JSON.
    pub(super) fn finished(&mut self, json: &[u8]) {
        self.separate();
        self.out.extend_from_slice(json);
    }

    pub(super) fn text_member(&mut self, key: &str, text: &str) {
        self.key(key);
        self.text(text);
    }

    /// Writes a member only if it has a text.
    pub(super) fn optional_member(&mut self, key: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text_member(key, text);
        }
    }

    pub(super) fn whole_member(&mut self, key: &str, number: impl Into<i128>) {
        self.key(key);
        self.finished(number.into().to_string().as_bytes());
    }

    /// Writes a member only if its number is not zero.
    pub(super) fn counted_member(&mut self, key: &str, count: u32) {
        if count != 0 {
            self.whole_member(key, count);
        }
    }

    /// Writes a member that is an instant, `micros` since 1970.
    pub(super) fn instant_member(&mut self, key: &str, micros: i64) {
        let mut text = String::with_capacity(27);
        write_instant(&mut text, micros);
        self.text_member(key, &text);
    }

    /// Writes a member that is an object of `attributes`, only if there are any.
    pub(super) fn attributes_member<'v>(
        &mut self,
        key: &str,
        attributes: impl IntoIterator<Item = &'v KeyValue>,
    ) {
        let mut attributes = attributes.into_iter().peekable();
        if attributes.peek().is_some() {
            self.key(key);
            self.attributes(attributes);
        }
    }

    /// Writes `attributes` as an object.
    pub(super) fn attributes<'v>(&mut self, attributes: impl IntoIterator<Item = &'v KeyValue>) {
        self.begin_object();
        self.walk(Walk::Members(members(attributes).into_iter()));
    }

    /// Writes one OTLP value.
    pub(super) fn value(&mut self, value: &Value) {
        if let Some(inside) = self.begin_value(Some(value)) {
            self.walk(inside);
        }
    }

    /// Writes what is left inside a container, and its end.
    fn walk(&mut self, outermost: Walk<'_>) {
        let mut open = vec![outermost];
        while let Some(innermost) = open.last_mut() {
            let step = match innermost {
                Walk::Items(items) => items.next().map(|item| self.begin_value(item)),
                Walk::Members(members) => members.next().map(|member| self.begin_member(member)),
            };
            match (step, innermost) {
                (Some(inside), _) => open.extend(inside),
                (None, Walk::Items(_)) => {
                    self.end_array();
                    open.pop();
                }
                (None, Walk::Members(_)) => {
                    self.end_object();
                    open.pop();
                }
            }
        }
    }

    /// Writes a plain value; of a container writes the beginning and returns what is inside.
    fn begin_value<'v>(&mut self, value: Option<&'v Value>) -> Option<Walk<'v>> {
        match value {
            None => self.finished(b"null"),
            Some(Value::StringValue(text)) => self.text(text),
            Some(Value::BoolValue(truth)) => self.finished(truth.to_string().as_bytes()),
            Some(Value::IntValue(number)) => self.finished(number.to_string().as_bytes()),
            Some(Value::StringValueStrindex(index)) => self.finished(index.to_string().as_bytes()),
            Some(Value::DoubleValue(number)) => self.double(*number),
            Some(Value::BytesValue(bytes)) => self.text(&STANDARD.encode(bytes)),
            Some(Value::ArrayValue(array)) => {
                self.begin_array();
                let items: Vec<_> = array.values.iter().map(|item| item.value.as_ref()).collect();
                return Some(Walk::Items(items.into_iter()));
            }
            Some(Value::KvlistValue(map)) => {
                self.begin_object();
                return Some(Walk::Members(members(&map.values).into_iter()));
            }
        }
        None
    }

    fn begin_member<'v>(&mut self, member: Member<'v>) -> Option<Walk<'v>> {
        self.key(member.key);
        if let [value] = member.values.as_slice() {
            return self.begin_value(*value);
        }
        self.begin_array();
        Some(Walk::Items(member.values.into_iter()))
    }

    fn double(&mut self, number: f64) {
        if number.is_finite() {
            self.separate();
            serde_json::to_writer(&mut *self.out, &number).expect("a finite number is JSON");
        } else if number.is_nan() {
            self.text("NaN");
        } else {
            self.text(if number > 0.0 { "Infinity" } else { "-Infinity" });
        }
    }

    fn begin(&mut self, bracket: u8) {
        self.separate();
        self.out.push(bracket);
        self.is_comma_due = false;
    }

    fn end(&mut self, bracket: u8) {
        self.out.push(bracket);
        self.is_comma_due = true;
    }

    fn separate(&mut self) {
        if self.is_comma_due {
            self.out.push(b',');
        }
        self.is_comma_due = true;
    }
}

/// A container on the way: what is left of it.
enum Walk<'v> {
    Items(vec::IntoIter<Option<&'v Value>>),
    Members(vec::IntoIter<Member<'v>>),
}

/// A key with every value that was sent for it.
struct Member<'v> {
    key: &'v str,
    values: Vec<Option<&'v Value>>,
}

/// Returns the entries of a map by key, in order of first appearance.
fn members<'v>(entries: impl IntoIterator<Item = &'v KeyValue>) -> Vec<Member<'v>> {
    let mut members: Vec<Member<'v>> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for entry in entries {
        let value = entry.value.as_ref().and_then(|any: &AnyValue| any.value.as_ref());
        let place = *places.entry(&entry.key).or_insert(members.len());
        match members.get_mut(place) {
            Some(member) => member.values.push(value),
            None => members.push(Member { key: &entry.key, values: vec![value] }),
        }
    }
    members
}

/// Returns a value as text: a text as it is, anything else as its JSON.
pub(super) fn value_text(value: &Value) -> String {
    if let Value::StringValue(text) = value {
        return text.clone();
    }
    let mut json = Vec::new();
    Json::new(&mut json).value(value);
    String::from_utf8(json).expect("JSON is UTF-8")
}

/// Returns `text`, or `None` if it is empty.
pub(super) fn present(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}
