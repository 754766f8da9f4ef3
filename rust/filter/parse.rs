//! Parses the JSON of a filter into an expression: shapes, operator names and limits. `bind` decides whether
//! a field supports an operator.
//!
//! ```text
//! filter    = null | {} | condition
//! condition = {"op": comparison, "key": string, "value": any [, "ignore_case": boolean]}
//!           | {"op": "IN", "key": string, "values": [any, ...] [, "ignore_case": boolean]}
//!           | {"op": "EXISTS", "key": string}
//!           | {"op": "AND" | "OR", "conditions": [condition, ...]}        (one or more)
//!           | {"op": "NOT", "condition": condition}
//!           | {"op": "SPAN" [, "as": string] [, "at_least": count] [, "at_most": count], "where": condition}
//!           | {"op": axis [, "as": string] [, option ...], "where": condition}           (inside SPAN)
//! option    = "from": "end" | "start"  or  "scope": "trace" | "siblings"  or  "same": [field, ...]  or  "without": condition
//! ```
//! `IN` accepts its array as `value`, and `NOT` accepts its condition in `conditions`. `ignore_case` is
//! allowed with `EQ`, `NEQ`, `IN`, `CONTAINS` and `STARTSWITH`. Members may be in any order; unknown, missing
//! and repeated members are rejected. See `docs/reference/filter.md#filter-expression`.

use std::sync::Arc;

use super::axis::{Axis, AxisOptions};
use super::error::LocatedError;
use super::expr::{AxisExpr, Condition, Expr, Operand, SpanExpr};
use super::json::{Json, excerpt};
use crate::error::FilterError;
use crate::schema::Operator;

/// Maximum length of a filter's source, in bytes.
pub const MAX_BYTES: usize = 1 << 20;
/// Maximum nesting of conditions; the outermost is at level 1.
pub const MAX_LEVELS: usize = 32;
/// Maximum number of conditions of one filter, including `AND`, `OR` and `NOT`.
pub const MAX_CONDITIONS: usize = 1_024;
/// Maximum number of values of one `IN`.
pub const MAX_VALUES: usize = 10_000;
/// Maximum number of `SPAN` and axes of one filter.
pub const MAX_SPAN_CONDITIONS: usize = 8;
/// Maximum number of axes around a condition.
pub const MAX_AXES: usize = 4;
/// Maximum length of a pattern of `CONTAINS` and `STARTSWITH`, in bytes of UTF-8.
pub const MAX_PATTERN_BYTES: usize = 4_096;

/// Maximum length of a name, in bytes.
const MAX_NAME_BYTES: usize = 64;

pub(super) fn read(source: &[u8]) -> Result<Json, FilterError> {
    let invalid = |message| FilterError { message, path: "$".to_owned() };
    if source.len() > MAX_BYTES {
        return Err(invalid(format!("expected at most {MAX_BYTES} bytes, got {}", source.len())));
    }
    serde_json::from_slice(source)
        .map_err(|error| invalid(format!("invalid JSON: {error}{}", quote_hint(source, &error))))
}

/// Returns a hint for a single quote at the position of the error, because Python prints its objects that
/// way.
fn quote_hint(source: &[u8], error: &serde_json::Error) -> &'static str {
    let line = source.split(|byte| *byte == b'\n').nth(error.line().saturating_sub(1));
    let found = line.and_then(|line| line.get(error.column().checked_sub(1)?));
    if found == Some(&b'\'') { "; JSON has double quotes" } else { "" }
}

/// Returns the expression in `source`; `None` if it matches everything.
pub(super) fn parse(source: &Json) -> Result<Option<Expr>, LocatedError> {
    match source {
        Json::Null => Ok(None),
        Json::Object(members) if members.is_empty() => Ok(None),
        _ => Parser::default().condition(source, 1).map(Some),
    }
}

/// Returns the condition on one span in `source`; `None` if it matches every span.
pub(super) fn parse_span(source: &Json) -> Result<Option<Expr>, LocatedError> {
    match source {
        Json::Null => Ok(None),
        Json::Object(members) if members.is_empty() => Ok(None),
        _ => Parser { axes: Some(0), ..Parser::default() }.condition(source, 1).map(Some),
    }
}

/// The values of `op`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpWord {
    And,
    Or,
    Not,
    Span,
    Axis(Axis),
    Field(Operator),
}

