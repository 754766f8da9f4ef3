//! The filter expression: plain data, comparable and printable as canonical JSON, without evaluation.
//!
//! The printed form has one spelling for each shape, and parsing it gives the expression back:
//!
//! - members have the order `op`, `key`, `value` or `values`, `ignore_case`,
//! - `IN` has `values`, and `NOT` has `condition`,
//! - `SPAN` and axes have `op`, `as`, the bounds or options, `where`.

use std::collections::BTreeSet;
use std::fmt;

use super::axis::{Axis, AxisOptions};
use super::json::{Json, write_array, write_text};
use crate::schema::Operator;

/// A filter expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expr {
    /// True if every condition is true; true for an empty list.
    And(Vec<Expr>),
    /// True if at least one condition is true; false for an empty list.
    Or(Vec<Expr>),
    /// The negation of a condition.
    Not(Box<Expr>),
    /// A condition on one field.
    Condition(Condition),
    /// `SPAN`: bounds on the number of spans for which a condition is true.
    Span(Box<SpanExpr>),
    /// Inside `SPAN`: a condition is true for a span on an axis.
    Axis(Box<AxisExpr>),
}

/// Bounds on the number of spans for which a condition is true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanExpr {
    /// The name of the spans in the response, if the source gives one.
    pub name: Option<String>,
    /// The minimum, if the source gives one; the default is 1.
    pub at_least: Option<u64>,
    /// The maximum, if the source gives one.
    pub at_most: Option<u64>,
    /// The condition, whose keys are fields of spans.
    pub condition: Expr,
}

/// A condition on a span that is related to the current one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AxisExpr {
    /// The relation.
    pub axis: Axis,
    /// The name of the span in the response, if the source gives one.
    pub name: Option<String>,
    /// The options of the axis.
    pub options: AxisOptions,
    /// `without`: a condition that is true for no span between the two.
    pub without: Option<Expr>,
    /// The condition on the related span.
    pub condition: Expr,
}

/// A comparison of one field with an operand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// The comparison.
    pub operator: Operator,
    /// The field's name, not yet resolved.
    pub key: String,
    /// The value or values to compare with.
    pub operand: Operand,
    /// `ignore_case`, if the source gives it.
    pub ignore_case: Option<bool>,
}

/// The operand of a comparison, not yet typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operand {
    /// No operand: `EXISTS`.
    Nothing,
    /// The member `value`.
    One(Json),
    /// The member `values`: `IN`.
    Several(Vec<Json>),
}

impl Expr {
    /// Returns `key EQ value`.
    pub(super) fn equal(key: &str, value: &str) -> Self {
        Self::Condition(Condition {
            operator: Operator::Eq,
            key: key.to_owned(),
            operand: Operand::One(Json::Text(value.into())),
            ignore_case: None,
        })
    }

    /// Returns the names of the trace fields in the expression, without the fields of spans inside `SPAN`.
    pub(super) fn keys(&self) -> BTreeSet<&str> {
        match self {
            Self::And(parts) | Self::Or(parts) => parts.iter().flat_map(Self::keys).collect(),
            Self::Not(part) => part.keys(),
            Self::Condition(condition) => BTreeSet::from([condition.key.as_str()]),
            Self::Span(_) | Self::Axis(_) => BTreeSet::new(),
        }
    }

    /// Returns the expression without the members of its outermost `AND` that are about `key`. An expression
    /// that is not an `AND` is its own only member. `None` if such a member is also about another field.
    pub(super) fn without(&self, key: &str) -> Option<Self> {
        let mut left = Vec::new();
        for member in self.members() {
            let keys = member.keys();
            if !keys.contains(key) {
                left.push(member.clone());
            } else if keys.len() > 1 {
                return None;
            }
        }
        Some(Self::And(left))
    }

    /// Returns the members of the outermost `AND` and of `AND`s nested directly in it.
    fn members(&self) -> Vec<&Self> {
        match self {
            Self::And(parts) => parts.iter().flat_map(Self::members).collect(),
            other => vec![other],
        }
    }
}

impl Expr {
    /// Returns the number of conditions, including conditions that contain others.
    pub(super) fn conditions(&self) -> usize {
        match self {
            Self::And(conditions) | Self::Or(conditions) => {
                1 + conditions.iter().map(Self::conditions).sum::<usize>()
            }
            Self::Not(condition) => 1 + condition.conditions(),
            Self::Condition(_) => 1,
            Self::Span(span) => 1 + span.condition.conditions(),
            Self::Axis(axis) => {
                1 + axis.condition.conditions() + axis.without.as_ref().map_or(0, Self::conditions)
            }
        }
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::And(conditions) | Self::Or(conditions) => {
                let word = if matches!(self, Self::And(_)) { "AND" } else { "OR" };
                write!(f, r#"{{"op":"{word}","conditions":"#)?;
                write_array(f, conditions)?;
            }
            Self::Not(condition) => write!(f, r#"{{"op":"NOT","condition":{condition}"#)?,
            Self::Condition(condition) => condition.fmt_members(f)?,
            Self::Span(span) => {
                f.write_str(r#"{"op":"SPAN"#)?;
                fmt_name(f, span.name.as_deref())?;
                for (key, bound) in [("at_least", span.at_least), ("at_most", span.at_most)] {
                    bound.map_or(Ok(()), |bound| write!(f, r#","{key}":{bound}"#))?;
                }
                write!(f, r#","where":{}"#, span.condition)?;
            }
            Self::Axis(axis) => {
                write!(f, r#"{{"op":"{}"#, axis.axis.word())?;
                fmt_name(f, axis.name.as_deref())?;
                write!(f, "{}", axis.options)?;
                axis.without.as_ref().map_or(Ok(()), |without| write!(f, r#","without":{without}"#))?;
                write!(f, r#","where":{}"#, axis.condition)?;
            }
        }
        f.write_str("}")
    }
}

/// Closes the text of `op`, and writes the member `as` if there is a name.
fn fmt_name(f: &mut fmt::Formatter<'_>, name: Option<&str>) -> fmt::Result {
    f.write_str("\"")?;
    let Some(name) = name else { return Ok(()) };
    f.write_str(r#","as":"#)?;
    write_text(f, name)
}

impl Condition {
    /// Writes the members without the closing brace.
    fn fmt_members(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, r#"{{"op":"{}","key":"#, self.operator.word())?;
        write_text(f, &self.key)?;
        match &self.operand {
            Operand::Nothing => {}
            Operand::One(value) => write!(f, r#","value":{value}"#)?,
            Operand::Several(values) => {
                f.write_str(r#","values":"#)?;
                write_array(f, values)?;
            }
        }
        match self.ignore_case {
            Some(ignore_case) => write!(f, r#","ignore_case":{ignore_case}"#),
            None => Ok(()),
        }
    }
}
