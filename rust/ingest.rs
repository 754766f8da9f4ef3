//! Ingest: the body of an OTLP request becomes spans, or fragments of spans, that a store can merge into
//! traces.
//!
//! During decoding, a request may take many times the memory of its body. A request therefore waits for
//! permits first. Then it is decoded ([`crate::otlp`]), and each of its spans is read ([`Span::from_wire`]).

use std::sync::Arc;
use std::thread::available_parallelism;

use bytes::Bytes;

use crate::error::Result;
use crate::otlp::fragment::{append_fragments, fragments_of};
use crate::otlp::{self, DecodedLogs, DecodedRequest, Fragment, limits, wire};
use crate::placement::ShardMap;
use crate::semaphore::{Permit, Semaphore};
use crate::time::{NANOS_PER_MICRO, now_micros};
use crate::trace::Span;

/// The spans of one request.
#[derive(Debug)]
pub struct RequestSpans {
    /// The time of receipt in microseconds since 1970.
    pub received: i64,
    /// The accepted spans, in order of arrival.
    pub spans: Vec<Arc<Span>>,
    /// The accepted spans as one `TracesData` message.
    pub encoded: Bytes,
    /// The number of rejected spans.
    pub rejected: u64,
    /// The reason for the first rejection; empty if there was no rejection.
    pub reason: String,
}

impl RequestSpans {
    /// Returns the spans of a decoded request, which was received at `received` (microseconds since 1970).
    ///
    /// # Errors
    /// [`crate::error::Error::Decode`] if an accepted span has no usable ids.
    pub fn new(received: i64, request: DecodedRequest) -> Result<Self> {
        let DecodedRequest { spans, message, rejected, reason } = request;
        let spans = spans.into_iter().map(|span| Span::from_wire(span.wire).map(Arc::new));
        let spans = spans.collect::<Result<Vec<_>>>()?;
        let encoded = message.unwrap_or_else(|| wire::join(spans.iter().map(|span| &span.wire)).into());
        Ok(Self { received, spans, encoded, rejected, reason })
    }
}

/// The fragments of one request.
#[derive(Debug)]
pub struct RequestFragments {
    /// The time of receipt in microseconds since 1970.
    pub received: i64,
    /// The accepted log records, in order of arrival.
    pub fragments: Vec<Fragment>,
    /// The fragments as one `TracesData` message.
    pub encoded: Bytes,
    /// The number of log records without content for a span.
    pub dropped: u64,
    /// The number of rejected log records.
    pub rejected: u64,
    /// The reason for the first rejection; empty if there was no rejection.
    pub reason: String,
}

impl RequestFragments {
    /// Returns the fragments of a decoded request, which was received at `received` (microseconds since
    /// 1970).
    pub fn new(received: i64, logs: DecodedLogs) -> Self {
        let DecodedLogs { fragments, dropped, rejected, reason } = logs;
        let mut encoded = Vec::new();
        append_fragments(&mut encoded, &fragments);
        Self { received, fragments, encoded: encoded.into(), dropped, rejected, reason }
    }
}

/// One request, split into a part for each shard. The store of a shard takes its part unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitRequest {
    /// The time of receipt in microseconds since 1970.
    pub received: i64,
    /// The shards with a part of the request, in the order of arrival. Each part is one `TracesData` message.
    pub parts: Vec<(usize, Bytes)>,
    /// The number of rejected spans or log records.
    pub rejected: u64,
    /// The reason for the first rejection; empty if there was no rejection.
    pub reason: String,
    /// The number of log records without content for a span.
    pub dropped: u64,
}

impl RequestSpans {
    /// Splits the spans by the shard of their trace. A request for a single shard is not encoded again.
    pub fn split(self, shards: &ShardMap) -> SplitRequest {
        let Self { received, spans, encoded, rejected, reason } = self;
        let parts = grouped(spans, |span| shards.shard_of(span.trace_id));
        let is_one = parts.len() == 1;
        let encode = |spans: Vec<Arc<Span>>| {
            if is_one { encoded.clone() } else { wire::join(spans.iter().map(|span| &span.wire)).into() }
        };
        let parts = parts.into_iter().map(|(shard, spans)| (shard, encode(spans))).collect();
        SplitRequest { received, parts, rejected, reason, dropped: 0 }
    }
}

impl RequestFragments {
    /// Splits the fragments by the shard of their trace.
    pub fn split(self, shards: &ShardMap) -> SplitRequest {
        let Self { received, fragments, encoded: _, dropped, rejected, reason } = self;
        let encode = |fragments: Vec<Fragment>| {
            let mut encoded = Vec::new();
            append_fragments(&mut encoded, &fragments);
            encoded.into()
        };
        let parts = grouped(fragments, |fragment| shards.shard_of(fragment.trace_id));
        let parts = parts.into_iter().map(|(shard, fragments)| (shard, encode(fragments))).collect();
        SplitRequest { received, parts, rejected, reason, dropped }
    }
}

/// Groups items by shard, in order of arrival.
fn grouped<T>(items: Vec<T>, shard_of: impl Fn(&T) -> usize) -> Vec<(usize, Vec<T>)> {
    let mut groups: Vec<(usize, Vec<T>)> = Vec::new();
    for item in items {
        let shard = shard_of(&item);
        match groups.iter_mut().find(|(own, _)| *own == shard) {
            Some((_, group)) => group.push(item),
            None => groups.push((shard, vec![item])),
        }
    }
    groups
}

