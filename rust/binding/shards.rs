//! The Python classes for OTLP requests that are split among shards.

use bytes::Bytes;
use pyo3::prelude::*;

use super::bulk::import_all;
use super::detach::detached;
use super::open_store::OpenStore;
use super::otlp::{PyIngestReport, PyLogIngestReport};
use super::store::PyTraceStore;
use crate::error::Result;
use crate::ingest::{RequestDecoder, SplitRequest};
use crate::otlp::{Encoding, TraceId};
use crate::placement::ShardMap;
use crate::storage::IngestReport;

/// Splits OTLP requests among shards by trace.
#[pyclass(module = "spanwise._engine", name = "RequestSplitter", frozen)]
pub(super) struct PyRequestSplitter {
    shards: ShardMap,
    decoder: RequestDecoder,
}

#[pymethods]
impl PyRequestSplitter {
    /// Splits by the prefixes of shards. Decoding requests takes about `max_decoding_bytes` bytes of memory.
    #[new]
    #[allow(clippy::needless_pass_by_value, reason = "pyo3 extracts owned values")]
    fn new(py: Python<'_>, prefixes: Vec<String>, max_decoding_bytes: u64) -> PyResult<Self> {
        detached(py, || {
            let shards = ShardMap::new(&prefixes)?;
            Ok(Self { shards, decoder: RequestDecoder::new(max_decoding_bytes) })
        })
    }

    /// Returns the shard number of a trace, given by its hexadecimal id; `None` if the id is malformed.
    fn shard_of(&self, trace_id: &str) -> Option<usize> {
        TraceId::from_hex(trace_id).map(|trace_id| self.shards.shard_of(trace_id))
    }

    /// Imports a stream of spans into the stores of the shards, like `TraceStore.import_spans` for one store.
    #[allow(clippy::needless_pass_by_value, reason = "pyo3 extracts owned values")]
    fn import_spans(
        &self,
        stores: Vec<Bound<'_, PyTraceStore>>,
        stream: &Bound<'_, PyAny>,
        source: &str,
    ) -> PyResult<Vec<u8>> {
        let opened: Vec<&OpenStore> = stores.iter().map(|store| store.get().opened.as_ref()).collect();
        import_all(&self.shards, &opened, stream, source)
    }

    /// Decodes, checks and splits the spans of one OTLP request.
    #[pyo3(signature = (body, content_type, content_encoding = None))]
    fn split(
        &self,
        py: Python<'_>,
        body: &[u8],
        content_type: &str,
        content_encoding: Option<&str>,
    ) -> PyResult<PySplitRequest> {
        detached(py, || {
            let encoding = Encoding::of(content_type)?;
            let (request, _permits) = self.decoder.decode(body, content_type, content_encoding)?;
            Ok(PySplitRequest { request: request.split(&self.shards), encoding })
        })
    }

    /// Decodes, checks and splits the log records of one OTLP request that have content for a span.
    #[pyo3(signature = (body, content_type, content_encoding = None))]
    fn split_logs(
        &self,
        py: Python<'_>,
        body: &[u8],
        content_type: &str,
        content_encoding: Option<&str>,
    ) -> PyResult<PySplitRequest> {
        detached(py, || {
            let encoding = Encoding::of(content_type)?;
            let (request, _permits) = self.decoder.decode_logs(body, content_type, content_encoding)?;
            Ok(PySplitRequest { request: request.split(&self.shards), encoding })
        })
    }
}

/// A shard's result for its part of a request: accepted, rejected, and the first rejection reason.
type Outcome = (u64, u64, String);

/// One OTLP request, split among shards.
#[pyclass(module = "spanwise._engine", name = "SplitRequest", frozen)]
pub(super) struct PySplitRequest {
    request: SplitRequest,
    encoding: Encoding,
}

impl PySplitRequest {
    /// Returns the sums of the outcomes, including earlier rejections.
    fn sum(&self, outcomes: Vec<Outcome>) -> IngestReport {
        let start = IngestReport {
            accepted: 0,
            rejected: self.request.rejected,
            reason: self.request.reason.clone(),
        };
        outcomes.into_iter().fold(start, |sum, (accepted, rejected, reason)| IngestReport {
            accepted: sum.accepted + accepted,
            rejected: sum.rejected + rejected,
            reason: if sum.reason.is_empty() { reason } else { sum.reason },
        })
    }
}

#[pymethods]
impl PySplitRequest {
    /// The time when the request was received, in microseconds since 1970.
    #[getter]
    fn received(&self) -> i64 {
        self.request.received
    }

    /// The non-empty parts in the order of arrival: the shard number and the part.
    #[getter]
    fn parts(&self) -> Vec<(usize, Vec<u8>)> {
        let part = |(shard, part): &(usize, Bytes)| (*shard, part.to_vec());
        self.request.parts.iter().map(part).collect()
    }

    /// Returns the report for the spans from the outcomes of all parts, in the order of `parts`.
    fn report(&self, outcomes: Vec<Outcome>) -> PyIngestReport {
        PyIngestReport::new(self.encoding, self.sum(outcomes))
    }

    /// Returns the report for the log records, like `report` for spans.
    fn log_report(&self, outcomes: Vec<Outcome>) -> PyLogIngestReport {
        PyLogIngestReport::new(self.encoding, self.sum(outcomes), self.request.dropped)
    }
}

/// Stores a shard's part of a request that was received at `received`, microseconds since 1970. Returns after
/// it is durable: the number of accepted spans and log records, the number of rejected ones, and the first
/// rejection reason.
#[pyfunction]
pub(super) fn ingest_part(
    py: Python<'_>,
    store: &PyTraceStore,
    received: i64,
    part: &[u8],
) -> PyResult<Outcome> {
    detached(py, || -> Result<Outcome> {
        let report = store.opened.writer()?.ingest_part(received, part)?;
        Ok((report.accepted, report.rejected, report.reason))
    })
}
