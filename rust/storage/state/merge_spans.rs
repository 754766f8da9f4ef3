//! Merging a group of requests into the traces of a state, before anything of it is written.
//!
//! Spans are validated before the write, so that a replay has nothing left to reject. The state does not change here:
//! a group whose write fails is dropped.
//!
//! Documents of sealed traces are read here, together and before the WAL put: a document that cannot be read must
//! reject its request while nothing is durable yet.

use std::sync::Arc;

use ahash::{HashMap, HashSet};
use bytes::Bytes;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use crate::error::Result;
use crate::otlp::{TraceId, wire};
use crate::storage::head::batch::HeadEntry;
use crate::storage::state::{RowLocation, StoreState, TraceUpdate};
use crate::storage::wal::WalEntry;
use crate::trace::{Span, Trace};

/// The spans of one request, grouped by trace.
#[derive(Debug)]
pub(crate) struct GroupedSpans {
    /// When the request was received: microseconds since 1970.
    pub(crate) received: i64,
    /// The spans of each trace, each in order of arrival.
    traces: Vec<(TraceId, Vec<Arc<Span>>)>,
    /// The spans as one `TracesData` message, as the WAL keeps them.
    pub(crate) encoded: Bytes,
}

impl GroupedSpans {
    /// Groups the spans of a request, so that the committer does not have to.
    pub(crate) fn new(received: i64, spans: Vec<Arc<Span>>, encoded: Bytes) -> Self {
        let mut traces: Vec<(TraceId, Vec<Arc<Span>>)> = Vec::new();
        let mut positions = HashMap::default();
        // The spans of a trace usually are neighbours.
        let mut last = 0;
        for span in spans {
            let trace_id = span.trace_id;
            if traces.get(last).is_none_or(|(known, _)| *known != trace_id) {
                last = *positions.entry(trace_id).or_insert(traces.len());
                if last == traces.len() {
                    traces.push((trace_id, Vec::new()));
                }
            }
            traces[last].1.push(span);
        }
        Self { received, traces, encoded }
    }
}

/// What became of one request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct IngestOutcome {
    /// Spans that are stored, or were stored before.
    pub(crate) accepted: u64,
    /// Spans over the limit of their trace.
    pub(crate) surplus: u64,
    /// Why the first of those was rejected, or empty.
    pub(crate) reason: String,
}

/// What a group of requests changes.
#[derive(Debug)]
pub(crate) struct MergedGroup {
    /// One for each request, in order; an error rejects that request alone.
    pub(crate) outcomes: Vec<Result<IngestOutcome>>,
    /// What must be durable before the updates are applied. Requests that bring nothing new are left out.
    pub(crate) entries: Vec<WalEntry>,
    /// The traces that are new or changed, and those of which spans are written again: whatever the WAL objects of a
    /// generation hold is in its rows, so that a deletion sees what a replay would bring back.
    pub(crate) updates: Vec<TraceUpdate>,
}

/// A trace that a group brings spans of.
struct GroupTrace {
    /// The row that holds it.
    location: Option<RowLocation>,
    /// The trace, or why it cannot be read. `None`: it has no span yet.
    trace: Result<Option<Trace>>,
    is_changed: bool,
    /// Whether known spans of it are written again, because their request brings something new as well.
    is_repeated: bool,
}

/// Merges `requests` into the traces of `state`. A trace may have `max_spans` spans.
pub(crate) fn merge_group(state: &StoreState, requests: Vec<GroupedSpans>, max_spans: usize) -> MergedGroup {
    let mut traces = read_traces(state, &requests);
    let mut outcomes = Vec::with_capacity(requests.len());
    let mut entries = Vec::new();
    for request in requests {
        let unreadable = request.traces.iter().find_map(|(id, _)| traces[id].trace.as_ref().err());
        if let Some(error) = unreadable {
            outcomes.push(Err(error.clone()));
            continue;
        }
        let (outcome, entry) = merge_request(&mut traces, request, max_spans);
        outcomes.push(Ok(outcome));
        entries.extend(entry);
    }
    let open = state.generations.len() - 1;
    let is_elsewhere = |trace: &GroupTrace| match trace.location {
        Some(RowLocation::Head { generation, .. }) => generation != open,
        _ => true,
    };
    let is_touched = |trace: &GroupTrace| trace.is_changed || (trace.is_repeated && is_elsewhere(trace));
    let touched = traces.into_values().filter(is_touched).collect();
    let updates = parallel_map(touched, |touched: GroupTrace| {
        let trace = touched.trace.ok().flatten()?;
        Some(TraceUpdate { replaces: touched.location, entry: Arc::new(HeadEntry::new(trace)) })
    });
    MergedGroup { outcomes, entries, updates: updates.into_iter().flatten().collect() }
}