impl OpWord {
    fn from_text(text: &str) -> Option<Self> {
        match text {
            "AND" => Some(Self::And),
            "OR" => Some(Self::Or),
            "NOT" => Some(Self::Not),
            "SPAN" => Some(Self::Span),
            _ => {
                let axis = Axis::from_word(text).map(Self::Axis);
                axis.or_else(|| Operator::from_word(text).map(Self::Field))
            }
        }
    }

    /// Returns the allowed members of a condition with this operator, in canonical order.
    fn members(self) -> &'static [&'static str] {
        use Operator::{Contains, Eq, Exists, Gt, Gte, In, Lt, Lte, Neq, StartsWith};
        match self {
            Self::And | Self::Or => &["op", "conditions"],
            Self::Not => &["op", "condition", "conditions"],
            Self::Span => &["op", "as", "at_least", "at_most", "where"],
            Self::Axis(axis) => axis.members(),
            Self::Field(Exists) => &["op", "key"],
            Self::Field(In) => &["op", "key", "values", "value", "ignore_case"],
            Self::Field(Gt | Gte | Lt | Lte) => &["op", "key", "value"],
            Self::Field(Eq | Neq | Contains | StartsWith) => &["op", "key", "value", "ignore_case"],
        }
    }
}

#[derive(Default)]
struct Parser {
    conditions: usize,
    /// The number of `SPAN` and axis conditions.
    span_conditions: usize,
    /// The number of enclosing axes; `None` outside `SPAN`.
    axes: Option<usize>,
    names: Vec<Arc<str>>,
}

