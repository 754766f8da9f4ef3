//! A trace as conditions on its spans see it: places in the tree, fields, attributes, and what was said.

mod costs;
mod fields;
mod places;
mod preview;
mod texts;

pub use fields::{Derived, SPAN_FIELDS, SpanColumn, SpanField, SpanValue};
pub use places::{Scope, TraceView};
pub use preview::write_span_preview;
pub use texts::Channel;
