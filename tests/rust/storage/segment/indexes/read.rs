//! Indexes collected in parts and joined equal indexes collected from all rows.

use std::sync::Arc;

use spanwise::index::attributes::{AttributeIndexBuilder, MAX_KEYS};
use spanwise::index::spans::SpanTableBuilder;
use spanwise::index::texts::TextIndexBuilder;
use spanwise::otlp::proto::{self, any_value::Value};
use spanwise::trace::view::{Channel, TraceView};
use spanwise::trace::{Span, Trace};

use crate::filter::spans::said::speaking;
use crate::support::contents::id_of;
use crate::support::random::Random;
use crate::support::spans::{request_from, span, with};

/// The collected indexes of some rows.
#[derive(Default)]
struct Collected {
    spans: SpanTableBuilder,
    texts: TextIndexBuilder,
    attributes: AttributeIndexBuilder,
}

impl Collected {
    /// Collects rows from `first` on; `None` is an unreadable document.
    fn of(first: u32, traces: &[Option<Trace>]) -> Self {
        let mut collected = Self::default();
        for (row, trace) in (first..).zip(traces) {
            let view = trace.as_ref().map(TraceView::of);
            collected.spans.add(view.as_ref());
            collected.attributes.add(view.as_ref());
            let Some(view) = view else { continue };
            for place in 0..view.len() {
                for channel in [Channel::Input, Channel::Output, Channel::Error] {
                    let texts = view.texts(place, channel).expect("readable");
                    texts.for_each(|text| collected.texts.add(row, channel, text));
                }
            }
        }
        collected.texts.pack();
        collected
    }

    fn append(&mut self, later: Self) -> bool {
        self.spans.append(later.spans);
        self.texts.append(later.texts);
        self.attributes.append(later.attributes)
    }

    fn written(self, rows: u32) -> [Vec<u8>; 3] {
        let mut written: [Vec<u8>; 3] = Default::default();
        self.spans.finish("these documents", &mut written[0]).expect("written to memory");
        self.texts.finish("these documents", rows, &mut written[1]).expect("written to memory");
        self.attributes.finish("these documents", &mut written[2]).expect("written to memory");
        written
    }
}

/// Returns a trace of these spans. Its resource has a host name.
fn trace_of(number: u64, host: u64, spans: &[proto::Span]) -> Trace {
    let host = Value::StringValue(format!("host-{host}"));
    let accepted = request_from(&[("host.name", host)], spans).spans;
    let spans = accepted.into_iter().map(|span| Arc::new(Span::from_wire(span.wire).expect("a span")));
    Trace::new(id_of(number), 0).with(spans)
}

/// Returns a trace with up to four spans.
fn trace(random: &mut Random, number: u64) -> Trace {
    let spans: Vec<_> = (0..=random.below(4))
        .map(|id| with(speaking(random, number, 1 + id), &format!("k{}", random.below(9)), "v"))
        .collect();
    trace_of(number, random.below(5), &spans)
}

#[test]
fn parts_put_together_are_the_whole() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let rows = 1 + random.below(40);
        let traces: Vec<Option<Trace>> =
            (1..=rows).map(|number| (random.below(6) > 0).then(|| trace(&mut random, number))).collect();
        let rows = u32::try_from(rows).expect("few");
        let mut parts = Collected::default();
        let mut first = 0;
        while first < traces.len() {
            let count = 1 + usize::try_from(random.below(12)).expect("few");
            let end = (first + count).min(traces.len());
            let row = u32::try_from(first).expect("few");
            assert!(parts.append(Collected::of(row, &traces[first..end])));
            first = end;
        }
        assert!(parts.written(rows) == Collected::of(0, &traces).written(rows), "seed {seed}");
    }
}

#[test]
fn keys_beyond_the_limit_are_not_known_of_parts() {
    let of_keys = |row: u32, keys: std::ops::Range<usize>| {
        let number = u64::from(row) + 1;
        // Spans have fewer attributes than an index has keys.
        let keys: Vec<String> = keys.map(|key| format!("key-{key}")).collect();
        let of_keys = |(id, keys): (u64, &[String])| {
            keys.iter().fold(span(number, id, 0), |own, key| with(own, key, "v"))
        };
        let spans: Vec<_> = (1..).zip(keys.chunks(100)).map(of_keys).collect();
        Collected::of(row, &[Some(trace_of(number, 0, &spans))])
    };
    let half = MAX_KEYS / 2;
    assert!(of_keys(0, 0..half).append(of_keys(1, 1..half + 1)));
    assert!(!of_keys(0, 0..half).append(of_keys(1, half..MAX_KEYS)), "the name of the host is a key, too");
    // A part that meets a key after too many others does not know it, although an earlier part does.
    assert!(!of_keys(0, MAX_KEYS + 1..MAX_KEYS + 2).append(of_keys(1, 0..MAX_KEYS + 2)));
}
