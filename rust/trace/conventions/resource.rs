//! The resource attributes that rows need.

use super::reader::text_of;
use crate::otlp::span_ref::attributes_of_resource;

/// The names of each text of a resource; the first present one wins. Langfuse's SDK also uses names of its
/// own.
const SERVICE: &[&str] = &["service.name"];
const ENVIRONMENT: &[&str] =
    &["deployment.environment.name", "deployment.environment", "langfuse.environment"];
const RELEASE: &[&str] = &["service.version", "langfuse.release"];

/// The resource attributes of a run that rows need (<https://opentelemetry.io/docs/specs/semconv/resource/>).
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ResourceTexts {
    /// The name of the service.
    pub service: Option<String>,
    /// The deployment environment, such as `production`.
    pub environment: Option<String>,
    /// The version of the service.
    pub release: Option<String>,
}

impl ResourceTexts {
    /// Returns the texts of an encoded `Resource` message. For a malformed message, returns the texts before
    /// the error.
    pub fn of(resource: &[u8]) -> Self {
        let attributes: Vec<_> = attributes_of_resource(resource).map_while(Result::ok).collect();
        let text = |names: &[&str]| {
            names.iter().find_map(|name| {
                let own = attributes.iter().find(|attribute| attribute.key == name.as_bytes())?;
                text_of(own.value).filter(|text| !text.is_empty()).map(Into::into)
            })
        };
        Self { service: text(SERVICE), environment: text(ENVIRONMENT), release: text(RELEASE) }
    }
}
