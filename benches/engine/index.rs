//! Filters over the index of one segment with a million rows: the whole row set, then pages 1 and 5,000 of
//! 20. Prints the minimum time of many runs, which other work on the machine affects least.

#[path = "traces.rs"]
#[allow(dead_code, reason = "only its numbers are projection here")]
mod traces;

use std::hint::black_box;
use std::time::{Duration, Instant};

use arrow_buffer::Buffer;
use spanwise::bitmap::RowSet;
use spanwise::filter::Filter;
use spanwise::index::columns::{Index, Projection, build};
use spanwise::otlp::TraceId;
use spanwise::trace::TraceRow;
use spanwise::trace::row::to_batch;
use traces::Random;

const ROWS: u64 = 1_000_000;
/// 2026-01-01, and 30 days, in microseconds.
const EPOCH: i64 = 1_767_225_600_000_000;
const THIRTY_DAYS: u64 = 30 * 86_400 * 1_000_000;

fn row(random: &mut Random) -> TraceRow {
    let id = [random.next().to_be_bytes(), random.next().to_be_bytes()].concat();
    let start_time = EPOCH + random.below(THIRTY_DAYS).cast_signed();
    let duration_ms =
        (random.below(1_000) * random.below(1_000) * random.below(1_000) / 50_000).cast_signed();
    let session = random.below(ROWS / 8);
    let agent = random.below(50) * random.below(50) / 50;
    TraceRow {
        trace_id: TraceId::from_bytes(&id).expect("not all zero"),
        is_error: random.below(100) < 5,
        name: format!("Agent_{agent}.run_{}", random.below(4)),
        run_id: Some(format!("run-{:016x}", random.next())),
        session_id: Some(format!("session-{session:08}")),
        user_id: Some(format!("user-{:06}@example.com", session % (ROWS / 50))),
        agent_id: Some(format!("agent-{agent:02}")),
        team_id: None,
        workflow_id: None,
        service: None,
        environment: None,
        release: None,
        start_time,
        end_time: start_time + duration_ms * 1_000,
        created_at: start_time + 1_000_000,
        duration_ms,
        total_spans: 1,
        error_count: 0,
        input_tokens: 0,
        output_tokens: 0,
        total_tokens: 0,
        cached_tokens: 0,
        reasoning_tokens: 0,
        llm_calls: 0,
        tool_calls: 0,
    }
}

fn indexed() -> Index {
    let mut random = Random::new(7);
    let mut rows: Vec<TraceRow> = (0..ROWS).map(|_| row(&mut random)).collect();
    rows.sort_unstable_by(TraceRow::newest_first);
    let batch = to_batch(&rows);
    let locations: Vec<u64> = (0..ROWS).map(|row| row * 700).collect();
    let begun = Instant::now();
    let mut content = Vec::new();
    build(&batch, [&locations, &locations, &locations], "rows", &mut content).expect("an index");
    println!("built in {:?}, {} bytes a row", begun.elapsed(), content.len() as u64 / ROWS);
    Index::open(Buffer::from_vec(content), "rows").expect("an index")
}

/// Returns the minimum time of many runs, and the last result.
fn least<T>(mut work: impl FnMut() -> T) -> (Duration, T) {
    const MIN_DURATION: Duration = Duration::from_millis(300);
    let (begun, mut best, mut last, mut rounds) = (Instant::now(), Duration::MAX, work(), 0);
    while begun.elapsed() < MIN_DURATION || rounds < 20 {
        rounds += 1;
        let start = Instant::now();
        last = black_box(work());
        best = best.min(start.elapsed());
    }
    (best, last)
}

fn main() {
    let index = indexed();
    let queries = [
        ("match all", "{}"),
        ("status", r#"{"op":"EQ","key":"status","value":"ERROR"}"#),
        ("run", r#"{"op":"EQ","key":"run_id","value":"run-0123456789abcdef"}"#),
        ("trace", r#"{"op":"EQ","key":"trace_id","value":"0123456789abcdef0123456789abcdef"}"#),
        (
            "five agents",
            r#"{"op":"IN","key":"agent_id","values":["agent-03","agent-07","agent-11","agent-19","agent-42"]}"#,
        ),
        ("slowest", r#"{"op":"GT","key":"duration_ms","value":10000}"#),
        ("slower half", r#"{"op":"GT","key":"duration_ms","value":1300}"#),
        (
            "seven days",
            r#"{"op":"AND","conditions":[{"op":"GTE","key":"start_time","value":"2026-01-10"},
                {"op":"LT","key":"start_time","value":"2026-01-17"}]}"#,
        ),
        ("name contains", r#"{"op":"CONTAINS","key":"name","value":"_2.run"}"#),
        ("user contains", r#"{"op":"CONTAINS","key":"user_id","value":"0042"}"#),
        ("session contains", r#"{"op":"CONTAINS","key":"session_id","value":"0042"}"#),
        ("run prefix", r#"{"op":"STARTSWITH","key":"run_id","value":"run-0a"}"#),
        ("not user", r#"{"op":"NEQ","key":"user_id","value":"user-000042@example.com"}"#),
        ("end time", r#"{"op":"GT","key":"end_time","value":"2026-01-20T12:34:56Z"}"#),
        (
            "errors of three agents",
            r#"{"op":"AND","conditions":[{"op":"EQ","key":"status","value":"ERROR"},
                {"op":"IN","key":"agent_id","values":["agent-03","agent-07","agent-11"]}]}"#,
        ),
        (
            "mix",
            r#"{"op":"AND","conditions":[{"op":"OR","conditions":[{"op":"EQ","key":"status","value":"ERROR"},
                {"op":"GT","key":"duration_ms","value":5000}]},
                {"op":"IN","key":"agent_id","values":["agent-03","agent-07","agent-11"]},
                {"op":"NOT","condition":{"op":"CONTAINS","key":"name","value":"run_3"}},
                {"op":"STARTSWITH","key":"user_id","value":"user-00"}]}"#,
        ),
        (
            "wide or",
            r#"{"op":"OR","conditions":[
                {"op":"AND","conditions":[{"op":"EQ","key":"agent_id","value":"agent-01"},{"op":"EQ","key":"status","value":"ERROR"}]},
                {"op":"AND","conditions":[{"op":"EQ","key":"agent_id","value":"agent-02"},{"op":"GT","key":"duration_ms","value":4000}]},
                {"op":"AND","conditions":[{"op":"EQ","key":"agent_id","value":"agent-03"},{"op":"CONTAINS","key":"name","value":"run_1"}]},
                {"op":"AND","conditions":[{"op":"EQ","key":"agent_id","value":"agent-04"},{"op":"LT","key":"duration_ms","value":100}]}]}"#,
        ),
    ];
    for (name, source) in queries {
        let filter = Filter::compile(source.as_bytes()).expect("a good filter");
        assert!(index.is_sound(filter.projection(Projection::SORT_KEY)));
        let page = |rows: &RowSet, rank: usize| -> u64 {
            let first = rows.select(rank);
            first.map_or(0, |first| rows.from(first).take(20).map(u64::from).sum())
        };
        let (set, rows) = least(|| filter.rows(&index, &|| false).expect("not cancelled"));
        let (first, _) = least(|| page(&rows, 0));
        let (deep, _) = least(|| page(&rows, 99_980));
        println!(
            "{name:24} {:>8} rows in {set:>10.1?}, page 1 in {first:>8.1?}, page 5,000 in {deep:>8.1?}",
            rows.count()
        );
    }
}
