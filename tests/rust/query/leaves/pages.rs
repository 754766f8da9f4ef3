//! Pages of runs, sessions and spans, and lookups.

use proptest::prelude::*;
use spanwise::otlp::{SpanId, TraceId};
use spanwise::query::{
    self, CancellationToken, Detail, Page, PageRequest, Query, Request, Response, RunView, Sort,
};

use super::super::filtered::operations;
use super::{Stores, compiled, owned, searched, span_conditions, span_filter, spans_of};

const SORTS: [&str; 6] = ["start_time", "duration_ms", "total_spans", "total_tokens", "cost", "cost_partial"];
const DETAILS: [Detail; 4] = [Detail::Full, Detail::Summary, Detail::Preview, Detail::Skeleton];

fn page(response: Response) -> Page {
    match response {
        Response::Page(page) => page,
        other => panic!("expected a page, got {other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_page_over_leaves_equals_one_store(
        operations in operations(), layout in 0..4_usize,
        searches in prop::collection::vec(
            (searched(), prop::option::of(0..4_usize), prop_oneof![Just(1), 1..9_u64], 1..8_usize, 0..SORTS.len(), 0..4_usize, any::<u8>()), 8),
        conditions in span_conditions(),
    ) {
        let stores = Stores::new(layout);
        for operation in &operations {
            stores.apply(operation);
        }
        let (snapshot, token) = (stores.one.snapshot(), CancellationToken::default());
        for (source, owner, number, limit, sort, detail, flags) in searches {
            let filter = owned(compiled(&source), owner);
            let request = PageRequest::new(number, limit).expect("a page");
            let newest_first = flags & 1 == 1;
            let sort = Sort::by(SORTS[if newest_first { 0 } else { sort }], !newest_first && flags & 2 == 2);
            let sorted = request.sorted(sort.expect("a key to sort by"));
            let view = RunView { detail: DETAILS[detail], with_matches: flags & 4 == 4 };
            let is_newest = flags & 8 == 8;
            let search = if is_newest { query::newest_runs } else { query::runs };
            let expected = search(&snapshot, &filter, sorted, view, &token).expect("a page");
            let response = stores.response(&Query::new(filter.clone(), Request::Runs { page: sorted, view, ends_when_full: is_newest }));
            prop_assert_eq!(page(response.expect("a page")), expected, "{} {:?}", source, sorted);

            let expected = query::sessions(&snapshot, &filter, request, &token).expect("a page");
            let response = stores.response(&Query::new(filter.clone(), Request::Sessions { page: request }));
            prop_assert_eq!(page(response.expect("a page")), expected, "sessions of {}", source);

            let spans = span_filter(&conditions);
            let with_matches = flags & 16 == 16;
            let search = if is_newest { query::newest_spans } else { query::spans };
            let expected = search(&snapshot, (&filter, &spans), (request, with_matches), &token).expect("a page");
            let response = stores.response(&Query::of_spans(
                filter,
                spans,
                Request::Spans { page: request, with_matches, ends_when_full: is_newest },
            ));
            prop_assert_eq!(page(response.expect("a page")), expected, "spans {} of {}", conditions, source);
        }
        for trace in 0..40_u64 {
            let (hex, span) = (format!("{:016x}{trace:016x}", 1), format!("{:016x}", 1));
            let (trace_id, span_id) = (TraceId::from_hex(&hex).expect("an id"), SpanId::from_hex(&span).expect("an id"));
            let filter = owned(compiled(&serde_json::Value::Null), (trace % 3 == 0).then_some(1));
            let leaf = [stores.leaves[stores.map.shard_of(trace_id)].snapshot()];
            let look_up = |request: Request| match super::merged(
                &mut Query::new(filter.clone(), request).root(4).expect("a query"),
                &leaf,
            ).expect("a result") {
                (Response::Trace(response), _) => response,
                other => panic!("expected a trace, got {other:?}"),
            };
            let expected = query::trace(&snapshot, trace_id, &filter, Detail::Full).expect("a result");
            prop_assert_eq!(look_up(Request::Trace { trace_id: hex.clone(), detail: Detail::Full, is_damaged: false }), expected);
            let expected = query::span(&snapshot, trace_id, span_id, &filter, Some(5)).expect("a result");
            prop_assert_eq!(look_up(Request::Span { trace_id: hex.clone(), span_id: span, max_bytes: Some(5) }), expected);
        }
    }
}

#[test]
fn a_first_page_takes_one_round_and_others_two() {
    let stores = Stores::new(2);
    for trace in 1..=200_u64 {
        stores.ingest(&spans_of(trace, 0, 0));
    }
    let (snapshot, token) = (stores.one.snapshot(), CancellationToken::default());
    let all = compiled(&serde_json::Value::Null);
    for (number, with_matches, expected_rounds) in
        [(1, false, 1), (1, true, 2), (2, false, 2), (11, false, 1)]
    {
        let request = PageRequest::new(number, 20).expect("a page");
        let view = RunView { detail: Detail::Full, with_matches };
        let query = Query::new(all.clone(), Request::Runs { page: request, view, ends_when_full: false });
        let mut root = query.root(stores.map.shards()).expect("a query");
        let (response, rounds) = stores.response_in_rounds(&mut root).expect("a page");
        assert_eq!(page(response), query::runs(&snapshot, &all, request, view, &token).expect("a page"));
        assert_eq!(rounds, expected_rounds, "page {number}");
    }
}
