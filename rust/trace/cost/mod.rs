//! The costs of spans and traces (`docs/reference/traces.md#cost`).
//!
//! A reported cost is read and stored with the other attributes of its span. Without a report, the cost is
//! the number of tokens times the price of the model. It is computed when it is requested. Prices change, so
//! no data on disk contains a computed cost.

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
pub(super) use of_spans::{
    SpanShare, cost_of_trace, model_of, shares_of_spans, shares_of_subtree, shares_of_trace,
};
pub use prices::{ModelPrice, Price, PriceTables, prices, set_prices};
pub use trace_cost::{CallCost, CallSpan, CostShare, TraceCost, cost_of, for_each_call, for_each_share};
