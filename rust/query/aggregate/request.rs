//! Parses, checks and compiles the body of an aggregation (`docs/reference/api-counts.md#aggregate`).

use std::collections::HashSet;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::filter::{Filter, MAX_CONDITIONS};
use crate::query::aggregate::calls::CallMeasure;
use crate::query::aggregate::measure::{Bins, Measure, MeasureBody, Operation, field_of, invalid, is_text};
use crate::schema::Field;
use crate::time::parse_instant;

/// The maximum number of time buckets.
pub const MAX_BUCKETS: usize = 1_000;
/// The maximum number of fields to group by.
pub const MAX_BY: usize = 2;
/// The maximum number of measures.
pub const MAX_MEASURES: usize = 16;
/// The maximum number of cells: the groups, each with its buckets and the bins of its histograms.
pub const MAX_CELLS: usize = 10_000;

const DEFAULT_LIMIT: usize = 10;
/// The key that groups model calls by their model.
const MODEL: &str = "model";
const NANOS_PER_MICRO: i128 = 1_000;

/// A compiled aggregation: immutable, shared by threads.
#[derive(Debug, Clone)]
pub struct Aggregation {
    /// The compiled body.
    source: Arc<[u8]>,
    pub(super) filter: Filter,
    pub(super) time: Option<TimeRange>,
    /// The fields that group traces.
    pub(super) by: Vec<By>,
    /// The maximum number of models, if model calls are grouped instead of traces.
    pub(super) by_model: Option<usize>,
    pub(super) measures: Vec<Measure>,
}

/// The time range that is divided into buckets, in microseconds since 1970. An end is `None` if it follows from the
/// data.
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

impl Aggregation {
    /// Compiles the body of a request.
    ///
    /// # Errors
    /// [`Error::Request`] with the path of the invalid member; [`Error::Filter`] for a filter. The path of an error in
    /// `filter` starts there, and the path of an error in a `where` starts at the root of the body.
    pub fn compile(source: &[u8]) -> Result<Self> {
        let body: Body<'_> =
            serde_json::from_slice(source).map_err(|error| invalid(format!("Invalid body: {error}"), "$"))?;
        let filter = body
            .filter
            .map_or_else(|| Ok(Filter::all()), |filter| Filter::compile(filter.get().as_bytes()))?;
        let time = body.time.map(TimeRange::new).transpose()?;
        let (by, by_model) = match body.by.as_slice() {
            [one] if one.key == MODEL => (Vec::new(), Some(limit(one, 0)?)),
            fields => (by_fields(fields)?, None),
        };
        if !(1..=MAX_MEASURES).contains(&body.measures.len()) {
            let message = format!("Expected 1 to {MAX_MEASURES} measures, got {}", body.measures.len());
            return Err(invalid(message, "$.measures"));
        }
        let mut names = HashSet::new();
        let mut conditions = filter.conditions();
        let mut measures = Vec::with_capacity(body.measures.len());
        for (index, measure) in body.measures.iter().enumerate() {
            let path = format!("$.measures[{index}]");
            if !names.insert(&measure.name) {
                let message = format!("Expected distinct names, got `{}` twice", measure.name);
                return Err(invalid(message, &format!("{path}.name")));
            }
            let measure = Measure::new(measure, &path)?;
            if by_model.is_some() && CallMeasure::of(measure.operation).is_none() {
                let message =
                    "Expected `COUNT`, or `SUM` of tokens or of a cost, because `model` groups calls";
                return Err(invalid(message, &path));
            }
            conditions += measure.condition.as_ref().map_or(0, |(condition, _)| condition.conditions());
            if conditions > MAX_CONDITIONS {
                let message =
                    format!("Expected at most {MAX_CONDITIONS} conditions in all filters together, got more");
                return Err(invalid(message, &format!("{path}.where")));
            }
            measures.push(measure);
        }
        let aggregation = Self { source: source.into(), filter, time, by, by_model, measures };
        aggregation.check_cells()?;
        Ok(aggregation)
    }

