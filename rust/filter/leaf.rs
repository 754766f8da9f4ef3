//! Binds a condition on one field to a leaf: checks the operator and types the literals.

use std::sync::Arc;

use super::error::LocatedError;
use super::expr::{Condition, Operand};
use super::intervals::{IntervalSet, Point};
use super::json::{Json, excerpt};
use super::text::TextMatcher;
use crate::schema::{FieldType, Operator, STATUSES};
use crate::time::parse_instant;
use crate::trace::cost::NANOS_PER_DOLLAR;

/// A test of a field's value. `NEQ` has the leaf of `EQ`; the caller negates it.
#[derive(Debug, Clone)]
pub(super) enum Leaf {
    /// The value is not missing.
    Exists,
    /// The matcher matches the text.
    Text(TextMatcher),
    /// The number is in the set.
    Number(NumberSet),
    /// The instant, in nanoseconds since 1970, is in the set.
    Time(IntervalSet<i128>),
    /// The value equals this one.
    Boolean(bool),
}

/// A set of numbers, in the forms for integer columns and for floating-point columns.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NumberSet {
    pub(super) whole: IntervalSet<i128>,
    pub(super) floating: IntervalSet<f64>,
}

/// The name and type of a field, and whether its texts are lower-case ids.
#[derive(Debug, Clone, Copy)]
pub(super) struct FieldShape<'a> {
    pub(super) key: &'a str,
    pub(super) field_type: FieldType,
    pub(super) is_lower_case: bool,
}

pub(super) fn bind_leaf(field: FieldShape<'_>, condition: &Condition) -> Result<Leaf, LocatedError> {
    check_fits(field, condition)?;
    let operator = condition.operator;
    let literals = typed_operand(field, &condition.operand)?;
    Ok(leaf_of(operator, field.field_type, literals, condition.ignore_case))
}

fn leaf_of(
    operator: Operator,
    field_type: FieldType,
    literals: Vec<Literal>,
    ignore_case: Option<bool>,
) -> Leaf {
    match field_type {
        _ if operator == Operator::Exists => Leaf::Exists,
        FieldType::Text | FieldType::Status | FieldType::Content => {
            let ignore_case = ignore_case.unwrap_or(operator == Operator::Contains);
            let texts = literals.into_iter().filter_map(Literal::text).collect();
            Leaf::Text(TextMatcher::new(operator, texts, ignore_case))
        }
        FieldType::Number | FieldType::Dollars => {
            let whole: Vec<_> = literals.iter().filter_map(Literal::whole).collect();
            let floating: Vec<_> = literals.iter().filter_map(Literal::floating).collect();
            let whole = IntervalSet::of(operator, &whole);
            Leaf::Number(NumberSet { whole, floating: IntervalSet::of(operator, &floating) })
        }
        FieldType::Time => {
            let instants: Vec<_> = literals.iter().filter_map(Literal::whole).collect();
            Leaf::Time(IntervalSet::of(operator, &instants))
        }
        FieldType::Boolean => Leaf::Boolean(matches!(literals.as_slice(), [Literal::Truth(true)])),
    }
}

/// Checks that the field supports the operator, and `ignore_case` if it is given.
fn check_fits(field: FieldShape<'_>, condition: &Condition) -> Result<(), LocatedError> {
    let operators = field.field_type.operators();
    if !operators.contains(&condition.operator) {
        let known = joined_words(operators.iter().map(|operator| operator.word()));
        let word = condition.operator.word();
        let message = format!("field `{}` does not take `{word}`, expected one of {known}", field.key);
        return Err(LocatedError::new(message).in_member("op"));
    }
    let is_text = matches!(field.field_type, FieldType::Text | FieldType::Content);
    if condition.ignore_case.is_some() && !is_text {
        let message = format!("field `{}` is not text and does not take `ignore_case`", field.key);
        return Err(LocatedError::new(message).in_member("ignore_case"));
    }
    Ok(())
}

/// Returns words between backticks, separated by commas.
pub(super) fn joined_words<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn typed_operand(field: FieldShape<'_>, operand: &Operand) -> Result<Vec<Literal>, LocatedError> {
    each_value(operand, |value| typed(field, value))
}

/// Calls `read` with each value of an operand. An error has the path of its value.
pub(super) fn each_value<T>(
    operand: &Operand,
    read: impl Fn(&Json) -> Result<T, String>,
) -> Result<Vec<T>, LocatedError> {
    match operand {
        Operand::Nothing => Ok(Vec::new()),
        Operand::One(value) => read(value)
            .map(|read| vec![read])
            .map_err(|message| LocatedError::new(message).in_member("value")),
        Operand::Several(values) => {
            let read = values.iter().enumerate().map(|(index, value)| {
                read(value)
                    .map_err(|message| LocatedError::new(message).in_element(index).in_member("values"))
            });
            read.collect()
        }
    }
}

