//! Searches over many traces (page 1 of 20 with the exact total), facets, and ingest.
//!
//! Every result is checked before it is timed. The store comes from `store.rs`.

#[path = "store.rs"]
mod store;

use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use spanwise::filter::Filter;
use spanwise::query::{self, CancellationToken, Detail, FacetRequest, PageRequest, Sort};
use store::traces::{Random, Shape, request};
use store::{SEED, ingest, open, private_memory, shape, stored};

const FIRST_PAGE: PageRequest = PageRequest { page: 1, limit: 20, sort: Sort::NEWEST_FIRST };

/// The name, the filter, and the range of matching traces per thousand.
const QUERIES: [(&str, &str, (u64, u64)); 16] = [
    ("match_all", "{}", (1_000, 1_000)),
    ("status_error", r#"{"op":"EQ","key":"status","value":"ERROR"}"#, (48, 52)),
    ("agent", r#"{"op":"EQ","key":"agent_id","value":"agent-07"}"#, (20, 50)),
    (
        "five_agents",
        r#"{"op":"IN","key":"agent_id","values":["agent-03","agent-07","agent-11","agent-19","agent-42"]}"#,
        (90, 200),
    ),
    ("slow", r#"{"op":"GT","key":"duration_ms","value":10000}"#, (5, 15)),
    ("not_slow", r#"{"op":"LTE","key":"duration_ms","value":1000}"#, (400, 600)),
    (
        "one_hour",
        r#"{"op":"AND","conditions":[{"op":"GTE","key":"start_time","value":"2026-01-10T10:00:00Z"},
            {"op":"LT","key":"start_time","value":"2026-01-10T11:00:00Z"}]}"#,
        (1, 2),
    ),
    (
        "seven_days",
        r#"{"op":"AND","conditions":[{"op":"GTE","key":"start_time","value":"2026-01-10"},
            {"op":"LT","key":"start_time","value":"2026-01-17"}]}"#,
        (230, 237),
    ),
    ("name_contains", r#"{"op":"CONTAINS","key":"name","value":"_2.run"}"#, (0, 300)),
    ("user_contains", r#"{"op":"CONTAINS","key":"user_id","value":"0042"}"#, (0, 30)),
    ("session_contains", r#"{"op":"CONTAINS","key":"session_id","value":"0042"}"#, (0, 30)),
    ("run_prefix", r#"{"op":"STARTSWITH","key":"run_id","value":"run-0a"}"#, (3, 5)),
    ("not_user", r#"{"op":"NEQ","key":"user_id","value":"user-000042@example.com"}"#, (990, 1_000)),
    (
        "mix",
        r#"{"op":"AND","conditions":[{"op":"OR","conditions":[{"op":"EQ","key":"status","value":"ERROR"},
            {"op":"GT","key":"duration_ms","value":5000}]},
            {"op":"IN","key":"agent_id","values":["agent-03","agent-07","agent-11"]},
            {"op":"NOT","condition":{"op":"CONTAINS","key":"name","value":"run_3"}},
            {"op":"STARTSWITH","key":"user_id","value":"user-00"}]}"#,
        (1, 30),
    ),
    (
        "wide_or",
        r#"{"op":"OR","conditions":[
            {"op":"AND","conditions":[{"op":"EQ","key":"agent_id","value":"agent-01"},{"op":"EQ","key":"status","value":"ERROR"}]},
            {"op":"AND","conditions":[{"op":"EQ","key":"agent_id","value":"agent-02"},{"op":"GT","key":"duration_ms","value":4000}]},
            {"op":"AND","conditions":[{"op":"EQ","key":"agent_id","value":"agent-03"},{"op":"CONTAINS","key":"name","value":"run_1"}]},
            {"op":"AND","conditions":[{"op":"EQ","key":"agent_id","value":"agent-04"},{"op":"LT","key":"duration_ms","value":100}]}]}"#,
        (1, 100),
    ),
    ("created", r#"{"op":"GT","key":"end_time","value":"2026-01-20T12:34:56Z"}"#, (300, 400)),
];

