//! What spans and traces cost (`docs/reference/traces.md#cost`).
//!
//! What a span reports is read with its other attributes, and stored where those are. What has no report costs its tokens
//! times the price of its model, reckoned when it is asked for: prices change, and so nothing that is kept on a disk has any.

mod calls;
mod dollars;
mod field;
mod model_name;
mod of_spans;
mod prices;
mod trace_cost;

pub use calls::{CallType, SpanUsage, Tokens, counted_calls};
pub use dollars::{NANOS_PER_DOLLAR, format_dollars, nanodollars_of};
pub use field::{CostField, TraceNumber};
pub(super) use of_spans::{cost_of_spans, cost_of_trace};
pub use prices::{Price, PriceTables, prices, set_prices};
pub use trace_cost::{CallCost, CallSpan, TraceCost, cost_of, for_each_call};
