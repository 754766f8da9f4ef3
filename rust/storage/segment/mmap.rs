//! Mapping files of the cache: the one place with unsafe code.
//!
//! # Why this is sound
//!
//! A mapping is memory that changes, or goes, when somebody changes or cuts the file. Rust may assume
//! that neither happens while a slice of it lives. Here neither does:
//!
//! 1. Only files of the cache are mapped, never truth. They lie in a folder that only the owner may
//!    enter, under the store's lock, and belong to one store ([`crate::storage::segment::index_cache`]).
//! 2. Nothing of ours changes such a file. It is written under another name, synced, closed, and only
//!    then renamed to the name by which it is mapped; it is removed by unlinking, which leaves the
//!    mapping as it is; and what replaces it is another file.
//! 3. The mapping is read-only and lives as long as any slice of it: the buffer owns it.
//! 4. A file that was cut or changed before it was mapped is found by its length and its checksums
//!    ([`crate::index`]), and nothing is read beyond what is mapped. Bytes are taken as bytes and whole
//!    numbers, of which every pattern of bits is valid.
//!
//! What is left is somebody who, as the owner of the store, cuts a cache file while it is served. No
//! program that maps files can help that; one who may do so may also end the process.

use std::fs::File;
use std::io;

use arrow_buffer::Buffer;
use bytes::Bytes;
use memmap2::Mmap;

/// Returns the content of a file of the cache, which nobody changes from here on.
///
/// # Errors
/// What the operating system says.
#[allow(unsafe_code, reason = "argued above")]
pub(crate) fn map(file: &File) -> io::Result<Buffer> {
    // SAFETY: the file is not changed while it is mapped, see above.
    let mapping = unsafe { Mmap::map(file) }?;
    Ok(Buffer::from(Bytes::from_owner(mapping)))
}
