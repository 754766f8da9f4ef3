//! The write-ahead log (WAL): one object per group commit, which makes the group durable until it is flushed.
//!
//! See `docs/reference/storage.md#write-ahead-log`.
//!
//! ```text
//! header   magic `SPANWAL1`, format u32, requests u32, number u64, writer 16 bytes,
//!          bytes of the body u64, CRC32C of the body u32, CRC32C of the header before it u32
//! request  receipt time i64 (microseconds since 1970), bytes of the spans u64, CRC32C of the spans u32,
//!          CRC32C of the request's header before it u32, the spans: one OTLP `TracesData` message
//! ```
//! All integers are little endian. Objects are numbered without gaps, so a gap is damage. An object is
//! created whole, so a short object is damage too. An object without requests is a fence: it takes a number
//! away from the previous writer. The checksums of individual requests are only compared if the body is
//! damaged ([`salvage`]).

mod checksum;
pub(crate) mod salvage;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use ulid::Ulid;

use crate::error::{Error, Result};
use crate::storage::objects::{Objects, PutPayload};

const MAGIC: &[u8; 8] = b"SPANWAL1";
const FORMAT: u32 = 2;
const HEADER_BYTES: usize = 56;
const REQUEST_HEADER_BYTES: usize = 24;

/// The first format, whose requests have no checksums.
const FORMAT_1: u32 = 1;
const REQUEST_HEADER_BYTES_1: usize = 16;

/// The size of a fence in bytes. No other object has this size.
pub(crate) const FENCE_BYTES: u64 = HEADER_BYTES as u64;

const NO_HEADER: &str = "expected a header of 56 bytes";

/// The maximum size of an object in bytes. Groups and requests are limited to a fraction of it.
const MAX_BYTES: u64 = 256 << 20;

/// The accepted spans of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WalEntry {
    /// The time when the request was received, in microseconds since 1970.
    pub(crate) received: i64,
    /// An encoded `TracesData` message.
    pub(crate) spans: Bytes,
}

/// A verified WAL object.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WalObject {
    pub(crate) number: u64,
    pub(crate) writer: Ulid,
    pub(crate) entries: Vec<WalEntry>,
}

/// Returns the path of the object with this number.
pub(crate) fn path(number: u64) -> String {
    format!("wal/{number:020}.wal")
}

/// Returns the number in a path; `None` if it is not the path of a WAL object.
pub(crate) fn number_of(path: &str) -> Option<u64> {
    let digits = path.strip_prefix("wal/")?.strip_suffix(".wal")?;
    let is_plain = digits.len() == 20 && digits.bytes().all(|digit| digit.is_ascii_digit());
    digits.parse().ok().filter(|_| is_plain)
}

/// Returns the size of an object in bytes.
pub(crate) fn bytes_of(entries: &[WalEntry]) -> u64 {
    let body: usize = entries.iter().map(|entry| REQUEST_HEADER_BYTES + entry.spans.len()).sum();
    (HEADER_BYTES + body) as u64
}

/// Returns the content of an object, which shares the memory of the entries' spans.
pub(crate) fn encode(number: u64, writer: Ulid, entries: &[WalEntry]) -> PutPayload {
    let mut pieces = Vec::with_capacity(1 + 2 * entries.len());
    pieces.push(Bytes::new());
    let (seed, mut checksum) = (request_seed(number, writer), 0);
    for entry in entries {
        let own = crc32c::crc32c(&entry.spans);
        let mut head = BytesMut::with_capacity(REQUEST_HEADER_BYTES);
        head.put_i64_le(entry.received);
        head.put_u64_le(entry.spans.len() as u64);
        head.put_u32_le(own);
        head.put_u32_le(crc32c::crc32c_append(seed, &head));
        checksum = checksum::append(crc32c::crc32c_append(checksum, &head), &entry.spans, own);
        pieces.extend([head.freeze(), entry.spans.clone()]);
    }
    let body: usize = pieces.iter().map(Bytes::len).sum();
    let mut header = BytesMut::with_capacity(HEADER_BYTES);
    header.put_slice(MAGIC);
    header.put_u32_le(FORMAT);
    header.put_u32_le(u32::try_from(entries.len()).expect("a group has far fewer requests"));
    header.put_u64_le(number);
    header.put_slice(&writer.to_bytes());
    header.put_u64_le(body as u64);
    header.put_u32_le(checksum);
    header.put_u32_le(crc32c::crc32c(&header));
    pieces[0] = header.freeze();
    pieces.into_iter().collect()
}

