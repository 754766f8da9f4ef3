//! The captured exports: what went in comes out.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use spanwise::otlp::{TraceId, wire};
use spanwise::trace::{Span, Trace, TraceRow, detail};

/// When the captures are said to have been received: microseconds since 1970.
const RECEIVED: i64 = 1_790_000_000_000_000;

#[derive(Deserialize)]
struct Manifest {
    files: Vec<CapturedFile>,
}

#[derive(Deserialize)]
pub(super) struct CapturedFile {
    pub(super) file: String,
    pub(super) case: String,
    pub(super) framework: String,
    content_type: String,
    content_encoding: String,
    derived: bool,
    spans: usize,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/otlp")
}

pub(super) fn files() -> Vec<CapturedFile> {
    let manifest = fs::read(folder().join("manifest.json")).expect("the manifest");
    let manifest: Manifest = serde_json::from_slice(&manifest).expect("a manifest");
    manifest.files.into_iter().filter(|file| !file.derived).collect()
}

pub(super) fn spans(file: &CapturedFile) -> Vec<Arc<Span>> {
    let body = fs::read(folder().join(&file.file)).expect("a capture");
    let mut plain = Vec::new();
    match file.content_encoding.as_str() {
        "gzip" => flate2::read::GzDecoder::new(&body[..]).read_to_end(&mut plain).expect("gzip"),
        "deflate" => flate2::read::ZlibDecoder::new(&body[..]).read_to_end(&mut plain).expect("deflate"),
        _ => (&body[..]).read_to_end(&mut plain).expect("a body"),
    };
    if file.content_type.contains("json") {
        return Vec::new();
    }
    let wires = wire::split(Bytes::from(plain)).expect("trace data");
    wires.into_iter().map(|wire| Arc::new(Span::from_wire(wire).expect("a span"))).collect()
}

#[test]
fn show() {
    let mut traces: BTreeMap<TraceId, Trace> = BTreeMap::new();
    for file in files() {
        for span in spans(&file) {
            let trace = traces.entry(span.trace_id).or_insert_with(|| Trace::new(span.trace_id, RECEIVED));
            *trace = trace.with([span]);
        }
    }
    for trace in traces.values() {
        let mut out = Vec::new();
        detail::write_trace(&mut out, trace).unwrap();
        println!("{}", String::from_utf8_lossy(&out));
        let _: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let _ = TraceRow::of(trace);
    }
}
