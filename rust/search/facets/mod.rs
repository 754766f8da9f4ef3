//! Counts the values of text fields among the traces that a filter matches (`docs/reference/api-counts.md#facets`).
//!
//! Every part counts by its own codes, in parallel. Where all rows of a segment are selected, its index says how many
//! rows each code has; else the rows are counted by code, or the codes by their rows, whichever takes fewer steps.
//! Values that several parts have are then added up by their number ([`crate::storage::SharedValues`]), so that only
//! the values that are returned are ever compared as texts.

mod front;
mod head;
mod merge;
mod request;
mod segment;
mod tally;
mod top;

use std::sync::Arc;

use arrow_array::RecordBatch;
use serde::{Serialize, Serializer as _};

use super::cancellation::CancellationToken;
use super::pool::{in_rounds, threads};
use super::selection::{PARTS_PER_THREAD, Selection, select};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::index::columns::Projection;
use crate::schema::Field;
use crate::storage::{SharedValues, Snapshot};
pub(super) use front::FacetFront;
use head::HeadCounts;
use merge::{Column, Facet};
pub use request::{FacetRequest, MAX_FACET_VALUES};
use segment::{SegmentCounts, SelectedRows, count};
pub(super) use top::Top;

/// The greatest length of all values of a response together, in bytes.
const MAX_VALUE_BYTES: usize = 512 << 10;

/// Fields per thread that are merged in one round.
const FIELDS_PER_THREAD: usize = 2;

/// The counted facets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facets {
    /// A JSON object: by field, the most frequent values with their counts, how many values there are, how many traces
    /// have none, and whether there are more values.
    pub data: Vec<u8>,
    /// How many traces the filter matches.
    pub matched: u64,
    /// The fields whose conditions were to be left out of their own counts, but stand beside those of other fields.
    pub not_excluded: Vec<&'static str>,
}

/// Facets that can be counted in one snapshot.
#[derive(Debug)]
pub struct FacetPlan {
    snapshot: Arc<Snapshot>,
    request: FacetRequest,
    /// The whole filter with the fields that it selects traces for, then others.
    groups: Vec<(Filter, Vec<Field>)>,
    not_excluded: Vec<&'static str>,
}

impl FacetPlan {
    /// Plans the facets of the traces that `filter` matches.
    ///
    /// # Errors
    /// Damage found while an index is rebuilt.
    pub fn new(snapshot: Arc<Snapshot>, filter: &Filter, request: FacetRequest) -> Result<Self> {
        for field in &request.fields {
            // Not in the pool: a pool thread that waits may pick up another search, which would then wait for the
            // numbers that this one is computing.
            snapshot.shared_values(*field)?;
        }
        let (groups, not_excluded) = request.groups(filter)?;
        Ok(Self { snapshot, request, groups, not_excluded })
    }

    /// Returns an upper bound of the memory that counting takes, in bytes.
    ///
    /// # Errors
    /// Damage found while an index is rebuilt.
    pub fn bytes(&self) -> Result<u64> {
        const BYTES_PER_HEAD_VALUE: usize = 96;
        const BYTES_PER_TOP_VALUE: usize = 32;
        /// The texts of the values, their JSON, and its copies.
        const COPIES: usize = 4;
        let parts = self.snapshot.parts();
        let (mut rows, mut largest, mut most_values) = (0, 0, 0);
        let mut bytes = COPIES * MAX_VALUE_BYTES;
        for field in &self.request.fields {
            let shared = self.snapshot.shared_values(*field)?;
            bytes += 8 * shared.end() as usize + self.snapshot.head_rows() * BYTES_PER_HEAD_VALUE;
            bytes += (parts.len() + 1) * self.request.limit * BYTES_PER_TOP_VALUE;
            for (segment, part) in parts.iter().filter(|part| part.is_sealed()).enumerate() {
                bytes += 8 * shared.of_segment(segment).codes.len();
                let columns = part.columns(Projection::SORT_KEY.and(*field))?;
                most_values =
                    most_values.max(columns.texts(*field).map_or(0, |texts| texts.distinct() as usize));
            }
        }
        for part in parts {
            rows += part.count();
            largest = largest.max(part.count());
        }
        // The selected rows of all parts, and at once: half of the rows of a segment, as numbers and as a bitmap, and
        // a counter of each value.
        bytes += rows / 4 + threads() * (largest * 9 / 4 + 4 * most_values);
        Ok(bytes as u64)
    }

    /// Counts the facets.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the values are too long together; [`Error::Cancelled`]; damage found while an index is
    /// rebuilt.
    pub fn run(&self, cancel: &CancellationToken) -> Result<Facets> {
        let (mut matched, mut value_bytes) = (0, 0);
        let mut answers = Vec::with_capacity(self.request.fields.len());
        for (at, (filter, fields)) in self.groups.iter().enumerate() {
            let projection = fields.iter().copied().fold(Projection::SORT_KEY, Projection::and);
            let selections = select(&self.snapshot, filter, projection, cancel)?;
            if at == 0 {
                matched = selections.iter().map(|selection| selection.count as u64).sum();
            }
            let counted = Counting { snapshot: &self.snapshot, request: &self.request, cancel };
            answers.extend(counted.facets(&selections, fields, &mut value_bytes)?);
        }
        Ok(Facets { data: print(&self.request, answers)?, matched, not_excluded: self.not_excluded.clone() })
    }
}

