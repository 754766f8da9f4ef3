//! Counts the facets of one snapshot.

use arrow_array::RecordBatch;

use super::Facet;
use super::column::{Column, MergedField};
use super::finish::{MAX_VALUE_BYTES, check_value_bytes};
use super::head::HeadCounts;
use super::request::FacetRequest;
use super::segment::{SegmentCounts, SelectedRows, count};
use crate::error::Result;
use crate::filter::Filter;
use crate::index::columns::Projection;
use crate::index::ordinals::SharedValues;
use crate::query::cancellation::CancellationToken;
use crate::query::pool::{par_map_chunked, threads};
use crate::query::rows::selection::{PARTS_PER_THREAD, Selection, select};
use crate::schema::Field;
use crate::storage::Snapshot;

/// Fields per thread that are merged in one round.
const FIELDS_PER_THREAD: usize = 2;

/// Facets that can be counted in one snapshot.
pub(super) struct FacetPlan<'s> {
    snapshot: &'s Snapshot,
    request: FacetRequest,
    /// The whole filter with its fields, then filters without the conditions on one field.
    groups: Vec<(Filter, Vec<Field>)>,
}

impl<'s> FacetPlan<'s> {
    /// Plans the facets of the traces that `filter` matches.
    ///
    /// # Errors
    /// Damage found while an index is rebuilt.
    pub(super) fn new(snapshot: &'s Snapshot, filter: &Filter, request: FacetRequest) -> Result<Self> {
        for field in &request.fields {
            // Not in the pool: a pool thread that waits may pick up another search, which would then wait for the
            // numbers that this search is computing.
            snapshot.shared_values(*field)?;
        }
        let (groups, _) = request.groups(filter)?;
        Ok(Self { snapshot, request, groups })
    }

    /// Returns an upper bound of the memory that counting takes, in bytes.
    ///
    /// # Errors
    /// Damage found while an index is rebuilt.
    pub(super) fn bytes(&self) -> Result<u64> {
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
            for (segment, part) in parts.iter().filter(|part| part.is_segment()).enumerate() {
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
        // The selected rows of all parts. Each thread also has half of the rows of a segment, as numbers and as a
        // bitmap, and a counter per value.
        bytes += rows / 4 + threads() * (largest * 9 / 4 + 4 * most_values);
        Ok(bytes as u64)
    }

    /// Counts the facets. Returns the number of traces that the whole filter matches, and the facets.
    ///
    /// # Errors
    /// [`crate::error::Error::TooLarge`] if the values are too long in total; [`crate::error::Error::Cancelled`];
    /// damage found while an index is rebuilt.
    pub(super) fn run(&self, cancel: &CancellationToken) -> Result<(u64, Vec<Facet>)> {
        let (mut matched, mut value_bytes) = (0, 0);
        let mut facets = Vec::with_capacity(self.request.fields.len());
        for (at, (filter, fields)) in self.groups.iter().enumerate() {
            let projection = fields.iter().copied().fold(Projection::SORT_KEY, Projection::and);
            let selections = select(self.snapshot, filter, projection, cancel)?;
            if at == 0 {
                matched = selections.iter().map(|selection| selection.count as u64).sum();
            }
            let counting = Counting { snapshot: self.snapshot, request: &self.request, cancel };
            facets.extend(counting.facets(&selections, fields, &mut value_bytes)?);
        }
        Ok((matched, facets))
    }
}

/// The context of counting.
struct Counting<'p> {
    snapshot: &'p Snapshot,
    request: &'p FacetRequest,
    cancel: &'p CancellationToken,
}

impl Counting<'_> {
    /// Returns the facets of some fields in the selected rows, and adds the length of their values to `value_bytes`.
    fn facets(
        &self,
        selections: &[Selection<'_>],
        fields: &[Field],
        value_bytes: &mut usize,
    ) -> Result<Vec<Facet>> {
        let (segments, head): (Vec<_>, Vec<_>) =
            selections.iter().partition(|selection| selection.part.is_segment());
        let head: Vec<(RecordBatch, &Selection<'_>)> =
            head.into_iter().map(|part| Ok((part.part.batch()?, part))).collect::<Result<_>>()?;
        let column = |(_, field): (usize, &Field)| {
            self.cancel.check()?;
            self.column(&segments, &head, *field)
        };
        let columns: Vec<Column<'_>> = par_map_chunked(fields, FIELDS_PER_THREAD, column)?;
        let count = |(segment, selection): (usize, &&Selection<'_>)| {
            let rows = SelectedRows::of(selection);
            let each = columns.iter().map(|column| {
                self.cancel.check()?;
                let (texts, counted) = column.counted(segment);
                Ok(count(texts, &rows, &counted))
            });
            each.collect()
        };
        let counts: Vec<Vec<SegmentCounts>> = par_map_chunked(&segments, PARTS_PER_THREAD, count)?;
        let facets: Vec<MergedField<'_>> = par_map_chunked(&columns, FIELDS_PER_THREAD, |(at, column)| {
            self.cancel.check()?;
            let counts: Vec<&SegmentCounts> = counts.iter().map(|counts| &counts[at]).collect();
            Ok(column.merge(&counts))
        })?;
        let values = facets.iter().flat_map(|facet| &facet.values);
        *value_bytes += values.map(|(_, value)| value.len()).sum::<usize>();
        check_value_bytes(*value_bytes)?;
        let facet = |(field, counts): (&Field, &MergedField<'_>)| {
            Facet::new(field.key(), counts.values.iter().copied(), counts.distinct, counts.missing)
        };
        Ok(fields.iter().zip(&facets).map(facet).collect())
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
