//! Polling by a follower: reads the log by object name, and switches to newer manifests.
//!
//! Between two manifests only the log grows, so a follower that has applied the whole log has the state of
//! the writer. A newer manifest is opened afresh and the log is applied to its segments again. The old state
//! is not patched: a trace that was deleted and then received spans starts anew at the writer, and must do so
//! here.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use super::freshness::{Freshness, Moment};
use super::log::{self, Log, LogObject};
use super::opening::{OpenWith, Opening};
use crate::error::{Error, Result};
use crate::otlp::TraceId;
use crate::storage::manifest::{self, Manifest, expect_no_objects};
use crate::storage::objects::Objects;
use crate::storage::objects::location::StoreLocation;
use crate::storage::options::Options;
use crate::storage::segment::indexes::cache::IndexCache;
use crate::storage::snapshot::published::{CommitProgress, Published};
use crate::storage::state::StoreState;

/// The number of commit intervals between two listings of manifests. One listing costs as much as a dozen
/// reads.
const COMMITS_PER_LIST: u32 = 10;

/// The maximum number of retries for missing objects. After that the store changes too fast.
const MAX_TRIES: usize = 64;

/// The location of a followed store.
#[derive(Debug)]
pub(crate) enum FollowedStore {
    /// A location where the store may not exist yet.
    At(StoreLocation),
    In(Arc<dyn Objects>),
}

impl FollowedStore {
    /// Sets the index cache folder in `options`: a subfolder of the configured cache. A local store without a
    /// configured cache uses the writer's cache read-only.
    pub(super) fn place_cache(&self, options: &mut Options) {
        match self {
            Self::In(_) => {}
            Self::At(location) => location.place_cache_of_reader(options),
        }
    }
}

/// The state of following a store. Owned by one thread.
pub(super) struct Following {
    store: FollowedStore,
    objects: Arc<OnceLock<Arc<dyn Objects>>>,
    options: Options,
    published: Arc<Published>,
    freshness: Arc<Freshness>,
    state: StoreState,
    log: Log,
    /// The time of the last listing of manifests.
    listed: Option<Instant>,
    pub(super) opening: Option<Opening>,
}

/// The result of a poll of the manifests.
enum ManifestPoll {
    /// The manifest of the current state is the newest.
    Newest,
    /// A newer manifest exists and is being opened.
    Newer,
}

impl Following {
    pub(super) fn new(
        store: FollowedStore,
        options: Options,
        published: Arc<Published>,
        freshness: Arc<Freshness>,
    ) -> Self {
        let state = StoreState::new(Manifest::default(), Vec::new());
        let log = Log::default();
        Self {
            store,
            objects: Arc::default(),
            options,
            published,
            freshness,
            state,
            log,
            listed: None,
            opening: None,
        }
    }

    /// Returns the store, which is set after its creation.
    pub(super) fn objects(&self) -> Arc<OnceLock<Arc<dyn Objects>>> {
        self.objects.clone()
    }

    /// Polls the store once, and publishes changes.
    ///
    /// # Errors
    /// [`Error::Busy`] if there is no store yet, [`Error::Damage`], [`Error::Options`] for a newer format,
    /// [`Error::Storage`]. The published state remains after an error.
    pub(super) fn poll(&mut self) -> Result<()> {
        let polled = self.try_poll();
        self.freshness.note(&polled);
        polled
    }

    /// Polls the store until everything acknowledged before the call is published.
    ///
    /// # Errors
    /// The errors of [`Following::poll`]; [`Error::Busy`] if the store changes faster than it can be read.
    pub(super) fn catch_up(&mut self) -> Result<()> {
        let start = Instant::now();
        for _ in 0..MAX_TRIES {
            self.listed = None;
            self.poll()?;
            if self.freshness.reaches(start) {
                return Ok(());
            }
            if let Some(opening) = &self.opening {
                // The next poll takes the result over, even if it is an error.
                let opened = opening.opened.recv().unwrap_or_else(|_| Err(died()));
                let taken = self.take_over(opened);
                self.freshness.note(&taken);
                taken?;
            }
        }
        Err(Error::Busy("the store changes faster than it can be read".into()))
    }

    fn try_poll(&mut self) -> Result<()> {
        let began = Moment::now();
        let objects = self.connected()?;
        if !objects.is_at_location()? {
            return Err(Error::storage("manifest", "the folder of the store was moved or removed"));
        }
        let finished = self.opening.as_ref().and_then(|opening| opening.opened.try_recv().ok());
        if let Some(opened) = finished {
            self.take_over(opened)?;
        }
        let read = self.read_log(objects.as_ref());
        let interval = objects.commit_interval() * COMMITS_PER_LIST;
        if read.is_ok() && self.listed.is_some_and(|listed| listed.elapsed() < interval) {
            return Ok(());
        }
        match self.list(&objects, began, read.is_ok())? {
            // The missing object may exist for the newer manifest.
            ManifestPoll::Newer => Ok(()),
            ManifestPoll::Newest => read.inspect(|()| self.freshness.confirm(began)),
        }
    }

