//! Compaction: the committer decides what is merged, and commits what the merging thread wrote.
//!
//! Between its begin and its commit the store goes on. At its commit a merge hides again, by trace id,
//! whatever was superseded or deleted since it began.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use roaring::RoaringBitmap;

use crate::error::{Error, Result};
use crate::storage::committer::Committer;
use crate::storage::committer::compaction_picker::{Extent, Plan};
use crate::storage::open::sweep;
use crate::storage::state::{Sealed, State};
use crate::storage::workers::compact::{Input, Merge};
use crate::storage::workers::flush::{Written, discard};

/// How long a merge that failed waits before it is tried again: it may have read a gibibyte.
const RETRY: Duration = Duration::from_secs(600);

/// The committer's knowledge of merges.
pub(crate) struct Compaction {
    /// The merging thread's end.
    pub(crate) merges: Sender<Merge>,
    /// What the merging thread is at.
    pub(crate) under_way: Option<Vec<Input>>,
    /// Whether segments changed since it was last asked what is due.
    pub(crate) may_be_due: bool,
    /// When what awaits compression may be due, if it was put off.
    pub(crate) put_off_until: Option<Instant>,
    /// Not before this is anything merged unless somebody asks.
    pub(crate) retry_at: Option<Instant>,
    pub(crate) fault: Option<Error>,
    /// Who asked for all there is to merge, in order.
    pub(crate) asked: VecDeque<Asked>,
}

/// Somebody waits until everything is merged.
pub(crate) struct Asked {
    /// Whether nothing may be left of what was deleted.
    pub(crate) purge: bool,
    pub(crate) answer: Sender<Result<()>>,
    /// The segments that are still to be merged, by their folders; `None` until it is this one's turn.
    pub(crate) groups: Option<VecDeque<Vec<String>>>,
}

impl Compaction {
    pub(crate) fn new(merges: Sender<Merge>) -> Self {
        let asked = VecDeque::new();
        Self {
            merges,
            under_way: None,
            may_be_due: true,
            put_off_until: None,
            retry_at: None,
            fault: None,
            asked,
        }
    }
}

impl Committer {
    /// Lets `answer` know once all there is to merge was merged.
    pub(crate) fn compact(&mut self, purge: bool, answer: Sender<Result<()>>) {
        match &self.stopped {
            Some(reason) => {
                let _gone = answer.send(Err(Error::Stopped(reason.clone())));
            }
            None => self.compaction.asked.push_back(Asked { purge, answer, groups: None }),
        }
    }

    /// Hands the merging thread what is due, if it is free.
    pub(crate) fn merge_next(&mut self) {
        while self.stopped.is_none()
            && self.compaction.under_way.is_none()
            && !self.compaction.asked.is_empty()
        {
            if !self.merge_asked() {
                return;
            }
        }
        let is_free = self.stopped.is_none() && self.compaction.under_way.is_none();
        let now = Instant::now();
        let is_waiting = self.compaction.retry_at.is_some_and(|instant| instant > now);
        let is_time = self.compaction.put_off_until.is_some_and(|instant| instant <= now);
        if is_free && !is_waiting && (self.compaction.may_be_due || is_time) {
            let (order, extents) = self.in_time();
            let pressure = self.pressure.until();
            if let Some(due) = Plan::of(&self.options).due(&extents, pressure.is_none()) {
                return self.begin_merge(&order[due]);
            }
            self.compaction.may_be_due = false;
            let awaits = extents.iter().any(|extent| extent.awaits_compression);
            self.compaction.put_off_until = pressure.filter(|_| awaits);
        }
    }

    /// Goes on with what was asked first; returns whether there is more to do at once.
    fn merge_asked(&mut self) -> bool {
        let Some(mut asked) = self.compaction.asked.pop_front() else { return false };
        let mut groups = asked.groups.take().unwrap_or_else(|| self.groups(asked.purge));
        while let Some(group) = groups.pop_front() {
            // What a deletion left nothing of is no more.
            let places = group.iter().filter_map(|id| self.state.place_of(id)).collect::<Vec<_>>();
            if !places.is_empty() {
                asked.groups = Some(groups);
                self.compaction.asked.push_front(asked);
                self.begin_merge(&places);
                return false;
            }
        }
        if asked.purge && self.is_sealing {
            // Its files are named by no manifest yet, so nothing can be swept.
            asked.groups = Some(groups);
            self.compaction.asked.push_front(asked);
            return false;
        }
        let swept = if asked.purge { self.sweep() } else { Ok(()) };
        self.answer_after_removal(asked.answer, swept);
        true
    }

