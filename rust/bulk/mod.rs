//! Bulk transfer: whole stores out of a snapshot, and spans in by the million.
//!
//! Out: [`scan`] returns the rows a filter matches, [`spans`] the spans behind them, and [`Download`] either one as
//! the bytes of a file. All of them read one snapshot, batch by batch. In: [`import`] reads spans in the form that
//! [`spans`] returns them. A downloaded and re-imported store gives the same search results and holds the same
//! spans in every document.
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
