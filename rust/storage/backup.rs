//! Backup: a store is copied while another process writes to it.
//!
//! Why the copy is one state of the store, with everything that was acknowledged before the backup began:
//!
//! 1. The newest manifest is read. It names every segment, and the WAL number up to which the WAL is contained in them.
//!    Objects never change.
//! 2. The segments' files are opened, and only then the WAL after that number is listed and read. What was acknowledged
//!    before the listing is in it, or in the segments.
//! 3. An object is deleted only after a newer manifest is durable. So if one is missing and there is a newer
//!    manifest, the backup begins again with that one; if there is none, the missing object is damage. Open objects
//!    stay readable, so from here on the writer may do anything.
//! 4. Everything is written and verified on the way, the manifest last: without it an unfinished copy cannot be opened
//!    as a store.

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

/// What a backup has copied.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct BackupReport {
    /// The number of the manifest that was copied.
    pub manifest: u64,
    /// Segments. Quarantined ones are not copied.
    pub segments: u64,
    /// WAL objects that are not contained in segments.
    pub wal_objects: u64,
    /// Everything that was acknowledged up to this WAL number is in the backup.
    pub wal_through: u64,
    /// Objects of indexes.
    pub indexes: u64,
    /// Bytes copied.
    pub bytes: u64,
}

/// Copies the store in `source` to `target`, a folder that is created if need be, or a bucket. With `indexes` the objects of
/// indexes are copied, too; one that is missing or damaged is left out, for it can be made of the rest. `progress` counts the
/// bytes that are read of `source`.
///
/// # Errors
/// [`Error::Damage`] found in the source, [`Error::Options`] if there is no store or `target` is not
/// empty, [`Error::Busy`] if the store changes faster than it can be read, [`Error::Storage`].
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

/// The opened objects to copy, which stay readable whatever their writer does.
struct BackupSource {
    /// Names no indexes.
    manifest: Manifest,
    files: Vec<BackupFile>,
    /// The objects of indexes, and the position of the segment of each.
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
                // What is left of a damaged object is salvaged from the copy as it was here.
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

/// Copies a file piece by piece and compares the content with its record. Returns its size in bytes.
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