    /// Removes every object that is not needed.
    fn sweep(&self) -> Result<()> {
        let Ok(_no_import) = self.published.unnamed_files.try_lock() else {
            return Err(Error::Busy("an import is under way, purge once it has ended".into()));
        };
        sweep(self.objects.as_ref(), &self.state.manifest, &self.claim)?;
        self.cache().sweep(self.state.manifest.segments.iter().map(|segment| segment.id.as_str()))?;
        match self.state.manifest.quarantined.first() {
            None => Ok(()),
            Some(aside) => {
                let object = format!("segments/{}", aside.segment.id);
                Err(Error::damage(object, 0, "what was set aside cannot be read, so nothing of it is purged"))
            }
        }
    }

    fn groups(&self, purge: bool) -> VecDeque<Vec<String>> {
        let (order, extents) = self.in_time();
        let is_rebuilt = |extent: &Extent| {
            extent.awaits_compression || extent.dead_rows > if purge { 0 } else { extent.rows }
        };
        let ranges = Plan::of(&self.options).all(&extents, is_rebuilt).into_iter();
        let id = |place: &usize| self.state.sealed[*place].record.id.clone();
        ranges.map(|range| order[range].iter().map(id).collect()).collect()
    }

    /// Returns the places of the segments in the order of time, and how large they are.
    fn in_time(&self) -> (Vec<usize>, Vec<Extent>) {
        let mut order: Vec<usize> = (0..self.state.sealed.len()).collect();
        order.sort_by_key(|place| self.state.sealed[*place].segment.start_time(0));
        let extents = order.iter().map(|place| self.state.sealed[*place].extent()).collect();
        (order, extents)
    }

    fn begin_merge(&mut self, places: &[usize]) {
        let input = |place: &usize| {
            let sealed = &self.state.sealed[*place];
            let dropped = sealed.durably_hidden.clone();
            Input { id: sealed.record.id.clone(), segment: sealed.segment.clone(), dropped }
        };
        let inputs: Vec<Input> = places.iter().map(input).collect();
        if let Some(refusal) = self.refuse_on_a_full_disk(places) {
            return self.merge_failed(refusal);
        }
        self.compaction.under_way = Some(inputs.clone());
        self.compaction.may_be_due = true;
        (self.compaction.put_off_until, self.compaction.retry_at) = (None, None);
        let is_asked = self.compaction.asked.front().is_some_and(|asked| asked.groups.is_some());
        let is_hurried = self.pressure.until().is_some();
        if self.compaction.merges.send(Merge { inputs, is_asked, is_hurried }).is_err() {
            self.merge_failed(Error::storage("segments", "the merging thread has died"));
        }
        self.publish_progress();
    }

    /// Returns why there is no room for a merge, if there is none: for a while both copies are on disk.
    fn refuse_on_a_full_disk(&self, places: &[usize]) -> Option<Error> {
        let records = places.iter().map(|place| &self.state.sealed[*place].record);
        let needed: u64 = records.map(|record| record.documents.bytes + record.traces.bytes).sum();
        match self.objects.free_bytes() {
            Ok(Some(free)) if free < needed.saturating_add(self.options.min_free_bytes) => Some(
                Error::storage("segments", format!("merging needs {needed} bytes of {free} that are free")),
            ),
            Ok(_) => None,
            Err(fault) => Some(fault),
        }
    }

    /// Commits what the merging thread wrote.
    pub(crate) fn merged(&mut self, written: Result<Option<Written>>) {
        let inputs = self.compaction.under_way.take().unwrap_or_default();
        let outcome = written.and_then(|written| self.commit_merge(&inputs, written));
        match outcome {
            Ok(()) => {
                (self.compaction.fault, self.compaction.retry_at) = (None, None);
                self.publish();
            }
            Err(fault) => self.merge_failed(fault),
        }
    }

