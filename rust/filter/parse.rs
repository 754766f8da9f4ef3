//! JSON -> expression: shapes, words and limits. What a field takes is for `bind` to say.
//!
//! ```text
//! filter    = null | {} | condition
//! condition = {"op": comparison, "key": string, "value": any [, "ignore_case": boolean]}
//!           | {"op": "IN", "key": string, "values": [any, ...] [, "ignore_case": boolean]}
//!           | {"op": "EXISTS", "key": string}
//!           | {"op": "AND" | "OR", "conditions": [condition, ...]}        (one or more)
//!           | {"op": "NOT", "condition": condition}
//! ```
//! `IN` may call its array `value`, `NOT` may hold its condition in `conditions`. `ignore_case` goes
//! with `EQ`, `NEQ`, `IN`, `CONTAINS` and `STARTSWITH`. Members may stand in any order; unknown,
//! missing and repeated ones are refused. (Specification, "Filter expression".)

use super::error::LocatedError;
use super::expr::{Condition, Expr, Operand};
use super::json::{Json, excerpt};
use crate::error::FilterError;
use crate::schema::Operator;

/// Longest source of a filter, in bytes.
pub const MAX_BYTES: usize = 1 << 20;
/// Deepest nesting of conditions; the outermost stands at depth 1.
pub const MAX_LEVELS: usize = 32;
/// Most conditions of one filter, those with `AND`, `OR`, `NOT` counted too.
pub const MAX_CONDITIONS: usize = 1_024;
/// Most values of one `IN`.
pub const MAX_VALUES: usize = 10_000;
/// Longest pattern of `CONTAINS` and `STARTSWITH`, in bytes of UTF-8.
pub const MAX_PATTERN_BYTES: usize = 4_096;

/// Reads the JSON of a filter.
pub(super) fn read(source: &[u8]) -> Result<Json, FilterError> {
    let refused = |message| FilterError { message, path: "$".to_owned() };
    if source.len() > MAX_BYTES {
        return Err(refused(format!("expected at most {MAX_BYTES} bytes, got {}", source.len())));
    }
    serde_json::from_slice(source).map_err(|fault| refused(format!("invalid JSON: {fault}")))
}

/// Returns the expression that `source` holds, `None` if it matches everything.
pub(super) fn parse(source: &Json) -> Result<Option<Expr>, LocatedError> {
    match source {
        Json::Null => Ok(None),
        Json::Object(members) if members.is_empty() => Ok(None),
        _ => Parser { conditions: 0 }.condition(source, 1).map(Some),
    }
}

/// The words that `op` takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    And,
    Or,
    Not,
    Field(Operator),
}

impl Word {
    fn from_text(text: &str) -> Option<Self> {
        match text {
            "AND" => Some(Self::And),
            "OR" => Some(Self::Or),
            "NOT" => Some(Self::Not),
            _ => Operator::from_word(text).map(Self::Field),
        }
    }

    /// Returns the members a condition with this operator may have, in their canonical order.
    fn members(self) -> &'static [&'static str] {
        use Operator::{Contains, Eq, Exists, Gt, Gte, In, Lt, Lte, Neq, StartsWith};
        match self {
            Self::And | Self::Or => &["op", "conditions"],
            Self::Not => &["op", "condition", "conditions"],
            Self::Field(Exists) => &["op", "key"],
            Self::Field(In) => &["op", "key", "values", "value", "ignore_case"],
            Self::Field(Gt | Gte | Lt | Lte) => &["op", "key", "value"],
            Self::Field(Eq | Neq | Contains | StartsWith) => &["op", "key", "value", "ignore_case"],
        }
    }
}

struct Parser {
    conditions: usize,
}

impl Parser {
    /// Recursion goes no deeper than [`MAX_LEVELS`].
    fn condition(&mut self, json: &Json, level: usize) -> Result<Expr, LocatedError> {
        if level > MAX_LEVELS {
            return Err(LocatedError::new(format!(
                "expected at most {MAX_LEVELS} levels of conditions, got more"
            )));
        }
        self.conditions += 1;
        if self.conditions > MAX_CONDITIONS {
            return Err(LocatedError::new(format!("expected at most {MAX_CONDITIONS} conditions, got more")));
        }
        let Json::Object(members) = json else {
            return Err(LocatedError::new(format!("expected a condition, got {}", json.described())));
        };
        let word = operator(json)?;
        check_members(members, word.members())?;
        match word {
            Word::And => self.conditions(json, level).map(Expr::And),
            Word::Or => self.conditions(json, level).map(Expr::Or),
            Word::Not => self.negated(json, level).map(|condition| Expr::Not(Box::new(condition))),
            Word::Field(operator) => on_field(operator, json).map(Expr::Condition),
        }
    }

