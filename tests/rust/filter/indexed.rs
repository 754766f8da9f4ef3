//! A filter matches the same rows with an index as with a batch, according to the naive evaluator.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::json;
use spanwise::filter::{Filter, Indexes};
use spanwise::index::columns::{Index, Projection, build};
use spanwise::otlp::TraceId;
use spanwise::schema::{Field, STATUSES};
use spanwise::trace::TraceRow;
use spanwise::trace::row::to_batch;

use super::laws::filters;
use super::layouts::{TEXTS, TIMES};
use super::oracle::{Cell, Row, truth};
use super::{compiled, mask};
use crate::support::random::Random;

const NUMBERS: [i64; 12] =
    [0, 1, 2, -1, 3, 45, 1_000, 70_000, 1 << 40, 9_007_199_254_740_993, i64::MAX, i64::MIN];

/// Returns rows in the order of a segment. A smaller `variety` gives fewer distinct texts.
pub(super) fn rows(count: usize, variety: u64, seed: u64) -> Vec<TraceRow> {
    let mut random = Random::new(seed);
    let mut rows: Vec<TraceRow> = (0..count).map(|_| row(variety, &mut random)).collect();
    rows.sort_unstable_by(TraceRow::newest_first);
    rows
}

fn row(variety: u64, random: &mut Random) -> TraceRow {
    let mut text = |may_miss: bool| {
        let pick = usize::try_from(random.below(variety + u64::from(may_miss))).expect("few");
        let known = TEXTS.get(pick).map(|text| (*text).to_owned());
        (pick as u64 != variety).then(|| known.unwrap_or_else(|| format!("text-{pick}")))
    };
    let [user_id, agent_id, team_id, workflow_id, session_id, run_id] = [(); 6].map(|()| text(true));
    let [service, environment, release] = [(); 3].map(|()| text(true));
    let name = text(false).unwrap_or_default();
    let mut number = || NUMBERS[usize::try_from(random.below(NUMBERS.len() as u64)).expect("few")];
    let [duration_ms, input_tokens, output_tokens, total_tokens] = [(); 4].map(|()| number());
    let [cached_tokens, reasoning_tokens, llm_calls, tool_calls] = [(); 4].map(|()| number());
    let mut time = || {
        let nanos = TIMES[usize::try_from(random.below(TIMES.len() as u64)).expect("few")].1;
        i64::try_from(nanos.div_euclid(1_000)).expect("an instant")
    };
    let [start_time, end_time, created_at] = [(); 3].map(|()| time());
    let mut id = [0; 16];
    id[..8].copy_from_slice(&random.next().to_be_bytes());
    id[15] = 1;
    TraceRow {
        trace_id: TraceId::from_bytes(&id).expect("not all zero"),
        is_error: random.below(20) == 0,
        name,
        run_id,
        session_id,
        user_id,
        agent_id,
        team_id,
        workflow_id,
        service,
        environment,
        release,
        start_time,
        end_time,
        created_at,
        duration_ms,
        total_spans: 1,
        error_count: 0,
        input_tokens,
        output_tokens,
        total_tokens,
        cached_tokens,
        reasoning_tokens,
        llm_calls,
        tool_calls,
    }
}

pub(super) fn indexed(rows: &[TraceRow]) -> Index {
    let mut content = Vec::new();
    let places: Vec<u64> = (0..rows.len() as u64).collect();
    build(&to_batch(rows), [&places, &places, &places], "rows", &mut content).expect("an index");
    let index = Index::open(arrow_buffer::Buffer::from_vec(content), "rows").expect("an index");
    assert!(index.is_sound(Projection::DOCUMENTS));
    index
}

