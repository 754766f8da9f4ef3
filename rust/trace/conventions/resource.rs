//! What rows need of a resource.

use super::reader::text_of;
use crate::otlp::span_ref::attributes_of_resource;

/// The names of each text of a resource; the first one present wins. Langfuse's SDK sends its own in resources too.
const SERVICE: &[&str] = &["service.name"];
const ENVIRONMENT: &[&str] =
    &["deployment.environment.name", "deployment.environment", "langfuse.environment"];
const RELEASE: &[&str] = &["service.version", "langfuse.release"];

/// What rows need of the resource of a run (<https://opentelemetry.io/docs/specs/semconv/resource/>).
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ResourceTexts {
    /// The name of the service.
    pub service: Option<String>,
    /// Where it is deployed, such as `production`.
    pub environment: Option<String>,
    /// The version of the service.
    pub release: Option<String>,
}

impl ResourceTexts {
    /// Returns the texts of an encoded `Resource` message; of a malformed one, those before what is malformed.
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
