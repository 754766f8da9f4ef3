//! Examples that the laws of conditions on spans rarely generate.

use std::sync::{Arc, Barrier};
use std::thread;

use serde_json::{Value, json};
use spanwise::error::Error;
use spanwise::query::{self, Aggregation, CancellationToken, PageRequest, Sort, aggregate};
use spanwise::storage::{Options, TraceStore};
use spanwise::trace::row::to_batch;
use spanwise::trace::{Trace, TraceRow};

use super::operations::id;
use super::{assert_newest, found};
use crate::filter::compiled;
use crate::support::memory::Memory;
use crate::support::spans::{MILLISECOND, failed, request, span, with};

#[test]
fn what_is_kept_of_a_segment_holds_for_earlier_snapshots_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let store =
        TraceStore::open(folder.path().to_str().expect("a path"), Options::default()).expect("a store");
    let ingest = |span| store.ingest(request(&[with(span, "input.value", "refund me")])).expect("ingested");
    ingest(span(1, 1, 0));
    ingest(span(2, 1, 0));
    ingest(span(3, 1, 0));
    store.flush().expect("sealed");
    let before = store.snapshot();
    // The segment's row of the first trace is superseded, and the row of the second one is deleted.
    ingest(span(1, 2, 5));
    let second = json!({"op": "EQ", "key": "trace_id", "value": id(2).to_string()}).to_string();
    assert_eq!(store.delete(&compiled(&second), false).expect("deleted"), 1);
    let refund = compiled(r#"{"op": "CONTAINS", "key": "text", "value": "refund"}"#);
    let ids = |traces: &[u64]| traces.iter().map(|trace| id(*trace).to_string()).collect::<Vec<_>>();
    assert_eq!(found(&store.snapshot(), &refund), ids(&[1, 3]));
    assert_eq!(found(&before, &refund), ids(&[1, 2, 3]));
}

#[test]
fn searches_that_ask_the_same_at_once_look_at_documents_once() {
    const COUNT: usize = 300;
    let objects = Memory::default();
    let options = Options { indexes: Vec::new(), ..Options::default() };
    let store = TraceStore::open_in(Arc::new(objects.clone()), options).expect("a store");
    for trace in 0..COUNT as u64 {
        let said = with(span(trace + 1, 1, trace), "input.value", "refund me");
        store.ingest(request(&[said])).expect("ingested");
    }
    store.flush().expect("sealed");
    let (snapshot, before) = (store.snapshot(), objects.reads());
    let refund = compiled(r#"{"op": "CONTAINS", "key": "text", "value": "refund"}"#);
    let begin = Barrier::new(4);
    let totals: Vec<u64> = thread::scope(|scope| {
        let search = || {
            begin.wait();
            let request = PageRequest { page: 1, limit: 1, sort: Sort::NEWEST_FIRST };
            query::ids(&snapshot, &refund, request, &CancellationToken::default())
                .expect("a page")
                .total_count
        };
        let searches: Vec<_> = (0..4).map(|_| scope.spawn(search)).collect();
        searches.into_iter().map(|search| search.join().expect("an answer")).collect()
    });
    assert_eq!(totals, [COUNT as u64; 4]);
    assert_eq!(objects.reads() - before, COUNT);
}

#[test]
fn a_measure_may_ask_what_was_done() {
    let folder = tempfile::tempdir().expect("a folder");
    let store =
        TraceStore::open(folder.path().to_str().expect("a path"), Options::default()).expect("a store");
    for trace in 1..40 {
        let made = with(span(trace, 1, trace), "openinference.span.kind", "TOOL");
        let made = if trace % 3 == 0 { failed(made, "broken") } else { made };
        store.ingest(request(&[made])).expect("ingested");
        if trace == 25 {
            store.flush().expect("sealed");
        }
    }
    let counts = |condition: Value| {
        let measures = json!([{"name": "count", "op": "COUNT", "where": condition}]);
        let source = json!({"measures": measures}).to_string();
        let aggregation = Aggregation::compile(source.as_bytes()).expect("a good request");
        aggregate(&store.snapshot(), &aggregation, &CancellationToken::default()).expect("an answer")
    };
    let failed_tool = json!({"op": "SPAN", "where": {"op": "AND", "conditions": [
        {"op": "EQ", "key": "type", "value": "TOOL"}, {"op": "EQ", "key": "status", "value": "ERROR"}]}});
    let status = json!({"op": "EQ", "key": "status", "value": "ERROR"});
    let answer = counts(failed_tool);
    assert!(String::from_utf8_lossy(&answer.data).contains("13"), "39 traces, a third failed");
    assert_eq!(answer, counts(status));
}

#[test]
fn spans_of_one_microsecond_are_in_order_of_their_nanoseconds() {
    let folder = tempfile::tempdir().expect("a folder");
    let store =
        TraceStore::open(folder.path().to_str().expect("a path"), Options::default()).expect("a store");
    for (trace, later) in [(1, 300), (2, 299), (3, 1_000), (4, 0)] {
        let mut first = span(trace, 1, 0);
        first.name = "first".into();
        first.end_time_unix_nano = first.start_time_unix_nano + 300;
        let mut second = span(trace, 2, 0);
        second.start_time_unix_nano += later;
        store.ingest(request(&[first, second])).expect("ingested");
    }
    store.flush().expect("sealed");
    store.index().expect("indexed");
    let then = r#"{"op": "SPAN", "where": {"op": "AND", "conditions": [{"op": "EQ", "key": "name", "value": "first"},
        {"op": "FOLLOWED_BY", "where": {"op": "EXISTS", "key": "name"}}]}}"#;
    assert_eq!(found(&store.snapshot(), &compiled(then)), [id(1).to_string(), id(3).to_string()]);
}

