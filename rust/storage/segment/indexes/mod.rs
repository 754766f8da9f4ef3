//! The indexes of a segment: that of its rows, and what is made of its documents in the background, a table of spans, an
//! index of their attributes and an index of texts.
//!
//! They are opened from the cache or from their objects, or made once the segment is part of the store. Until then documents
//! decide what they would.

pub(crate) mod cache;
mod compare;
mod document_index;
mod make;
mod merge;
pub(in crate::storage::segment) mod objects;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwapOption;

use crate::attribute_index::{AttributeIndex, AttributeIndexBuilder};
use crate::error::Result;
use crate::filter::Indexes;
use crate::index::Index;
use crate::span_table::{SpanTable, SpanTableBuilder};
use crate::storage::options::{IndexKind, Indexing};
use crate::storage::priority;
use crate::text_index::{TextIndex, TextIndexBuilder};
use crate::trace::Trace;
use crate::trace::view::{Channel, TraceView};

/// What searches read of a segment.
#[derive(Debug)]
pub struct SegmentIndexes {
    pub(in crate::storage::segment) rows: Arc<Index>,
    pub(in crate::storage) spans: Option<Arc<SpanTable>>,
    pub(in crate::storage::segment) texts: Option<Arc<TextIndex>>,
    pub(in crate::storage::segment) attributes: Option<Arc<AttributeIndex>>,
}

impl SegmentIndexes {
    /// Returns what filters decide rows by.
    pub fn of_filters(&self) -> Indexes<'_> {
        Indexes {
            rows: &self.rows,
            spans: self.spans.as_deref(),
            attributes: self.attributes.as_deref(),
            texts: self.texts.as_deref(),
        }
    }
}

/// What is made of the documents of a segment, as far as it is.
#[derive(Debug, Default)]
pub(in crate::storage::segment) struct DocumentIndexes {
    pub(in crate::storage::segment) spans: ArcSwapOption<SpanTable>,
    pub(in crate::storage::segment) texts: ArcSwapOption<TextIndex>,
    pub(in crate::storage::segment) attributes: ArcSwapOption<AttributeIndex>,
    /// Which kinds cannot be made: they would take too much memory. Of texts also if a document cannot be read, for its texts
    /// would be taken for missing.
    given_up: [AtomicBool; IndexKind::ALL.len()],
    /// Held while they are opened, made or written.
    pub(in crate::storage::segment) making: Mutex<()>,
}

impl DocumentIndexes {
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

    pub(in crate::storage::segment) fn bytes_of(&self, kind: IndexKind) -> u64 {
        match kind {
            IndexKind::Spans => self.spans.load().as_ref().map_or(0, |table| table.bytes()),
            IndexKind::Texts => self.texts.load().as_ref().map_or(0, |index| index.bytes()),
            IndexKind::Attributes => self.attributes.load().as_ref().map_or(0, |index| index.bytes()),
        }
    }

    pub(in crate::storage::segment) fn bytes(&self) -> u64 {
        IndexKind::ALL.into_iter().map(|kind| self.bytes_of(kind)).sum()
    }
}

/// Collects what is made of the documents of a segment.
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

    /// Whether one is still collected.
    pub(in crate::storage::segment) fn has(&self, kind: IndexKind) -> bool {
        match kind {
            IndexKind::Spans => self.spans.is_some(),
            IndexKind::Texts => self.texts.is_some(),
            IndexKind::Attributes => self.attributes.is_some(),
        }
    }

    /// Whether all have been given up.
    pub(in crate::storage::segment) fn is_empty(&self) -> bool {
        self.spans.is_none() && self.texts.is_none() && self.attributes.is_none()
    }

    /// Adds the next rows, and calls `meanwhile`, whose result it returns. What becomes too large is given up.
    ///
    /// Texts cost as much as all else, so they are added by a thread of their own.
    pub(in crate::storage::segment) fn add<T: Send>(
        &mut self,
        first_row: usize,
        read: &[ReadTrace],
        meanwhile: impl FnOnce() -> T + Send,
    ) -> T {
        let Self { spans, texts, attributes, max_bytes } = self;
        let add_texts = || {
            for (row, read) in (first_row..).zip(read) {
                let Some(open) = texts.take() else { return };
                *texts = with_texts(open, row, read).filter(|texts| texts.bytes() <= *max_bytes);
            }
        };
        let add_spans = || {
            for read in read {
                let view = read.trace.as_ref().map(TraceView::of);
                if let Some(spans) = spans.as_mut() {
                    spans.add(view.as_ref());
                }
                spans.take_if(|spans| spans.bytes() > *max_bytes);
                if let Some(attributes) = attributes.as_mut() {
                    attributes.add(view.as_ref());
                }
                attributes.take_if(|attributes| attributes.bytes() > *max_bytes);
            }
        };
        priority::POOL.join(add_texts, || priority::POOL.join(add_spans, meanwhile).1).1
    }
}

/// A row, as far as indexes are made of it.
#[derive(Debug)]
pub(in crate::storage::segment) struct ReadTrace {
    /// `None` if its document cannot be read.
    trace: Option<Trace>,
    /// `None` if a span cannot be decoded, or if they are not asked for.
    texts: Option<Vec<(Channel, String)>>,
}

impl ReadTrace {
    pub(in crate::storage::segment) fn of(trace: Option<Trace>, with_texts: bool) -> Self {
        let trace = trace.map(Trace::into_assembled);
        let texts =
            trace.as_ref().filter(|_| with_texts).and_then(|trace| texts_of(&TraceView::of(trace)).ok());
        Self { trace, texts }
    }
}

fn texts_of(view: &TraceView<'_>) -> Result<Vec<(Channel, String)>> {
    let mut texts = Vec::new();
    for place in 0..view.len() {
        for channel in [Channel::Input, Channel::Output, Channel::Error] {
            texts.extend(view.texts(place, channel)?.map(|text| (channel, text.to_owned())));
        }
    }
    Ok(texts)
}

/// Adds the texts of a row; `None` if they are not known.
fn with_texts(mut texts: TextIndexBuilder, row: usize, read: &ReadTrace) -> Option<TextIndexBuilder> {
    let row = u32::try_from(row).ok()?;
    read.texts.as_ref()?.iter().for_each(|(channel, text)| texts.add(row, *channel, text));
    Some(texts)
}
