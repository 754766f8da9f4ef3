//! The merge thread: writes several segments as one.
//!
//! Durably deleted rows are dropped. A row that is deleted only because its trace is in the head is retained.
//! Until the head is flushed, this row is the only durable copy of its spans outside the WAL. The committer
//! commits the new segment ([`crate::storage::state::command::Command::Merged`]).

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

/// The approximate size in bytes of the documents for training a dictionary.
const MAX_SAMPLE_BYTES: usize = 4 << 20;
/// The maximum size in bytes of one document in the sample.
const MAX_DOCUMENT_SAMPLE_BYTES: usize = 64 << 10;

/// The decoded size in bytes at which a group of documents is read.
const READ_GROUP_BYTES: u64 = 32 << 20;

#[derive(Debug, Clone)]
pub(crate) struct MergeInput {
    pub(crate) segment_id: String,
    pub(crate) segment: Arc<Segment>,
    /// The dropped rows, which were durably deleted when the merge started.
    pub(crate) dropped: Arc<RoaringBitmap>,
}

#[derive(Debug)]
pub(crate) struct MergeTask {
    pub(crate) inputs: Vec<MergeInput>,
    /// True if a caller waits for the smallest possible segment.
    pub(crate) is_manual: bool,
    /// True if stored documents are copied without compression where possible.
    pub(crate) defer_compression: bool,
    /// Counts the written traces.
    pub(crate) progress: Progress,
}

/// A row of one of the inputs: the index of the input, and the row in it.
type InputRow = (usize, usize);

/// Starts the merge thread. It reports each task to the committer, and ends when the committer drops its end.
/// It aborts its task when `is_closing` is set.
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
            // Without a report the committer would wait forever.
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

/// Merges segments into a new one; returns `None` if all rows are dropped.
///
/// # Errors
/// [`Error::Damage`] if a document cannot be read, [`Error::Storage`], [`Error::Closed`].
fn merge(
    (objects, cache, indexing): (&dyn Objects, &IndexCache, &Indexing),
    task: &MergeTask,
    is_closing: &AtomicBool,
) -> Result<Option<NewSegment>> {
    let inputs = task.inputs.as_slice();
    let retained = retained_rows(inputs);
    if retained.is_empty() {
        return Ok(None);
    }
    let merged = NewSegment::build(objects, cache, |record| {
        let locations = write_documents(objects, record, task, &retained, is_closing)?;
        let batches = inputs.iter().map(|input| input.segment.read_rows()).collect::<Result<Vec<_>>>()?;
        let rows = interleave_record_batch(&batches.iter().collect::<Vec<_>>(), &retained)
            .map_err(|error| Error::storage(record.traces_path(), error))?;
        write_rows(objects, record, &rows, &locations)
    })?;
    // Unmerged indexes are built by the indexing thread, which also reports errors.
    let _made_later = merge_indexes(&merged.segment, (objects, indexing), (task, &retained), is_closing);
    Ok(Some(merged))
}

/// Merges the document indexes. While compression is deferred, no index is built from documents for the
/// merge.
fn merge_indexes(
    merged: &Segment,
    (objects, indexing): (&dyn Objects, &Indexing),
    (task, retained): (&MergeTask, &[InputRow]),
    is_closing: &AtomicBool,
) -> Result<()> {
    let is_cancelled = || priority::checkpoint(is_closing);
    let inputs: Vec<&Segment> = task.inputs.iter().map(|input| input.segment.as_ref()).collect();
    for input in &inputs {
        // The indexing thread may not have opened them yet since the store was opened.
        input.open_indexes_first(objects, &indexing.kinds)?;
    }
    if !task.defer_compression {
        Segment::complete_indexes(&inputs, indexing, &is_cancelled)?;
    }
    let rows = MergedRows::new(inputs.iter().map(|input| input.count()), retained);
    let indexes: Vec<_> = inputs.iter().map(|input| input.document_indexes()).collect();
    merged.merge_indexes(&indexes, &rows, indexing, &is_cancelled)
}

