//! The traces that a filter matches, as the bytes of a file, in chunks.
//!
//! Parquet and Arrow contain the spans of [`super::spans`]. OTLP is a single `TracesData` message: the
//! concatenated documents, because concatenated protobuf messages merge into one. NDJSON is for people: each
//! line is a trace with its tree, as in `GET /traces/{trace_id}`.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use rayon::prelude::*;

use super::columns::span_schema;
use super::matches::{DownloadProgress, MatchingRows};
use super::spans::{GROUP_BYTES, Spans, spans};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::storage::{Snapshot, SnapshotPart};
use crate::trace::detail;

/// The maximum number of rows in a group of documents; [`GROUP_BYTES`] also limits it. The output of a group
/// stays in memory until its reader has taken it. So the groups of all downloads of a service are part of its
/// memory.
const GROUP_ROWS: usize = 4_096;
/// The approximate size of a Parquet row group in bytes. Every download holds one in memory.
const ROW_GROUP_BYTES: usize = 8 << 20;

/// The format of a downloaded file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Spans as Parquet.
    Parquet,
    /// Spans as an Arrow IPC stream.
    Arrow,
    /// Traces as JSON, one per line.
    Ndjson,
    /// An OTLP `TracesData` message as protobuf.
    Otlp,
}

impl Format {
    /// Every format with its name.
    pub const WORDS: [(&'static str, Self); 4] =
        [("parquet", Self::Parquet), ("arrow", Self::Arrow), ("ndjson", Self::Ndjson), ("otlp", Self::Otlp)];

    /// Returns the format named `word`.
    ///
    /// # Errors
    /// [`Error::Options`] if there is no such format.
    pub fn from_word(word: &str) -> Result<Self> {
        let known = Self::WORDS.iter().find(|(name, _)| *name == word).map(|(_, format)| *format);
        known.ok_or_else(|| {
            let words = Self::WORDS.map(|(name, _)| format!("`{name}`")).join(", ");
            Error::Options(format!("expected a format, one of {words}, got `{word}`"))
        })
    }
}

/// A running download: an iterator over the non-empty chunks of its file. It ends after an error.
pub struct Download {
    state: DownloadState,
    progress: DownloadProgress,
}

enum DownloadState {
    Spans(Box<Spans>, Box<SpanFile>),
    Documents(MatchingRows),
    Lines(MatchingRows),
    Done,
}

impl Download {
    /// Starts a download of the traces of `snapshot` that `filter` matches.
    ///
    /// # Errors
    /// [`Error::Storage`] if the header of the file cannot be written.
    pub fn new(snapshot: Arc<Snapshot>, filter: Filter, format: Format) -> Result<Self> {
        let state = match format {
            Format::Ndjson => DownloadState::Lines(MatchingRows::new(snapshot, filter)),
            Format::Otlp => DownloadState::Documents(MatchingRows::new(snapshot, filter)),
            Format::Parquet | Format::Arrow => {
                DownloadState::Spans(Box::new(spans(snapshot, filter)), Box::new(SpanFile::new(format)?))
            }
        };
        Ok(Self { state, progress: DownloadProgress::default() })
    }

    /// Returns the progress of the returned chunks.
    pub fn progress(&self) -> DownloadProgress {
        self.progress
    }

    fn read(&mut self) -> Result<Option<Vec<u8>>> {
        match &mut self.state {
            DownloadState::Done => Ok(None),
            DownloadState::Lines(matches) => next_lines(matches),
            DownloadState::Documents(matches) => next_documents(matches),
            DownloadState::Spans(spans, file) => next_of_file(spans, file),
        }
    }
}

/// A file of spans that is being written.
pub(super) struct SpanFile {
    sink: Sink,
    /// `None` after the end of the file.
    writer: Option<SpanWriter>,
}

enum SpanWriter {
    Parquet(Box<ArrowWriter<Sink>>),
    Arrow(Box<StreamWriter<Sink>>),
}

impl SpanFile {
    /// Starts a file.
    ///
    /// # Errors
    /// [`Error::Options`] if the rows of the format are not spans; [`Error::Storage`] if the header of the
    /// file cannot be written.
    pub(super) fn new(format: Format) -> Result<Self> {
        let sink = Sink::default();
        let writer = match format {
            Format::Parquet => {
                let properties =
                    WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default()));
                let writer = ArrowWriter::try_new(sink.clone(), span_schema(), Some(properties.build()));
                SpanWriter::Parquet(Box::new(writer.map_err(error_of)?))
            }
            Format::Arrow => {
                let writer = StreamWriter::try_new(sink.clone(), &span_schema());
                SpanWriter::Arrow(Box::new(writer.map_err(error_of)?))
            }
            Format::Ndjson | Format::Otlp => {
                return Err(Error::Options("expected `parquet` or `arrow` for a file of spans".into()));
            }
        };
        Ok(Self { sink, writer: Some(writer) })
    }