/// Returns the seed of the checksums of an object's request headers. The seed ensures that no user data looks
/// like a request of this object.
fn request_seed(number: u64, writer: Ulid) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&writer.to_bytes()), &number.to_le_bytes())
}

struct Header {
    format: u32,
    requests: u32,
    writer: Ulid,
    body_bytes: u64,
    body_checksum: u32,
}

impl Header {
    /// Compares the size of the object with its header.
    fn verify_size(&self, number: u64, bytes: u64) -> Result<()> {
        let present = bytes - HEADER_BYTES as u64;
        if present == self.body_bytes {
            return Ok(());
        }
        let message = format!("expected a body of {} bytes, found {present}", self.body_bytes);
        let end = self.body_bytes.saturating_add(HEADER_BYTES as u64);
        Err(Error::damage(path(number), bytes.min(end), message))
    }

    /// Compares the checksum of the object's body. `content` is the whole object.
    fn verify_body(&self, number: u64, content: &[u8]) -> Result<()> {
        if crc32c::crc32c(&content[HEADER_BYTES..]) == self.body_checksum {
            return Ok(());
        }
        Err(Error::damage(path(number), HEADER_BYTES as u64, "the body does not match its checksum"))
    }
}

/// Returns the number of the newest object. If no object is newer, returns `at_least`, the end of the log in
/// the manifest.
///
/// # Errors
/// [`Error::Storage`].
pub(crate) fn newest(objects: &dyn Objects, at_least: u64) -> Result<u64> {
    let listed = objects.list("wal")?;
    let numbers = listed.iter().filter_map(|object| number_of(&object.path));
    Ok(numbers.max().map_or(at_least, |newest| newest.max(at_least)))
}

/// Reads the object with this number, which must exist. Its entries share its memory. Also returns its size
/// in bytes.
///
/// # Errors
/// [`Error::Damage`] with the object and the offset, [`Error::Options`] for a newer format,
/// [`Error::Storage`].
pub(crate) fn read(objects: &dyn Objects, number: u64) -> Result<(WalObject, u64)> {
    let (header, content) = read_verified(objects, number)?;
    decode(number, &header, &content)
}

/// Reads the object with this number, if it exists. Its entries share its memory. Also returns its size in
/// bytes.
///
/// # Errors
/// The errors of [`read`].
pub(crate) fn find(objects: &dyn Objects, number: u64) -> Result<Option<(WalObject, u64)>> {
    let Some(content) = objects.get(&path(number))? else { return Ok(None) };
    let Some(encoded) = content.first_chunk::<HEADER_BYTES>() else {
        return Err(Error::damage(path(number), content.len() as u64, NO_HEADER));
    };
    let header = decode_header(number, encoded)?;
    header.verify_size(number, content.len() as u64)?;
    header.verify_body(number, &content)?;
    decode(number, &header, &content).map(Some)
}

fn decode(number: u64, header: &Header, content: &Bytes) -> Result<(WalObject, u64)> {
    let entries = decode_entries(header.format, Some(header.requests), content.slice(HEADER_BYTES..))
        .map_err(|offset| Error::damage(path(number), offset as u64, "expected a request"))?;
    Ok((WalObject { number, writer: header.writer, entries }, content.len() as u64))
}

/// Reads several objects in parallel. The results are in order.
///
/// # Errors
/// Each result has the errors of [`read`].
pub(crate) fn read_together(objects: &dyn Objects, numbers: &[u64]) -> Vec<Result<(WalObject, u64)>> {
    if let [number] = numbers {
        return vec![read(objects, *number)];
    }
    std::thread::scope(|scope| {
        let reading: Vec<_> = numbers.iter().map(|number| scope.spawn(|| read(objects, *number))).collect();
        let died = || Err(Error::storage("wal", "a reading thread has died"));
        reading.into_iter().map(|thread| thread.join().unwrap_or_else(|_| died())).collect()
    })
}

