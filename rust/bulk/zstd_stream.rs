//! Decompresses streams of zstd.

use zstd::stream::raw::{Decoder, Operation as _};

use crate::error::{Error, Result};

/// The number of bytes at the start of a frame.
const BEGIN_BYTES: usize = 5;

/// Decompresses consecutive zstd frames in chunks. A frame with a window over 128 MiB is an error.
pub struct ZstdDecoder {
    decoder: Decoder<'static>,
    /// The number of bytes until the end of the current block.
    next_bytes: usize,
    damage: Option<Error>,
}

impl ZstdDecoder {
    /// Returns a decoder at the start of a frame.
    ///
    /// # Errors
    /// [`Error::Decode`] if there is not enough memory.
    pub fn new() -> Result<Self> {
        let decoder = Decoder::new().map_err(|error| damaged(&error))?;
        Ok(Self { decoder, next_bytes: BEGIN_BYTES, damage: None })
    }

    /// Returns up to `max_bytes` of content, the number of consumed bytes of `data`, and `true` at the end of
    /// a frame.
    ///
    /// # Errors
    /// [`Error::Decode`] if the stream is damaged. The content before the damage is returned first.
    pub fn decompress(&mut self, data: &[u8], max_bytes: usize) -> Result<(Vec<u8>, usize, bool)> {
        if let Some(damage) = self.damage.take() {
            return Err(damage);
        }
        let mut content = vec![0; max_bytes];
        let (mut read, mut length) = (0, 0);
        loop {
            // Blocks are decompressed one by one, because a call that finds damage drops the blocks before
            // it.
            let rest = &data[read..];
            let block = &rest[..rest.len().min(self.next_bytes)];
            let status = match self.decoder.run_on_buffers(block, &mut content[length..]) {
                Ok(status) => status,
                Err(error) if length == 0 => return Err(damaged(&error)),
                Err(error) => {
                    self.damage = Some(damaged(&error));
                    content.truncate(length);
                    return Ok((content, read, false));
                }
            };
            (read, length) = (read + status.bytes_read, length + status.bytes_written);
            let is_end = status.remaining == 0;
            self.next_bytes = if is_end { BEGIN_BYTES } else { status.remaining };
            let is_idle = status.bytes_read == 0 && status.bytes_written == 0;
            if is_end || is_idle || length == max_bytes {
                content.truncate(length);
                return Ok((content, read, is_end));
            }
        }
    }
}

fn damaged(error: &std::io::Error) -> Error {
    Error::Decode(error.to_string())
}
