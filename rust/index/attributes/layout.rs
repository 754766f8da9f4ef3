//! The columns of an attribute index file, and the keys and values that it leaves out.

use std::collections::BTreeSet;

use crate::error::Result;
use crate::index::FileKind;
use crate::otlp::span_ref::{AttributeRef, ValueRef, attributes_of_resource};
use crate::trace::view::{AttributeScope, TraceView};

pub(super) const ATTRIBUTE_INDEX: FileKind = FileKind { magic: *b"SPANATT\n", format: 1 };

/// The maximum number of keys of a segment. If there are more, the order of the traces decides which ones are
/// indexed.
pub const MAX_KEYS: usize = 4_096;
/// The maximum length of a stored text, in bytes. For longer texts only their presence is stored.
pub const MAX_VALUE_BYTES: usize = 128;
/// The maximum length of a key, in bytes. Filters have the same limit.
pub(super) const MAX_KEY_BYTES: usize = 1_024;

#[derive(Debug, Clone, Copy)]
pub(super) enum AttributeColumn {
    Names,
    Values,
    Ordinals,
    Codes,
    Rows,
    Resources,
    Roots,
    Beyond,
}

/// Returns `true` if a key can be in an index: it is not too long and no part of it is a number.
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

/// Returns the names of the indexable keys of a trace's spans.
///
/// # Errors
/// As [`TraceView::attributes`].
pub fn names_of(view: &TraceView<'_>) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    let mut add = |scope, attribute: &AttributeRef<'_>| {
        names.extend(indexed_key(attribute).map(|key| name_of(scope, key)));
    };
    for ordinal in 0..view.len() {
        view.attributes(ordinal)?.iter().for_each(|attribute| add(AttributeScope::Span, attribute));
        let resource = attributes_of_resource(view.resource(ordinal)).filter_map(std::result::Result::ok);
        resource.for_each(|attribute| add(AttributeScope::Resource, &attribute));
    }
    Ok(names)
}

/// Returns the key of an attribute if it can be indexed and has a value.
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
