//! What an aggregation asks for: parsed, checked and compiled (`docs/reference/api.md#aggregate`).

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::filter::{Filter, MAX_CONDITIONS};
use crate::schema::{FIELDS, Field, FieldType};
use crate::time::parse_instant;

/// The most buckets of time.
pub const MAX_BUCKETS: usize = 1_000;
/// The most fields to group by.
pub const MAX_BY: usize = 2;
/// The most measures.
pub const MAX_MEASURES: usize = 16;
/// The most cells: the groups, each with its buckets and the bins of its histograms.
pub const MAX_CELLS: usize = 10_000;
/// The most bins of a histogram.
pub const MAX_BINS: usize = 1_000;
/// The longest name of a measure, in characters.
const MAX_NAME_CHARS: usize = 64;

const DEFAULT_LIMIT: usize = 10;
const DEFAULT_BINS: usize = 20;
const NANOS_PER_MICRO: i128 = 1_000;

/// A compiled aggregation: immutable, shared by threads.
#[derive(Debug, Clone)]
pub struct Aggregation {
    pub(super) filter: Filter,
    pub(super) time: Option<TimeRange>,
    pub(super) by: Vec<By>,
    pub(super) measures: Vec<Measure>,
}

/// The time range that is divided into buckets, in microseconds since 1970; open where the data decides.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimeRange {
    pub(super) from: Option<i64>,
    pub(super) to: Option<i64>,
    pub(super) buckets: usize,
}

/// A field to group by.
#[derive(Debug, Clone, Copy)]
pub(super) struct By {
    pub(super) field: Field,
    pub(super) limit: usize,
}

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
    Sum(Field),
    Avg(Field),
    Min(Field),
    Max(Field),
    Quantile(Field, f64),
    Histogram(Field, Bins),
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
struct Body<'a> {
    #[serde(borrow, default)]
    filter: Option<&'a RawValue>,
    #[serde(default)]
    time: Option<TimeBody>,
    #[serde(default)]
    by: Vec<ByBody>,
    #[serde(borrow)]
    measures: Vec<MeasureBody<'a>>,
}

#[derive(Deserialize)]
struct TimeBody {
    from: Option<String>,
    to: Option<String>,
    buckets: usize,
}

#[derive(Deserialize)]
struct ByBody {
    key: String,
    limit: Option<usize>,
}

#[derive(Deserialize)]
struct MeasureBody<'a> {
    name: String,
    op: String,
    key: Option<String>,
    q: Option<f64>,
    scale: Option<String>,
    bins: Option<usize>,
    range: Option<(i64, i64)>,
    #[serde(borrow, default, rename = "where")]
    condition: Option<&'a RawValue>,
}

impl Aggregation {
    /// Compiles the body of a request.
    ///
    /// # Errors
    /// [`Error::Request`] naming the member that is wrong, and [`Error::Filter`] for a filter: the path of an error in
    /// `filter` begins there, that of one in a `where` at the root of the body.
    pub fn compile(source: &[u8]) -> Result<Self> {
        let body: Body<'_> =
            serde_json::from_slice(source).map_err(|error| invalid(format!("Invalid body: {error}"), "$"))?;
        let filter = body
            .filter
            .map_or_else(|| Ok(Filter::all()), |filter| Filter::compile(filter.get().as_bytes()))?;
        let time = body.time.map(TimeRange::new).transpose()?;
        let by = by_fields(&body.by)?;
        if !(1..=MAX_MEASURES).contains(&body.measures.len()) {
            let message = format!("Expected 1 to {MAX_MEASURES} measures, got {}", body.measures.len());
            return Err(invalid(message, "$.measures"));
        }
        let mut names = HashSet::new();
        let mut conditions = filter.conditions();
        let mut measures = Vec::with_capacity(body.measures.len());
        for (index, measure) in body.measures.iter().enumerate() {
            let place = format!("$.measures[{index}]");
            if !names.insert(&measure.name) {
                let message = format!("Expected distinct names, got `{}` twice", measure.name);
                return Err(invalid(message, &format!("{place}.name")));
            }
            let measure = Measure::new(measure, &place)?;
            conditions += measure.condition.as_ref().map_or(0, |(condition, _)| condition.conditions());
            if conditions > MAX_CONDITIONS {
                let message =
                    format!("Expected at most {MAX_CONDITIONS} conditions in all filters together, got more");
                return Err(invalid(message, &format!("{place}.where")));
            }
            measures.push(measure);
        }
        let aggregation = Self { filter, time, by, measures };
        aggregation.check_cells()?;
        Ok(aggregation)
    }

    /// Returns this aggregation over the traces that also have `value` in `field`, which is evaluated first.
    ///
    /// # Errors
    /// If `field` is unknown or `value` does not have its type.
    pub fn restrict(&self, field: &str, value: &str) -> Result<Self> {
        Ok(Self { filter: self.filter.restrict(field, value)?, ..self.clone() })
    }

    /// Returns the fields that are read besides those of filters.
    pub(super) fn fields(&self) -> impl Iterator<Item = Field> {
        let measured = self.measures.iter().filter_map(|measure| match measure.operation {
            Operation::Count => None,
            Operation::CountDistinct(field)
            | Operation::Sum(field)
            | Operation::Avg(field)
            | Operation::Min(field)
            | Operation::Max(field)
            | Operation::Quantile(field, _)
            | Operation::Histogram(field, _) => Some(field),
        });
        self.by.iter().map(|by| by.field).chain(measured)
    }