fn searches(criterion: &mut Criterion) {
    let shape = shape();
    let store = stored(&shape);
    let snapshot = store.snapshot();
    let token = CancellationToken::default();
    let mut group = criterion.benchmark_group(format!("search_{}", shape.traces));
    group.sample_size(20).measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(500));
    for (name, source, (min, max)) in QUERIES {
        let filter = Filter::compile(source.as_bytes()).expect("a good filter");
        let page = query::runs(&snapshot, &filter, FIRST_PAGE, Detail::Full, &token).expect("a page");
        let range = shape.traces * min / 1_000..=shape.traces * max / 1_000;
        assert!(range.contains(&page.total_count), "{name}: {}", page.total_count);
        for (page_name, request) in [
            ("first", FIRST_PAGE),
            ("deep", PageRequest { page: 5_000, limit: 20, sort: Sort::NEWEST_FIRST }),
        ] {
            group.bench_function(format!("{name}/{page_name}"), |bencher| {
                bencher.iter(|| query::ids(&snapshot, &filter, request, &token).expect("a page"));
            });
        }
    }
    group.bench_function("full_page", |bencher| {
        bencher.iter(|| {
            query::runs(&snapshot, &Filter::all(), FIRST_PAGE, Detail::Full, &token).expect("a page")
        });
    });
    for name in ["match_all", "status_error", "mix"] {
        let source = QUERIES.iter().find(|query| query.0 == name).expect("a query").1;
        let filter = Filter::compile(source.as_bytes()).expect("a good filter");
        group.bench_function(format!("sessions_{name}"), |bencher| {
            bencher.iter(|| query::sessions(&snapshot, &filter, FIRST_PAGE, &token).expect("a page"));
        });
    }
    println!("{}", private_memory());
    group.finish();
    store.close().expect("a clean end");
}

/// The name, the filter, and the user whose traces are counted.
const COUNTED: [(&str, &str, Option<&str>); 4] = [
    ("match_all", "{}", None),
    ("agent", r#"{"op":"EQ","key":"agent_id","value":"agent-07"}"#, None),
    ("name_contains", r#"{"op":"CONTAINS","key":"name","value":"_2.run"}"#, None),
    ("match_all_of_one_user", "{}", Some("user-000042@example.com")),
];

fn facets(criterion: &mut Criterion) {
    const FIELDS: [&str; 8] =
        ["status", "user_id", "agent_id", "team_id", "workflow_id", "session_id", "run_id", "name"];
    let shape = shape();
    let store = stored(&shape);
    let snapshot = store.snapshot();
    let token = CancellationToken::default();
    let mut group = criterion.benchmark_group(format!("facets_{}", shape.traces));
    group.sample_size(20).measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(500));
    for (name, source, user) in COUNTED {
        let mut filter = Filter::compile(source.as_bytes()).expect("a good filter");
        if let Some(user) = user {
            filter = filter.restrict("user_id", user).expect("a text");
        }
        let counted = |fields: &[&str]| {
            let request = FacetRequest::new(fields, 20).expect("fields");
            query::facets(&snapshot, &filter, request, &token).expect("facets")
        };
        let total = query::ids(&snapshot, &filter, FIRST_PAGE, &token).expect("a page").total_count;
        assert_eq!(counted(&FIELDS).matched, total, "{name}");
        assert!(total > 0, "{name}");
        group.bench_function(format!("{name}/eight"), |bencher| bencher.iter(|| counted(&FIELDS)));
        for field in FIELDS {
            group.bench_function(format!("{name}/{field}"), |bencher| bencher.iter(|| counted(&[field])));
        }
    }
    group.finish();
    store.close().expect("a clean end");
}

fn ingests(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(folder.path());
    let shape = Shape { traces: 100_000, spans_per_trace: 6 };
    let mut random = Random::new(SEED);
    let spans = 100 * shape.spans_per_trace;
    let mut group = criterion.benchmark_group("ingest");
    group.sample_size(20).throughput(Throughput::Elements(spans));
    group.bench_function("durable_100_traces_of_6_spans", |bencher| {
        bencher.iter_custom(|rounds| {
            let bodies: Vec<Vec<u8>> = (0..rounds).map(|_| request(&shape, &mut random, 100)).collect();
            let begun = Instant::now();
            for body in bodies {
                assert_eq!(ingest(&store, body), spans);
            }
            begun.elapsed()
        });
    });
    group.finish();
    store.close().expect("a clean end");
}

criterion_group!(benches, searches, facets, ingests);
criterion_main!(benches);
