//! Merges a group of requests into the traces of a state, before the group is written.
//!
//! Spans are validated before the write, so that a replay never rejects any. The state does not change here:
//! a group whose write fails is dropped.
//!
//! Documents of traces in segments are read here, together and before the WAL put. Data for an unreadable
//! document must be rejected before anything is durable. For a damaged document only the spans of its trace
//! are rejected, because no retry can succeed. After a storage error the whole request is rejected, and its
//! sender retries.

use std::sync::Arc;

use ahash::{HashMap, HashSet};
use bytes::Bytes;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use crate::error::{Error, Result};
use crate::otlp::fragment::append_fragments;
use crate::otlp::limits::MAX_EVENTS;
use crate::otlp::{Fragment, SpanId, TraceId, wire};
use crate::storage::head::batch::HeadEntry;
use crate::storage::state::{RowLocation, StoreState, TraceUpdate};
use crate::storage::wal::WalEntry;
use crate::trace::{MAX_FRAGMENTS, MAX_SPANS, Span, Trace};

#[derive(Debug, Clone, Copy)]
pub(crate) struct TraceLimits {
    /// The maximum number of spans in a trace.
    pub(crate) spans: usize,
    /// The maximum number of fragments in a trace.
    pub(crate) fragments: usize,
    /// The maximum number of fragments of a span.
    pub(crate) fragments_of_span: usize,
    /// True if spans of a damaged trace are rejected individually. A replay fails instead, because they were
    /// acknowledged.
    pub(crate) reject_damaged: bool,
}

impl TraceLimits {
    /// The limits for requests.
    pub(crate) const OF_REQUESTS: Self = Self {
        spans: MAX_SPANS,
        fragments: MAX_FRAGMENTS,
        fragments_of_span: MAX_EVENTS,
        reject_damaged: true,
    };
    /// No limits: a replay rejects nothing.
    pub(crate) const NONE: Self = Self {
        spans: usize::MAX,
        fragments: usize::MAX,
        fragments_of_span: usize::MAX,
        reject_damaged: false,
    };
}

/// The content of one request, grouped by trace.
#[derive(Debug, Clone)]
pub(crate) struct GroupedRequest {
    /// The time when the request was received, in microseconds since 1970.
    pub(crate) received: i64,
    traces: Vec<(TraceId, Arrivals)>,
    /// The whole content as one `TracesData` message, as stored in the WAL.
    pub(crate) encoded: Bytes,
}

/// The content of a request for one trace, in order of arrival.
#[derive(Debug, Clone, Default)]
struct Arrivals {
    spans: Vec<Arc<Span>>,
    fragments: Vec<Fragment>,
}