/// A row for the naive evaluator.
#[derive(Clone)]
pub(crate) struct Plain(BTreeMap<&'static str, Cell>);

impl Row for Plain {
    fn cell(&self, key: &str) -> Option<&Cell> {
        self.0.get(key)
    }
}

pub(crate) fn plain(row: &TraceRow) -> Plain {
    let texts = [
        ("user_id", row.user_id.clone()),
        ("agent_id", row.agent_id.clone()),
        ("team_id", row.team_id.clone()),
        ("workflow_id", row.workflow_id.clone()),
        ("session_id", row.session_id.clone()),
        ("run_id", row.run_id.clone()),
        ("service", row.service.clone()),
        ("environment", row.environment.clone()),
        ("release", row.release.clone()),
        ("name", Some(row.name.clone())),
        ("trace_id", Some(row.trace_id.to_string())),
        ("status", Some(STATUSES[usize::from(row.is_error)].to_owned())),
    ];
    let mut cells: BTreeMap<_, _> =
        texts.into_iter().filter_map(|(key, text)| Some((key, Cell::Text(text?)))).collect();
    for (key, number) in [
        ("duration_ms", row.duration_ms),
        ("total_spans", row.total_spans),
        ("error_count", row.error_count),
        ("input_tokens", row.input_tokens),
        ("output_tokens", row.output_tokens),
        ("total_tokens", row.total_tokens),
        ("cached_tokens", row.cached_tokens),
        ("reasoning_tokens", row.reasoning_tokens),
        ("llm_calls", row.llm_calls),
        ("tool_calls", row.tool_calls),
    ] {
        cells.insert(key, Cell::Whole(i128::from(number)));
    }
    for (key, micros) in
        [("start_time", row.start_time), ("end_time", row.end_time), ("created_at", row.created_at)]
    {
        cells.insert(key, Cell::Instant(i128::from(micros) * 1_000));
    }
    Plain(cells)
}

fn found(filter: &Filter, index: &Index) -> Vec<bool> {
    assert!(index.is_sound(filter.projection(Projection::SORT_KEY)));
    let rows = filter.rows(index, &|| false).expect("not cancelled");
    let found: Vec<bool> = (0..index.rows()).map(|row| rows.contains(row)).collect();
    assert_eq!(found.iter().filter(|found| **found).count(), rows.count());
    let mut last = None;
    for row in rows.from(0) {
        assert!(last < Some(row), "rows ascend, each once");
        last = Some(row);
    }
    for most in [0, 9, rows.count(), found.len()] {
        if let Some((soon, read)) = filter.try_cheap_rows(index, most) {
            assert!(read <= most && soon.from(0).eq(rows.from(0)), "{read} rows read, {most} allowed");
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn index_rows_equal_the_naive_evaluator(
        count in prop_oneof![Just(0_usize), 1..80_usize],
        variety in 1..30_u64,
        seed in any::<u64>(),
        filters in prop::collection::vec(filters(), 8),
    ) {
        let rows = rows(count, variety, seed);
        let index = indexed(&rows);
        let cells: Vec<Plain> = rows.iter().map(plain).collect();
        for filter in filters {
            let naive: Vec<bool> = cells.iter().map(|row| truth(&filter, row) == Some(true)).collect();
            let compiled = compiled(&filter.to_string());
            prop_assert_eq!(found(&compiled, &index), naive.clone(), "{}", filter);
            for (row, expected) in (0..).zip(&naive) {
                let holds = compiled.verifier(Indexes::from(&index)).holds(row, || panic!("no condition is on spans"));
                prop_assert_eq!(holds.expect("decided"), *expected, "{} of {}", filter, row);
            }
        }
    }
}

/// Enough rows for every type of plan: frequent values, long lists, zones of instants.
#[test]
fn index_rows_of_a_large_segment_equal_its_mask() {
    use proptest::strategy::ValueTree as _;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    for (count, variety) in [(9_000, 3), (9_000, 40), (9_000, 5_000)] {
        let rows = rows(count, variety, variety);
        let (batch, index) = (to_batch(&rows), indexed(&rows));
        for _ in 0..300 {
            let filter = filters().new_tree(&mut runner).expect("a filter").current();
            let compiled = compiled(&filter.to_string());
            assert_eq!(found(&compiled, &index), mask(&compiled, &batch), "{filter}");
        }
    }
}

/// Enough values that a text search in them is evaluated last, on few or no remaining rows.
#[test]
fn what_takes_long_to_look_up_is_found_among_few_rows_and_many() {
    let rows = rows(50_000, 1 << 40, 11);
    let (batch, index) = (to_batch(&rows), indexed(&rows));
    let some = &rows[31_000];
    let text = some.run_id.clone().expect("a text");
    let id = some.trace_id.to_string();
    let ids: Vec<String> = rows.iter().step_by(170).map(|row| row.trace_id.to_string()).collect();
    let texts: Vec<&String> = rows.iter().step_by(90).filter_map(|row| row.run_id.as_ref()).collect();
    let numbers: Vec<i64> = (0..400).map(|number| 3 * number).collect();
    let soon = [
        json!({"op": "EQ", "key": "trace_id", "value": id}),
        json!({"op": "EQ", "key": "duration_ms", "value": -77}),
        json!({"op": "LT", "key": "name", "value": &some.name[..6]}),
        json!({"op": "EQ", "key": "status", "value": "ERROR"}),
        json!({"op": "EXISTS", "key": "name"}),
    ];
    let late = [
        json!({"op": "CONTAINS", "key": "run_id", "value": &text[5..7]}),
        json!({"op": "EQ", "key": "session_id", "value": some.session_id, "ignore_case": true}),
        json!({"op": "IN", "key": "run_id", "values": texts}),
        json!({"op": "CONTAINS", "key": "trace_id", "value": &id[3..5]}),
        json!({"op": "IN", "key": "trace_id", "values": ids}),
        json!({"op": "IN", "key": "duration_ms", "values": numbers}),
    ];
    let not = |condition: &serde_json::Value| json!({"op": "NOT", "condition": condition});
    let join = |op: &str, conditions: [&serde_json::Value; 2]| json!({"op": op, "conditions": conditions});
    for soon in &soon {
        for (place, one) in late.iter().enumerate() {
            let other = &late[(place + 1) % late.len()];
            for source in [
                join("AND", [soon, one]),
                join("AND", [soon, &not(one)]),
                join("OR", [soon, &not(one)]),
                join("AND", [&not(soon), &join("OR", [one, other])]),
                join("OR", [soon, &join("AND", [one, &not(other)])]),
                not(&join("AND", [&join("OR", [soon, one]), other])),
            ] {
                let filter = compiled(&source.to_string());
                assert_eq!(found(&filter, &index), mask(&filter, &batch), "{source}");
            }
        }
    }
}

#[test]
fn ids_of_a_large_segment_are_found_by_their_pieces_in_any_case() {
    let rows = rows(9_001, 50, 5);
    let (batch, index) = (to_batch(&rows), indexed(&rows));
    let some = rows[8_500].trace_id.to_string();
    for operator in ["CONTAINS", "STARTSWITH", "EQ", "NEQ"] {
        for value in
            [&some[..], &some[..4], &some[3..9], &some.to_uppercase(), "ab", "AB", "zz", "\u{212a}", ""]
        {
            for ignore_case in [true, false] {
                let condition =
                    json!({"op": operator, "key": "trace_id", "value": value, "ignore_case": ignore_case});
                for source in [condition.clone(), json!({"op": "NOT", "condition": condition})] {
                    let filter = compiled(&source.to_string());
                    let found = found(&filter, &index);
                    assert_eq!(found, mask(&filter, &batch), "{source}");
                }
            }
        }
    }
}

#[test]
fn a_cancelled_search_finds_no_rows() {
    let index = indexed(&rows(9_000, 40, 7));
    let filter = compiled(
        r#"{"op":"OR","conditions":[{"op":"CONTAINS","key":"name","value":"a"},{"op":"AND","conditions":[
            {"op":"EQ","key":"status","value":"ERROR"},{"op":"NOT","condition":{"op":"EXISTS","key":"user_id"}}]}]}"#,
    );
    let cancelled_at_call = |call: usize| {
        let calls = std::cell::Cell::new(0);
        let is_cancelled = || calls.replace(calls.get() + 1) >= call;
        (filter.rows(&index, &is_cancelled).map(|rows| rows.count()), calls.get())
    };
    let (all, times) = cancelled_at_call(usize::MAX);
    assert!(all.is_some_and(|count| count > 0));
    assert!(times > 6, "every part checks, {times} times in all");
    for call in 0..times {
        assert_eq!(cancelled_at_call(call).0, None);
    }
    assert_eq!(cancelled_at_call(times).0, all);
}

