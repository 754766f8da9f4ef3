//! The request for facets.

use serde::Deserialize;

use super::CountFacetsRequest;
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::query::messages::size;
use crate::schema::{FIELDS, Field, FieldType};

/// The greatest number of values of one facet.
pub const MAX_FACET_VALUES: usize = 1_000;

/// The facets to count. As JSON, an object with `fields`, `limit`, and optionally `prefix` (a field and a text) and
/// `exclude_own`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "FacetMembers")]
pub struct FacetRequest {
    /// The fields, distinct.
    pub(super) fields: Vec<Field>,
    /// Values per field.
    pub(super) limit: usize,
    /// A field and the prefix of its values.
    pub(super) prefix: Option<(Field, String)>,
    /// True to ignore the conditions on a field for its own counts.
    pub(super) exclude_own: bool,
}

#[derive(Deserialize)]
struct FacetMembers {
    fields: Vec<String>,
    limit: usize,
    prefix: Option<(String, String)>,
    #[serde(default)]
    exclude_own: bool,
}

impl TryFrom<FacetMembers> for FacetRequest {
    type Error = Error;

    fn try_from(members: FacetMembers) -> Result<Self> {
        let keys: Vec<&str> = members.fields.iter().map(String::as_str).collect();
        let request = Self::new(&keys, members.limit)?.excluding_own(members.exclude_own);
        members.prefix.map_or(Ok(request.clone()), |(key, text)| request.with_prefix(&key, &text))
    }
}

impl FacetRequest {
    /// Returns this request as a message.
    pub(super) fn to_message(&self, is_estimate: bool) -> CountFacetsRequest {
        let (prefix_field, prefix) = self
            .prefix
            .as_ref()
            .map_or_else(Default::default, |(field, text)| (Some(field.key().to_owned()), text.clone()));
        CountFacetsRequest {
            fields: self.fields.iter().map(|field| field.key().to_owned()).collect(),
            limit: self.limit as u64,
            prefix_field,
            prefix,
            exclude_own: self.exclude_own,
            is_estimate,
        }
    }

    /// Returns the request in a message.
    ///
    /// # Errors
    /// [`Error::Options`] if it is invalid.
    pub(super) fn of_message(message: &CountFacetsRequest) -> Result<Self> {
        FacetMembers {
            fields: message.fields.clone(),
            limit: size(message.limit),
            prefix: message.prefix_field.clone().map(|key| (key, message.prefix.clone())),
            exclude_own: message.exclude_own,
        }
        .try_into()
    }
}

/// Filters, each with the fields to count among its traces.
pub(super) type FieldGroups = Vec<(Filter, Vec<Field>)>;

impl FacetRequest {
    /// Returns the request for the `limit` most frequent values of each of the fields named `keys`.
    ///
    /// # Errors
    /// [`Error::Options`] if a field has no facet or is repeated, or `limit` is not in 1 to [`MAX_FACET_VALUES`].
    pub fn new(keys: &[&str], limit: usize) -> Result<Self> {
        if !(1..=MAX_FACET_VALUES).contains(&limit) {
            return Err(Error::Options(format!(
                "expected a limit from 1 to {MAX_FACET_VALUES}, got {limit}"
            )));
        }
        let mut fields = Vec::with_capacity(keys.len());
        for key in keys {
            let field = facet_field(key)?;
            if fields.contains(&field) {
                return Err(Error::Options(format!("expected every field once, got `{key}` twice")));
            }
            fields.push(field);
        }
        Ok(Self { fields, limit, prefix: None, exclude_own: false })
    }

    /// Returns this request with the values of the field named `key` restricted to a prefix.
    ///
    /// # Errors
    /// [`Error::Options`] if the field is not in the request.
    pub fn with_prefix(self, key: &str, text: &str) -> Result<Self> {
        let field = facet_field(key)?;
        if !self.fields.contains(&field) {
            return Err(Error::Options(format!(
                "expected a prefix for one of the fields, got one for `{key}`"
            )));
        }
        Ok(Self { prefix: Some((field, text.to_owned())), ..self })
    }

    /// Returns this request with the conditions on a field ignored for its own counts.
    #[must_use]
    pub fn excluding_own(self, exclude_own: bool) -> Self {
        Self { exclude_own, ..self }
    }

    /// Returns the whole filter with its fields, then filters without the conditions on one field, and the fields whose
    /// conditions cannot be removed.
    ///
    /// # Errors
    /// Never if the filter is compiled.
    pub(super) fn groups(&self, filter: &Filter) -> Result<(FieldGroups, Vec<&'static str>)> {
        let (mut whole, mut others, mut not_excluded) = (Vec::new(), Vec::new(), Vec::new());
        for field in &self.fields {
            if !self.exclude_own || !filter.mentions(*field) {
                whole.push(*field);
                continue;
            }
            if let Some(rest) = filter.without(*field)? {
                others.push((rest, vec![*field]));
            } else {
                whole.push(*field);
                not_excluded.push(field.key());
            }
        }
        Ok((std::iter::once((filter.clone(), whole)).chain(others).collect(), not_excluded))
    }

    /// Returns the prefix that the values of a field must have.
    pub(super) fn prefix_of(&self, field: Field) -> Option<&str> {
        self.prefix.as_ref().filter(|(narrowed, _)| *narrowed == field).map(|(_, text)| text.as_str())
    }
}

/// Returns the field named `key` if it has a facet. Text fields do, except for the trace id, whose values are all
/// different.
fn facet_field(key: &str) -> Result<Field> {
    let has_facet = |field: Field| {
        matches!(field.field_type(), FieldType::Text | FieldType::Status) && field != Field::TraceId
    };
    Field::from_key(key).filter(|field| has_facet(*field)).ok_or_else(|| {
        let known = FIELDS.iter().filter(|info| has_facet(info.field));
        let known: Vec<String> = known.map(|info| format!("`{}`", info.key)).collect();
        Error::Options(format!("expected one of {} as a facet, got `{key}`", known.join(", ")))
    })
}
