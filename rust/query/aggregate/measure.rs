//! Parses and checks the measures of an aggregation (`docs/reference/api-counts.md#aggregate`).

use serde::Deserialize;
use serde_json::Number;
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::schema::{FIELDS, Field, FieldType};
use crate::trace::cost::{CostField, TraceNumber, nanodollars_of};

/// The maximum number of bins of a histogram.
pub const MAX_BINS: usize = 1_000;
/// The maximum length of a measure's name, in characters.
const MAX_NAME_CHARS: usize = 64;
const DEFAULT_BINS: usize = 20;

/// One number or histogram per group.
#[derive(Debug, Clone)]
pub(super) struct Measure {
    pub(super) name: String,
    pub(super) operation: Operation,
    /// The condition on the measured traces, and its canonical text; `None` for all traces.
    pub(super) condition: Option<(Filter, String)>,
}

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
    /// The least value, and the first value above the range; `None` if it follows from the data.
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

/// True if traces can be grouped by a field. The texts of such a field recur.
pub(super) fn is_text(field: Field) -> bool {
    matches!(field.field_type(), FieldType::Text | FieldType::Status) && field != Field::TraceId
}

fn is_number(field: Field) -> bool {
    field.field_type() == FieldType::Number
}

pub(super) fn field_of(key: &str, is_good: fn(Field) -> bool, path: &str) -> Result<Field> {
    Field::from_key(key).filter(|field| is_good(*field)).ok_or_else(|| {
        let good = FIELDS.iter().filter(|info| is_good(info.field));
        let costs = CostField::ALL.map(CostField::key).into_iter().filter(|_| is_good(Field::TotalTokens));
        let known: Vec<String> =
            good.map(|info| info.key).chain(costs).map(|key| format!("`{key}`")).collect();
        let given: String = key.chars().take(MAX_NAME_CHARS).collect();
        invalid(format!("Expected one of {}, got `{given}`", known.join(", ")), path)
    })
}

impl Measure {
    /// Returns the measure that a body at `path` describes.
    ///
    /// # Errors
    /// The errors of [`super::Aggregation::compile`].
    pub(super) fn new(body: &MeasureBody<'_>, path: &str) -> Result<Self> {
        if !(1..=MAX_NAME_CHARS).contains(&body.name.chars().count()) {
            let message = format!("Expected a name of 1 to {MAX_NAME_CHARS} characters");
            return Err(invalid(message, &format!("{path}.name")));
        }
        body.check_members(path)?;
        let number = || body.number(path);
        let operation = match body.op.as_str() {
            "COUNT" => Operation::Count,
            "COUNT_DISTINCT" => {
                Operation::CountDistinct(field_of(body.key(path)?, is_text, &format!("{path}.key"))?)
            }
            "SUM" => Operation::Sum(number()?),
            "AVG" => Operation::Avg(number()?),
            "MIN" => Operation::Min(number()?),
            "MAX" => Operation::Max(number()?),
            "QUANTILE" => Operation::Quantile(number()?, body.quantile(path)?),
            _ => {
                let number = number()?;
                Operation::Histogram(number, body.histogram(number, path)?)
            }
        };
        let compiled = |source: &RawValue| {
            let filter = Filter::compile(source.get().as_bytes());
            filter.map_err(|error| error.at(&format!("{path}.where")))
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

/// The operations, each with its members besides `name`, `op` and `where`.
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
    /// Checks that the operation exists and that it takes all given members.
    fn check_members(&self, path: &str) -> Result<()> {
        let Some((op, members)) = OPERATIONS.iter().find(|(op, _)| *op == self.op) else {
            let known: Vec<String> = OPERATIONS.iter().map(|(op, _)| format!("`{op}`")).collect();
            return Err(invalid(format!("Expected one of {}", known.join(", ")), &format!("{path}.op")));
        };
        let given = [
            ("key", self.key.is_some()),
            ("q", self.q.is_some()),
            ("scale", self.scale.is_some()),
            ("bins", self.bins.is_some()),
            ("range", self.range.is_some()),
        ];
        for (member, is_given) in given {
            if is_given && !members.contains(&member) {
                return Err(invalid(format!("`{op}` takes no `{member}`"), &format!("{path}.{member}")));
            }
        }
        Ok(())
    }

    fn key(&self, path: &str) -> Result<&str> {
        let missing = || invalid(format!("`{}` needs a field", self.op), &format!("{path}.key"));
        self.key.as_deref().ok_or_else(missing)
    }

    fn number(&self, path: &str) -> Result<TraceNumber> {
        let key = self.key(path)?;
        let cost = CostField::from_key(key).map(TraceNumber::Cost);
        let column = || field_of(key, is_number, &format!("{path}.key")).map(TraceNumber::Column);
        cost.map_or_else(column, Ok)
    }

    fn quantile(&self, path: &str) -> Result<f64> {
        let q = self.q.filter(|q| (0.0..=1.0).contains(q));
        q.ok_or_else(|| invalid("Expected a number from 0 to 1", &format!("{path}.q")))
    }

    fn histogram(&self, number: TraceNumber, path: &str) -> Result<Bins> {
        let is_log = match self.scale.as_deref() {
            None | Some("linear") => false,
            Some("log") => true,
            Some(_) => return Err(invalid("Expected `linear` or `log`", &format!("{path}.scale"))),
        };
        let count = self.bins.unwrap_or(DEFAULT_BINS);
        if !(1..=MAX_BINS).contains(&count) {
            return Err(invalid(
                format!("Expected 1 to {MAX_BINS} bins, got {count}"),
                &format!("{path}.bins"),
            ));
        }
        let bound = |bound: &Number| stored(bound, number);
        let range = match &self.range {
            None => None,
            Some((low, high)) => {
                let range = bound(low).zip(bound(high)).filter(|(low, high)| low < high);
                let invalid = || invalid("Expected a low and a greater high value", &format!("{path}.range"));
                Some(range.ok_or_else(invalid)?)
            }
        };
        Ok(Bins { is_log, count, range })
    }
}

/// Returns a number in its stored unit: costs in nanodollars. `None` if it does not fit in 64 bits.
fn stored(value: &Number, number: TraceNumber) -> Option<i64> {
    match number {
        TraceNumber::Column(_) => value.as_i64(),
        TraceNumber::Cost(_) => nanodollars_of(&value.to_string()).and_then(|cost| i64::try_from(cost).ok()),
    }
}

/// Returns the error of a request with an invalid member at `path`.
pub(super) fn invalid(message: impl Into<String>, path: &str) -> Error {
    Error::Request(format!("{} - at `{path}`", message.into()))
}
