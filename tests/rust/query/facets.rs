//! Facets equal the result of the naive evaluator, and the facets of all users add up to the whole.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::sample::subsequence;
use serde_json::{Value, json};
use spanwise::error::Error;
use spanwise::filter::Filter;
use spanwise::query::{
    CancellationToken, FacetRequest, Facets, MAX_FACET_VALUES, Query, Request, Response, facets,
};
use spanwise::storage::{Options, TraceStore};
use spanwise::trace::TraceRow;

use super::filtered::{Operation, apply, operations, rows};
use crate::filter::indexed::plain;
use crate::filter::laws::filters;
use crate::filter::layouts::TEXTS;
use crate::filter::oracle::truth;

const FIELDS: [&str; 11] = [
    "status",
    "user_id",
    "agent_id",
    "team_id",
    "workflow_id",
    "session_id",
    "run_id",
    "name",
    "service",
    "environment",
    "release",
];

fn text<'a>(row: &'a TraceRow, field: &str) -> Option<&'a str> {
    match field {
        "status" => Some(if row.is_error { "ERROR" } else { "OK" }),
        "user_id" => row.user_id.as_deref(),
        "agent_id" => row.agent_id.as_deref(),
        "team_id" => row.team_id.as_deref(),
        "workflow_id" => row.workflow_id.as_deref(),
        "session_id" => row.session_id.as_deref(),
        "run_id" => row.run_id.as_deref(),
        "service" => row.service.as_deref(),
        "environment" => row.environment.as_deref(),
        "release" => row.release.as_deref(),
        _ => Some(&row.name),
    }
}

#[derive(Debug, Clone)]
struct Case {
    fields: Vec<&'static str>,
    limit: usize,
    /// The field that is narrowed, and its prefix.
    prefix: Option<(&'static str, &'static str)>,
    exclude_own: bool,
}

fn cases() -> impl Strategy<Value = Case> {
    let prefix =
        prop::option::of((any::<prop::sample::Index>(), prop::sample::select(vec!["", "a", "A", "zo"])));
    (subsequence(FIELDS.to_vec(), 1..9).prop_shuffle(), 1..6_usize, prefix, any::<bool>()).prop_map(
        |(fields, limit, prefix, exclude_own)| {
            let prefix = prefix.map(|(field, text)| (*field.get(&fields), text));
            Case { fields, limit, prefix, exclude_own }
        },
    )
}

impl Case {
    fn request(&self) -> FacetRequest {
        let request = FacetRequest::new(&self.fields, self.limit).expect("fields with facets");
        let request = request.excluding_own(self.exclude_own);
        match self.prefix {
            Some((field, text)) => request.with_prefix(field, text).expect("one of the fields"),
            None => request,
        }
    }

    /// Returns the expected response of a store with `rows`, computed row by row.
    fn naive(&self, rows: &[&TraceRow], filter: &Value) -> (Value, u64, Vec<&'static str>) {
        let matching = |filter: &Value| -> Vec<&TraceRow> {
            rows.iter().copied().filter(|row| truth(filter, &plain(row)) == Some(true)).collect()
        };
        let (mut data, mut not_excluded) = (json!({}), Vec::new());
        for field in &self.fields {
            let own = if self.exclude_own { without(filter, field) } else { Some(filter.clone()) };
            if own.is_none() {
                not_excluded.push(*field);
            }
            let prefix = self.prefix.filter(|(narrowed, _)| narrowed == field).map_or("", |(_, text)| text);
            data[field] = facet(&matching(own.as_ref().unwrap_or(filter)), field, prefix, self.limit);
        }
        (data, matching(filter).len() as u64, not_excluded)
    }
}

fn facet(rows: &[&TraceRow], field: &str, prefix: &str, limit: usize) -> Value {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let texts = rows.iter().filter_map(|row| text(row, field));
    texts.filter(|text| text.starts_with(prefix)).for_each(|text| *counts.entry(text).or_default() += 1);
    let mut values: Vec<(&str, u64)> = counts.into_iter().collect();
    values.sort_by_key(|(value, count)| (Reverse(*count), *value));
    let shown: Vec<Value> =
        values.iter().take(limit).map(|(value, count)| json!({"value": value, "count": count})).collect();
    json!({
        "values": shown,
        "distinct": values.len(),
        "missing": rows.iter().filter(|row| text(row, field).is_none()).count(),
        "truncated": values.len() > limit,
    })
}

/// Returns a filter without its conditions on a field, or `None` if they cannot be separated from others.
fn without(filter: &Value, field: &str) -> Option<Value> {
    let rest: Vec<Value> =
        members(filter).into_iter().filter(|member| !keys(member).contains(field)).collect();
    let own = |member: &Value| keys(member).contains(field) && keys(member).len() > 1;
    (!members(filter).iter().any(own)).then(|| json!({"op": "AND", "conditions": rest}))
}

fn members(filter: &Value) -> Vec<Value> {
    if filter["op"] == "AND" {
        return filter["conditions"].as_array().expect("conditions").iter().flat_map(members).collect();
    }
    vec![filter.clone()]
}

fn keys(filter: &Value) -> BTreeSet<String> {
    match filter["op"].as_str() {
        Some("AND" | "OR") => {
            filter["conditions"].as_array().expect("conditions").iter().flat_map(keys).collect()
        }
        Some("NOT") => keys(&filter["condition"]),
        _ => filter["key"].as_str().map(ToOwned::to_owned).into_iter().collect(),
    }
}

fn compiled(source: &Value) -> Filter {
    Filter::compile(source.to_string().as_bytes()).expect("a good filter")
}

