//! Laws of live tails: a commit is sent once, the last state of a trace arrives, and traces of other users do
//! not.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::Value;
use spanwise::bulk::{ImportOptions, import};
use spanwise::filter::Filter;
use spanwise::otlp::proto;
use spanwise::query::tail::{EventKind, MAX_QUEUED, MIN_INTERVAL, Tail, TailEvent, poll};
use spanwise::query::{self, CancellationToken, Detail, PageRequest};
use spanwise::storage::{Options, TraceStore};
use tempfile::TempDir;

use crate::bulk::batch;
use crate::support::contents::{address, traces_in};
use crate::support::spans::{failed, request, span, with};

/// A step of a followed store.
#[derive(Debug, Clone)]
enum Step {
    /// A request with spans: trace, span, user, and `true` for a failure.
    Ingest(Vec<(u64, u64, u8, bool)>),
    /// An import of traces.
    Import(Vec<u64>),
    Flush,
    Compact,
    Delete(u64),
    /// Readers take at most this many traces each, this many milliseconds later.
    Poll(usize, u64),
    /// The connections are lost after this many of the last events.
    Reconnect(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let spans = proptest::collection::vec((1..9_u64, 1..5_u64, 0..2_u8, any::<bool>()), 1..5);
    let step = prop_oneof![
        8 => spans.prop_map(Step::Ingest),
        1 => proptest::collection::vec(100..110_u64, 1..4).prop_map(Step::Import),
        1 => Just(Step::Flush),
        1 => Just(Step::Compact),
        1 => (1..9_u64).prop_map(Step::Delete),
        8 => (0..4_usize, 0..1_500_u64).prop_map(|(max_events, later)| Step::Poll(max_events, later)),
        2 => (0..6_u64).prop_map(Step::Reconnect),
    ];
    proptest::collection::vec(step, 1..40)
}

const FILTERS: [&str; 3] = [
    "{}",
    r#"{"op":"EQ","key":"status","value":"ERROR"}"#,
    r#"{"op":"EQ","key":"user_id","value":"user-0"}"#,
];

/// A reader and its received events, as its client remembers them.
struct Reader {
    filter: Filter,
    tail: Tail,
    events: Vec<(Instant, TailEvent)>,
}

impl Reader {
    fn new(filter: Filter, store: &TraceStore) -> Self {
        Self { tail: Tail::new(filter.clone(), store.snapshot().changes()), filter, events: Vec::new() }
    }

    /// Returns the sent traces, in order, with the time of each.
    fn traces(&self) -> impl Iterator<Item = (Instant, Value)> {
        let traces = self.events.iter().filter(|(_, event)| event.kind == EventKind::Trace);
        traces.map(|(at, event)| (*at, serde_json::from_slice(&event.body).expect("a JSON object")))
    }

