//! Following a store: any number of processes search a store that one writer maintains. They write nothing to
//! it.
//!
//! ```text
//! wal/<n+1> ... by name -> log -> apply -> publish                 (following)
//! a newer manifest -> open its new segments -> apply the log after its checkpoint -> publish   (opening)
//! ```
//!
//! A follower takes no part in the claim and trusts no clock. Its freshness ([`freshness`]) is the start of
//! the last complete poll: the poll read the log up to the first missing object, and only then found that the
//! manifest is the newest.

mod following;
mod freshness;
mod indexing;
mod log;
mod opening;
mod worker;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Sender, bounded, unbounded};

pub(crate) use self::following::FollowedStore;
use self::following::Following;
use self::freshness::Freshness;
use self::indexing::ReaderIndexing;
use self::worker::Refresh;
use crate::error::{Error, Result};
use crate::storage::changes::Changes;
use crate::storage::objects::lock::FolderLock;
use crate::storage::options::Options;
use crate::storage::snapshot::Snapshot;
use crate::storage::snapshot::published::Published;
use crate::storage::stats::Stats;

/// A reader of a store that another process writes to. Clones share the same reader.
#[derive(Debug, Clone)]
pub struct Follower {
    inner: Arc<FollowerInner>,
}

#[derive(Debug)]
struct FollowerInner {
    published: Arc<Published>,
    freshness: Arc<Freshness>,
    running: Mutex<Option<RunningFollower>>,
}

/// The parts that end when the reader is closed.
#[derive(Debug)]
struct RunningFollower {
    /// Sends poll requests to the following thread, which ends when this is dropped.
    requests: Sender<Refresh>,
    following: JoinHandle<()>,
    indexing: Option<JoinHandle<()>>,
    /// Makes the indexing thread abort its work.
    is_closing: Arc<AtomicBool>,
    /// The indexing thread ends when this is dropped.
    closing: Sender<()>,
    _lock: Option<FolderLock>,
}

impl Follower {
    /// Reads the store and starts to follow it. If the store does not exist yet, the reader waits for it.
    ///
    /// # Errors
    /// [`Error::Options`] for a newer format or an unreachable storage, [`Error::Locked`] if another reader
    /// uses the cache, [`Error::Damage`] if an object is missing or changed, [`Error::Storage`].
    pub(crate) fn start(store: FollowedStore, mut options: Options) -> Result<Self> {
        let lock = options.cache_dir.as_deref().map(lock_cache).transpose()?;
        store.place_cache(&mut options);
        let (published, freshness) = (Arc::new(Published::default()), Arc::new(Freshness::new()));
        let mut following = Following::new(store, options.clone(), published.clone(), freshness.clone());
        match following.catch_up() {
            Ok(()) | Err(Error::Busy(_)) => {}
            Err(error) => return Err(error),
        }
        let running = RunningFollower::start(following, &options, &published, lock);
        let running = running.map_err(|error| Error::storage("a thread of the store", error))?;
        Ok(Self {
            inner: Arc::new(FollowerInner { published, freshness, running: Mutex::new(Some(running)) }),
        })
    }