    /// Writes spans.
    ///
    /// # Errors
    /// [`Error::Storage`] if they cannot be written.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        match &mut self.writer {
            Some(SpanWriter::Parquet(open)) => {
                open.write(batch).map_err(error_of)?;
                if open.in_progress_size() >= ROW_GROUP_BYTES {
                    open.flush().map_err(error_of)?;
                }
                Ok(())
            }
            Some(SpanWriter::Arrow(open)) => open.write(batch).map_err(error_of),
            None => Ok(()),
        }
    }

    /// Writes the end of the file. Returns `false` if it was written before.
    ///
    /// # Errors
    /// [`Error::Storage`] if it cannot be written.
    pub(super) fn finish(&mut self) -> Result<bool> {
        match self.writer.take() {
            Some(SpanWriter::Parquet(writer)) => writer.close().map(drop).map_err(error_of)?,
            Some(SpanWriter::Arrow(mut writer)) => writer.finish().map_err(error_of)?,
            None => return Ok(false),
        }
        Ok(true)
    }

    /// Returns the bytes written since the last call.
    pub(super) fn take(&self) -> Vec<u8> {
        self.sink.take()
    }
}

/// Returns the next bytes of a file; `None` after its end.
fn next_of_file(spans: &mut Spans, file: &mut SpanFile) -> Result<Option<Vec<u8>>> {
    loop {
        let is_more = match spans.next() {
            Some(batch) => {
                file.write(&batch.map_err(error_of)?)?;
                true
            }
            None => file.finish()?,
        };
        let written = file.take();
        if !written.is_empty() {
            return Ok(Some(written));
        }
        if !is_more {
            return Ok(None);
        }
    }
}

impl Iterator for Download {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = self.read();
        self.progress = match &self.state {
            DownloadState::Spans(spans, _) => spans.progress(),
            DownloadState::Documents(matches) | DownloadState::Lines(matches) => matches.progress(),
            DownloadState::Done => self.progress,
        };
        if !matches!(read, Ok(Some(_))) {
            self.state = DownloadState::Done;
        }
        read.transpose()
    }
}

fn next_documents(matches: &mut MatchingRows) -> Result<Option<Vec<u8>>> {
    next_group(matches, |part, row| Ok(part.document(row)?.to_vec()))
}

fn next_lines(matches: &mut MatchingRows) -> Result<Option<Vec<u8>>> {
    next_group(matches, |part, row| {
        let mut line = Vec::new();
        detail::write_trace(&mut line, &part.trace(row)?)?;
        line.push(b'\n');
        Ok(line)
    })
}

fn next_group(
    matches: &mut MatchingRows,
    write: impl Fn(&SnapshotPart, usize) -> Result<Vec<u8>> + Sync,
) -> Result<Option<Vec<u8>>> {
    while let Some((_, part, rows)) = matches.next(GROUP_ROWS, GROUP_BYTES)? {
        let written = rows.par_iter().map(|row| write(part, *row)).collect::<Result<Vec<_>>>()?;
        if !written.is_empty() {
            return Ok(Some(written.concat()));
        }
    }
    Ok(None)
}

/// The output buffer of a format writer, which is drained in chunks.
#[derive(Debug, Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Sink {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Sink {
    fn write(&mut self, content: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(content);
        Ok(content.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the engine's own error if it caused `error`; otherwise a storage error with the writer's text.
fn error_of(error: impl std::error::Error + 'static) -> Error {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(source) = cause {
        if let Some(own) = source.downcast_ref::<Error>() {
            return own.clone();
        }
        cause = source.source();
    }
    Error::storage("the download", error)
}