    fn conditions(&mut self, json: &Json, level: usize) -> Result<Vec<Expr>, LocatedError> {
        let in_conditions = |fault: LocatedError| fault.in_member("conditions");
        let conditions = array(required(json, "conditions")?, "conditions").map_err(in_conditions)?;
        if conditions.is_empty() {
            return Err(in_conditions(LocatedError::new("expected one or more conditions, got none")));
        }
        let parsed = conditions.iter().enumerate().map(|(place, condition)| {
            self.condition(condition, level + 1).map_err(|fault| in_conditions(fault.in_element(place)))
        });
        parsed.collect()
    }

    fn negated(&mut self, json: &Json, level: usize) -> Result<Expr, LocatedError> {
        if json.member("conditions").is_none() {
            let condition = required(json, "condition")?;
            return self.condition(condition, level + 1).map_err(|fault| fault.in_member("condition"));
        }
        not_both(json, "condition", "conditions")?;
        let mut conditions = self.conditions(json, level)?;
        match (conditions.pop(), conditions.len()) {
            (Some(only), 0) => Ok(only),
            (_, others) => {
                let message = format!("expected one condition, got {}", others + 1);
                Err(LocatedError::new(message).in_member("conditions"))
            }
        }
    }
}

/// Returns the operator a condition names.
fn operator(json: &Json) -> Result<Word, LocatedError> {
    let in_op = |message: String| LocatedError::new(message).in_member("op");
    let op = required(json, "op")?;
    let Json::Text(text) = op else {
        return Err(in_op(format!("expected an operator, got {}", op.described())));
    };
    Word::from_text(text).ok_or_else(|| {
        let upper = text.to_ascii_uppercase();
        let hint = Word::from_text(&upper).map(|_| format!(", expected `{upper}`")).unwrap_or_default();
        in_op(format!("unknown operator `{}`{hint}", excerpt(text)))
    })
}

fn check_members(members: &[(String, Json)], known: &[&'static str]) -> Result<(), LocatedError> {
    for (place, (name, _)) in members.iter().enumerate() {
        if !known.contains(&name.as_str()) {
            let expected = known.iter().map(|known| format!("`{known}`")).collect::<Vec<_>>().join(", ");
            let message = format!("unknown member `{}`, expected {expected}", excerpt(name));
            return Err(LocatedError::new(message));
        }
        if members.iter().take(place).any(|(earlier, _)| earlier == name) {
            return Err(LocatedError::new(format!("member `{name}` is there twice, expected once")));
        }
    }
    Ok(())
}

fn on_field(operator: Operator, json: &Json) -> Result<Condition, LocatedError> {
    let key = required(json, "key")?;
    let Json::Text(key) = key else {
        let message = format!("expected a field, got {}", key.described());
        return Err(LocatedError::new(message).in_member("key"));
    };
    let operand = match operator {
        Operator::Exists => Operand::Nothing,
        Operator::In => several(json)?,
        Operator::Contains | Operator::StartsWith => {
            let pattern = required(json, "value")?;
            check_pattern(pattern).map_err(|fault| fault.in_member("value"))?;
            Operand::One(pattern.clone())
        }
        _ => Operand::One(required(json, "value")?.clone()),
    };
    let ignore_case = match json.member("ignore_case") {
        None => None,
        Some(Json::Boolean(ignore_case)) => Some(*ignore_case),
        Some(other) => {
            let message = format!("expected a boolean, got {}", other.described());
            return Err(LocatedError::new(message).in_member("ignore_case"));
        }
    };
    Ok(Condition { operator, key: key.clone(), operand, ignore_case })
}

fn several(json: &Json) -> Result<Operand, LocatedError> {
    not_both(json, "value", "values")?;
    let (name, values) = match json.member("value") {
        Some(value) => ("value", value),
        None => ("values", required(json, "values")?),
    };
    let values = array(values, "values").map_err(|fault| fault.in_member(name))?;
    if values.len() > MAX_VALUES {
        let message = format!("expected at most {MAX_VALUES} values, got {}", values.len());
        return Err(LocatedError::new(message).in_member(name));
    }
    Ok(Operand::Several(values.to_vec()))
}

fn check_pattern(pattern: &Json) -> Result<(), LocatedError> {
    match pattern {
        Json::Text(text) if text.len() > MAX_PATTERN_BYTES => {
            let message =
                format!("expected a pattern of at most {MAX_PATTERN_BYTES} bytes, got {}", text.len());
            Err(LocatedError::new(message))
        }
        _ => Ok(()),
    }
}

fn required<'a>(json: &'a Json, name: &str) -> Result<&'a Json, LocatedError> {
    json.member(name).ok_or_else(|| LocatedError::new(format!("missing member `{name}`")))
}

fn array<'a>(json: &'a Json, of: &str) -> Result<&'a [Json], LocatedError> {
    match json {
        Json::Array(items) => Ok(items),
        other => Err(LocatedError::new(format!("expected an array of {of}, got {}", other.described()))),
    }
}

fn not_both(json: &Json, one: &str, other: &str) -> Result<(), LocatedError> {
    if json.member(one).is_some() && json.member(other).is_some() {
        return Err(LocatedError::new(format!("both `{one}` and `{other}` are there, expected one of them")));
    }
    Ok(())
}
