//! The store as its users see it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;

use crossbeam_channel::Sender;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::otlp::{DecodedRequest, wire};
use crate::semaphore::Turns;
use crate::storage::backup::{self, Copied};
use crate::storage::check::{self, Report};
use crate::storage::committer::bulk_load;
use crate::storage::committer::delete;
use crate::storage::committer::publish::Published;
use crate::storage::committer::{Order, ask};
use crate::storage::manifest::ImportRecord;
use crate::storage::objects::Objects;
use crate::storage::objects::location::Place;
use crate::storage::objects::lock::Lock;
use crate::storage::open::{self, recover};
use crate::storage::options::Options;
use crate::storage::segment::index_cache::Cache;
use crate::storage::snapshot::Snapshot;
use crate::storage::state::merge_spans::Arrival;
use crate::storage::state::open_segments::Aside;
use crate::storage::threads::Threads;
use crate::time::now_micros;
use crate::trace::{Span, Trace};

/// What became of one export.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ingested {
    /// Spans that are durable now.
    pub accepted: u64,
    /// Spans that were refused.
    pub rejected: u64,
    /// Why the first of them was, or empty.
    pub reason: String,
}

/// The store in numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Traces that a search without a filter finds.
    pub traces: u64,
    /// Sealed segments.
    pub segments: u64,
    /// Generations of the head, the open one included.
    pub generations: u64,
    /// Bytes of write-ahead that are not sealed.
    pub unsealed_bytes: u64,
    /// Write-ahead objects that are not sealed.
    pub unsealed_objects: u64,
    /// Bytes of requests that wait to be written.
    pub waiting_bytes: u64,
    /// The newest write-ahead object.
    pub wal_through: u64,
    /// Write-ahead objects up to this one are contained in segments.
    pub wal_folded_through: u64,
    /// The newest manifest.
    pub manifest: u64,
    /// Whether spans are acknowledged at all.
    pub is_acknowledging: bool,
    /// Why they are not, until the store is opened again.
    pub stopped: Option<String>,
    /// Why the last seal failed; it is tried again.
    pub seal_fault: Option<String>,
    /// Whether segments are being merged.
    pub is_merging: bool,
    /// Why the last merge failed; it is tried again, and nothing is lost.
    pub merge_fault: Option<String>,
    /// Why what is too old could not be deleted; it is tried again.
    pub retention_fault: Option<String>,
    /// Damaged segments that were set aside and are in no answer.
    pub aside: Vec<Aside>,
}

/// A durable store of traces with one writer. Clones are the same store.
#[derive(Debug, Clone)]
pub struct TraceStore {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    objects: Arc<dyn Objects>,
    cache: Cache,
    orders: Sender<Order>,
    published: Arc<Published>,
    max_waiting_bytes: u64,
    waiting_bytes: AtomicU64,
    /// One for each processor: more decoding at once is no faster.
    turns: Turns,
    /// Bytes that decoding takes.
    decoding: Turns,
    is_closed: AtomicBool,
    running: Mutex<Option<Running>>,
}

/// What ends when the store is closed.
#[derive(Debug)]
struct Running {
    threads: Threads,
    _lock: Option<Lock>,
}

impl TraceStore {
    /// Opens the store at `url`, creating it if need be: in a folder (a path, or a `file://` address) or,
    /// with the feature `cloud`, in a bucket (`s3://`, `gs://`, `az://`).
    ///
    /// # Errors
    /// [`Error::Options`] for an address that is not served or a store of a newer format,
    /// [`Error::Locked`] if another process holds the store, [`Error::Damage`] if an object is
    /// missing or not what was written, [`Error::Storage`].
    pub fn open(url: &str, mut options: Options) -> Result<Self> {
        let place = Place::of(url)?;
        let objects = place.prepared(&mut options)?;
        Self::start(objects, place.lock()?, options)
    }

    /// Opens the store in a place of objects. Nothing but the claim keeps other writers out.
    ///
    /// # Errors
    /// As [`TraceStore::open`].
    pub fn open_in(objects: Arc<dyn Objects>, options: Options) -> Result<Self> {
        Self::start(objects, None, options)
    }