impl Arrivals {
    fn len(&self) -> usize {
        self.spans.len() + self.fragments.len()
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl GroupedRequest {
    /// Groups the content of a request, to save time in the committer.
    pub(crate) fn new(
        received: i64,
        spans: Vec<Arc<Span>>,
        fragments: Vec<Fragment>,
        encoded: Bytes,
    ) -> Self {
        let mut groups = TraceGroups::default();
        for span in spans {
            groups.of(span.trace_id).spans.push(span);
        }
        for fragment in fragments {
            groups.of(fragment.trace_id).fragments.push(fragment);
        }
        Self { received, traces: groups.traces, encoded }
    }
}

/// Finds the arrivals of a trace.
#[derive(Default)]
struct TraceGroups {
    traces: Vec<(TraceId, Arrivals)>,
    positions: HashMap<TraceId, usize>,
    /// The index of the last group. The spans of a trace are usually adjacent.
    last: usize,
}

impl TraceGroups {
    fn of(&mut self, trace_id: TraceId) -> &mut Arrivals {
        if self.traces.get(self.last).is_none_or(|(known, _)| *known != trace_id) {
            self.last = *self.positions.entry(trace_id).or_insert(self.traces.len());
            if self.last == self.traces.len() {
                self.traces.push((trace_id, Arrivals::default()));
            }
        }
        &mut self.traces[self.last].1
    }
}

/// The result of one request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct IngestOutcome {
    /// The number of spans and fragments that are stored now or were stored before.
    pub(crate) accepted: u64,
    /// The number of spans and fragments that are over the limit of their trace, or whose trace is damaged.
    pub(crate) rejected: u64,
    /// The reason for the first rejection, or empty.
    pub(crate) reason: String,
}

/// The changes of a group of requests.
#[derive(Debug)]
pub(crate) struct MergedGroup {
    /// One result per request, in order. An error rejects only that request.
    pub(crate) outcomes: Vec<Result<IngestOutcome>>,
    /// The WAL entries that must be durable before the updates are applied. Requests without new data are
    /// skipped.
    pub(crate) entries: Vec<WalEntry>,
    /// The traces that are new or changed, and the traces with rewritten spans. The rows of a generation thus
    /// cover its WAL objects, so that a deletion sees everything that a replay would restore.
    pub(crate) updates: Vec<TraceUpdate>,
}

/// A trace with data in the group.
struct GroupTrace {
    /// The row that holds the trace.
    location: Option<RowLocation>,
    /// The trace, or its read error. `None` if the trace is not stored yet.
    trace: Result<Option<Trace>>,
    is_changed: bool,
    /// True if stored data is written again because its request also has new data.
    is_repeated: bool,
}

/// Merges `requests` into the traces of `state`, up to `limits`.
pub(crate) fn merge_group(
    state: &StoreState,
    requests: Vec<GroupedRequest>,
    limits: TraceLimits,
) -> MergedGroup {
    let mut traces = read_traces(state, &requests);
    let mut outcomes = Vec::with_capacity(requests.len());
    let mut entries = Vec::new();
    for request in requests {
        let mut errors = request.traces.iter().filter_map(|(id, _)| traces[id].trace.as_ref().err());
        let is_fatal = |error: &&Error| !limits.reject_damaged || !matches!(error, Error::Damage { .. });
        if let Some(error) = errors.find(is_fatal) {
            outcomes.push(Err(error.clone()));
            continue;
        }
        let (outcome, entry) = merge_request(&mut traces, request, limits);
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
        let (replaces, is_changed) = (touched.location, touched.is_changed);
        Some(TraceUpdate { replaces, is_changed, entry: Arc::new(HeadEntry::new(trace)) })
    });
    MergedGroup { outcomes, entries, updates: updates.into_iter().flatten().collect() }
}

/// Maps many items on all cores. Few items are mapped on this thread, where they do not queue behind
/// searches.
fn parallel_map<T: Send, U: Send>(items: Vec<T>, map: impl Fn(T) -> U + Sync + Send) -> Vec<U> {
    const MAX_SERIAL_ITEMS: usize = 8;
    if items.len() <= MAX_SERIAL_ITEMS {
        return items.into_iter().map(map).collect();
    }
    items.into_par_iter().map(map).collect()
}

/// Finds each trace of the group once, and reads the existing ones.
fn read_traces(state: &StoreState, requests: &[GroupedRequest]) -> HashMap<TraceId, GroupTrace> {
    let traces = requests.iter().flat_map(|request| &request.traces);
    let trace_ids = traces.map(|(trace_id, _)| *trace_id).collect::<HashSet<_>>();
    let read = parallel_map(trace_ids.into_iter().collect(), |trace_id: TraceId| {
        let location = state.find(trace_id);
        let trace = location.map(|location| state.trace(location)).transpose();
        (trace_id, GroupTrace { location, trace, is_changed: false, is_repeated: false })
    });
    read.into_iter().collect()
}