    /// Returns the current state, even if the store was never read.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.inner.published.snapshot.load_full()
    }

    /// Returns the current state. [`Follower::as_of`] returns its freshness.
    ///
    /// # Errors
    /// [`Error::Busy`] if the store was never read.
    pub fn present(&self) -> Result<Arc<Snapshot>> {
        if self.as_of().is_some() {
            return Ok(self.snapshot());
        }
        let error = self.inner.freshness.error();
        let reason = error.map_or_else(|| "it is being read".to_owned(), |error| error.to_string());
        Err(Error::Busy(format!("the store was not read yet: {reason}")))
    }

    /// Polls the store now. After this returns, everything acknowledged before the call is searchable.
    ///
    /// # Errors
    /// [`Error::Busy`] if there is no store yet, or it changes faster than it can be read; [`Error::Damage`],
    /// [`Error::Storage`], [`Error::Closed`].
    pub fn refresh(&self) -> Result<()> {
        let requests = self.running(|running| running.requests.clone()).ok_or(Error::Closed)?;
        let (reply, replies) = bounded(1);
        let _seen_by_the_next_line = requests.send(reply);
        replies.recv().unwrap_or_else(|_| Err(Error::Stopped("the following thread has died".into())))
    }

    /// Returns the time through which the state is complete, in microseconds since 1970 on this machine's
    /// clock. `None` if the store was never read.
    pub fn as_of(&self) -> Option<i64> {
        self.inner.freshness.as_of()
    }

    /// Returns the age of the state. If the store was never read, the time since the first attempt.
    pub fn lag(&self) -> Duration {
        self.inner.freshness.lag()
    }

    /// Returns the traces that requests have changed since this reader was opened, as far as they were read.
    pub fn changes(&self) -> Arc<Changes> {
        self.inner.published.changes.clone()
    }

    /// Returns counts, sizes and errors.
    pub fn stats(&self) -> Stats {
        let has_died = self.running(|running| running.following.is_finished()) == Some(true);
        let died = has_died.then(|| "the following thread has died".to_owned());
        let error = self.inner.freshness.error().map(|error| error.to_string());
        Stats {
            holding_error: None,
            as_of: self.as_of(),
            lag_seconds: Some(self.lag().as_secs_f64()),
            following_error: died.or(error),
            ..Stats::of(&self.inner.published, 0, false)
        }
    }

    /// Ends the reader's threads. Snapshots stay readable. Closing a closed reader does nothing.
    ///
    /// # Errors
    /// [`Error::Stopped`] if a thread had died.
    pub fn close(&self) -> Result<()> {
        self.inner.close()
    }

    fn running<T>(&self, of: impl FnOnce(&RunningFollower) -> T) -> Option<T> {
        self.inner.running.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(of)
    }
}

impl FollowerInner {
    fn close(&self) -> Result<()> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        running.map_or(Ok(()), RunningFollower::end)
    }
}

impl Drop for FollowerInner {
    fn drop(&mut self) {
        let _nobody_is_left_to_tell = self.close();
    }
}

impl RunningFollower {
    fn start(
        following: Following,
        options: &Options,
        published: &Arc<Published>,
        lock: Option<FolderLock>,
    ) -> std::io::Result<Self> {
        let (requests, received) = unbounded();
        let (closing, closed) = bounded(0);
        let is_closing = Arc::new(AtomicBool::new(false));
        let indexing = ReaderIndexing {
            objects: following.objects(),
            options: options.clone(),
            published: published.clone(),
        };
        let indexing = (!options.indexes.is_empty()).then(|| indexing.start(closed, is_closing.clone()));
        let indexing = indexing.transpose()?;
        let interval = Duration::from_millis(options.follow_milliseconds);
        let following = worker::start(following, interval, received)?;
        Ok(Self { requests, following, indexing, is_closing, closing, _lock: lock })
    }

    fn end(self) -> Result<()> {
        self.is_closing.store(true, Ordering::Relaxed);
        drop((self.requests, self.closing));
        let ended = [Some(self.following), self.indexing].into_iter().flatten().map(JoinHandle::join);
        if ended.collect::<Vec<_>>().iter().any(std::result::Result::is_err) {
            return Err(Error::Stopped("a thread of the reader has died".into()));
        }
        Ok(())
    }
}

/// Keeps other readers out of a cache, because each reader removes the files that it does not need.
fn lock_cache(folder: &Path) -> Result<FolderLock> {
    let failed = |error: std::io::Error| {
        Error::Options(format!("cannot create the cache `{}`: {error}", folder.display()))
    };
    std::fs::create_dir_all(folder).map_err(failed)?;
    FolderLock::acquire(folder).map_err(|error| match error {
        Error::Locked(holder) => {
            Error::Locked(format!("{holder}: each reader needs a folder of its own for its cache"))
        }
        error => error,
    })
}
