//! Writes traces as the items of a page, within the memory limit that all concurrent pages share.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use arrow_array::RecordBatch;

use crate::error::{Error, Result};
use crate::filter::{Filter, Matcher};
use crate::query::cancellation::CancellationToken;
use crate::query::matches::append_matches;
use crate::query::page::RunView;
use crate::query::pool::par_map_chunked;
use crate::semaphore::Semaphore;
use crate::storage::SnapshotPart;
use crate::trace::detail::{self, Detail};
use crate::trace::{Trace, trace_columns, write_damaged};

/// Limits the decoded document bytes of all concurrent pages.
pub(crate) static PAGE_MEMORY: Semaphore = Semaphore::new(256 << 20);

/// Documents per thread that are read in one round.
const DOCUMENTS_PER_THREAD: usize = 16;

/// Up to this total size, writing the documents on one thread is faster than waking other threads.
const MAX_INLINE_BYTES: u64 = 16 << 10;

/// Sets the process-wide limit on decoded document bytes held by concurrent pages; 256 MiB by default.
pub fn set_page_memory_limit(bytes: u64) {
    PAGE_MEMORY.set_limit(bytes);
}

/// Writes the items of a page.
pub(crate) struct ItemWriter {
    level: Detail,
    /// Finds the matches of each item, if they were requested.
    matcher: Option<Matcher>,
}

/// The items of a page.
#[derive(Debug, Default)]
pub(crate) struct Items {
    /// Each item is a JSON object.
    pub(crate) items: Vec<Vec<u8>>,
    /// The damage of the items that are marked as damaged.
    pub(crate) damage: Vec<String>,
}

impl ItemWriter {
    pub(crate) fn new(filter: &Filter, view: RunView) -> Result<Self> {
        let matcher = view.with_matches.then(|| filter.matcher()).transpose()?;
        Ok(Self { level: view.detail, matcher })
    }

    /// Returns the items of rows, each given by its part and its row there. A trace with a damaged document is marked
    /// as damaged.
    ///
    /// # Errors
    /// The errors of [`super::runs`].
    pub(crate) fn items(
        &self,
        parts: &[SnapshotPart],
        rows: &[(usize, usize)],
        cancel: &CancellationToken,
    ) -> Result<Items> {
        let bytes = total_bytes(rows.iter().map(|(part, row)| parts[*part].document_bytes(*row)))?;
        let _permit = PAGE_MEMORY.acquire(bytes, || cancel.check())?;
        let build = |(_, (part, row)): (usize, &(usize, usize))| {
            cancel.check()?;
            match parts[*part].trace(*row) {
                Ok(trace) => self.item(&trace).map(Ok),
                // Damage of one document does not affect the other traces of the page.
                Err(error @ Error::Damage { .. }) => Ok(Err(error)),
                Err(error) => Err(error),
            }
        };
        let documents: Vec<Result<Vec<u8>>> = if bytes <= MAX_INLINE_BYTES {
            rows.iter().enumerate().map(build).collect::<Result<_>>()?
        } else {
            par_map_chunked(rows, DOCUMENTS_PER_THREAD, build)?
        };
        // The batch of a segment is read once for all of its damaged traces.
        let mut batches: HashMap<usize, RecordBatch> = HashMap::new();
        let mut written = Items::default();
        for ((part, row), built) in rows.iter().zip(documents) {
            written.items.push(match built {
                Ok(item) => item,
                Err(error) => {
                    cancel.check()?;
                    let batch = match batches.entry(*part) {
                        Entry::Occupied(known) => known.into_mut(),
                        Entry::Vacant(unread) => unread.insert(parts[*part].batch()?),
                    };
                    written.damage.push(error.to_string());
                    damaged_item(batch, *row, self.level).ok_or(error)?
                }
            });
        }
        Ok(written)
    }

    fn item(&self, trace: &Trace) -> Result<Vec<u8>> {
        let mut item = item(trace, self.level)?;
        if let Some(matcher) = &self.matcher {
            append_matches(&mut item, &matcher.matches(trace)?);
        }
        Ok(item)
    }
}

/// Returns a trace as JSON.
pub(crate) fn item(trace: &Trace, level: Detail) -> Result<Vec<u8>> {
    let mut item = Vec::new();
    match level {
        Detail::Full => {
            // The JSON of a trace is about twice as long as its spans.
            item.reserve(2 * trace.spans().iter().map(|span| span.wire.bytes.len()).sum::<usize>());
            detail::write_trace(&mut item, trace)?;
        }
        Detail::Summary => detail::write_summary(&mut item, trace)?,
        Detail::Preview => detail::write_preview(&mut item, trace)?,
        Detail::Skeleton => trace_columns::write_skeleton(&mut item, trace)?,
    }
    Ok(item)
}

/// Returns a trace with a damaged document as JSON, from its row.
pub(crate) fn damaged_item(batch: &RecordBatch, row: usize, level: Detail) -> Option<Vec<u8>> {
    let mut item = Vec::new();
    write_damaged(&mut item, batch, row, level).then_some(item)
}

/// Returns the total size of the documents of a page, in bytes.
///
/// # Errors
/// [`Error::TooLarge`] if they exceed [`set_page_memory_limit`]. The message names a limit that fits.
pub(crate) fn total_bytes(documents: impl Iterator<Item = u64>) -> Result<u64> {
    let (mut bytes, max) = (0_u64, PAGE_MEMORY.limit());
    for (fitting, document) in documents.enumerate() {
        bytes = bytes.saturating_add(document);
        // A single document always fits: the limits on spans bound it, and no smaller page could be requested.
        if bytes > max && fitting > 0 {
            return Err(Error::TooLarge(format!(
                "the traces of this page exceed {} MiB; a limit of {fitting} fits",
                max >> 20
            )));
        }
    }
    Ok(bytes)
}