    fn reconnect(&mut self, lost: u64) {
        let remaining = self.events.len().saturating_sub(usize::try_from(lost).expect("few"));
        self.events.truncate(remaining);
        assert!(self.tail.rewind(remaining as u64), "the position is remembered");
        assert_eq!(self.tail.last(), remaining as u64);
    }
}

fn receive(store: &TraceStore, readers: &mut [Reader], max_events: usize, now: Instant) -> bool {
    let limits: Vec<(&Tail, usize)> = readers.iter().map(|reader| (&reader.tail, max_events)).collect();
    let polled = poll(&store.snapshot(), &store.changes(), &limits, now).expect("a poll");
    assert_eq!(polled.errors, Vec::<String>::new());
    let is_empty = polled.events.iter().all(Vec::is_empty);
    for (reader, events) in readers.iter_mut().zip(polled.events) {
        reader.events.extend(events.into_iter().map(|event| (now, event)));
    }
    !is_empty || polled.has_deferred
}

/// Receives all pending events.
fn drain(store: &TraceStore, readers: &mut [Reader], mut now: Instant) {
    while receive(store, readers, MAX_QUEUED, now) {
        now += MIN_INTERVAL;
    }
}

fn id_of(item: &Value) -> String {
    item["trace_id"].as_str().expect("an id").to_owned()
}

/// Returns the summaries of the traces that a search finds, by id.
fn searched(store: &TraceStore, filter: &Filter) -> BTreeMap<String, Value> {
    let request = PageRequest::new(1, 100).expect("a page");
    let token = CancellationToken::default();
    let page = query::runs(&store.snapshot(), filter, request, Detail::Preview, &token).expect("a page");
    let items: Vec<Value> = serde_json::from_slice(&page.data).expect("a JSON array");
    items.into_iter().map(|item| (id_of(&item), item)).collect()
}

fn spans_of(arrivals: Vec<(u64, u64, u8, bool)>) -> Vec<proto::Span> {
    let spans = arrivals.into_iter().map(|(trace, id, user, is_error)| {
        let made = with(span(trace, id, id), "user.id", &format!("user-{user}"));
        if is_error { failed(made, "broken") } else { made }
    });
    spans.collect()
}

fn opened(folder: &TempDir) -> TraceStore {
    TraceStore::open(address(folder), Options { seal_objects: 3, ..Options::default() }).expect("a store")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_match_is_sent_once_and_its_last_state_arrives(before in steps(), steps in steps()) {
        let folder = TempDir::new().expect("a folder");
        let store = opened(&folder);
        let mut now = Instant::now();
        let mut readers: Vec<Reader> = Vec::new();
        let begin = before.len();
        for (number, step) in before.into_iter().chain(steps).enumerate() {
            if number == begin {
                readers = FILTERS.iter().map(|source| {
                    Reader::new(Filter::compile(source.as_bytes()).expect("a good filter"), &store)
                }).collect();
            }
            match step {
                Step::Ingest(arrivals) => {
                    store.ingest(request(&spans_of(arrivals))).expect("ingested");
                }
                Step::Import(traces) => {
                    let spans: Vec<_> = traces.into_iter().map(|trace| span(trace, 1, 0)).collect();
                    import(&store, [Ok(batch(&spans, 0))].into_iter(), &ImportOptions::of("")).expect("imported");
                }
                Step::Flush => store.flush().expect("flushed"),
                Step::Compact => store.compact(false).expect("compacted"),
                Step::Delete(trace) => {
                    store.delete(&traces_in(&[trace]), false).expect("deleted");
                }
                Step::Poll(max_events, later) => {
                    now += Duration::from_millis(later);
                    receive(&store, &mut readers, max_events, now);
                }
                Step::Reconnect(lost) => readers.iter_mut().for_each(|reader| reader.reconnect(lost)),
            }
        }
        drain(&store, &mut readers, now);
        for reader in &readers {
            prop_assert!(reader.events.iter().zip(1..).all(|((_, event), number)| event.number == number));
            prop_assert!(reader.events.iter().all(|(_, event)| event.kind == EventKind::Trace), "nothing was lost");
            let mut last = BTreeMap::<String, Value>::new();
            for (_, mut item) in reader.traces() {
                let id = id_of(&item);
                let is_update = item.as_object_mut().expect("an object").remove("update").is_some();
                prop_assert_eq!(is_update, last.contains_key(&id), "the first sight of a trace is no update");
                prop_assert!(u64::from_str_radix(&id[16..], 16).expect("a number") < 100, "imports are not sent");
                if reader.filter.canonical().contains("user-0") {
                    prop_assert_eq!(&item["user_id"], "user-0");
                }
                last.insert(id, item);
            }
            for (id, item) in searched(&store, &reader.filter) {
                // An unchanged trace is not sent again, and a changed one is sent in its current state.
                if let Some(sent) = last.get(&id) {
                    prop_assert_eq!(sent, &item);
                }
            }
        }
    }

    #[test]
    fn every_matching_trace_of_a_reader_from_the_beginning_arrives(
        requests in proptest::collection::vec(
            (proptest::collection::vec((1..40_u64, 1..5_u64, 0..2_u8, any::<bool>()), 1..8), 0..3_u8, 0..1_200_u64), 1..20,
        ),
    ) {
        let folder = TempDir::new().expect("a folder");
        let store = opened(&folder);
        let compiled = |source: &str| Filter::compile(source.as_bytes()).expect("a good filter");
        let mut readers: Vec<Reader> =
            FILTERS.iter().map(|source| Reader::new(compiled(source), &store)).collect();
        let mut now = Instant::now();
        for (arrivals, then, later) in requests {
            store.ingest(request(&spans_of(arrivals))).expect("ingested");
            now += Duration::from_millis(later);
            match then {
                0 => {
                    receive(&store, &mut readers, 3, now);
                }
                1 => store.flush().expect("flushed"),
                _ => {}
            }
        }
        drain(&store, &mut readers, now);
        for reader in &readers {
            let mut last = BTreeMap::new();
            let mut sent_at: BTreeMap<String, Instant> = BTreeMap::new();
            for (at, mut item) in reader.traces() {
                let id = id_of(&item);
                item.as_object_mut().expect("an object").remove("update");
                if let Some(before) = sent_at.insert(id.clone(), at) {
                    prop_assert!(at - before >= MIN_INTERVAL, "updates are apart");
                }
                last.insert(id, item);
            }
            let matching = searched(&store, &reader.filter);
            for (id, item) in &matching {
                prop_assert_eq!(last.get(id), Some(item));
            }
            if reader.filter.expr().is_none() {
                prop_assert_eq!(last, matching);
            }
        }
    }
}

#[test]
fn a_slow_reader_receives_the_number_of_its_lost_matches() {
    let folder = TempDir::new().expect("a folder");
    let store = opened(&folder);
    let filter = Filter::all().restrict("user_id", "user-0").expect("a field");
    let mut readers = [Reader::new(filter, &store)];
    let now = Instant::now();
    let (mine, others, polls) = (MAX_QUEUED as u64 + 77, 500, 5);
    for poll in 0..polls {
        let of_poll = |count: u64, user: u8, first: u64| {
            let traces = (0..count).filter(move |number| number % polls == poll);
            spans_of(traces.map(|number| (first + number, 1, user, false)).collect())
        };
        store.ingest(request(&of_poll(mine, 0, 1))).expect("ingested");
        store.ingest(request(&of_poll(others, 1, 10_000))).expect("ingested");
        receive(&store, &mut readers, 0, now);
    }
    drain(&store, &mut readers, now);
    let [reader] = readers;
    let (_, first) = &reader.events[0];
    assert_eq!((first.kind, first.body.as_slice()), (EventKind::Dropped, br#"{"count":77}"#.as_slice()));
    assert_eq!(reader.events.len(), 1 + MAX_QUEUED);
    assert!(reader.traces().all(|(_, item)| item["user_id"] == "user-0"));
}

#[test]
fn repeated_spans_are_no_update() {
    let folder = TempDir::new().expect("a folder");
    let store = opened(&folder);
    let mut readers = [Reader::new(Filter::all(), &store)];
    let mut now = Instant::now();
    for later in [0, 2_000] {
        store.ingest(request(&spans_of(vec![(1, 1, 0, false)]))).expect("ingested");
        // The repeated span is written again in a request with another trace.
        store.ingest(request(&spans_of(vec![(1, 1, 0, false), (2 + later, 1, 0, false)]))).expect("ingested");
        store.flush().expect("flushed");
        now += Duration::from_millis(later);
        drain(&store, &mut readers, now);
    }
    let sent: Vec<String> = readers[0].traces().map(|(_, item)| id_of(&item)).collect();
    assert_eq!(sent.len(), 3, "{sent:?}");
}

#[test]
fn a_deleted_trace_is_not_sent() {
    let folder = TempDir::new().expect("a folder");
    let store = opened(&folder);
    let mut readers = [Reader::new(Filter::all(), &store)];
    store.ingest(request(&spans_of(vec![(1, 1, 0, false), (2, 1, 0, false)]))).expect("ingested");
    let now = Instant::now();
    receive(&store, &mut readers, 0, now);
    store.delete(&traces_in(&[1]), false).expect("deleted");
    drain(&store, &mut readers, now);
    assert_eq!(readers[0].events.len(), 1);
}

#[test]
fn a_position_that_is_ahead_or_no_longer_remembered_is_rejected() {
    let folder = TempDir::new().expect("a folder");
    let store = opened(&folder);
    let mut readers = [Reader::new(Filter::all(), &store)];
    let mut now = Instant::now();
    for poll in 0..6 {
        let traces = (1..=200).map(|number| (poll * 200 + number, 1, 0, false)).collect();
        store.ingest(request(&spans_of(traces))).expect("ingested");
        now += MIN_INTERVAL;
        receive(&store, &mut readers, MAX_QUEUED, now);
    }
    let [Reader { tail, .. }] = &readers;
    assert_eq!(tail.last(), 1_200);
    for number in [1_201, u64::MAX, 1, 0] {
        assert!(!tail.rewind(number), "{number}");
    }
    assert_eq!(tail.last(), 1_200);
    assert!(tail.rewind(1_200));
}
