//! The indexes of a segment: the row index, and the document indexes, which are built in the background: span
//! table, attribute index and text index.
//!
//! They are opened from the cache or from their objects, or built after the segment becomes live. Until then
//! documents are checked instead.

pub(crate) mod cache;
mod compare;
mod document_index;
mod make;
mod merge;
pub(in crate::storage::segment) mod objects;
mod read;

pub(in crate::storage) use read::read_documents;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwapOption;

use crate::error::Result;
use crate::filter::Indexes;
use crate::index::attributes::{AttributeIndex, AttributeIndexBuilder};
use crate::index::columns::Index;
use crate::index::spans::{SpanTable, SpanTableBuilder};
use crate::index::texts::{TextIndex, TextIndexBuilder};
use crate::priority;
use crate::storage::options::{IndexKind, Indexing};
use crate::trace::Trace;
use crate::trace::view::{Channel, TraceView};

/// The indexes that searches read of a segment or an indexed head batch.
#[derive(Debug)]
pub struct PartIndexes {
    pub(in crate::storage) rows: Arc<Index>,
    pub(in crate::storage) of_documents: OpenIndexes,
}

impl PartIndexes {
    /// Returns the indexes for the evaluation of filters.
    pub fn of_filters(&self) -> Indexes<'_> {
        let OpenIndexes { spans, texts, attributes } = &self.of_documents;
        Indexes {
            rows: &self.rows,
            spans: spans.as_deref(),
            attributes: attributes.as_deref(),
            texts: texts.as_deref(),
        }
    }

    /// Returns the size of the indexes in bytes.
    pub(in crate::storage) fn bytes(&self) -> u64 {
        self.rows.bytes()
            + IndexKind::ALL.into_iter().map(|kind| self.of_documents.bytes_of(kind)).sum::<u64>()
    }
}

/// The open document indexes.
#[derive(Debug, Clone, Default)]
pub(in crate::storage) struct OpenIndexes {
    pub(in crate::storage) spans: Option<Arc<SpanTable>>,
    pub(in crate::storage) texts: Option<Arc<TextIndex>>,
    pub(in crate::storage) attributes: Option<Arc<AttributeIndex>>,
}

impl OpenIndexes {
    fn bytes_of(&self, kind: IndexKind) -> u64 {
        match kind {
            IndexKind::Spans => self.spans.as_ref().map_or(0, |table| table.bytes()),
            IndexKind::Texts => self.texts.as_ref().map_or(0, |index| index.bytes()),
            IndexKind::Attributes => self.attributes.as_ref().map_or(0, |index| index.bytes()),
        }
    }
}

/// The document indexes of a segment.
#[derive(Debug, Default)]
pub(in crate::storage::segment) struct DocumentIndexes {
    pub(in crate::storage::segment) spans: ArcSwapOption<SpanTable>,
    pub(in crate::storage::segment) texts: ArcSwapOption<TextIndex>,
    pub(in crate::storage::segment) attributes: ArcSwapOption<AttributeIndex>,
    /// The kinds that cannot be built because they would take too much memory. The text index also cannot be
    /// built if a document is unreadable, because its texts would count as missing.
    given_up: [AtomicBool; IndexKind::ALL.len()],
    /// Held while indexes are opened, built or written.
    pub(in crate::storage::segment) making: Mutex<()>,
}

impl DocumentIndexes {
    /// Returns the open indexes.
    pub(in crate::storage::segment) fn open(&self) -> OpenIndexes {
        OpenIndexes {
            spans: self.spans.load_full(),
            texts: self.texts.load_full(),
            attributes: self.attributes.load_full(),
        }
    }

    pub(in crate::storage::segment) fn has(&self, kind: IndexKind) -> bool {
        match kind {
            IndexKind::Spans => self.spans.load().is_some(),
            IndexKind::Texts => self.texts.load().is_some(),
            IndexKind::Attributes => self.attributes.load().is_some(),
        }
    }

    pub(in crate::storage::segment) fn is_given_up(&self, kind: IndexKind) -> bool {
        self.given_up[kind as usize].load(Ordering::Relaxed)
    }

    pub(in crate::storage::segment) fn give_up(&self, kind: IndexKind) {
        self.given_up[kind as usize].store(true, Ordering::Relaxed);
    }