/// A decoded part of a [`SplitRequest`].
#[derive(Debug)]
pub struct RequestPart {
    /// The time of receipt in microseconds since 1970.
    pub received: i64,
    /// The spans, in order of arrival.
    pub spans: Vec<Arc<Span>>,
    /// The fragments, in order of arrival.
    pub fragments: Vec<Fragment>,
    /// The spans and fragments as one `TracesData` message.
    pub encoded: Bytes,
}

impl RequestPart {
    /// Decodes a part of a [`SplitRequest`]. Its spans were checked before the split.
    ///
    /// # Errors
    /// [`crate::error::Error::Decode`] if `encoded` is not such a part.
    pub fn read(received: i64, encoded: Bytes) -> Result<Self> {
        let fragments = fragments_of(&encoded)?;
        let spans = wire::split(encoded.clone())?.into_iter();
        let spans = spans.map(|span| Span::from_wire(span).map(Arc::new)).collect::<Result<_>>()?;
        Ok(Self { received, spans, fragments, encoded })
    }
}

/// Decodes request bodies within a limit on concurrency and memory.
#[derive(Debug)]
pub struct RequestDecoder {
    /// One unit per processor: decoding more requests at once is no faster.
    processors: Semaphore,
    /// One unit per byte of memory.
    memory: Semaphore,
}

/// The units of a request that is being decoded, released on drop.
#[derive(Debug)]
pub struct DecodePermits<'a> {
    _processor: Permit<'a>,
    _memory: Permit<'a>,
}

impl RequestDecoder {
    /// Returns a decoder whose concurrent requests take about `max_bytes` bytes of memory in total. A request
    /// that needs more is decoded alone.
    pub fn new(max_bytes: u64) -> Self {
        let processors = available_parallelism().map_or(1, |count| count.get() as u64);
        Self { processors: Semaphore::new(processors), memory: Semaphore::new(max_bytes) }
    }

    /// Waits for permits, then decodes the request. Drop the permits after the memory of the spans is
    /// accounted for elsewhere.
    ///
    /// # Errors
    /// The errors of [`otlp::decode`].
    pub fn decode(
        &self,
        body: &[u8],
        content_type: &str,
        content_encoding: Option<&str>,
    ) -> Result<(RequestSpans, DecodePermits<'_>)> {
        let received = now_micros();
        let permits = self.acquire(limits::max_decode_bytes(body.len(), content_encoding))?;
        // Spans are slices of the body, so the engine must own it.
        let body = Bytes::copy_from_slice(body);
        let request = otlp::decode(body, content_type, content_encoding, now_nanos())?;
        Ok((RequestSpans::new(received, request)?, permits))
    }

    /// Decodes a request with log records, like [`RequestDecoder::decode`] for spans.
    ///
    /// # Errors
    /// The errors of [`otlp::decode`].
    pub fn decode_logs(
        &self,
        body: &[u8],
        content_type: &str,
        content_encoding: Option<&str>,
    ) -> Result<(RequestFragments, DecodePermits<'_>)> {
        let received = now_micros();
        let permits = self.acquire(limits::max_decode_bytes(body.len(), content_encoding))?;
        let body = Bytes::copy_from_slice(body);
        let logs = otlp::decode_logs(body, content_type, content_encoding, now_nanos())?;
        Ok((RequestFragments::new(received, logs), permits))
    }

    /// Decodes the part of a request that another process has decoded and split. Waits for permits like
    /// [`RequestDecoder::decode`].
    ///
    /// # Errors
    /// The errors of [`RequestPart::read`].
    pub fn read_part(&self, received: i64, part: &[u8]) -> Result<(RequestPart, DecodePermits<'_>)> {
        let permits = self.acquire(limits::max_decode_bytes(part.len(), None))?;
        Ok((RequestPart::read(received, Bytes::copy_from_slice(part))?, permits))
    }

    fn acquire(&self, bytes: u64) -> Result<DecodePermits<'_>> {
        let memory = self.memory.acquire(bytes, || Ok(()))?;
        let processor = self.processors.acquire(1, || Ok(()))?;
        Ok(DecodePermits { _processor: processor, _memory: memory })
    }
}

fn now_nanos() -> u64 {
    u64::try_from(now_micros()).unwrap_or(0).saturating_mul(NANOS_PER_MICRO)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    const PROTOBUF: &str = "application/x-protobuf";

    #[test]
    fn at_most_one_request_per_processor_is_decoded_at_once() {
        let decoder = RequestDecoder::new(1 << 20);
        let (running, max_running) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..24 {
                scope.spawn(|| {
                    let _permits = decoder.acquire(1).expect("a permit");
                    max_running.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(5));
                    running.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        let processors = available_parallelism().expect("a count").get();
        assert!((1..=processors).contains(&max_running.into_inner()));
    }

    #[test]
    fn a_request_that_cannot_be_decoded_returns_its_permits() {
        let decoder = RequestDecoder::new(0);
        for _ in 0..2 * available_parallelism().expect("a count").get() {
            assert!(decoder.decode(b"\xff", PROTOBUF, None).is_err());
        }
        assert!(decoder.decode(b"", PROTOBUF, None).expect("an empty message").0.spans.is_empty());
    }
}
