//! Measures Arrow IPC messages of unknown origin before a library reads them.

use arrow_ipc::root_as_message;

use crate::error::{Error, Result};

/// The number of length bytes before a compressed buffer.
const LENGTH_BYTES: usize = 8;

/// The size of a message after decompression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IpcSize {
    /// The size of its buffers in bytes.
    pub bytes: u64,
    /// The number of rows in its batch.
    pub rows: u64,
}

/// Returns the decompressed size of an Arrow IPC message, from the lengths in its compressed buffers.
/// `metadata` is the flatbuffer without its length prefix.
///
/// # Errors
/// [`Error::Decode`] if the message is malformed, or has a buffer outside of its body.
pub fn ipc_size(metadata: &[u8], body: &[u8]) -> Result<IpcSize> {
    let message = root_as_message(metadata).map_err(|error| malformed(&error.to_string()))?;
    let dictionary = message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data());
    let Some(batch) = message.header_as_record_batch().or(dictionary) else {
        return Ok(IpcSize { bytes: 0, rows: 0 });
    };
    let rows = u64::try_from(batch.length()).map_err(|_| malformed("a negative number of rows"))?;
    let mut bytes = 0_u64;
    for buffer in batch.buffers().iter().flatten() {
        let outside = || malformed("a buffer outside of its body");
        let start = usize::try_from(buffer.offset()).map_err(|_| outside())?;
        let length = usize::try_from(buffer.length()).map_err(|_| outside())?;
        let content = body.get(start..).and_then(|rest| rest.get(..length)).ok_or_else(outside)?;
        let declared = batch.compression().and_then(|_| content.first_chunk::<LENGTH_BYTES>());
        bytes = bytes.saturating_add(match declared.map(|declared| i64::from_le_bytes(*declared)) {
            // A length of -1 marks an uncompressed buffer.
            None | Some(-1) => length as u64,
            Some(declared) => {
                u64::try_from(declared).map_err(|_| malformed("a buffer of negative length"))?
            }
        });
    }
    Ok(IpcSize { bytes, rows })
}

fn malformed(reason: &str) -> Error {
    Error::Decode(format!("expected Arrow IPC: {reason}"))
}
