//! The filter expression: plain data, comparable and printable as canonical JSON, with no execution in it.
//!
//! Printing uses one spelling for each shape: members in the order `op`, `key`, `value` or `values`, `ignore_case`;
//! `IN` with `values`; `NOT` with `condition`. Parsing the printed form gives the expression back.

use std::fmt;

use super::json::{Json, write_array, write_text};
use crate::schema::Operator;

/// A filter expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expr {
    /// Every condition holds; true if there are none.
    And(Vec<Expr>),
    /// At least one condition holds; false if there are none.
    Or(Vec<Expr>),
    /// The condition does not hold.
    Not(Box<Expr>),
    /// A condition on one field.
    Condition(Condition),
}

/// A comparison of one field with an operand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// The comparison.
    pub operator: Operator,
    /// The field's name, not yet resolved.
    pub key: String,
    /// What the field is compared with.
    pub operand: Operand,
    /// Whether case is ignored, if the source says so.
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
            operand: Operand::One(Json::Text(value.to_owned())),
            ignore_case: None,
        })
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
        }
        f.write_str("}")
    }
}

impl Condition {
    /// Writes the members, without the closing brace.
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
