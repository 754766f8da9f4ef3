//! What a search sees: one immutable state of the store.

pub(crate) mod columns;

use std::sync::{Arc, OnceLock};

use arrow_array::RecordBatch;
use bytes::Bytes;
use roaring::RoaringBitmap;

use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::index::{Bits, LiveRows, Projection, RowSet};
use crate::otlp::TraceId;
use crate::schema::Field;
use crate::storage::global_ordinals::{Earlier, KnownSessions, Ordinals};
use crate::storage::head::batch::HeadBatch;
use crate::storage::segment::Segment;
use crate::storage::snapshot::columns::View;
use crate::trace::Trace;

/// One state of the store. Every trace stands in exactly one row of it that is not hidden.
#[derive(Debug, Default)]
pub struct Snapshot {
    parts: Vec<Part>,
    /// The numbers of the sessions of its segments, found when they are first needed. States of the
    /// same segments share them.
    ordinals: Arc<OnceLock<Ordinals>>,
    /// Numbers of an earlier state, if any were found.
    earlier: Option<Arc<Earlier>>,
}

impl Snapshot {
    /// Returns the state made of `parts`, in which no two rows that are not hidden have one trace.
    pub fn new(parts: Vec<Part>) -> Self {
        Self { parts, ordinals: Arc::default(), earlier: None }
    }

    /// Returns this state with what was found for `before`: as it is if their segments are the same, else
    /// to begin with.
    pub(crate) fn after(mut self, before: &Self) -> Self {
        let (mut now, mut then) = (self.segments(), before.segments());
        let is_same = loop {
            match (now.next(), then.next()) {
                (None, None) => break true,
                (Some((one, _)), Some((other, _))) if std::ptr::eq(one, other) => {}
                _ => break false,
            }
        };
        drop((now, then));
        if is_same {
            self.ordinals = before.ordinals.clone();
            self.earlier.clone_from(&before.earlier);
        } else {
            let known = before.ordinals.get().map(|ordinals| Arc::new(ordinals.earlier()));
            self.earlier = known.or_else(|| before.earlier.clone());
        }
        self
    }

    /// Returns the numbers of the sessions of the segments, in the order of the parts.
    ///
    /// # Errors
    /// Damage met while an index is built anew.
    pub fn ordinals(&self) -> Result<&Ordinals> {
        if let Some(known) = self.ordinals.get() {
            return Ok(known);
        }
        let projection = Projection::SORT_KEY.and(Field::SessionId);
        let indexes = self.segments().map(|(segment, _)| segment.index(projection)).collect::<Result<_>>()?;
        Ok(self.ordinals.get_or_init(|| Ordinals::new(indexes, self.earlier.as_deref())))
    }

    /// Returns how many rows there are outside of segments.
    pub fn head_rows(&self) -> usize {
        let head = self.parts.iter().filter(|part| matches!(part.rows, Rows::Head(_)));
        head.map(Part::count).sum()
    }

    /// Returns how many segments stand before a part.
    pub fn segments_before(&self, place: usize) -> usize {
        self.parts[..place].iter().filter(|part| matches!(part.rows, Rows::Sealed(_))).count()
    }

    /// Returns the sealed segments and the batches of the head.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Returns the sealed segments with their hidden rows.
    pub(crate) fn segments(&self) -> impl Iterator<Item = (&Segment, &RoaringBitmap)> {
        self.parts.iter().filter_map(|part| match &part.rows {
            Rows::Sealed(segment) => Some((segment.as_ref(), part.hidden.as_ref())),
            Rows::Head(_) => None,
        })
    }

    /// Returns the sealed segments with their hidden rows, to be held longer than the snapshot.
    pub(crate) fn sealed(&self) -> Vec<(Arc<Segment>, Arc<RoaringBitmap>)> {
        let sealed = self.parts.iter().filter_map(|part| match &part.rows {
            Rows::Sealed(segment) => Some((segment.clone(), part.hidden.clone())),
            Rows::Head(_) => None,
        });
        sealed.collect()
    }

    /// Returns the part and the row in which the trace stands.
    pub fn find(&self, trace_id: TraceId) -> Option<(usize, usize)> {
        let places = self.parts.iter().enumerate();
        places.rev().find_map(|(place, part)| part.find(trace_id).map(|row| (place, row)))
    }
}

/// One sorted batch of rows, a sealed segment or a batch of the head, with the rows that are hidden.
#[derive(Debug, Clone)]
pub struct Part {
    rows: Rows,
    hidden: Arc<RoaringBitmap>,
}

/// Where the rows of a part come from.
#[derive(Debug, Clone)]
enum Rows {
    Sealed(Arc<Segment>),
    Head(Arc<HeadBatch>),
}

impl Part {
    /// Returns a part of the head that holds `traces`, each once, none hidden.
    pub fn of_traces(traces: Vec<Trace>) -> Self {
        Self::head(Arc::new(HeadBatch::of_traces(traces)), Arc::default())
    }

    pub(crate) fn head(batch: Arc<HeadBatch>, hidden: Arc<RoaringBitmap>) -> Self {
        Self { rows: Rows::Head(batch), hidden }
    }