#[test]
fn truncated_foreign_and_damaged_indexes_are_rejected() {
    let rows = rows(300, 20, 7);
    let mut content = Vec::new();
    let places: Vec<u64> = (0..300).collect();
    build(&to_batch(&rows), [&places, &places, &places], "rows", &mut content).expect("an index");
    let opened =
        |content: &[u8], identity| Index::open(arrow_buffer::Buffer::from_vec(content.to_vec()), identity);
    let everything = spanwise::schema::FIELDS
        .iter()
        .fold(Projection::SORT_KEY.with(Projection::DOCUMENTS), |projection, info| {
            projection.and(info.field)
        });
    let is_sound = |index: Index| index.is_sound(everything);
    assert!(opened(&content, "rows").is_some_and(is_sound));
    assert!(opened(&content, "other rows").is_none());
    for length in (0..content.len()).step_by(97) {
        assert!(opened(&content[..length], "rows").is_none(), "cut to {length} bytes");
    }
    let mut silent = 0;
    for place in (0..content.len()).step_by(13) {
        let mut flipped = content.clone();
        flipped[place] ^= 1 << (place % 8);
        // Padding between two sections belongs to no section.
        silent += usize::from(opened(&flipped, "rows").is_some_and(is_sound));
        assert!(flipped[place] != content[place]);
    }
    let padding = content.len() / 13 / 4;
    assert!(silent < padding, "{silent} flipped bits of {} were not found", content.len() / 13);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Ids are found by interpolation search, even if they share their first bytes or cluster at either end.
    #[test]
    fn every_id_is_found_in_any_distribution(count in 0..900_usize, shape in 0..5_u32, seed: u64) {
        let mut random = Random::new(seed);
        let mut draw = |place: usize| {
            let (high, low) = match shape {
                0 => (random.next(), random.next()),
                1 => (7, random.next()),
                2 => (place as u64, 1),
                3 => (u64::MAX - place as u64, 1),
                _ => (random.next() >> random.below(64), 1),
            };
            TraceId::from_bytes(&[high.to_be_bytes(), low.to_be_bytes()].concat())
        };
        let mut rows = rows(count, 3, seed);
        for (place, row) in rows.iter_mut().enumerate() {
            row.trace_id = draw(place).unwrap_or(row.trace_id);
        }
        let absent: Vec<TraceId> = (0..count).filter_map(|place| draw(place + count)).collect();
        let index = indexed(&rows);
        for row in &rows {
            let found = index.find(row.trace_id).map(|found| rows[found as usize].trace_id);
            prop_assert_eq!(found, Some(row.trace_id));
        }
        for id in &absent {
            let expected = rows.iter().any(|row| row.trace_id == *id);
            prop_assert_eq!(index.find(*id).is_some(), expected);
        }
        let mut wanted: Vec<TraceId> = rows.iter().map(|row| row.trace_id).chain(absent).collect();
        wanted.sort_by_cached_key(|_| random.next());
        let mut found = Vec::new();
        index.ids().find_each(&wanted, |row| found.push(rows[row as usize].trace_id));
        wanted.retain(|id| index.find(*id).is_some());
        found.sort_unstable();
        wanted.sort_unstable();
        prop_assert_eq!(found, wanted);
    }

    #[test]
    fn every_text_of_many_is_found(
        count in prop_oneof![Just(0_usize), 1..700_usize],
        variety in prop_oneof![1..30_u64, 1_000..2_000_u64],
        seed: u64,
    ) {
        let rows = rows(count, variety, seed);
        let index = indexed(&rows);
        let texts = index.texts(Field::RunId).expect("a column of texts");
        let mut random = Random::new(seed);
        let absent = TEXTS.iter().map(|text| (*text).to_owned()).chain((0..variety).map(|pick| format!("text-{pick}-")));
        let mut wanted: Vec<String> = rows.iter().filter_map(|row| row.run_id.clone()).chain(absent).collect();
        wanted.sort_by_cached_key(|_| random.next());
        let bytes: Vec<&[u8]> = wanted.iter().map(String::as_bytes).collect();
        let mut found = Vec::new();
        texts.find_each(&bytes, |code| found.push(texts.value(code)));
        let known: BTreeSet<&[u8]> = rows.iter().filter_map(|row| row.run_id.as_deref()).map(str::as_bytes).collect();
        let expected: Vec<&[u8]> = bytes.into_iter().filter(|text| known.contains(text)).collect();
        prop_assert_eq!(found, expected);
    }
}