/// Returns the verified content of an object.
///
/// # Errors
/// The errors of [`read`].
pub(crate) fn content(objects: &dyn Objects, number: u64) -> Result<Bytes> {
    read_verified(objects, number).map(|(_, content)| content)
}

/// Reads an object. Its header is verified and compared with its size before its body is read.
fn read_verified(objects: &dyn Objects, number: u64) -> Result<(Header, Bytes)> {
    let path = path(number);
    let damage = |offset: u64, message: &str| Error::damage(&path, offset, message);
    let object = objects.open(&path)?;
    let bytes = object.bytes();
    let mut encoded = [0; HEADER_BYTES];
    if bytes < encoded.len() as u64 {
        return Err(damage(bytes, NO_HEADER));
    }
    object.read_at(0, &mut encoded)?;
    let header = decode_header(number, &encoded)?;
    header.verify_size(number, bytes)?;
    let length = usize::try_from(bytes).ok().filter(|_| bytes <= MAX_BYTES);
    let length = length.ok_or_else(|| damage(MAX_BYTES, "the object is larger than the limit"))?;
    let mut content = BytesMut::zeroed(length);
    content[..HEADER_BYTES].copy_from_slice(&encoded);
    object.read_at(HEADER_BYTES as u64, &mut content[HEADER_BYTES..])?;
    header.verify_body(number, &content)?;
    Ok((header, content.freeze()))
}

fn decode_header(number: u64, content: &[u8; HEADER_BYTES]) -> Result<Header> {
    let path = path(number);
    let damage = |offset: usize, message: &str| Error::damage(&path, offset as u64, message);
    let (checked, checksum) = content.split_at(HEADER_BYTES - 4);
    let mut header = checked;
    if &header[..8] != MAGIC {
        return Err(damage(0, "expected `SPANWAL1`"));
    }
    header.advance(8);
    let format = header.get_u32_le();
    if crc32c::crc32c(checked).to_le_bytes() != checksum {
        return Err(damage(HEADER_BYTES - 4, "the header does not match its checksum"));
    }
    if !(FORMAT_1..=FORMAT).contains(&format) {
        let message = format!("`{path}` has format {format}, this program reads {FORMAT_1} to {FORMAT}");
        return Err(Error::Options(message));
    }
    let requests = header.get_u32_le();
    if header.get_u64_le() != number {
        return Err(damage(16, "the number in the header is not that in the name"));
    }
    let writer = Ulid::from(header.get_u128());
    let body_bytes = header.get_u64_le();
    Ok(Header { format, requests, writer, body_bytes, body_checksum: header.get_u32_le() })
}

/// Returns the entries of a body, or the offset of the malformed entry in the object. Without the number of
/// requests, the body is read to its end.
fn decode_entries(
    format: u32,
    requests: Option<u32>,
    mut body: Bytes,
) -> std::result::Result<Vec<WalEntry>, usize> {
    let end = HEADER_BYTES + body.len();
    let checksums = if format == FORMAT_1 { 0 } else { REQUEST_HEADER_BYTES - REQUEST_HEADER_BYTES_1 };
    let mut entries = Vec::new();
    while requests.map_or(!body.is_empty(), |requests| entries.len() < requests as usize) {
        let offset = end - body.len();
        if body.len() < REQUEST_HEADER_BYTES_1 + checksums {
            return Err(offset);
        }
        let received = body.get_i64_le();
        let spans = usize::try_from(body.get_u64_le()).map_err(|_| offset)?;
        body.advance(checksums);
        if spans > body.len() {
            return Err(offset);
        }
        entries.push(WalEntry { received, spans: body.split_to(spans) });
    }
    if body.is_empty() { Ok(entries) } else { Err(end - body.len()) }
}
