//! Salvages the complete requests of a damaged object, and determines the loss.
//!
//! A request is complete if its own checksums match. After a damaged request, the next header is searched
//! byte by byte. Objects of format 1 have no such checksums, so their requests are only complete if the whole
//! body is.

use std::collections::BTreeSet;

use bytes::{Buf as _, Bytes, BytesMut};
use ulid::Ulid;

use super::{
    FORMAT, FORMAT_1, HEADER_BYTES, Header, MAX_BYTES, REQUEST_HEADER_BYTES, WalEntry, decode_entries,
    decode_header, path, request_seed,
};
use crate::error::{Error, Result};
use crate::otlp::{SpanRef, TraceId, wire};
use crate::storage::objects::{ObjectReader, Objects};

/// The salvaged content of a damaged object.
#[derive(Debug, Default)]
pub(crate) struct Salvage {
    /// The complete requests.
    pub(crate) entries: Vec<WalEntry>,
    /// The number of lost requests, if known.
    pub(crate) lost: Option<u64>,
    /// The traces with spans in the lost requests, as far as these can be read.
    pub(crate) trace_ids: BTreeSet<TraceId>,
    /// The size of the object in bytes.
    pub(crate) bytes: u64,
}

/// Returns the salvaged content of the object with this number; empty if it is missing. The object was
/// created by `last_writer` unless its header names another writer.
///
/// # Errors
/// [`Error::Options`] for a newer format, [`Error::Storage`].
pub(crate) fn salvage(objects: &dyn Objects, number: u64, last_writer: Ulid) -> Result<Salvage> {
    let content = match objects.open(&path(number)) {
        Ok(object) => read_damaged(object.as_ref())?,
        Err(Error::Damage { .. }) => Bytes::new(),
        Err(error) => return Err(error),
    };
    let bytes = content.len() as u64;
    let Some(head) = content.first_chunk::<HEADER_BYTES>() else {
        return Ok(Salvage { bytes, ..Salvage::default() });
    };
    let header = match decode_header(number, head) {
        Ok(header) => Some(header),
        Err(Error::Damage { .. }) => None,
        Err(error) => return Err(error),
    };
    let body = content.slice(HEADER_BYTES..);
    if let Some(entries) = whole_body(header.as_ref(), head, &body) {
        return Ok(Salvage { entries, lost: Some(0), bytes, ..Salvage::default() });
    }
    let named_writer = Ulid::from((&head[24..40]).get_u128());
    let mut scan = SalvageScan::of(&body, request_seed(number, named_writer));
    if scan.whole.is_empty() {
        scan = SalvageScan::of(&body, request_seed(number, last_writer));
    }
    let lost = match &header {
        Some(header) => Some(u64::from(header.requests).saturating_sub(scan.whole.len() as u64)),
        None => Some(scan.damaged.len() as u64).filter(|_| !scan.is_uncertain),
    };
    let trace_ids = scan.damaged.iter().flat_map(trace_ids_in).collect();
    Ok(Salvage { entries: scan.whole, lost, trace_ids, bytes })
}

/// Returns the content of an object, with zeros for parts that the disk cannot read.
fn read_damaged(object: &dyn ObjectReader) -> Result<Bytes> {
    const BLOCK_BYTES: usize = 4096;
    let mut content = BytesMut::zeroed(usize::try_from(object.bytes().min(MAX_BYTES)).unwrap_or_default());
    match object.read_at(0, &mut content) {
        Err(Error::Damage { .. }) => {}
        outcome => return outcome.map(|()| content.freeze()),
    }
    for (index, block) in content.chunks_mut(BLOCK_BYTES).enumerate() {
        match object.read_at((index * BLOCK_BYTES) as u64, block) {
            Err(Error::Damage { .. }) => block.fill(0),
            outcome => outcome?,
        }
    }
    Ok(content.freeze())
}

