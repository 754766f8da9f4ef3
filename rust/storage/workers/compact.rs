//! The merging thread: writes several segments as one.
//!
//! Rows that are deleted durably are left out. A row that is deleted only because its trace is in the head is kept:
//! until the head is sealed, the only durable copy of its spans is here. The committer commits what is written here
//! ([`crate::storage::state::command::Command::Merged`]).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;

use arrow_select::interleave::interleave_record_batch;
use crossbeam_channel::{Receiver, Sender};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use roaring::RoaringBitmap;

use crate::error::{Error, Result};
use crate::index::MergedRows;
use crate::priority;
use crate::progress::Progress;
use crate::storage::manifest::SegmentRecord;
use crate::storage::objects::Objects;
use crate::storage::options::Indexing;
use crate::storage::segment::builder::{NewSegment, discard, write_dictionary, write_rows};
use crate::storage::segment::documents::{Dictionary, DocumentLocation, DocumentWriter};
use crate::storage::segment::indexes::cache::IndexCache;
use crate::storage::segment::{Segment, is_large};
use crate::storage::state::command::Command;

/// A dictionary is trained with about this many bytes of documents.
const MAX_SAMPLE_BYTES: usize = 4 << 20;
/// And with at most this many bytes of one document.
const MAX_DOCUMENT_SAMPLE_BYTES: usize = 64 << 10;

/// Documents are read together until they have this many bytes once decoded.
const READ_GROUP_BYTES: u64 = 32 << 20;

/// One of the segments to merge.
#[derive(Debug, Clone)]
pub(crate) struct MergeInput {
    pub(crate) segment_id: String,
    pub(crate) segment: Arc<Segment>,
    /// The rows that are left out: those deleted durably when the merge began.
    pub(crate) dropped: Arc<RoaringBitmap>,
}

/// Segments to merge into one.
#[derive(Debug)]
pub(crate) struct MergeTask {
    pub(crate) inputs: Vec<MergeInput>,
    /// Whether a caller asked for it, and waits for the smallest possible segment.
    pub(crate) is_manual: bool,
    /// Whether documents are copied as they are stored where possible.
    pub(crate) defer_compression: bool,
    /// Counts the traces that are written.
    pub(crate) progress: Progress,
}

/// A row of one of the inputs: the index of the input, and the row in it.
type InputRow = (usize, usize);

/// Starts the merging thread. It reports each task to the committer, and ends when the committer drops its end; once
/// `is_closing` is set it abandons its task.
pub(crate) fn start(
    (objects, cache, indexing): (Arc<dyn Objects>, IndexCache, Indexing),
    tasks: Receiver<MergeTask>,
    reports: Sender<Command>,
    is_closing: Arc<AtomicBool>,
) -> std::io::Result<JoinHandle<()>> {
    let run = move || {
        priority::lower();
        for task in tasks {
            let merge = || merge((objects.as_ref(), &cache, &indexing), &task, &is_closing);
            // Without a report the committer would wait for ever.
            let merged = catch_unwind(AssertUnwindSafe(merge));
            let merged = merged.unwrap_or_else(|_| Err(Error::storage("segments", "merging panicked")));
            if let Err(unsent) = reports.send(Command::Merged(merged)) {
                if let Command::Merged(Ok(Some(merged))) = unsent.0 {
                    discard(objects.as_ref(), &cache, &merged.record);
                }
                return;
            }
        }
    };
    std::thread::Builder::new().name("spanwise-merge".into()).spawn(run)
}

