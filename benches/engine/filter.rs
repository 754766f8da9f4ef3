//! Compiles filters and evaluates them over a batch of a million traces.
//!
//! | filter | tests |
//! |---|---|
//! | `status` | one of two values, in a dictionary |
//! | `contains_user` | text in a dictionary of 10,000 |
//! | `contains_trace` | plain text with distinct values |
//! | `duration` | a range of numbers |
//! | `mixed` | `AND`, `OR`, `NOT` over four fields |

use std::hint::black_box;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Int32Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use arrow_schema::{Field, Schema};
use criterion::{Criterion, criterion_group, criterion_main};
use spanwise::filter::Filter;

const ROWS: usize = 1_000_000;
const SEED: u64 = 0x5eed;
const USERS: i32 = 10_000;
const DAY: i64 = 86_400_000_000;

/// A filter's name, its source, and a predicate for matching rows.
type Case = (&'static str, &'static str, fn(&Row) -> bool);

const FILTERS: [Case; 5] = [
    ("status", r#"{"op":"EQ","key":"status","value":"ERROR"}"#, |row| row.failed),
    ("contains_user", r#"{"op":"CONTAINS","key":"user_id","value":"R-99"}"#, |row| {
        row.user.is_some_and(|user| format!("user-{user}").contains("r-99"))
    }),
    ("contains_trace", r#"{"op":"CONTAINS","key":"trace_id","value":"BEEF"}"#, |row| {
        row.trace.contains("beef")
    }),
    (
        "duration",
        r#"{"op":"AND","conditions":[{"op":"GTE","key":"duration_ms","value":500},{"op":"LT","key":"duration_ms","value":750.5}]}"#,
        |row| (500..=750).contains(&row.duration),
    ),
    (
        "mixed",
        r#"{"op":"AND","conditions":[
            {"op":"OR","conditions":[{"op":"EQ","key":"status","value":"ERROR"},{"op":"GT","key":"duration_ms","value":9000}]},
            {"op":"NOT","condition":{"op":"STARTSWITH","key":"user_id","value":"user-1"}},
            {"op":"GTE","key":"start_time","value":"1970-01-02"}]}"#,
        |row| {
            let other_user = row.user.is_some_and(|user| !format!("user-{user}").starts_with("user-1"));
            (row.failed || row.duration > 9_000) && other_user && row.start >= DAY
        },
    ),
];

struct Row {
    failed: bool,
    user: Option<i32>,
    trace: String,
    duration: i64,
    start: i64,
}

/// Returns the next number of a fixed sequence (splitmix64).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[allow(clippy::cast_possible_wrap, clippy::cast_possible_truncation, reason = "remainders are small")]
fn rows() -> Vec<Row> {
    let mut state = SEED;
    let row = |_| {
        let (one, other) = (next(&mut state), next(&mut state));
        Row {
            failed: one % 10 == 0,
            user: (other % 8 != 0).then_some((one % USERS as u64) as i32),
            trace: format!("{one:016x}{other:016x}"),
            duration: (other % 10_000) as i64,
            start: (one % (4 * DAY as u64)) as i64,
        }
    };
    (0..ROWS).map(row).collect()
}

fn batch(rows: &[Row]) -> RecordBatch {
    let coded = |codes: Int32Array, values: StringArray| -> ArrayRef {
        Arc::new(DictionaryArray::<Int32Type>::new(codes, Arc::new(values)))
    };
    let users: StringArray = (0..USERS).map(|user| Some(format!("user-{user}"))).collect();
    let columns: [(&str, ArrayRef); 5] = [
        (
            "status",
            coded(
                rows.iter().map(|row| Some(i32::from(row.failed))).collect(),
                StringArray::from(vec!["OK", "ERROR"]),
            ),
        ),
        ("user_id", coded(rows.iter().map(|row| row.user).collect(), users)),
        ("trace_id", Arc::new(rows.iter().map(|row| Some(&row.trace)).collect::<StringArray>())),
        ("duration_ms", Arc::new(rows.iter().map(|row| Some(row.duration)).collect::<Int64Array>())),
        (
            "start_time",
            Arc::new(rows.iter().map(|row| Some(row.start)).collect::<TimestampMicrosecondArray>()),
        ),
    ];
    let fields = columns.iter().map(|(key, column)| Field::new(*key, column.data_type().clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    RecordBatch::try_new(schema, columns.into_iter().map(|(_, column)| column).collect()).expect("a batch")
}

fn compile(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("filter/compile");
    for (name, source, _) in FILTERS {
        group.bench_function(name, |bencher| {
            bencher.iter(|| Filter::compile(black_box(source.as_bytes())).expect("a valid filter"));
        });
    }
}

fn mask(criterion: &mut Criterion) {
    let rows = rows();
    let batch = batch(&rows);
    let mut group = criterion.benchmark_group("filter/mask");
    group.sample_size(20);
    for (name, source, matches) in FILTERS {
        let filter = Filter::compile(source.as_bytes()).expect("a valid filter");
        let expected = rows.iter().filter(|row| matches(row)).count();
        assert_eq!(filter.mask(&batch).expect("a mask").true_count(), expected, "{name}");
        assert!(expected > 0, "{name} finds something");
        group.bench_function(name, |bencher| bencher.iter(|| filter.mask(black_box(&batch))));
    }
}

criterion_group!(benches, compile, mask);
criterion_main!(benches);
