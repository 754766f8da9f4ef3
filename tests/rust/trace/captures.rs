//! The captured requests of real programs: every span is shown, and no data is lost.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value as Json;
use spanwise::otlp::{self, TraceId};
use spanwise::trace::{Span, Trace};

use super::made::{RECEIVED, detail_of, nodes, otlp_json};

#[derive(Deserialize)]
struct Manifest {
    cases: Vec<CapturedCase>,
    files: Vec<CapturedFile>,
}

/// A captured program and its requests.
#[derive(Deserialize)]
pub(crate) struct CapturedCase {
    pub(super) framework: String,
    pub(super) case: String,
    pub(super) files: Vec<String>,
    traces: Vec<CapturedTrace>,
}

#[derive(Deserialize)]
struct CapturedTrace {
    trace_id: String,
    spans: usize,
    error_spans: usize,
}

#[derive(Deserialize)]
struct CapturedFile {
    file: String,
    content_type: String,
    content_encoding: String,
    derived: bool,
}

/// The captures, decoded: each case with its traces.
pub(crate) struct Captures {
    pub(crate) cases: Vec<(CapturedCase, BTreeMap<TraceId, Trace>)>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/otlp")
}

impl Captures {
    /// Returns all captures except those derived from others.
    pub(crate) fn read() -> Self {
        let manifest = fs::read(folder().join("manifest.json")).expect("the manifest");
        let manifest: Manifest = serde_json::from_slice(&manifest).expect("a manifest");
        let files: HashMap<_, _> =
            manifest.files.iter().filter(|file| !file.derived).map(|file| (&file.file, file)).collect();
        let mut cases = Vec::new();
        for case in manifest.cases {
            let Some(files) = case.files.iter().map(|name| files.get(name)).collect::<Option<Vec<_>>>()
            else {
                continue;
            };
            let mut traces = BTreeMap::new();
            for span in files.into_iter().flat_map(|file| spans(file)) {
                let trace: &mut Trace =
                    traces.entry(span.trace_id).or_insert_with(|| Trace::new(span.trace_id, RECEIVED));
                *trace = trace.with([span]);
            }
            cases.push((case, traces));
        }
        Self { cases }
    }
}

fn spans(file: &CapturedFile) -> Vec<Arc<Span>> {
    let body = fs::read(folder().join(&file.file)).expect("a capture");
    let encoding = Some(file.content_encoding.as_str());
    let now_nanos = RECEIVED.cast_unsigned() * 1_000;
    let export = otlp::decode(body.into(), &file.content_type, encoding, now_nanos).expect("an export");
    assert_eq!(export.rejected, 0, "{}: {}", file.file, export.reason);
    export
        .spans
        .into_iter()
        .map(|accepted| Arc::new(Span::from_wire(accepted.wire).expect("an accepted span")))
        .collect()
}

#[test]
fn every_captured_span_is_shown() {
    for (case, traces) in Captures::read().cases {
        assert_eq!(traces.len(), case.traces.len(), "{} {}", case.framework, case.case);
        for expected in case.traces {
            let trace_id = TraceId::from_hex(&expected.trace_id).expect("an id");
            let detail = detail_of(&traces[&trace_id]);
            let label = format!("trace {trace_id} of {} {}", case.framework, case.case);
            assert_eq!(nodes(&detail).len(), expected.spans, "{label}");
            assert_eq!(detail["total_spans"], expected.spans, "{label}");
            assert_eq!(detail["error_count"], expected.error_spans, "{label}");
        }
    }
}

#[test]
fn every_attribute_is_shown_in_its_member_or_in_extra_data() {
    for (case, traces) in Captures::read().cases {
        for trace in traces.values() {
            let detail = detail_of(trace);
            for node in nodes(&detail) {
                let id = otlp::SpanId::from_hex(node["id"].as_str().expect("an id")).expect("an id");
                let message = trace.span(id).expect("a span").message().expect("a message");
                for attribute in &message.attributes {
                    let value = attribute.value.as_ref().map_or(Json::Null, otlp_json);
                    let rest = &node["extra_data"]["attributes"][&attribute.key];
                    let metadata =
                        node["metadata"].as_object().into_iter().flat_map(|members| members.values());
                    let shown = ["type", "input", "output", "error", "step_type"].map(|key| &node[key]);
                    assert!(
                        *rest == value || metadata.chain(shown).any(|shown| *shown == value),
                        "`{}` of span {id} of {} {}",
                        attribute.key,
                        case.framework,
                        case.case
                    );
                }
            }
        }
    }
}
