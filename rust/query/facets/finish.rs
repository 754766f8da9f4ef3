//! Writes facets as JSON.

use serde::Serializer as _;

use super::{Facet, FacetRequest};
use crate::error::{Error, Result};

/// The maximum size of all values of a response together, in bytes.
pub(super) const MAX_VALUE_BYTES: usize = 512 << 10;

/// Returns facets as a JSON object, in the order of the request.
///
/// # Errors
/// Never, because texts and numbers serialize without errors.
pub(super) fn print(request: &FacetRequest, mut facets: Vec<Facet>) -> Result<Vec<u8>> {
    facets.sort_by_key(|facet| request.fields.iter().position(|field| field.key() == facet.field));
    let mut data = Vec::new();
    let mut serializer = serde_json::Serializer::new(&mut data);
    let written = serializer.collect_map(facets.iter().map(|facet| (facet.field.as_str(), facet)));
    written.map_err(|error| Error::Batch(format!("the facets cannot be printed: {error}")))?;
    Ok(data)
}

/// Checks the total size of the values of a response.
///
/// # Errors
/// [`Error::TooLarge`] if they exceed [`MAX_VALUE_BYTES`].
pub(super) fn check_value_bytes(bytes: usize) -> Result<()> {
    if bytes <= MAX_VALUE_BYTES {
        return Ok(());
    }
    Err(Error::TooLarge(format!(
        "the values of these facets exceed {} KiB, expected a smaller limit or fewer fields",
        MAX_VALUE_BYTES >> 10
    )))
}