impl Parser {
    /// Recursion is bounded by [`MAX_LEVELS`].
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
            OpWord::And => self.conditions(json, level).map(Expr::And),
            OpWord::Or => self.conditions(json, level).map(Expr::Or),
            OpWord::Not => self.negated(json, level).map(|condition| Expr::Not(Box::new(condition))),
            OpWord::Span => self.span(json, level),
            OpWord::Axis(axis) => self.axis(axis, json, level),
            OpWord::Field(operator) => on_field(operator, json).map(Expr::Condition),
        }
    }

    fn span(&mut self, json: &Json, level: usize) -> Result<Expr, LocatedError> {
        let in_op = |message: &str| LocatedError::new(message).in_member("op");
        if self.axes.is_some() {
            return Err(in_op("`SPAN` inside of `SPAN`, expected a condition on a span"));
        }
        let name = self.name(json)?;
        let (at_least, at_most) = (bound(json, "at_least")?, bound(json, "at_most")?);
        if at_most.is_some_and(|most| most < at_least.unwrap_or(1))
            && (at_least.is_some() || at_most != Some(0))
        {
            let message = format!("expected at least `at_least`, which is {}", at_least.unwrap_or(1));
            return Err(LocatedError::new(message).in_member("at_most"));
        }
        // `at_most: 0` matches traces without such a span.
        let at_least = if at_most == Some(0) { Some(0) } else { at_least };
        self.axes = Some(0);
        let condition = self.related(json, level);
        self.axes = None;
        Ok(Expr::Span(Box::new(SpanExpr { name, at_least, at_most, condition: condition? })))
    }

    fn axis(&mut self, axis: Axis, json: &Json, level: usize) -> Result<Expr, LocatedError> {
        let in_op = |message: String| LocatedError::new(message).in_member("op");
        let Some(around) = self.axes else {
            return Err(in_op(format!(
                "`{}` outside of `SPAN`, expected it inside of its `where`",
                axis.word()
            )));
        };
        if around == MAX_AXES {
            return Err(in_op(format!("expected at most {MAX_AXES} axes in one another, got more")));
        }
        let (name, options) = (self.name(json)?, AxisOptions::read(json)?);
        self.axes = Some(around + 1);
        let condition = self.related(json, level);
        let without = self.without(json, level);
        self.axes = Some(around);
        let (condition, without) = (condition?, without?);
        Ok(Expr::Axis(Box::new(AxisExpr { axis, name, options, without, condition })))
    }

    /// Parses the condition in `where`.
    fn related(&mut self, json: &Json, level: usize) -> Result<Expr, LocatedError> {
        self.span_conditions += 1;
        if self.span_conditions > MAX_SPAN_CONDITIONS {
            let message = format!("expected at most {MAX_SPAN_CONDITIONS} `SPAN` and axes, got more");
            return Err(LocatedError::new(message));
        }
        self.condition(required(json, "where")?, level + 1).map_err(|error| error.in_member("where"))
    }

    /// Parses the condition in `without`, if there is one.
    fn without(&mut self, json: &Json, level: usize) -> Result<Option<Expr>, LocatedError> {
        let Some(without) = json.member("without") else { return Ok(None) };
        self.condition(without, level + 1).map(Some).map_err(|error| error.in_member("without"))
    }

    /// Returns the member `as`, which must be unique.
    fn name(&mut self, json: &Json) -> Result<Option<String>, LocatedError> {
        let in_name = |message: String| LocatedError::new(message).in_member("as");
        match json.member("as") {
            None => Ok(None),
            Some(Json::Text(name)) if (1..=MAX_NAME_BYTES).contains(&name.len()) => {
                if self.names.contains(name) {
                    return Err(in_name(format!(
                        "expected names of their own, got `{}` twice",
                        excerpt(name)
                    )));
                }
                self.names.push(name.clone());
                Ok(Some(name.to_string()))
            }
            Some(other) => {
                let found = other.described();
                Err(in_name(format!("expected a name of 1 to {MAX_NAME_BYTES} bytes, got {found}")))
            }
        }
    }

    fn conditions(&mut self, json: &Json, level: usize) -> Result<Vec<Expr>, LocatedError> {
        let in_conditions = |error: LocatedError| error.in_member("conditions");
        let conditions = array(required(json, "conditions")?, "conditions").map_err(in_conditions)?;
        if conditions.is_empty() {
            return Err(in_conditions(LocatedError::new("expected one or more conditions, got none")));
        }
        let parsed = conditions.iter().enumerate().map(|(index, condition)| {
            self.condition(condition, level + 1).map_err(|error| in_conditions(error.in_element(index)))
        });
        parsed.collect()
    }

    fn negated(&mut self, json: &Json, level: usize) -> Result<Expr, LocatedError> {
        if json.member("conditions").is_none() {
            let condition = required(json, "condition")?;
            return self.condition(condition, level + 1).map_err(|error| error.in_member("condition"));
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

/// Returns the operator of a condition.
fn operator(json: &Json) -> Result<OpWord, LocatedError> {
    let in_op = |message: String| LocatedError::new(message).in_member("op");
    let op = required(json, "op")?;
    let Json::Text(text) = op else {
        return Err(in_op(format!("expected an operator, got {}", op.described())));
    };
    OpWord::from_text(text).ok_or_else(|| {
        let upper = text.to_ascii_uppercase();
        let hint = OpWord::from_text(&upper).map(|_| format!(", expected `{upper}`")).unwrap_or_default();
        in_op(format!("unknown operator `{}`{hint}", excerpt(text)))
    })
}

fn check_members(members: &[(String, Json)], known: &[&'static str]) -> Result<(), LocatedError> {
    for (index, (name, _)) in members.iter().enumerate() {
        if !known.contains(&name.as_str()) {
            let expected = known.iter().map(|known| format!("`{known}`")).collect::<Vec<_>>().join(", ");
            let message = format!("unknown member `{}`, expected {expected}", excerpt(name));
            return Err(LocatedError::new(message));
        }
        if members.iter().take(index).any(|(earlier, _)| earlier == name) {
            return Err(LocatedError::new(format!("member `{name}` is given twice, expected once")));
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
            check_pattern(pattern).map_err(|error| error.in_member("value"))?;
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
    Ok(Condition { operator, key: key.to_string(), operand, ignore_case })
}

fn several(json: &Json) -> Result<Operand, LocatedError> {
    not_both(json, "value", "values")?;
    let (name, values) = match json.member("value") {
        Some(value) => ("value", value),
        None => ("values", required(json, "values")?),
    };
    let values = array(values, "values").map_err(|error| error.in_member(name))?;
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

/// Returns a number of spans.
fn bound(json: &Json, name: &'static str) -> Result<Option<u64>, LocatedError> {
    let Some(given) = json.member(name) else { return Ok(None) };
    let count = if let Json::Number(number) = given { number.as_u64() } else { None };
    let message = || format!("expected a number of spans, got {}", given.described());
    count.map(Some).ok_or_else(|| LocatedError::new(message()).in_member(name))
}

fn not_both(json: &Json, one: &str, other: &str) -> Result<(), LocatedError> {
    if json.member(one).is_some() && json.member(other).is_some() {
        return Err(LocatedError::new(format!("both `{one}` and `{other}` are given, expected one of them")));
    }
    Ok(())
}