    fn check_cells(&self) -> Result<()> {
        let groups = self.by.iter().fold(1, |groups: usize, by| groups.saturating_mul(by.limit));
        let bins: usize = self.histograms().map(|bins| bins.count).sum();
        let buckets = self.time.map_or(0, |time| time.buckets);
        let cells = groups.saturating_mul((buckets + bins).max(1));
        if cells > MAX_CELLS {
            return Err(Error::Request(format!(
                "Expected at most {MAX_CELLS} cells, got {cells}: {groups} groups with {buckets} buckets and {bins} bins \
                 of histograms each - at `$`"
            )));
        }
        Ok(())
    }

    pub(super) fn histograms(&self) -> impl Iterator<Item = Bins> {
        self.measures.iter().filter_map(|measure| match measure.operation {
            Operation::Histogram(_, bins) => Some(bins),
            _ => None,
        })
    }
}

impl TimeRange {
    fn new(body: TimeBody) -> Result<Self> {
        if !(1..=MAX_BUCKETS).contains(&body.buckets) {
            let message = format!("Expected 1 to {MAX_BUCKETS} buckets, got {}", body.buckets);
            return Err(invalid(message, "$.time.buckets"));
        }
        let from = body.from.map(|text| instant(&text, "$.time.from")).transpose()?;
        let to = body.to.map(|text| instant(&text, "$.time.to")).transpose()?;
        if from.zip(to).is_some_and(|(from, to)| from >= to) {
            return Err(invalid("Expected a time after `from`", "$.time.to"));
        }
        Ok(Self { from, to, buckets: body.buckets })
    }
}

/// Returns the first whole microsecond at or after a time.
fn instant(text: &str, place: &str) -> Result<i64> {
    let nanos = parse_instant(text).ok_or_else(|| invalid("Expected an ISO 8601 time", place))?;
    let micros = -(-nanos).div_euclid(NANOS_PER_MICRO);
    i64::try_from(micros).map_err(|_| invalid("Expected an ISO 8601 time", place))
}

fn by_fields(bodies: &[ByBody]) -> Result<Vec<By>> {
    if bodies.len() > MAX_BY {
        return Err(invalid(format!("Expected at most {MAX_BY} fields, got {}", bodies.len()), "$.by"));
    }
    let mut fields: Vec<By> = Vec::with_capacity(bodies.len());
    for (index, body) in bodies.iter().enumerate() {
        let field = field_of(&body.key, is_text, &format!("$.by[{index}].key"))?;
        if fields.iter().any(|by| by.field == field) {
            let message = format!("Expected distinct fields, got `{}` twice", body.key);
            return Err(invalid(message, &format!("$.by[{index}].key")));
        }
        let limit = body.limit.unwrap_or(DEFAULT_LIMIT);
        if !(1..=MAX_CELLS).contains(&limit) {
            let message = format!("Expected 1 to {MAX_CELLS} groups, got {limit}");
            return Err(invalid(message, &format!("$.by[{index}].limit")));
        }
        fields.push(By { field, limit });
    }
    Ok(fields)
}

/// Whether the traces can be grouped by a field: its texts recur.
fn is_text(field: Field) -> bool {
    matches!(field.field_type(), FieldType::Text | FieldType::Status) && field != Field::TraceId
}

fn is_number(field: Field) -> bool {
    field.field_type() == FieldType::Number
}

fn field_of(key: &str, is_good: fn(Field) -> bool, place: &str) -> Result<Field> {
    Field::from_key(key).filter(|field| is_good(*field)).ok_or_else(|| {
        let good = FIELDS.iter().filter(|info| is_good(info.field));
        let known: Vec<String> = good.map(|info| format!("`{}`", info.key)).collect();
        let found: String = key.chars().take(MAX_NAME_CHARS).collect();
        invalid(format!("Expected one of {}, got `{found}`", known.join(", ")), place)
    })
}

impl Measure {
    fn new(body: &MeasureBody<'_>, place: &str) -> Result<Self> {
        if !(1..=MAX_NAME_CHARS).contains(&body.name.chars().count()) {
            let message = format!("Expected a name of 1 to {MAX_NAME_CHARS} characters");
            return Err(invalid(message, &format!("{place}.name")));
        }
        body.check_members(place)?;
        let number = || body.field(is_number, place);
        let operation = match body.op.as_str() {
            "COUNT" => Operation::Count,
            "COUNT_DISTINCT" => Operation::CountDistinct(body.field(is_text, place)?),
            "SUM" => Operation::Sum(number()?),
            "AVG" => Operation::Avg(number()?),
            "MIN" => Operation::Min(number()?),
            "MAX" => Operation::Max(number()?),
            "QUANTILE" => Operation::Quantile(number()?, body.quantile(place)?),
            _ => Operation::Histogram(number()?, body.histogram(place)?),
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

    fn field(&self, is_good: fn(Field) -> bool, place: &str) -> Result<Field> {
        let place = format!("{place}.key");
        let key =
            self.key.as_deref().ok_or_else(|| invalid(format!("`{}` needs a field", self.op), &place))?;
        field_of(key, is_good, &place)
    }

    fn quantile(&self, place: &str) -> Result<f64> {
        let q = self.q.filter(|q| (0.0..=1.0).contains(q));
        q.ok_or_else(|| invalid("Expected a number from 0 to 1", &format!("{place}.q")))
    }

    fn histogram(&self, place: &str) -> Result<Bins> {
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
        if self.range.is_some_and(|(low, high)| low >= high) {
            return Err(invalid("Expected a low and a greater high value", &format!("{place}.range")));
        }
        Ok(Bins { is_log, count, range: self.range })
    }
}

fn invalid(message: impl Into<String>, place: &str) -> Error {
    Error::Request(format!("{} - at `{place}`", message.into()))
}