    fn connected(&mut self) -> Result<Arc<dyn Objects>> {
        if let Some(objects) = self.objects.get() {
            return Ok(objects.clone());
        }
        let objects = match &self.store {
            FollowedStore::In(objects) => objects.clone(),
            FollowedStore::At(location) => location.open_to_follow(&self.options)?.ok_or_else(no_store)?,
        };
        Ok(self.objects.get_or_init(|| objects).clone())
    }

    /// Reads and applies the log up to its end, and publishes the state.
    fn read_log(&mut self, objects: &dyn Objects) -> Result<()> {
        if self.state.manifest.number == 0 {
            return Ok(());
        }
        loop {
            let has_more = self.log.read_next(objects, &mut self.state, &self.options)?;
            let unread = self.log.after(self.state.wal_through());
            if !unread.is_empty() {
                self.apply(&unread)?;
            }
            if !has_more {
                return Ok(());
            }
        }
    }

    /// Applies log objects, and publishes the state.
    fn apply(&mut self, unread: &[Arc<LogObject>]) -> Result<()> {
        let mut changed = Vec::new();
        let applied = log::apply(&mut self.state, unread, &mut changed);
        self.publish(&changed);
        applied
    }

    fn publish(&self, changed: &[TraceId]) {
        drop(self.published.replace_snapshot(self.state.snapshot(), changed));
        self.published.progress.store(Arc::new(CommitProgress::of(&self.state)));
    }

    /// Lists the manifests, and starts to open a newer one unless one is being opened. `has_read`: the log
    /// was read to its end before.
    fn list(&mut self, objects: &Arc<dyn Objects>, began: Moment, has_read: bool) -> Result<ManifestPoll> {
        let known = self.state.manifest.number;
        let newest = Manifest::newest_number(objects.as_ref())?;
        self.listed = Some(began.instant);
        match newest {
            Some(number) if number == known => return Ok(ManifestPoll::Newest),
            Some(number) if number > known => {}
            None if known == 0 => {
                expect_no_objects(objects.as_ref())?;
                return Err(no_store());
            }
            _ => {
                let message = "it was removed from the storage: another store may be in its place";
                return Err(Error::storage(manifest::path(known), message));
            }
        }
        if self.opening.is_none()
            && let Some(manifest) = Manifest::newest(objects.as_ref())?
        {
            let checkpoint = manifest.wal_checkpoint;
            let has_all = has_read && self.log.through(self.state.manifest.wal_checkpoint) >= checkpoint;
            let with = OpenWith {
                objects: objects.clone(),
                options: self.options.clone(),
                open: self.state.segments.clone(),
                log: if has_all { self.log.after(checkpoint) } else { Vec::new() },
            };
            self.opening = Some(Opening::start(manifest, has_all.then_some(began), with)?);
        }
        Ok(ManifestPoll::Newer)
    }

    /// Switches to the state of a newer manifest. If opening it failed because it was superseded, the next
    /// listing finds the newer one.
    fn take_over(&mut self, opened: Result<StoreState>) -> Result<()> {
        let Some(opening) = self.opening.take() else { return Ok(()) };
        let is_superseded =
            || self.objects.get().is_some_and(|objects| opening.manifest.is_superseded(objects.as_ref()));
        self.listed = None;
        let state = match opened {
            Ok(state) => state,
            // The writer has deleted the missing object.
            Err(_) if is_superseded() => return Ok(()),
            Err(error) => return Err(error),
        };
        let was_followed = self.state.manifest.number > 0;
        let known = self.log.through(self.state.manifest.wal_checkpoint);
        self.forget_indexes(was_followed, &state.manifest)?;
        self.log.forget_through(state.manifest.wal_checkpoint);
        if was_followed && known < state.manifest.wal_checkpoint {
            self.published.changes.forget();
        }
        self.state = state;
        // The log objects read meanwhile were already published as changes.
        let unread = self.log.after(self.state.wal_through());
        let applied = log::apply(&mut self.state, &unread, &mut Vec::new());
        self.publish(&[]);
        applied?;
        if let Some(as_of) = opening.as_of {
            self.freshness.confirm(as_of);
        }
        Ok(())
    }

    /// Removes from the own cache the files that `manifest` does not need.
    fn forget_indexes(&self, was_followed: bool, manifest: &Manifest) -> Result<()> {
        let cache = IndexCache::of(&self.options);
        if cache.is_foreign() {
            return Ok(());
        }
        if !was_followed {
            return cache.sweep(manifest.segments.iter().map(|segment| segment.id.as_str()));
        }
        let is_needed = |id: &str| manifest.segments.iter().any(|segment| segment.id == id);
        let gone = self.state.segments.iter().filter(|live| !is_needed(&live.record.id));
        gone.for_each(|live| cache.remove(&live.record.id));
        Ok(())
    }
}

fn no_store() -> Error {
    Error::Busy("there is no store yet; this reader waits for a writer to create it".into())
}

fn died() -> Error {
    Error::storage("segments", "the opening thread has died")
}
