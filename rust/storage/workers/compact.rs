//! Merging: several segments become one, on a thread of its own, off the path of searches and ingest.
//!
//! Rows that are durably hidden are dropped. A row that is hidden on behalf of the head is kept: until
//! the head is sealed the only durable copy of its spans is here. What a merge writes means nothing
//! until the committer has committed it ([`crate::storage::committer::compaction`]).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use arrow_select::interleave::interleave_record_batch;
use crossbeam_channel::{Receiver, Sender};
use roaring::RoaringBitmap;

use crate::error::{Error, Result};
use crate::storage::committer::Order;
use crate::storage::manifest::{FileRecord, SegmentRecord};
use crate::storage::objects::Objects;
use crate::storage::priority;
use crate::storage::segment::Segment;
use crate::storage::segment::documents::{Dictionary, DocumentWriter};
use crate::storage::segment::index_cache::IndexCache;
use crate::storage::workers::flush::{Written, discard, write, write_object, write_rows};

/// A dictionary is trained from about this many bytes of documents.
const SAMPLE_BYTES: usize = 4 << 20;
/// Of one document no more than this.
const SAMPLE_OF_ONE: usize = 64 << 10;

/// A segment with more bytes of documents than this, or more rows, is compressed anew, with a dictionary, once there is time.
const COPIED_BYTES: u64 = 512 << 20;
const COPIED_ROWS: usize = 250_000;

/// Documents are read together until they have so many bytes once decoded.
const GROUP_BYTES: u64 = 32 << 20;

/// One of the segments that are merged.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    /// The segment's folder.
    pub(crate) id: String,
    pub(crate) segment: Arc<Segment>,
    /// The rows that are left out: those hidden durably when the merge began.
    pub(crate) dropped: Arc<RoaringBitmap>,
}

/// Some segments that become one.
#[derive(Debug)]
pub(crate) struct Merge {
    pub(crate) inputs: Vec<Input>,
    /// Somebody waits for the smallest segment there can be.
    pub(crate) is_asked: bool,
    /// There is no time to compress documents.
    pub(crate) is_hurried: bool,
}

/// Starts the merging thread: it merges what it is handed and reports to the committer. It ends when
/// the committer drops its end; once `is_closing` it gives up what it is at.
pub(crate) fn start(
    (objects, cache): (Arc<dyn Objects>, IndexCache),
    merges: Receiver<Merge>,
    reports: Sender<Order>,
    is_closing: Arc<AtomicBool>,
) -> std::io::Result<JoinHandle<()>> {
    let merge = move || {
        priority::step_back();
        for due in merges {
            let work = || merge(objects.as_ref(), &cache, &due, &is_closing);
            // A thread that dies would leave the committer waiting for ever.
            let written = catch_unwind(AssertUnwindSafe(work));
            let written = written.unwrap_or_else(|_| Err(Error::storage("segments", "merging panicked")));
            if let Err(unsent) = reports.send(Order::Merged(written)) {
                if let Order::Merged(Ok(Some(written))) = unsent.0 {
                    discard(objects.as_ref(), &cache, &written.record);
                }
                return;
            }
        }
    };
    std::thread::Builder::new().name("spanwise-merge".into()).spawn(merge)
}

/// Merges segments into a new one; `None` if no row is left.
///
/// # Errors
/// [`Error::Damage`] if a document cannot be read, [`Error::Storage`], [`Error::Closed`].
fn merge(
    objects: &dyn Objects,
    cache: &IndexCache,
    due: &Merge,
    is_closing: &AtomicBool,
) -> Result<Option<Written>> {
    let inputs = due.inputs.as_slice();
    let order = surviving(inputs);
    if order.is_empty() {
        return Ok(None);
    }
    let written = write(objects, cache, |record| {
        let at_once = objects.read_concurrency();
        let is_small = is_small(inputs, &order);
        let is_copied = is_copied(due, is_small)?;
        record.awaits_compression = is_copied && (!is_small || awaits_compression(inputs));
        let has_dictionary = due.is_asked || !is_small;
        let dictionary =
            if is_copied || !has_dictionary { Vec::new() } else { train(inputs, &order, at_once)? };
        write_dictionary(objects, record, &dictionary)?;
        let path = record.documents_path();
        let mut documents = DocumentWriter::for_merge(path.clone(), objects.create(&path)?, &dictionary)?;
        let mut places = Vec::with_capacity(order.len());
        for group in groups(inputs, &order) {
            if is_closing.load(Ordering::Relaxed) {
                return Err(Error::Closed);
            }
            if is_copied {
                for (frame, decoded) in read_together(inputs, group, at_once, Segment::frame)? {
                    places.push(documents.append_frame(&frame, decoded)?);
                }
            } else {
                for document in read_together(inputs, group, at_once, Segment::document)? {
                    places.push(documents.append(&document)?);
                }
            }
        }
        record.documents = documents.finish()?;
        let batches = inputs.iter().map(|input| input.segment.read_rows()).collect::<Result<Vec<_>>>()?;
        let rows = interleave_record_batch(&batches.iter().collect::<Vec<_>>(), &order)
            .map_err(|fault| Error::storage(record.traces_path(), fault))?;
        write_rows(objects, record, &rows, &places)
    });
    written.map(Some)
}

