//! The documents of a segment: one zstd frame per trace, each with its own checksum and content size.
//!
//! Once compacted, a segment has a dictionary of its own, trained from these documents and no others:
//! so what is deleted lives on in no dictionary.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use rayon::iter::{IndexedParallelIterator as _, IntoParallelRefIterator as _, ParallelIterator as _};
use zstd::dict::DecoderDictionary;
use zstd::zstd_safe::{CParameter, get_frame_content_size};

use crate::error::{Error, Result};
use crate::storage::manifest::FileRecord;
use crate::storage::objects::{ObjectReader, ObjectWriter};
use crate::storage::priority;

/// The level of zstd at which documents are sealed, which is most of the work of ingest. By measurement, of
/// documents of 7 KB: level 3 takes 1.6 times as long for a tenth fewer bytes, level 1 takes 1.3 times as
/// long for the same. What grows old is merged, and then compressed again.
const SEALING_LEVEL: i32 = -1;
/// The level at which they are sealed under pressure: frames of what they are, which takes a fifteenth of the time.
const STORING_LEVEL: i32 = -(1 << 17);
/// The level at which they are merged, with a dictionary.
const MERGING_LEVEL: i32 = 3;

/// No zstd frame decodes to more than this many times its own size.
const MAX_RATIO: u64 = 1 << 16;

const TOO_LARGE: &str = "the document does not fit into memory";

/// Where a document stands, and how large it is once decoded. All in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) decoded: u64,
}

/// Appends frames to an object.
pub(crate) struct DocumentWriter {
    path: String,
    object: Box<dyn ObjectWriter>,
    level: i32,
    compressor: zstd::bulk::Compressor<'static>,
    record: FileRecord,
}

impl DocumentWriter {
    /// Begins with an empty object, for documents that are sealed; in a hurry they are not compressed.
    pub(crate) fn sealing(path: String, object: Box<dyn ObjectWriter>, is_hurried: bool) -> Result<Self> {
        let level = if is_hurried { STORING_LEVEL } else { SEALING_LEVEL };
        Self::new(path, object, level, &[])
    }

    /// Begins with an empty object, for documents that are merged; an empty dictionary is none.
    pub(crate) fn merging(path: String, object: Box<dyn ObjectWriter>, dictionary: &[u8]) -> Result<Self> {
        Self::new(path, object, MERGING_LEVEL, dictionary)
    }

    fn new(path: String, object: Box<dyn ObjectWriter>, level: i32, dictionary: &[u8]) -> Result<Self> {
        let compressor = compressor(level, dictionary).map_err(|fault| Error::storage(&path, fault))?;
        Ok(Self { path, object, level, compressor, record: FileRecord { bytes: 0, crc32c: 0 } })
    }

    /// Appends a document and returns its place.
    pub(crate) fn append(&mut self, document: &[u8]) -> Result<Place> {
        let frame = self.compressor.compress(document).map_err(|fault| Error::storage(&self.path, fault))?;
        self.append_frame(&frame, document.len() as u64)
    }

    /// Appends the documents that `document` makes of `things`, on all cores, and returns their places.
    /// For documents that are sealed.
    pub(crate) fn append_all<T: Sync>(
        &mut self,
        things: &[T],
        document: impl Fn(&T) -> Vec<u8> + Sync,
    ) -> Result<Vec<Place>> {
        /// So many frames are held before they are written.
        const HELD: usize = 2_048;
        /// A compressor is worth making for so many.
        const PER_COMPRESSOR: usize = 64;
        let level = self.level;
        let mut places = Vec::with_capacity(things.len());
        for held in things.chunks(HELD) {
            let frames = held.par_iter().with_min_len(PER_COMPRESSOR).map_init(
                || compressor(level, &[]),
                |compressor, thing| {
                    let document = document(thing);
                    let compressor = compressor.as_mut().map_err(|fault| fault.to_string())?;
                    let frame = compressor.compress(&document).map_err(|fault| fault.to_string())?;
                    Ok((frame, document.len() as u64))
                },
            );
            let frames: std::result::Result<Vec<_>, String> = priority::POOL.install(|| frames.collect());
            for (frame, decoded) in frames.map_err(|fault| Error::storage(&self.path, fault))? {
                places.push(self.append_frame(&frame, decoded)?);
            }
        }
        Ok(places)
    }

    /// Appends a document as it was compressed before, without a dictionary; returns its place.
    pub(crate) fn append_frame(&mut self, frame: &[u8], decoded: u64) -> Result<Place> {
        self.object.write(frame)?;
        let offset = self.record.bytes;
        self.record.crc32c = crc32c::crc32c_append(self.record.crc32c, frame);
        self.record.bytes += frame.len() as u64;
        Ok(Place { offset, length: frame.len() as u64, decoded })
    }

    /// Makes the object durable.
    pub(crate) fn finish(self) -> Result<FileRecord> {
        self.object.finish()?;
        Ok(self.record)
    }
}

fn compressor(level: i32, dictionary: &[u8]) -> std::io::Result<zstd::bulk::Compressor<'static>> {
    let mut compressor = zstd::bulk::Compressor::with_dictionary(level, dictionary)?;
    compressor.set_parameter(CParameter::ChecksumFlag(true))?;
    compressor.set_parameter(CParameter::ContentSizeFlag(true))?;
    Ok(compressor)
}