    fn start(objects: Arc<dyn Objects>, lock: Option<Lock>, options: Options) -> Result<Self> {
        let recovered = recover(objects.as_ref(), &options, lock.is_some())?;
        let published = Arc::new(Published::default());
        let (max_waiting_bytes, max_decoding_bytes) = (options.max_waiting_bytes, options.max_decoding_bytes);
        let cache = Cache::of(&options);
        let (threads, orders) = Threads::start(objects.clone(), options, recovered, &published)?;
        let running = Mutex::new(Some(Running { threads, _lock: lock }));
        let (waiting_bytes, is_closed) = (AtomicU64::new(0), AtomicBool::new(false));
        let shared = Shared {
            objects,
            cache,
            orders,
            published,
            max_waiting_bytes,
            waiting_bytes,
            turns: Turns::of(available_parallelism().map_or(1, |count| count.get() as u64)),
            decoding: Turns::of(max_decoding_bytes),
            is_closed,
            running,
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Stores the spans of one request and returns once they are durable and searchable.
    ///
    /// # Errors
    /// [`Error::Busy`]: nothing was stored, try later. [`Error::Stopped`]: reopen first.
    /// [`Error::Damage`]: spans belong to a trace that cannot be read; nothing was stored.
    /// [`Error::Closed`].
    pub fn ingest(&self, export: DecodedRequest) -> Result<Ingested> {
        self.ingest_decoded(0, || Ok(export))
    }

    /// Stores the spans of a request that is decoded as soon as it has its turn, and so many `bytes` are free
    /// for it: until its spans are as small as they came, it may take many times what was sent.
    ///
    /// # Errors
    /// Those of `decode`, else as [`TraceStore::ingest`].
    pub fn ingest_decoded(
        &self,
        bytes: u64,
        decode: impl FnOnce() -> Result<DecodedRequest>,
    ) -> Result<Ingested> {
        let received = now_micros();
        let room = self.shared.decoding.take(bytes, || Ok(()))?;
        let turn = self.shared.turns.take(1, || Ok(()))?;
        let DecodedRequest { spans, message, rejected, reason } = decode()?;
        self.shared.refuse_if_closed()?;
        if spans.is_empty() {
            return Ok(Ingested { accepted: 0, rejected, reason });
        }
        let spans = spans.into_iter().map(|span| Span::from_wire(span.wire).map(Arc::new));
        let spans = spans.collect::<Result<Vec<_>>>()?;
        let encoded = message.unwrap_or_else(|| wire::join(spans.iter().map(|span| &span.wire)).into());
        let arrival = Arrival::new(received, spans, encoded);
        let _waiting = self.shared.admit(arrival.encoded.len() as u64)?;
        drop((turn, room));
        let outcome = self.shared.ask(|answer| Order::Ingest { arrival, answer })?;
        let reason = if reason.is_empty() { outcome.reason } else { reason };
        Ok(Ingested { accepted: outcome.accepted, rejected: rejected + outcome.surplus, reason })
    }

    /// Takes in whole traces past the head and the write-ahead: they become a segment of their own, each
    /// merged with what is stored of it as [`TraceStore::ingest`] would, but that the earlier
    /// `created_at` stays. Durable and searchable once it returns, together with how far the import
    /// `source` is then: `so_far`, or nothing to remember of it. Of a trace with too many spans some are
    /// left out; the answer is how many.
    ///
    /// # Errors
    /// [`Error::Damage`]: what is stored of a trace cannot be read. [`Error::Storage`]. Nothing was
    /// stored then. Else as [`TraceStore::ingest`].
    pub fn adopt(&self, traces: Vec<Trace>, source: &str, so_far: Option<ImportRecord>) -> Result<u64> {
        self.shared.refuse_if_closed()?;
        let unnamed = self.shared.published.unnamed_files.lock();
        let _until_they_are_named = unnamed.unwrap_or_else(PoisonError::into_inner);
        let prepared =
            bulk_load::prepare(self.shared.objects.as_ref(), &self.shared.cache, &self.snapshot(), traces)?;
        let (surplus, mut adoption) = prepared;
        adoption.progress = Some((source.to_owned(), so_far)).filter(|(source, _)| !source.is_empty());
        self.shared.ask(|answer| Order::Adopt { adoption: Box::new(adoption), answer })?;
        Ok(surplus)
    }

    /// Returns how far the import `source` was when it was interrupted, if it was.
    pub fn import_so_far(&self, source: &str) -> Option<ImportRecord> {
        let progress = self.shared.published.progress.load();
        progress.imports.iter().find(|record| record.source == source).cloned()
    }

    /// Returns the present state.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.shared.published.snapshot.load_full()
    }

    /// Seals the whole head now.
    ///
    /// # Errors
    /// [`Error::Storage`] if that failed, which loses nothing; else as [`TraceStore::ingest`].
    pub fn flush(&self) -> Result<()> {
        self.shared.refuse_if_closed()?;
        self.shared.ask(Order::Flush)
    }

    /// Deletes the traces that `filter` matches and returns how many; with `dry_run` only counts them.
    /// What was acknowledged before the call and matches is gone from every answer once it returns, and
    /// after a crash too. Spans of a deleted trace that come later begin a new trace. The bytes of the
    /// deleted traces stay on disk until their segments are compacted.
    ///
    /// # Errors
    /// [`Error::Storage`]: nothing was deleted, try later. Else as [`TraceStore::ingest`].
    pub fn delete(&self, filter: &Filter, dry_run: bool) -> Result<u64> {
        self.shared.refuse_if_closed()?;
        let found = delete::count(&self.snapshot(), filter)?;
        if dry_run || found == 0 {
            return Ok(found);
        }
        // Most of the head is sealed before requests have to wait for the rest of it.
        self.flush()?;
        self.shared.ask(|answer| Order::Delete { filter: filter.clone(), answer })
    }

    /// Seals the head, then merges the segments there are into as few as their sizes allow, and returns
    /// once that is done. With `purge` nothing is left on disk of what was deleted or superseded
    /// before the call: every segment with hidden rows is rebuilt, its dictionary trained anew, and what
    /// no manifest needs is removed. Ingest and searches go on.
    ///
    /// # Errors
    /// [`Error::Storage`] or [`Error::Damage`] if a merge or a removal failed, which loses nothing; else
    /// as [`TraceStore::ingest`].
    pub fn compact(&self, purge: bool) -> Result<()> {
        self.flush()?;
        self.shared.ask(|answer| Order::Compact { purge, answer })
    }

    /// Returns the store in numbers.
    pub fn stats(&self) -> Stats {
        let progress = self.shared.published.progress.load_full();
        let snapshot = self.snapshot();
        let live = snapshot.parts().iter().map(|part| part.count() as u64 - part.hidden().len());
        // Whoever holds it is closing the store.
        let running = self.shared.running.try_lock().ok();
        let is_at_work =
            running.is_some_and(|running| running.as_ref().is_some_and(|at| at.threads.are_at_work()));
        Stats {
            traces: live.sum(),
            segments: progress.segments as u64,
            generations: progress.generations as u64,
            unsealed_bytes: progress.unsealed_bytes,
            unsealed_objects: progress.unsealed_objects,
            waiting_bytes: self.shared.waiting_bytes.load(Ordering::Relaxed),
            wal_through: progress.wal_through,
            wal_folded_through: progress.wal_folded_through,
            manifest: progress.manifest,
            is_acknowledging: is_at_work && progress.stopped.is_none(),
            stopped: progress.stopped.clone(),
            seal_fault: progress.seal_fault.clone(),
            is_merging: progress.is_merging,
            merge_fault: progress.merge_fault.clone(),
            retention_fault: self.shared.published.retention_fault.load_full().map(|fault| fault.to_string()),
            aside: progress.aside.clone(),
        }
    }

    /// Ends the store's threads and releases the folder. What waits is still written; snapshots
    /// already held stay readable. Closing again does nothing.
    ///
    /// # Errors
    /// [`Error::Stopped`] if a thread of the store had died.
    pub fn close(&self) -> Result<()> {
        self.shared.close()
    }

    /// Reads every object of the store at `url` and verifies it, writing nothing.
    ///
    /// # Errors
    /// The first damage found; [`Error::Options`] if there is no store.
    pub fn check(url: &str) -> Result<Report> {
        check::check(Place::of(url)?.existing()?.as_ref())
    }

    /// Returns the present state of the store at `url`, which may be at work in another process, writing
    /// nothing: all that was acknowledged before the call is in it.
    ///
    /// # Errors
    /// [`Error::Options`] if there is no store or it has a newer format, [`Error::Damage`],
    /// [`Error::Busy`] if the store moves on too fast, [`Error::Storage`].
    pub fn look(url: &str) -> Result<Arc<Snapshot>> {
        let place = Place::of(url)?;
        let cache_dir = place.folder().map(|folder| folder.join("cache"));
        let options = Options { cache_dir, is_cache_foreign: true, ..Options::default() };
        open::look(place.existing()?.as_ref(), &options).map(Arc::new)
    }

    /// Copies the store at `url`, which may be at work in another process, to `target`, a folder or a
    /// bucket that is empty. What was acknowledged before is in the copy, which opens like any store.
    ///
    /// # Errors
    /// [`Error::Damage`] found on the way, [`Error::Options`] if there is no store or `target` is not
    /// empty, [`Error::Busy`] if the store moves on too fast, [`Error::Storage`].
    pub fn backup(url: &str, target: &str) -> Result<Copied> {
        backup::backup(Place::of(url)?.existing()?.as_ref(), &Place::of(target)?)
    }
}

impl Shared {
    fn refuse_if_closed(&self) -> Result<()> {
        if self.is_closed.load(Ordering::Acquire) { Err(Error::Closed) } else { Ok(()) }
    }

