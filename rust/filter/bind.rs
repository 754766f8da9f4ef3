//! Binds an expression to a predicate: resolves fields, checks operators, types literals.

use super::error::LocatedError;
use super::expr::{Condition, Expr, Operand};
use super::intervals::{IntervalSet, Point};
use super::json::{Json, excerpt};
use super::predicate::{NumberSet, Predicate};
use super::text::TextMatcher;
use crate::schema::{FIELDS, Field, FieldType, Operator, STATUSES};
use crate::time::parse_instant;

/// Returns the predicate for `expr`.
pub(super) fn bind(expr: &Expr) -> Result<Predicate, LocatedError> {
    match expr {
        Expr::And(conditions) => bind_all(conditions).map(Predicate::And),
        Expr::Or(conditions) => bind_all(conditions).map(Predicate::Or),
        Expr::Not(condition) => {
            let part = bind(condition).map_err(|error| error.in_member("condition"))?;
            Ok(Predicate::Not(Box::new(part)))
        }
        Expr::Condition(condition) => bind_condition(condition),
    }
}

fn bind_all(conditions: &[Expr]) -> Result<Vec<Predicate>, LocatedError> {
    let bound = conditions.iter().enumerate().map(|(index, condition)| {
        bind(condition).map_err(|error| error.in_element(index).in_member("conditions"))
    });
    bound.collect()
}

fn bind_condition(condition: &Condition) -> Result<Predicate, LocatedError> {
    let operator = condition.operator;
    let field = look_up(&condition.key)?;
    check_fits(field, condition)?;
    let literals = typed_operand(field, &condition.operand)?;
    let leaf = match field.field_type() {
        _ if operator == Operator::Exists => Predicate::Exists(field),
        FieldType::Text | FieldType::Status => {
            let ignore_case = condition.ignore_case.unwrap_or(operator == Operator::Contains);
            let texts = literals.into_iter().filter_map(Literal::text).collect();
            Predicate::Text(field, TextMatcher::new(operator, texts, ignore_case))
        }
        FieldType::Number => {
            let whole: Vec<_> = literals.iter().filter_map(Literal::whole).collect();
            let floating: Vec<_> = literals.iter().filter_map(Literal::floating).collect();
            let whole = IntervalSet::of(operator, &whole);
            Predicate::Number(field, NumberSet { whole, floating: IntervalSet::of(operator, &floating) })
        }
        FieldType::Time => {
            let instants: Vec<_> = literals.iter().filter_map(Literal::whole).collect();
            Predicate::Time(field, IntervalSet::of(operator, &instants))
        }
    };
    Ok(if operator == Operator::Neq { Predicate::Not(Box::new(leaf)) } else { leaf })
}

fn look_up(key: &str) -> Result<Field, LocatedError> {
    Field::from_key(key).ok_or_else(|| {
        let known = joined_words(FIELDS.iter().map(|info| info.key));
        LocatedError::new(format!("unknown field `{}`, expected one of {known}", excerpt(key)))
            .in_member("key")
    })
}

/// Checks that the field supports the operator, and `ignore_case` if it is given.
fn check_fits(field: Field, condition: &Condition) -> Result<(), LocatedError> {
    let operators = field.field_type().operators();
    if !operators.contains(&condition.operator) {
        let known = joined_words(operators.iter().map(|operator| operator.word()));
        let word = condition.operator.word();
        let message = format!("field `{}` does not take `{word}`, expected one of {known}", field.key());
        return Err(LocatedError::new(message).in_member("op"));
    }
    if condition.ignore_case.is_some() && field.field_type() != FieldType::Text {
        let message = format!("field `{}` is not text and does not take `ignore_case`", field.key());
        return Err(LocatedError::new(message).in_member("ignore_case"));
    }
    Ok(())
}

fn joined_words<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn typed_operand(field: Field, operand: &Operand) -> Result<Vec<Literal>, LocatedError> {
    match operand {
        Operand::Nothing => Ok(Vec::new()),
        Operand::One(value) => {
            let literal =
                typed(field, value).map_err(|message| LocatedError::new(message).in_member("value"))?;
            Ok(vec![literal])
        }
        Operand::Several(values) => {
            let literals = values.iter().enumerate().map(|(index, value)| {
                typed(field, value)
                    .map_err(|message| LocatedError::new(message).in_element(index).in_member("values"))
            });
            literals.collect()
        }
    }
}

/// A value of its field's type.
#[derive(Debug, Clone)]
enum Literal {
    Text(String),
    Whole(i128),
    Floating(f64),
}

/// Returns `value` as a value of the field's type. This table is the whole policy; anything else is rejected.
///
/// | kind | takes | becomes |
/// |---|---|---|
/// | text | a string | itself; for `trace_id` in lower case |
/// | status | `OK`, `ERROR` in any case | upper case |
/// | number | a number | itself, exactly |
/// | time | a string, ISO 8601 | nanoseconds since 1970 |
fn typed(field: Field, value: &Json) -> Result<Literal, String> {
    let expected = match field.field_type() {
        FieldType::Text => "a string",
        FieldType::Status => "`OK` or `ERROR`",
        FieldType::Number => "a number",
        FieldType::Time => "an ISO 8601 time",
    };
    let literal = match (field.field_type(), value) {
        (FieldType::Text, Json::Text(text)) if field == Field::TraceId => {
            Some(Literal::Text(text.to_ascii_lowercase()))
        }
        (FieldType::Text, Json::Text(text)) => Some(Literal::Text(text.clone())),
        (FieldType::Status, Json::Text(text)) => {
            let status = STATUSES.iter().find(|status| status.eq_ignore_ascii_case(text));
            status.map(|status| Literal::Text((*status).to_owned()))
        }
        (FieldType::Number, Json::Number(number)) => {
            number.as_i128().map(Literal::Whole).or_else(|| number.as_f64().map(Literal::Floating))
        }
        (FieldType::Time, Json::Text(text)) => parse_instant(text).map(Literal::Whole),
        _ => return Err(format!("expected {expected}, got {}", value.described())),
    };
    literal.ok_or_else(|| match value {
        Json::Text(text) => format!("expected {expected}, got `{}`", excerpt(text)),
        other => format!("expected {expected}, got {}", other.described()),
    })
}

impl Literal {
    fn text(self) -> Option<String> {
        let Self::Text(text) = self else { return None };
        Some(text)
    }

    /// Returns this number as integer columns compare with it.
    fn whole(&self) -> Option<Point<i128>> {
        match self {
            Self::Text(_) => None,
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

    /// Returns this number as floating-point columns compare with it.
    fn floating(&self) -> Option<Point<f64>> {
        match self {
            Self::Text(_) => None,
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
