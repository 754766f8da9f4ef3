//! Queries: pages add up to all results in order, and sessions equal a naive grouping.

mod aggregate;
mod facets;
mod filtered;
mod leaves;
mod tail;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;
use spanwise::error::Error;
use spanwise::filter::Filter;
use spanwise::otlp::{self, SpanId, TraceId};
use spanwise::query::{self, CancellationToken, Detail, Page, PageRequest, Sort};
use spanwise::storage::{Options, TraceStore};
use tempfile::TempDir;

use crate::support::files::newest;
use crate::support::spans::{EPOCH, MILLISECOND, failed, request, span, with};

/// A trace with one span.
#[derive(Debug, Clone)]
struct Run {
    trace: u64,
    /// Milliseconds; few distinct values, so that ties are common.
    start: u64,
    /// Milliseconds.
    duration: u64,
    session: Option<u8>,
    user: Option<u8>,
    agent: Option<u8>,
    is_error: bool,
}

impl Run {
    fn span(&self) -> spanwise::otlp::proto::Span {
        let mut made = with(span(self.trace, 1, self.start), "openinference.span.kind", "CHAIN");
        made.end_time_unix_nano = made.start_time_unix_nano + self.duration * MILLISECOND;
        for (key, value) in
            [("session.id", self.session), ("user.id", self.user), ("agno.agent.id", self.agent)]
        {
            if let Some(number) = value {
                made = with(made, key, &format!("{key}-{number}"));
            }
        }
        if self.is_error { failed(made, "broken") } else { made }
    }

    fn trace_id(&self) -> String {
        format!("{:016x}{:016x}", 1, self.trace)
    }
}

fn runs() -> impl Strategy<Value = Vec<Run>> {
    let code = || proptest::option::of(0..4_u8);
    let run = (0..5_u64, prop_oneof![0..4_u64, 0..100_000_u64], code(), code(), code(), any::<bool>());
    proptest::collection::vec(run, 0..60).prop_map(|described| {
        let numbered = described.into_iter().zip(1..);
        numbered
            .map(|((start, duration, session, user, agent, is_error), trace)| Run {
                trace,
                start,
                duration,
                session,
                user,
                agent,
                is_error,
            })
            .collect()
    })
}

/// Returns a store with `runs`, some flushed and some in the head. Each chunk of `chunk` runs is one request.
/// Half-way, every `deleted_every`-th stored trace is deleted, and removed from `runs`.
fn stored(
    runs: &mut Vec<Run>,
    chunk: usize,
    flush_after: usize,
    deleted_every: u64,
) -> (TempDir, TraceStore) {
    let folder = tempfile::tempdir().expect("a folder");
    let store =
        TraceStore::open(folder.path().to_str().expect("a path"), Options::default()).expect("a store");
    let (size, half) = (chunk, runs.len() / chunk / 2);
    let mut deleted = Vec::new();
    for (number, chunk) in runs.chunks(chunk).enumerate() {
        if number == half && deleted_every > 1 {
            let before = runs[..number * size].iter().filter(|run| run.trace % deleted_every == 0);
            deleted = before.map(|run| run.trace).collect();
            let ids: Vec<String> = deleted.iter().map(|trace| format!("{:016x}{:016x}", 1, trace)).collect();
            let filter = serde_json::json!({"op": "IN", "key": "trace_id", "values": ids}).to_string();
            let filter = Filter::compile(filter.as_bytes()).expect("a good filter");
            assert_eq!(store.delete(&filter, false).expect("deleted"), deleted.len() as u64);
        }
        let spans: Vec<_> = chunk.iter().map(Run::span).collect();
        store.ingest(request(&spans)).expect("an acknowledgement");
        if number % (flush_after + 1) == flush_after {
            store.flush().expect("a seal");
        }
    }
    runs.retain(|run| !deleted.contains(&run.trace));
    (folder, store)
}

