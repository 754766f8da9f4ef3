//! Decodes requests with metrics, which are not stored.

use bytes::Bytes;

use super::wire::{self, WireFields};
use super::{Encoding, inflate, json};
use crate::error::{Error, Result};

/// Returns the number of metrics in the body of a request. They are only parsed far enough to identify them
/// as metrics.
///
/// # Errors
/// The errors of [`super::decode`].
pub fn count_metrics(body: Bytes, content_type: &str, content_encoding: Option<&str>) -> Result<u64> {
    let encoding = Encoding::of(content_type)?;
    let body = inflate::inflate(body, content_encoding)?;
    let mut count = 0;
    match encoding {
        Encoding::Protobuf => wire::walk_records(&body, |metric| {
            count += 1;
            let unreadable = WireFields::of(metric).find_map(std::result::Result::err);
            unreadable.map_or(Ok(()), |error| {
                Err(Error::Decode(format!("metric {count}: {}", wire::describe_error(&error))))
            })
        })?,
        Encoding::Json => json::walk_metrics(&body, || count += 1)?,
    }
    Ok(count)
}