/// Writes the documents of the retained rows, and the dictionary if there is one. Returns the location of
/// each document.
fn write_documents(
    objects: &dyn Objects,
    record: &mut SegmentRecord,
    task: &MergeTask,
    retained: &[InputRow],
    is_closing: &AtomicBool,
) -> Result<Vec<DocumentLocation>> {
    let inputs = task.inputs.as_slice();
    let concurrency = objects.read_concurrency();
    let is_small = is_small(inputs, retained);
    let is_copied = is_copied(task, is_small)?;
    record.awaits_compression = is_copied && (!is_small || awaits_compression(inputs));
    let has_dictionary = !is_copied && (task.is_manual || !is_small);
    let dictionary = if has_dictionary { train(inputs, retained, concurrency)? } else { Vec::new() };
    write_dictionary(objects, record, &dictionary)?;
    let path = record.documents_path();
    let mut documents = DocumentWriter::for_merge(path.clone(), objects.create(&path)?, &dictionary);
    let mut locations = Vec::with_capacity(retained.len());
    for group in read_groups(inputs, retained) {
        if priority::checkpoint(is_closing) {
            return Err(Error::Closed);
        }
        task.progress.add(group.len() as u64);
        if is_copied {
            for (frame, decoded) in read_parallel(inputs, group, concurrency, Segment::frame)? {
                locations.push(documents.append_frame(&frame, decoded)?);
            }
        } else {
            let read = read_parallel(inputs, group, concurrency, Segment::document)?;
            locations.extend(documents.append_all(&read, Clone::clone)?);
        }
    }
    record.documents = documents.finish()?;
    Ok(locations)
}

/// Returns `true` if the segment of these rows will be merged again soon.
fn is_small(inputs: &[MergeInput], retained: &[InputRow]) -> bool {
    let stored: u64 = retained.iter().map(|(input, row)| inputs[*input].segment.stored_bytes(*row)).sum();
    !is_large(stored, retained.len() as u64)
}

fn awaits_compression(inputs: &[MergeInput]) -> bool {
    inputs.iter().any(|input| input.segment.awaits_compression())
}

/// Returns `true` if documents are copied as stored. Documents of young segments are copied, because they
/// will be merged again soon, and compressing them each time would cost as much as their flush. With deferred
/// compression all possible documents are copied. Copied documents are verified as a whole file here. Others
/// are verified individually, so that the merge of a damaged file succeeds if the retained documents are
/// intact.
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

/// Returns the retained rows in search order.
fn retained_rows(inputs: &[MergeInput]) -> Vec<InputRow> {
    let mut retained = Vec::new();
    for (position, input) in inputs.iter().enumerate() {
        let rows = (0..input.segment.count()).filter(|row| !input.dropped.contains(*row));
        retained.extend(rows.map(|row| (position, row as usize)));
    }
    let key = |(input, row): InputRow| {
        let segment = &inputs[input].segment;
        (std::cmp::Reverse(segment.start_time(row)), segment.trace_id(row).ok())
    };
    retained.sort_unstable_by_key(|row| key(*row));
    retained
}

/// Splits rows into groups whose documents are read together.
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

/// Calls `read` for each of `rows` and returns the results in order. Uses `concurrency` threads if reads have
/// a high latency, otherwise all cores. Adjacent rows are read by one thread, because they are in one block.
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

/// Trains a dictionary with a sample of the retained documents.
fn train(inputs: &[MergeInput], retained: &[InputRow], concurrency: usize) -> Result<Vec<u8>> {
    let size = |(input, row): &InputRow| {
        let bytes = inputs[*input].segment.document_bytes(*row);
        usize::try_from(bytes).map_or(MAX_DOCUMENT_SAMPLE_BYTES, |bytes| bytes.min(MAX_DOCUMENT_SAMPLE_BYTES))
    };
    let total: usize = retained.iter().map(size).sum();
    let (mut samples, mut sizes) = (Vec::new(), Vec::new());
    let chosen: Vec<_> = retained.iter().step_by(total.div_ceil(MAX_SAMPLE_BYTES).max(1)).copied().collect();
    for group in read_groups(inputs, &chosen) {
        for document in read_parallel(inputs, group, concurrency, Segment::document)? {
            let sample = &document[..document.len().min(MAX_DOCUMENT_SAMPLE_BYTES)];
            samples.extend_from_slice(sample);
            sizes.push(sample.len());
        }
    }
    Ok(Dictionary::train(&samples, &sizes))
}