#[derive(Debug, Clone)]
enum Literal {
    Text(Arc<str>),
    Whole(i128),
    Floating(f64),
    Truth(bool),
}

/// Converts `value` to the field's type. This table is the whole policy; all other values are rejected.
///
/// | type | accepts | becomes |
/// |---|---|---|
/// | text | a string | itself; for `trace_id` in lower case |
/// | status | `OK`, `ERROR` in any case | upper case |
/// | number | a number | itself, exactly |
/// | dollars | a number | nanodollars |
/// | boolean | `true`, `false` | itself |
/// | time | a string, ISO 8601 | nanoseconds since 1970 |
fn typed(field: FieldShape<'_>, value: &Json) -> Result<Literal, String> {
    let expected = match field.field_type {
        FieldType::Text | FieldType::Content => "a string",
        FieldType::Status => "`OK` or `ERROR`",
        FieldType::Number | FieldType::Dollars => "a number",
        FieldType::Time => "an ISO 8601 time",
        FieldType::Boolean => "a boolean",
    };
    let literal = match (field.field_type, value) {
        (FieldType::Text, Json::Text(text)) if field.is_lower_case => {
            Some(Literal::Text(in_lower_case(text)))
        }
        (FieldType::Text | FieldType::Content, Json::Text(text)) => Some(Literal::Text(text.clone())),
        (FieldType::Boolean, Json::Boolean(truth)) => Some(Literal::Truth(*truth)),
        (FieldType::Status, Json::Text(text)) => {
            let status = STATUSES.iter().find(|status| status.eq_ignore_ascii_case(text));
            status.map(|status| Literal::Text((*status).into()))
        }
        (FieldType::Number, Json::Number(number)) => {
            number.as_i128().map(Literal::Whole).or_else(|| number.as_f64().map(Literal::Floating))
        }
        (FieldType::Dollars, Json::Number(number)) => {
            let whole = number.as_i128().and_then(|dollars| dollars.checked_mul(NANOS_PER_DOLLAR.into()));
            whole.map(Literal::Whole).or_else(|| number.as_f64().map(nanodollars))
        }
        (FieldType::Time, Json::Text(text)) => parse_instant(text).map(Literal::Whole),
        _ => return Err(format!("expected {expected}, got {}", value.described())),
    };
    literal.ok_or_else(|| match value {
        Json::Text(text) => format!("expected {expected}, got `{}`", excerpt(text)),
        other => format!("expected {expected}, got {}", other.described()),
    })
}

/// Returns a text with its ASCII letters in lower case. The text is shared if it already is.
fn in_lower_case(text: &Arc<str>) -> Arc<str> {
    let has_upper_case = text.bytes().any(|byte| byte.is_ascii_uppercase());
    if has_upper_case { text.to_ascii_lowercase().into() } else { text.clone() }
}

/// Converts dollars to nanodollars. The result is an integer if that integer is printed as `dollars`.
fn nanodollars(dollars: f64) -> Literal {
    #[allow(clippy::cast_precision_loss, reason = "it is a power of ten that a double has")]
    let per_dollar = NANOS_PER_DOLLAR as f64;
    let nearest = (dollars * per_dollar).round();
    #[allow(clippy::float_cmp, reason = "it is the double that the printed amount is read as")]
    let is_printed = nearest / per_dollar == dollars;
    Literal::Floating(if is_printed { nearest } else { dollars * per_dollar })
}

impl Literal {
    fn text(self) -> Option<Arc<str>> {
        let Self::Text(text) = self else { return None };
        Some(text)
    }

    /// Returns this number in the form for integer columns.
    fn whole(&self) -> Option<Point<i128>> {
        match self {
            Self::Text(_) | Self::Truth(_) => None,
            Self::Whole(number) => Some(Point::exactly(*number)),
            #[allow(
                clippy::cast_possible_truncation,
                reason = "saturates, far outside the range of any column"
            )]
            Self::Floating(number) => {
                Some(Point { floor: number.floor() as i128, ceil: number.ceil() as i128 })
            }
        }
    }

    /// Returns this number in the form for floating-point columns.
    fn floating(&self) -> Option<Point<f64>> {
        match self {
            Self::Text(_) | Self::Truth(_) => None,
            Self::Floating(number) => Some(Point::exactly(*number)),
            #[allow(
                clippy::cast_precision_loss,
                clippy::cast_possible_truncation,
                reason = "corrected below"
            )]
            Self::Whole(number) => {
                let nearest = *number as f64;
                let back = nearest as i128;
                let floor = if back > *number { nearest.next_down() } else { nearest };
                let ceil = if back < *number { nearest.next_up() } else { nearest };
                Some(Point { floor, ceil })
            }
        }
    }
}
