//! The largest traces of any shape are written without recursion.

use std::sync::Arc;

use prost::Message as _;
use spanwise::otlp::{Origin, WireSpan, proto};
use spanwise::trace::tree::Forest;
use spanwise::trace::{MAX_SPANS, Span, Trace, detail};

use super::made::{RECEIVED, detail_of, message, nodes, span, text, trace_id};

const SPANS: u64 = MAX_SPANS as u64;

/// Returns the deepest nesting of braces and brackets outside strings; panics if they do not match.
fn depth(json: &[u8]) -> usize {
    let mut open = Vec::new();
    let mut deepest = 0;
    let mut bytes = json.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => {
                while let Some(byte) = bytes.next().filter(|byte| **byte != b'"') {
                    if *byte == b'\\' {
                        bytes.next();
                    }
                }
            }
            b'{' | b'[' => open.push(byte + 2),
            b'}' | b']' => assert_eq!(open.pop(), Some(*byte)),
            _ => {}
        }
        deepest = deepest.max(open.len());
    }
    assert!(open.is_empty(), "{} left open", open.len());
    deepest
}

/// Writes a trace of the maximum number of spans, with the given parents, on a small stack.
fn write(parent: fn(u64) -> u64) -> Vec<u8> {
    let work = move || {
        let spans: Vec<_> = (1..=SPANS).map(|id| span(&message(id, parent(id), id))).collect();
        let trace = Trace::new(trace_id(), RECEIVED).with(spans);
        let mut out = Vec::new();
        detail::write_trace(&mut out, &trace).expect("a readable trace");
        out
    };
    let thread = std::thread::Builder::new().stack_size(256 * 1024).spawn(work).expect("a thread");
    thread.join().expect("no overflow")
}

fn count_nodes(json: &[u8]) -> usize {
    memchr::memmem::find_iter(json, br#""id":""#).count()
}

#[test]
fn a_chain_of_a_hundred_thousand_spans_does_not_recurse() {
    let chain = write(|id| id - 1);
    assert_eq!((count_nodes(&chain), depth(&chain)), (MAX_SPANS, 2 * MAX_SPANS + 1));
}

#[test]
fn a_fan_of_a_hundred_thousand_spans_is_written_completely() {
    let fan = write(|id| u64::from(id > 1));
    assert_eq!((count_nodes(&fan), depth(&fan)), (MAX_SPANS, 5));
}

#[test]
fn a_cycle_of_a_hundred_thousand_spans_is_cut_once() {
    let parent = |id: u64| if id == 1 { SPANS } else { id - 1 };
    let spans = (1..=SPANS).map(|id| span(&message(id, parent(id), SPANS - id)));
    let trace = Trace::new(trace_id(), RECEIVED).with(spans);
    let forest = Forest::of(trace.spans());
    assert_eq!(forest.roots(), [MAX_SPANS - 1], "the earliest");
    let levels = std::iter::successors(Some(forest.roots().to_vec()), |level| {
        Some(forest.level_below(level)).filter(|below| !below.is_empty())
    });
    assert_eq!(levels.count(), MAX_SPANS);
}

#[test]
fn repetition_of_a_large_resource_is_bounded() {
    const SIZE: usize = 1 << 20;
    let resource =
        proto::Resource { attributes: vec![text("notes", &"x".repeat(SIZE))], ..Default::default() };
    let origin = || Origin { resource: resource.encode_to_vec().into(), ..Origin::default() };
    let shared = Arc::new(origin());
    let spans = |origin: &dyn Fn() -> Arc<Origin>| {
        let wire = |id| WireSpan { bytes: message(id, id - 1, id).encode_to_vec().into(), origin: origin() };
        let spans = (1..=40).map(|id| Arc::new(Span::from_wire(wire(id)).expect("a span")));
        detail_of(&Trace::new(trace_id(), RECEIVED).with(spans))
    };
    let detail = spans(&|| shared.clone());
    let (whole, referring): (Vec<_>, Vec<_>) =
        nodes(&detail).into_iter().partition(|node| node["extra_data"]["resource"].is_object());
    assert_eq!(whole.len(), 1 + 15, "once, and as often again as fits into 16 MiB");
    assert_eq!(referring.len(), 40 - 16);
    assert!(referring.iter().all(|node| node["extra_data"]["resource_of"] == "0000000000000001"));
    assert_eq!(detail, spans(&|| Arc::new(origin())), "whether it came once or with each span");
}
