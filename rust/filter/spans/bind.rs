//! Binds conditions on spans: resolves fields, checks operators and types literals.

use super::attribute::AttributeTest;
use super::content::Pattern;
use super::predicate::{AxisPredicate, Relation, SpanPredicate, SpanTest};
use crate::filter::error::LocatedError;
use crate::filter::expr::{AxisExpr, Condition, Expr, Operand, SpanExpr};
use crate::filter::json::{Json, excerpt};
use crate::filter::leaf::{FieldShape, Leaf, bind_leaf, joined_words};
use crate::schema::{Field, FieldType, Operator};
use crate::trace::cost::CostField;
use crate::trace::view::{SPAN_FIELDS, SpanField};

/// Maximum number of conditions of one filter that search texts.
pub const MAX_PATTERNS: usize = 16;

/// The fields of a trace that cover the texts of all its spans.
pub(in crate::filter) const CONTENT_FIELDS: [&str; 4] = ["input", "output", "error", "text"];

/// Binds the conditions on spans of one filter.
#[derive(Debug, Default)]
pub(in crate::filter) struct SpanBinder {
    patterns: usize,
}

impl SpanBinder {
    /// Returns the test of a condition outside `SPAN`; `None` if its key is a column. `NEQ` becomes `EQ`; the
    /// caller negates it.
    pub(in crate::filter) fn of_trace(
        &mut self,
        condition: &Condition,
    ) -> Result<Option<SpanTest>, LocatedError> {
        if let Some(test) = AttributeTest::bind(condition) {
            return test.map(SpanTest::Attribute).map(Some);
        }
        if let Some(field) = CostField::from_key(&condition.key) {
            return of_cost(field, condition).map(Some);
        }
        let field = SpanField::from_key(&condition.key);
        let Some((field, channel)) = field.and_then(|field| Some((field, field.channel()?))) else {
            return Ok(None);
        };
        let found = match self.pattern(field, condition)? {
            Some(pattern) => SpanTest::Contains(channel, pattern),
            None => SpanTest::HasText(channel),
        };
        Ok(Some(found))
    }

    /// Returns the test of `SPAN`.
    pub(in crate::filter) fn span(&mut self, span: &SpanExpr) -> Result<SpanTest, LocatedError> {
        let predicate = self.condition(&span.condition).map_err(|error| error.in_member("where"))?;
        Ok(SpanTest::Count { predicate, at_least: span.at_least.unwrap_or(1), at_most: span.at_most })
    }

    /// Returns the predicate of a condition on one span.
    ///
    /// Recursion is bounded by the depth of the expression.
    pub(super) fn condition(&mut self, expr: &Expr) -> Result<SpanPredicate, LocatedError> {
        match expr {
            Expr::And(conditions) => self.conditions(conditions).map(SpanPredicate::And),
            Expr::Or(conditions) => self.conditions(conditions).map(SpanPredicate::Or),
            Expr::Not(condition) => {
                let part = self.condition(condition).map_err(|error| error.in_member("condition"))?;
                Ok(SpanPredicate::Not(Box::new(part)))
            }
            Expr::Axis(axis) => {
                let relation = self.relation(axis)?;
                let part = self.condition(&axis.condition).map_err(|error| error.in_member("where"))?;
                Ok(SpanPredicate::Axis(Box::new(AxisPredicate { relation, part })))
            }
            Expr::Span(_) => {
                Err(LocatedError::new("`SPAN` inside of `SPAN`, expected a condition on a span")
                    .in_member("op"))
            }
            Expr::Condition(condition) => {
                let leaf = self.leaf(condition)?;
                let is_negated = condition.operator == Operator::Neq;
                Ok(if is_negated { SpanPredicate::Not(Box::new(leaf)) } else { leaf })
            }
        }
    }

    /// Returns an axis with its options.
    pub(super) fn relation(&mut self, axis: &AxisExpr) -> Result<Relation, LocatedError> {
        let of_field = |(index, key): (usize, &String)| {
            look_up(key).map_err(|error| error.in_element(index).in_member("same"))
        };
        let without = axis.without.as_ref().map(|without| self.condition(without)).transpose();
        Ok(Relation {
            axis: axis.axis,
            from: axis.options.from.unwrap_or_default(),
            scope: axis.options.scope.unwrap_or_default(),
            same: axis.options.same.iter().enumerate().map(of_field).collect::<Result<_, _>>()?,
            without: without.map_err(|error| error.in_member("without"))?,
        })
    }

    /// Moves cheap parts to the front, because the order does not change the result.
    fn conditions(&mut self, conditions: &[Expr]) -> Result<Vec<SpanPredicate>, LocatedError> {
        let bound = conditions.iter().enumerate().map(|(index, condition)| {
            self.condition(condition).map_err(|error| error.in_element(index).in_member("conditions"))
        });
        let mut bound = bound.collect::<Result<Vec<_>, _>>()?;
        bound.sort_by_key(SpanPredicate::cost);
        Ok(bound)
    }

    fn leaf(&mut self, condition: &Condition) -> Result<SpanPredicate, LocatedError> {
        if let Some(test) = AttributeTest::bind(condition) {
            return test.map(SpanPredicate::Attribute);
        }
        let field = look_up(&condition.key).map_err(|error| error.in_member("key"))?;
        match (field.channel(), self.pattern(field, condition)?) {
            (Some(channel), Some(pattern)) => Ok(SpanPredicate::Contains(channel, pattern)),
            (Some(channel), None) => Ok(SpanPredicate::HasText(channel)),
            (None, _) => bind_leaf(shape(field), condition).map(|leaf| SpanPredicate::Field(field, leaf)),
        }
    }

    /// Returns the pattern of a `CONTAINS` on texts; `None` for other conditions.
    fn pattern(&mut self, field: &SpanField, condition: &Condition) -> Result<Option<Pattern>, LocatedError> {
        if field.channel().is_none() {
            return Ok(None);
        }
        bind_leaf(shape(field), condition)?;
        let Operand::One(Json::Text(text)) = &condition.operand else { return Ok(None) };
        self.patterns += 1;
        if self.patterns > MAX_PATTERNS {
            return Err(LocatedError::new(format!(
                "expected at most {MAX_PATTERNS} texts to look for, got more"
            )));
        }
        Pattern::of(text, condition.ignore_case.unwrap_or(true)).map(Some)
    }
}

fn of_cost(field: CostField, condition: &Condition) -> Result<SpanTest, LocatedError> {
    let shape = FieldShape { key: field.key(), field_type: FieldType::Dollars, is_lower_case: false };
    Ok(match bind_leaf(shape, condition)? {
        Leaf::Number(numbers) => SpanTest::Cost(field, numbers),
        _ => SpanTest::HasCost(field),
    })
}

fn shape(field: &SpanField) -> FieldShape<'_> {
    FieldShape { key: field.key, field_type: field.field_type, is_lower_case: false }
}

fn look_up(key: &str) -> Result<&'static SpanField, LocatedError> {
    SpanField::from_key(key).ok_or_else(|| {
        let known = joined_words(SPAN_FIELDS.iter().map(|field| field.key));
        let of_trace = Field::from_key(key).map(|_| " is a field of a trace").unwrap_or_default();
        let unknown = if of_trace.is_empty() { "unknown field" } else { "field" };
        let found = excerpt(key);
        let message = format!("{unknown} `{found}`{of_trace}, expected a field of a span: {known}, `attributes.<key>` or `resource.<key>`");
        LocatedError::new(message)
    })
}
