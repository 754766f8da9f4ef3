//! Backup: copies a store while another process writes to it.
//!
//! The copy is one consistent state of the store. It contains everything that was acknowledged before the
//! backup began:
//!
//! 1. Read the newest manifest. It names every segment, and the WAL checkpoint: segments contain the WAL up
//!    to this number. Objects never change.
//! 2. Open the files of the segments. Only then list and read the WAL after the checkpoint. Everything
//!    acknowledged before the listing is in the WAL or in the segments.
//! 3. A writer deletes an object only after a newer manifest is durable. If an object is missing and a newer
//!    manifest exists, the backup restarts with that manifest. Without a newer manifest, the missing object
//!    is damage. Open objects stay readable, so later deletions do no harm.
//! 4. Write and verify everything, and write the manifest last. Without a manifest an unfinished copy cannot
//!    be opened as a store.

use std::fs;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::storage::manifest::{self, FileRecord, INDEXES, Manifest, SegmentRecord};
use crate::storage::objects::location::StoreLocation;
use crate::storage::objects::{ObjectReader, Objects, PutOutcome, PutPayload, put_verified};
use crate::storage::options::Options;
use crate::storage::segment::verify::verify_size;
use crate::storage::wal;

/// The result of a backup.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct BackupReport {
    /// The number of the copied manifest.
    pub manifest: u64,
    /// The number of segments. Quarantined segments are not copied.
    pub segments: u64,
    /// The number of WAL objects after the checkpoint.
    pub wal_objects: u64,
    /// The last WAL number in the backup. Everything acknowledged up to it is included.
    pub wal_through: u64,
    /// The number of index objects.
    pub indexes: u64,
    /// The number of copied bytes.
    pub bytes: u64,
}

/// Copies the store in `source` to `target`, a bucket or a folder that is created if missing. With `indexes`,
/// index objects are copied too. A missing or damaged one is skipped because it can be rebuilt. `progress`
/// counts the bytes that are read from `source`.
///
/// # Errors
/// [`Error::Damage`] found in the source, [`Error::Options`] if there is no store or `target` is not empty,
/// [`Error::Busy`] if the store changes faster than it can be read, [`Error::Storage`].
pub(crate) fn backup(
    source: &dyn Objects,
    target: &StoreLocation,
    indexes: bool,
    progress: &Progress,
) -> Result<BackupReport> {
    const MAX_TRIES: usize = 64;
    expect_empty(target)?;
    for _ in 0..MAX_TRIES {
        let newest = Manifest::newest_of_store(source)?;
        progress.begin(newest.segments.iter().map(|segment| bytes_to_read(segment, indexes)).sum());
        match BackupSource::open(source, &newest, indexes) {
            Ok(opened) => return opened.write(target.open_or_create(&mut Options::default())?.as_ref()),
            Err(_) if newest.is_superseded(source) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::Busy("the store changes faster than it can be read".into()))
}

fn bytes_to_read(segment: &SegmentRecord, with_indexes: bool) -> u64 {
    let indexes = segment.index_objects().filter(|_| with_indexes);
    segment.bytes() + indexes.map(|(_, file)| file.bytes).sum::<u64>()
}

fn expect_empty(target: &StoreLocation) -> Result<()> {
    if let Some(folder) = target.folder() {
        if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(Error::Options(format!(
                "expected an empty folder, found something in `{}`",
                folder.display()
            )));
        }
        return Ok(());
    }
    let objects = target.open_existing()?;
    for folder in ["manifest", "segments", "wal"] {
        if let Some(found) = objects.list(folder)?.first() {
            return Err(Error::Options(format!("expected an empty bucket, found `{}`", found.path)));
        }
    }
    Ok(())
}

/// An object to copy: its path, size and checksum.
type BackupFile = (String, FileRecord, Arc<dyn ObjectReader>);

/// The opened objects to copy. They stay readable if the writer deletes them.
struct BackupSource {
    /// The manifest of the copy, without indexes.
    manifest: Manifest,
    files: Vec<BackupFile>,
    /// The index objects, each with the position of its segment.
    indexes: Vec<(usize, BackupFile)>,
    /// The WAL objects after the checkpoint, in order, and their numbers.
    wal: Vec<(u64, Bytes)>,
}