/// Whether the segment of these rows will be merged again soon.
fn is_small(inputs: &[Input], order: &[(usize, usize)]) -> bool {
    let stored: u64 = order.iter().map(|(input, row)| inputs[*input].segment.stored_bytes(*row)).sum();
    stored <= COPIED_BYTES && order.len() <= COPIED_ROWS
}

fn awaits_compression(inputs: &[Input]) -> bool {
    inputs.iter().any(|input| input.segment.awaits_compression())
}

/// Whether documents are taken over as they are stored: those of young segments, which will be merged
/// again soon. Compressing them anew each time would cost as much as sealing them did. They are verified
/// as a whole then, where else each would be. In a hurry all are taken over that can be.
fn is_copied(due: &Merge, is_small: bool) -> Result<bool> {
    let is_young = due.inputs.iter().all(|input| input.segment.is_without_dictionary());
    let is_enough = is_small && !awaits_compression(&due.inputs);
    if due.is_asked || !is_young || !(due.is_hurried || is_enough) {
        return Ok(false);
    }
    due.inputs.iter().try_for_each(|input| input.segment.verify_documents())?;
    Ok(true)
}

/// Returns the rows that are kept, as input and row, in the order of search results.
fn surviving(inputs: &[Input]) -> Vec<(usize, usize)> {
    let mut order = Vec::new();
    for (place, input) in inputs.iter().enumerate() {
        let rows = 0..input.segment.count();
        let kept = rows.filter(|row| !input.dropped.contains(*row));
        order.extend(kept.map(|row| (place, row as usize)));
    }
    let key = |(input, row): (usize, usize)| {
        let segment = &inputs[input].segment;
        (std::cmp::Reverse(segment.start_time(row)), segment.trace_id(row).ok())
    };
    order.sort_unstable_by_key(|place| key(*place));
    order
}

/// Parts rows into groups that are read together.
fn groups<'a>(
    inputs: &[Input],
    mut rows: &'a [(usize, usize)],
) -> impl Iterator<Item = &'a [(usize, usize)]> {
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |(input, row): &&(usize, usize)| {
            bytes += inputs[*input].segment.document_bytes(*row);
            bytes <= GROUP_BYTES
        };
        let count = rows.iter().take_while(fits).count().max(1).min(rows.len());
        let (group, rest) = rows.split_at(count);
        rows = rest;
        Some(group).filter(|group| !group.is_empty())
    })
}

/// Reads the documents of `rows` by `read`, in their order: where reading takes long to begin, `at_once` of
/// them at a time. Neighbours are read by one thread, for they stand in one block.
fn read_together<T: Send>(
    inputs: &[Input],
    rows: &[(usize, usize)],
    at_once: usize,
    read: impl Fn(&Segment, usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let read = |rows: &[(usize, usize)]| {
        rows.iter().map(|(input, row)| read(&inputs[*input].segment, *row)).collect::<Result<Vec<_>>>()
    };
    if at_once < 2 {
        return read(rows);
    }
    std::thread::scope(|scope| {
        let shares = rows.chunks(rows.len().div_ceil(at_once).max(1));
        let readers: Vec<_> = shares.map(|share| scope.spawn(move || read(share))).collect();
        let mut documents = Vec::with_capacity(rows.len());
        for reader in readers {
            let read = reader.join();
            documents.extend(read.unwrap_or_else(|_| Err(Error::storage("segments", "reading panicked")))?);
        }
        Ok(documents)
    })
}

/// Learns a dictionary from a sample of the rows that are kept.
fn train(inputs: &[Input], order: &[(usize, usize)], at_once: usize) -> Result<Vec<u8>> {
    let size = |(input, row): &(usize, usize)| {
        let bytes = inputs[*input].segment.document_bytes(*row);
        usize::try_from(bytes).map_or(SAMPLE_OF_ONE, |bytes| bytes.min(SAMPLE_OF_ONE))
    };
    let all: usize = order.iter().map(size).sum();
    let (mut samples, mut sizes) = (Vec::new(), Vec::new());
    let chosen: Vec<_> = order.iter().step_by(all.div_ceil(SAMPLE_BYTES).max(1)).copied().collect();
    for group in groups(inputs, &chosen) {
        for document in read_together(inputs, group, at_once, Segment::document)? {
            let sample = &document[..document.len().min(SAMPLE_OF_ONE)];
            samples.extend_from_slice(sample);
            sizes.push(sample.len());
        }
    }
    Ok(Dictionary::train(&samples, &sizes))
}

fn write_dictionary(objects: &dyn Objects, record: &mut SegmentRecord, dictionary: &[u8]) -> Result<()> {
    if !dictionary.is_empty() {
        // Named before it is written, so that it is removed if that fails.
        record.dictionary = Some(FileRecord::of(dictionary));
        write_object(objects, &record.dictionary_path(), dictionary)?;
    }
    Ok(())
}