/// Merges segments into a new one; returns `None` if no row is left.
///
/// # Errors
/// [`Error::Damage`] if a document cannot be read, [`Error::Storage`], [`Error::Closed`].
fn merge(
    (objects, cache, indexing): (&dyn Objects, &IndexCache, &Indexing),
    task: &MergeTask,
    is_closing: &AtomicBool,
) -> Result<Option<NewSegment>> {
    let inputs = task.inputs.as_slice();
    let kept = filter_cache(inputs);
    if kept.is_empty() {
        return Ok(None);
    }
    let merged = NewSegment::build(objects, cache, |record| {
        let places = write_documents(objects, record, task, &kept, is_closing)?;
        let batches = inputs.iter().map(|input| input.segment.read_rows()).collect::<Result<Vec<_>>>()?;
        let rows = interleave_record_batch(&batches.iter().collect::<Vec<_>>(), &kept)
            .map_err(|error| Error::storage(record.traces_path(), error))?;
        write_rows(objects, record, &rows, &places)
    })?;
    // What is not merged is made by the indexing thread, which also reports why it cannot be.
    let _made_later = merge_indexes(&merged.segment, (objects, indexing), (task, &kept), is_closing);
    Ok(Some(merged))
}

/// Merges the indexes of the documents. While compression is deferred, none is made of documents for that.
fn merge_indexes(
    merged: &Segment,
    (objects, indexing): (&dyn Objects, &Indexing),
    (task, kept): (&MergeTask, &[InputRow]),
    is_closing: &AtomicBool,
) -> Result<()> {
    let is_cancelled = || priority::checkpoint(is_closing);
    let inputs: Vec<&Segment> = task.inputs.iter().map(|input| input.segment.as_ref()).collect();
    for input in &inputs {
        // The indexing thread need not have come to it since the store was opened.
        input.open_indexes_first(objects, &indexing.kinds)?;
    }
    if !task.defer_compression {
        Segment::complete_indexes(&inputs, indexing, &is_cancelled)?;
    }
    let rows = MergedRows::new(inputs.iter().map(|input| input.count()), kept);
    let indexes: Vec<_> = inputs.iter().map(|input| input.document_indexes()).collect();
    merged.merge_indexes(&indexes, &rows, indexing, &is_cancelled)
}

/// Writes the documents of the rows that are kept, and the dictionary if they have one; returns where each document is.
fn write_documents(
    objects: &dyn Objects,
    record: &mut SegmentRecord,
    task: &MergeTask,
    kept: &[InputRow],
    is_closing: &AtomicBool,
) -> Result<Vec<DocumentLocation>> {
    let inputs = task.inputs.as_slice();
    let concurrency = objects.read_concurrency();
    let is_small = is_small(inputs, kept);
    let is_copied = is_copied(task, is_small)?;
    record.awaits_compression = is_copied && (!is_small || awaits_compression(inputs));
    let has_dictionary = !is_copied && (task.is_manual || !is_small);
    let dictionary = if has_dictionary { train(inputs, kept, concurrency)? } else { Vec::new() };
    write_dictionary(objects, record, &dictionary)?;
    let path = record.documents_path();
    let mut documents = DocumentWriter::for_merge(path.clone(), objects.create(&path)?, &dictionary);
    let mut places = Vec::with_capacity(kept.len());
    for group in read_groups(inputs, kept) {
        if priority::checkpoint(is_closing) {
            return Err(Error::Closed);
        }
        task.progress.add(group.len() as u64);
        if is_copied {
            for (frame, decoded) in read_parallel(inputs, group, concurrency, Segment::frame)? {
                places.push(documents.append_frame(&frame, decoded)?);
            }
        } else {
            let read = read_parallel(inputs, group, concurrency, Segment::document)?;
            places.extend(documents.append_all(&read, Clone::clone)?);
        }
    }
    record.documents = documents.finish()?;
    Ok(places)
}

/// Whether the segment of these rows will be merged again soon.
fn is_small(inputs: &[MergeInput], kept: &[InputRow]) -> bool {
    let stored: u64 = kept.iter().map(|(input, row)| inputs[*input].segment.stored_bytes(*row)).sum();
    !is_large(stored, kept.len() as u64)
}

fn awaits_compression(inputs: &[MergeInput]) -> bool {
    inputs.iter().any(|input| input.segment.awaits_compression())
}

