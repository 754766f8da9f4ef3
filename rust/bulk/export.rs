//! What a filter matches as the bytes of a file, piece by piece.
//!
//! Parquet and Arrow hold spans as [`super::spans`] gives them. OTLP is one `TracesData` message: the
//! documents behind one another, for messages that follow each other are one. NDJSON is for reading: a
//! line is a trace with its tree, as `GET /traces/{trace_id}` answers.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_ipc::writer::StreamWriter;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use rayon::prelude::*;

use super::columns::span_schema;
use super::matches::Matches;
use super::spans::{Spans, spans};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::storage::{Snapshot, SnapshotPart};
use crate::trace::detail;

/// Documents are read together until they have so many bytes, or are so many.
const GROUP_BYTES: u64 = 16 << 20;
const GROUP_ROWS: usize = 4_096;
/// A row group of Parquet ends at about so many bytes.
const ROW_GROUP_BYTES: usize = 32 << 20;

/// The form of an exported file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Spans as Parquet.
    Parquet,
    /// Spans as a stream of Arrow IPC.
    Arrow,
    /// Traces as JSON, one a line.
    Ndjson,
    /// An OTLP `TracesData` message in protobuf.
    Otlp,
}

impl Format {
    /// Every format, with the word for it.
    pub const WORDS: [(&'static str, Self); 4] =
        [("parquet", Self::Parquet), ("arrow", Self::Arrow), ("ndjson", Self::Ndjson), ("otlp", Self::Otlp)];

    /// Returns the format that `word` names.
    ///
    /// # Errors
    /// [`Error::Options`] if it names none.
    pub fn from_word(word: &str) -> Result<Self> {
        let known = Self::WORDS.iter().find(|(name, _)| *name == word).map(|(_, format)| *format);
        known.ok_or_else(|| {
            let words = Self::WORDS.map(|(name, _)| format!("`{name}`")).join(", ");
            Error::Options(format!("expected a format, one of {words}, got `{word}`"))
        })
    }
}

/// An export under way: an iterator over the pieces of its file, none empty. After a failure there are
/// no more.
pub struct Export {
    state: State,
}

enum State {
    Parquet(Box<Spans>, Sink, Option<Box<ArrowWriter<Sink>>>),
    Arrow(Box<Spans>, Sink, Option<Box<StreamWriter<Sink>>>),
    Documents(Matches),
    Lines(Matches),
    Over,
}

impl Export {
    /// Begins to export the traces of `snapshot` that `filter` matches.
    ///
    /// # Errors
    /// [`Error::Storage`] if a file cannot be begun.
    pub fn new(snapshot: Arc<Snapshot>, filter: Filter, format: Format) -> Result<Self> {
        let sink = Sink::default();
        let state = match format {
            Format::Ndjson => State::Lines(Matches::new(snapshot, filter)),
            Format::Otlp => State::Documents(Matches::new(snapshot, filter)),
            Format::Parquet => {
                let properties =
                    WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default()));
                let writer = ArrowWriter::try_new(sink.clone(), span_schema(), Some(properties.build()));
                State::Parquet(
                    Box::new(spans(snapshot, filter)),
                    sink,
                    Some(Box::new(writer.map_err(failed)?)),
                )
            }
            Format::Arrow => {
                let writer = StreamWriter::try_new(sink.clone(), &span_schema()).map_err(failed)?;
                State::Arrow(Box::new(spans(snapshot, filter)), sink, Some(Box::new(writer)))
            }
        };
        Ok(Self { state })
    }

    fn read(&mut self) -> Result<Option<Vec<u8>>> {
        match &mut self.state {
            State::Over => Ok(None),
            State::Lines(matches) => lines(matches),
            State::Documents(matches) => documents(matches),
            State::Parquet(spans, sink, writer) => until_written(sink, || write_parquet(spans, writer)),
            State::Arrow(spans, sink, writer) => until_written(sink, || write_arrow(spans, writer)),
        }
    }
}

/// Writes one batch, or the end; returns whether there was anything left to write.
fn write_parquet(spans: &mut Spans, writer: &mut Option<Box<ArrowWriter<Sink>>>) -> Result<bool> {
    let Some(open) = writer else { return Ok(false) };
    if let Some(batch) = spans.next() {
        open.write(&batch.map_err(failed)?).map_err(failed)?;
        if open.in_progress_size() >= ROW_GROUP_BYTES {
            open.flush().map_err(failed)?;
        }
    } else if let Some(writer) = writer.take() {
        writer.close().map_err(failed)?;
    }
    Ok(true)
}

/// Likewise.
fn write_arrow(spans: &mut Spans, writer: &mut Option<Box<StreamWriter<Sink>>>) -> Result<bool> {
    let Some(open) = writer else { return Ok(false) };
    if let Some(batch) = spans.next() {
        open.write(&batch.map_err(failed)?).map_err(failed)?;
    } else {
        open.finish().map_err(failed)?;
        *writer = None;
    }
    Ok(true)
}

impl Iterator for Export {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = self.read();
        if !matches!(read, Ok(Some(_))) {
            self.state = State::Over;
        }
        read.transpose()
    }
}

/// Works until something was written; `None` if there is nothing left to do.
fn until_written(sink: &Sink, mut work: impl FnMut() -> Result<bool>) -> Result<Option<Vec<u8>>> {
    loop {
        let is_more = work()?;
        let written = sink.take();
        if !written.is_empty() {
            return Ok(Some(written));
        }
        if !is_more {
            return Ok(None);
        }
    }
}

fn documents(matches: &mut Matches) -> Result<Option<Vec<u8>>> {
    group(matches, |part, row| Ok(part.document(row)?.to_vec()))
}

fn lines(matches: &mut Matches) -> Result<Option<Vec<u8>>> {
    group(matches, |part, row| {
        let mut line = Vec::new();
        detail::write_trace(&mut line, &part.trace(row)?)?;
        line.push(b'\n');
        Ok(line)
    })
}

fn group(
    matches: &mut Matches,
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

/// Where a writer of a format leaves its bytes, and where they are fetched.
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

/// Returns what failed: what the engine met, or else what a writer said.
fn failed(fault: impl std::error::Error + 'static) -> Error {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&fault);
    while let Some(met) = cause {
        if let Some(own) = met.downcast_ref::<Error>() {
            return own.clone();
        }
        cause = met.source();
    }
    Error::storage("the export", fault)
}
