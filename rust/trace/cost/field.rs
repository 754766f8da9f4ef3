//! What a trace cost as a field of filters, and as a number beside the columns of its row.

use super::trace_cost::TraceCost;
use crate::schema::Field;

/// A field of a trace that says what it cost. A trace has one of them; one whose document is damaged has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostField {
    /// What the trace cost.
    Whole,
    /// What is known of it, where the cost of a call is not.
    Partial,
}

impl CostField {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Whole, Self::Partial];

    /// Returns the name in filters and responses.
    pub fn key(self) -> &'static str {
        match self {
            Self::Whole => "cost",
            Self::Partial => "cost_partial",
        }
    }

    /// Returns the display name.
    pub fn label(self) -> &'static str {
        match self {
            Self::Whole => "Cost ($)",
            Self::Partial => "Known Part of the Cost ($)",
        }
    }

    /// Returns the field with this name.
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.key() == key)
    }
}

impl TraceCost {
    /// Returns the value of a field in nanodollars, if the trace has it.
    pub fn value(self, field: CostField) -> Option<i64> {
        match (self, field) {
            (Self::Whole(amount), CostField::Whole) | (Self::Partial(amount), CostField::Partial) => {
                Some(i64::try_from(amount).unwrap_or(i64::MAX))
            }
            _ => None,
        }
    }
}

/// A number of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceNumber {
    /// A column of its row.
    Column(Field),
    /// What it cost, in nanodollars; not every trace has it.
    Cost(CostField),
}

impl From<Field> for TraceNumber {
    fn from(field: Field) -> Self {
        Self::Column(field)
    }
}

impl TraceNumber {
    /// Returns the field of the costs that it is.
    pub fn cost(self) -> Option<CostField> {
        match self {
            Self::Column(_) => None,
            Self::Cost(field) => Some(field),
        }
    }

    /// Returns the column of the row that it is.
    pub fn column(self) -> Option<Field> {
        match self {
            Self::Column(field) => Some(field),
            Self::Cost(_) => None,
        }
    }
}
