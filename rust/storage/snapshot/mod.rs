//! Snapshots: immutable states of the store for searches.

pub(crate) mod columns;
pub(crate) mod count;
mod matching;
mod part;
pub(crate) mod published;
mod read_ahead;
pub(crate) mod value_order;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use roaring::RoaringBitmap;

pub use self::matching::ColumnMatch;
pub(crate) use self::part::RowKind;
pub use self::part::SnapshotPart;
use crate::error::Result;
use crate::index::columns::Projection;
use crate::index::ordinals::{GlobalOrdinals, PreviousOrdinals, SharedValues};
use crate::otlp::TraceId;
use crate::schema::{FIELDS, Field};
use crate::storage::segment::Segment;

/// One state of the store. Every trace has exactly one undeleted row in it. The row is visible if the trace
/// has a span.
#[derive(Debug, Default)]
pub struct Snapshot {
    parts: Vec<SnapshotPart>,
    /// Computed on first use, and shared by all snapshots of the same segments.
    global_ordinals: Arc<OnceLock<GlobalOrdinals>>,
    /// The most recently computed ordinals of earlier segments, if any.
    previous_ordinals: Option<Arc<PreviousOrdinals>>,
    /// By column: computed on first use, and shared by all snapshots of the same segments.
    shared_values: Arc<[OnceLock<Arc<SharedValues>>; FIELDS.len()]>,
    /// By column: the most recently computed shared values of earlier segments, if any.
    previous_values: [Option<Arc<SharedValues>>; FIELDS.len()],
    changes: u64,
    /// See [`Snapshot::take_document_checks`]; `None` in a store whose indexes would not avoid every document
    /// check.
    document_checks: Option<Arc<AtomicU64>>,
}

impl Snapshot {
    /// Returns the snapshot of `parts`, which must not have two undeleted rows of one trace.
    pub fn new(parts: Vec<SnapshotPart>) -> Self {
        Self { parts, ..Self::default() }
    }

    /// Returns this snapshot with a counter of document checks, which all later snapshots share.
    pub(crate) fn counting_document_checks(self) -> Self {
        Self { document_checks: Some(Arc::default()), ..self }
    }

    /// Returns this snapshot with the document check counter, global ordinals and shared values of its
    /// predecessor. The latter two are reused if the segments are the same, and extended otherwise. `changes`
    /// is the position of [`Snapshot::changes`].
    pub(crate) fn after(mut self, before: &Self, changes: u64) -> Self {
        self.changes = changes;
        self.document_checks.clone_from(&before.document_checks);
        self.parts.iter_mut().for_each(|part| part.document_checks.clone_from(&before.document_checks));
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
            self.global_ordinals = before.global_ordinals.clone();
            self.previous_ordinals.clone_from(&before.previous_ordinals);
            self.shared_values = before.shared_values.clone();
            self.previous_values.clone_from(&before.previous_values);
        } else {
            let computed = before.global_ordinals.get().map(|ordinals| Arc::new(ordinals.to_previous()));
            self.previous_ordinals = computed.or_else(|| before.previous_ordinals.clone());
            self.previous_values = std::array::from_fn(|column| {
                let computed = before.shared_values[column].get();
                computed.or(before.previous_values[column].as_ref()).cloned()
            });
        }
        self
    }

    /// Returns the global ordinals of the sessions in all segments, in the order of the parts.
    ///
    /// # Errors
    /// Damage found while an index is rebuilt.
    pub fn global_ordinals(&self) -> Result<&GlobalOrdinals> {
        if let Some(computed) = self.global_ordinals.get() {
            return Ok(computed);
        }
        let projection = Projection::SORT_KEY.with(Projection::SESSIONS);
        let indexes = self.segments().map(|(segment, _)| segment.index(projection)).collect::<Result<_>>()?;
        Ok(self
            .global_ordinals
            .get_or_init(|| GlobalOrdinals::new(indexes, self.previous_ordinals.as_deref())))
    }

    /// Returns the values of a text field other than the trace id that several segments share.
    ///
    /// # Errors
    /// Damage found while an index is rebuilt.
    pub fn shared_values(&self, field: Field) -> Result<&SharedValues> {
        let column = field.column();
        if let Some(computed) = self.shared_values[column].get() {
            return Ok(computed);
        }
        let projection = Projection::SORT_KEY.and(field);
        let indexes = self.segments().map(|(segment, _)| segment.index(projection));
        let indexes: Vec<_> = indexes.collect::<Result<_>>()?;
        let compute =
            || Arc::new(SharedValues::new(field, &indexes, self.previous_values[column].as_deref()));
        Ok(self.shared_values[column].get_or_init(compute))
    }

    /// Returns the number of document checks caused by a missing index since the last call, in this snapshot
    /// and earlier ones; 0 if they are not counted.
    pub(crate) fn take_document_checks(&self) -> u64 {
        self.document_checks.as_ref().map_or(0, |document_checks| document_checks.swap(0, Ordering::Relaxed))
    }

    /// Returns the position in [`crate::storage::Changes`] up to which the snapshot contains the changes.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns the number of rows in the head.
    pub fn head_rows(&self) -> usize {
        self.parts.iter().filter(|part| !part.is_segment()).map(SnapshotPart::count).sum()
    }

    /// Returns the number of segments among the first `index` parts.
    pub fn segments_before(&self, index: usize) -> usize {
        self.parts[..index].iter().filter(|part| part.is_segment()).count()
    }

    /// Returns the segments and the head batches.
    pub fn parts(&self) -> &[SnapshotPart] {
        &self.parts
    }

    /// Returns the segments with their deletion vectors.
    pub(crate) fn segments(&self) -> impl Iterator<Item = (&Segment, &RoaringBitmap)> {
        self.parts.iter().filter_map(|part| Some((part.segment()?.as_ref(), part.deletion_vector())))
    }

    /// Returns `true` if this snapshot has all segments of `other`. Then no segment was superseded between
    /// the two.
    pub fn has_segments_of(&self, other: &Self) -> bool {
        let has = |segment: &Segment| self.segments().any(|(own, _)| std::ptr::eq(own, segment));
        other.segments().all(|(segment, _)| has(segment))
    }

    /// Returns the segments with their deletion vectors, as values that may outlive the snapshot.
    pub(crate) fn shared_segments(&self) -> Vec<(Arc<Segment>, Arc<RoaringBitmap>)> {
        let parts = self.parts.iter();
        parts.filter_map(|part| Some((part.segment()?.clone(), part.shared_deletion_vector()))).collect()
    }

    /// Returns the index of the part and the row of a trace.
    pub fn find(&self, trace_id: TraceId) -> Option<(usize, usize)> {
        let parts = self.parts.iter().enumerate();
        parts.rev().find_map(|(index, part)| part.find(trace_id).map(|row| (index, row)))
    }
}
