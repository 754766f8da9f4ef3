//! Reads documents for index builds.
//!
//! The rows are divided into one part per core, and the collected parts are joined. Each thread reads a
//! trace, adds it to the indexes, and drops it. With separate threads for reading, collecting and dropping, a
//! third of the time went to freeing memory that other threads had allocated.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Builders;
use crate::error::{Error, Result};
use crate::priority;
use crate::storage::options::{IndexKind, Indexing};
use crate::trace::Trace;

/// Documents of fewer bytes are read by one thread.
const PART_BYTES: u64 = 1 << 20;
/// The number of rows between two checks for cancellation.
const ROWS_PER_CHECK: usize = 64;

/// Collects the indexes of the traces that `read` returns for the rows; `None` is an unreadable document.
/// `sizes` are the sizes of the documents in bytes. An index that takes too much memory is omitted.
///
/// # Errors
/// [`Error::Cancelled`], or an error of `read`.
pub(in crate::storage) fn read_documents(
    sizes: &[u64],
    indexing: &Indexing,
    read: impl Fn(usize) -> Result<Option<Trace>> + Sync,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<Builders> {
    if indexing.kinds.is_empty() || sizes.is_empty() {
        return Ok(Builders::of(indexing));
    }
    let parts = parts(sizes, priority::POOL.current_num_threads());
    let share = indexing.max_bytes / parts.len() as u64;
    let of_part = Indexing { kinds: indexing.kinds.clone(), max_bytes: share };
    let collected =
        read_parts(&parts, is_cancelled, |rows, is_ended| collect(rows, &of_part, &read, is_ended));
    let mut is_known = true;
    let mut whole = Builders::default();
    for (number, part) in collected?.into_iter().enumerate() {
        if number == 0 {
            whole = part;
        } else {
            is_known &= whole.append(part);
        }
    }
    if !is_known {
        let attributes = Indexing { kinds: vec![IndexKind::Attributes], max_bytes: indexing.max_bytes };
        whole.attributes = collect(0..sizes.len(), &attributes, &read, is_cancelled)?.attributes;
    }
    Ok(whole)
}

/// Divides rows with these document sizes into at most `count` parts of similar size.
fn parts(sizes: &[u64], count: usize) -> Vec<Range<usize>> {
    let of_part = PART_BYTES.max(sizes.iter().sum::<u64>().div_ceil(count.max(1) as u64));
    let (mut parts, mut start, mut bytes) = (Vec::new(), 0, 0);
    for (row, size) in sizes.iter().enumerate() {
        bytes += size;
        if bytes >= of_part || row + 1 == sizes.len() {
            parts.push(start..row + 1);
            (start, bytes) = (row + 1, 0);
        }
    }
    parts
}

/// Reads all parts in parallel. The current thread reads the first one, and alone checks for cancellation.
/// Returns the results.
///
/// # Errors
/// The error of a part; the other parts are cancelled.
fn read_parts<T: Send>(
    parts: &[Range<usize>],
    is_cancelled: &dyn Fn() -> bool,
    read: impl Fn(Range<usize>, &dyn Fn() -> bool) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let is_ended = AtomicBool::new(false);
    let read = |rows: &Range<usize>, is_cancelled: &dyn Fn() -> bool| {
        let outcome = read(rows.clone(), &|| is_ended.load(Ordering::Relaxed) || is_cancelled());
        is_ended.fetch_or(outcome.is_err(), Ordering::Relaxed);
        Some(outcome)
    };
    let mut outcomes: Vec<Option<Result<T>>> = parts.iter().map(|_| None).collect();
    priority::POOL.in_place_scope(|scope| {
        let mut work = parts.iter().zip(&mut outcomes);
        let own = work.next();
        for (rows, outcome) in work {
            scope.spawn(|_| *outcome = read(rows, &|| false));
        }
        if let Some((rows, outcome)) = own {
            *outcome = read(rows, is_cancelled);
        }
    });
    let mut outcomes: Vec<Result<T>> = outcomes.into_iter().flatten().collect();
    // The error of a failed part takes precedence over the cancellation of the others.
    let is_failure = |outcome: &Result<T>| !matches!(outcome, Ok(_) | Err(Error::Cancelled));
    match outcomes.iter().position(is_failure) {
        Some(failed) => outcomes.swap_remove(failed).map(|part| vec![part]),
        None => outcomes.into_iter().collect(),
    }
}

/// Collects the indexes of some rows, unless `is_ended` returns true meanwhile.
fn collect(
    rows: Range<usize>,
    indexing: &Indexing,
    read: &impl Fn(usize) -> Result<Option<Trace>>,
    is_ended: &dyn Fn() -> bool,
) -> Result<Builders> {
    let mut builders = Builders::of(indexing);
    for row in rows {
        if builders.is_empty() {
            break;
        }
        if row.is_multiple_of(ROWS_PER_CHECK) && is_ended() {
            return Err(Error::Cancelled);
        }
        builders.add(row, read(row)?);
        priority::yield_cpu();
    }
    builders.pack();
    Ok(builders)
}
