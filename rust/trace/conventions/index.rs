//! Finds the attributes of a span by meaning.

use std::borrow::Cow;

use super::by_name::{Use, conventions};
use super::member::JsonObject;
use super::table::{Attribute, TABLE};
use super::types::ANY;
use crate::otlp::proto::{AnyValue, KeyValue, any_value::Value};

/// The positions of a span's attributes in its attribute list.
#[derive(Debug, Clone)]
pub struct AttributePositions {
    /// For each attribute, the rank of its name in the table and its position in the list.
    positions: [Option<(u16, usize)>; TABLE.len()],
    /// The attributes that require reading a value: attribute, rank, position in the list, part.
    parts: Vec<(Attribute, u16, usize, AttributePart)>,
    /// The attributes that may determine the type: rank, position in the list.
    types: Vec<(u16, usize)>,
    /// True if an attribute belongs to agno.
    has_agno: bool,
}

/// The source of an attribute.
#[derive(Debug, Clone, Copy)]
pub(super) struct AttributeSource {
    /// The position in the list.
    pub(super) position: usize,
    /// The part of the value.
    pub(super) part: AttributePart,
}

/// The part of a value that is an attribute.
#[derive(Debug, Clone, Copy)]
pub(super) enum AttributePart {
    /// The whole value.
    Whole,
    /// The member with this path in the JSON object.
    Member(&'static str),
    /// The sum of the value and the attributes with these names.
    Sum(&'static [Box<str>]),
}

impl AttributePositions {
    /// Indexes `attributes`.
    pub fn of(attributes: &[KeyValue]) -> Self {
        Self::from_presence(
            attributes.iter().map(|attribute| (attribute.key.as_bytes(), is_present(attribute))),
        )
    }

    /// Indexes attributes by their keys; the `bool` is true if the attribute has a value.
    pub(super) fn from_presence<'a>(attributes: impl Iterator<Item = (&'a [u8], bool)>) -> Self {
        let conventions = conventions();
        let mut index =
            Self { positions: [None; TABLE.len()], parts: Vec::new(), types: Vec::new(), has_agno: false };
        for (position, (key, is_present)) in attributes.enumerate() {
            index.has_agno |= key.starts_with(b"agno.");
            let Some(uses) = conventions.by_name.get(key) else { continue };
            if is_present {
                for of_name in uses {
                    index.add(of_name, position);
                }
            }
        }
        index.parts.sort_by_key(|(_, rank, ..)| *rank);
        index.types.sort_unstable();
        index
    }

    fn add(&mut self, of_name: &'static Use, position: usize) {
        match of_name {
            Use::Whole { attribute, rank } => {
                let best = &mut self.positions[*attribute as usize];
                if best.is_none_or(|(present, _)| *rank < present) {
                    *best = Some((*rank, position));
                }
            }
            Use::Member { attribute, rank, path } => {
                self.parts.push((*attribute, *rank, position, AttributePart::Member(path)));
            }
            Use::Sum { attribute, rank, others } => {
                self.parts.push((*attribute, *rank, position, AttributePart::Sum(others)));
            }
            Use::Type { rank } => self.types.push((*rank, position)),
        }
    }

    /// Returns `true` if an attribute starts with `agno.`.
    pub(super) fn has_agno(&self) -> bool {
        self.has_agno
    }

    /// Returns the list position of the attribute whose whole value is `attribute`.
    pub fn position(&self, attribute: Attribute) -> Option<usize> {
        self.positions[attribute as usize].map(|(_, position)| position)
    }

    /// Returns the possible sources of `attribute`, in order of precedence. A member may be missing.
    pub(super) fn sources(&self, attribute: Attribute) -> impl Iterator<Item = AttributeSource> {
        let whole = self.positions[attribute as usize];
        let parts = self.parts.iter().filter(move |(of, ..)| *of == attribute);
        let is_before = move |rank: u16| whole.is_none_or(|(of_whole, _)| rank < of_whole);
        let parts = parts
            .take_while(move |(_, rank, ..)| is_before(*rank))
            .map(|(_, _, position, part)| AttributeSource { position: *position, part: *part });
        // Parts after the whole value are never reached, because the whole value exists.
        parts.chain(whole.map(|(_, position)| AttributeSource { position, part: AttributePart::Whole }))
    }

    /// Returns the type word of the span and the name of its line, from the first line that determines a
    /// type. `value` returns the text at a position of the list.
    pub(super) fn type_word<'a>(
        &self,
        value: impl Fn(usize) -> Option<Cow<'a, str>>,
    ) -> Option<(Cow<'a, str>, &'static str)> {
        self.types.iter().find_map(|(rank, position)| {
            let value = value(*position)?;
            let rule = &conventions().types[usize::from(*rank)];
            let (_, word) = rule.types.iter().find(|(of, _)| **of == *ANY || **of == value)?;
            Some((if **word == *ANY { value } else { Cow::Borrowed(&**word) }, &*rule.name))
        })
    }

    /// Returns the value of `attribute` and its position. A member of a JSON object has no position.
    /// `attributes` must be the indexed list.
    pub fn find<'a>(
        &self,
        attributes: &'a [KeyValue],
        attribute: Attribute,
    ) -> Option<(Option<usize>, Cow<'a, Value>)> {
        self.sources(attribute).find_map(|source| {
            let value = attributes[source.position].value.as_ref()?.value.as_ref()?;
            match source.part {
                AttributePart::Whole => Some((Some(source.position), Cow::Borrowed(value))),
                AttributePart::Member(path) => {
                    let Value::StringValue(text) = value else { return None };
                    Some((None, Cow::Owned(JsonObject::of(text)?.value(path)?)))
                }
                AttributePart::Sum(others) => {
                    let is_named = |key: &str| others.iter().any(|other| **other == *key);
                    let others = attributes.iter().filter(|other| is_named(&other.key));
                    let others = others.filter_map(|other| other.value.as_ref()?.value.as_ref());
                    let sum = others.map(whole_number).fold(whole_number(value), i64::saturating_add);
                    Some((None, Cow::Owned(Value::IntValue(sum))))
                }
            }
        })
    }

    /// Returns the value of `attribute`; `attributes` must be the indexed list.
    pub fn value<'a>(&self, attributes: &'a [KeyValue], attribute: Attribute) -> Option<Cow<'a, Value>> {
        self.find(attributes, attribute).map(|(_, value)| value)
    }

    /// Returns the value of `attribute` as text: numbers and booleans are formatted; other values have no
    /// text.
    pub fn text<'a>(&self, attributes: &'a [KeyValue], attribute: Attribute) -> Option<Cow<'a, str>> {
        match self.value(attributes, attribute)? {
            Cow::Borrowed(Value::StringValue(text)) => Some(Cow::Borrowed(text)),
            Cow::Owned(Value::StringValue(text)) => Some(Cow::Owned(text)),
            value => match value.as_ref() {
                Value::IntValue(number) => Some(Cow::Owned(number.to_string())),
                Value::DoubleValue(number) => Some(Cow::Owned(number.to_string())),
                Value::BoolValue(truth) => Some(Cow::Owned(truth.to_string())),
                _ => None,
            },
        }
    }
}

fn whole_number(value: &Value) -> i64 {
    if let Value::IntValue(number) = value { *number } else { 0 }
}

/// Returns `true` if an attribute has a value; an empty text is no value.
fn is_present(attribute: &KeyValue) -> bool {
    match &attribute.value {
        Some(AnyValue { value: Some(Value::StringValue(text)) }) => !text.is_empty(),
        Some(AnyValue { value }) => value.is_some(),
        None => false,
    }
}
