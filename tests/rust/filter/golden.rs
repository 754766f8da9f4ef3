//! The golden cases of `tests/cases/`, which the Python tests also read.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use spanwise::filter::Filter;
use spanwise::schema::{FIELDS, FieldType, trace_schema};
use spanwise::time::parse_instant;

use super::limits::over_a_limit;
use super::oracle::{Cell, Row, truth};
use super::{compiled, mask};

#[derive(Deserialize)]
struct Accepted {
    filter: Box<RawValue>,
    canonical: Box<RawValue>,
}

#[derive(Deserialize)]
struct Rejected {
    source: String,
    message: String,
    path: String,
}

#[derive(Deserialize)]
struct Matching {
    filter: Box<RawValue>,
    matches: Vec<u64>,
}

#[derive(Deserialize)]
struct Cases<Case, Line = Value> {
    #[serde(default = "Vec::new")]
    rows: Vec<Line>,
    cases: Vec<Case>,
}

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn cases<Case: for<'de> Deserialize<'de>>(name: &str) -> Cases<Case> {
    let text = fs::read_to_string(root("tests/cases").join(name)).expect("a file of cases");
    serde_json::from_str(&text).expect("cases")
}

#[test]
fn an_accepted_filter_has_its_canonical_form() {
    let accepted = cases::<Accepted>("filters.json").cases;
    assert!(accepted.len() >= 110, "{}", accepted.len());
    for case in accepted {
        assert_eq!(compiled(case.filter.get()).canonical(), case.canonical.get(), "{}", case.filter);
        assert_eq!(compiled(case.canonical.get()).canonical(), case.canonical.get());
    }
}

#[test]
fn a_rejected_filter_names_the_error_and_its_path() {
    let rejected = cases::<Rejected>("rejected_filters.json").cases;
    assert!(rejected.len() >= 110, "{}", rejected.len());
    for case in rejected {
        let error = Filter::compile(case.source.as_bytes()).expect_err(&case.source);
        assert_eq!((&*error.message, &*error.path), (&*case.message, &*case.path), "{}", case.source);
        assert_eq!(error.to_string(), format!("{} - at `{}`", case.message, case.path));
    }
}

#[test]
fn every_error_message_has_a_case() {
    let mut messages: Vec<String> =
        cases::<Rejected>("rejected_filters.json").cases.into_iter().map(|case| case.message).collect();
    messages.extend(over_a_limit().into_iter().map(|(_, error)| error.message));
    let literal = Regex::new(r#""((?:[^"\\]|\\.)*)""#).expect("a pattern");
    let placeholder = Regex::new(r"\\\{[A-Za-z_]*\\\}").expect("a pattern");
    let mut known = 0;
    let files = [
        "parse.rs",
        "bind.rs",
        "json.rs",
        "leaf.rs",
        "spans/attribute.rs",
        "spans/bind.rs",
        "spans/content.rs",
    ];
    for file in files {
        let text = fs::read_to_string(root("rust/filter").join(file)).expect("a source file");
        let text = text.split("#[cfg(test)]").next().expect("the code");
        let no_message = ["//", "write_str", "reason = ", "'\"'"];
        for line in text.lines().filter(|line| !no_message.iter().any(|sign| line.contains(sign))) {
            for found in literal.captures_iter(line).filter(|found| found[1].contains(' ')) {
                let escaped = regex::escape(&found[1]);
                let shape = Regex::new(&placeholder.replace_all(&escaped, ".*")).expect("a pattern");
                assert!(
                    messages.iter().any(|message| shape.is_match(message)),
                    "no case for `{}`",
                    &found[1]
                );
                known += 1;
            }
        }
    }
    assert!(known >= 25, "only {known} messages were found in the sources");
}

struct JsonRow(HashMap<&'static str, Cell>);

impl Row for JsonRow {
    fn cell(&self, key: &str) -> Option<&Cell> {
        self.0.get(key)
    }
}

fn row(line: &Value) -> JsonRow {
    let cells = FIELDS.iter().filter(|info| !line[info.key].is_null()).map(|info| {
        let value = &line[info.key];
        let cell = match info.field_type {
            FieldType::Text | FieldType::Status => Cell::Text(value.as_str().expect("a string").to_owned()),
            FieldType::Number | FieldType::Dollars => {
                Cell::Whole(value.as_i64().expect("a whole number").into())
            }
            FieldType::Time => {
                Cell::Instant(parse_instant(value.as_str().expect("a string")).expect("a time"))
            }
            FieldType::Boolean | FieldType::Content => panic!("no column is of this type"),
        };
        (info.key, cell)
    });
    JsonRow(cells.collect())
}

/// Returns the rows as a batch of the engine's own schema.
fn trace_batch(lines: &[Value]) -> RecordBatch {
    let schema = trace_schema();
    let columns: Vec<ArrayRef> = FIELDS
        .iter()
        .map(|info| {
            let values = lines.iter().map(|line| &line[info.key]);
            let column: ArrayRef = match info.field_type {
                FieldType::Text | FieldType::Status => {
                    Arc::new(values.map(Value::as_str).collect::<StringArray>())
                }
                FieldType::Number | FieldType::Dollars => {
                    Arc::new(values.map(Value::as_i64).collect::<Int64Array>())
                }
                FieldType::Time => {
                    let micros = |value: &Value| {
                        let nanos = parse_instant(value.as_str().expect("a string")).expect("a time");
                        i64::try_from(nanos.div_euclid(1_000)).expect("within 64 bits")
                    };
                    let column: TimestampMicrosecondArray = values.map(|value| Some(micros(value))).collect();
                    Arc::new(column.with_timezone("UTC"))
                }
                FieldType::Boolean | FieldType::Content => panic!("no column is of this type"),
            };
            let own = schema.field_with_name(info.key).expect("a column").data_type();
            arrow_cast::cast(&column, own).expect("the same values")
        })
        .collect();
    RecordBatch::try_new(schema, columns).expect("a trace batch")
}

#[test]
fn a_filter_matches_the_rows_of_its_case() {
    let table = cases::<Matching>("matches.json");
    let batch = trace_batch(&table.rows);
    assert!(table.cases.len() >= 50, "{}", table.cases.len());
    for case in table.cases {
        let hits = mask(&compiled(case.filter.get()), &batch);
        let of = |hits: &[bool]| -> Vec<u64> {
            let ids = table.rows.iter().zip(hits).filter(|(_, hit)| **hit);
            ids.map(|(line, _)| line["id"].as_u64().expect("an id")).collect()
        };
        assert_eq!(of(&hits), case.matches, "{}", case.filter);
        let filter: Value = serde_json::from_str(case.filter.get()).expect("JSON");
        let naive: Vec<bool> =
            table.rows.iter().map(|line| truth(&filter, &row(line)) == Some(true)).collect();
        assert_eq!(of(&naive), case.matches, "the naive evaluator on {}", case.filter);
    }
}
