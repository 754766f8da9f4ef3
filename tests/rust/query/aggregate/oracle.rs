//! The naive evaluator of aggregations: evaluates the request's JSON row by row on plain values.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use spanwise::otlp::TraceId;
use spanwise::storage::Snapshot;
use spanwise::time::parse_instant;
use spanwise::trace::TraceRow;

use super::super::Run;
use crate::filter::indexed::{Plain, plain};
use crate::filter::oracle::{Cell, Row as _, truth};

/// A row with its values by field.
pub(super) struct Row {
    pub(super) start_time: i64,
    pub(super) cells: Plain,
}

impl Row {
    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.cells.cell(key).map(|cell| match cell {
            Cell::Text(text) => text.clone(),
            other => panic!("{other:?} is no text"),
        })
    }

    pub(super) fn number(&self, key: &str) -> i64 {
        let Some(Cell::Whole(number)) = self.cells.cell(key) else { panic!("{key} is no number") };
        i64::try_from(*number).expect("a number of a row")
    }
}

pub(super) fn rows(snapshot: &Snapshot, runs: &[Run]) -> Vec<Row> {
    let row = |run: &Run| {
        let id = TraceId::from_hex(&run.trace_id()).expect("an id");
        let (part, row) = snapshot.find(id).expect("a stored trace");
        TraceRow::of(&snapshot.parts()[part].trace(row).expect("a document"))
    };
    let rows = runs.iter().map(row);
    rows.map(|row| Row { start_time: row.start_time, cells: plain(&row) }).collect()
}

fn micros(value: &Value) -> Option<i64> {
    let nanos = parse_instant(value.as_str()?).expect("a time");
    Some(i64::try_from(nanos / 1_000).expect("an instant"))
}

/// Returns the rows of the request.
pub(super) fn selected<'r>(rows: &'r [Row], request: &Value) -> Vec<&'r Row> {
    let (from, to) = (micros(&request["time"]["from"]), micros(&request["time"]["to"]));
    let is_within =
        |row: &Row| from.is_none_or(|from| row.start_time >= from) && to.is_none_or(|to| row.start_time < to);
    rows.iter().filter(|row| is_within(row) && truth(&request["filter"], &row.cells) == Some(true)).collect()
}

/// Returns a measure of some rows; `None` for a histogram.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "few small rows"
)]
fn measured(measure: &Value, rows: &[&Row]) -> Option<Value> {
    let rows = matching(measure, rows);
    let key = || measure["key"].as_str().expect("a key");
    let mut numbers: Vec<i64> = match measure["op"].as_str().expect("an op") {
        "COUNT" => return Some(rows.len().into()),
        "COUNT_DISTINCT" => {
            let texts: BTreeSet<String> = rows.iter().filter_map(|row| row.text(key())).collect();
            return Some(texts.len().into());
        }
        "HISTOGRAM" => return None,
        _ => rows.iter().map(|row| row.number(key())).collect(),
    };
    numbers.sort_unstable();
    let sum: i64 = numbers.iter().sum();
    Some(match measure["op"].as_str().expect("an op") {
        "SUM" => sum.into(),
        _ if numbers.is_empty() => Value::Null,
        "AVG" => (sum as f64 / numbers.len() as f64).into(),
        "MIN" => numbers[0].into(),
        "MAX" => numbers[numbers.len() - 1].into(),
        _ => {
            let rank = (numbers.len() - 1) as f64 * measure["q"].as_f64().expect("q");
            let (lower, upper) =
                (numbers[rank.floor() as usize] as f64, numbers[rank.ceil() as usize] as f64);
            (lower + (upper - lower) * rank.fract()).into()
        }
    })
}

fn matching<'r>(measure: &Value, rows: &[&'r Row]) -> Vec<&'r Row> {
    rows.iter().copied().filter(|row| truth(&measure["where"], &row.cells) == Some(true)).collect()
}

fn measures_of(request: &Value) -> &Vec<Value> {
    request["measures"].as_array().expect("measures")
}