/// Whether documents are copied as they are stored. Those of young segments are, because they will be merged again
/// soon: compressing them each time would cost as much as sealing them did. With deferred compression all are copied
/// that can be. Copied documents are verified as a whole here, others as each is read: of a damaged file, the merge
/// still succeeds if the documents that are kept are whole.
fn is_copied(task: &MergeTask, is_small: bool) -> Result<bool> {
    let is_young = task.inputs.iter().all(|input| input.segment.is_without_dictionary());
    let is_compressed_enough = is_small && !awaits_compression(&task.inputs);
    if task.is_manual || !is_young || !(task.defer_compression || is_compressed_enough) {
        return Ok(false);
    }
    match task.inputs.iter().try_for_each(|input| input.segment.verify_documents()) {
        Err(Error::Damage { .. }) => Ok(false),
        verified => verified.map(|()| true),
    }
}

/// Returns the rows that are kept, in the order of search results.
fn filter_cache(inputs: &[MergeInput]) -> Vec<InputRow> {
    let mut kept = Vec::new();
    for (position, input) in inputs.iter().enumerate() {
        let rows = (0..input.segment.count()).filter(|row| !input.dropped.contains(*row));
        kept.extend(rows.map(|row| (position, row as usize)));
    }
    let key = |(input, row): InputRow| {
        let segment = &inputs[input].segment;
        (std::cmp::Reverse(segment.start_time(row)), segment.trace_id(row).ok())
    };
    kept.sort_unstable_by_key(|row| key(*row));
    kept
}

/// Splits rows into groups of which the documents are read together.
fn read_groups<'a>(inputs: &[MergeInput], mut rows: &'a [InputRow]) -> impl Iterator<Item = &'a [InputRow]> {
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |(input, row): &&InputRow| {
            bytes += inputs[*input].segment.document_bytes(*row);
            bytes <= READ_GROUP_BYTES
        };
        let count = rows.iter().take_while(fits).count().max(1).min(rows.len());
        let (group, rest) = rows.split_at(count);
        rows = rest;
        Some(group).filter(|group| !group.is_empty())
    })
}

/// Calls `read` for each of `rows`, with `concurrency` threads where reads take long to begin, else on all cores; returns
/// the results in order. Neighbours are read by one thread, because they are in one block.
fn read_parallel<T: Send>(
    inputs: &[MergeInput],
    rows: &[InputRow],
    concurrency: usize,
    read: impl Fn(&Segment, usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let read_one = |(input, row): &InputRow| {
        priority::yield_cpu();
        read(&inputs[*input].segment, *row)
    };
    if concurrency < 2 {
        return priority::POOL.install(|| rows.par_iter().map(read_one).collect());
    }
    let read = |rows: &[InputRow]| rows.iter().map(read_one).collect::<Result<Vec<_>>>();
    std::thread::scope(|scope| {
        let shares = rows.chunks(rows.len().div_ceil(concurrency).max(1));
        let readers: Vec<_> = shares.map(|share| scope.spawn(move || read(share))).collect();
        let mut documents = Vec::with_capacity(rows.len());
        for reader in readers {
            let read = reader.join();
            documents.extend(read.unwrap_or_else(|_| Err(Error::storage("segments", "reading panicked")))?);
        }
        Ok(documents)
    })
}

/// Trains a dictionary with a sample of the documents that are kept.
fn train(inputs: &[MergeInput], kept: &[InputRow], concurrency: usize) -> Result<Vec<u8>> {
    let size = |(input, row): &InputRow| {
        let bytes = inputs[*input].segment.document_bytes(*row);
        usize::try_from(bytes).map_or(MAX_DOCUMENT_SAMPLE_BYTES, |bytes| bytes.min(MAX_DOCUMENT_SAMPLE_BYTES))
    };
    let total: usize = kept.iter().map(size).sum();
    let (mut samples, mut sizes) = (Vec::new(), Vec::new());
    let chosen: Vec<_> = kept.iter().step_by(total.div_ceil(MAX_SAMPLE_BYTES).max(1)).copied().collect();
    for group in read_groups(inputs, &chosen) {
        for document in read_parallel(inputs, group, concurrency, Segment::document)? {
            let sample = &document[..document.len().min(MAX_DOCUMENT_SAMPLE_BYTES)];
            samples.extend_from_slice(sample);
            sizes.push(sample.len());
        }
    }
    Ok(Dictionary::train(&samples, &sizes))
}
