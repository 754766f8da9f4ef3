//! A group of requests before it is written: what would it change, and what must it not?
//!
//! Validation comes before the write, so that a replay has nothing left to refuse. Nothing of the
//! state changes here: a group whose write fails is dropped without a trace.
//!
//! Documents of traces that are sealed are read here, together, before the write-ahead put and not
//! beside it: a document that cannot be read must refuse its request while nothing is durable yet.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use super::head::Entry;
use super::state::{Change, Place, State};
use super::wal;
use crate::error::Result;
use crate::otlp::{TraceId, wire};
use crate::trace::{Span, Trace};

/// One request's spans.
#[derive(Debug)]
pub(super) struct Arrival {
    /// When it was received: microseconds since 1970.
    pub(super) received: i64,
    pub(super) spans: Vec<Arc<Span>>,
    /// The spans as one `TracesData` message, as the write-ahead keeps them.
    pub(super) encoded: Bytes,
}

/// What one request comes to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// Spans that are kept, or were known already.
    pub(super) accepted: u64,
    /// Spans over the limit of their trace.
    pub(super) surplus: u64,
    /// What the first of those was refused for, or empty.
    pub(super) reason: String,
}

/// What a group comes to.
#[derive(Debug)]
pub(super) struct Gathered {
    /// One of each request, in order; an error refuses that request alone.
    pub(super) outcomes: Vec<Result<Outcome>>,
    /// What must be durable before the changes are made; requests that bring nothing new are left out.
    pub(super) entries: Vec<wal::Entry>,
    /// The traces that are new or other than before.
    pub(super) changes: Vec<Change>,
}

/// A trace of the group.
struct Known {
    place: Option<Place>,
    /// The trace, or why it cannot be read. `None`: no span of it is known yet.
    trace: Result<Option<Trace>>,
    changed: bool,
}

/// Returns what `arrivals` come to on top of `state`; `limit` is the most spans a trace may have.
pub(super) fn gather(state: &State, arrivals: Vec<Arrival>, limit: usize) -> Gathered {
    let mut known = read_known(state, &arrivals);
    let mut outcomes = Vec::with_capacity(arrivals.len());
    let mut entries = Vec::new();
    for arrival in arrivals {
        let unreadable = arrival.spans.iter().find_map(|span| known[&span.trace_id].trace.as_ref().err());
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
        Some(Change { replaces: known.place, entry: Arc::new(Entry::new(trace)) })
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
    let spans = arrivals.iter().flat_map(|arrival| &arrival.spans);
    let trace_ids = spans.map(|span| span.trace_id).collect::<HashSet<_>>();
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
    let Arrival { received, spans, encoded } = arrival;
    let mut outcome = Outcome::default();
    let mut kept: Vec<Arc<Span>> = Vec::with_capacity(spans.len());
    let mut by_trace: HashMap<TraceId, Vec<Arc<Span>>> = HashMap::new();
    let mut new_ids = HashMap::new();
    for span in spans {
        let trace = known[&span.trace_id].trace.as_ref().ok().and_then(Option::as_ref);
        if trace.is_none_or(|trace| trace.span(span.span_id).is_none()) {
            let new_ids: &mut HashSet<_> = new_ids.entry(span.trace_id).or_default();
            let present = trace.map_or(0, |trace| trace.spans().len());
            if !new_ids.contains(&span.span_id) && present + new_ids.len() >= limit {
                outcome.surplus += 1;
                if outcome.reason.is_empty() {
                    outcome.reason = format!("trace {} has {limit} spans already", span.trace_id);
                }
                continue;
            }
            new_ids.insert(span.span_id);
        }
        by_trace.entry(span.trace_id).or_default().push(span.clone());
        kept.push(span);
    }
    outcome.accepted = kept.len() as u64;
    let mut brings_news = false;
    for (trace_id, spans) in by_trace {
        let known = known.get_mut(&trace_id).expect("every trace of the group was looked up");
        brings_news |= merge(known, trace_id, received, spans);
    }
    if !brings_news {
        return (outcome, None);
    }
    let spans = match outcome.surplus {
        0 => encoded,
        _ => wire::join(kept.iter().map(|span| &span.wire)).into(),
    };
    (outcome, Some(wal::Entry { received, spans }))
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
