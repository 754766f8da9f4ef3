//! The threads of a store: started when it is opened, joined when it is closed.
//!
//! Only the committer changes the store. The other threads write files or send commands, and report to the
//! committer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crossbeam_channel::{Sender, bounded, unbounded};

use crate::error::{Error, Result};
use crate::storage::committer::{Committer, Workers};
use crate::storage::objects::Objects;
use crate::storage::options::Options;
use crate::storage::segment::indexes::cache::IndexCache;
use crate::storage::snapshot::published::Published;
use crate::storage::state::StoreState;
use crate::storage::state::claim::Claim;
use crate::storage::state::command::Command;
use crate::storage::workers::index::IndexMaker;
use crate::storage::workers::{
    claim_watch, compact, flush, head_index, index, reclaim, retention, wal_writer,
};

/// The threads of an open store.
#[derive(Debug)]
pub(crate) struct Threads {
    committer: JoinHandle<()>,
    /// The threads that end after the committer has ended.
    others: Vec<JoinHandle<()>>,
    /// Makes the merge thread abort its merge.
    is_closing: Arc<AtomicBool>,
    /// The threads that watch the published state end when this is dropped.
    watching: Sender<()>,
}

impl Threads {
    /// Publishes the state of a store and starts its threads. Also returns the channel to the committer.
    ///
    /// # Errors
    /// [`Error::Storage`] if the operating system cannot start a thread.
    pub(crate) fn start(
        objects: Arc<dyn Objects>,
        options: Options,
        opened: (Claim, StoreState),
        published: &Arc<Published>,
    ) -> Result<(Self, Sender<Command>)> {
        let started = Self::spawn(objects, options, opened, published);
        started.map_err(|error| Error::storage("a thread of the store", error))
    }

    fn spawn(
        objects: Arc<dyn Objects>,
        options: Options,
        mut opened: (Claim, StoreState),
        published: &Arc<Published>,
    ) -> std::io::Result<(Self, Sender<Command>)> {
        let (commands, received) = unbounded();
        let (head_indexes, head_index_tasks) = unbounded();
        let (flushes, flush_tasks) = unbounded();
        let (merges, merge_tasks) = unbounded();
        let (watching, closing) = bounded(0);
        let is_closing = Arc::new(AtomicBool::new(false));
        let (cache, indexing) = (IndexCache::of(&options), options.indexing());
        let storage = (objects.clone(), cache.clone(), indexing.clone());
        let head_indexing =
            head_index::start(indexing.clone(), head_index_tasks, commands.clone(), is_closing.clone())?;
        let flushing = flush::start(storage.clone(), flush_tasks, commands.clone())?;
        let merging = compact::start(storage, merge_tasks, commands.clone(), is_closing.clone())?;
        let (writing, wal_writer) = wal_writer::start(objects.clone(), published.clone())?;
        let (reclaiming, reclaimer) = reclaim::start((objects.clone(), cache), options.linger())?;
        reclaimer.delete_superseded(std::mem::take(&mut opened.1.superseded));
        let workers = Workers { head_indexes, flushes, merges, wal_writer, reclaimer };
        let watching_options = options.clone();
        let maker = IndexMaker {
            objects: objects.clone(),
            indexing,
            published: published.clone(),
            commands: Some(commands.clone()),
        };
        let claim_watching =
            claim_watch::start(objects.clone(), &opened.0, published.clone(), closing.clone())?;
        let committer = Committer::new(objects, options, opened, published.clone(), workers);
        let retaining =
            retention::start(&watching_options, published.clone(), commands.clone(), closing.clone())?;
        let indexing = index::start(maker, closing, is_closing.clone())?;
        let committer = std::thread::Builder::new()
            .name("spanwise-commit".into())
            .spawn(move || committer.run(&received))?;
        let others = [writing, head_indexing, flushing, merging, retaining, claim_watching, indexing];
        let others = others.into_iter().chain(reclaiming);
        Ok((Self { committer, others: others.collect(), is_closing, watching }, commands))
    }

    /// Returns `true` if the committer still executes commands.
    pub(crate) fn are_running(&self) -> bool {
        !self.committer.is_finished()
    }

    /// Ends the threads. Waiting requests are still written, and a running merge is aborted.
    ///
    /// # Errors
    /// [`Error::Stopped`] if a thread had died.
    pub(crate) fn end(self, commands: &Sender<Command>) -> Result<()> {
        self.is_closing.store(true, Ordering::Relaxed);
        drop(self.watching);
        // A committer that has died takes no command. Joining it reports that.
        let _died = commands.send(Command::Close);
        let threads = [self.committer].into_iter().chain(self.others);
        let ended: Vec<_> = threads.map(JoinHandle::join).collect();
        if ended.iter().any(std::result::Result::is_err) {
            return Err(Error::Stopped("a thread of the store has died".into()));
        }
        Ok(())
    }
}
