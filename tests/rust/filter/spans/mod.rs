//! Laws of conditions on spans, texts and attributes, compared with a naive search of every text and every
//! pair of spans.

mod attributes;
mod conditions;
mod costs;
mod examples;
mod matches;
mod operations;
mod oracle;
mod rows;
pub(crate) mod said;
mod stored;

use proptest::prelude::*;
use serde_json::{Value, json};
use spanwise::bitmap::RowBlock;
use spanwise::filter::Filter;
use spanwise::otlp::TraceId;
use spanwise::query::{self, CancellationToken, PageRequest, Sort};
use spanwise::storage::{Snapshot, TraceStore};
use spanwise::trace::Trace;

use self::conditions::of_trace;
use self::operations::{TRACES, apply, id, operations, store_in};
use self::oracle::SeenTrace;
use super::compiled;

fn traces(snapshot: &Snapshot) -> Vec<Trace> {
    let found = (1..=TRACES).filter_map(|trace| snapshot.find(id(trace)));
    found.map(|(part, row)| snapshot.parts()[part].trace(row).expect("a readable document")).collect()
}

fn found(snapshot: &Snapshot, filter: &Filter) -> Vec<String> {
    let request = PageRequest { page: 1, limit: 100, sort: Sort::NEWEST_FIRST };
    let page = query::ids(snapshot, filter, request, &CancellationToken::default()).expect("a page");
    let mut ids: Vec<String> = serde_json::from_slice(&page.data).expect("ids");
    assert_eq!(ids.len() as u64, page.total_count);
    ids.sort_unstable();
    ids
}

/// Asserts that pages of a search that stops when they are full equal the pages of the whole search.
fn assert_newest(snapshot: &Snapshot, filter: &Filter, source: &Value) {
    let (level, token) = (query::Detail::Summary, CancellationToken::default());
    for page in 1..4 {
        let request = PageRequest { page, limit: 2, sort: Sort::NEWEST_FIRST };
        let whole = query::runs(snapshot, filter, request, level, &token).expect("a page");
        let newest = query::newest_runs(snapshot, filter, request, level, &token).expect("a page");
        assert_eq!(newest.data, whole.data, "page {page} of {source}");
        assert!(newest.total_count <= whole.total_count, "page {page} of {source}");
        if newest.is_exact {
            assert_eq!(newest.total_count, whole.total_count, "page {page} of {source}");
        } else {
            assert!(newest.total_count > 2 * page, "page {page} of {source}");
        }
    }
}

/// Asserts that the decisions of segment indexes are correct.
fn assert_decided(snapshot: &Snapshot, filter: &Filter, source: &Value) -> Result<(), TestCaseError> {
    for part in snapshot.parts() {
        let Some(indexes) = part.indexes(filter).expect("indexes") else { continue };
        let verifier = filter.verifier(indexes.of_filters());
        let rows: Vec<u32> = (0..).take(part.count()).collect();
        let decided = verifier.decide(&RowBlock::List(&rows));
        let every = u32::try_from(rows.len()).expect("few rows");
        prop_assert_eq!(&verifier.decide(&RowBlock::Range(0..every)), &decided, "{} of a range", source);
        // A range with an arbitrary start.
        let tail = RowBlock::Range(every / 3..every);
        let of_tail = verifier.decide(&tail);
        let thirds: Vec<u32> = rows.iter().copied().step_by(3).collect();
        let of_thirds = verifier.decide(&RowBlock::List(&thirds));
        for (all, tails, by_three) in [
            (&decided.matching, &of_tail.matching, &of_thirds.matching),
            (&decided.open, &of_tail.open, &of_thirds.open),
        ] {
            let expected: Vec<bool> = tail.iter().map(|row| all.contains(row as usize)).collect();
            let found: Vec<bool> = (0..tail.len()).map(|position| tails.contains(position)).collect();
            prop_assert_eq!(found, expected, "{} of the rest", source);
            let expected: Vec<bool> = thirds.iter().map(|row| all.contains(*row as usize)).collect();
            let found: Vec<bool> = (0..thirds.len()).map(|position| by_three.contains(position)).collect();
            prop_assert_eq!(found, expected, "{} of every third", source);
        }
        for row in rows {
            let truth = SeenTrace::of(&part.trace(row as usize).expect("readable")).truth(source);
            if !decided.open.contains(row as usize) {
                prop_assert_eq!(
                    decided.matching.contains(row as usize),
                    truth == Some(true),
                    "{} of {}",
                    source,
                    row
                );
            }
        }
    }
    Ok(())
}

/// Asserts that each filter and its negation match the naive search.
fn assert_found(store: &TraceStore, filters: &[Value]) -> Result<(), TestCaseError> {
    let snapshot = store.snapshot();
    let seen: Vec<(String, SeenTrace)> =
        traces(&snapshot).iter().map(|trace| (trace.trace_id.to_string(), SeenTrace::of(trace))).collect();
    for source in filters {
        let negated = json!({"op": "NOT", "condition": source});
        for source in [source, &negated] {
            let filter = compiled(&source.to_string());
            let matching = seen.iter().filter(|(_, trace)| trace.truth(source) == Some(true));
            let expected: Vec<&String> = matching.map(|(id, _)| id).collect();
            let ids = found(&snapshot, &filter);
            prop_assert_eq!(ids.iter().collect::<Vec<_>>(), expected.clone(), "{}", source);
            prop_assert_eq!(
                store.delete(&filter, true).expect("counted"),
                expected.len() as u64,
                "{}",
                source
            );
            assert_newest(&snapshot, &filter, source);
            assert_decided(&snapshot, &filter, source)?;
            // Evaluating single traces gives the same result.
            for (id, _) in &seen {
                let trace_id = TraceId::from_hex(id).expect("an id");
                let shown = query::trace(&snapshot, trace_id, &filter, query::Detail::Summary).expect("read");
                prop_assert_eq!(shown.is_some(), expected.contains(&id), "{} of {}", source, id);
            }
        }
    }
    Ok(())
}

/// The number of stores; `make test-slow` tests hundreds of thousands of filters.
fn cases() -> u32 {
    std::env::var("SPAN_CASES").map_or(60, |cases| cases.parse().expect("a number"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn what_is_found_equals_a_look_at_every_text_and_every_pair_of_spans(
        operations in operations(), filters in prop::collection::vec(of_trace(), 20),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().to_str().expect("a path");
        let open = |with_indexes| store_in(path, with_indexes);
        let mut store = open(true);
        // A repeated search uses the caches of the segments that still exist.
        for operations in operations.chunks(operations.len().div_ceil(2).max(1)) {
            for operation in operations {
                apply(&mut store, operation, &open);
            }
            assert_found(&store, &filters)?;
        }
        store.close().expect("closed");
        // Indexes are equal, whether they were built at a flush, built from documents or merged.
        let report = TraceStore::check(path).expect("a sound store");
        prop_assert_eq!(report.other_indexes, Vec::<String>::new());
    }

    #[test]
    fn the_printed_form_is_the_same_filter(source in of_trace()) {
        let printed = compiled(&source.to_string()).canonical();
        prop_assert_eq!(&compiled(&printed).canonical(), &printed);
    }
}
