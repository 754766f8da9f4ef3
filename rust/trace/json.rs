//! A JSON writer that appends to a byte buffer.
//!
//! OTLP values are converted without loss. Bytes become base64 text. Numbers that JSON cannot express become
//! the texts `NaN`, `Infinity` and `-Infinity`. OTLP forbids repeated keys in a map, but some senders repeat
//! them. A repeated key is written once, with an array of all its values in order. Nesting is handled with an
//! explicit stack.

use std::borrow::Cow;
use std::vec;

use ahash::HashMap;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use crate::otlp::proto::{AnyValue, KeyValue, any_value::Value};
use crate::time::write_instant;
use crate::trace::cost::{CostShare, TraceCost, format_dollars};

/// Writes JSON and keeps track of commas.
pub(super) struct JsonWriter<'a> {
    out: &'a mut Vec<u8>,
    is_comma_due: bool,
}

impl<'a> JsonWriter<'a> {
    /// Returns a writer that appends one value to `out`.
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, is_comma_due: false }
    }

    /// Returns a writer that continues an object which already has members.
    pub(super) fn in_object(out: &'a mut Vec<u8>) -> Self {
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

    /// Writes the key of a member. The value must be written next.
    pub(super) fn key(&mut self, key: &str) {
        self.text(key);
        self.out.push(b':');
        self.is_comma_due = false;
    }

    pub(super) fn text(&mut self, text: &str) {
        self.separate();
        serde_json::to_writer(&mut *self.out, text).expect("a text is JSON, and a buffer takes it");
    }

    /// Writes JSON text unchanged.
    pub(super) fn raw(&mut self, json: &[u8]) {
        self.separate();
        self.out.extend_from_slice(json);
    }

    /// Writes a value like serde does.
    pub(super) fn serialized(&mut self, value: &impl Serialize) {
        self.separate();
        serde_json::to_writer(&mut *self.out, value)
            .expect("columns and texts are JSON, and a buffer takes them");
    }

    pub(super) fn text_member(&mut self, key: &str, text: &str) {
        self.key(key);
        self.text(text);
    }

    /// Writes a text member, if there is a text.
    pub(super) fn optional_member(&mut self, key: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text_member(key, text);
        }
    }

    pub(super) fn whole_member(&mut self, key: &str, number: impl Into<i128>) {
        self.key(key);
        self.raw(number.into().to_string().as_bytes());
    }

    /// Writes nanodollars as a member in dollars.
    pub(super) fn dollars_member(&mut self, key: &str, nanodollars: u64) {
        self.key(key);
        self.raw(format_dollars(nanodollars.into()).as_bytes());
    }

    /// Writes the cost of a trace as `cost`, or as `cost_partial` if a part is unknown.
    pub(super) fn cost_member(&mut self, cost: TraceCost) {
        match cost {
            TraceCost::Whole(cost) => self.dollars_member("cost", cost),
            TraceCost::Partial(known) => self.dollars_member("cost_partial", known),
        }
    }

    /// Writes the contribution of a span to the cost of its trace, unless it is not a call that counts.
    pub(super) fn cost_share_members(&mut self, share: CostShare) {
        let (cost, source) = match share {
            CostShare::Nothing => return,
            CostShare::Reported(cost) => (Some(cost), "reported"),
            CostShare::Computed(cost) => (Some(cost), "computed"),
            CostShare::Covered => (None, "covered"),
            CostShare::Unpriced => (None, "unpriced"),
        };
        if let Some(cost) = cost {
            self.dollars_member("cost", cost);
        }
        self.text_member("cost_source", source);
    }

    /// Writes an integer member unless it is zero.
    pub(super) fn counted_member(&mut self, key: &str, count: u32) {
        if count != 0 {
            self.whole_member(key, count);
        }
    }

    /// Writes an instant member; `micros` since 1970.
    pub(super) fn instant_member(&mut self, key: &str, micros: i64) {
        let mut text = String::with_capacity(27);
        write_instant(&mut text, micros);
        self.text_member(key, &text);
    }

    /// Writes a member with `attributes` as an object, if there are any.
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
        self.walk(OpenContainer::Members(map_entries(attributes).into_iter()));
    }

    /// Writes one OTLP value.
    pub(super) fn value(&mut self, value: &Value) {
        if let Some(inside) = self.begin_value(Some(value)) {
            self.walk(inside);
        }
    }

    /// Writes the rest of a container and its end.
    fn walk(&mut self, outermost: OpenContainer<'_>) {
        let mut open = vec![outermost];
        while let Some(innermost) = open.last_mut() {
            let step = match innermost {
                OpenContainer::Items(items) => items.next().map(|item| self.begin_value(item)),
                OpenContainer::Members(entries) => entries.next().map(|entry| self.begin_member(entry)),
            };
            match (step, innermost) {
                (Some(inside), _) => open.extend(inside),
                (None, OpenContainer::Items(_)) => {
                    self.end_array();
                    open.pop();
                }
                (None, OpenContainer::Members(_)) => {
                    self.end_object();
                    open.pop();
                }
            }
        }
    }

    /// Writes a scalar. For a container, writes its start and returns its content.
    fn begin_value<'v>(&mut self, value: Option<&'v Value>) -> Option<OpenContainer<'v>> {
        match value {
            None => self.raw(b"null"),
            Some(Value::StringValue(text)) => self.text(text),
            Some(Value::BoolValue(truth)) => self.raw(truth.to_string().as_bytes()),
            Some(Value::IntValue(number)) => self.raw(number.to_string().as_bytes()),
            Some(Value::StringValueStrindex(index)) => self.raw(index.to_string().as_bytes()),
            Some(Value::DoubleValue(number)) => self.double(*number),
            Some(Value::BytesValue(bytes)) => self.text(&STANDARD.encode(bytes)),
            Some(Value::ArrayValue(array)) => {
                self.begin_array();
                let items: Vec<_> = array.values.iter().map(|item| item.value.as_ref()).collect();
                return Some(OpenContainer::Items(items.into_iter()));
            }
            Some(Value::KvlistValue(map)) => {
                self.begin_object();
                return Some(OpenContainer::Members(map_entries(&map.values).into_iter()));
            }
        }
        None
    }

    fn begin_member<'v>(&mut self, entry: MapEntry<'v>) -> Option<OpenContainer<'v>> {
        self.key(entry.key);
        if entry.others.is_empty() {
            return self.begin_value(entry.value);
        }
        self.begin_array();
        let values: Vec<_> = [entry.value].into_iter().chain(entry.others).collect();
        Some(OpenContainer::Items(values.into_iter()))
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

