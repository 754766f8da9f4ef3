//! The index cache: local files with the indexes of segments. With them, opening a store reads no rows.
//!
//! `<cache>/<ulid>/index` is derived data. It is written once, synced, renamed, and mapped read-only. If it
//! is missing, damaged, or belongs to another segment, it is copied from its object ([`super::objects`]) or
//! rebuilt from the rows. If it cannot be written, the index is kept in memory. The document indexes are next
//! to it ([`super::document_index`]). The cache works the same for a local folder and a bucket.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use arrow_buffer::Buffer;

use crate::error::{Error, Result};
use crate::index::columns;
use crate::index::columns::{Index, Projection};
use crate::storage::manifest::{INDEXES, SegmentRecord};
use crate::storage::options::Options;
use crate::storage::platform::{no_follow, private, private_folder};
use crate::storage::segment::mmap;
use crate::storage::segment::rows::SegmentRows;
use crate::trace::conventions::conventions_identity;

/// The name of the row index in its segment's folder.
pub(in crate::storage::segment) const INDEX: &str = INDEXES[0];
/// The suffix of a file that is being written.
const UNFINISHED: &str = ".new";

/// The columns that are verified when a segment is opened, because the store needs them to find traces.
const ALWAYS: Projection = Projection::SORT_KEY.with(Projection::DOCUMENTS);

/// A local folder of indexes, or no cache.
#[derive(Debug, Clone, Default)]
pub(crate) struct IndexCache {
    folder: Option<PathBuf>,
    /// True if another process owns the cache. Then it is only read.
    is_foreign: bool,
}

impl IndexCache {
    /// Returns the cache that the options configure.
    pub(crate) fn of(options: &Options) -> Self {
        Self { folder: options.cache_dir.clone(), is_foreign: options.is_cache_foreign }
    }

    /// Returns a cache that another process owns, for reading only.
    pub(crate) fn foreign(folder: Option<PathBuf>) -> Self {
        Self { folder, is_foreign: true }
    }

    /// Returns `true` if another process owns the cache.
    pub(crate) fn is_foreign(&self) -> bool {
        self.is_foreign
    }

    /// Opens the cached index of a segment; `None` if it is missing or damaged.
    pub(in crate::storage::segment) fn open(&self, record: &SegmentRecord) -> Option<Index> {
        open_content(self.map(record, INDEX)?, record)
    }

    /// Builds the index of a segment and replaces the cached one.
    ///
    /// # Errors
    /// [`Error::Damage`] if the rows cannot be indexed.
    pub(crate) fn build(&self, record: &SegmentRecord, rows: &SegmentRows) -> Result<Index> {
        let written = self.own_folder().and_then(|folder| {
            // If the cache cannot be written, the index is kept in memory.
            write_file(folder, record, INDEX, |out| build(record, rows, out)).ok()?;
            self.open(record)
        });
        if let Some(index) = written {
            return Ok(index);
        }
        let damage = |message: String| Error::damage(record.traces_path(), 0, message);
        let mut content = Vec::new();
        build(record, rows, &mut content).map_err(|error| damage(error.to_string()))?;
        open_content(Buffer::from_vec(content), record)
            .ok_or_else(|| damage("the rows cannot be indexed".into()))
    }

