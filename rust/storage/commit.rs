//! The committer: the one thread that changes the store.
//!
//! It takes all requests that wait, makes them durable with one write-ahead put, makes the changes,
//! publishes the snapshot, and only then answers. One put is in flight at a time, so the numbers have
//! no holes. What it folds into segments is in [`super::fold`].

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, ArcSwapOption};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use ulid::Ulid;

use super::adopt::Adoption;
use super::arrivals::{Arrival, Gathered, Outcome, gather};
use super::aside::Aside;
use super::cache::Cache;
use super::compact::Compaction;
use super::manifest::ImportRecord;
use super::objects::{Objects, Put, put};
use super::options::Options;
use super::pace::Pace;
use super::pressure::Pressure;
use super::seal::{Cut, Written};
use super::snapshot::Snapshot;
use super::state::State;
use super::wal;
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::trace::MAX_SPANS;

/// A group is written once it has this many bytes, however many requests still wait.
const GROUP_BYTES: usize = 16 << 20;

/// What the committer is asked to do, in order.
pub(super) enum Order {
    /// Make these spans durable.
    Ingest { arrival: Arrival, answer: Sender<Result<Outcome>> },
    /// Seal what is there now.
    Flush(Sender<Result<()>>),
    /// Delete the traces that the filter matches; the answer is how many.
    Delete { filter: Filter, answer: Sender<Result<u64>> },
    /// Merge all there is to merge.
    Compact { purge: bool, answer: Sender<Result<()>> },
    /// Make a segment of imported traces live.
    Adopt { adoption: Box<Adoption>, answer: Sender<Result<()>> },
    /// The sealing thread is done with the oldest generation.
    Sealed(Result<Written>),
    /// The merging thread is done; `None` if no row was left.
    Merged(Result<Option<Written>>),
    /// End.
    Close,
}

/// What everybody may read at any time.
#[derive(Debug, Default)]
pub(super) struct Published {
    pub(super) snapshot: ArcSwap<Snapshot>,
    pub(super) progress: ArcSwap<Progress>,
    /// Why what is too old could not be deleted.
    pub(super) retention_fault: ArcSwapOption<String>,
    /// Held while an import has written files that no manifest names yet.
    pub(super) unnamed_files: Mutex<()>,
}

/// Hands the committer an order and waits for its answer; `None` if the committer has ended.
pub(super) fn ask<T>(
    orders: &Sender<Order>,
    order: impl FnOnce(Sender<Result<T>>) -> Order,
) -> Option<Result<T>> {
    let (answer, answered) = bounded(1);
    // An order that cannot be sent must go at once: with it goes the answer's other end, for which we wait.
    drop(orders.send(order(answer)));
    answered.recv().ok()
}

/// How far the committer is.
#[derive(Debug, Clone, Default)]
pub(super) struct Progress {
    /// Why nothing more is acknowledged.
    pub(super) stopped: Option<String>,
    /// Why the last seal failed, if it did.
    pub(super) seal_fault: Option<String>,
    /// Why the last merge failed, if it did.
    pub(super) merge_fault: Option<String>,
    pub(super) is_merging: bool,
    pub(super) segments: usize,
    pub(super) generations: usize,
    pub(super) unsealed_bytes: u64,
    pub(super) unsealed_objects: u64,
    pub(super) wal_through: u64,
    pub(super) wal_folded_through: u64,
    pub(super) manifest: u64,
    pub(super) aside: Vec<Aside>,
    pub(super) imports: Vec<ImportRecord>,
}

/// The numbers with which this writer claimed the store. They are kept while it lives, so that a
/// writer that slept through the claim still finds them taken.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    pub(super) writer: Ulid,
    pub(super) manifest: u64,
    pub(super) fence: u64,
    /// The fences of others that are not folded yet or were, since this writer opened the store.
    pub(super) fences: BTreeSet<u64>,
    /// The operating system keeps other writers out, so their fences are not needed.
    pub(super) is_locked: bool,
}

impl Claim {
    /// Returns whether a write-ahead object that is folded stays: it is a fence.
    pub(super) fn keeps(&self, number: u64, bytes: u64) -> bool {
        number == self.fence || (!self.is_locked && bytes == wal::FENCE_BYTES)
    }
}