/// Returns facets as a JSON object, in the order of the request.
fn print(request: &FacetRequest, mut answers: Vec<(Field, FacetAnswer)>) -> Result<Vec<u8>> {
    let position = |field: &Field| request.fields.iter().position(|own| own == field);
    answers.sort_by_key(|(field, _)| position(field));
    let mut data = Vec::new();
    let mut serializer = serde_json::Serializer::new(&mut data);
    let written = serializer.collect_map(answers.iter().map(|(field, answer)| (field.key(), answer)));
    written.map_err(|error| Error::Batch(format!("the facets cannot be printed: {error}")))?;
    Ok(data)
}

/// Checks the length of all values of a response together.
///
/// # Errors
/// [`Error::TooLarge`] if they are too long.
fn check_value_bytes(bytes: usize) -> Result<()> {
    if bytes <= MAX_VALUE_BYTES {
        return Ok(());
    }
    Err(Error::TooLarge(format!(
        "the values of these facets exceed {} KiB, expected a smaller limit or fewer fields",
        MAX_VALUE_BYTES >> 10
    )))
}

/// What counting needs besides the selected rows.
struct Counting<'p> {
    snapshot: &'p Snapshot,
    request: &'p FacetRequest,
    cancel: &'p CancellationToken,
}

impl Counting<'_> {
    /// Returns the facets of some fields in the selected rows.
    /// Adds the length of their values to `value_bytes`.
    fn facets(
        &self,
        selections: &[Selection<'_>],
        fields: &[Field],
        value_bytes: &mut usize,
    ) -> Result<Vec<(Field, FacetAnswer)>> {
        let (segments, head): (Vec<_>, Vec<_>) =
            selections.iter().partition(|selection| selection.part.is_sealed());
        let head: Vec<(RecordBatch, &Selection<'_>)> =
            head.into_iter().map(|part| Ok((part.part.batch()?, part))).collect::<Result<_>>()?;
        let column = |(_, field): (usize, &Field)| {
            self.cancel.check()?;
            self.column(&segments, &head, *field)
        };
        let columns: Vec<Column<'_>> = in_rounds(fields, FIELDS_PER_THREAD, column)?;
        let count = |(segment, selection): (usize, &&Selection<'_>)| {
            let rows = SelectedRows::of(selection);
            let each = columns.iter().map(|column| {
                self.cancel.check()?;
                let (texts, counted) = column.counted(segment);
                Ok(count(texts, &rows, &counted))
            });
            each.collect()
        };
        let counts: Vec<Vec<SegmentCounts>> = in_rounds(&segments, PARTS_PER_THREAD, count)?;
        let facets: Vec<Facet<'_>> = in_rounds(&columns, FIELDS_PER_THREAD, |(at, column)| {
            self.cancel.check()?;
            let counts: Vec<&SegmentCounts> = counts.iter().map(|counts| &counts[at]).collect();
            Ok(column.merge(&counts))
        })?;
        let values = facets.iter().flat_map(|facet| &facet.values);
        *value_bytes += values.map(|(_, value)| value.len()).sum::<usize>();
        check_value_bytes(*value_bytes)?;
        Ok(fields.iter().copied().zip(facets.iter().map(FacetAnswer::of)).collect())
    }

    fn column<'a>(
        &'a self,
        segments: &[&'a Selection<'_>],
        head: &'a [(RecordBatch, &Selection<'_>)],
        field: Field,
    ) -> Result<Column<'a>> {
        let prefix = self.request.prefix_of(field).unwrap_or_default();
        let shared: &SharedValues = self.snapshot.shared_values(field)?;
        let texts = segments.iter().filter_map(|selection| {
            let segment = self.snapshot.segments_before(selection.index);
            Some((selection.view.texts(field)?, shared.of_segment(segment)))
        });
        let batches = head.iter().map(|(batch, selection)| (batch, &selection.rows));
        let head = HeadCounts::new(batches, field, prefix);
        Ok(Column::new(texts.collect(), shared, head, (prefix, self.request.limit)))
    }
}

/// A facet as the response shows it.
#[derive(Debug, Serialize)]
struct FacetAnswer {
    values: Vec<ValueCount>,
    distinct: u64,
    missing: u64,
    truncated: bool,
}

/// A value with the number of traces that have it.
#[derive(Debug, Serialize)]
struct ValueCount {
    value: String,
    count: u64,
}

impl FacetAnswer {
    fn of(facet: &Facet<'_>) -> Self {
        Self::new(facet.values.iter().copied(), facet.distinct, facet.missing)
    }

    fn new<'v>(values: impl Iterator<Item = (u64, &'v [u8])>, distinct: u64, missing: u64) -> Self {
        let value = |(count, value): (u64, &[u8])| ValueCount {
            value: String::from_utf8_lossy(value).into_owned(),
            count,
        };
        let values: Vec<ValueCount> = values.map(value).collect();
        let truncated = distinct > values.len() as u64;
        Self { values, distinct, missing, truncated }
    }
}
