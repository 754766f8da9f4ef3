//! Joins Arrow streams of spans, such as the streams of several shards, into one file.

use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;

use super::download::{Format, SpanFile};
use crate::error::{Error, Result};

/// Reads streams one after another and writes their batches to one file.
pub struct SpanFileJoiner {
    decoder: StreamDecoder,
    file: SpanFile,
}

impl SpanFileJoiner {
    /// Starts a file.
    ///
    /// # Errors
    /// [`Error::Options`] if the rows of the format are not spans; [`Error::Storage`] if the header of the
    /// file cannot be written.
    pub fn new(format: Format) -> Result<Self> {
        Ok(Self { decoder: StreamDecoder::new(), file: SpanFile::new(format)? })
    }

    /// Reads a chunk of the current stream. Returns the next bytes of the file, which may be empty.
    ///
    /// # Errors
    /// [`Error::Decode`] if the stream is malformed; [`Error::Storage`] if the file cannot be written.
    pub fn add(&mut self, chunk: &[u8]) -> Result<Vec<u8>> {
        let mut chunk = Buffer::from(chunk.to_vec());
        while !chunk.is_empty() {
            if let Some(batch) = self.decoder.decode(&mut chunk).map_err(invalid)? {
                self.file.write(&batch)?;
            }
        }
        Ok(self.file.take())
    }

    /// Ends the current stream. Another stream may follow.
    ///
    /// # Errors
    /// [`Error::Decode`] if the stream is incomplete.
    pub fn end_stream(&mut self) -> Result<()> {
        let mut ended = std::mem::take(&mut self.decoder);
        ended.finish().map_err(invalid)
    }

    /// Ends the file. Returns the rest of it.
    ///
    /// # Errors
    /// [`Error::Storage`] if the file cannot be written.
    pub fn finish(&mut self) -> Result<Vec<u8>> {
        self.file.finish()?;
        Ok(self.file.take())
    }
}

fn invalid(error: impl std::fmt::Display) -> Error {
    Error::Decode(format!("expected an Arrow stream of spans: {error}"))
}
