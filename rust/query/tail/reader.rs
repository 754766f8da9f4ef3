//! One reader: its position, its queue, and its sent events.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::filter::Filter;
use crate::otlp::TraceId;
use crate::query::tail::event::{EventKind, TailEvent};

/// The maximum number of traces in a reader's queue. Beyond it the oldest one is dropped.
pub const MAX_QUEUED: usize = 256;

/// The least time between two events of one trace.
pub const MIN_INTERVAL: Duration = Duration::from_secs(1);

/// The number of sent traces that are remembered per reader, which takes about 200 KiB.
const MAX_SENT: usize = 3_584;

/// The number of events that can be sent again to a reader that lost them with its connection.
const MAX_REPLAYED: usize = 1_024;

/// A reader of the matching traces that change after a position.
#[derive(Debug)]
pub struct Tail {
    filter: Filter,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The position up to which changes were evaluated.
    position: u64,
    queue: Queue,
    /// Traces that changed soon after they were sent, with the time at which they are queued.
    deferred: HashMap<TraceId, Instant>,
    sent: SentTraces,
    /// The number of the last event.
    last: u64,
    /// The last events.
    replay_log: VecDeque<SentEvent>,
    /// Rows that were dropped since the last event that reported drops.
    dropped: u64,
    /// True if changes were lost since the last event that reported a gap.
    has_gap: bool,
}

/// An event as it is remembered.
#[derive(Debug, Clone, Copy)]
enum SentEvent {
    Trace(TraceId),
    Dropped(u64),
    Gap,
}

impl Tail {
    /// Returns a reader of the changes after `position` (see [`crate::storage::Changes`]).
    pub fn new(filter: Filter, position: u64) -> Self {
        Self { filter, state: Mutex::new(State { position, ..State::default() }) }
    }

    /// Returns the number of the last event.
    pub fn last(&self) -> u64 {
        self.state().last
    }

    /// Rewinds to the state after event `number`, so that later events are sent again. Returns false if the reader no
    /// longer remembers them.
    pub fn rewind(&self, number: u64) -> bool {
        self.state().rewind(number)
    }

    pub(super) fn filter(&self) -> &Filter {
        &self.filter
    }

    pub(super) fn position(&self) -> u64 {
        self.state().position
    }

    pub(super) fn has_deferred(&self) -> bool {
        !self.state().deferred.is_empty()
    }

    /// Moves to `position`. `changed` are the matching traces that changed up to there, with the positions of their
    /// last changes. With `has_gap`, other changes were lost.
    pub(super) fn advance(
        &self,
        changed: impl Iterator<Item = (TraceId, u64)>,
        position: u64,
        has_gap: bool,
    ) {
        let mut state = self.state();
        state.position = position;
        state.has_gap |= has_gap;
        changed.for_each(|(trace_id, changed_at)| state.offer(trace_id, changed_at));
    }

    /// Starts a batch of at most `max_events` trace events. Events that report lost rows come in addition.
    pub(super) fn start_batch(&self, max_events: usize, now: Instant) -> Batch<'_> {
        let mut state = self.state();
        state.queue_due(now);
        let traces = if max_events == 0 { Vec::new() } else { state.queue.pop(max_events) };
        let mut batch = Batch { state, traces, events: Vec::new(), now };
        if max_events > 0 {
            batch.report_losses();
        }
        batch
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Queues a trace that changed at a position, now or once it may be sent again.
    fn offer(&mut self, trace_id: TraceId, changed_at: u64) {
        match self.sent.of(trace_id) {
            Some(sent) if sent.through >= changed_at => {}
            // The trace may already be due, but the time is known only in `queue_due`.
            Some(sent) => drop(self.deferred.insert(trace_id, sent.at + MIN_INTERVAL)),
            None => self.queue(trace_id),
        }
    }

    /// Queues the deferred traces that are due, longest wait first.
    fn queue_due(&mut self, now: Instant) {
        let mut due: Vec<(Instant, TraceId)> =
            self.deferred.iter().filter(|(_, due)| **due <= now).map(|(id, due)| (*due, *id)).collect();
        due.sort_unstable();
        for (_, trace_id) in due {
            self.deferred.remove(&trace_id);
            self.queue(trace_id);
        }
    }

    fn queue(&mut self, trace_id: TraceId) {
        self.dropped += self.queue.push(trace_id);
    }

    fn rewind(&mut self, number: u64) -> bool {
        let Some(lost) = self.last.checked_sub(number).and_then(|lost| usize::try_from(lost).ok()) else {
            return false;
        };
        if lost > self.replay_log.len() {
            return false;
        }
        for event in self.replay_log.split_off(self.replay_log.len() - lost).into_iter().rev() {
            match event {
                SentEvent::Trace(trace_id) => {
                    self.deferred.remove(&trace_id);
                    self.queue.push_front(trace_id);
                    self.sent.forget_after(trace_id, number);
                }
                SentEvent::Dropped(count) => self.dropped += count,
                SentEvent::Gap => self.has_gap = true,
            }
        }
        self.last = number;
        true
    }
}

