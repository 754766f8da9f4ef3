//! Memory-mapping of cached index files. This is the only module with unsafe code.
//!
//! # Safety
//!
//! A mapped file must not change while a slice of the mapping is alive. Rust assumes that memory behind a
//! shared reference does not change. This holds here:
//!
//! 1. Only cached index files are mapped, never objects of the store. They are in a folder that only the
//!    owner can access, are protected by the store's lock, and belong to one store
//!    ([`crate::storage::segment::indexes::cache`]).
//! 2. This program never changes such a file. The file is written under a temporary name, synced and closed
//!    before it is renamed to the mapped name. It is removed by unlinking, which leaves the mapping intact,
//!    and replaced by a new file.
//! 3. The mapping is read-only and lives as long as any slice of it, because the buffer owns it.
//! 4. A file that was truncated or changed before it was mapped is detected by its length and checksums
//!    ([`crate::index`]). No byte beyond the mapping is read. The content is read as bytes and integers, for
//!    which every bit pattern is valid.
//!
//! The remaining risk is that the owner of the store truncates a cached file while it is served. No program
//! that maps files can prevent that, and a user with this permission can also kill the process.

use std::fs::File;
use std::io;

use arrow_buffer::Buffer;
use bytes::Bytes;
use memmap2::Mmap;

/// Returns the content of a cached index file, which must not change from here on.
///
/// # Errors
/// The errors of the operating system.
#[allow(unsafe_code, reason = "see the module's documentation")]
pub(crate) fn map(file: &File) -> io::Result<Buffer> {
    // SAFETY: the file is not changed while it is mapped, see the module's documentation.
    let mapping = unsafe { Mmap::map(file) }?;
    Ok(Buffer::from(Bytes::from_owner(mapping)))
}
