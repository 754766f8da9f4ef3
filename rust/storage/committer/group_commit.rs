//! One group is written while the next one is gathered on top of it.
//!
//! The committer's state is what is durable. A group that is being written has the state that will be once
//! it is durable, too; the next group is gathered from that one, and is given to be written only then. So one put is
//! in flight at a time, and the numbers have no holes. Whatever else changes the store waits until
//! nothing is being written.
//!
//! The writing thread shows a group and answers it as soon as it is durable: the committer may be busy
//! with the next one. If a put fails, its state is dropped, and what stood on it is refused with it:
//! nothing was shown of either.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::error::{Error, Result};
use crate::storage::committer::Committer;
use crate::storage::committer::publish::{Progress, Published};
use crate::storage::objects::{Objects, PutOutcome, PutPayload, put_verified};
use crate::storage::snapshot::Snapshot;
use crate::storage::state::merge_spans::{Gathered, Outcome};
use crate::storage::state::{Change, State};
use crate::storage::wal;

/// Who waits for what became of a request.
pub(crate) type Answer = Sender<Result<Outcome>>;

/// What the writing thread is given.
struct Work {
    path: String,
    content: PutPayload,
    /// What is shown once the content is durable.
    snapshot: Snapshot,
    progress: Progress,
    outcomes: Vec<Result<Outcome>>,
    answers: Vec<Answer>,
}

/// What the writing thread did; the work was shown and answered if the put is done.
pub(crate) struct Written {
    put: PutOutcome,
    work: Work,
}

/// A group that is being written.
struct Writing {
    entries: Vec<wal::Entry>,
    changes: Vec<Change>,
    /// What is so once it is written.
    state: State,
}

/// The committer's side of the writing thread.
pub(crate) struct Writer {
    work: Sender<Work>,
    written: Receiver<Written>,
    under_way: Option<Writing>,
}

/// Starts the writing thread; it ends with its [`Writer`].
///
/// # Errors
/// No more threads.
pub(crate) fn start(
    objects: Arc<dyn Objects>,
    published: Arc<Published>,
) -> std::io::Result<(JoinHandle<()>, Writer)> {
    let (work, given) = bounded::<Work>(1);
    let (done, written) = bounded(1);
    let thread = std::thread::Builder::new().name("spanwise-write".into()).spawn(move || {
        for mut work in given {
            let put = put_verified(objects.as_ref(), &work.path, &work.content);
            if matches!(put, PutOutcome::Created) {
                work.show(&published);
            }
            if done.send(Written { put, work }).is_err() {
                return;
            }
        }
    })?;
    Ok((thread, Writer { work, written, under_way: None }))
}

impl Work {
    fn show(&mut self, published: &Published) {
        let before = published.snapshot.load_full();
        let snapshot = std::mem::take(&mut self.snapshot).after(&before);
        published.snapshot.store(Arc::new(snapshot));
        published.progress.store(Arc::new(std::mem::take(&mut self.progress)));
        answer(&self.answers, std::mem::take(&mut self.outcomes));
    }
}

/// A caller that no longer waits is no fault.
pub(crate) fn answer(answers: &[Answer], outcomes: Vec<Result<Outcome>>) {
    answers.iter().zip(outcomes).for_each(|(answer, outcome)| {
        let _gone = answer.send(outcome);
    });
}

/// Answers all of a group that they are refused.
pub(crate) fn refuse(answers: &[Answer], refusal: &Error) {
    answer(answers, answers.iter().map(|_| Err(refusal.clone())).collect());
}

impl Writer {
    /// Whether a group is being written.
    pub(crate) fn is_at_work(&self) -> bool {
        self.under_way.is_some()
    }

    /// Returns where it is told what was written.
    pub(crate) fn written(&self) -> Receiver<Written> {
        self.written.clone()
    }
}

impl Committer {
    /// Returns the state in which the store is once what is being written is durable.
    pub(crate) fn newest(&self) -> &State {
        self.writer.under_way.as_ref().map_or(&self.state, |writing| &writing.state)
    }

