//! Pages of runs, sessions and spans, and lookups.

use proptest::prelude::*;
use spanwise::otlp::{SpanId, TraceId};
use spanwise::search::{
    self, CancellationToken, Detail, Found, Gathering, Page, PageRequest, RunView, Sort, SpanPageRequest,
};

use super::super::filtered::operations;
use super::{Stores, compiled, owned, searched, span_conditions, span_filter, spans_of};

const SORTS: [&str; 6] = ["start_time", "duration_ms", "total_spans", "total_tokens", "cost", "cost_partial"];
const DETAILS: [Detail; 4] = [Detail::Full, Detail::Summary, Detail::Preview, Detail::Skeleton];

fn page(found: Found) -> Page {
    match found {
        Found::Page(page) => page,
        other => panic!("expected a page, found {other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_page_of_shards_is_that_of_one_store(
        operations in operations(), layout in 0..4_usize,
        searches in prop::collection::vec(
            (searched(), prop::option::of(0..4_usize), prop_oneof![Just(1), 1..9_u64], 1..8_usize, 0..SORTS.len(), 0..4_usize, any::<u8>()), 8),
        conditions in span_conditions(),
    ) {
        let stores = Stores::new(layout);
        for operation in &operations {
            stores.apply(operation);
        }
        let (snapshot, shards, token) = (stores.one.snapshot(), stores.map.shards(), CancellationToken::default());
        for (source, owner, number, limit, sort, detail, flags) in searches {
            let filter = owned(compiled(&source), owner);
            let request = PageRequest::new(number, limit).expect("a page");
            let newest_first = flags & 1 == 1;
            let sort = Sort::by(SORTS[if newest_first { 0 } else { sort }], !newest_first && flags & 2 == 2);
            let sorted = request.sorted(sort.expect("a key to sort by"));
            let view = RunView { detail: DETAILS[detail], with_matches: flags & 4 == 4 };
            let is_newest = flags & 8 == 8;
            let search = if is_newest { search::newest_runs } else { search::runs };
            let expected = search(&snapshot, &filter, sorted, view, &token).expect("a page");
            let found = stores.gathered(Gathering::runs(shards, &filter, (sorted, is_newest), view));
            prop_assert_eq!(page(found.expect("a page")), expected, "{} {:?}", source, sorted);

            let expected = search::sessions(&snapshot, &filter, request, &token).expect("a page");
            let found = stores.gathered(Gathering::sessions(shards, &filter, request));
            prop_assert_eq!(page(found.expect("a page")), expected, "sessions of {}", source);

            let spans = span_filter(&conditions);
            let request = SpanPageRequest { page: request, with_matches: flags & 16 == 16 };
            let search = if is_newest { search::newest_spans } else { search::spans };
            let expected = search(&snapshot, (&filter, &spans), request, &token).expect("a page");
            let found = stores.gathered(Gathering::spans(shards, (&filter, &spans), (request, is_newest)));
            prop_assert_eq!(page(found.expect("a page")), expected, "spans {} of {}", conditions, source);
        }
        for trace in 0..40_u64 {
            let (hex, span) = (format!("{:016x}{trace:016x}", 1), format!("{:016x}", 1));
            let (trace_id, span_id) = (TraceId::from_hex(&hex).expect("an id"), SpanId::from_hex(&span).expect("an id"));
            let filter = owned(compiled(&serde_json::Value::Null), (trace % 3 == 0).then_some(1));
            let shard = [stores.shards[stores.map.shard_of(trace_id)].snapshot()];
            let look_up = |mut search: Gathering| match super::gathered(&mut search, &shard).expect("a result") {
                (Found::Trace(found), _) => found,
                other => panic!("expected a trace, found {other:?}"),
            };
            let expected = search::trace(&snapshot, trace_id, &filter, Detail::Full).expect("a result");
            prop_assert_eq!(look_up(Gathering::trace(&hex, &filter, "full", false)), expected);
            let expected = search::span(&snapshot, trace_id, span_id, &filter, Some(5)).expect("a result");
            prop_assert_eq!(look_up(Gathering::span(&hex, &span, &filter, Some(5))), expected);
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
        let mut search = Gathering::runs(stores.map.shards(), &all, (request, false), view);
        let (found, rounds) = stores.gathered_in_rounds(&mut search).expect("a page");
        assert_eq!(page(found), search::runs(&snapshot, &all, request, view, &token).expect("a page"));
        assert_eq!(rounds, expected_rounds, "page {number}");
    }
}
