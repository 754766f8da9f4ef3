//! The exports of instrumented frameworks as traces: `tests/frameworks`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use spanwise::otlp::{self, TraceId};
use spanwise::trace::{Span, Trace};

use super::made::RECEIVED;

/// A time after the capture of all exports, in nanoseconds since 1970. Spans of the future are rejected.
const NOW_NANOS: u64 = 4_000_000_000_000_000_000;

#[derive(Deserialize)]
struct Index {
    files: Vec<ExportFile>,
}

#[derive(Deserialize)]
struct ExportFile {
    file: String,
    case: String,
    signal: String,
    content_type: String,
    content_encoding: String,
}

/// Returns the traces of all frameworks, each with the names of its framework and case.
pub(super) fn traces() -> Vec<(String, Trace)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/frameworks");
    let folders = fs::read_dir(root).expect("the frameworks").map(|entry| entry.expect("a folder").path());
    let folders = folders.filter(|folder| folder.join("exports/index.json").exists());
    let traces: Vec<_> = folders.flat_map(|folder| traces_of(&folder)).collect();
    assert!(traces.len() > 250, "only {} traces were found", traces.len());
    traces
}

fn traces_of(folder: &Path) -> Vec<(String, Trace)> {
    let index = fs::read(folder.join("exports/index.json")).expect("an index");
    let index: Index = serde_json::from_slice(&index).expect("an index of exports");
    let name = folder.file_name().expect("a name").to_string_lossy();
    let mut traces: BTreeMap<(String, TraceId), Trace> = BTreeMap::new();
    for file in &index.files {
        let body = fs::read(folder.join("exports").join(&file.file)).expect("an export").into();
        let encoding = Some(&*file.content_encoding).filter(|encoding| *encoding != "identity");
        let case = format!("{name} {}", file.case);
        let mut extend = |trace_id, with: &dyn Fn(&Trace) -> Trace| {
            let trace = traces.entry((case.clone(), trace_id));
            let trace = trace.or_insert_with(|| Trace::new(trace_id, RECEIVED));
            *trace = with(trace);
        };
        if file.signal == "traces" {
            let export = otlp::decode(body, &file.content_type, encoding, NOW_NANOS).expect("an export");
            assert_eq!(export.rejected, 0, "{case}: {}", export.reason);
            for accepted in export.spans {
                let span = Arc::new(Span::from_wire(accepted.wire).expect("an accepted span"));
                extend(span.trace_id, &|trace| trace.with([span.clone()]));
            }
        } else {
            let logs = otlp::decode_logs(body, &file.content_type, encoding, NOW_NANOS).expect("an export");
            for fragment in logs.fragments {
                extend(fragment.trace_id, &|trace| trace.with_fragments([fragment.clone()]));
            }
        }
    }
    let with_spans = traces.into_iter().filter(|(_, trace)| !trace.spans().is_empty());
    with_spans.map(|((case, _), trace)| (case, trace)).collect()
}