fn every_page(limit: usize, mut page_of: impl FnMut(PageRequest) -> Page) -> Vec<Value> {
    let mut items = Vec::new();
    for page in 1.. {
        let result = page_of(PageRequest { page, limit, sort: Sort::NEWEST_FIRST });
        let shown: Vec<Value> = serde_json::from_slice(&result.data).expect("a JSON array");
        assert!(shown.len() <= limit);
        if shown.is_empty() {
            assert_eq!(result.total_count, items.len() as u64);
            break;
        }
        items.extend(shown);
    }
    items
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn pages_of_runs_add_up_to_all_runs_in_order(
        mut runs in runs(), chunk in 1..20_usize, flush_after in 0..6_usize, limit in 1..8_usize, errors in any::<bool>(),
        deleted_every in 0..9_u64,
    ) {
        let (_folder, store) = stored(&mut runs, chunk, flush_after, deleted_every);
        let source = if errors { r#"{"op":"EQ","key":"status","value":"ERROR"}"# } else { "{}" };
        let filter = Filter::compile(source.as_bytes()).expect("a good filter");
        let snapshot = store.snapshot();
        let shown = every_page(limit, |request| {
            query::runs(&snapshot, &filter, request, Detail::Full, &CancellationToken::default()).expect("a page")
        });
        let mut expected: Vec<&Run> = runs.iter().filter(|run| !errors || run.is_error).collect();
        expected.sort_by_key(|run| (Reverse(run.start), run.trace_id()));
        let expected: Vec<String> = expected.into_iter().map(Run::trace_id).collect();
        let shown: Vec<&str> = shown.iter().map(|item| item["trace_id"].as_str().expect("an id")).collect();
        prop_assert_eq!(shown, expected);
    }

    #[test]
    fn sorted_pages_add_up_to_all_runs_in_the_order_of_their_values(
        mut runs in runs(), chunk in 1..20_usize, flush_after in 0..6_usize, limit in 1..8_usize, errors in any::<bool>(),
        deleted_every in 0..9_u64, key in prop::sample::select(vec!["start_time", "duration_ms", "error_count", "total_spans"]),
        ascending in any::<bool>(),
    ) {
        let (_folder, store) = stored(&mut runs, chunk, flush_after, deleted_every);
        let source = if errors { r#"{"op":"EQ","key":"status","value":"ERROR"}"# } else { "{}" };
        let filter = Filter::compile(source.as_bytes()).expect("a good filter");
        let snapshot = store.snapshot();
        let sort = Sort::by(key, ascending).expect("a key to sort by");
        let shown = every_page(limit, |request| {
            query::ids(&snapshot, &filter, request.sorted(sort), &CancellationToken::default()).expect("a page")
        });
        let value = |run: &Run| {
            let value = match key {
                "start_time" => run.start,
                "duration_ms" => run.duration,
                "error_count" => u64::from(run.is_error),
                _ => 1,
            };
            if ascending { i128::from(value) } else { -i128::from(value) }
        };
        let mut expected: Vec<&Run> = runs.iter().filter(|run| !errors || run.is_error).collect();
        expected.sort_by_key(|run| (value(run), Reverse(run.start), run.trace_id()));
        let expected: Vec<String> = expected.into_iter().map(Run::trace_id).collect();
        prop_assert_eq!(shown, expected);
    }

    #[test]
    fn pages_of_sessions_equal_a_naive_grouping(
        mut runs in runs(), chunk in 1..20_usize, flush_after in 0..6_usize, limit in 1..4_usize, errors in any::<bool>(),
        deleted_every in 0..9_u64,
    ) {
        let (_folder, store) = stored(&mut runs, chunk, flush_after, deleted_every);
        let source = if errors { r#"{"op":"EQ","key":"status","value":"ERROR"}"# } else { "{}" };
        let filter = Filter::compile(source.as_bytes()).expect("a good filter");
        let snapshot = store.snapshot();
        let shown = every_page(limit, |request| {
            query::sessions(&snapshot, &filter, request, &CancellationToken::default()).expect("a page")
        });
        runs.retain(|run| !errors || run.is_error);
        prop_assert_eq!(shown, grouped(&runs));
    }
}

#[test]
fn concurrent_searches_agree_on_session_numbers() {
    let code = |trace: u64| Some(u8::try_from(trace % 7).expect("few"));
    let mut runs: Vec<Run> = (1..=60)
        .map(|trace| Run {
            trace,
            start: trace % 5,
            duration: 0,
            session: code(trace),
            user: None,
            agent: code(trace * 3),
            is_error: false,
        })
        .collect();
    let (_folder, store) = stored(&mut runs, 10, 0, 0);
    let page = || {
        let request = PageRequest { page: 1, limit: 3, sort: Sort::NEWEST_FIRST };
        query::sessions(&store.snapshot(), &Filter::all(), request, &CancellationToken::default())
            .expect("a page")
    };
    let pages: Vec<Page> = std::thread::scope(|scope| {
        let searches: Vec<_> = (0..16).map(|_| scope.spawn(page)).collect();
        searches.into_iter().map(|search| search.join().expect("a page")).collect()
    });
    assert!(pages.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(pages[0].total_count, 7);
}

/// Returns the expected sessions of `runs`, grouped one run at a time.
fn grouped(runs: &[Run]) -> Vec<Value> {
    let mut sessions: BTreeMap<(String, Option<u8>), Vec<&Run>> = BTreeMap::new();
    for run in runs {
        if let Some(session) = run.session {
            sessions.entry((format!("session.id-{session}"), run.user)).or_default().push(run);
        }
    }
    let mut rows: Vec<(u64, Value)> =
        sessions.into_iter().map(|((session, _), runs)| row(&session, runs)).collect();
    // The sort is stable. For equal session ids, the session without a user is first.
    rows.sort_by_key(|(last, row)| (Reverse(*last), row["session_id"].to_string()));
    rows.into_iter().map(|(_, row)| row).collect()
}

fn row(session: &str, mut runs: Vec<&Run>) -> (u64, Value) {
    runs.sort_by_key(|run| (Reverse(run.start), run.trace_id()));
    let (last, first) = (runs[0].start, runs[runs.len() - 1].start);
    let mut row = serde_json::json!({
        "session_id": session,
        "total_traces": runs.len(),
        "first_trace_at": instant(first),
        "last_trace_at": instant(last),
    });
    if let Some(user) = runs.iter().find_map(|run| run.user) {
        row["user_id"] = format!("user.id-{user}").into();
    }
    let mut agents: Vec<String> = Vec::new();
    for agent in runs.iter().rev().filter_map(|run| run.agent) {
        let agent = format!("agno.agent.id-{agent}");
        if !agents.contains(&agent) {
            agents.push(agent);
        }
    }
    if !agents.is_empty() {
        row["agent_id"] = agents.join(", ").into();
    }
    (last, row)
}

fn instant(millis: u64) -> String {
    if millis == 0 { "2026-01-01T00:00:00Z".into() } else { format!("2026-01-01T00:00:00.{millis:03}000Z") }
}

#[test]
fn a_trace_that_the_filter_does_not_match_is_absent() {
    let own = Filter::all().restrict("user_id", "user.id-1").expect("a restriction");
    let foreign = Filter::all().restrict("user_id", "user.id-2").expect("a restriction");
    let span_id = SpanId::from_hex("0000000000000001").expect("an id");
    // In segments only, in both, and in the head only, with and without deletions.
    for (flush_after, deleted_every) in [0, 1, 2, 9].into_iter().flat_map(|after| [(after, 0), (after, 2)]) {
        let run = |trace| Run {
            trace,
            start: trace,
            duration: 0,
            session: None,
            user: Some(1),
            agent: None,
            is_error: false,
        };
        let mut runs: Vec<_> = (1..=4).map(run).collect();
        let traces: Vec<_> = runs.iter().map(Run::trace_id).collect();
        let (_folder, store) = stored(&mut runs, 1, flush_after, deleted_every);
        let snapshot = store.snapshot();
        for trace in traces {
            let is_there = runs.iter().any(|run| run.trace_id() == trace);
            let trace_id = TraceId::from_hex(&trace).expect("an id");
            assert_eq!(
                query::trace(&snapshot, trace_id, &own, Detail::Full).expect("a result").is_some(),
                is_there
            );
            assert_eq!(
                query::span(&snapshot, trace_id, span_id, &own, None).expect("a result").is_some(),
                is_there
            );
            assert_eq!(query::trace(&snapshot, trace_id, &foreign, Detail::Full).expect("no trace"), None);
            assert_eq!(query::span(&snapshot, trace_id, span_id, &foreign, None).expect("no span"), None);
        }
    }
    let folder = TempDir::new().expect("a folder");
    let empty =
        TraceStore::open(folder.path().to_str().expect("a path"), Options::default()).expect("a store");
    let trace_id = TraceId::from_hex(&"1".repeat(32)).expect("an id");
    assert_eq!(query::trace(&empty.snapshot(), trace_id, &own, Detail::Full).expect("no trace"), None);
}

#[test]
fn a_damaged_trace_is_marked_and_the_others_of_its_page_are_whole() {
    let run = |trace| Run {
        trace,
        start: trace,
        duration: 0,
        session: Some(1),
        user: Some(2),
        agent: None,
        is_error: trace == 2,
    };
    let (folder, store) = stored(&mut (1..=3).map(run).collect(), 3, 0, 9);
    let page = |level| {
        let request = PageRequest { page: 1, limit: 20, sort: Sort::NEWEST_FIRST };
        let token = CancellationToken::default();
        let page = query::runs(&store.snapshot(), &Filter::all(), request, level, &token).expect("a page");
        (serde_json::from_slice::<Vec<Value>>(&page.data).expect("JSON"), page.damage)
    };
    let whole = [Detail::Full, Detail::Summary].map(page);
    let documents = newest(&folder, "segments").join("spans.otlp.zst");
    let mut content = std::fs::read(&documents).expect("documents");
    let middle = content.len() / 2;
    content[middle] ^= 1;
    std::fs::write(&documents, content).expect("written");
    for ((items, _), level) in whole.iter().zip([Detail::Full, Detail::Summary]) {
        let (result, damage) = page(level);
        assert_eq!(result.len(), 3);
        assert!(damage.len() == 1 && damage[0].contains("spans.otlp.zst"), "{damage:?}");
        assert_eq!((&result[0], &result[2]), (&items[0], &items[2]));
        let mut expected = items[1].clone();
        let members = expected.as_object_mut().expect("an object");
        members.retain(|name, _| !["input", "output", "error", "cost"].contains(&name.as_str()));
        members.insert("damaged".into(), true.into());
        if level == Detail::Full {
            members.insert("tree".into(), Value::Array(Vec::new()));
            members.remove("cost"); // it is computed from the spans
        }
        assert_eq!(result[1], expected);
        let trace_id = TraceId::from_hex(expected["trace_id"].as_str().expect("an id")).expect("an id");
        let span_id = SpanId::from_hex("0000000000000001").expect("an id");
        let (snapshot, every) = (store.snapshot(), Filter::all());
        for result in [
            query::trace(&snapshot, trace_id, &every, Detail::Full),
            query::span(&snapshot, trace_id, span_id, &every, None),
        ] {
            assert!(matches!(result, Err(Error::Damage { .. })), "{result:?}");
        }
        let rest =
            query::damaged_trace(&snapshot, trace_id, &every, Detail::Full).expect("rows").expect("a trace");
        assert_eq!(serde_json::from_slice::<Value>(&rest).expect("JSON")["damaged"], true);
        let skeleton = |id, is_damaged| {
            let read = if is_damaged { query::damaged_trace } else { query::trace };
            let result = read(&snapshot, id, &every, Detail::Skeleton).expect("readable").expect("a trace");
            serde_json::from_slice::<Value>(&result).expect("JSON")
        };
        let whole_id = TraceId::from_hex(items[0]["trace_id"].as_str().expect("an id")).expect("an id");
        let (bare, whole) = (skeleton(trace_id, true), skeleton(whole_id, false));
        assert_eq!((&bare["damaged"], &bare["spans"]["span_id"]), (&true.into(), &Value::Array(Vec::new())));
        let columns =
            |of: &Value| of["spans"].as_object().expect("columns").keys().cloned().collect::<Vec<_>>();
        assert_eq!(columns(&bare), columns(&whole));
        let foreign = every.restrict("user_id", "user.id-1").expect("a restriction");
        assert_eq!(
            query::damaged_trace(&snapshot, trace_id, &foreign, Detail::Full).expect("no trace"),
            None
        );
        assert_eq!(query::span(&snapshot, trace_id, span_id, &foreign, None).expect("no span"), None);
    }
}

#[test]
fn a_cancelled_search_ends() {
    let run =
        Run { trace: 1, start: 0, duration: 0, session: None, user: None, agent: None, is_error: false };
    let (_folder, store) = stored(&mut vec![run], 1, 9, 0);
    let token = CancellationToken::default();
    token.cancel();
    let request = PageRequest { page: 1, limit: 20, sort: Sort::NEWEST_FIRST };
    let outcome = query::runs(&store.snapshot(), &Filter::all(), request, Detail::Full, &token);
    assert!(matches!(outcome, Err(Error::Cancelled)));
}

#[test]
fn golden_sessions() {
    let golden: Value =
        serde_json::from_str(include_str!("../../cases/sessions.json")).expect("golden cases");
    let (_folder, store) = stored(&mut Vec::new(), 1, 0, 0);
    let body = golden["request"].to_string();
    let export = otlp::decode(body.into(), "application/json", None, EPOCH + 60_000 * MILLISECOND);
    store.ingest(export.expect("a good request")).expect("an acknowledgement");
    for case in golden["cases"].as_array().expect("cases") {
        let filter = Filter::compile(case["filter"].to_string().as_bytes()).expect("a good filter");
        let page = case["page"].as_u64().unwrap_or(1);
        let limit = usize::try_from(case["limit"].as_u64().unwrap_or(20)).expect("a limit");
        let request = PageRequest { page, limit, sort: Sort::NEWEST_FIRST };
        let result = query::sessions(&store.snapshot(), &filter, request, &CancellationToken::default())
            .expect("a page");
        let rows: Value = serde_json::from_slice(&result.data).expect("a JSON array");
        assert_eq!(rows, case["sessions"], "{}", case["name"]);
        assert_eq!(result.total_count, case["total_count"].as_u64().expect("a total"), "{}", case["name"]);
    }
}
