//! For random stores and filters, rows, totals, pages and sessions equal the results of the naive evaluator.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use proptest::prelude::*;
use spanwise::filter::Filter;
use spanwise::otlp::TraceId;
use spanwise::query::{self, CancellationToken, Detail, PageRequest, Sort};
use spanwise::storage::{Options, Snapshot, TraceStore};
use spanwise::trace::TraceRow;

use super::every_page;
use crate::filter::indexed::plain;
use crate::filter::laws::filters;
use crate::filter::layouts::TEXTS;
use crate::filter::oracle::truth;
use crate::support::spans::{failed, request, span, with};

/// An operation on a store: ingest of a span (its trace, and selectors of its texts and attributes), a flush,
/// a deletion of some traces, or a merge.
#[derive(Debug, Clone)]
pub(super) enum Operation {
    Span(u64, u8, u8),
    Seal,
    Delete(u64),
    Merge,
}

pub(super) fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let operation = prop_oneof![
        24 => (1..40_u64, any::<u8>(), any::<u8>()).prop_map(|(trace, text, kind)| Operation::Span(trace, text, kind)),
        3 => Just(Operation::Seal),
        1 => (2..9_u64).prop_map(Operation::Delete),
        1 => Just(Operation::Merge),
    ];
    prop::collection::vec(operation, 0..60)
}

pub(super) fn apply(store: &TraceStore, operation: &Operation) {
    match operation {
        Operation::Span(trace, text, kind) => {
            let made = span(*trace, u64::from(kind % 3) + 1, u64::from(kind % 5));
            let mut made = with(made, "openinference.span.kind", "CHAIN");
            let keys = ["session.id", "user.id", "agno.agent.id", "agno.run.id"];
            for (index, key) in keys.into_iter().enumerate().filter(|(index, _)| kind >> index & 1 == 1) {
                made = with(made, key, TEXTS[(usize::from(*text) + index) % TEXTS.len()]);
            }
            TEXTS[usize::from(*text) % TEXTS.len()].clone_into(&mut made.name);
            let made = if kind & 64 == 0 { made } else { failed(made, "broken") };
            store.ingest(request(&[made])).expect("ingested");
        }
        Operation::Seal => store.flush().expect("sealed"),
        Operation::Delete(one_in) => {
            let ids: Vec<String> =
                (0..40).step_by(usize::try_from(*one_in).expect("few")).map(trace_id).collect();
            let filter = serde_json::json!({"op": "IN", "key": "trace_id", "values": ids}).to_string();
            let filter = Filter::compile(filter.as_bytes()).expect("a good filter");
            store.delete(&filter, false).expect("deleted");
        }
        Operation::Merge => store.compact(false).expect("merged"),
    }
}

fn trace_id(trace: u64) -> String {
    format!("{:016x}{trace:016x}", 1)
}

/// Returns the rows of the traces of a snapshot, computed from their documents, in result order.
pub(super) fn rows(snapshot: &Snapshot) -> Vec<TraceRow> {
    let ids = (0..40).map(|trace| TraceId::from_hex(&trace_id(trace)).expect("an id"));
    let rows_of_ids = ids.filter_map(|id| {
        let (part, row) = snapshot.find(id)?;
        Some(TraceRow::of(&snapshot.parts()[part].trace(row).expect("a readable document")))
    });
    let mut rows: Vec<TraceRow> = rows_of_ids.collect();
    rows.sort_by(TraceRow::newest_first);
    rows
}

/// Returns the sessions of `rows` with their numbers of traces, in result order.
fn sessions(rows: &[&TraceRow]) -> Vec<(String, Option<String>, u64)> {
    let mut by_id: BTreeMap<(&str, Option<&str>), (u64, i64)> = BTreeMap::new();
    for row in rows {
        let Some(session) = &row.session_id else { continue };
        let (count, last) = by_id.entry((session, row.user_id.as_deref())).or_insert((0, i64::MIN));
        (*count, *last) = (*count + 1, row.start_time.max(*last));
    }
    let mut sessions: Vec<_> = by_id.into_iter().collect();
    sessions.sort_by_key(|(id, (_, last))| (Reverse(*last), *id));
    let owned = |((id, user), (count, _)): ((&str, Option<&str>), _)| {
        (id.to_owned(), user.map(ToOwned::to_owned), count)
    };
    sessions.into_iter().map(owned).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_page_equals_the_naive_evaluator(
        operations in operations(), filters in prop::collection::vec(filters(), 6), limit in 1..7_usize,
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().to_str().expect("a path");
        let store = TraceStore::open(path, Options::default()).expect("a store");
        for operation in &operations {
            apply(&store, operation);
            // Each later state reuses the session numbers of the state before.
            if !matches!(operation, Operation::Span(..)) {
                let snapshot = store.snapshot();
                let all = rows(&snapshot);
                let request = PageRequest { page: 1, limit, sort: Sort::NEWEST_FIRST };
                let page = query::sessions(&snapshot, &Filter::all(), request, &CancellationToken::default());
                let expected = sessions(&all.iter().collect::<Vec<_>>()).len() as u64;
                prop_assert_eq!(page.expect("a page").total_count, expected);
            }
        }
        let snapshot = store.snapshot();
        let rows = rows(&snapshot);
        for source in filters {
            let filter = Filter::compile(source.to_string().as_bytes()).expect("a good filter");
            let token = CancellationToken::default();
            let matching: Vec<&TraceRow> =
                rows.iter().filter(|row| truth(&source, &plain(row)) == Some(true)).collect();
            let shown = every_page(limit, |request: PageRequest| {
                query::runs(&snapshot, &filter, request, Detail::Summary, &token).expect("a page")
            });
            let shown: Vec<&str> = shown.iter().map(|item| item["trace_id"].as_str().expect("an id")).collect();
            let expected: Vec<String> = matching.iter().map(|row| row.trace_id.to_string()).collect();
            prop_assert_eq!(&shown, &expected, "{}", source);
            let ids = every_page(limit, |request: PageRequest| {
                query::ids(&snapshot, &filter, request, &token).expect("a page")
            });
            prop_assert_eq!(ids, expected, "{}", source);
            prop_assert_eq!(store.delete(&filter, true).expect("counted"), matching.len() as u64);
            let shown = every_page(limit, |request: PageRequest| {
                query::sessions(&snapshot, &filter, request, &token).expect("a page")
            });
            let text = |item: &serde_json::Value, key: &str| item[key].as_str().map(ToOwned::to_owned);
            let shown: Vec<(String, Option<String>, u64)> = shown
                .iter()
                .map(|item| {
                    let total = item["total_traces"].as_u64().expect("a count");
                    (text(item, "session_id").expect("an id"), text(item, "user_id"), total)
                })
                .collect();
            prop_assert_eq!(shown, sessions(&matching), "{}", source);
        }
    }
}