    /// Returns this aggregation over the traces that also have `value` in `field`. This condition is evaluated first.
    ///
    /// # Errors
    /// [`Error::Filter`] if `field` is unknown or `value` does not have its type.
    pub fn restrict(&self, field: &str, value: &str) -> Result<Self> {
        Ok(Self { filter: self.filter.restrict(field, value)?, ..self.clone() })
    }

    /// Returns this aggregation on behalf of a caller: see [`Filter::for_tenant`].
    #[must_use]
    pub fn for_tenant(&self, caller: &str) -> Self {
        let mut own = Self { filter: self.filter.for_tenant(caller), ..self.clone() };
        for (condition, _) in own.measures.iter_mut().filter_map(|measure| measure.condition.as_mut()) {
            *condition = condition.for_tenant(caller);
        }
        own
    }

    /// Returns the caller of this aggregation: see [`Filter::for_tenant`].
    pub(crate) fn caller(&self) -> &str {
        self.filter.caller()
    }

    /// Returns the compiled body, and the restrictions in order, as fields and values. Compiling the body and applying
    /// the restrictions gives this aggregation again.
    pub(crate) fn source(&self) -> (&[u8], &[(String, String)]) {
        (&self.source, self.filter.unrestricted().1)
    }

    /// Returns the fields to read, without the fields of filters.
    pub(super) fn fields(&self) -> impl Iterator<Item = Field> {
        let measured = self.measures.iter().filter_map(|measure| match measure.operation {
            Operation::CountDistinct(field) => Some(field),
            operation => operation.number()?.column(),
        });
        self.by.iter().map(|by| by.field).chain(measured)
    }

    /// True if a measure uses the costs of traces.
    pub(super) fn reads_costs(&self) -> bool {
        self.measures.iter().any(|measure| measure.operation.number().is_some_and(|of| of.cost().is_some()))
    }

    fn check_cells(&self) -> Result<()> {
        let groups =
            self.by.iter().fold(self.by_model.unwrap_or(1), |groups, by| groups.saturating_mul(by.limit));
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
fn instant(text: &str, path: &str) -> Result<i64> {
    let nanos = parse_instant(text).ok_or_else(|| invalid("Expected an ISO 8601 time", path))?;
    let micros = -(-nanos).div_euclid(NANOS_PER_MICRO);
    i64::try_from(micros).map_err(|_| invalid("Expected an ISO 8601 time", path))
}

/// Returns the maximum number of groups of a field.
fn limit(body: &ByBody, index: usize) -> Result<usize> {
    let limit = body.limit.unwrap_or(DEFAULT_LIMIT);
    if (1..=MAX_CELLS).contains(&limit) {
        return Ok(limit);
    }
    Err(invalid(format!("Expected 1 to {MAX_CELLS} groups, got {limit}"), &format!("$.by[{index}].limit")))
}

fn by_fields(bodies: &[ByBody]) -> Result<Vec<By>> {
    if bodies.len() > MAX_BY {
        return Err(invalid(format!("Expected at most {MAX_BY} fields, got {}", bodies.len()), "$.by"));
    }
    if let Some(index) = bodies.iter().position(|body| body.key == MODEL) {
        let message = "Expected no other field beside `model`, which groups calls";
        return Err(invalid(message, &format!("$.by[{index}].key")));
    }
    let mut fields: Vec<By> = Vec::with_capacity(bodies.len());
    for (index, body) in bodies.iter().enumerate() {
        let field = field_of(&body.key, is_text, &format!("$.by[{index}].key"))?;
        if fields.iter().any(|by| by.field == field) {
            let message = format!("Expected distinct fields, got `{}` twice", body.key);
            return Err(invalid(message, &format!("$.by[{index}].key")));
        }
        let limit = limit(body, index)?;
        fields.push(By { field, limit });
    }
    Ok(fields)
}
