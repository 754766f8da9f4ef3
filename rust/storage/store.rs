//! The public interface of the trace store.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crossbeam_channel::Sender;

use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::ingest::RequestDecoder;
use crate::progress::Progress;
use crate::storage::backup::{self, BackupReport};
use crate::storage::changes::Changes;
use crate::storage::check::{self, CheckReport};
use crate::storage::deletion_interval::DeletionInterval;
use crate::storage::follower::{FollowedStore, Follower};
use crate::storage::manifest::ImportRecord;
use crate::storage::objects::Objects;
use crate::storage::objects::location::StoreLocation;
use crate::storage::objects::lock::FolderLock;
use crate::storage::objects::metered::MeteredObjects;
use crate::storage::open::{self, recover};
use crate::storage::options::{Indexing, Options};
use crate::storage::segment::indexes::cache::IndexCache;
use crate::storage::snapshot::count::{count, is_in_head};
use crate::storage::snapshot::published::Published;
use crate::storage::snapshot::{RowKind, Snapshot};
use crate::storage::state::bulk_load::{BulkLoad, ImportProgress};
use crate::storage::state::command::{self, Command, HeadIndexer, Reply};
use crate::storage::stats::Stats;
use crate::storage::threads::Threads;
use crate::storage::workers::index::IndexMaker;
use crate::trace::Trace;

/// A durable store of traces with one writer. Clones share the same store.
#[derive(Debug, Clone)]
pub struct TraceStore {
    pub(super) inner: Arc<StoreInner>,
}

#[derive(Debug)]
pub(super) struct StoreInner {
    objects: Arc<dyn Objects>,
    cache: IndexCache,
    indexing: Indexing,
    progress: Progress,
    commands: Sender<Command>,
    published: Arc<Published>,
    pub(super) decoder: RequestDecoder,
    max_waiting_bytes: u64,
    waiting_bytes: AtomicU64,
    deletion_interval: DeletionInterval,
    is_closed: AtomicBool,
    running: Mutex<Option<RunningStore>>,
}

/// The parts that end when the store is closed.
#[derive(Debug)]
struct RunningStore {
    threads: Threads,
    _lock: Option<FolderLock>,
}

impl TraceStore {
    /// Opens the store at `url`, and creates it if it does not exist. `url` is a folder (a path or a
    /// `file://` address) or, with the feature `cloud`, a bucket (`s3://`, `gs://`, `az://`).
    ///
    /// # Errors
    /// [`Error::Options`] for an unsupported address or a store of a newer format, [`Error::Locked`] if
    /// another process owns the store, [`Error::Damage`] if an object is missing or changed,
    /// [`Error::Storage`].
    pub fn open(url: &str, mut options: Options) -> Result<Self> {
        let location = StoreLocation::parse(url)?;
        let objects = location.open_or_create(&mut options)?;
        Self::start(objects, location.lock()?, options)
    }

    /// Opens the store in `objects`. Only its claim excludes other writers.
    ///
    /// # Errors
    /// The errors of [`TraceStore::open`].
    pub fn open_in(objects: Arc<dyn Objects>, options: Options) -> Result<Self> {
        Self::start(objects, None, options)
    }

