//! Bulk transfer: exports of whole stores from a snapshot, and imports of millions of spans.
//!
//! Export: [`scan`] returns the rows that a filter matches, [`spans`] returns their spans, and [`Download`]
//! returns either as the bytes of a file. All of them read one snapshot, batch by batch. Import: [`import`]
//! reads spans in the form of [`spans`]. A downloaded and re-imported store returns the same search results
//! and has the same spans in every document.
//!
//! ```text
//! snapshot x filter -> matches -> rows (scan)
//!                              -> documents -> spans -> Arrow, Parquet, NDJSON, OTLP (download)
//! batches -> decode (checks) -> steps of traces -> storage bulk loads each step (import)
//! ```

pub mod columns;
mod decode;
pub mod download;
pub mod encoded;
pub mod import;
mod ipc;
pub mod join;
mod matches;
pub mod records;
pub mod scan;
pub mod spans;
mod zstd_stream;

pub use columns::span_schema;
pub use download::{Download, Format};
pub use import::{ImportOptions, ImportReport, Rejection, import, import_into_shards};
pub use ipc::{IpcSize, ipc_size};
pub use join::SpanFileJoiner;
pub use matches::DownloadProgress;
pub use scan::{RowScan, scan};
pub use spans::{Spans, spans};
pub use zstd_stream::ZstdDecoder;
