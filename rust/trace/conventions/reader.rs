//! Reads attributes of a span by meaning, without decoding the span.

use std::borrow::Cow;

use super::index::{AttributePart, AttributePositions};
use super::member::JsonObject;
use super::table::Attribute;
use crate::otlp::span_ref::{AttributeRef, ValueRef};

/// The instrumentation scope of agno's instrumentor. Its function spans have no agno attribute.
const AGNO_SCOPE: &[u8] = b"openinference.instrumentation.agno";

/// Reads the attributes of a span.
pub struct AttributeReader<'r, 'a> {
    pub(super) attributes: &'r [AttributeRef<'a>],
    pub(super) index: AttributePositions,
    /// The parsed JSON objects, by position; `None` if the value is not an object.
    objects: Vec<(usize, Option<JsonObject<'a>>)>,
}

impl<'r, 'a> AttributeReader<'r, 'a> {
    /// Returns a reader of `attributes`.
    pub fn of(attributes: &'r [AttributeRef<'a>]) -> Self {
        let presence = attributes.iter().map(|attribute| (attribute.key, has_value(attribute.value)));
        Self { attributes, index: AttributePositions::from_presence(presence), objects: Vec::new() }
    }

    /// Returns the value of `attribute` as text: numbers and booleans are formatted; other values have no
    /// text.
    pub fn text(&mut self, attribute: Attribute) -> Option<Cow<'a, str>> {
        let Self { attributes, index, objects } = self;
        index.sources(attribute).find_map(|source| {
            let text = text_of(attributes[source.position].value);
            match source.part {
                AttributePart::Whole => text,
                AttributePart::Member(path) => {
                    object_at(objects, source.position, &text?)?.text(path).map(Cow::Owned)
                }
                AttributePart::Sum(names) => {
                    let is_named = |key: &[u8]| names.iter().any(|name| name.as_bytes() == key);
                    let others = attributes.iter().filter(|other| is_named(other.key));
                    let others = others.filter_map(|other| text_of(other.value)).map(|text| count_of(&text));
                    Some(Cow::Owned(others.fold(count_of(&text?), u64::saturating_add).to_string()))
                }
            }
        })
    }

    /// Returns the size in bytes of the value that has `attribute`; `None` if it is missing or not a scalar.
    pub fn sent_bytes(&self, attribute: Attribute) -> Option<usize> {
        let source = self.index.sources(attribute).next()?;
        Some(text_of(self.attributes[source.position].value)?.len())
    }

    /// Returns the name and text of the first source of `attribute`, if that is a whole value.
    pub fn whole_text(&self, attribute: Attribute) -> Option<(&'a [u8], &'a str)> {
        let source = self
            .index
            .sources(attribute)
            .next()
            .filter(|source| matches!(source.part, AttributePart::Whole))?;
        let AttributeRef { key, value } = self.attributes[source.position];
        let ValueRef::Text(text) = value else { return None };
        Some((key, simdutf8::basic::from_utf8(text).ok()?))
    }

    /// Returns `true` if the span is from agno's instrumentor; `scope` is the name of its instrumentation
    /// scope.
    pub fn is_agno(&self, scope: &[u8]) -> bool {
        self.index.has_agno() || scope == AGNO_SCOPE
    }

    /// Returns `true` if `attribute` has a value.
    pub fn has(&self, attribute: Attribute) -> bool {
        self.index.sources(attribute).next().is_some()
    }

    /// Returns the value of `attribute` as an id; `None` for Logfire's placeholder of a scrubbed secret.
    pub(super) fn id(&mut self, attribute: Attribute) -> Option<Box<str>> {
        let text = self.text(attribute).filter(|text| !text.starts_with("[Scrubbed due to "));
        text.map(|text| text.as_ref().into())
    }

    /// Returns the value of `attribute` as a count: a non-negative number, truncated; otherwise zero.
    pub fn count(&mut self, attribute: Attribute) -> u64 {
        self.text(attribute).map_or(0, |text| count_of(&text))
    }
}

/// Returns the JSON object in `text`, the value at `position`. Each object is parsed once.
fn object_at<'a, 'o>(
    objects: &'o mut Vec<(usize, Option<JsonObject<'a>>)>,
    position: usize,
    text: &Cow<'a, str>,
) -> Option<&'o JsonObject<'a>> {
    let Cow::Borrowed(text) = *text else { return None };
    let known = objects.iter().position(|(of, _)| *of == position);
    let known = known.unwrap_or_else(|| {
        objects.push((position, JsonObject::of(text)));
        objects.len() - 1
    });
    objects[known].1.as_ref()
}

/// Returns `true` if there is a value; an empty text is no value.
fn has_value(value: ValueRef<'_>) -> bool {
    !matches!(value, ValueRef::Missing | ValueRef::Text(b""))
}

/// Returns a value as text: numbers and booleans are formatted; other values have no text.
pub(super) fn text_of(value: ValueRef<'_>) -> Option<Cow<'_, str>> {
    match value {
        ValueRef::Text(text) => simdutf8::basic::from_utf8(text).ok().map(Cow::Borrowed),
        ValueRef::Int(number) => Some(Cow::Owned(number.to_string())),
        ValueRef::Double(number) => Some(Cow::Owned(number.to_string())),
        ValueRef::Bool(truth) => Some(Cow::Owned(truth.to_string())),
        ValueRef::Other | ValueRef::Missing => None,
    }
}

/// Parses a count: a non-negative number, truncated; otherwise zero.
fn count_of(text: &str) -> u64 {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
    let truncated = || text.parse::<f64>().map_or(0, |number| number as u64);
    text.parse().unwrap_or_else(|_| truncated())
}
