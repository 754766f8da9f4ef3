//! The threads of a store: started when it is opened, ended when it is closed.
//!
//! The committer alone changes the store. The others write files or ask for something, and tell it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crossbeam_channel::{Sender, bounded, unbounded};

use crate::error::{Error, Result};
use crate::storage::committer::commit_interval::Pace;
use crate::storage::committer::compaction::Compaction;
use crate::storage::committer::group_commit;
use crate::storage::committer::ingest_rate::Pressure;
use crate::storage::committer::publish::Published;
use crate::storage::committer::{Claim, Committer, Order};
use crate::storage::objects::Objects;
use crate::storage::options::Options;
use crate::storage::segment::index_cache::IndexCache;
use crate::storage::state::State;
use crate::storage::workers::compact;
use crate::storage::workers::flush;
use crate::storage::workers::reclaim;
use crate::storage::workers::retention;

/// What runs until the store is closed.
#[derive(Debug)]
pub(crate) struct Threads {
    committer: JoinHandle<()>,
    /// Those that end by themselves once the committer has.
    others: Vec<JoinHandle<()>>,
    /// Tells the merging thread to give up what it is at.
    is_closing: Arc<AtomicBool>,
    /// Ends the thread of retention when dropped.
    retention: Sender<()>,
}

impl Threads {
    /// Publishes the state of a store, and starts what works on it; also returns the way to the committer.
    ///
    /// # Errors
    /// [`Error::Storage`] if there are no more threads.
    pub(crate) fn start(
        objects: Arc<dyn Objects>,
        options: Options,
        (claim, state): (Claim, State),
        published: &Arc<Published>,
    ) -> Result<(Self, Sender<Order>)> {
        let no_thread = |fault: std::io::Error| Error::storage("a thread of the store", fault);
        let (orders, asked) = unbounded();
        let (cuts, cut) = unbounded();
        let (merges, due) = unbounded();
        let (retention, closing) = bounded(0);
        let is_closing = Arc::new(AtomicBool::new(false));
        let cache = IndexCache::of(&options);
        let sealing = flush::start(objects.clone(), cache.clone(), cut, orders.clone()).map_err(no_thread)?;
        let merging = compact::start((objects.clone(), cache), due, orders.clone(), is_closing.clone());
        let merging = merging.map_err(no_thread)?;
        let retained = options.clone();
        let pace = Pace::new(objects.commit_interval());
        let pressure = Pressure::new(&options, objects.as_ref());
        let (writing, writer) = group_commit::start(objects.clone(), published.clone()).map_err(no_thread)?;
        let (removing, removal) =
            reclaim::start(objects.clone(), IndexCache::of(&options)).map_err(no_thread)?;
        let mut committer = Committer {
            objects,
            options,
            claim,
            state,
            published: published.clone(),
            cuts,
            is_sealing: false,
            retry_at: None,
            seal_fault: None,
            stopped: None,
            flushes: Vec::new(),
            held_back: VecDeque::new(),
            compaction: Compaction::new(merges),
            pace,
            pressure,
            writer,
            removal,
            may_fold: true,
        };
        committer.publish();
        let retaining = retention::start(&retained, published.clone(), orders.clone(), closing);
        let retaining = retaining.map_err(no_thread)?;
        let committer = std::thread::Builder::new()
            .name("spanwise-commit".into())
            .spawn(move || committer.run(&asked))
            .map_err(no_thread)?;
        let others = [writing, sealing, merging].into_iter().chain(removing).chain(retaining).collect();
        Ok((Self { committer, others, is_closing, retention }, orders))
    }

    /// Whether the committer can be asked for anything.
    pub(crate) fn are_at_work(&self) -> bool {
        !self.committer.is_finished()
    }

    /// Ends the threads: what waits is still written, a merge under way is given up.
    ///
    /// # Errors
    /// [`Error::Stopped`] if one of them had died.
    pub(crate) fn end(self, orders: &Sender<Order>) -> Result<()> {
        self.is_closing.store(true, Ordering::Relaxed);
        drop(self.retention);
        // A committer that has died takes no order; joining it tells.
        let _died = orders.send(Order::Close);
        let threads = [self.committer].into_iter().chain(self.others);
        let ended: Vec<_> = threads.map(JoinHandle::join).collect();
        if ended.iter().any(std::result::Result::is_err) {
            return Err(Error::Stopped("a thread of the store has died".into()));
        }
        Ok(())
    }
}