#[test]
fn a_search_that_ends_once_its_page_is_full_looks_at_the_newest_traces() {
    let folder = tempfile::tempdir().expect("a folder");
    let store =
        TraceStore::open(folder.path().to_str().expect("a path"), Options::default()).expect("a store");
    for trace in 0..400_u64 {
        let said = if trace % 3 == 0 { "refund me" } else { "thank you" };
        store
            .ingest(request(&[with(span(trace + 1, 1, trace * 7 % 400), "input.value", said)]))
            .expect("ingested");
        if trace % 150 == 149 {
            store.flush().expect("sealed");
        }
    }
    let snapshot = store.snapshot();
    let count = |source: Value, page: u64| {
        let filter = compiled(&source.to_string());
        assert_newest(&snapshot, &filter, &source);
        let request = PageRequest { page, limit: 5, sort: Sort::NEWEST_FIRST };
        let token = CancellationToken::default();
        let page =
            query::newest_runs(&snapshot, &filter, request, query::Detail::Summary, &token).expect("a page");
        (page.total_count, page.is_exact)
    };
    let refund = json!({"op": "CONTAINS", "key": "input", "value": "refund me"});
    let (total, is_exact) = count(refund.clone(), 1);
    assert!(!is_exact && (6..134).contains(&total), "{total}");
    assert_eq!(count(refund.clone(), 27), (134, true));
    assert_eq!(count(json!({"op": "NOT", "condition": {"op": "EXISTS", "key": "text"}}), 1), (0, true));
    let known = json!({"op": "OR", "conditions": [refund, {"op": "EQ", "key": "name", "value": "span-1"}]});
    let (total, is_exact) = count(known, 1);
    assert!(!is_exact && (6..400).contains(&total), "{total}");
}

#[test]
fn a_batch_without_traces_says_what_it_cannot_know() {
    let filter = r#"{"op":"SPAN","where":{"op":"EQ","key":"type","value":"LLM"}}"#;
    let filter = compiled(filter);
    let error = filter.mask(&to_batch(&[TraceRow::of(&Trace::new(id(1), 0))])).expect_err("rejected");
    assert!(matches!(&error, Error::Batch(message) if message.contains("conditions on spans")), "{error:?}");
}

#[test]
fn a_span_whose_word_is_missing_does_not_stand_for_one_that_has_it() {
    let store = TraceStore::open_in(Arc::new(Memory::default()), Options::default()).expect("a store");
    let lasting = |id: u64, kind: &str, start: u64| {
        let mut made = with(span(1, id, start), "openinference.span.kind", kind);
        made.end_time_unix_nano = made.start_time_unix_nano + MILLISECOND;
        made
    };
    // The first span has no tool. It is followed by a model, like the tool.
    let tool = with(lasting(2, "TOOL", 20), "tool.name", "refund");
    let spans = [lasting(1, "LLM", 0), tool, lasting(3, "LLM", 40)];
    store.ingest(request(&spans)).expect("ingested");
    store.flush().expect("sealed");
    store.index().expect("indexed");
    for axis in ["FOLLOWED_BY", "PRECEDED_BY"] {
        let model = json!({"op": "EQ", "key": "type", "value": "LLM"});
        let refund = json!({"op": "EQ", "key": "tool_name", "value": "refund"});
        let both = json!({"op": "AND", "conditions": [refund, {"op": axis, "where": model}]});
        let filter = compiled(&json!({"op": "SPAN", "where": both}).to_string());
        assert_eq!(found(&store.snapshot(), &filter), [id(1).to_string()], "{axis}");
    }
}
