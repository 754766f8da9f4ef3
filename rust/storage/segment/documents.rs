//! The documents of a segment: one zstd frame per trace, each with its own checksum and content size.
//!
//! A compacted segment has its own dictionary, which is trained on its documents only. So no dictionary
//! retains deleted data. See docs/reference/storage.md#documents.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use crossbeam_channel::bounded;
use rayon::iter::{IndexedParallelIterator as _, IntoParallelRefIterator as _, ParallelIterator as _};
use zstd::dict::{DecoderDictionary, EncoderDictionary};
use zstd::zstd_safe::{CParameter, DCtx, get_error_name, get_frame_content_size};

use crate::error::{Error, Result};
use crate::priority;
use crate::storage::manifest::FileRecord;
use crate::storage::objects::{ObjectReader, ObjectWriter};

/// The zstd level of flushed documents. Compression is most of the work of ingest. Measured with documents of
/// 7 KB: level 3 takes 1.6 times the time and saves 10% of the bytes; level 1 takes 1.3 times the time and
/// saves nothing. Merges compress the documents again.
const FLUSH_LEVEL: i32 = -1;
/// The zstd level of documents that are flushed under load. It stores them nearly uncompressed, in 1/15 of
/// the time.
const DEFERRED_LEVEL: i32 = -(1 << 17);
/// The zstd level of merged documents, which have a dictionary.
const MERGE_LEVEL: i32 = 3;

/// The maximum ratio of the decoded size of a frame to its stored size.
const MAX_RATIO: u64 = 1 << 16;

/// A compressed document, and its decoded size in bytes.
type Frame = (Vec<u8>, u64);

const TOO_LARGE: &str = "the document does not fit into memory";

/// The location of a document in its object, and its decoded size. All in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DocumentLocation {
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) decoded: u64,
}

/// Writes documents to an object, one frame each.
pub(crate) struct DocumentWriter {
    path: String,
    object: Box<dyn ObjectWriter>,
    level: i32,
    dictionary: Option<Arc<EncoderDictionary<'static>>>,
    record: FileRecord,
}

impl DocumentWriter {
    /// Returns a writer for the documents of a flush. With `is_deferred`, they are stored uncompressed.
    pub(crate) fn for_flush(path: String, object: Box<dyn ObjectWriter>, is_deferred: bool) -> Self {
        let level = if is_deferred { DEFERRED_LEVEL } else { FLUSH_LEVEL };
        Self { path, object, level, dictionary: None, record: FileRecord { bytes: 0, crc32c: 0 } }
    }

    /// Returns a writer for the documents of a merge. An empty dictionary disables dictionary compression.
    pub(crate) fn for_merge(path: String, object: Box<dyn ObjectWriter>, dictionary: &[u8]) -> Self {
        let dictionary =
            (!dictionary.is_empty()).then(|| Arc::new(EncoderDictionary::copy(dictionary, MERGE_LEVEL)));
        Self { path, object, level: MERGE_LEVEL, dictionary, record: FileRecord { bytes: 0, crc32c: 0 } }
    }

