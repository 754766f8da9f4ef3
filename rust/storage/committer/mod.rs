//! The committer: the one thread that changes the store.
//!
//! It takes all requests that wait, makes them durable with one write-ahead put, publishes the snapshot
//! with their changes, and only then are they answered ([`crate::storage::committer::group_commit`]). What it folds into segments
//! is in [`crate::storage::committer::flush`].

pub(crate) mod bulk_load;
pub(crate) mod commit_interval;
pub(crate) mod compaction;
pub(crate) mod compaction_picker;
pub(crate) mod delete;
mod flush;
pub(crate) mod group_commit;
pub(crate) mod ingest_rate;
mod manifest_commit;
pub(crate) mod publish;
mod wal_conflict;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded, select};
use ulid::Ulid;

use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::storage::committer::bulk_load::Adoption;
use crate::storage::committer::commit_interval::Pace;
use crate::storage::committer::compaction::Compaction;
use crate::storage::committer::group_commit::{Answer, Writer, refuse};
use crate::storage::committer::ingest_rate::Pressure;
use crate::storage::committer::publish::Published;
use crate::storage::objects::Objects;
use crate::storage::options::Options;
use crate::storage::segment::index_cache::IndexCache;
use crate::storage::state::State;
use crate::storage::state::merge_spans::{Arrival, Outcome, gather};
use crate::storage::wal;
use crate::storage::workers::flush::{Cut, Written};
use crate::storage::workers::reclaim::Removal;
use crate::trace::MAX_SPANS;

/// A group is written once it has this many bytes, however many requests still wait.
const GROUP_BYTES: usize = 16 << 20;

/// So many bytes are gathered while another group is being written; with fewer, more are waited for.
const GATHERED_BYTES: usize = 1 << 20;

/// How long is waited for what will wake the committer.
const LONG: Duration = Duration::from_secs(3_600);

/// What the committer is asked to do, in order.
pub(crate) enum Order {
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

/// Hands the committer an order and waits for its answer; `None` if the committer has ended.
pub(crate) fn ask<T>(
    orders: &Sender<Order>,
    order: impl FnOnce(Sender<Result<T>>) -> Order,
) -> Option<Result<T>> {
    let (answer, answered) = bounded(1);
    // An order that cannot be sent must go at once: with it goes the answer's other end, for which we wait.
    drop(orders.send(order(answer)));
    answered.recv().ok()
}

/// The numbers with which this writer claimed the store. They are kept while it lives, so that a
/// writer that slept through the claim still finds them taken.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    pub(crate) writer: Ulid,
    pub(crate) manifest: u64,
    pub(crate) fence: u64,
    /// The fences of others that are not folded yet or were, since this writer opened the store.
    pub(crate) fences: BTreeSet<u64>,
    /// The operating system keeps other writers out, so their fences are not needed.
    pub(crate) is_locked: bool,
}

impl Claim {
    /// Returns whether a write-ahead object that is folded stays: it is a fence.
    pub(crate) fn keeps(&self, number: u64, bytes: u64) -> bool {
        number == self.fence || (!self.is_locked && bytes == wal::FENCE_BYTES)
    }
}

/// The state of the committing thread.
pub(crate) struct Committer {
    pub(crate) objects: Arc<dyn Objects>,
    pub(crate) options: Options,
    pub(crate) claim: Claim,
    pub(crate) state: State,
    pub(crate) published: Arc<Published>,
    /// The sealing thread's end.
    pub(crate) cuts: Sender<Cut>,
    /// Whether the sealing thread has the oldest generation.
    pub(crate) is_sealing: bool,
    /// Not before this may a failed seal be tried again.
    pub(crate) retry_at: Option<Instant>,
    pub(crate) seal_fault: Option<Error>,
    pub(crate) stopped: Option<String>,
    /// Who waits until what is there up to a write-ahead number is sealed.
    pub(crate) flushes: Vec<(u64, Sender<Result<()>>)>,
    /// Orders that came while the committer did what nothing may come between.
    pub(crate) held_back: VecDeque<Order>,
    pub(crate) compaction: Compaction,
    pub(crate) pace: Pace,
    pub(crate) pressure: Pressure,
    pub(crate) writer: Writer,
    pub(crate) removal: Removal,
    /// Whether something came that may have to be followed by folding.
    pub(crate) may_fold: bool,
}

/// Requests that are committed together, each with the one who waits for its answer.
#[derive(Default)]
struct Group {
    waiting: Vec<(Arrival, Answer)>,
    /// The bytes of their spans.
    bytes: usize,
}