    /// Returns the exact bytes of the index of a segment with these rows.
    ///
    /// # Errors
    /// [`Error::Storage`] if it would be too large.
    pub(in crate::storage::segment) fn content(
        record: &SegmentRecord,
        rows: &SegmentRows,
    ) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        let built = build(record, rows, &mut content);
        built.map_err(|error| Error::storage(format!("the index of segment {}", record.id), error))?;
        Ok(content)
    }

    /// Compares a cached file of a segment with the `expected` bytes. Returns the result and the path; `None`
    /// if the file does not exist.
    pub(in crate::storage::segment) fn compare(
        &self,
        record: &SegmentRecord,
        name: &str,
        expected: &[u8],
    ) -> Option<(bool, PathBuf)> {
        let content = self.map(record, name)?;
        let folder = self.folder.as_deref()?;
        Some((content.as_slice() == expected, folder.join(&record.id).join(name)))
    }

    /// Maps a cached file of a segment, if it exists.
    pub(in crate::storage::segment) fn map(&self, record: &SegmentRecord, name: &str) -> Option<Buffer> {
        map_file(self.folder.as_deref()?, record, name)
    }

    /// Calls `write` to write a file of a segment, if this process owns the cache.
    pub(in crate::storage::segment) fn write_with(
        &self,
        record: &SegmentRecord,
        name: &str,
        write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
    ) -> Option<()> {
        write_file(self.own_folder()?, record, name, write).ok()
    }

    /// Returns the folder, if this process owns the cache.
    fn own_folder(&self) -> Option<&Path> {
        self.folder.as_deref().filter(|_| !self.is_foreign)
    }

    /// Removes the cached files of a segment. Failed removals are repeated when the store is next opened.
    pub(crate) fn remove(&self, segment: &str) {
        if let Some(folder) = &self.folder {
            let _removed_at_next_open = fs::remove_dir_all(folder.join(segment));
        }
    }

    /// Removes the cached files of all other segments.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub(crate) fn sweep<'a>(&self, segments: impl Iterator<Item = &'a str>) -> Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let needed: HashSet<&str> = segments.collect();
        let failed = |error: io::Error| Error::storage(folder.display().to_string(), error);
        for name in names(folder).map_err(failed)? {
            let path = folder.join(&name);
            if needed.contains(name.as_str()) {
                let surplus = names(&path).map_err(failed)?.into_iter();
                let surplus = surplus.filter(|name| !INDEXES.contains(&name.as_str()));
                surplus.map(|name| path.join(name)).try_for_each(|path| remove(&path)).map_err(failed)?;
            } else {
                remove(&path).map_err(failed)?;
            }
        }
        Ok(())
    }
}

/// Returns the text that identifies the index of this segment.
pub(in crate::storage::segment) fn identity(record: &SegmentRecord) -> String {
    let rows = record.traces;
    format!("{} {} {} {:08x}", record.id, record.rows, rows.bytes, rows.crc32c)
}

/// Returns the text that identifies the document indexes of this segment.
pub(in crate::storage::segment) fn identity_of_documents(record: &SegmentRecord) -> String {
    let documents = record.documents;
    let conventions = conventions_identity();
    format!("{} {} {:08x} {conventions}", identity(record), documents.bytes, documents.crc32c)
}

/// Opens the content of a segment index; `None` if it is damaged or belongs to another segment.
pub(in crate::storage::segment) fn open_content(content: Buffer, record: &SegmentRecord) -> Option<Index> {
    let index = Index::open(content, &identity(record))?;
    (u64::from(index.rows()) == record.rows && index.is_sound(ALWAYS)).then_some(index)
}

/// Maps a file of a segment's folder, if it exists.
fn map_file(folder: &Path, record: &SegmentRecord, name: &str) -> Option<Buffer> {
    let path = folder.join(&record.id).join(name);
    let file = no_follow(OpenOptions::new().read(true)).open(path).ok()?;
    mmap::map(&file).ok()
}

/// Writes a file of a segment's folder durably under its final name.
fn write_file(
    folder: &Path,
    record: &SegmentRecord,
    name: &str,
    write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
) -> io::Result<()> {
    let own = folder.join(&record.id);
    private_folder().recursive(true).create(&own)?;
    let unfinished = own.join(format!("{name}{UNFINISHED}"));
    remove(&unfinished)?;
    let file = private(OpenOptions::new().write(true).create_new(true)).open(&unfinished)?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    let written = write(&mut out).and_then(|()| out.flush()).and_then(|()| out.get_ref().sync_all());
    if let Err(error) = written {
        remove(&unfinished)?;
        return Err(error);
    }
    fs::rename(&unfinished, own.join(name))?;
    File::open(&own)?.sync_all()
}

fn build(record: &SegmentRecord, rows: &SegmentRows, out: &mut dyn io::Write) -> io::Result<()> {
    let locations = rows.locations.each_ref().map(|column| column.values().as_ref());
    columns::build(&rows.batch, locations, &identity(record), out)
}

/// Returns the names in a folder; empty if the folder does not exist.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Removes a file, or a folder with its content, if it exists.
fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}
