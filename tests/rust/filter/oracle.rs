//! The naive evaluator: evaluates the filter's JSON row by row on plain values.

use std::cmp::Ordering;

use regex::{Regex, RegexBuilder};
use serde_json::Value;
use spanwise::time::parse_instant;

/// The value of a field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell {
    Text(String),
    Whole(i128),
    Floating(f64),
    /// Nanoseconds since 1970.
    Instant(i128),
}

/// A row: the value of every non-NULL field.
pub(crate) trait Row {
    fn cell(&self, key: &str) -> Option<&Cell>;
}

/// Returns the truth of `filter` for `row`; `None` is unknown.
pub(crate) fn truth(filter: &Value, row: &dyn Row) -> Option<bool> {
    if filter.is_null() || filter.as_object().is_some_and(serde_json::Map::is_empty) {
        return Some(true);
    }
    let parts = || filter["conditions"].as_array().expect("conditions").iter().map(|part| truth(part, row));
    match filter["op"].as_str().expect("op") {
        "AND" if parts().any(|part| part == Some(false)) => Some(false),
        "OR" if parts().any(|part| part == Some(true)) => Some(true),
        "AND" => parts().collect::<Option<Vec<_>>>().map(|_| true),
        "OR" => parts().collect::<Option<Vec<_>>>().map(|_| false),
        "NOT" => truth(&filter["condition"], row).map(|part| !part),
        "EXISTS" => Some(row.cell(filter["key"].as_str().expect("key")).is_some()),
        operator => condition(operator, filter, row),
    }
}

fn condition(operator: &str, filter: &Value, row: &dyn Row) -> Option<bool> {
    let key = filter["key"].as_str().expect("key");
    let cell = row.cell(key)?;
    let ignore_case = filter["ignore_case"].as_bool();
    let value = &filter["value"];
    Some(match operator {
        "IN" => {
            let values = filter["values"].as_array().expect("values");
            values.iter().any(|value| is_equal(key, cell, value, ignore_case))
        }
        "EQ" => is_equal(key, cell, value, ignore_case),
        "NEQ" => !is_equal(key, cell, value, ignore_case),
        "CONTAINS" => pattern(key, value, ["", ""], ignore_case.unwrap_or(true)).is_match(text(cell)),
        "STARTSWITH" => pattern(key, value, [r"\A", ""], ignore_case == Some(true)).is_match(text(cell)),
        "GT" => order(key, cell, value) == Ordering::Greater,
        "GTE" => order(key, cell, value) != Ordering::Less,
        "LT" => order(key, cell, value) == Ordering::Less,
        "LTE" => order(key, cell, value) != Ordering::Greater,
        other => panic!("no operator {other}"),
    })
}

fn is_equal(key: &str, cell: &Cell, value: &Value, ignore_case: Option<bool>) -> bool {
    if ignore_case == Some(true) {
        return pattern(key, value, [r"\A", r"\z"], true).is_match(text(cell));
    }
    order(key, cell, value) == Ordering::Equal
}

fn text(cell: &Cell) -> &str {
    let Cell::Text(text) = cell else { panic!("{cell:?} is no text") };
    text
}

/// Returns the text to compare a field's value with.
fn wanted(key: &str, value: &Value) -> String {
    let text = value.as_str().expect("a string");
    match key {
        "status" => text.to_ascii_uppercase(),
        "trace_id" => text.to_ascii_lowercase(),
        _ => text.to_owned(),
    }
}

fn pattern(key: &str, value: &Value, around: [&str; 2], ignore_case: bool) -> Regex {
    let source = format!("{}{}{}", around[0], regex::escape(&wanted(key, value)), around[1]);
    RegexBuilder::new(&source).case_insensitive(ignore_case).build().expect("an escaped pattern")
}

fn order(key: &str, cell: &Cell, value: &Value) -> Ordering {
    match cell {
        Cell::Text(text) => text.chars().cmp(wanted(key, value).chars()),
        Cell::Instant(instant) => {
            instant.cmp(&parse_instant(value.as_str().expect("a string")).expect("a time"))
        }
        Cell::Whole(whole) => match value.as_i128() {
            Some(literal) => whole.cmp(&literal),
            None => whole_against_floating(*whole, value.as_f64().expect("a number")),
        },
        Cell::Floating(floating) => match value.as_i128() {
            Some(literal) => whole_against_floating(literal, *floating).reverse(),
            None => floating.partial_cmp(&value.as_f64().expect("a number")).expect("no NaN"),
        },
    }
}

/// Compares the integer part first, then the fraction.
#[allow(clippy::cast_possible_truncation, reason = "the number was found to be below 2^100")]
fn whole_against_floating(whole: i128, floating: f64) -> Ordering {
    if floating.abs() >= 2f64.powi(100) {
        return 0.0.partial_cmp(&floating).expect("no NaN");
    }
    let fraction = floating.fract();
    whole.cmp(&(floating.trunc() as i128)).then(0.0.partial_cmp(&fraction).expect("no NaN"))
}

trait AsWide {
    fn as_i128(&self) -> Option<i128>;
}

impl AsWide for Value {
    fn as_i128(&self) -> Option<i128> {
        self.as_i64().map(i128::from).or_else(|| self.as_u64().map(i128::from))
    }
}