    /// Has a group written that was gathered from the newest state, as soon as that is durable; it is
    /// answered whatever happens.
    pub(crate) fn write(&mut self, gathered: Gathered, answers: Vec<Answer>) {
        let Gathered { outcomes, entries, changes } = gathered;
        if entries.is_empty() {
            // That nothing is new may be said once what it repeats is durable.
            return match self.settle() {
                Ok(()) => answer(&answers, outcomes),
                Err(refusal) => refuse(&answers, &refusal),
            };
        }
        let number = self.newest().wal_through() + 1;
        let content = wal::encode(number, self.claim.writer, &entries);
        let mut state = self.newest().clone();
        state.apply(changes.clone(), number, wal::bytes_of(&entries));
        let snapshot = state.snapshot();
        if let Err(refusal) = self.settle() {
            return refuse(&answers, &refusal);
        }
        self.pace.wait();
        let progress = self.progress_of(&state);
        let path = wal::path(number);
        self.writer.under_way = Some(Writing { entries, changes, state });
        let work = Work { path, content, snapshot, progress, outcomes, answers };
        if let Err(unsent) = self.writer.work.send(work) {
            refuse(&unsent.0.answers, &self.writer_died());
        }
    }

    /// Waits until nothing is being written.
    ///
    /// # Errors
    /// [`Error::Busy`] or [`Error::Stopped`] if the newest state until now did not come to be.
    pub(crate) fn settle(&mut self) -> Result<()> {
        if !self.writer.is_at_work() {
            return Ok(());
        }
        match self.writer.written.recv() {
            Ok(written) => self.settled(written),
            Err(_) => Err(self.writer_died()),
        }
    }

    /// Takes in what the writing thread did.
    ///
    /// # Errors
    /// As [`Committer::settle`].
    pub(crate) fn settled(&mut self, Written { put, work }: Written) -> Result<()> {
        let Some(Writing { entries, changes, state }) = self.writer.under_way.take() else { return Ok(()) };
        if matches!(put, PutOutcome::Created) {
            let had_rows = self.state.open_generation().since.is_some();
            self.state = state;
            if !had_rows {
                // The time that the put took is no time in which rows came.
                self.state.open_generation().since = Some(Instant::now());
            }
            return Ok(());
        }
        match self.write_again(put, state.wal_through(), &entries, changes) {
            Ok(()) => {
                self.publish();
                answer(&work.answers, work.outcomes);
                Err(Error::Busy("nothing was stored: the write before it took another number".into()))
            }
            Err(refusal) => {
                refuse(&work.answers, &refusal);
                Err(refusal)
            }
        }
    }

    /// Writes what was not, if it may be: it was put as `number`, and that is what became of it.
    ///
    /// # Errors
    /// [`Error::Busy`] if the write did not happen, [`Error::Stopped`] if it may have.
    fn write_again(
        &mut self,
        mut outcome: PutOutcome,
        mut number: u64,
        entries: &[wal::Entry],
        changes: Vec<Change>,
    ) -> Result<()> {
        loop {
            match outcome {
                PutOutcome::Created => break,
                PutOutcome::NotCreated(fault) => {
                    return Err(Error::Busy(format!("nothing was stored: {fault}")));
                }
                PutOutcome::Conflict => self.step_over(number)?,
                // The next put finds it at its number, if it happened, and steps over it.
                PutOutcome::Unknown(fault) if self.objects.reads_are_durable() => {
                    return Err(Error::Busy(format!("it is not known whether it was stored: {fault}")));
                }
                PutOutcome::Unknown(fault) => {
                    let path = wal::path(number);
                    return Err(self.stop(format!("whether `{path}` is durable is not known: {fault}")));
                }
            }
            number = self.state.wal_through() + 1;
            let content = wal::encode(number, self.claim.writer, entries);
            outcome = put_verified(self.objects.as_ref(), &wal::path(number), &content);
        }
        self.state.apply(changes, number, wal::bytes_of(entries));
        Ok(())
    }

    pub(crate) fn writer_died(&mut self) -> Error {
        self.writer.under_way = None;
        self.stop("the writing thread has died".into())
    }
}
