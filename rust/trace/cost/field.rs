//! The cost of a trace as a field of filters, and as a number next to the columns of its row.

use super::trace_cost::TraceCost;
use crate::schema::Field;

/// A cost field of a trace. A trace has exactly one of them; both are missing if its document is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostField {
    /// The complete cost of the trace.
    Whole,
    /// The known part of the cost, if the cost of a call is unknown.
    Partial,
}

impl CostField {
    /// All cost fields.
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
    /// Returns the value of a field in nanodollars; `None` if the trace does not have the field.
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
    /// A cost in nanodollars; missing for some traces.
    Cost(CostField),
}

impl From<Field> for TraceNumber {
    fn from(field: Field) -> Self {
        Self::Column(field)
    }
}

impl TraceNumber {
    /// Returns the cost field; `None` for a column.
    pub fn cost(self) -> Option<CostField> {
        match self {
            Self::Column(_) => None,
            Self::Cost(field) => Some(field),
        }
    }

    /// Returns the column; `None` for a cost.
    pub fn column(self) -> Option<Field> {
        match self {
            Self::Column(field) => Some(field),
            Self::Cost(_) => None,
        }
    }
}
