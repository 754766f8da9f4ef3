//! Conditions on attributes by name, typed by the compared value.
//!
//! A text compares with texts, a number with numbers, a boolean with booleans. A comparison of values of two
//! types is unknown, like a comparison with a missing value. A list, a map or bytes exists but equals no
//! value.

use std::borrow::Cow;

use super::truth::Truth;
use crate::filter::error::LocatedError;
use crate::filter::expr::Condition;
use crate::filter::expr::Operand;
use crate::filter::json::{Json, excerpt};
use crate::filter::leaf::{FieldShape, Leaf, bind_leaf, each_value};
use crate::index::attributes::{AttributeIndex, IS_FALSE, IS_OPEN, IS_TRUE, MarkedAttribute, StoredValue};
use crate::otlp::span_ref::ValueRef;
use crate::schema::{FieldType, Operator};
use crate::trace::view::AttributeScope;

/// Maximum length of a key, in bytes.
const MAX_KEY_BYTES: usize = 1_024;

/// A condition on an attribute.
#[derive(Debug, Clone)]
pub(in crate::filter) struct AttributeTest {
    pub(super) scope: AttributeScope,
    pub(super) key: String,
    /// `None` for `EXISTS`; otherwise one leaf for each type of compared value.
    tests: Option<Vec<Leaf>>,
}

impl AttributeTest {
    /// Returns the test if the key has the prefix of an attribute; otherwise `None`. `NEQ` becomes `EQ`; the
    /// caller negates it.
    pub(super) fn bind(condition: &Condition) -> Option<Result<Self, LocatedError>> {
        let (scope, key) = match condition.key.split_once('.')? {
            ("attributes", key) => (AttributeScope::Span, key),
            ("resource", key) => (AttributeScope::Resource, key),
            _ => return None,
        };
        Some(Self::of(scope, key, condition))
    }

    fn of(scope: AttributeScope, key: &str, condition: &Condition) -> Result<Self, LocatedError> {
        if key.is_empty() || key.len() > MAX_KEY_BYTES {
            let found = excerpt(&condition.key);
            let message =
                format!("expected the name of an attribute of 1 to {MAX_KEY_BYTES} bytes, got `{found}`");
            return Err(LocatedError::new(message).in_member("key"));
        }
        let key = key.to_owned();
        if condition.operator == Operator::Exists {
            return Ok(Self { scope, key, tests: None });
        }
        let types = each_value(&condition.operand, |value| type_of(value, condition.operator))?;
        if condition.ignore_case.is_some() && !types.contains(&FieldType::Text) {
            let message = format!("field `{}` is not text and does not take `ignore_case`", condition.key);
            return Err(LocatedError::new(message).in_member("ignore_case"));
        }
        let mut tests = Vec::new();
        for field_type in [FieldType::Text, FieldType::Number, FieldType::Boolean] {
            if types.contains(&field_type) {
                let shape = FieldShape { key: &condition.key, field_type, is_lower_case: false };
                tests.push(bind_leaf(shape, &of_type(condition, &types, field_type))?);
            }
        }
        Ok(Self { scope, key, tests: Some(tests) })
    }

    /// Returns the result for each span from an index; `None` if such keys are not indexed.
    pub(super) fn marked<'i>(&self, index: &'i AttributeIndex) -> Option<MarkedAttribute<'i>> {
        let of_truth = |truth| match truth {
            Truth::True => IS_TRUE,
            Truth::False => IS_FALSE,
            Truth::Unknown => 0,
        };
        let has_texts = |tests: &Vec<Leaf>| tests.iter().any(|leaf| matches!(leaf, Leaf::Text(_)));
        let of_value = |value: StoredValue<'_>| match value {
            StoredValue::Known(value) => of_truth(self.truth(value)),
            StoredValue::LongText => match &self.tests {
                None => IS_TRUE,
                Some(tests) => {
                    if has_texts(tests) {
                        IS_OPEN
                    } else {
                        0
                    }
                }
            },
        };
        let known = index.attribute(self.scope, &self.key)?;
        Some(known.marked(of_value, of_truth(self.truth(ValueRef::Missing))))
    }

    /// Returns the truth of the test for a value.
    pub(super) fn truth(&self, value: ValueRef<'_>) -> Truth {
        let Some(tests) = &self.tests else { return Truth::of(value != ValueRef::Missing) };
        let fitting = tests.iter().find_map(|leaf| holds(leaf, value));
        fitting.map_or(Truth::Unknown, Truth::of)
    }
}

/// Returns the result of a leaf for a value; `None` if the value is of another type.
fn holds(leaf: &Leaf, value: ValueRef<'_>) -> Option<bool> {
    match (leaf, value) {
        (Leaf::Text(matcher), ValueRef::Text(text)) => {
            let text: Cow<'_, str> = String::from_utf8_lossy(text);
            Some(matcher.matches(&text, &mut String::new()))
        }
        (Leaf::Number(numbers), ValueRef::Int(number)) => Some(numbers.whole.contains(number.into())),
        (Leaf::Number(numbers), ValueRef::Double(number)) if !number.is_nan() => {
            Some(numbers.floating.contains(number))
        }
        (Leaf::Boolean(wanted), ValueRef::Bool(truth)) => Some(truth == *wanted),
        _ => None,
    }
}

fn type_of(value: &Json, operator: Operator) -> Result<FieldType, String> {
    let is_pattern = matches!(operator, Operator::Contains | Operator::StartsWith);
    match value {
        Json::Text(_) => Ok(FieldType::Text),
        Json::Number(_) if !is_pattern => Ok(FieldType::Number),
        Json::Boolean(_) if matches!(operator, Operator::Eq | Operator::Neq) => Ok(FieldType::Boolean),
        other if is_pattern => Err(format!("expected a string, got {}", other.described())),
        other => Err(format!("expected a string, a number or a boolean, got {}", other.described())),
    }
}

/// Returns the condition with only the values of type `wanted`. `ignore_case` only applies to texts.
fn of_type(condition: &Condition, types: &[FieldType], wanted: FieldType) -> Condition {
    let operand = match &condition.operand {
        Operand::Several(values) => {
            let own = values.iter().zip(types).filter(|(_, own)| **own == wanted);
            Operand::Several(own.map(|(value, _)| value.clone()).collect())
        }
        other => other.clone(),
    };
    let ignore_case = condition.ignore_case.filter(|_| wanted == FieldType::Text);
    Condition { operand, ignore_case, ..condition.clone() }
}