fn totals(request: &Value, rows: &[&Row]) -> Value {
    let totals = measures_of(request).iter();
    let totals =
        totals.filter_map(|measure| Some((measure["name"].as_str()?.to_owned(), measured(measure, rows)?)));
    totals.collect::<Map<_, _>>().into()
}

/// Asserts that a group of the response matches `rows`; `all` are the rows of all groups.
fn assert_group(request: &Value, response: &Value, group: &Value, rows: &[&Row], all: &[&Row]) {
    assert_eq!(group["total"], totals(request, rows));
    if request.get("time").is_some() {
        let interval = response["time"]["interval_ms"].as_i64().unwrap_or(1) * 1_000;
        let starts = response["time"]["starts"].as_array().expect("starts");
        let buckets = starts.iter().map(|start| {
            let start = micros(start).expect("a start");
            let is_within = |row: &&&Row| (start..start + interval).contains(&row.start_time);
            totals(request, &rows.iter().filter(is_within).copied().collect::<Vec<_>>())
        });
        let buckets: Vec<Value> = buckets.collect();
        for (name, series) in group["series"].as_object().expect("series") {
            let expected: Vec<Value> = buckets.iter().map(|bucket| bucket[name].clone()).collect();
            assert_eq!(series, &Value::from(expected), "{name}");
        }
        assert_eq!(group["series"].as_object().map(Map::len), group["total"].as_object().map(Map::len));
    }
    for measure in measures_of(request).iter().filter(|measure| measure["op"] == "HISTOGRAM") {
        let histogram = &group["histograms"][measure["name"].as_str().expect("a name")];
        assert_histogram(measure, histogram, &matching(measure, rows), &matching(measure, all));
    }
}

fn assert_histogram(measure: &Value, histogram: &Value, rows: &[&Row], all: &[&Row]) {
    let array = |name: &str| histogram[name].as_array().expect("an array").iter();
    let edges: Vec<i64> = array("edges").map(|edge| edge.as_i64().expect("an integer")).collect();
    let counts: Vec<usize> = array("counts")
        .map(|count| usize::try_from(count.as_u64().expect("a count")).expect("few"))
        .collect();
    let key = measure["key"].as_str().expect("a key");
    let count = |is_in: &dyn Fn(i64) -> bool| rows.iter().filter(|row| is_in(row.number(key))).count();
    assert!(edges.windows(2).all(|pair| pair[0] < pair[1]), "{edges:?}");
    assert!(counts.len() as u64 <= measure["bins"].as_u64().expect("bins"), "{counts:?}");
    for (pair, counted) in edges.windows(2).zip(&counts) {
        assert_eq!(count(&|value| pair[0] <= value && value < pair[1]), *counted, "{pair:?}");
    }
    let (first, last) = (edges.first().copied().unwrap_or(0), edges.last().copied().unwrap_or(0));
    if let Some(range) = measure.get("range") {
        assert!(first == range[0].as_i64().expect("low") && last >= range[1].as_i64().expect("high"));
        assert_eq!(histogram["below"], count(&|value| value < first));
        assert_eq!(histogram["above"], count(&|value| value >= last));
    } else {
        let numbers = || all.iter().map(|row| row.number(key));
        assert_eq!(numbers().min(), edges.first().copied());
        assert!(numbers().max().is_none_or(|max| max < last));
        assert_eq!(counts.iter().sum::<usize>(), rows.len());
    }
}

/// Returns the top values of a field in order, and the number of all values.
fn top_values(key: &str, limit: u64, rows: &[&Row]) -> (Vec<Option<String>>, usize) {
    let mut counts: BTreeMap<Option<String>, u64> = BTreeMap::new();
    for row in rows {
        *counts.entry(row.text(key)).or_default() += 1;
    }
    let mut values: Vec<_> = counts.into_iter().collect();
    values.sort_by_key(|(value, count)| (Reverse(*count), value.is_none(), value.clone()));
    let total = values.len();
    (values.into_iter().take(usize::try_from(limit).expect("few")).map(|(value, _)| value).collect(), total)
}