    /// Hands the committer an order and waits for its answer.
    fn ask<T>(&self, order: impl FnOnce(Sender<Result<T>>) -> Order) -> Result<T> {
        ask(&self.orders, order).unwrap_or_else(|| {
            self.refuse_if_closed()?;
            Err(Error::Stopped("the committing thread has died".into()))
        })
    }

    /// Counts bytes as waiting until the returned value is dropped. A request alone is never too much.
    fn admit(&self, bytes: u64) -> Result<Admitted<'_>> {
        let before = self.waiting_bytes.fetch_add(bytes, Ordering::AcqRel);
        let admitted = Admitted { waiting_bytes: &self.waiting_bytes, bytes };
        if before > 0 && before + bytes > self.max_waiting_bytes {
            return Err(Error::Busy(format!("{before} bytes wait to be written")));
        }
        Ok(admitted)
    }

    fn close(&self) -> Result<()> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_closed.store(true, Ordering::Release);
        let Some(Running { threads, _lock }) = running.take() else { return Ok(()) };
        threads.end(&self.orders)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let _nobody_left_to_tell = self.close();
    }
}

/// Bytes that wait.
struct Admitted<'a> {
    waiting_bytes: &'a AtomicU64,
    bytes: u64,
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        self.waiting_bytes.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}