    fn start(objects: Arc<dyn Objects>, lock: Option<FolderLock>, options: Options) -> Result<Self> {
        let recovered = recover(objects.as_ref(), &options, lock.is_some())?;
        let published = Arc::new(Published::default());
        if options.indexing().has_all_kinds() {
            published.snapshot.store(Arc::new(Snapshot::default().counting_document_checks()));
        }
        let (max_waiting_bytes, max_decoding_bytes) = (options.max_waiting_bytes, options.max_decoding_bytes);
        let (cache, indexing) = (IndexCache::of(&options), options.indexing());
        let progress = options.progress.clone();
        let (threads, commands) = Threads::start(objects.clone(), options, recovered, &published)?;
        let inner = StoreInner {
            objects,
            cache,
            indexing,
            progress,
            commands,
            published,
            decoder: RequestDecoder::new(max_decoding_bytes),
            max_waiting_bytes,
            waiting_bytes: AtomicU64::new(0),
            deletion_interval: DeletionInterval::default(),
            is_closed: AtomicBool::new(false),
            running: Mutex::new(Some(RunningStore { threads, _lock: lock })),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Returns the current state of the store at `url`, which another process may be writing to. It contains
    /// everything acknowledged before the call. Writes nothing.
    ///
    /// # Errors
    /// [`Error::Options`] if there is no store or it has a newer format, [`Error::Damage`], [`Error::Busy`]
    /// if the store changes faster than it can be read, [`Error::Storage`].
    pub fn open_read_only(url: &str) -> Result<Arc<Snapshot>> {
        Self::open_read_only_watched(url, &Progress::default())
    }

    /// Like [`TraceStore::open_read_only`]; `progress` counts the objects that are read.
    ///
    /// # Errors
    /// The errors of [`TraceStore::open_read_only`].
    pub fn open_read_only_watched(url: &str, progress: &Progress) -> Result<Arc<Snapshot>> {
        let location = StoreLocation::parse(url)?;
        let cache_dir = location.folder().map(|folder| folder.join("cache"));
        let progress = progress.clone();
        let options = Options { cache_dir, is_cache_foreign: true, progress, ..Options::default() };
        open::open_read_only(location.open_existing()?.as_ref(), &options).map(Arc::new)
    }

    /// Follows the store at `url`, which another process writes to. Writes nothing there. Acknowledged data
    /// is found shortly after ([`Options::follow_milliseconds`]). If the store does not exist yet, the reader
    /// waits for it.
    ///
    /// # Errors
    /// The errors of [`TraceStore::open_read_only`], except that a missing store is no error;
    /// [`Error::Locked`] if another reader has the same [`Options::cache_dir`].
    pub fn follow(url: &str, options: Options) -> Result<Follower> {
        Follower::start(FollowedStore::At(StoreLocation::parse(url)?), options)
    }

    /// Follows the store in `objects`.
    ///
    /// # Errors
    /// The errors of [`TraceStore::follow`].
    pub fn follow_in(objects: Arc<dyn Objects>, options: Options) -> Result<Follower> {
        Follower::start(FollowedStore::In(objects), options)
    }

    /// Stores whole traces as a segment of their own, without the head and the WAL. Each is merged with its
    /// stored spans like in [`TraceStore::ingest`], but keeps the earlier `created_at`. When this returns,
    /// the traces are durable and searchable, and `so_far` is the durable progress of the import `source`;
    /// `None` removes its record. Returns the number of spans over the limit of their trace, which are not
    /// stored.
    ///
    /// # Errors
    /// [`Error::Damage`] if a stored trace cannot be read, or [`Error::Storage`]; nothing was stored in both
    /// cases. Otherwise the errors of [`TraceStore::ingest`].
    pub fn bulk_load(&self, traces: Vec<Trace>, source: &str, so_far: Option<ImportRecord>) -> Result<u64> {
        self.inner.expect_open()?;
        let import = match so_far {
            _ if source.is_empty() => ImportProgress::Untracked,
            Some(record) => ImportProgress::Reached(record),
            None => ImportProgress::Ended(source.to_owned()),
        };
        let unnamed = self.inner.published.unnamed_files.lock();
        let _until_they_are_named = unnamed.unwrap_or_else(PoisonError::into_inner);
        let objects = self.inner.objects.as_ref();
        let (load, surplus) =
            BulkLoad::prepare(objects, &self.inner.cache, &self.snapshot(), traces, import)?;
        self.inner.execute(|reply| Command::BulkLoad { load: Box::new(load), reply })?;
        Ok(surplus)
    }

    /// Returns the progress of the import `source` when it was interrupted, if it was.
    pub fn import_so_far(&self, source: &str) -> Option<ImportRecord> {
        let progress = self.inner.published.progress.load();
        progress.imports.iter().find(|record| record.source == source).cloned()
    }

    /// Returns the state that this process knows, even if another process owns the store.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.inner.published.snapshot.load_full()
    }

    /// Returns the current state, after confirming that this process still owns the store. Waits for a check
    /// of the claim if the last one started more than 2 s ago.
    ///
    /// # Errors
    /// [`Error::Stopped`] if another process owns the store, or its folder was moved; [`Error::Busy`] if this
    /// cannot be checked in time.
    pub fn present(&self) -> Result<Arc<Snapshot>> {
        if !self.inner.is_closed.load(Ordering::Acquire) {
            self.inner.published.lease.expect()?;
        }
        Ok(self.snapshot())
    }

    /// Returns the traces that requests have changed since the store was opened.
    pub fn changes(&self) -> Arc<Changes> {
        self.inner.published.changes.clone()
    }

    /// Flushes the whole head now.
    ///
    /// # Errors
    /// [`Error::Storage`] if the flush failed, which loses no data; otherwise the errors of
    /// [`TraceStore::ingest`].
    pub fn flush(&self) -> Result<()> {
        self.inner.expect_open()?;
        self.inner.execute(Command::Flush)
    }

    /// Deletes the traces that `filter` matches and returns their number; with `dry_run` only counts them.
    ///
    /// When this returns, matching traces that were acknowledged before the call are in no result, even after
    /// a crash. Later spans of a deleted trace start a new trace. The bytes of deleted traces stay on disk
    /// until their segments are compacted.
    ///
    /// # Errors
    /// [`Error::Storage`]: nothing was deleted, retry later. Otherwise the errors of [`TraceStore::ingest`].
    pub fn delete(&self, filter: &Filter, dry_run: bool) -> Result<u64> {
        self.inner.expect_open()?;
        let snapshot = self.present()?;
        let traces: u64 = snapshot.parts().iter().map(|part| part.count() as u64).sum();
        self.inner.progress.begin(if dry_run { traces } else { 2 * traces });
        let matching = count(&snapshot, filter, &self.inner.progress)?;
        if dry_run || matching == 0 {
            return Ok(matching);
        }
        // A deletion needs its traces in segments. Requests do not wait for a flush.
        let kind = RowKind::Trace;
        if is_in_head(&snapshot, kind, filter)? {
            self.flush()?;
        }
        self.inner.deletion_interval.run(
            || self.inner.execute(|reply| Command::Delete { filter: filter.clone(), kind, reply }),
            || self.inner.waiting_bytes.load(Ordering::Relaxed) > 0,
        )
    }

    /// Flushes the head, then merges segments into as few as their size limits allow. Returns after the
    /// merges. Ingest and searches continue meanwhile.
    ///
    /// With `purge`, no data that was deleted or superseded before the call remains on disk: every segment
    /// with deleted rows is rebuilt, its dictionary is trained again, and objects that no manifest needs are
    /// deleted.
    ///
    /// # Errors
    /// [`Error::Storage`] or [`Error::Damage`] if a merge or a deletion of objects failed, which loses no
    /// data; otherwise the errors of [`TraceStore::ingest`].
    pub fn compact(&self, purge: bool) -> Result<()> {
        self.flush()?;
        self.inner.execute(|reply| Command::Compact { purge, reply })
    }

    /// Builds the indexes of [`Options::indexes`] for the head and the segments now, instead of in the
    /// background.
    ///
    /// # Errors
    /// [`Error::Storage`] if a document cannot be read, or an index would be too large; [`Error::Closed`].
    pub fn index(&self) -> Result<()> {
        for part in self.snapshot().parts() {
            let Some(indexed) = part.index_head(&self.inner.indexing).transpose()? else { continue };
            let indexed = Ok(Arc::new(indexed));
            self.inner.execute(|reply| Command::HeadIndexed { indexed, by: HeadIndexer::Caller(reply) })?;
        }
        let maker = IndexMaker {
            objects: self.inner.objects.clone(),
            indexing: self.inner.indexing.clone(),
            published: self.inner.published.clone(),
            commands: Some(self.inner.commands.clone()),
        };
        self.snapshot().shared_segments().iter().try_for_each(|(segment, _)| {
            match maker.make(segment, &|| false) {
                // The segment was merged or deleted meanwhile.
                Err(Error::Cancelled) => Ok(()),
                made => made,
            }
        })
    }

    /// Returns counts, sizes and errors.
    pub fn stats(&self) -> Stats {
        // Another thread holds the lock while it closes the store.
        let running = self.inner.running.try_lock().ok();
        let is_running =
            running.is_some_and(|running| running.as_ref().is_some_and(|store| store.threads.are_running()));
        let waiting_bytes = self.inner.waiting_bytes.load(Ordering::Relaxed);
        Stats::of(&self.inner.published, waiting_bytes, is_running)
    }

    /// Ends the store's threads and releases its lock. Waiting requests are still written. Snapshots stay
    /// readable. Closing a closed store does nothing.
    ///
    /// # Errors
    /// [`Error::Stopped`] if a thread of the store had died.
    pub fn close(&self) -> Result<()> {
        self.inner.close()
    }

    /// Reads and verifies every object of the store at `url`. Writes nothing.
    ///
    /// # Errors
    /// The first damage found; [`Error::Options`] if there is no store.
    pub fn check(url: &str) -> Result<CheckReport> {
        Self::check_watched(url, &Progress::default())
    }

    /// Like [`TraceStore::check`]; `progress` counts the bytes that are read.
    ///
    /// # Errors
    /// The errors of [`TraceStore::check`].
    pub fn check_watched(url: &str, progress: &Progress) -> Result<CheckReport> {
        let location = StoreLocation::parse(url)?;
        let folder = location.folder().map(|folder| folder.join("cache"));
        let objects = MeteredObjects::new(location.open_existing()?.into(), progress);
        check::check(&objects, &IndexCache::foreign(folder), progress)
    }

    /// Copies the store at `url`, which another process may be writing to, to `target`, an empty folder or
    /// bucket. The copy contains everything acknowledged before the call, and opens like any store. With
    /// `indexes` the copy includes the index objects, so that it opens faster. Without them it is smaller,
    /// and the indexes are rebuilt.
    ///
    /// # Errors
    /// [`Error::Damage`] found in the source, [`Error::Options`] if there is no store or `target` is not
    /// empty, [`Error::Busy`] if the store changes faster than it can be read, [`Error::Storage`].
    pub fn backup(url: &str, target: &str, indexes: bool) -> Result<BackupReport> {
        Self::backup_watched(url, target, indexes, &Progress::default())
    }

    /// Like [`TraceStore::backup`]; `progress` counts the bytes that are read.
    ///
    /// # Errors
    /// The errors of [`TraceStore::backup`].
    pub fn backup_watched(
        url: &str,
        target: &str,
        indexes: bool,
        progress: &Progress,
    ) -> Result<BackupReport> {
        let source = MeteredObjects::new(StoreLocation::parse(url)?.open_existing()?.into(), progress);
        backup::backup(&source, &StoreLocation::parse(target)?, indexes, progress)
    }
}

impl StoreInner {
    pub(super) fn expect_open(&self) -> Result<()> {
        if self.is_closed.load(Ordering::Acquire) { Err(Error::Closed) } else { Ok(()) }
    }

