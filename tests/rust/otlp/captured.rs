//! Captured requests of real programs are accepted completely.

use std::collections::BTreeSet;
use std::path::PathBuf;

use bytes::Bytes;
use serde::Deserialize;
use spanwise::otlp::{self, wire};

use super::NOW_NANOS;

#[derive(Deserialize)]
struct Manifest {
    files: Vec<File>,
    totals: Totals,
}

#[derive(Deserialize)]
struct Totals {
    files: usize,
}

#[derive(Deserialize)]
pub(super) struct File {
    #[serde(rename = "file")]
    name: String,
    pub(super) content_type: String,
    pub(super) content_encoding: String,
    spans: usize,
    trace_ids: BTreeSet<String>,
}

impl File {
    pub(super) fn body(&self) -> Vec<u8> {
        std::fs::read(folder().join(&self.name)).expect("a captured export")
    }
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/otlp")
}

fn manifest() -> Manifest {
    let text = std::fs::read(folder().join("manifest.json")).expect("the manifest");
    serde_json::from_slice(&text).expect("a manifest as its README describes it")
}

pub(super) fn files() -> Vec<File> {
    manifest().files
}

#[test]
fn captured_requests_decode_to_the_spans_of_their_manifest() {
    let manifest = manifest();
    assert_eq!(manifest.files.len(), manifest.totals.files);
    for file in manifest.files {
        let body = Bytes::from(file.body());
        let export = otlp::decode(body, &file.content_type, Some(&file.content_encoding), NOW_NANOS)
            .unwrap_or_else(|error| panic!("{}: {error}", file.name));
        assert_eq!((export.rejected, export.reason.as_str()), (0, ""), "{}", file.name);
        assert_eq!(export.spans.len(), file.spans, "{}", file.name);
        let trace_ids = export.spans.iter().map(|span| span.trace_id.to_string()).collect::<BTreeSet<_>>();
        assert_eq!(trace_ids, file.trace_ids, "{}", file.name);
    }
}

#[test]
fn captured_spans_survive_join_and_split() {
    for file in files() {
        let export = otlp::decode(
            Bytes::from(file.body()),
            &file.content_type,
            Some(&file.content_encoding),
            NOW_NANOS,
        );
        let mut sent: Vec<_> =
            export.expect("a captured export").spans.into_iter().map(|span| span.wire).collect();
        let mut kept = wire::split(wire::join(&sent).into()).expect("what was joined");
        sent.sort();
        kept.sort();
        assert_eq!(kept, sent, "{}", file.name);
    }
}