    pub(crate) fn sealed(segment: Arc<Segment>, hidden: Arc<RoaringBitmap>) -> Self {
        Self { rows: Rows::Sealed(segment), hidden }
    }

    /// Whether it is a segment, not a batch of the head.
    pub fn is_sealed(&self) -> bool {
        matches!(self.rows, Rows::Sealed(_))
    }

    /// Returns how many rows there are, hidden ones included.
    pub fn count(&self) -> usize {
        match &self.rows {
            Rows::Sealed(segment) => segment.count() as usize,
            Rows::Head(batch) => batch.entries().len(),
        }
    }

    /// Returns the rows: [`crate::schema::trace_schema`], ordered by
    /// [`crate::trace::TraceRow::newest_first`], hidden ones included. Those of a segment are read and
    /// verified, all of them.
    ///
    /// # Errors
    /// [`crate::error::Error::Damage`] if the rows are not what was written.
    pub fn batch(&self) -> Result<RecordBatch> {
        match &self.rows {
            Rows::Sealed(segment) => segment.read_rows(),
            Rows::Head(batch) => Ok(batch.batch().clone()),
        }
    }

    /// Returns the rows, not hidden, that `filter` matches, unless `is_cancelled` returns true by then.
    ///
    /// # Errors
    /// [`Error::Cancelled`]; damage met while an index is built anew.
    pub fn rows(&self, filter: &Filter, is_cancelled: &dyn Fn() -> bool) -> Result<LiveRows> {
        let rows = match &self.rows {
            Rows::Sealed(segment) => {
                let index = segment.index(filter.projection(Projection::SORT_KEY))?;
                filter.rows(&index, is_cancelled).ok_or(Error::Cancelled)?
            }
            Rows::Head(batch) => RowSet::Bits(Bits::of_mask(filter.mask(batch.batch())?.values())),
        };
        Ok(LiveRows::new(rows, &self.hidden))
    }

    /// Whether `filter` matches a row.
    ///
    /// # Errors
    /// Damage met while an index is built anew.
    pub fn is_match(&self, filter: &Filter, row: usize) -> Result<bool> {
        match &self.rows {
            Rows::Sealed(segment) => {
                let index = segment.index(filter.projection(Projection::SORT_KEY))?;
                Ok(u32::try_from(row).is_ok_and(|row| filter.holds(&index, row)))
            }
            Rows::Head(batch) => Ok(filter.mask(&batch.batch().slice(row, 1))?.value(0)),
        }
    }

    /// Returns the values of the rows, those in the columns of `projection`.
    ///
    /// # Errors
    /// Damage met while an index is built anew.
    pub fn view(&self, projection: Projection) -> Result<View> {
        match &self.rows {
            Rows::Sealed(segment) => segment.index(projection).map(View::sealed),
            Rows::Head(batch) => Ok(View::head(batch.clone())),
        }
    }

    /// Returns the rows that were superseded: they are never shown or counted.
    pub fn hidden(&self) -> &RoaringBitmap {
        &self.hidden
    }

    /// Returns the row, not hidden, in which the trace stands.
    pub fn find(&self, trace_id: TraceId) -> Option<usize> {
        let row = match &self.rows {
            Rows::Sealed(segment) => segment.find(trace_id),
            Rows::Head(batch) => batch.find(trace_id),
        }?;
        (!self.hidden.contains(row)).then_some(row as usize)
    }

    /// Returns what `ordinals` know of the sessions of a batch of the head; `None` of a segment.
    pub fn known_sessions(&self, ordinals: &Ordinals) -> Option<KnownSessions> {
        match &self.rows {
            Rows::Sealed(_) => None,
            Rows::Head(batch) => Some(batch.known_sessions(ordinals)),
        }
    }

    /// Returns the whole trace of a row: read from its document, or shared with the head.
    ///
    /// # Errors
    /// [`crate::error::Error::Damage`] if the document is not what was written.
    pub fn trace(&self, row: usize) -> Result<Trace> {
        match &self.rows {
            Rows::Sealed(segment) => segment.trace(row),
            Rows::Head(batch) => Ok(batch.trace(row).clone()),
        }
    }

    /// Returns when the trace of a row was first received: microseconds since 1970.
    ///
    /// # Errors
    /// Damage met while an index is built anew.
    pub fn created_at(&self, row: usize) -> Result<i64> {
        match &self.rows {
            Rows::Sealed(segment) => segment.created_at(row),
            Rows::Head(batch) => Ok(batch.trace(row).created_at),
        }
    }

    /// Returns the document of a row: an encoded OTLP `TracesData` message.
    ///
    /// # Errors
    /// As [`Part::trace`].
    pub fn document(&self, row: usize) -> Result<Bytes> {
        match &self.rows {
            Rows::Sealed(segment) => segment.document(row),
            Rows::Head(batch) => Ok(batch.trace(row).document().into()),
        }
    }

    /// Returns the size of a row's document once decoded, in bytes.
    pub fn document_bytes(&self, row: usize) -> u64 {
        match &self.rows {
            Rows::Sealed(segment) => segment.document_bytes(row),
            Rows::Head(batch) => batch.document_bytes(row),
        }
    }
}
