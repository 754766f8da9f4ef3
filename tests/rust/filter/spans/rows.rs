//! Laws of searches for spans, compared with a naive search of every span.

use proptest::prelude::*;
use serde_json::{Value, json};
use spanwise::filter::{Filter, SpanFilter};
use spanwise::query::{self, CancellationToken, Page, PageRequest, Sort};
use spanwise::storage::{Options, Snapshot, TraceStore};

use super::conditions::{of_span, of_trace};
use super::matches::{assert_texts, shown, with_names};
use super::operations::{operations, snapshot_after};
use super::oracle::SeenTrace;
use super::{cases, compiled, traces};
use crate::support::spans::{request, span, with};

const LIMIT: usize = 3;

fn asked() -> impl Strategy<Value = (Value, Value)> {
    let or_all = |strategy: BoxedStrategy<Value>| prop_oneof![4 => strategy, 1 => Just(Value::Null)];
    let named = of_span().prop_map(|mut condition| {
        with_names(&mut condition, &mut 0, &mut || true);
        condition
    });
    (or_all(of_trace().boxed()), or_all(named.boxed()))
}

/// Returns the ids of the matching traces and spans, in row order.
fn expected(snapshot: &Snapshot, of_traces: &Value, of_spans: &Value) -> Vec<[String; 2]> {
    let all = PageRequest { page: 1, limit: 100, sort: Sort::NEWEST_FIRST };
    let newest = query::ids(snapshot, &Filter::all(), all, &CancellationToken::default()).expect("a page");
    let newest: Vec<String> = serde_json::from_slice(&newest.data).expect("ids");
    let mut rows = Vec::new();
    for id in newest {
        let trace = traces(snapshot).into_iter().find(|trace| trace.trace_id.to_string() == id);
        let seen = SeenTrace::of(&trace.expect("a trace of the page"));
        if of_traces.is_null() || seen.truth(of_traces) == Some(true) {
            rows.extend(seen.span_ids(of_spans).into_iter().map(|span| [id.clone(), span]));
        }
    }
    rows
}

fn rows(page: &Page) -> Vec<[String; 2]> {
    let items: Vec<Value> = serde_json::from_slice(&page.data).expect("items");
    let id = |item: &Value, key: &str| item[key].as_str().expect("an id").to_owned();
    items.iter().map(|item| [id(item, "trace_id"), id(item, "span_id")]).collect()
}

fn assert_pages(snapshot: &Snapshot, of_traces: &Value, of_spans: &Value) -> Result<(), TestCaseError> {
    let (filter, spans) = (compiled(&of_traces.to_string()), span_filter(of_spans));
    let expected = expected(snapshot, of_traces, of_spans);
    let token = CancellationToken::default();
    for page in 1..=expected.len() as u64 / 3 + 2 {
        let request = PageRequest { page, limit: LIMIT, sort: Sort::NEWEST_FIRST };
        let whole = query::spans(snapshot, (&filter, &spans), (request, false), &token).expect("a page");
        let on_page = expected.iter().skip((usize::try_from(page).expect("small") - 1) * LIMIT).take(LIMIT);
        let on_page: Vec<_> = on_page.cloned().collect();
        prop_assert_eq!(rows(&whole), on_page, "page {} of {} in {}", page, of_spans, of_traces);
        prop_assert_eq!((whole.total_count, whole.is_exact), (expected.len() as u64, true));
        let newest =
            query::newest_spans(snapshot, (&filter, &spans), (request, false), &token).expect("a page");
        prop_assert_eq!(&newest.data, &whole.data);
        if newest.is_exact {
            prop_assert_eq!(newest.total_count, whole.total_count);
        } else {
            prop_assert!(newest.total_count > page * 3 && newest.total_count <= whole.total_count);
        }
    }
    Ok(())
}

/// Checks the match explanations of each span of a page.
fn assert_matches(snapshot: &Snapshot, of_spans: &Value) -> Result<(), TestCaseError> {
    let seen: Vec<_> =
        traces(snapshot).iter().map(|trace| (trace.trace_id.to_string(), SeenTrace::of(trace))).collect();
    let (spans, token) = (span_filter(of_spans), CancellationToken::default());
    let page = PageRequest { page: 1, limit: 100, sort: Sort::NEWEST_FIRST };
    let request = (page, true);
    let whole = query::spans(snapshot, (&Filter::all(), &spans), request, &token).expect("a page");
    let newest = query::newest_spans(snapshot, (&Filter::all(), &spans), request, &token).expect("a page");
    prop_assert_eq!(&newest.data, &whole.data);
    let mut items: Vec<Value> = serde_json::from_slice(&whole.data).expect("items");
    for item in &mut items {
        let matches = item.as_object_mut().expect("an object").remove("matches").expect("matches");
        let of = seen.iter().find(|(id, _)| item["trace_id"] == **id).expect("its trace");
        let expected = of.1.matches_of(of_spans, item["span_id"].as_str().expect("an id"));
        prop_assert_eq!(&matches["spans"], &shown(&expected), "{} of {}", of_spans, item);
        assert_texts(matches["texts"].as_array().expect("texts"), &expected.texts);
    }
    let plain = query::spans(snapshot, (&Filter::all(), &spans), (page, false), &token).expect("a page");
    prop_assert_eq!(items, serde_json::from_slice::<Vec<Value>>(&plain.data).expect("items"));
    Ok(())
}

