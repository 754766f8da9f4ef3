//! Laws of searches whose rows are spans, against a look at every span.

use proptest::prelude::*;
use serde_json::{Value, json};
use spanwise::filter::{Filter, SpanFilter};
use spanwise::search::{self, CancellationToken, Page, PageRequest, Sort};
use spanwise::storage::{Options, Snapshot, TraceStore};

use super::oracle::SeenTrace;
use super::{cases, compiled, of_span, of_trace, operations, snapshot_after, traces};
use crate::support::spans::{request, span, with};

const LIMIT: usize = 3;

fn asked() -> impl Strategy<Value = (Value, Value)> {
    let or_all = |strategy: BoxedStrategy<Value>| prop_oneof![4 => strategy, 1 => Just(Value::Null)];
    (or_all(of_trace().boxed()), or_all(of_span().boxed()))
}

/// Returns the ids of the traces and spans that match, in the order of rows.
fn expected(snapshot: &Snapshot, of_traces: &Value, of_spans: &Value) -> Vec<[String; 2]> {
    let all = PageRequest { page: 1, limit: 100, sort: Sort::NEWEST_FIRST };
    let newest = search::ids(snapshot, &Filter::all(), all, &CancellationToken::default()).expect("a page");
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
        let whole = search::spans(snapshot, (&filter, &spans), request, &token).expect("a page");
        let on_page = expected.iter().skip((usize::try_from(page).expect("small") - 1) * LIMIT).take(LIMIT);
        let on_page: Vec<_> = on_page.cloned().collect();
        prop_assert_eq!(rows(&whole), on_page, "page {} of {} in {}", page, of_spans, of_traces);
        prop_assert_eq!((whole.total_count, whole.is_exact), (expected.len() as u64, true));
        let newest = search::newest_spans(snapshot, (&filter, &spans), request, &token).expect("a page");
        prop_assert_eq!(&newest.data, &whole.data);
        if newest.is_exact {
            prop_assert_eq!(newest.total_count, whole.total_count);
        } else {
            prop_assert!(newest.total_count > page * 3 && newest.total_count <= whole.total_count);
        }
    }
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
        }
    }
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
        let newest = search::newest_spans(&snapshot, of_spans, request, &token).expect("a page");
        assert!(!newest.is_exact && (11..800).contains(&newest.total_count), "{}", newest.total_count);
        let whole = search::spans(&snapshot, of_spans, request, &token).expect("a page");
        assert_eq!((whole.total_count, &whole.data), (800, &newest.data));
    }
    token.cancel();
    let every = (&Filter::all(), &span_filter(&json!({"op": "EXISTS", "key": "input"})));
    assert!(search::spans(&snapshot, every, request, &token).is_err(), "cancelled");
}