    /// Appends `document(item)` for each of `items` and returns the locations. Encodes and compresses on all
    /// cores, and writes at the same time.
    pub(crate) fn append_all<T: Sync, D: AsRef<[u8]>>(
        &mut self,
        items: &[T],
        document: impl Fn(&T) -> D + Sync,
    ) -> Result<Vec<DocumentLocation>> {
        /// The number of frames per batch. One batch is compressed while the previous one is written.
        const COMPRESSED_FRAMES: usize = 1_024;
        /// The minimum number of documents for which another compressor is created.
        const MIN_PER_COMPRESSOR: usize = 64;
        let (path, level, dictionary) = (self.path.clone(), self.level, self.dictionary.clone());
        let compress = |chunk: &[T]| {
            let frames = chunk.par_iter().with_min_len(MIN_PER_COMPRESSOR).map_init(
                || compressor(level, dictionary.as_deref()),
                |compressor, item| {
                    let document = document(item);
                    let compressor = compressor.as_mut().map_err(|error| error.to_string())?;
                    let frame = compressor.compress(document.as_ref()).map_err(|error| error.to_string())?;
                    priority::yield_cpu();
                    Ok((frame, document.as_ref().len() as u64))
                },
            );
            let frames: std::result::Result<Vec<_>, String> = priority::in_parallel(|| frames.collect());
            frames.map_err(|error| Error::storage(&path, error))
        };
        let mut chunks = items.chunks(COMPRESSED_FRAMES);
        if chunks.len() <= 1 {
            return chunks.next().map_or(Ok(Vec::new()), |chunk| self.append_frames(compress(chunk)?));
        }
        let (compressed, unwritten) = bounded(0);
        std::thread::scope(|scope| {
            let writing = scope.spawn(|| {
                let mut locations = Vec::with_capacity(items.len());
                for frames in unwritten {
                    locations.extend(self.append_frames(frames)?);
                }
                Ok(locations)
            });
            for chunk in chunks {
                // The error of the writer thread is reported when it is joined.
                if compressed.send(compress(chunk)?).is_err() {
                    break;
                }
            }
            drop(compressed);
            writing.join().unwrap_or_else(|_| Err(Error::storage(&path, "writing panicked")))
        })
    }

    /// Appends frames with the decoded sizes of their documents. Returns their locations.
    fn append_frames(&mut self, frames: Vec<Frame>) -> Result<Vec<DocumentLocation>> {
        /// The number of bytes that are combined into one write.
        const WRITTEN_BYTES: usize = 256 << 10;
        let mut locations = Vec::with_capacity(frames.len());
        let mut content = Vec::with_capacity(2 * WRITTEN_BYTES);
        for (frame, decoded) in frames {
            let offset = self.record.bytes + content.len() as u64;
            locations.push(DocumentLocation { offset, length: frame.len() as u64, decoded });
            content.extend_from_slice(&frame);
            if content.len() >= WRITTEN_BYTES {
                self.append(&content)?;
                content.clear();
            }
        }
        self.append(&content)?;
        Ok(locations)
    }

    /// Appends a frame that was compressed earlier without a dictionary. Returns its location.
    pub(crate) fn append_frame(&mut self, frame: &[u8], decoded: u64) -> Result<DocumentLocation> {
        let offset = self.record.bytes;
        self.append(frame)?;
        Ok(DocumentLocation { offset, length: frame.len() as u64, decoded })
    }

    fn append(&mut self, content: &[u8]) -> Result<()> {
        self.object.write(content)?;
        self.record.crc32c = crc32c::crc32c_append(self.record.crc32c, content);
        self.record.bytes += content.len() as u64;
        Ok(())
    }

    /// Makes the object durable.
    pub(crate) fn finish(self) -> Result<FileRecord> {
        self.object.finish()?;
        Ok(self.record)
    }
}

fn compressor<'d>(
    level: i32,
    dictionary: Option<&'d EncoderDictionary<'d>>,
) -> std::io::Result<zstd::bulk::Compressor<'d>> {
    let mut compressor = match dictionary {
        None => zstd::bulk::Compressor::new(level)?,
        Some(dictionary) => zstd::bulk::Compressor::with_prepared_dictionary(dictionary)?,
    };
    compressor.set_parameter(CParameter::ChecksumFlag(true))?;
    compressor.set_parameter(CParameter::ContentSizeFlag(true))?;
    Ok(compressor)
}

thread_local! {
    /// The context of this thread. A new context per document takes nearly half of the time of a page: 2.2 ms
    /// instead of 1.2 ms for 100 traces of 0.5 KB on two cores.
    static CONTEXT: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
    /// The read buffer of this thread.
    static FRAME: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The maximum size in bytes of the buffer that a thread keeps.
const MAX_REUSED_BYTES: usize = 1 << 20;

/// Returns the content of a frame, which has at most `capacity` bytes.
///
/// # Errors
/// The zstd error name of the damage.
fn decompress(
    frame: &[u8],
    capacity: usize,
    dictionary: Option<&Dictionary>,
) -> std::result::Result<Vec<u8>, &'static str> {
    let mut content = Vec::with_capacity(capacity);
    let outcome = CONTEXT.with_borrow_mut(|context| match dictionary {
        None => context.decompress(&mut content, frame),
        Some(Dictionary(dictionary)) => {
            context.decompress_using_ddict(&mut content, frame, dictionary.as_ddict())
        }
    });
    outcome.map(|_| content).map_err(get_error_name)
}

