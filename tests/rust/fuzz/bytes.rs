//! What comes from outside: request bodies, filters, and the shapes of traces.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use spanwise::error::Error;
use spanwise::filter::Filter;
use spanwise::otlp::{self, TraceId, wire};
use spanwise::storage::SnapshotPart;
use spanwise::trace::tree::Forest;
use spanwise::trace::{Span, Trace, detail};

use super::{contents_of, fuzz};
use crate::spans::{EPOCH, MILLISECOND, export, failed, span, with};

/// What the service takes in it must be able to keep, replay and show.
fn assert_takes(body: &[u8], content_type: &str) {
    let now = EPOCH + 365 * 86_400_000 * MILLISECOND;
    let export = match otlp::decode(Bytes::copy_from_slice(body), content_type, None, now) {
        Ok(export) => export,
        Err(Error::Decode(_) | Error::TooLarge(_)) => return,
        Err(fault) => panic!("{fault}"),
    };
    assert_eq!(export.rejected == 0, export.reason.is_empty());
    let joined = wire::join(export.spans.iter().map(|span| &span.wire));
    let mut kept = wire::split(joined.into()).expect("what was joined");
    let mut sent: Vec<_> = export.spans.iter().map(|span| span.wire.clone()).collect();
    kept.sort();
    sent.sort();
    assert_eq!(kept, sent);
    let mut traces = std::collections::BTreeMap::<TraceId, Vec<_>>::new();
    for accepted in export.spans {
        let again = Span::from_wire(accepted.wire.clone()).expect("a replay refuses nothing");
        assert_eq!((again.trace_id, again.span_id), (accepted.trace_id, accepted.span_id));
        traces
            .entry(accepted.trace_id)
            .or_default()
            .push(Arc::new(Span::from_wire(accepted.wire).expect("an accepted span")));
    }
    for (trace_id, spans) in traces {
        assert_shown(&Trace::new(trace_id, 0).with(spans));
    }
}

/// A trace is shown whole, as JSON, with every span in one place.
fn assert_shown(trace: &Trace) {
    let forest = Forest::of(trace.spans());
    let mut level = forest.roots().to_vec();
    let mut shown = 0;
    while !level.is_empty() {
        shown += level.len();
        level = forest.level_below(&level);
    }
    assert_eq!(shown, trace.spans().len());
    let mut json = Vec::new();
    detail::write_trace(&mut json, trace).expect("a trace that is shown");
    serde_json::from_slice::<serde::de::IgnoredAny>(&json).expect("JSON");
    let document = Trace::from_document(trace.trace_id, 0, trace.document().into()).expect("a document");
    assert_eq!(document.spans().len(), trace.spans().len());
}

fn captures(suffix: &str) -> Vec<Vec<u8>> {
    let mut captures = contents_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/otlp"), suffix);
    captures.retain(|capture| capture.len() < 8_192);
    captures
}

#[test]
fn otlp_protobuf() {
    fuzz("otlp-protobuf", captures(".pb"), |body| assert_takes(body, "application/x-protobuf"));
}

#[test]
fn otlp_json() {
    fuzz("otlp-json", captures("-01.json"), |body| assert_takes(body, "application/json"));
}

#[test]
fn filter() {
    let spans = [with(span(1, 1, 0), "session.id", "ärger"), failed(span(2, 1, 5), "no"), span(3, 1, 9)];
    let traces = export(&spans).spans.into_iter().map(|accepted| {
        let trace_id = accepted.trace_id;
        Trace::new(trace_id, 7).with([Arc::new(Span::from_wire(accepted.wire).expect("an accepted span"))])
    });
    let rows = SnapshotPart::of_traces(traces.collect()).batch().expect("rows in memory");
    fuzz("filter", Vec::new(), |source| {
        let Ok(filter) = Filter::compile(source) else { return };
        let canonical = filter.canonical();
        let again = Filter::compile(canonical.as_bytes()).expect("the canonical form of a filter");
        assert_eq!(again.canonical(), canonical);
        let mask = filter.mask(&rows).expect("the columns of a store");
        assert_eq!(mask, again.mask(&rows).expect("the columns of a store"));
        let own = filter.restrict("session_id", "ärger").expect("a field").mask(&rows).expect("columns");
        assert!(own.iter().zip(mask.iter()).all(|(own, all)| own != Some(true) || all == Some(true)));
    });
}

#[test]
fn forest() {
    // Four bytes a span: its id, its parent's, when it starts and how long it takes.
    fuzz("forest", Vec::new(), |shape| {
        let spans: Vec<_> = shape
            .chunks_exact(4)
            .take(512)
            .map(|bytes| {
                let mut made = span(1, u64::from(bytes[0]) + 1, u64::from(bytes[2]));
                if bytes[1] > 0 {
                    made.parent_span_id = u64::from(bytes[1]).to_be_bytes().to_vec().into();
                }
                made.end_time_unix_nano = u64::from(bytes[3]) * MILLISECOND * 1_000_000_000;
                made
            })
            .collect();
        let Some(first) = spans.first() else { return };
        let trace_id = export(std::slice::from_ref(first)).spans.first().map(|span| span.trace_id);
        let spans = export(&spans)
            .spans
            .into_iter()
            .map(|accepted| Arc::new(Span::from_wire(accepted.wire).expect("an accepted span")));
        if let Some(trace_id) = trace_id {
            assert_shown(&Trace::new(trace_id, 0).with(spans));
        }
    });
}
