//! A group of requests before it is written: what would it change, and what must it not?
//!
//! Validation comes before the write, so that a replay has nothing left to refuse. Nothing of the
//! state changes here: a group whose write fails is dropped without a trace.
//!
//! Documents of traces that are sealed are read here, together, before the write-ahead put and not
//! beside it: a document that cannot be read must refuse its request while nothing is durable yet.

use std::sync::Arc;

use ahash::{HashMap, HashSet};
use bytes::Bytes;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use crate::error::Result;
use crate::otlp::{TraceId, wire};
use crate::storage::head::batch::HeadEntry;
use crate::storage::state::{Change, Place, State};
use crate::storage::wal;
use crate::trace::{Span, Trace};

/// One request's spans.
#[derive(Debug)]
pub(crate) struct Arrival {
    /// When it was received: microseconds since 1970.
    pub(crate) received: i64,
    /// The spans of each trace, each in order of arrival.
    traces: Vec<(TraceId, Vec<Arc<Span>>)>,
    /// The spans as one `TracesData` message, as the write-ahead keeps them.
    pub(crate) encoded: Bytes,
}

impl Arrival {
    /// Sorts the spans of a request by trace, so that the committer need not.
    pub(crate) fn new(received: i64, spans: Vec<Arc<Span>>, encoded: Bytes) -> Self {
        let mut traces: Vec<(TraceId, Vec<Arc<Span>>)> = Vec::new();
        let mut places = HashMap::default();
        // The spans of a trace come side by side as a rule.
        let mut last = 0;
        for span in spans {
            let trace_id = span.trace_id;
            if traces.get(last).is_none_or(|(known, _)| *known != trace_id) {
                last = *places.entry(trace_id).or_insert(traces.len());
                if last == traces.len() {
                    traces.push((trace_id, Vec::new()));
                }
            }
            traces[last].1.push(span);
        }
        Self { received, traces, encoded }
    }
}

/// What one request comes to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Spans that are kept, or were known already.
    pub(crate) accepted: u64,
    /// Spans over the limit of their trace.
    pub(crate) surplus: u64,
    /// What the first of those was refused for, or empty.
    pub(crate) reason: String,
}

/// What a group comes to.
#[derive(Debug)]
pub(crate) struct Gathered {
    /// One of each request, in order; an error refuses that request alone.
    pub(crate) outcomes: Vec<Result<Outcome>>,
    /// What must be durable before the changes are made; requests that bring nothing new are left out.
    pub(crate) entries: Vec<wal::Entry>,
    /// The traces that are new or other than before.
    pub(crate) changes: Vec<Change>,
}

/// A trace of the group.
struct Known {
    place: Option<Place>,
    /// The trace, or why it cannot be read. `None`: no span of it is known yet.
    trace: Result<Option<Trace>>,
    changed: bool,
}

/// Returns what `arrivals` come to on top of `state`; `limit` is the most spans a trace may have.
pub(crate) fn gather(state: &State, arrivals: Vec<Arrival>, limit: usize) -> Gathered {
    let mut known = read_known(state, &arrivals);
    let mut outcomes = Vec::with_capacity(arrivals.len());
    let mut entries = Vec::new();
    for arrival in arrivals {
        let unreadable = arrival.traces.iter().find_map(|(id, _)| known[id].trace.as_ref().err());
        if let Some(fault) = unreadable {
            outcomes.push(Err(fault.clone()));
            continue;
        }
        let (outcome, entry) = take_in(&mut known, arrival, limit);
        outcomes.push(Ok(outcome));
        entries.extend(entry);
    }
    let moved = known.into_values().filter(|known| known.changed).collect();
    let changes = together(moved, |known: Known| {
        let trace = known.trace.ok().flatten()?;
        Some(Change { replaces: known.place, entry: Arc::new(HeadEntry::new(trace)) })
    });
    Gathered { outcomes, entries, changes: changes.into_iter().flatten().collect() }
}

/// Maps many things on all cores, and few on the spot: they should not queue behind searches.
fn together<T: Send, U: Send>(things: Vec<T>, map: impl Fn(T) -> U + Sync + Send) -> Vec<U> {
    const FEW: usize = 8;
    if things.len() <= FEW {
        return things.into_iter().map(map).collect();
    }
    things.into_par_iter().map(map).collect()
}

/// Finds every trace of the group, once, and reads those that are there.
fn read_known(state: &State, arrivals: &[Arrival]) -> HashMap<TraceId, Known> {
    let traces = arrivals.iter().flat_map(|arrival| &arrival.traces);
    let trace_ids = traces.map(|(trace_id, _)| *trace_id).collect::<HashSet<_>>();
    let read = together(trace_ids.into_iter().collect(), |trace_id: TraceId| {
        let place = state.find(trace_id);
        let trace = place.map(|place| state.trace(place)).transpose();
        (trace_id, Known { place, trace, changed: false })
    });
    read.into_iter().collect()
}

/// Merges a request into the traces of the group. Returns what must be written, if anything is new.
fn take_in(
    known: &mut HashMap<TraceId, Known>,
    arrival: Arrival,
    limit: usize,
) -> (Outcome, Option<wal::Entry>) {
    let Arrival { received, mut traces, encoded } = arrival;
    let mut outcome = Outcome::default();
    for (trace_id, spans) in &mut traces {
        let present = known[&*trace_id].trace.as_ref().ok().and_then(Option::as_ref);
        let surplus = cut_surplus(present, spans, limit);
        if surplus > 0 && outcome.surplus == 0 {
            outcome.reason = format!("trace {trace_id} has {limit} spans already");
        }
        outcome.surplus += surplus;
        outcome.accepted += spans.len() as u64;
    }
    let spans = match outcome.surplus {
        0 => encoded,
        _ => wire::join(traces.iter().flat_map(|(_, spans)| spans).map(|span| &span.wire)).into(),
    };
    let mut brings_news = false;
    for (trace_id, spans) in traces.into_iter().filter(|(_, spans)| !spans.is_empty()) {
        let known = known.get_mut(&trace_id).expect("every trace of the group was looked up");
        brings_news |= merge(known, trace_id, received, spans);
    }
    (outcome, brings_news.then_some(wal::Entry { received, spans }))
}

/// Leaves out the spans, in order of arrival, that are too many for their trace; returns how many.
fn cut_surplus(present: Option<&Trace>, spans: &mut Vec<Arc<Span>>, limit: usize) -> u64 {
    let count = present.map_or(0, |trace| trace.spans().len());
    if count + spans.len() <= limit {
        return 0;
    }
    let arrived = spans.len();
    let mut new_ids = HashSet::default();
    spans.retain(|span| {
        let is_known = present.is_some_and(|trace| trace.span(span.span_id).is_some());
        let fits = is_known || new_ids.contains(&span.span_id) || count + new_ids.len() < limit;
        if fits && !is_known {
            new_ids.insert(span.span_id);
        }
        fits
    });
    (arrived - spans.len()) as u64
}

/// Adds spans to a trace; returns whether that changed it.
fn merge(known: &mut Known, trace_id: TraceId, received: i64, spans: Vec<Arc<Span>>) -> bool {
    let Ok(trace) = &mut known.trace else { return false };
    let present = trace.get_or_insert_with(|| Trace::new(trace_id, received));
    let changes = spans.iter().any(|span| {
        let copy = present.span(span.span_id);
        copy.is_none_or(|copy| span.supersedes(copy))
    });
    if changes {
        *present = present.with(spans);
        known.changed = true;
    }
    changes
}