    pub(in crate::storage::segment) fn bytes(&self) -> u64 {
        let open = self.open();
        IndexKind::ALL.into_iter().map(|kind| open.bytes_of(kind)).sum()
    }
}

/// Collects the document indexes of a segment.
#[derive(Debug, Default)]
pub(crate) struct Builders {
    pub(in crate::storage::segment) spans: Option<SpanTableBuilder>,
    pub(in crate::storage::segment) texts: Option<TextIndexBuilder>,
    pub(in crate::storage::segment) attributes: Option<AttributeIndexBuilder>,
    max_bytes: u64,
}

impl Builders {
    pub(in crate::storage::segment) fn of(indexing: &Indexing) -> Self {
        Self {
            spans: indexing.kinds.contains(&IndexKind::Spans).then(SpanTableBuilder::default),
            texts: indexing.kinds.contains(&IndexKind::Texts).then(TextIndexBuilder::new),
            attributes: indexing.kinds.contains(&IndexKind::Attributes).then(AttributeIndexBuilder::default),
            max_bytes: indexing.max_bytes,
        }
    }

    /// Returns `true` if this kind is still collected.
    pub(in crate::storage::segment) fn has(&self, kind: IndexKind) -> bool {
        match kind {
            IndexKind::Spans => self.spans.is_some(),
            IndexKind::Texts => self.texts.is_some(),
            IndexKind::Attributes => self.attributes.is_some(),
        }
    }

    /// Returns `true` if all indexes have been abandoned.
    pub(in crate::storage::segment) fn is_empty(&self) -> bool {
        self.spans.is_none() && self.texts.is_none() && self.attributes.is_none()
    }

    /// Adds a row; `None` if its document cannot be read. An index that becomes too large is abandoned.
    pub(in crate::storage::segment) fn add(&mut self, row: usize, trace: Option<Trace>) {
        let trace = trace.map(Trace::into_assembled);
        let view = trace.as_ref().map(TraceView::of);
        if let Some(spans) = self.spans.as_mut() {
            spans.add(view.as_ref());
        }
        priority::yield_cpu();
        if let Some(attributes) = self.attributes.as_mut() {
            attributes.add(view.as_ref());
        }
        priority::yield_cpu();
        // The unknown texts would count as missing.
        let texts = self.texts.as_mut();
        let is_known = texts.is_none_or(|texts| {
            let known = u32::try_from(row).ok().zip(view.as_ref());
            known.is_some_and(|(row, view)| add_texts(texts, row, view).is_ok())
        });
        self.texts.take_if(|_| !is_known);
        self.give_up_what_is_too_large();
    }

    /// Packs the added rows. No more rows can be added.
    pub(in crate::storage::segment) fn pack(&mut self) {
        if let Some(texts) = self.texts.as_mut() {
            texts.pack();
        }
    }

    /// Appends the indexes of later rows. Returns `false` if the merged attribute index cannot be determined.
    /// It is then missing here.
    pub(in crate::storage::segment) fn append(&mut self, later: Self) -> bool {
        both(&mut self.spans, later.spans, SpanTableBuilder::append);
        both(&mut self.texts, later.texts, TextIndexBuilder::append);
        let mut is_known = true;
        both(&mut self.attributes, later.attributes, |own, later| is_known = own.append(later));
        self.attributes.take_if(|_| !is_known);
        self.max_bytes = self.max_bytes.saturating_add(later.max_bytes);
        self.give_up_what_is_too_large();
        is_known
    }

    fn give_up_what_is_too_large(&mut self) {
        let max = self.max_bytes;
        self.spans.take_if(|spans| spans.bytes() > max);
        self.texts.take_if(|texts| texts.bytes() > max);
        self.attributes.take_if(|attributes| attributes.bytes() > max);
    }
}

/// Appends a later part. The index is abandoned if either part was abandoned.
fn both<T>(own: &mut Option<T>, later: Option<T>, append: impl FnOnce(&mut T, T)) {
    match (own.as_mut(), later) {
        (Some(own), Some(later)) => append(own, later),
        _ => *own = None,
    }
}

fn add_texts(texts: &mut TextIndexBuilder, row: u32, view: &TraceView<'_>) -> Result<()> {
    for ordinal in 0..view.len() {
        for channel in [Channel::Input, Channel::Output, Channel::Error] {
            view.texts(ordinal, channel)?.for_each(|text| texts.add(row, channel, text));
        }
        priority::yield_cpu();
    }
    Ok(())
}
