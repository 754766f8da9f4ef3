//! The model calls in a span table and their cost.

use std::convert::Infallible;

use super::table::SpanTable;
use crate::trace::cost::{
    CallCost, CallSpan, CallType, Price, SpanUsage, Tokens, TraceCost, for_each_call, prices,
};
use crate::trace::node_type::NodeType;
use crate::trace::view::SpanField;

/// The numeric fields from which a cost is calculated.
const NUMBERS: [&str; 5] = ["input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "cost"];

/// The model calls of a table.
#[derive(Debug)]
pub struct TableCalls<'t> {
    table: &'t SpanTable,
    /// The type of call for each combination of words.
    call_types: Vec<Option<CallType>>,
    /// The price of the model for each combination of words.
    prices: Vec<Option<Price>>,
    /// The columns of [`NUMBERS`].
    columns: [usize; NUMBERS.len()],
}

impl SpanTable {
    /// Returns the model calls of the table, at the prices of this process.
    ///
    /// # Panics
    /// If [`crate::trace::view::SPAN_FIELDS`] lacks the type, the model, the tokens or the cost.
    pub fn calls(&self) -> TableCalls<'_> {
        let of_words = |key: &str| SpanField::from_key(key).expect("a span has a type and a model");
        let call_type = |word: Option<&str>| match word {
            Some("LLM") => CallType::of(&NodeType::Llm),
            Some("EMBEDDING") => CallType::of(&NodeType::Embedding),
            _ => None,
        };
        let column =
            |key| SpanField::from_key(key).and_then(Self::number_column).expect("a column of numbers");
        TableCalls {
            table: self,
            call_types: self.of_combinations(of_words("type"), call_type),
            prices: self.of_combinations(of_words("model"), |model| prices().price_of(model?)),
            columns: NUMBERS.map(column),
        }
    }
}

impl TableCalls<'_> {
    /// Returns the cost of a row's trace; `None` if its document is unreadable.
    pub fn cost(&self, row: u32) -> Option<TraceCost> {
        let mut cost = TraceCost::NONE;
        self.for_each(row, |_, _, call| cost = cost.with(call)).then_some(cost)
    }

    /// Calls `visit` for each model call of a row with its combination of words, its usage and its cost.
    /// Returns `false` if the document of the row is unreadable.
    pub fn for_each(&self, row: u32, mut visit: impl FnMut(usize, SpanUsage, CallCost)) -> bool {
        if self.table.is_unreadable(row) {
            return false;
        }
        let ordinals = self.table.firsts[row as usize] as usize..self.table.firsts[row as usize + 1] as usize;
        let spans: Vec<CallSpan> =
            ordinals.clone().map(|ordinal| self.span(ordinal, ordinals.start)).collect();
        let code = |number: usize| self.table.codes.code(ordinals.start + number) as usize;
        let visited = for_each_call::<Infallible>(
            &spans,
            |number| Ok(self.prices[code(number)]),
            |number, counted, cost| visit(code(number), counted, cost),
        );
        visited.is_ok()
    }

    /// Returns the span at ordinal `ordinal`; `first` is the ordinal of the first span of its trace.
    fn span(&self, ordinal: usize, first: usize) -> CallSpan {
        let table = self.table;
        let call_type = self.call_types[table.codes.code(ordinal) as usize];
        let parent = usize::try_from(table.parents.get(ordinal)).ok().filter(|distance| *distance != 0);
        let below = usize::try_from(table.subtrees.get(ordinal)).unwrap_or_default();
        // Numbers are stored plus 1; a missing one is 0.
        let number = |at: usize| table.numbers[self.columns[at]].get(ordinal);
        let count = |at: usize| number(at).saturating_sub(1);
        let (tokens, report) = if call_type.is_some() {
            let tokens = Tokens { input: count(0), output: count(1), cached: count(2), reasoning: count(3) };
            (tokens, number(4).checked_sub(1))
        } else {
            (Tokens::default(), None)
        };
        CallSpan {
            call_type,
            tokens,
            report,
            parent: parent.map(|distance| ordinal - first - distance),
            end: ordinal - first + 1 + below,
        }
    }
}
