//! OTLP/JSON -> encoded protobuf.
use super::WireSpan;
use super::check::Verdict;
use crate::error::{Error, Result};
use bytes::Bytes;
pub(super) fn walk(_body: &Bytes, _visit: impl FnMut(Verdict<WireSpan>) -> Result<()>) -> Result<()> {
    Err(Error::MediaType("json is not served yet".to_owned()))
}