fn span_filter(source: &Value) -> SpanFilter {
    SpanFilter::compile(source.to_string().as_bytes()).expect("a good condition")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn pages_of_spans_add_up_to_a_look_at_every_span(
        operations in operations(), questions in prop::collection::vec(asked(), 10),
    ) {
        let (_folder, snapshot) = snapshot_after(&operations);
        for (of_traces, of_spans) in questions {
            assert_pages(&snapshot, &of_traces, &of_spans)?;
            assert_matches(&snapshot, &of_spans)?;
        }
    }
}

#[test]
fn spans_are_counted_without_the_documents_that_tables_answer_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("a path");
    let store = TraceStore::open(path, Options::default()).expect("a store");
    for trace in 1..=50_u64 {
        let spans: Vec<_> = (1..=3).map(|id| with(span(trace, id, trace), "note", "of the day")).collect();
        store.ingest(request(&spans)).expect("ingested");
    }
    store.flush().expect("sealed");
    store.index().expect("indexed");
    // Every read of a document finds damage.
    for entry in std::fs::read_dir(folder.path().join("segments")).expect("segments") {
        let documents = entry.expect("a segment").path().join("spans.otlp.zst");
        let length = std::fs::metadata(&documents).expect("documents").len();
        std::fs::write(&documents, vec![0xff; usize::try_from(length).expect("small")]).expect("written");
    }
    let request = PageRequest { page: 2, limit: 100, sort: Sort::NEWEST_FIRST };
    let token = CancellationToken::default();
    let count = |source: Value| {
        let page = query::spans(
            &store.snapshot(),
            (&Filter::all(), &span_filter(&source)),
            (request, false),
            &token,
        );
        page.expect("a page").total_count
    };
    assert_eq!(count(json!({"op": "EQ", "key": "name", "value": "span-2"})), 50);
    assert_eq!(count(json!({"op": "EQ", "key": "attributes.note", "value": "of the day"})), 150);
    let next = json!({"op": "FOLLOWED_BY", "where": {"op": "EQ", "key": "name", "value": "span-3"}});
    assert_eq!(count(json!({"op": "NOT", "condition": next})), 150);
    assert_eq!(count(Value::Null), 150);
    assert_eq!(
        count(json!({"op": "CONTAINS", "key": "input", "value": "of the day"})),
        0,
        "documents decide"
    );
}

#[test]
fn a_page_of_the_newest_spans_does_not_count_the_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let store =
        TraceStore::open(folder.path().to_str().expect("a path"), Options::default()).expect("a store");
    for trace in 1..=400_u64 {
        let spans: Vec<_> = (1..=2).map(|id| span(trace, id, trace)).collect();
        let spans = spans.into_iter().map(|span| with(span, "input.value", "refund me"));
        store.ingest(request(&spans.collect::<Vec<_>>())).expect("ingested");
        if trace == 300 {
            store.flush().expect("sealed");
        }
    }
    let snapshot = store.snapshot();
    let request = PageRequest { page: 1, limit: 10, sort: Sort::NEWEST_FIRST };
    let token = CancellationToken::default();
    for source in [Value::Null, json!({"op": "CONTAINS", "key": "input", "value": "refund"})] {
        let of_spans = (&Filter::all(), &span_filter(&source));
        let newest = query::newest_spans(&snapshot, of_spans, (request, false), &token).expect("a page");
        assert!(!newest.is_exact && (11..800).contains(&newest.total_count), "{}", newest.total_count);
        let whole = query::spans(&snapshot, of_spans, (request, false), &token).expect("a page");
        assert_eq!((whole.total_count, &whole.data), (800, &newest.data));
    }
    token.cancel();
    let every = (&Filter::all(), &span_filter(&json!({"op": "EXISTS", "key": "input"})));
    assert!(query::spans(&snapshot, every, (request, false), &token).is_err(), "cancelled");
}
