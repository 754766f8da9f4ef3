//! The committer's other half: generations are cut, sealed, and their write-ahead objects let go.
//!
//! Until the manifest with a new segment is durable ([`crate::storage::committer::manifest_commit`]), the write-ahead holds the truth.

use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};

use crate::error::{Error, Result};
use crate::storage::committer::{Committer, Order};
use crate::storage::workers::flush::{Cut, Written, discard};

/// How long a failed seal waits before it is tried again.
const RETRY: Duration = Duration::from_secs(1);

impl Committer {
    /// Cuts the open generation if it is large or old enough, and sees that sealing goes on. Nothing is being
    /// written.
    pub(crate) fn fold_due(&mut self) {
        if self.stopped.is_some() {
            return;
        }
        if self.is_cut_due() {
            self.cut();
        }
        self.merge_next();
        // At the most segments there may be, the smallest are merged before there is another.
        let is_crowded = self.state.sealed.len() as u64 >= self.options.max_segments;
        if !(is_crowded && self.compaction.under_way.is_some()) {
            self.seal_next();
        }
    }

    /// Cuts the open generation. If it is large, how fast it became so tells of pressure.
    pub(crate) fn cut(&mut self) {
        let open = self.state.open_generation();
        if open.is_large(&self.options) {
            self.pressure.measure(open.bytes, open.since.map_or(Duration::MAX, |since| since.elapsed()));
        }
        self.state.cut();
        self.publish_progress();
    }

    /// Whether the open generation is large or old enough to be cut.
    pub(crate) fn is_cut_due(&self) -> bool {
        let options = &self.options;
        self.newest().generations.last().is_some_and(|open| {
            open.is_large(options)
                || open.since.is_some_and(|since| since.elapsed().as_secs() >= options.seal_seconds)
                || (self.is_overfull() && open.objects > 0)
        })
    }

    /// Cuts the open generation and lets `answer` know once everything before is sealed.
    pub(crate) fn flush(&mut self, answer: Sender<Result<()>>) {
        let refusal = self.stopped.clone().map(Error::Stopped);
        if !self.state.open_generation().parts.is_empty() {
            self.cut();
        }
        let cut = self.state.generations.iter().rev().nth(1).map(|generation| generation.wal_through);
        match (refusal, cut) {
            (Some(refusal), _) => {
                let _gone = answer.send(Err(refusal));
            }
            (None, None) => self.answer_after_removal(answer, Ok(())),
            (None, Some(through)) => {
                self.flushes.push((through, answer));
                self.retry_at = None;
            }
        }
    }

    /// Hands the oldest cut generation to the sealing thread, if that is free.
    pub(crate) fn seal_next(&mut self) {
        while self.stopped.is_none() && !self.is_sealing && self.state.generations.len() > 1 {
            if self.retry_at.is_some_and(|instant| instant > Instant::now()) {
                return;
            }
            self.retry_at = None;
            match self.state.generations[0].cut.clone() {
                Some(entries) if !entries.is_empty() => {
                    let is_hurried = self.pressure.until().is_some();
                    self.is_sealing = self.cuts.send(Cut { entries, is_hurried }).is_ok();
                    if !self.is_sealing {
                        self.stop("the sealing thread has died".into());
                    }
                }
                // Nothing but fences.
                _ => self.finish_seal(None),
            }
        }
    }

    /// Waits a moment for a seal if requests would soon have to be refused. Sealing has a low priority:
    /// whoever sends without pause must leave it the time it needs.
    pub(crate) fn let_sealing_catch_up(&mut self, orders: &Receiver<Order>) {
        const PATIENCE: Duration = Duration::from_secs(1);
        let until = Instant::now() + PATIENCE;
        while self.is_sealing && self.is_nearly_full() {
            self.rest();
            match orders.recv_deadline(until) {
                Ok(Order::Sealed(written)) => {
                    self.sealed(written);
                    self.fold_due();
                }
                Ok(order) => self.held_back.push_back(order),
                Err(_) => return,
            }
        }
    }

    fn is_nearly_full(&self) -> bool {
        self.state.unsealed().0 > self.options.max_unsealed_bytes / 4 * 3
            || self.state.in_memory() > self.options.max_head_bytes / 4 * 3
    }

    /// Commits what the sealing thread wrote.
    pub(crate) fn sealed(&mut self, written: Result<Written>) {
        self.is_sealing = false;
        match written {
            Ok(written) if self.stopped.is_none() => self.finish_seal(Some(written)),
            Ok(written) => discard(self.objects.as_ref(), &self.cache(), &written.record),
            Err(fault) => self.seal_failed(fault),
        }
    }

    fn finish_seal(&mut self, written: Option<Written>) {
        let record = written.as_ref().map(|written| written.record.clone());
        match self.commit_seal(written) {
            Ok(()) => {
                self.seal_fault = None;
                self.publish();
                let through = self.state.manifest.wal_checkpoint;
                let (wait_on, done) =
                    std::mem::take(&mut self.flushes).into_iter().partition(|(wanted, _)| *wanted > through);
                self.flushes = wait_on;
                for (_, answer) in done {
                    self.answer_after_removal(answer, Ok(()));
                }
            }
            Err(fault) => {
                // A segment that may be live must stay; the next opening knows.
                if let (Some(record), None) = (&record, &self.stopped) {
                    discard(self.objects.as_ref(), &self.cache(), record);
                }
                self.seal_failed(fault);
            }
        }
    }

    /// Remembers the fault and tries again later. Until then the generation stays as it is.
    fn seal_failed(&mut self, fault: Error) {
        self.retry_at = Some(Instant::now() + RETRY);
        let told = fault.clone();
        self.seal_fault = Some(fault);
        self.publish_progress();
        for (_, answer) in self.flushes.drain(..) {
            let _gone = answer.send(Err(told.clone()));
        }
    }

    /// Makes the oldest generation's segment live; without one, only its write-ahead is folded.
    fn commit_seal(&mut self, written: Option<Written>) -> Result<()> {
        let sealed = self.state.sealing(written)?;
        self.install(sealed, self.state.generations[0].wal_through)?;
        self.state.generations.remove(0);
        Ok(())
    }
}