pub(super) fn assert_response(request: &Value, response: &Value, rows: &[Row]) {
    let all = selected(rows, request);
    let by: Vec<(&str, u64)> = request["by"]
        .as_array()
        .expect("fields")
        .iter()
        .map(|by| (by["key"].as_str().expect("a key"), by["limit"].as_u64().expect("a limit")))
        .collect();
    let fields: Vec<_> = by.iter().map(|(key, limit)| top_values(key, *limit, &all)).collect();
    // For each row, the value of every field if it is in the top-k.
    let group_of = |row: &Row| -> Vec<Option<Option<String>>> {
        let values = by.iter().zip(&fields);
        values.map(|((key, _), (top, _))| Some(row.text(key)).filter(|value| top.contains(value))).collect()
    };
    let mut groups: BTreeMap<_, Vec<&Row>> = BTreeMap::new();
    for row in &all {
        groups.entry(group_of(row)).or_default().push(row);
    }
    if by.is_empty() {
        groups.entry(Vec::new()).or_default();
    }
    let other =
        groups.remove(&vec![None; by.len()].into_iter().collect::<Vec<_>>()).filter(|_| !by.is_empty());
    if by.is_empty() {
        groups.insert(Vec::new(), all.clone());
    }
    let mut expected: Vec<_> = groups.into_iter().collect();
    expected.sort_by_key(|(group_key, rows)| {
        let values = group_key.iter().map(|value| match value {
            Some(Some(text)) => (0, text.clone()),
            Some(None) => (1, String::new()),
            None => (2, String::new()),
        });
        (Reverse(rows.len()), values.collect::<Vec<_>>())
    });
    let shown = response["groups"].as_array().expect("groups");
    assert_eq!(shown.len(), expected.len(), "{response}");
    for (group, (group_key, rows)) in shown.iter().zip(&expected) {
        let named = by.iter().zip(group_key).filter_map(|((key, _), value)| {
            Some(((*key).to_owned(), value.clone()?.map_or(Value::Null, Value::from)))
        });
        assert_eq!(group["by"], Value::from(named.collect::<Map<_, _>>()));
        let beyond: Vec<&str> =
            by.iter().zip(group_key).filter(|(_, value)| value.is_none()).map(|((key, _), _)| *key).collect();
        assert_eq!(group.get("other").cloned(), (!beyond.is_empty()).then(|| json!(beyond)));
        assert_group(request, response, group, rows, &all);
    }
    assert_eq!(response.get("other").is_some(), other.is_some());
    if let Some(rows) = other {
        assert_group(request, response, &response["other"], &rows, &all);
    }
    let totals =
        by.iter().zip(&fields).map(|((key, _), (_, total))| ((*key).to_owned(), Value::from(*total)));
    match fields.as_slice() {
        [] => assert_eq!(response["groups_total"], 1),
        [(_, total)] => assert_eq!(response["groups_total"], *total),
        _ => assert!(response.get("groups_total").is_none()),
    }
    assert_eq!(
        response.get("values_total").cloned().unwrap_or(json!({})),
        Value::from(totals.collect::<Map<_, _>>())
    );
    assert_axis(request, response, &all);
}

fn assert_axis(request: &Value, response: &Value, rows: &[&Row]) {
    if request.get("time").is_none() {
        assert!(response.get("time").is_none());
        return;
    }
    let starts: Vec<i64> =
        response["time"]["starts"].as_array().expect("starts").iter().filter_map(micros).collect();
    let interval = response["time"]["interval_ms"].as_i64().unwrap_or(0) * 1_000;
    assert!(starts.windows(2).all(|pair| pair[1] - pair[0] == interval), "{starts:?}");
    assert!(starts.iter().all(|start| start % interval == 0), "{starts:?}");
    assert!(starts.len() as u64 <= request["time"]["buckets"].as_u64().expect("buckets") + 1);
    let bounds = starts.first().zip(starts.last().map(|last| last + interval));
    assert!(
        rows.iter().all(|row| bounds.is_some_and(|(first, end)| (*first..end).contains(&row.start_time)))
    );
}
