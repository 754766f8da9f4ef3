//! The columns of the file of an attribute index, and what it leaves out.

use std::collections::BTreeSet;

use crate::error::Result;
use crate::index::FileKind;
use crate::otlp::span_ref::{AttributeRef, ValueRef, attributes_of_resource};
use crate::trace::view::{AttributeScope, TraceView};

/// The file of an attribute index.
pub(super) const ATTRIBUTE_INDEX: FileKind = FileKind { magic: *b"SPANATT\n", format: 1 };

/// The most keys of a segment. Which ones of more they are depends on the order of the traces.
pub const MAX_KEYS: usize = 4_096;
/// The greatest length of a text that is known itself, in bytes.
pub const MAX_VALUE_BYTES: usize = 128;
/// The greatest length of a key, in bytes: filters take no longer ones.
pub(super) const MAX_KEY_BYTES: usize = 1_024;

#[derive(Debug, Clone, Copy)]
pub(super) enum AttributeColumn {
    Names,
    Values,
    Places,
    Codes,
    Rows,
    Resources,
    Roots,
    Beyond,
}

/// Whether a key can be in an index: it has no part that is a number.
pub fn is_indexed(key: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    key.len() <= MAX_KEY_BYTES && !key.split('.').any(is_number)
}

/// Returns the name of a key as filters spell it.
pub(super) fn name_of(scope: AttributeScope, key: &str) -> String {
    match scope {
        AttributeScope::Span => format!("attributes.{key}"),
        AttributeScope::Resource => format!("resource.{key}"),
    }
}

/// Returns the names of the keys that the spans of a trace have, and an index would have.
///
/// # Errors
/// As [`TraceView::attributes`].
pub fn names_of(view: &TraceView<'_>) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    let mut add = |scope, attribute: &AttributeRef<'_>| {
        names.extend(indexed_key(attribute).map(|key| name_of(scope, key)));
    };
    for place in 0..view.len() {
        view.attributes(place)?.iter().for_each(|attribute| add(AttributeScope::Span, attribute));
        let resource = attributes_of_resource(view.resource(place)).filter_map(std::result::Result::ok);
        resource.for_each(|attribute| add(AttributeScope::Resource, &attribute));
    }
    Ok(names)
}

/// Returns the key of an attribute that an index has: of one that is indexed, and has a value.
pub(super) fn indexed_key<'a>(attribute: &AttributeRef<'a>) -> Option<&'a str> {
    let key = std::str::from_utf8(attribute.key).ok()?;
    (!key.is_empty() && is_indexed(key) && attribute.value != ValueRef::Missing).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_keys_are_not_indexed() {
        for key in ["llm.input_messages.0.message.role", "0", "a.17"] {
            assert!(!is_indexed(key), "{key}");
        }
        for key in ["http.status_code", "gpt-4.1", "v1.x2", "a..b", "retry_3"] {
            assert_eq!(is_indexed(key), key != "gpt-4.1", "{key}");
        }
        assert!(is_indexed(&"k".repeat(MAX_KEY_BYTES)) && !is_indexed(&"k".repeat(MAX_KEY_BYTES + 1)));
    }
}
