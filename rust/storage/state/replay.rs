//! Replaying the write-ahead log into a state.

use std::sync::Arc;

use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use crate::error::{Error, Result};
use crate::otlp::fragment::fragments_of;
use crate::otlp::{TraceId, wire};
use crate::storage::objects::Objects;
use crate::storage::options::Options;
use crate::storage::state::merge_spans::{GroupedRequest, TraceLimits, merge_group};
use crate::storage::state::quarantine_wal::quarantine_wal;
use crate::storage::state::{StoreState, changed_traces};
use crate::storage::wal::{self, WalEntry};
use crate::trace::Span;

/// The approximate size in bytes of the groups in which replayed requests are merged.
pub(crate) const GROUP_BYTES: usize = 16 << 20;

/// Merges the WAL objects after those in `state`, up to object `last`. With the option `recover`, damaged
/// objects are quarantined.
///
/// # Errors
/// [`Error::Damage`], [`Error::Options`] for a newer format, [`Error::Storage`].
pub(crate) fn replay(
    objects: &dyn Objects,
    state: &mut StoreState,
    last: u64,
    options: &Options,
) -> Result<()> {
    let (mut entries, mut group_bytes, mut object_bytes) = (Vec::new(), 0, 0);
    let numbers: Vec<u64> = (state.open_generation().wal_through + 1..=last).collect();
    let batches = numbers.chunks(objects.read_concurrency());
    let read = batches.flat_map(|batch| batch.iter().copied().zip(wal::read_together(objects, batch)));
    for (number, read) in read {
        let (found, bytes) = match read {
            Ok((object, bytes)) => {
                if object.entries.is_empty() {
                    state.fences.insert(number);
                }
                (object.entries, bytes)
            }
            Err(error) => quarantine_wal(objects, state, (number, error), options)?,
        };
        object_bytes += bytes;
        options.progress.add(1);
        for entry in found {
            group_bytes += entry.spans.len();
            entries.push((number, entry));
        }
        if group_bytes < GROUP_BYTES && number < last {
            continue;
        }
        let requests = std::mem::take(&mut entries).into_par_iter();
        let requests = requests.map(|(number, entry)| decode_entry(number, entry)).collect::<Result<_>>()?;
        apply_durable(state, requests, number, object_bytes)?;
        (group_bytes, object_bytes) = (0, 0);
        let open = state.open_generation();
        if number < last && open.is_large(options) {
            state.rotate();
        }
    }
    Ok(())
}

/// Merges requests into `state` that are durable in the next WAL objects up to `last`, which have `bytes`
/// bytes together. Returns the changed traces.
///
/// # Errors
/// [`Error::Damage`] or [`Error::Storage`] of a stored trace that cannot be read; `state` is then unchanged.
pub(crate) fn apply_durable(
    state: &mut StoreState,
    requests: Vec<GroupedRequest>,
    last: u64,
    bytes: u64,
) -> Result<Vec<TraceId>> {
    // The limits were enforced at acceptance, and may have been different then.
    let merged = merge_group(state, requests, TraceLimits::NONE);
    merged.outcomes.into_iter().try_for_each(|outcome| outcome.map(drop))?;
    let changed = changed_traces(&merged.updates);
    state.apply(merged.updates, last, bytes);
    Ok(changed)
}

/// Decodes the entry of one request in the WAL object with this number.
///
/// # Errors
/// [`Error::Damage`].
pub(crate) fn decode_entry(number: u64, entry: WalEntry) -> Result<GroupedRequest> {
    let damage = |error: Error| Error::damage(wal::path(number), 0, error.to_string());
    let fragments = fragments_of(&entry.spans).map_err(damage)?;
    let spans = wire::split(entry.spans.clone()).map_err(damage)?;
    let spans = spans.into_iter().map(|span| Span::from_wire(span).map(Arc::new));
    let spans = spans.collect::<Result<Vec<_>>>().map_err(damage)?;
    Ok(GroupedRequest::new(entry.received, spans, fragments, entry.spans))
}