/// A container being written: its remaining items.
enum OpenContainer<'v> {
    Items(vec::IntoIter<Option<&'v Value>>),
    Members(vec::IntoIter<MapEntry<'v>>),
}

/// A key with all its values.
struct MapEntry<'v> {
    key: &'v str,
    value: Option<&'v Value>,
    /// The repeated values of the key.
    others: Vec<Option<&'v Value>>,
}

/// Comparing a key with up to this many others is faster than hashing it.
const MAX_COMPARED: usize = 16;

/// Returns the entries of a map by key, in order of first appearance.
fn map_entries<'v>(entries: impl IntoIterator<Item = &'v KeyValue>) -> Vec<MapEntry<'v>> {
    let mut merged: Vec<MapEntry<'v>> = Vec::new();
    let mut indexes: HashMap<&str, usize> = HashMap::default();
    for KeyValue { key, value, .. } in entries {
        let value = value.as_ref().and_then(|any: &AnyValue| any.value.as_ref());
        let known = if merged.len() <= MAX_COMPARED {
            merged.iter().position(|entry| entry.key == key)
        } else {
            indexes.extend((indexes.len()..merged.len()).map(|index| (merged[index].key, index)));
            indexes.get(key.as_str()).copied()
        };
        match known {
            Some(index) => merged[index].others.push(value),
            None => merged.push(MapEntry { key, value, others: Vec::new() }),
        }
    }
    merged
}

/// Returns a value as text: a string unchanged, any other value as JSON.
pub(super) fn value_text(value: &Value) -> Cow<'_, str> {
    if let Value::StringValue(text) = value {
        return Cow::Borrowed(text);
    }
    let mut json = Vec::new();
    JsonWriter::new(&mut json).value(value);
    Cow::Owned(String::from_utf8(json).expect("JSON is UTF-8"))
}

/// Returns `text`, or `None` if it is empty.
pub(super) fn present(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

/// The length of a preview in characters.
const PREVIEW_CHARACTERS: usize = 200;

/// Returns the first 200 characters of a text, with `…` for the rest.
pub(super) fn preview(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(PREVIEW_CHARACTERS) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}