/// What the committer was waiting for.
enum Woken {
    Order(Order),
    /// A group was written, or was not.
    Settled,
    Late,
    /// Nobody is left to tell it anything.
    Alone,
}

impl Committer {
    /// Works until it is told to close, or nobody is left to tell it anything.
    pub(crate) fn run(mut self, orders: &Receiver<Order>) {
        loop {
            if self.may_fold || self.is_cut_due() || self.patience().is_zero() {
                self.rest();
                self.may_fold = false;
                self.fold_due();
            }
            let mut next = match self.wait(orders, self.patience()) {
                Woken::Order(order) => Some(order),
                Woken::Settled | Woken::Late => None,
                Woken::Alone => return self.rest(),
            };
            let mut group = Group::default();
            while let Some(order) = next {
                match order {
                    Order::Ingest { arrival, answer } => {
                        group.bytes += arrival.encoded.len();
                        group.waiting.push((arrival, answer));
                    }
                    Order::Flush(answer) => {
                        self.commit(std::mem::take(&mut group));
                        self.rest();
                        self.flush(answer);
                    }
                    Order::Delete { filter, answer } => {
                        self.commit(std::mem::take(&mut group));
                        self.rest();
                        let deleted = self.delete(&filter, orders);
                        self.answer_after_removal(answer, deleted);
                    }
                    Order::Adopt { adoption, answer } => {
                        self.commit(std::mem::take(&mut group));
                        self.rest();
                        let adopted = self.adopt(*adoption, orders);
                        self.answer_after_removal(answer, adopted);
                    }
                    Order::Compact { purge, answer } => {
                        self.rest();
                        self.compact(purge, answer);
                    }
                    Order::Sealed(written) => {
                        self.rest();
                        self.sealed(written);
                    }
                    Order::Merged(written) => {
                        self.rest();
                        self.merged(written);
                    }
                    Order::Close => {
                        self.commit(group);
                        self.rest();
                        return self.close(orders);
                    }
                }
                next = self.another(orders, group.bytes);
            }
            if !group.waiting.is_empty() {
                self.let_sealing_catch_up(orders);
            }
            self.commit(group);
        }
    }

    /// Waits until nothing is being written, so that something else may change the store.
    pub(crate) fn rest(&mut self) {
        let _whoever_waited_knows = self.settle();
        self.may_fold = true;
    }

    /// Returns the next order, or `None` if the group with so many bytes is to be committed now.
    fn another(&mut self, orders: &Receiver<Order>, bytes: usize) -> Option<Order> {
        loop {
            let patience = match bytes {
                0 => Duration::ZERO,
                GROUP_BYTES.. => return None,
                ..GATHERED_BYTES if self.writer.is_at_work() => LONG,
                _ => self.pace.remaining(),
            };
            match self.wait(orders, patience) {
                Woken::Order(order) => return Some(order),
                Woken::Settled => {}
                Woken::Late | Woken::Alone => return None,
            }
        }
    }

    /// Waits for an order, or until what is being written was.
    fn wait(&mut self, orders: &Receiver<Order>, patience: Duration) -> Woken {
        if let Some(order) = self.held_back.pop_front() {
            return Woken::Order(order);
        }
        let written = self.writer.written();
        select! {
            recv(orders) -> order => order.map_or(Woken::Alone, Woken::Order),
            recv(written) -> written => {
                let _whoever_waited_knows = match written {
                    Ok(written) => self.settled(written),
                    Err(_) => Err(self.writer_died()),
                };
                Woken::Settled
            }
            default(patience) => Woken::Late,
        }
    }

    /// How long there is nothing to do unless an order comes.
    fn patience(&self) -> Duration {
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

    /// Has a group made durable and searchable, and answered.
    fn commit(&mut self, group: Group) {
        if group.waiting.is_empty() {
            return;
        }
        let (arrivals, answers): (Vec<_>, Vec<_>) = group.waiting.into_iter().unzip();
        match self.refusal() {
            Some(refusal) => refuse(&answers, &refusal),
            None => self.write(gather(self.newest(), arrivals, MAX_SPANS), answers),
        }
    }

    /// Returns why no request is taken now, if none is.
    pub(crate) fn refusal(&self) -> Option<Error> {
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
    pub(crate) fn is_overfull(&self) -> bool {
        let (bytes, objects) = self.state.unsealed();
        bytes > self.options.max_unsealed_bytes
            || objects > self.options.max_unsealed_objects
            || self.state.in_memory() > self.options.max_head_bytes
    }

    /// Acknowledges nothing from here on.
    pub(crate) fn stop(&mut self, reason: String) -> Error {
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
    pub(crate) fn cache(&self) -> IndexCache {
        IndexCache::of(&self.options)
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