/// The state of the committing thread.
pub(super) struct Committer {
    pub(super) objects: Arc<dyn Objects>,
    pub(super) options: Options,
    pub(super) claim: Claim,
    pub(super) state: State,
    pub(super) published: Arc<Published>,
    /// The sealing thread's end.
    pub(super) cuts: Sender<Cut>,
    /// Whether the sealing thread has the oldest generation.
    pub(super) is_sealing: bool,
    /// Not before this may a failed seal be tried again.
    pub(super) retry_at: Option<Instant>,
    pub(super) seal_fault: Option<Error>,
    pub(super) stopped: Option<String>,
    /// Who waits until what is there up to a write-ahead number is sealed.
    pub(super) flushes: Vec<(u64, Sender<Result<()>>)>,
    /// Orders that came while the committer did what nothing may come between.
    pub(super) held_back: VecDeque<Order>,
    pub(super) compaction: Compaction,
    pub(super) pace: Pace,
    pub(super) pressure: Pressure,
}

/// A request with the one who waits for its answer.
type Waiting = (Arrival, Sender<Result<Outcome>>);

impl Committer {
    /// Works until it is told to close, or nobody is left to tell it anything.
    pub(super) fn run(mut self, orders: &Receiver<Order>) {
        loop {
            self.fold_due();
            let mut next =
                match self.held_back.pop_front().map_or_else(|| orders.recv_timeout(self.patience()), Ok) {
                    Ok(order) => Some(order),
                    Err(RecvTimeoutError::Timeout) => None,
                    Err(RecvTimeoutError::Disconnected) => return,
                };
            let (mut group, mut bytes) = (Vec::new(), 0);
            while let Some(order) = next {
                match order {
                    Order::Ingest { arrival, answer } => {
                        bytes += arrival.encoded.len();
                        group.push((arrival, answer));
                    }
                    Order::Flush(answer) => {
                        self.commit(std::mem::take(&mut group));
                        self.flush(answer);
                    }
                    Order::Delete { filter, answer } => {
                        self.commit(std::mem::take(&mut group));
                        let _gone = answer.send(self.delete(&filter, orders));
                    }
                    Order::Adopt { adoption, answer } => {
                        self.commit(std::mem::take(&mut group));
                        let _gone = answer.send(self.adopt(*adoption, orders));
                    }
                    Order::Compact { purge, answer } => self.compact(purge, answer),
                    Order::Sealed(written) => self.sealed(written),
                    Order::Merged(written) => self.merged(written),
                    Order::Close => {
                        self.commit(group);
                        return self.close(orders);
                    }
                }
                let is_full = bytes >= GROUP_BYTES;
                next = if is_full {
                    None
                } else {
                    let patience = if group.is_empty() { Duration::ZERO } else { self.pace.remaining() };
                    self.held_back.pop_front().or_else(|| orders.recv_timeout(patience).ok())
                };
            }
            if !group.is_empty() {
                self.let_sealing_catch_up(orders);
            }
            self.commit(group);
        }
    }

    /// How long there is nothing to do unless an order comes.
    fn patience(&self) -> Duration {
        const LONG: Duration = Duration::from_secs(3_600);
        if self.stopped.is_some() {
            return LONG;
        }
        let now = Instant::now();
        let until = |instant: Instant| instant.saturating_duration_since(now);
        let merge = self.compaction.retry_at.filter(|_| self.compaction.may_be_due);
        let retry = [self.retry_at, merge, self.compaction.put_off_until]
            .into_iter()
            .flatten()
            .map(until)
            .min()
            .unwrap_or(LONG);
        let age = self.state.generations.last().and_then(|open| open.since);
        let cut = age.and_then(|since| since.checked_add(Duration::from_secs(self.options.seal_seconds)));
        retry.min(cut.map_or(LONG, until))
    }

    /// Makes a group durable and searchable, and answers it.
    fn commit(&mut self, group: Vec<Waiting>) {
        if group.is_empty() {
            return;
        }
        let (arrivals, answers): (Vec<_>, Vec<_>) = group.into_iter().unzip();
        let outcomes = match self.refusal() {
            Some(refusal) => Err(refusal),
            None => self.write(gather(&self.state, arrivals, MAX_SPANS)),
        };
        // A caller that no longer waits is no fault.
        match outcomes {
            Ok(outcomes) => answers.iter().zip(outcomes).for_each(|(answer, outcome)| {
                let _gone = answer.send(outcome);
            }),
            Err(refusal) => answers.iter().for_each(|answer| {
                let _gone = answer.send(Err(refusal.clone()));
            }),
        }
    }

    /// Returns why no request is taken now, if none is.
    pub(super) fn refusal(&self) -> Option<Error> {
        if let Some(reason) = &self.stopped {
            return Some(Error::Stopped(reason.clone()));
        }
        if self.is_overfull() {
            let (bytes, objects) = self.state.unsealed();
            return Some(Error::Busy(format!(
                "{bytes} bytes in {objects} write-ahead objects wait to be sealed"
            )));
        }
        self.shortage()
    }