/// Maps many items on all cores, and a few on this thread, where they do not queue behind searches.
fn parallel_map<T: Send, U: Send>(items: Vec<T>, map: impl Fn(T) -> U + Sync + Send) -> Vec<U> {
    const MAX_SERIAL_ITEMS: usize = 8;
    if items.len() <= MAX_SERIAL_ITEMS {
        return items.into_iter().map(map).collect();
    }
    items.into_par_iter().map(map).collect()
}

/// Finds each trace of the group once, and reads those that exist.
fn read_traces(state: &StoreState, requests: &[GroupedSpans]) -> HashMap<TraceId, GroupTrace> {
    let traces = requests.iter().flat_map(|request| &request.traces);
    let trace_ids = traces.map(|(trace_id, _)| *trace_id).collect::<HashSet<_>>();
    let read = parallel_map(trace_ids.into_iter().collect(), |trace_id: TraceId| {
        let location = state.find(trace_id);
        let trace = location.map(|location| state.trace(location)).transpose();
        (trace_id, GroupTrace { location, trace, is_changed: false, is_repeated: false })
    });
    read.into_iter().collect()
}

/// Merges a request into the traces of its group. Returns the WAL entry to write, if the request brings anything new.
fn merge_request(
    group: &mut HashMap<TraceId, GroupTrace>,
    request: GroupedSpans,
    max_spans: usize,
) -> (IngestOutcome, Option<WalEntry>) {
    let GroupedSpans { received, mut traces, encoded } = request;
    let mut outcome = IngestOutcome::default();
    for (trace_id, spans) in &mut traces {
        let present = group[&*trace_id].trace.as_ref().ok().and_then(Option::as_ref);
        let surplus = remove_surplus(present, spans, max_spans);
        if surplus > 0 && outcome.surplus == 0 {
            outcome.reason = format!("trace {trace_id} has {max_spans} spans already");
        }
        outcome.surplus += surplus;
        outcome.accepted += spans.len() as u64;
    }
    let spans = match outcome.surplus {
        0 => encoded,
        _ => wire::join(traces.iter().flat_map(|(_, spans)| spans).map(|span| &span.wire)).into(),
    };
    let (mut is_new, mut known) = (false, Vec::new());
    for (trace_id, spans) in traces.into_iter().filter(|(_, spans)| !spans.is_empty()) {
        let trace = group.get_mut(&trace_id).expect("every trace of the group was looked up");
        if merge_spans(trace, trace_id, received, spans) {
            is_new = true;
        } else {
            known.push(trace_id);
        }
    }
    for trace_id in known.into_iter().filter(|_| is_new) {
        group.entry(trace_id).and_modify(|trace| trace.is_repeated = true);
    }
    (outcome, is_new.then_some(WalEntry { received, spans }))
}

/// Removes the spans, in order of arrival, that are over the limit of their trace; returns how many.
fn remove_surplus(present: Option<&Trace>, spans: &mut Vec<Arc<Span>>, max_spans: usize) -> u64 {
    let count = present.map_or(0, |trace| trace.spans().len());
    if count + spans.len() <= max_spans {
        return 0;
    }
    let arrived = spans.len();
    let mut new_ids = HashSet::default();
    spans.retain(|span| {
        let is_known = present.is_some_and(|trace| trace.span(span.span_id).is_some());
        let fits = is_known || new_ids.contains(&span.span_id) || count + new_ids.len() < max_spans;
        if fits && !is_known {
            new_ids.insert(span.span_id);
        }
        fits
    });
    (arrived - spans.len()) as u64
}

/// Adds spans to a trace; returns whether that changed it.
fn merge_spans(group: &mut GroupTrace, trace_id: TraceId, received: i64, spans: Vec<Arc<Span>>) -> bool {
    let Ok(trace) = &mut group.trace else { return false };
    let present = trace.get_or_insert_with(|| Trace::new(trace_id, received));
    let is_changed = spans.iter().any(|span| {
        let copy = present.span(span.span_id);
        copy.is_none_or(|copy| span.supersedes(copy))
    });
    if is_changed {
        *present = present.with(spans);
        group.is_changed = true;
    }
    is_changed
}