/// Returns all requests if the body matches the checksum in the header. Other fields of the header may be
/// damaged.
fn whole_body(header: Option<&Header>, head: &[u8; HEADER_BYTES], body: &Bytes) -> Option<Vec<WalEntry>> {
    if crc32c::crc32c(body).to_le_bytes() != head[48..52] {
        return None;
    }
    match header {
        Some(header) => decode_entries(header.format, Some(header.requests), body.clone()).ok(),
        // The format and the number of requests may be the damaged fields.
        None => [FORMAT, FORMAT_1].iter().find_map(|format| decode_entries(*format, None, body.clone()).ok()),
    }
}

/// The requests of a damaged body.
#[derive(Default)]
struct SalvageScan {
    whole: Vec<WalEntry>,
    /// The bytes of damaged requests, including their headers.
    damaged: Vec<Bytes>,
    /// True if a header is damaged, so that the number of damaged requests is unknown.
    is_uncertain: bool,
}

impl SalvageScan {
    fn of(body: &Bytes, seed: u32) -> Self {
        let mut scan = Self::default();
        let (mut at, mut damaged_from) = (0, None);
        while at < body.len() {
            let Some(request) = RequestHeader::at(body, at, seed) else {
                damaged_from.get_or_insert(at);
                at += 1;
                continue;
            };
            if let Some(from) = damaged_from.take() {
                scan.is_uncertain = true;
                scan.damaged.push(body.slice(from..at));
            }
            let start = at + REQUEST_HEADER_BYTES;
            let end = start.saturating_add(request.bytes).min(body.len());
            let spans = body.slice(start..end);
            if spans.len() == request.bytes && crc32c::crc32c(&spans) == request.checksum {
                scan.whole.push(WalEntry { received: request.received, spans });
            } else {
                scan.damaged.push(body.slice(at..end));
            }
            at = end;
        }
        if let Some(from) = damaged_from {
            scan.is_uncertain = true;
            scan.damaged.push(body.slice(from..));
        }
        scan
    }
}

struct RequestHeader {
    received: i64,
    bytes: usize,
    checksum: u32,
}

impl RequestHeader {
    /// Returns the header at an offset of a body, if its checksum matches.
    fn at(body: &Bytes, offset: usize, seed: u32) -> Option<Self> {
        let (checked, checksum) =
            body.get(offset..)?.get(..REQUEST_HEADER_BYTES)?.split_at(REQUEST_HEADER_BYTES - 4);
        if crc32c::crc32c_append(seed, checked).to_le_bytes() != checksum {
            return None;
        }
        let mut fields = checked;
        let received = fields.get_i64_le();
        let bytes = usize::try_from(fields.get_u64_le()).ok()?;
        Some(Self { received, bytes, checksum: fields.get_u32_le() })
    }
}

/// Returns the ids of the traces that damaged requests probably have spans of.
fn trace_ids_in(damaged: &Bytes) -> BTreeSet<TraceId> {
    /// The fields `trace_id` and `span_id` of a span, which exporters write first.
    const IDS_BYTES: usize = 28;
    let ids = |fields: &[u8]| {
        let is_ids = fields[..2] == [0x0a, 16] && fields[18..20] == [0x12, 8];
        TraceId::from_bytes(&fields[2..18]).filter(|_| is_ids)
    };
    let mut found = BTreeSet::new();
    let spans = damaged.slice(REQUEST_HEADER_BYTES.min(damaged.len())..);
    let walked = wire::walk(&spans, |span| {
        let decoded = SpanRef::of(&span.bytes).ok().and_then(|span| TraceId::from_bytes(span.trace_id));
        found.extend(decoded.or_else(|| ids(span.bytes.get(..IDS_BYTES)?)));
        Ok(())
    });
    if walked.is_err() {
        // The structure around the spans is damaged.
        found.extend(damaged.windows(IDS_BYTES).filter_map(ids));
    }
    found
}
