//! Fragments of a trace: collected in any order, and shown as events of their spans.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value as Json;
use spanwise::otlp::proto;
use spanwise::trace::{Trace, TraceRow, detail};

use super::made::{RECEIVED, message, span, span_id, text, trace_id};
use spanwise::otlp::Fragment;

/// Returns the event `name` of span `id` at `time`, in nanoseconds since 1970, first in its request.
fn fragment(id: u64, time: u64, name: &str) -> Fragment {
    Fragment::new(trace_id(), span_id(id), &event(time, name), 0)
}

fn event(time: u64, name: &str) -> proto::span::Event {
    let attributes = vec![text("content", name)];
    proto::span::Event { time_unix_nano: time, name: name.into(), attributes, dropped_attributes_count: 0 }
}

/// An arrival for a trace: a span with its length, or an event with its time, name and position.
#[derive(Debug, Clone)]
enum Arrival {
    Span(u64, u64),
    Fragment(u64, u64, u8, u32),
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let arrival = prop_oneof![
        (1..5_u64, 0..3_u64).prop_map(|(id, length)| Arrival::Span(id, length)),
        (1..6_u64, 0..4_u64, 0..3_u8, 0..3_u32)
            .prop_map(|(id, time, name, position)| Arrival::Fragment(id, time, name, position)),
    ];
    vec(arrival, 0..24)
}

fn with(trace: &Trace, arrivals: &[Arrival]) -> Trace {
    arrivals.iter().fold(trace.clone(), |trace, arrival| match *arrival {
        Arrival::Span(id, length) => {
            let mut made = message(id, 0, 10 * id);
            made.end_time_unix_nano = 1_000 + length;
            trace.with([span(&made)])
        }
        Arrival::Fragment(id, time, name, position) => {
            let fragment = fragment(id, time, &format!("e{name}"));
            trace.with_fragments([Fragment { position, ..fragment }])
        }
    })
}

fn nothing() -> Trace {
    Trace::new(trace_id(), RECEIVED)
}

/// Returns all parts of a trace.
fn parts(trace: &Trace) -> (Vec<spanwise::otlp::WireSpan>, Vec<Fragment>) {
    (trace.spans().iter().map(|span| span.wire.clone()).collect(), trace.fragments().to_vec())
}

fn json(trace: &Trace) -> Json {
    let mut json = Vec::new();
    detail::write_trace(&mut json, trace).expect("a rendered trace");
    serde_json::from_slice(&json).expect("JSON")
}

proptest! {
    #[test]
    fn neither_order_nor_repetition_matters(
        all in arrivals().prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
        again in 0..24_usize,
    ) {
        let (once, mut shuffled) = all;
        shuffled.extend(once.iter().take(again).cloned());
        let (one, other) = (with(&nothing(), &once), with(&nothing(), &shuffled));
        prop_assert_eq!(parts(&one), parts(&other));
        prop_assert_eq!(one.document(), other.document());
        prop_assert_eq!(TraceRow::of(&one), TraceRow::of(&other));
        prop_assert_eq!(json(&one), json(&other));
    }

    #[test]
    fn merging_is_associative(one in arrivals(), two in arrivals(), three in arrivals()) {
        let merged = |left: &Trace, right: &Trace| {
            left.with(right.spans().iter().cloned()).with_fragments(right.fragments().iter().cloned())
        };
        let [one, two, three] = [one, two, three].map(|arrivals| with(&nothing(), &arrivals));
        let left = merged(&merged(&one, &two), &three);
        prop_assert_eq!(parts(&left), parts(&merged(&one, &merged(&two, &three))));
        prop_assert_eq!(parts(&merged(&left, &left)), parts(&left));
    }

    #[test]
    fn a_document_keeps_everything(all in arrivals()) {
        let trace = with(&nothing(), &all);
        let read = Trace::from_document(trace_id(), RECEIVED, trace.document().into()).expect("a document");
        prop_assert_eq!(parts(&read), parts(&trace));
        // Other readers of OTLP find only the spans.
        let known: proto::TracesData = prost::Message::decode(trace.document().as_slice()).expect("OTLP");
        let spans = known.resource_spans.iter().flat_map(|group| &group.scope_spans).flat_map(|group| &group.spans);
        prop_assert_eq!(spans.count(), trace.spans().len());
    }

    #[test]
    fn assembling_loses_no_event_of_a_span(all in arrivals()) {
        let trace = with(&nothing(), &all);
        let assembled = trace.assembled();
        for span in assembled.spans() {
            let events = span.message().expect("a span").events;
            prop_assert!(events.is_sorted_by_key(|event| event.time_unix_nano));
            prop_assert_eq!(events.len(), trace.fragments_of(span.span_id).len());
            // After an assembled trace is downloaded and sent again, every event is shown once.
            let again = assembled.with_fragments(trace.fragments().iter().cloned());
            prop_assert_eq!(json(&again), json(&trace));
        }
        if !trace.spans().is_empty() {
            prop_assert!(assembled.fragments().is_empty());
        }
    }

    #[test]
    fn a_row_knows_nothing_of_fragments(all in arrivals()) {
        let trace = with(&nothing(), &all);
        let spans: Vec<_> = all.iter().filter(|arrival| matches!(arrival, Arrival::Span(..))).cloned().collect();
        if !spans.is_empty() {
            prop_assert_eq!(TraceRow::of(&trace), TraceRow::of(&with(&nothing(), &spans)));
        }
    }
}

#[test]
fn fragments_are_shown_among_the_events_of_their_span() {
    let mut own = message(1, 0, 5);
    own.events = vec![event(4_000, "late"), event(2_000, "early")];
    let trace = nothing().with([span(&own), span(&message(2, 1, 6))]).with_fragments([
        fragment(1, 3_000, "between"),
        fragment(1, 2_000, "early"),
        fragment(9, 1_000, "of a span that has not come"),
    ]);
    let tree = &json(&trace)["tree"][0];
    let names: Vec<_> = tree["extra_data"]["events"].as_array().expect("events").iter().collect();
    assert_eq!(names.iter().map(|event| &event["name"]).collect::<Vec<_>>(), ["early", "between", "late"]);
    assert_eq!(tree["spans"][0].pointer("/extra_data/events"), None);
}

#[test]
fn a_trace_of_fragments_alone_has_their_times() {
    let row = TraceRow::of(&nothing().with_fragments([fragment(1, 7_000, "a"), fragment(2, 3_000, "b")]));
    assert_eq!((row.total_spans, row.start_time, row.end_time, row.created_at), (0, 3, 7, RECEIVED));
    assert_eq!((row.name.as_str(), row.is_error), ("", false));
}

#[test]
fn events_of_one_time_are_in_the_order_of_their_request() {
    let names = ["user", "assistant", "choice"];
    let fragments = (0..).zip(names).map(|(position, name)| Fragment { position, ..fragment(1, 5, name) });
    let trace = nothing().with([span(&message(1, 0, 5))]).with_fragments(fragments);
    let read = Trace::from_document(trace_id(), RECEIVED, trace.document().into()).expect("a document");
    let shown = |trace: &Trace| {
        let events = trace.assembled().spans()[0].message().expect("a span").events;
        events.into_iter().map(|event| event.name).collect::<Vec<_>>()
    };
    assert_eq!(shown(&trace), names);
    assert_eq!(shown(&read), names);
}