    fn commit_merge(&mut self, inputs: &[Input], written: Option<Written>) -> Result<()> {
        let record = written.as_ref().map(|written| written.record.clone());
        let outcome = match &self.stopped {
            Some(reason) => Err(Error::Stopped(reason.clone())),
            None => self
                .state
                .merging(inputs, written)
                .and_then(|sealed| self.install(sealed, self.state.manifest.wal_checkpoint)),
        };
        // A segment that may be live must stay; the next opening knows.
        let is_known = outcome.is_ok() || self.stopped.is_none();
        if let Some(record) = record.filter(|record| is_known && self.state.place_of(&record.id).is_none()) {
            discard(self.objects.as_ref(), &self.cache(), &record);
        }
        outcome
    }

    /// Tells who asked, and merges nothing for a while. Nothing is lost: the segments stay as they are.
    fn merge_failed(&mut self, fault: Error) {
        self.compaction.under_way = None;
        self.compaction.retry_at = Some(Instant::now() + RETRY);
        self.compaction.fault = Some(fault.clone());
        self.publish_progress();
        // Of a merge that nobody asked for nobody need know.
        let is_asked = self.compaction.asked.front().is_some_and(|asked| asked.groups.is_some());
        let asked = if is_asked { self.compaction.asked.pop_front() } else { None };
        if let Some(asked) = asked {
            let _gone = asked.answer.send(Err(fault));
        }
    }
}

impl State {
    /// Returns the place of the segment with this folder.
    fn place_of(&self, id: &str) -> Option<usize> {
        self.sealed.iter().position(|sealed| sealed.record.id == id)
    }

    /// Returns the segments as they stand once `inputs` are one: at the place of the first of them.
    fn merging(&self, inputs: &[Input], written: Option<Written>) -> Result<Vec<Sealed>> {
        let mut places: Vec<usize> = inputs.iter().filter_map(|input| self.place_of(&input.id)).collect();
        places.sort_unstable();
        let mut merged = written.map(|Written { record, segment }| Sealed {
            record,
            segment,
            durably_hidden: Arc::default(),
            hidden: Arc::default(),
        });
        if let Some(merged) = &mut merged {
            for input in inputs {
                self.hide_again(input, merged)?;
            }
        }
        let mut sealed = Vec::with_capacity(self.sealed.len());
        for (place, present) in self.sealed.iter().enumerate() {
            if places.first() == Some(&place) {
                sealed.extend(merged.take());
            }
            if !places.contains(&place) {
                sealed.push(present.clone());
            }
        }
        Ok(sealed)
    }

    /// Hides in `merged` what was hidden in an input since the merge began.
    fn hide_again(&self, input: &Input, merged: &mut Sealed) -> Result<()> {
        let in_merged = |rows: &RoaringBitmap| -> Result<RoaringBitmap> {
            let mut found = RoaringBitmap::new();
            for row in rows - input.dropped.as_ref() {
                found.extend(merged.segment.find(input.segment.trace_id(row as usize)?));
            }
            Ok(found)
        };
        let (durably, hidden) = if let Some(place) = self.place_of(&input.id) {
            let present = &self.sealed[place];
            (in_merged(&present.durably_hidden)?, in_merged(&present.hidden)?)
        } else {
            // All its rows were hidden, so it is no more.
            let all: RoaringBitmap = (0..input.segment.count()).collect();
            (in_merged(&all)?, RoaringBitmap::new())
        };
        *Arc::make_mut(&mut merged.hidden) |= hidden;
        merged.hide(&durably);
        Ok(())
    }
}

impl Sealed {
    /// Returns how large a merge takes this segment to be.
    fn extent(&self) -> Extent {
        let dead_rows = self.durably_hidden.len();
        let rows = self.record.rows - dead_rows;
        let live = |bytes: u64| {
            let share = u128::from(bytes) * u128::from(rows) / u128::from(self.record.rows.max(1));
            u64::try_from(share).unwrap_or(bytes)
        };
        // Memory is that of the whole segment: its dictionaries may be needed as a whole. Its columns are
        // about as large as its index.
        let memory = self.segment.index_bytes();
        let awaits_compression = self.record.awaits_compression;
        Extent { rows, bytes: live(self.record.documents.bytes), memory, dead_rows, awaits_compression }
    }
}
