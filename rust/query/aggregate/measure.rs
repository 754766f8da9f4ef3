//! What a measure of an aggregation computes: parsed and checked (`docs/reference/api-counts.md#aggregate`).

use serde::Deserialize;
use serde_json::Number;
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::schema::{FIELDS, Field, FieldType};
use crate::trace::cost::{CostField, TraceNumber, nanodollars_of};

/// The most bins of a histogram.
pub const MAX_BINS: usize = 1_000;
/// The longest name of a measure, in characters.
const MAX_NAME_CHARS: usize = 64;
const DEFAULT_BINS: usize = 20;

/// One number, or histogram, of every group.
#[derive(Debug, Clone)]
pub(super) struct Measure {
    pub(super) name: String,
    pub(super) operation: Operation,
    /// The condition on the traces that are measured, and its canonical text; `None` for all of them.
    pub(super) condition: Option<(Filter, String)>,
}

/// What a measure computes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Operation {
    Count,
    CountDistinct(Field),
    Sum(TraceNumber),
    Avg(TraceNumber),
    Min(TraceNumber),
    Max(TraceNumber),
    Quantile(TraceNumber, f64),
    Histogram(TraceNumber, Bins),
}

impl Operation {
    /// Returns the number that is measured.
    pub(super) fn number(self) -> Option<TraceNumber> {
        match self {
            Self::Count | Self::CountDistinct(_) => None,
            Self::Sum(number)
            | Self::Avg(number)
            | Self::Min(number)
            | Self::Max(number)
            | Self::Quantile(number, _)
            | Self::Histogram(number, _) => Some(number),
        }
    }
}

/// The bins of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bins {
    pub(super) is_log: bool,
    pub(super) count: usize,
    /// The least value and the first that is too great; `None` if the data decides.
    pub(super) range: Option<(i64, i64)>,
}

#[derive(Deserialize)]
pub(super) struct MeasureBody<'a> {
    pub(super) name: String,
    op: String,
    key: Option<String>,
    q: Option<f64>,
    scale: Option<String>,
    bins: Option<usize>,
    range: Option<(Number, Number)>,
    #[serde(borrow, default, rename = "where")]
    condition: Option<&'a RawValue>,
}

/// Whether the traces can be grouped by a field: its texts recur.
pub(super) fn is_text(field: Field) -> bool {
    matches!(field.field_type(), FieldType::Text | FieldType::Status) && field != Field::TraceId
}

fn is_number(field: Field) -> bool {
    field.field_type() == FieldType::Number
}

pub(super) fn field_of(key: &str, is_good: fn(Field) -> bool, place: &str) -> Result<Field> {
    Field::from_key(key).filter(|field| is_good(*field)).ok_or_else(|| {
        let good = FIELDS.iter().filter(|info| is_good(info.field));
        let costs = CostField::ALL.map(CostField::key).into_iter().filter(|_| is_good(Field::TotalTokens));
        let known: Vec<String> =
            good.map(|info| info.key).chain(costs).map(|key| format!("`{key}`")).collect();
        let found: String = key.chars().take(MAX_NAME_CHARS).collect();
        invalid(format!("Expected one of {}, got `{found}`", known.join(", ")), place)
    })
}

impl Measure {
    /// Returns the measure that a body describes, which is at `place`.
    ///
    /// # Errors
    /// As [`super::Aggregation::compile`].
    pub(super) fn new(body: &MeasureBody<'_>, place: &str) -> Result<Self> {
        if !(1..=MAX_NAME_CHARS).contains(&body.name.chars().count()) {
            let message = format!("Expected a name of 1 to {MAX_NAME_CHARS} characters");
            return Err(invalid(message, &format!("{place}.name")));
        }
        body.check_members(place)?;
        let number = || body.number(place);
        let operation = match body.op.as_str() {
            "COUNT" => Operation::Count,
            "COUNT_DISTINCT" => {
                Operation::CountDistinct(field_of(body.key(place)?, is_text, &format!("{place}.key"))?)
            }
            "SUM" => Operation::Sum(number()?),
            "AVG" => Operation::Avg(number()?),
            "MIN" => Operation::Min(number()?),
            "MAX" => Operation::Max(number()?),
            "QUANTILE" => Operation::Quantile(number()?, body.quantile(place)?),
            _ => {
                let number = number()?;
                Operation::Histogram(number, body.histogram(number, place)?)
            }
        };
        let compiled = |source: &RawValue| {
            let filter = Filter::compile(source.get().as_bytes());
            filter.map_err(|error| error.at(&format!("{place}.where")))
        };
        let condition = body.condition.map(compiled).transpose()?;
        let condition = condition.filter(|condition| condition.expr().is_some());
        let condition = condition.map(|condition| {
            let text = condition.canonical();
            (condition, text)
        });
        Ok(Self { name: body.name.clone(), operation, condition })
    }
}

