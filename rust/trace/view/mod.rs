//! A trace as conditions on its spans see it: ordinals in the tree, fields, attributes, and texts.

mod costs;
mod fields;
mod places;
mod preview;
mod probe;
mod stored;
mod texts;

pub use fields::{Derived, SPAN_FIELDS, SpanColumn, SpanField, SpanValue};
pub use places::{AttributeScope, TraceView};
pub use preview::write_span_preview;
pub use probe::TextProbe;
pub use stored::{DecodedSpan, StoredSpan, StoredTrace};
pub use texts::Channel;
