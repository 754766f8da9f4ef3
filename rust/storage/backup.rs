//! Backup: a store is copied while another process writes to it.
//!
//! Why the copy is one state of the store, and holds everything acknowledged before the backup began:
//!
//! 1. The newest manifest is read. It is complete: it names every segment, and says up to which number
//!    the write-ahead is contained in them. No object ever changes.
//! 2. The segments' files are opened, and only then the write-ahead after that number is listed and
//!    read. What was acknowledged before the listing is in it, or in the segments.
//! 3. An object goes only after a newer manifest is durable. So if one is missing, the newest manifest
//!    is another one now, and all begins again with it. If it is still the same, the missing object is
//!    damage. What is open stays readable, so from here on the writer may do as it likes.
//! 4. All is written, verified on the way, and the manifest last: a copy that did not finish is no
//!    store and is refused as one.

use std::fs;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::storage::manifest::{self, FileRecord, Manifest};
use crate::storage::objects::location::StoreLocation;
use crate::storage::objects::{ObjectReader, ObjectWriter, Objects, PutOutcome, PutPayload, put_verified};
use crate::storage::options::Options;
use crate::storage::segment::verify::verify_size;
use crate::storage::wal;

/// What a backup holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Copied {
    /// The number of the manifest it was made by.
    pub manifest: u64,
    /// Segments. Those that were set aside are not copied.
    pub segments: u64,
    /// Write-ahead objects that are not folded into segments.
    pub wal_objects: u64,
    /// Everything acknowledged up to this write-ahead object is in the backup.
    pub wal_through: u64,
    /// Bytes copied.
    pub bytes: u64,
}

/// Copies the store in `source` to `target`, a folder that is created if need be, or a bucket.
///
/// # Errors
/// [`Error::Damage`] found in the source, [`Error::Options`] if there is no store or `target` is not
/// empty, [`Error::Busy`] if the store moves on faster than it can be read, [`Error::Storage`].
pub(crate) fn backup(source: &dyn Objects, target: &StoreLocation) -> Result<Copied> {
    const TRIES: usize = 64;
    refuse_unless_empty(target)?;
    for _ in 0..TRIES {
        let Some(newest) = Manifest::newest(source)? else {
            return Err(Error::Options("expected a store, found no manifest".into()));
        };
        match Original::open(source, &newest) {
            Ok(original) => {
                return original.write(&newest, target.open_or_create(&mut Options::default())?.as_ref());
            }
            Err(_) if newest.is_superseded(source) => {}
            Err(fault) => return Err(fault),
        }
    }
    Err(Error::Busy("the store moves on faster than it can be read".into()))
}

fn refuse_unless_empty(target: &StoreLocation) -> Result<()> {
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

/// What is to be copied, beyond the reach of its writer.
struct Original {
    files: Vec<(String, FileRecord, Arc<dyn ObjectReader>)>,
    /// The objects after those that are folded, in order.
    wal: Vec<Bytes>,
}

impl Original {
    fn open(source: &dyn Objects, manifest: &Manifest) -> Result<Self> {
        let named = manifest.segments.iter().flat_map(|segment| segment.files().collect::<Vec<_>>());
        let files = named.map(|(path, record)| {
            let object = source.open(&path)?;
            Ok((path, record, object))
        });
        let files = files.collect::<Result<_>>()?;
        let through = wal::newest(source, manifest.wal_checkpoint)?;
        let wal = (manifest.wal_checkpoint + 1..=through).map(|number| wal::content(source, number));
        Ok(Self { files, wal: wal.collect::<Result<_>>()? })
    }

    fn write(self, manifest: &Manifest, target: &dyn Objects) -> Result<Copied> {
        let mut copied = Copied {
            manifest: manifest.number,
            segments: manifest.segments.len() as u64,
            wal_objects: self.wal.len() as u64,
            wal_through: manifest.wal_checkpoint + self.wal.len() as u64,
            bytes: 0,
        };
        for (path, record, object) in &self.files {
            copy_file(path, *record, object.as_ref(), target.create(path)?)?;
            copied.bytes += record.bytes;
        }
        for (number, content) in (manifest.wal_checkpoint + 1..).zip(&self.wal) {
            create(target, &wal::path(number), &content.clone().into())?;
            copied.bytes += content.len() as u64;
        }
        create(target, &manifest::path(manifest.number), &manifest.encode().into())?;
        Ok(copied)
    }
}

fn create(target: &dyn Objects, path: &str, content: &PutPayload) -> Result<()> {
    match put_verified(target, path, content) {
        PutOutcome::Created => Ok(()),
        PutOutcome::Conflict => {
            Err(Error::Options(format!("somebody else writes to the backup, found by `{path}`")))
        }
        PutOutcome::NotCreated(fault) | PutOutcome::Unknown(fault) => Err(fault),
    }
}

/// Copies a file piece by piece, and compares what was copied with its record.
fn copy_file(
    path: &str,
    record: FileRecord,
    object: &dyn ObjectReader,
    mut copy: Box<dyn ObjectWriter>,
) -> Result<()> {
    const PIECE: usize = 1 << 20;
    verify_size(path, object, record)?;
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
    copy.finish()
}