impl BackupSource {
    fn open(source: &dyn Objects, manifest: &Manifest, with_indexes: bool) -> Result<Self> {
        let mut manifest = manifest.clone();
        let open = |(path, record): (String, FileRecord)| {
            let object = source.open(&path)?;
            Ok((path, record, object))
        };
        let mut indexes = Vec::new();
        for (position, segment) in manifest.segments.iter_mut().enumerate() {
            for object in segment.index_objects().filter(|_| with_indexes) {
                match open(object) {
                    Ok(opened) => indexes.push((position, opened)),
                    Err(Error::Damage { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            for index in INDEXES {
                segment.record_index(index, None);
            }
        }
        let named = manifest.segments.iter().flat_map(SegmentRecord::files);
        let files = named.map(open).collect::<Result<_>>()?;
        let through = wal::newest(source, manifest.wal_through)?;
        let wal = (manifest.wal_checkpoint + 1..=through).filter_map(|number| {
            let content = match manifest.quarantined_wal(number) {
                None => wal::content(source, number).map(Some),
                // The copy keeps the damaged object, so that its readable requests can be salvaged there as
                // well.
                Some(_) => source.get(&wal::path(number)),
            };
            content.map(|content| Some((number, content?))).transpose()
        });
        let wal = wal.collect::<Result<_>>()?;
        manifest.wal_through = through;
        Ok(Self { manifest, files, indexes, wal })
    }

    fn write(mut self, target: &dyn Objects) -> Result<BackupReport> {
        let manifest = &mut self.manifest;
        let mut report = BackupReport {
            manifest: manifest.number,
            segments: manifest.segments.len() as u64,
            wal_objects: self.wal.len() as u64,
            wal_through: manifest.wal_through,
            ..BackupReport::default()
        };
        for file in &self.files {
            report.bytes += copy_file(file, target)?;
        }
        for (position, file) in &self.indexes {
            let (path, record, _) = file;
            match copy_file(file, target) {
                Ok(bytes) => {
                    let name = path.rsplit('/').next().unwrap_or(path);
                    manifest.segments[*position].files.insert(name.to_owned(), *record);
                    (report.indexes, report.bytes) = (report.indexes + 1, report.bytes + bytes);
                }
                Err(Error::Damage { .. }) => target.delete(path)?,
                Err(error) => return Err(error),
            }
        }
        for (number, content) in &self.wal {
            create(target, &wal::path(*number), &content.clone().into())?;
            report.bytes += content.len() as u64;
        }
        create(target, &manifest::path(manifest.number), &manifest.encode().into())?;
        Ok(report)
    }
}

fn create(target: &dyn Objects, path: &str, content: &PutPayload) -> Result<()> {
    match put_verified(target, path, content) {
        PutOutcome::Created => Ok(()),
        PutOutcome::Conflict => {
            Err(Error::Options(format!("another process writes to the backup, found by `{path}`")))
        }
        PutOutcome::NotCreated(error) | PutOutcome::Unknown(error) => Err(error),
    }
}

/// Copies a file in chunks and compares the content with its record. Returns the size in bytes.
fn copy_file((path, record, object): &BackupFile, target: &dyn Objects) -> Result<u64> {
    const PIECE: usize = 1 << 20;
    verify_size(path, object.as_ref(), *record)?;
    let mut copy = target.create(path)?;
    let (mut offset, mut checksum, mut piece) = (0, 0, vec![0; PIECE]);
    while offset < record.bytes {
        let length = usize::try_from(record.bytes - offset).map_or(PIECE, |rest| rest.min(PIECE));
        object.read_at(offset, &mut piece[..length])?;
        copy.write(&piece[..length])?;
        checksum = crc32c::crc32c_append(checksum, &piece[..length]);
        offset += length as u64;
    }
    if checksum != record.crc32c {
        return Err(Error::damage(path, 0, "the content does not match the checksum in the manifest"));
    }
    copy.finish()?;
    Ok(record.bytes)
}
