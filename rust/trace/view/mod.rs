//! A trace as conditions on its spans see it: ordinals in the tree, fields, attributes, and texts.

mod costs;
mod fields;
mod trace_view;
mod preview;
mod probe;
mod stored;
mod texts;

pub use fields::{Derived, SPAN_FIELDS, SpanColumn, SpanField, SpanValue};
pub use preview::write_span_preview;
pub use probe::TextProbe;
pub use stored::{DecodedSpan, StoredSpan, StoredTrace};
pub use texts::Channel;
pub use trace_view::{AttributeScope, TraceView};
