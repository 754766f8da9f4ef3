//! Golden files for the captured traces, reviewed by hand: `tests/cases/traces/`.
//!
//! There is one file per captured case. It has the row of each trace, its input, output and error, and its
//! tree without times and `extra_data`. A text over 200 characters is stored as its start and its length.
//! `SPANWISE_BLESS=1 cargo test golden` rewrites the files; review the difference.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json, json};
use spanwise::trace::{Trace, TraceRow};

use super::captures::{CapturedCase, Captures};
use super::made::detail_of;

/// Cases that repeat another case, or are too large to review.
const NOT_READ: [&str; 3] = ["-large", "many-spans", "-gzip"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/traces")
}

fn shortened(value: &Json) -> Json {
    match value {
        Json::String(text) if text.chars().count() > 200 => {
            let beginning: String = text.chars().take(80).collect();
            json!(format!("{beginning}… ({} characters)", text.chars().count()))
        }
        Json::Array(items) => items.iter().map(shortened).collect(),
        Json::Object(members) => {
            Json::Object(members.iter().map(|(key, value)| (key.clone(), shortened(value))).collect())
        }
        plain => plain.clone(),
    }
}

fn kept(from: &Json, keys: &[&str]) -> Map<String, Json> {
    let present = keys.iter().filter(|key| !from[**key].is_null());
    present.map(|key| ((*key).to_owned(), shortened(&from[*key]))).collect()
}

fn tree(nodes: &Json) -> Json {
    let node = |node: &Json| {
        let keys = ["type", "name", "status", "input", "output", "error", "step_type", "metadata"];
        let mut shown = kept(node, &keys);
        if !node["spans"].is_null() {
            shown.insert("spans".into(), tree(&node["spans"]));
        }
        Json::Object(shown)
    };
    nodes.as_array().into_iter().flatten().map(node).collect()
}

fn golden(trace: &Trace) -> Json {
    let detail = detail_of(trace);
    let row = TraceRow::of(trace);
    let mut golden = kept(
        &detail,
        &[
            "trace_id",
            "name",
            "status",
            "start_time",
            "end_time",
            "total_spans",
            "error_count",
            "run_id",
            "session_id",
            "user_id",
            "agent_id",
            "team_id",
            "workflow_id",
            "input",
            "output",
            "error",
        ],
    );
    golden.insert("duration_ms".into(), json!(row.duration_ms));
    golden.insert("input_tokens".into(), json!(row.input_tokens));
    golden.insert("output_tokens".into(), json!(row.output_tokens));
    golden.insert("tree".into(), tree(&detail["tree"]));
    Json::Object(golden)
}

fn path(case: &CapturedCase) -> PathBuf {
    folder().join(format!("{}-{}.json", case.framework, case.case))
}

#[test]
fn captured_traces_equal_their_golden_files() {
    let is_blessing = std::env::var_os("SPANWISE_BLESS").is_some();
    let mut read = 0;
    for (case, traces) in Captures::read().cases {
        if NOT_READ.iter().any(|word| case.case.contains(word)) {
            continue;
        }
        let mut traces: Vec<&Trace> = traces.values().collect();
        traces.sort_by(|one, other| TraceRow::of(one).start_time.cmp(&TraceRow::of(other).start_time));
        let actual_traces: Vec<Json> = traces.into_iter().map(golden).collect();
        read += actual_traces.len();
        if is_blessing {
            let text = serde_json::to_string_pretty(&actual_traces).expect("JSON");
            fs::write(path(&case), format!("{text}\n")).expect("a golden file");
        }
        let golden =
            fs::read(path(&case)).unwrap_or_else(|error| panic!("{}: {error}", path(&case).display()));
        let golden: Vec<Json> = serde_json::from_slice(&golden).expect("golden traces");
        for (actual, golden) in actual_traces.iter().zip(&golden) {
            assert_eq!(actual, golden, "{} {}", case.framework, case.case);
        }
        assert_eq!(actual_traces.len(), golden.len(), "{} {}", case.framework, case.case);
    }
    assert!(read >= 40, "only {read} traces were read");
}
