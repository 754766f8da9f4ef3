//! OTLP results that need no open store: request reports, dropped metrics, and error responses.

use bytes::Bytes;
use pyo3::prelude::*;

use super::detach::detached;
use crate::otlp::{self, Encoding, Signal, response};
use crate::storage::IngestReport;

/// The result of ingesting one OTLP request.
#[pyclass(module = "spanwise._engine", name = "IngestReport", frozen, get_all)]
pub(super) struct PyIngestReport {
    pub(super) accepted_spans: u64,
    pub(super) rejected_spans: u64,
    pub(super) reason: String,
    pub(super) response: Vec<u8>,
    pub(super) content_type: &'static str,
}

impl PyIngestReport {
    /// Returns the report for the spans of a request.
    pub(super) fn new(encoding: Encoding, stored: IngestReport) -> Self {
        let IngestReport { accepted: accepted_spans, rejected: rejected_spans, reason } = stored;
        let response = response::success(encoding, Signal::Traces, rejected_spans, &reason);
        Self { accepted_spans, rejected_spans, reason, response, content_type: encoding.media_type() }
    }
}

/// The result of ingesting one OTLP request with log records.
#[pyclass(module = "spanwise._engine", name = "LogIngestReport", frozen, get_all)]
pub(super) struct PyLogIngestReport {
    pub(super) kept_records: u64,
    pub(super) dropped_records: u64,
    pub(super) rejected_records: u64,
    pub(super) reason: String,
    pub(super) response: Vec<u8>,
    pub(super) content_type: &'static str,
}

impl PyLogIngestReport {
    /// Returns the report for the log records of a request. `dropped_records` of them have no content for a
    /// span.
    pub(super) fn new(encoding: Encoding, stored: IngestReport, dropped_records: u64) -> Self {
        let IngestReport { accepted: kept_records, rejected: rejected_records, reason } = stored;
        let response = response::success(encoding, Signal::Logs, rejected_records, &reason);
        let content_type = encoding.media_type();
        Self { kept_records, dropped_records, rejected_records, reason, response, content_type }
    }
}

/// The result of dropping one OTLP request with metrics.
#[pyclass(module = "spanwise._engine", name = "MetricDropReport", frozen, get_all)]
pub(super) struct PyMetricDropReport {
    pub(super) dropped_metrics: u64,
    pub(super) response: Vec<u8>,
    pub(super) content_type: &'static str,
}

/// Counts the metrics of one OTLP request, which are not stored.
#[pyfunction]
#[pyo3(signature = (body, content_type, content_encoding = None))]
pub(super) fn drop_metrics(
    py: Python<'_>,
    body: &[u8],
    content_type: &str,
    content_encoding: Option<&str>,
) -> PyResult<PyMetricDropReport> {
    detached(py, || {
        let encoding = Encoding::of(content_type)?;
        let dropped_metrics =
            otlp::count_metrics(Bytes::copy_from_slice(body), content_type, content_encoding)?;
        let response = response::success(encoding, Signal::Metrics, 0, "");
        Ok(PyMetricDropReport { dropped_metrics, response, content_type: encoding.media_type() })
    })
}

/// Returns the `google.rpc.Status` body for a rejected OTLP request.
#[pyfunction]
pub(super) fn otlp_status(
    py: Python<'_>,
    message: &str,
    content_type: &str,
    status: u16,
) -> PyResult<Vec<u8>> {
    detached(py, || Ok(response::failure(Encoding::of(content_type)?, status, message)))
}