/// Every operation with the members that it takes besides `name`, `op` and `where`.
const OPERATIONS: [(&str, &[&str]); 8] = [
    ("COUNT", &[]),
    ("COUNT_DISTINCT", &["key"]),
    ("SUM", &["key"]),
    ("AVG", &["key"]),
    ("MIN", &["key"]),
    ("MAX", &["key"]),
    ("QUANTILE", &["key", "q"]),
    ("HISTOGRAM", &["key", "scale", "bins", "range"]),
];

impl MeasureBody<'_> {
    /// Checks that the operation is known and that no member is given which it does not take.
    fn check_members(&self, place: &str) -> Result<()> {
        let Some((op, taken)) = OPERATIONS.iter().find(|(op, _)| *op == self.op) else {
            let known: Vec<String> = OPERATIONS.iter().map(|(op, _)| format!("`{op}`")).collect();
            return Err(invalid(format!("Expected one of {}", known.join(", ")), &format!("{place}.op")));
        };
        let given = [
            ("key", self.key.is_some()),
            ("q", self.q.is_some()),
            ("scale", self.scale.is_some()),
            ("bins", self.bins.is_some()),
            ("range", self.range.is_some()),
        ];
        for (member, is_given) in given {
            if is_given && !taken.contains(&member) {
                return Err(invalid(format!("`{op}` takes no `{member}`"), &format!("{place}.{member}")));
            }
        }
        Ok(())
    }

    fn key(&self, place: &str) -> Result<&str> {
        let missing = || invalid(format!("`{}` needs a field", self.op), &format!("{place}.key"));
        self.key.as_deref().ok_or_else(missing)
    }

    fn number(&self, place: &str) -> Result<TraceNumber> {
        let key = self.key(place)?;
        let cost = CostField::from_key(key).map(TraceNumber::Cost);
        let column = || field_of(key, is_number, &format!("{place}.key")).map(TraceNumber::Column);
        cost.map_or_else(column, Ok)
    }

    fn quantile(&self, place: &str) -> Result<f64> {
        let q = self.q.filter(|q| (0.0..=1.0).contains(q));
        q.ok_or_else(|| invalid("Expected a number from 0 to 1", &format!("{place}.q")))
    }

    fn histogram(&self, number: TraceNumber, place: &str) -> Result<Bins> {
        let is_log = match self.scale.as_deref() {
            None | Some("linear") => false,
            Some("log") => true,
            Some(_) => return Err(invalid("Expected `linear` or `log`", &format!("{place}.scale"))),
        };
        let count = self.bins.unwrap_or(DEFAULT_BINS);
        if !(1..=MAX_BINS).contains(&count) {
            return Err(invalid(
                format!("Expected 1 to {MAX_BINS} bins, got {count}"),
                &format!("{place}.bins"),
            ));
        }
        let bound = |bound: &Number| stored(bound, number);
        let range = match &self.range {
            None => None,
            Some((low, high)) => {
                let range = bound(low).zip(bound(high)).filter(|(low, high)| low < high);
                let invalid =
                    || invalid("Expected a low and a greater high value", &format!("{place}.range"));
                Some(range.ok_or_else(invalid)?)
            }
        };
        Ok(Bins { is_log, count, range })
    }
}

/// Returns a number as it is stored: costs in nanodollars. `None` if it is none of 64 bits.
fn stored(value: &Number, number: TraceNumber) -> Option<i64> {
    match number {
        TraceNumber::Column(_) => value.as_i64(),
        TraceNumber::Cost(_) => nanodollars_of(&value.to_string()).and_then(|cost| i64::try_from(cost).ok()),
    }
}

/// Returns the error of a request of which the member at `place` is wrong.
pub(super) fn invalid(message: impl Into<String>, place: &str) -> Error {
    Error::Request(format!("{} - at `{place}`", message.into()))
}