/// A batch of events in progress.
pub(super) struct Batch<'a> {
    state: MutexGuard<'a, State>,
    traces: Vec<TraceId>,
    events: Vec<TailEvent>,
    now: Instant,
}

impl Batch<'_> {
    /// Returns the traces to send, if they still match.
    pub(super) fn traces(&self) -> &[TraceId] {
        &self.traces
    }

    /// Adds the event of one of the traces. Its JSON `item` contains its changes up to the position `through`. Returns
    /// its size in bytes.
    pub(super) fn add(&mut self, index: usize, item: &[u8], through: u64) -> usize {
        const UPDATE: &[u8] = br#","update":true}"#;
        let (trace_id, number) = (self.traces[index], self.state.last + 1);
        let is_update = self.state.sent.add(trace_id, Sent { first: number, at: self.now, through });
        let mut body = Vec::with_capacity(item.len() + UPDATE.len());
        match item.split_last() {
            Some((_, members)) if is_update => {
                body.extend_from_slice(members);
                body.extend_from_slice(UPDATE);
            }
            _ => body.extend_from_slice(item),
        }
        let bytes = body.len();
        self.push(EventKind::Trace, SentEvent::Trace(trace_id), body);
        bytes
    }

    /// Returns the traces from this index on to the front of the queue.
    pub(super) fn requeue_from(&mut self, index: usize) {
        for trace_id in self.traces.drain(index..).rev() {
            self.state.queue.push_front(trace_id);
        }
    }

    /// Counts a trace that could not be read.
    pub(super) fn count_dropped(&mut self) {
        self.state.dropped += 1;
    }

    pub(super) fn finish(self) -> Vec<TailEvent> {
        self.events
    }

    /// Lost rows are older than the queued ones, so they are reported first.
    fn report_losses(&mut self) {
        if std::mem::take(&mut self.state.has_gap) {
            self.push(EventKind::Gap, SentEvent::Gap, b"{}".to_vec());
        }
        let count = std::mem::take(&mut self.state.dropped);
        if count > 0 {
            let body = format!(r#"{{"count":{count}}}"#).into_bytes();
            self.push(EventKind::Dropped, SentEvent::Dropped(count), body);
        }
    }

    fn push(&mut self, kind: EventKind, remembered: SentEvent, body: Vec<u8>) {
        let state = &mut self.state;
        state.last += 1;
        if state.replay_log.len() == MAX_REPLAYED {
            state.replay_log.pop_front();
        }
        state.replay_log.push_back(remembered);
        self.events.push(TailEvent { number: state.last, kind, body });
    }
}

/// Distinct traces in the order in which they are sent.
#[derive(Debug, Default)]
struct Queue {
    traces: VecDeque<TraceId>,
    known: HashSet<TraceId>,
}

impl Queue {
    /// Adds a trace unless it is queued already. Returns the number of traces dropped to make room.
    fn push(&mut self, trace_id: TraceId) -> u64 {
        if !self.known.insert(trace_id) {
            return 0;
        }
        self.traces.push_back(trace_id);
        let surplus = self.traces.len().saturating_sub(MAX_QUEUED);
        for dropped in self.traces.drain(..surplus) {
            self.known.remove(&dropped);
        }
        surplus as u64
    }

    /// Adds a trace that is sent before all others.
    fn push_front(&mut self, trace_id: TraceId) {
        if !self.known.insert(trace_id) {
            self.traces.retain(|queued| *queued != trace_id);
        }
        self.traces.push_front(trace_id);
    }

    fn pop(&mut self, max: usize) -> Vec<TraceId> {
        let popped: Vec<TraceId> = self.traces.drain(..max.min(self.traces.len())).collect();
        for trace_id in &popped {
            self.known.remove(trace_id);
        }
        popped
    }
}

/// The events of a sent trace.
#[derive(Debug, Clone, Copy)]
struct Sent {
    /// The number of its first event.
    first: u64,
    /// The time of its last event.
    at: Instant,
    /// The position of the changes that its last event contains.
    through: u64,
}

/// The sent traces that are remembered.
#[derive(Debug, Default)]
struct SentTraces {
    by_id: HashMap<TraceId, Sent>,
    /// In the order of their first events.
    order: VecDeque<TraceId>,
}

impl SentTraces {
    fn of(&self, trace_id: TraceId) -> Option<Sent> {
        self.by_id.get(&trace_id).copied()
    }

    /// Records an event of a trace. Returns true if the trace was sent before.
    fn add(&mut self, trace_id: TraceId, sent: Sent) -> bool {
        if let Some(known) = self.by_id.get_mut(&trace_id) {
            *known = Sent { first: known.first, ..sent };
            return true;
        }
        if self.order.len() == MAX_SENT
            && let Some(oldest) = self.order.pop_front()
        {
            self.by_id.remove(&oldest);
        }
        self.order.push_back(trace_id);
        self.by_id.insert(trace_id, sent);
        false
    }

    /// Forgets a trace if its first event came after event `number`.
    fn forget_after(&mut self, trace_id: TraceId, number: u64) {
        if self.of(trace_id).is_some_and(|sent| sent.first > number) {
            self.by_id.remove(&trace_id);
            self.order.retain(|known| *known != trace_id);
        }
    }
}
