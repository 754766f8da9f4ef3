//! Binds an expression to a predicate: resolves fields and passes conditions to [`super::leaf`] and
//! [`super::spans`].

use std::sync::Arc;

use super::error::LocatedError;
use super::expr::{Condition, Expr};
use super::json::excerpt;
use super::leaf::{FieldShape, Leaf, bind_leaf, joined_words};
use super::predicate::Predicate;
use super::spans::{CONTENT_FIELDS, SpanBinder, SpanTest};
use crate::schema::{FIELDS, Field, Operator};
use crate::trace::cost::CostField;

pub(super) fn bind(expr: &Expr) -> Result<Predicate, LocatedError> {
    Binder::default().bind(expr)
}

#[derive(Default)]
struct Binder {
    spans: SpanBinder,
}

impl Binder {
    fn bind(&mut self, expr: &Expr) -> Result<Predicate, LocatedError> {
        match expr {
            Expr::And(conditions) => self.bind_all(conditions).map(Predicate::And),
            Expr::Or(conditions) => self.bind_all(conditions).map(Predicate::Or),
            Expr::Not(condition) => {
                let part = self.bind(condition).map_err(|error| error.in_member("condition"))?;
                Ok(Predicate::Not(Box::new(part)))
            }
            Expr::Condition(condition) => self.condition(condition),
            Expr::Span(span) => self.spans.span(span).map(of_spans),
            Expr::Axis(axis) => {
                let message = format!("`{}` outside of `SPAN`", axis.axis.word());
                Err(LocatedError::new(message).in_member("op"))
            }
        }
    }

    fn bind_all(&mut self, conditions: &[Expr]) -> Result<Vec<Predicate>, LocatedError> {
        let bound = conditions.iter().enumerate().map(|(index, condition)| {
            self.bind(condition).map_err(|error| error.in_element(index).in_member("conditions"))
        });
        bound.collect()
    }

    fn condition(&mut self, condition: &Condition) -> Result<Predicate, LocatedError> {
        let leaf = match Field::from_key(&condition.key) {
            Some(field) => of_column(field, condition)?,
            None => of_spans(self.spans.of_trace(condition)?.ok_or_else(|| unknown_field(&condition.key))?),
        };
        let is_negated = condition.operator == Operator::Neq;
        Ok(if is_negated { Predicate::Not(Box::new(leaf)) } else { leaf })
    }
}

fn of_spans(test: SpanTest) -> Predicate {
    Predicate::Spans(Arc::new(test))
}

fn of_column(field: Field, condition: &Condition) -> Result<Predicate, LocatedError> {
    let is_lower_case = field == Field::TraceId;
    let shape = FieldShape { key: field.key(), field_type: field.field_type(), is_lower_case };
    match bind_leaf(shape, condition)? {
        Leaf::Exists => Ok(Predicate::Exists(field)),
        Leaf::Text(matcher) => Ok(Predicate::Text(field, matcher)),
        Leaf::Number(numbers) => Ok(Predicate::Number(field, numbers)),
        Leaf::Time(instants) => Ok(Predicate::Time(field, instants)),
        Leaf::Boolean(_) => Err(unknown_field(field.key())),
    }
}

fn unknown_field(key: &str) -> LocatedError {
    let known = joined_words(
        FIELDS.iter().map(|info| info.key).chain(CostField::ALL.map(CostField::key)).chain(CONTENT_FIELDS),
    );
    let message = format!(
        "unknown field `{}`, expected one of {known}, `attributes.<key>` or `resource.<key>`",
        excerpt(key)
    );
    LocatedError::new(message).in_member("key")
}
