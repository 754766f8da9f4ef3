//! Reading documents for their indexes.
//!
//! The rows are read in parts, one for each core, and what is collected of the parts is put together. A thread that reads a trace
//! also collects what indexes have of it, and drops it. When traces were read by one thread, collected by a second one and
//! dropped by a third, a third of the work was to free memory that other threads had allocated long before.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Builders;
use crate::error::{Error, Result};
use crate::priority;
use crate::storage::options::{IndexKind, Indexing};
use crate::trace::Trace;

/// Documents of fewer bytes are read by one thread.
const PART_BYTES: u64 = 1 << 20;
/// After so many rows it is asked whether to go on.
const ROWS_PER_CHECK: usize = 64;

/// Collects what is made of the traces that `read` returns for the rows; `None` is a document that cannot be read. `sizes` are
/// those of their documents in bytes. What takes too much memory is left out.
///
/// # Errors
/// [`Error::Cancelled`], or what `read` fails with.
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

/// Divides rows whose documents have these sizes into at most `count` parts that are about as large.
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

/// Has all parts read at once, the first one by this thread, which alone asks whether to go on. Returns what they give.
///
/// # Errors
/// What a part fails with; the others are told to end.
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
    // What a part failed with says more than that the others were told to end.
    let is_failure = |outcome: &Result<T>| !matches!(outcome, Ok(_) | Err(Error::Cancelled));
    match outcomes.iter().position(is_failure) {
        Some(failed) => outcomes.swap_remove(failed).map(|part| vec![part]),
        None => outcomes.into_iter().collect(),
    }
}

/// Collects what is made of some rows, unless `is_ended` returns true meanwhile.
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