    /// Sends the committer a command and waits for its reply.
    pub(super) fn execute<T>(&self, command: impl FnOnce(Reply<T>) -> Command) -> Result<T> {
        command::execute(&self.commands, command).unwrap_or_else(|| {
            self.expect_open()?;
            Err(Error::Stopped("the committing thread has died".into()))
        })
    }

    /// Counts bytes as waiting until the returned value is dropped. A single request is always admitted.
    pub(super) fn admit(&self, bytes: u64) -> Result<WaitingBytes<'_>> {
        let before = self.waiting_bytes.fetch_add(bytes, Ordering::AcqRel);
        let admitted = WaitingBytes { total: &self.waiting_bytes, bytes };
        if before > 0 && before + bytes > self.max_waiting_bytes {
            return Err(Error::Busy(format!("{before} bytes wait to be written")));
        }
        Ok(admitted)
    }

    fn close(&self) -> Result<()> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_closed.store(true, Ordering::Release);
        let Some(RunningStore { threads, _lock }) = running.take() else { return Ok(()) };
        threads.end(&self.commands)
    }
}

impl Drop for StoreInner {
    fn drop(&mut self) {
        let _nobody_is_left_to_tell = self.close();
    }
}

/// The unwritten bytes of a request.
pub(super) struct WaitingBytes<'a> {
    total: &'a AtomicU64,
    bytes: u64,
}

impl Drop for WaitingBytes<'_> {
    fn drop(&mut self) {
        self.total.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}