/// Merges a request into the traces of its group. Returns its WAL entry if the request has new data.
fn merge_request(
    group: &mut HashMap<TraceId, GroupTrace>,
    request: GroupedRequest,
    limits: TraceLimits,
) -> (IngestOutcome, Option<WalEntry>) {
    let GroupedRequest { received, mut traces, encoded } = request;
    let mut outcome = IngestOutcome::default();
    for (trace_id, arrivals) in &mut traces {
        let (rejected, reason) = remove_rejected(&group[&*trace_id], *trace_id, arrivals, limits);
        if outcome.rejected == 0 {
            outcome.reason = reason;
        }
        outcome.rejected += rejected;
        outcome.accepted += arrivals.len() as u64;
    }
    let spans = if outcome.rejected == 0 { encoded } else { encode(&traces) };
    let (mut is_new, mut known) = (false, Vec::new());
    for (trace_id, arrivals) in traces.into_iter().filter(|(_, arrivals)| !arrivals.is_empty()) {
        let trace = group.get_mut(&trace_id).expect("every trace of the group was looked up");
        if merge_arrivals(trace, trace_id, received, arrivals) {
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

/// Returns the remaining content of a request as one `TracesData` message.
fn encode(traces: &[(TraceId, Arrivals)]) -> Bytes {
    let arrivals = || traces.iter().map(|(_, arrivals)| arrivals);
    let mut message = wire::join(arrivals().flat_map(|arrivals| &arrivals.spans).map(|span| &span.wire));
    append_fragments(&mut message, arrivals().flat_map(|arrivals| &arrivals.fragments));
    message.into()
}

/// Removes spans and fragments that a trace cannot accept. Returns their number and the reason for the first
/// rejection.
fn remove_rejected(
    group: &GroupTrace,
    trace_id: TraceId,
    arrivals: &mut Arrivals,
    limits: TraceLimits,
) -> (u64, String) {
    let present = match &group.trace {
        Ok(present) => present.as_ref(),
        Err(error) => {
            let rejected = std::mem::take(arrivals).len() as u64;
            return (rejected, format!("trace {trace_id} cannot be read: {error}"));
        }
    };
    let surplus = remove_surplus(present, &mut arrivals.spans, limits.spans);
    let surplus_fragments = remove_surplus_fragments(present, &mut arrivals.fragments, limits);
    let reason = if surplus > 0 {
        format!("trace {trace_id} has {} spans already", limits.spans)
    } else if surplus_fragments > 0 {
        format!(
            "trace {trace_id} has {} log records already, or one of its spans has {}",
            limits.fragments, limits.fragments_of_span
        )
    } else {
        String::new()
    };
    (surplus + surplus_fragments, reason)
}

/// Removes the spans over the limit of their trace, in order of arrival. Returns their number.
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

/// Removes the fragments over the limits of their trace and span, in order of arrival. Returns their number.
fn remove_surplus_fragments(
    present: Option<&Trace>,
    fragments: &mut Vec<Fragment>,
    limits: TraceLimits,
) -> u64 {
    let (mut count, arrived) = (present.map_or(0, |trace| trace.fragments().len()), fragments.len());
    let mut new: HashMap<SpanId, HashSet<(u64, Bytes)>> = HashMap::default();
    fragments.retain(|fragment| {
        let key = (fragment.time, fragment.event.clone());
        let new = new.entry(fragment.span_id).or_default();
        let is_known = present.is_some_and(|trace| trace.fragment(fragment).is_some());
        if is_known || new.contains(&key) {
            return true;
        }
        let of_span = present.map_or(0, |trace| trace.fragments_of(fragment.span_id).len());
        let fits = of_span + new.len() < limits.fragments_of_span && count < limits.fragments;
        if fits {
            new.insert(key);
            count += 1;
        }
        fits
    });
    (arrived - fragments.len()) as u64
}

/// Adds the content of a request to a trace. Returns `true` if the trace has changed.
fn merge_arrivals(group: &mut GroupTrace, trace_id: TraceId, received: i64, arrivals: Arrivals) -> bool {
    let Arrivals { spans, fragments } = arrivals;
    let Ok(trace) = &mut group.trace else { return false };
    let present = trace.get_or_insert_with(|| Trace::new(trace_id, received));
    let has_new_spans = spans.iter().any(|span| {
        let copy = present.span(span.span_id);
        copy.is_none_or(|copy| span.supersedes(copy))
    });
    let has_new_fragments = fragments.iter().any(|fragment| {
        let copy = present.fragment(fragment);
        copy.is_none_or(|copy| fragment.position < copy.position)
    });
    if has_new_spans {
        if present.spans().is_empty() {
            // A trace starts with its first span.
            present.created_at = received;
        }
        *present = present.with(spans);
    }
    if has_new_fragments {
        *present = present.with_fragments(fragments);
    }
    group.is_changed |= has_new_spans || has_new_fragments;
    has_new_spans || has_new_fragments
}