    /// Returns that the disk is too full to take anything, if it is. What is there is sealed all the
    /// same, so that its write-ahead can be let go.
    fn shortage(&self) -> Option<Error> {
        let least = self.options.min_free_bytes;
        if least == 0 {
            return None;
        }
        match self.objects.free_bytes() {
            Ok(Some(free)) if free < least => {
                Some(Error::Busy(format!("the disk has {free} bytes free, expected at least {least}")))
            }
            Ok(_) => None,
            Err(fault) => Some(Error::Busy(fault.to_string())),
        }
    }

    /// Whether more is not sealed than may be.
    pub(super) fn is_overfull(&self) -> bool {
        let (bytes, objects) = self.state.unsealed();
        bytes > self.options.max_unsealed_bytes
            || objects > self.options.max_unsealed_objects
            || self.state.in_memory() > self.options.max_head_bytes
    }

    /// Writes what a group brings and makes its changes.
    ///
    /// # Errors
    /// [`Error::Busy`] if the write did not happen, [`Error::Stopped`] if it may have.
    fn write(&mut self, gathered: Gathered) -> Result<Vec<Result<Outcome>>> {
        let Gathered { outcomes, entries, changes } = gathered;
        if entries.is_empty() {
            return Ok(outcomes);
        }
        self.pace.wait();
        let (number, bytes) = loop {
            let number = self.state.open_generation().wal_through + 1;
            let content = wal::encode(number, self.claim.writer, &entries);
            let path = wal::path(number);
            match put(self.objects.as_ref(), &path, &content) {
                Put::Done => break (number, content.len() as u64),
                Put::Absent(fault) => return Err(Error::Busy(format!("nothing was stored: {fault}"))),
                Put::Taken => self.step_over(number)?,
                // The next put finds it at its number, if it happened, and steps over it.
                Put::Unknown(fault) if self.objects.is_durable_once_seen() => {
                    return Err(Error::Busy(format!("it is not known whether it was stored: {fault}")));
                }
                Put::Unknown(fault) => {
                    return Err(self.stop(format!("whether `{path}` is durable is not known: {fault}")));
                }
            }
        };
        self.state.apply(changes, number, bytes);
        self.publish();
        Ok(outcomes)
    }

    /// Acknowledges nothing from here on.
    pub(super) fn stop(&mut self, reason: String) -> Error {
        self.stopped = Some(reason.clone());
        self.publish_progress();
        for (_, answer) in self.flushes.drain(..) {
            let _gone = answer.send(Err(Error::Stopped(reason.clone())));
        }
        for asked in self.compaction.asked.drain(..) {
            let _gone = asked.answer.send(Err(Error::Stopped(reason.clone())));
        }
        Error::Stopped(reason)
    }

    /// Returns where the indexes of segments are kept.
    pub(super) fn cache(&self) -> Cache {
        Cache::of(&self.options)
    }

    /// Shows the present state to searches.
    pub(super) fn publish(&mut self) {
        let before = self.published.snapshot.load_full();
        self.published.snapshot.store(Arc::new(self.state.snapshot().after(&before)));
        self.publish_progress();
    }

    pub(super) fn publish_progress(&mut self) {
        let (unsealed_bytes, unsealed_objects) = self.state.unsealed();
        self.published.progress.store(Arc::new(Progress {
            stopped: self.stopped.clone(),
            seal_fault: self.seal_fault.as_ref().map(ToString::to_string),
            merge_fault: self.compaction.fault.as_ref().map(ToString::to_string),
            is_merging: self.compaction.under_way.is_some(),
            segments: self.state.sealed.len(),
            generations: self.state.generations.len(),
            unsealed_bytes,
            unsealed_objects,
            wal_through: self.state.open_generation().wal_through,
            wal_folded_through: self.state.manifest.wal_folded_through,
            manifest: self.state.manifest.number,
            aside: self.state.manifest.aside.iter().map(Aside::of).collect(),
            imports: self.state.manifest.imports.clone(),
        }));
    }

    /// Ends: the seal under way is still committed. Whoever asks for something now, or waits for a
    /// merge, learns that nobody is left to answer.
    fn close(mut self, orders: &Receiver<Order>) {
        while self.is_sealing {
            match orders.recv() {
                Ok(Order::Sealed(written)) => self.sealed(written),
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_a_committer_that_has_ended_does_not_wait() {
        let (orders, ended) = crossbeam_channel::unbounded();
        drop(ended);
        let (done, asked) = bounded(1);
        std::thread::spawn(move || done.send(ask(&orders, Order::Flush).is_none()));
        assert_eq!(asked.recv_timeout(Duration::from_secs(30)), Ok(true));
    }
}