/// The documents of an open segment.
#[derive(Debug)]
pub(crate) struct SegmentDocuments {
    pub(crate) path: String,
    pub(crate) object: Arc<dyn ObjectReader>,
    pub(crate) dictionary: Option<Dictionary>,
}

/// The zstd dictionary of a segment.
pub(crate) struct Dictionary(DecoderDictionary<'static>);

impl Dictionary {
    pub(crate) fn new(content: &[u8]) -> Self {
        Self(DecoderDictionary::copy(content))
    }

    /// Returns a dictionary trained on the concatenated documents `samples`; empty if they are too few to be
    /// useful.
    pub(crate) fn train(samples: &[u8], sizes: &[usize]) -> Vec<u8> {
        const MAX_BYTES: usize = 112 << 10;
        const MIN_BYTES: usize = 1 << 10;
        // The dictionary is stored as well, so it must be small compared with its savings.
        let size = MAX_BYTES.min(samples.len() / 8);
        if size < MIN_BYTES {
            return Vec::new();
        }
        // Training fails if the documents have nothing in common, which is not an error.
        zstd::dict::from_continuous(samples, sizes, size).unwrap_or_default()
    }
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dictionary")
    }
}

impl SegmentDocuments {
    /// Returns the document at `location`, with its checksum verified.
    ///
    /// # Errors
    /// [`Error::Damage`] with the frame's offset, [`Error::Storage`].
    pub(crate) fn read(&self, location: DocumentLocation) -> Result<Bytes> {
        let damage = |message: String| Error::damage(&self.path, location.offset, message);
        let too_large = |_| damage(TOO_LARGE.into());
        let mut buffer = FRAME.take();
        let frame = self.read_frame(location, &mut buffer)?;
        // Checked before the allocation, so that a damaged length cannot exhaust memory.
        let is_possible = location.decoded <= location.length.saturating_mul(MAX_RATIO);
        if !is_possible
            || !matches!(get_frame_content_size(frame), Ok(Some(size)) if size == location.decoded)
        {
            return Err(damage(format!("expected a zstd frame of {} bytes", location.decoded)));
        }
        let capacity = usize::try_from(location.decoded).map_err(too_large)?;
        let content = decompress(frame, capacity, self.dictionary.as_ref());
        if buffer.len() <= MAX_REUSED_BYTES {
            FRAME.set(buffer);
        }
        content.map(Bytes::from).map_err(|name| damage(name.to_owned()))
    }

    /// Announces a read of the document at `location`, for prefetching.
    pub(crate) fn will_read(&self, location: DocumentLocation) {
        self.object.will_read(location.offset, location.length);
    }

    /// Returns the stored frame at `location`, unverified.
    ///
    /// # Errors
    /// The errors of [`SegmentDocuments::read`].
    pub(crate) fn frame(&self, location: DocumentLocation) -> Result<Vec<u8>> {
        let mut frame = Vec::new();
        self.read_frame(location, &mut frame)?;
        Ok(frame)
    }

    /// Reads the stored frame at `location`, unverified, into the start of `buffer`.
    fn read_frame<'b>(&self, location: DocumentLocation, buffer: &'b mut Vec<u8>) -> Result<&'b [u8]> {
        let damage = |message: String| Error::damage(&self.path, location.offset, message);
        let end = location.offset.checked_add(location.length);
        if end.is_none_or(|end| end > self.object.bytes()) {
            return Err(damage(format!("expected {} more bytes", location.length)));
        }
        let length = usize::try_from(location.length).map_err(|_| damage(TOO_LARGE.into()))?;
        if buffer.len() < length {
            buffer.resize(length, 0);
        }
        let frame = &mut buffer[..length];
        self.object.read_at(location.offset, frame)?;
        Ok(frame)
    }
}