fn counted(store: &TraceStore, filter: &Filter, request: FacetRequest) -> Facets {
    let query = Query::new(filter.clone(), Request::Facets(request));
    let reserved = Cell::new(0);
    let reserve = |bytes| {
        reserved.set(bytes);
        Ok(())
    };
    let counted =
        query.run_within(&store.snapshot(), &reserve, &CancellationToken::default()).expect("facets");
    assert!(reserved.get() > 0);
    match counted {
        Response::Facets(facets) => facets,
        other => panic!("expected facets, got {other:?}"),
    }
}

fn data(facets: &Facets) -> Value {
    serde_json::from_slice(&facets.data).expect("JSON")
}

fn opened() -> (tempfile::TempDir, TraceStore) {
    let folder = tempfile::tempdir().expect("a folder");
    let store =
        TraceStore::open(folder.path().to_str().expect("a path"), Options::default()).expect("a store");
    (folder, store)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn facets_equal_the_naive_evaluator(
        operations in operations(), filters in prop::collection::vec(filters(), 6), case in cases(),
    ) {
        let (_folder, store) = opened();
        for operation in &operations {
            apply(&store, operation);
            // Each later state reuses the shared values of the state before.
            if !matches!(operation, Operation::Span(..)) {
                let shown = counted(&store, &Filter::all(), case.request());
                let rows = rows(&store.snapshot());
                let (expected, ..) = case.naive(&rows.iter().collect::<Vec<_>>(), &json!({}));
                prop_assert_eq!(data(&shown), expected);
            }
        }
        let rows = rows(&store.snapshot());
        let rows: Vec<&TraceRow> = rows.iter().collect();
        for source in filters {
            let shown = counted(&store, &compiled(&source), case.request());
            let (expected, matched, not_excluded) = case.naive(&rows, &source);
            prop_assert_eq!(data(&shown), expected, "{}", &source);
            prop_assert_eq!(shown.matched, matched, "{}", &source);
            prop_assert_eq!(shown.not_excluded, not_excluded, "{}", &source);
        }
    }

    #[test]
    fn the_facets_of_a_caller_count_only_its_own_traces(
        operations in operations(), source in filters(), case in cases(),
        user in prop::sample::select(TEXTS.to_vec()),
    ) {
        let (_folder, store) = opened();
        for operation in &operations {
            apply(&store, operation);
        }
        let rows = rows(&store.snapshot());
        let own: Vec<&TraceRow> = rows.iter().filter(|row| row.user_id.as_deref() == Some(user)).collect();
        let filter = compiled(&source).restrict("user_id", user).expect("a text");
        let shown = counted(&store, &filter, case.request());
        let (expected, matched, not_excluded) = case.naive(&own, &source);
        prop_assert_eq!((data(&shown), shown.matched, shown.not_excluded), (expected, matched, not_excluded));
    }

    #[test]
    fn the_counts_of_all_users_add_up_to_the_whole(operations in operations(), source in filters()) {
        let (_folder, store) = opened();
        for operation in &operations {
            apply(&store, operation);
        }
        let counts = |filter: &Filter| -> (BTreeMap<(String, String), u64>, u64) {
            let request = FacetRequest::new(&FIELDS, MAX_FACET_VALUES).expect("fields");
            let facets = counted(&store, filter, request);
            let mut counts = BTreeMap::new();
            for (field, facet) in data(&facets).as_object().expect("facets") {
                for value in facet["values"].as_array().expect("values") {
                    let key = (field.clone(), value["value"].to_string());
                    counts.insert(key, value["count"].as_u64().expect("a count"));
                }
                counts.insert((field.clone(), "missing".into()), facet["missing"].as_u64().expect("a count"));
            }
            (counts, facets.matched)
        };
        let whole = compiled(&source);
        let no_user = json!({"op": "NOT", "condition": {"op": "EXISTS", "key": "user_id"}});
        let without_user = compiled(&json!({"op": "AND", "conditions": [source, no_user]}));
        let users = TEXTS.map(|user| whole.restrict("user_id", user).expect("a text"));
        let (mut sums, mut matched) = (BTreeMap::new(), 0);
        for filter in users.iter().chain([&without_user]) {
            let (own, own_matched) = counts(filter);
            for (key, count) in own {
                *sums.entry(key).or_insert(0) += count;
            }
            matched += own_matched;
        }
        prop_assert_eq!((sums, matched), counts(&whole));
    }
}

#[test]
fn a_cancelled_count_ends() {
    let (_folder, store) = opened();
    apply(&store, &Operation::Span(1, 1, 1));
    let request = FacetRequest::new(&["name"], 1).expect("a field");
    let token = CancellationToken::default();
    token.cancel();
    assert!(matches!(facets(&store.snapshot(), &Filter::all(), request, &token), Err(Error::Cancelled)));
}

#[test]
fn invalid_requests_are_rejected() {
    let rejected = |keys: &[&str], limit| FacetRequest::new(keys, limit).expect_err("rejected").to_string();
    let fields = FIELDS.map(|field| format!("`{field}`")).join(", ");
    for key in ["trace_id", "duration_ms", "start_time", "Status", ""] {
        assert_eq!(rejected(&[key], 1), format!("expected one of {fields} as a facet, got `{key}`"));
    }
    assert_eq!(rejected(&["name", "status", "name"], 1), "expected every field once, got `name` twice");
    assert_eq!(rejected(&["name"], 0), "expected a limit from 1 to 1000, got 0");
    assert_eq!(rejected(&["name"], 1_001), "expected a limit from 1 to 1000, got 1001");
    let prefixed = FacetRequest::new(&["name"], 1).expect("a field").with_prefix("status", "O");
    let error = prefixed.expect_err("rejected").to_string();
    assert_eq!(error, "expected a prefix for one of the fields, got one for `status`");
}
