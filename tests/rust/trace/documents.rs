//! A trace as a set of spans, and its stored document.

use proptest::prelude::*;
use spanwise::otlp::proto;
use spanwise::trace::{Trace, TraceRow};

use super::made::{RECEIVED, detail_of, message, messages, span, trace, trace_id};

proptest! {
    #[test]
    fn a_document_round_trips_its_trace(messages in messages()) {
        let trace = trace(&messages);
        let read = Trace::from_document(trace_id(), RECEIVED, trace.document().into()).expect("a document");
        prop_assert_eq!(read.document(), trace.document());
        prop_assert_eq!(TraceRow::of(&read), TraceRow::of(&trace));
        prop_assert_eq!(detail_of(&read), detail_of(&trace));
    }

    #[test]
    fn of_unequal_copies_the_later_end_is_kept_in_any_order(ends in prop::collection::vec(0..4_u64, 1..5)) {
        let copies: Vec<_> = ends
            .iter()
            .enumerate()
            .map(|(index, end)| {
                let name = format!("copy {index}");
                span(&proto::Span { name, end_time_unix_nano: 10 + end, ..message(1, 0, 1) })
            })
            .collect();
        let kept = |copies: Vec<_>| {
            let one_by_one = copies.iter().cloned();
            one_by_one.fold(Trace::new(trace_id(), RECEIVED), |trace, copy| trace.with([copy])).document()
        };
        let forward = kept(copies.clone());
        prop_assert_eq!(&forward, &kept(copies.iter().rev().cloned().collect()));
        let at_once = Trace::new(trace_id(), RECEIVED).with(copies);
        prop_assert_eq!(&forward, &at_once.document());
        prop_assert_eq!(at_once.spans().len(), 1);
        prop_assert_eq!(at_once.spans()[0].end, 10 + ends.iter().max().expect("a copy"));
    }
}