/// Reads frames at their places.
#[derive(Debug)]
pub(crate) struct Documents {
    pub(crate) path: String,
    pub(crate) object: Arc<dyn ObjectReader>,
    pub(crate) dictionary: Option<Dictionary>,
}

/// What the frames of a segment have in common.
pub(crate) struct Dictionary(DecoderDictionary<'static>);

impl Dictionary {
    pub(crate) fn new(content: &[u8]) -> Self {
        Self(DecoderDictionary::copy(content))
    }

    /// Learns from documents that follow each other in `samples`; empty if there is too little to learn.
    pub(crate) fn train(samples: &[u8], sizes: &[usize]) -> Vec<u8> {
        const LARGEST: usize = 112 << 10;
        const SMALLEST: usize = 1 << 10;
        // A dictionary is stored too: it must cost little of what it can save.
        let size = LARGEST.min(samples.len() / 8);
        if size < SMALLEST {
            return Vec::new();
        }
        // Documents that have nothing in common teach nothing, which is no fault.
        zstd::dict::from_continuous(samples, sizes, size).unwrap_or_default()
    }
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dictionary")
    }
}

impl Documents {
    /// Returns the document at `place`; its checksum is verified.
    ///
    /// # Errors
    /// [`Error::Damage`] naming the frame's offset, [`Error::Storage`].
    pub(crate) fn read(&self, place: Place) -> Result<Bytes> {
        let damage = |message: String| Error::damage(&self.path, place.offset, message);
        let too_large = |_| damage(TOO_LARGE.into());
        let frame = self.frame(place)?;
        // Asked before anything is allocated: a damaged length must not cost memory.
        let is_possible = place.decoded <= place.length.saturating_mul(MAX_RATIO);
        if !is_possible || !matches!(get_frame_content_size(&frame), Ok(Some(size)) if size == place.decoded)
        {
            return Err(damage(format!("expected a zstd frame of {} bytes", place.decoded)));
        }
        let capacity = usize::try_from(place.decoded).map_err(too_large)?;
        let document = match &self.dictionary {
            None => zstd::bulk::decompress(&frame, capacity),
            Some(Dictionary(dictionary)) => zstd::bulk::Decompressor::with_prepared_dictionary(dictionary)
                .and_then(|mut decompressor| decompressor.decompress(&frame, capacity)),
        };
        document.map(Bytes::from).map_err(|fault| damage(fault.to_string()))
    }

    /// Returns the document at `place` as it is stored, unverified.
    ///
    /// # Errors
    /// As [`Documents::read`].
    pub(crate) fn frame(&self, place: Place) -> Result<Vec<u8>> {
        let damage = |message: String| Error::damage(&self.path, place.offset, message);
        let end = place.offset.checked_add(place.length);
        if end.is_none_or(|end| end > self.object.bytes()) {
            return Err(damage(format!("expected {} more bytes", place.length)));
        }
        let length = usize::try_from(place.length).map_err(|_| damage(TOO_LARGE.into()))?;
        let mut frame = vec![0; length];
        self.object.read_at(place.offset, &mut frame)?;
        Ok(frame)
    }

    /// Reads the whole object against its record.
    ///
    /// # Errors
    /// [`Error::Damage`], [`Error::Storage`].
    pub(crate) fn verify(&self, record: FileRecord) -> Result<()> {
        verify_file(&self.path, self.object.as_ref(), record)
    }
}

/// Compares an object with its record, reading it piece by piece.
fn verify_file(path: &str, object: &dyn ObjectReader, record: FileRecord) -> Result<()> {
    const PIECE: usize = 1 << 20;
    verify_size(path, object, record)?;
    let (mut offset, mut checksum, mut piece) = (0, 0, vec![0; PIECE]);
    while offset < record.bytes {
        let length = usize::try_from(record.bytes - offset).map_or(PIECE, |rest| rest.min(PIECE));
        object.read_at(offset, &mut piece[..length])?;
        checksum = crc32c::crc32c_append(checksum, &piece[..length]);
        offset += length as u64;
    }
    if checksum == record.crc32c {
        return Ok(());
    }
    Err(Error::damage(path, 0, "the content does not match the checksum in the manifest"))
}

/// Compares an object's size with its record.
pub(crate) fn verify_size(path: &str, object: &dyn ObjectReader, record: FileRecord) -> Result<()> {
    if object.bytes() == record.bytes {
        return Ok(());
    }
    let offset = object.bytes().min(record.bytes);
    Err(Error::damage(path, offset, format!("expected {} bytes, found {}", record.bytes, object.bytes())))
}

/// Reads a whole object against its record.
///
/// # Errors
/// [`Error::Damage`], [`Error::Storage`].
pub(crate) fn read_file(path: &str, object: &dyn ObjectReader, record: FileRecord) -> Result<Bytes> {
    verify_size(path, object, record)?;
    let too_large = |_| Error::damage(path, 0, "the object does not fit into memory");
    let mut content = vec![0; usize::try_from(record.bytes).map_err(too_large)?];
    object.read_at(0, &mut content)?;
    if FileRecord::of(&content) == record {
        return Ok(content.into());
    }
    Err(Error::damage(path, 0, "the content does not match the checksum in the manifest"))
}
