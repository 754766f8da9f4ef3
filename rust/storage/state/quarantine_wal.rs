//! Replays a damaged write-ahead log object: complete requests are kept, and the loss is recorded in the
//! manifest.

use crate::error::{Error, Result};
use crate::storage::manifest::WalQuarantineRecord;
use crate::storage::objects::Objects;
use crate::storage::options::Options;
use crate::storage::state::StoreState;
use crate::storage::wal::WalEntry;
use crate::storage::wal::salvage::salvage;

/// Returns the complete requests of the object with this number, which could not be read because of `error`,
/// and its size in bytes. With the option `recover` the loss is recorded. Without it, only an already
/// recorded loss is accepted.
///
/// # Errors
/// `error` itself if it is not damage or must not be skipped; the errors of [`salvage`].
pub(crate) fn quarantine_wal(
    objects: &dyn Objects,
    state: &mut StoreState,
    (number, error): (u64, Error),
    options: &Options,
) -> Result<(Vec<WalEntry>, u64)> {
    let Error::Damage { offset, message, .. } = &error else { return Err(error) };
    let known = state.manifest.quarantined_wal(number);
    if known.is_none() && !options.recover {
        return Err(error);
    }
    let mut found = WalQuarantineRecord {
        first: number,
        last: number,
        error: format!("byte {offset}: {message}"),
        lost: None,
        writer: known.map_or(&state.manifest.writer, |known| &known.writer).clone(),
    };
    let salvaged = salvage(objects, number, found.writer())?;
    found.lost = salvaged.lost;
    if known.is_none_or(|known| known.lost != found.lost) {
        if !options.recover {
            return Err(error);
        }
        state.manifest.quarantine_wal(found, salvaged.bytes == 0);
    }
    Ok((salvaged.entries, salvaged.bytes))
}
