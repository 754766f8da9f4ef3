//! The open attribute index of a segment.

use std::ops::Range;

use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer};
use roaring::RoaringBitmap;

use super::key_spans::KeySpans;
use super::layout::{ATTRIBUTE_INDEX, AttributeColumn, is_indexed, name_of};
use super::value::{StoredValue, decode};
use crate::bitmap::{Bitmap, RowBlock};
use crate::index::{PackedInts, SectionKind, Sections};
use crate::trace::view::AttributeScope;

/// The possible results of a condition for a span, as bits; 0 is NULL.
pub type Marks = u8;
/// The condition is true.
pub const IS_TRUE: Marks = 1;
/// The condition is false.
pub const IS_FALSE: Marks = 2;
/// The index cannot decide; the span needs a document check.
pub const IS_OPEN: Marks = 4;

/// The open attribute index of a segment.
#[derive(Debug)]
pub struct AttributeIndex {
    sections: Sections,
    pub(super) names: Slices,
    pub(super) values: Slices,
    /// The index of the first value of each key.
    pub(super) first_values: ScalarBuffer<u64>,
    ordinals: Slices,
    ordinal_counts: ScalarBuffer<u64>,
    codes: Buffer,
    code_offsets: ScalarBuffer<u64>,
    code_widths: ScalarBuffer<u8>,
    pub(super) rows: Slices,
    row_counts: ScalarBuffer<u64>,
    /// The start of each resource's (key, value) pairs.
    pub(super) resource_starts: ScalarBuffer<u64>,
    pub(super) resource_pairs: ScalarBuffer<u32>,
    pub(super) resource_codes: PackedInts,
    spans: usize,
    pub(super) roots: PackedInts,
    pub(super) beyond: Slices,
}

/// Byte strings, one after another.
#[derive(Debug)]
pub(super) struct Slices {
    content: Buffer,
    offsets: ScalarBuffer<u64>,
}

impl Slices {
    fn open(sections: &Sections, column: AttributeColumn) -> Option<Self> {
        let content = sections.buffer(column as usize, SectionKind::Values)?;
        let offsets = numbers(sections, column, SectionKind::Offsets)?;
        (!offsets.is_empty()).then_some(Self { content, offsets })
    }

    pub(super) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    pub(super) fn get(&self, at: usize) -> &[u8] {
        let (start, end) = (self.offsets[at].as_usize(), self.offsets[at + 1].as_usize());
        self.content.get(start..end).unwrap_or_default()
    }

    fn slice(&self, at: usize) -> Buffer {
        let (start, end) = (self.offsets[at].as_usize(), self.offsets[at + 1].as_usize());
        self.content.slice_with_length(start, end - start)
    }

    pub(super) fn bitmap(&self, at: usize) -> RoaringBitmap {
        RoaringBitmap::deserialize_from(self.get(at)).unwrap_or_default()
    }
}

/// The indexed state of one attribute.
#[derive(Debug)]
pub struct KnownAttribute<'i> {
    index: &'i AttributeIndex,
    scope: AttributeScope,
    /// The number of the key; `None` if no indexed span has it.
    key: Option<usize>,
}

impl AttributeIndex {
    /// Opens the index that [`super::AttributeIndexBuilder::finish`] wrote for `source`, and verifies its
    /// checksums.
    ///
    /// Returns `None` if the index is damaged, incomplete, of another format or built from another source.
    pub fn open(content: Buffer, source: &str) -> Option<Self> {
        let sections = Sections::open(ATTRIBUTE_INDEX, content, source)?;
        if !sections.are_sound(u32::MAX) {
            return None;
        }
        let rows = sections.rows() as usize;
        let codes =
            |bytes: usize| sections.packed(AttributeColumn::Resources as usize, SectionKind::Codes, bytes);
        let spans = sections.numbers(AttributeColumn::Resources as usize, SectionKind::Codes)?;
        let index = Self {
            names: Slices::open(&sections, AttributeColumn::Names)?,
            values: Slices::open(&sections, AttributeColumn::Values)?,
            first_values: numbers(&sections, AttributeColumn::Values, SectionKind::Starts)?,
            ordinals: Slices::open(&sections, AttributeColumn::Ordinals)?,
            ordinal_counts: numbers(&sections, AttributeColumn::Ordinals, SectionKind::Whole)?,
            codes: sections.buffer(AttributeColumn::Codes as usize, SectionKind::Values)?,
            code_offsets: numbers(&sections, AttributeColumn::Codes, SectionKind::Offsets)?,
            code_widths: numbers(&sections, AttributeColumn::Codes, SectionKind::Whole)?,
            rows: Slices::open(&sections, AttributeColumn::Rows)?,
            row_counts: numbers(&sections, AttributeColumn::Rows, SectionKind::Whole)?,
            resource_starts: numbers(&sections, AttributeColumn::Resources, SectionKind::Starts)?,
            resource_pairs: numbers(&sections, AttributeColumn::Resources, SectionKind::Order)?,
            resource_codes: codes(spans)?,
            spans,
            roots: sections.packed(AttributeColumn::Roots as usize, SectionKind::Whole, rows)?,
            beyond: Slices::open(&sections, AttributeColumn::Beyond)?,
            sections,
        };
        let keys = index.names.len();
        let is_whole = index.first_values.len() == keys + 1
            && [index.ordinals.len(), index.rows.len(), index.row_counts.len()]
                .iter()
                .all(|len| *len == keys)
            && [index.code_offsets.len(), index.code_widths.len(), index.ordinal_counts.len()]
                .iter()
                .all(|len| *len == keys)
            && index.beyond.len() == 1
            && (0..keys).all(|key| index.ordinals_of(key).is_some());
        is_whole.then_some(index)
    }

    /// Returns `true` if a file that ends with `end` can probably be opened for `source`. Only the end is
    /// checked.
    pub fn may_end_with(end: &[u8], source: &str) -> bool {
        Sections::may_end_with(ATTRIBUTE_INDEX, end, source)
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u32 {
        self.sections.rows()
    }

    /// Returns the number of spans.
    pub fn spans(&self) -> usize {
        self.spans
    }

    /// Returns the size of the index in bytes.
    pub fn bytes(&self) -> u64 {
        self.sections.bytes()
    }

    /// Returns the bytes of the index file.
    pub fn content(&self) -> &[u8] {
        self.sections.content()
    }

    /// Returns the position of a row's run root among its spans; `None` if the trace has no spans.
    pub fn run_root(&self, row: u32) -> Option<usize> {
        usize::try_from(self.roots.get(row as usize)).ok()?.checked_sub(1)
    }

    /// Returns the keys that begin with `prefix`: the number of each, and its name as filters spell it.
    pub fn names<'i>(&'i self, prefix: &'i str) -> impl Iterator<Item = (usize, &'i str)> {
        let first = self.first_name_from(prefix);
        let names = (first..self.names.len())
            .map(|key| (key, std::str::from_utf8(self.names.get(key)).unwrap_or_default()));
        names.take_while(move |(_, name)| name.starts_with(prefix))
    }

    /// Returns the number of rows that have a span with a key.
    pub fn count_of(&self, key: usize) -> u64 {
        self.row_counts[key]
    }

    /// Returns the rows that have a span with a key.
    pub fn rows_of(&self, key: usize) -> RoaringBitmap {
        self.rows.bitmap(key)
    }

    /// Returns the position of the first name that is not less than `name`.
    fn first_name_from(&self, name: &str) -> usize {
        let (mut low, mut high) = (0, self.names.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.names.get(middle) < name.as_bytes() {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Returns the indexed state of an attribute; `None` if its key cannot be in an index.
    pub fn attribute(&self, scope: AttributeScope, key: &str) -> Option<KnownAttribute<'_>> {
        if !is_indexed(key) {
            return None;
        }
        let name = name_of(scope, key);
        let found = self.first_name_from(&name);
        let key = (found < self.names.len() && self.names.get(found) == name.as_bytes()).then_some(found);
        Some(KnownAttribute { index: self, scope, key })
    }

    /// Returns the result of `decide` for each value of a key.
    fn of_values(&self, key: usize, decide: impl Fn(StoredValue<'_>) -> Marks) -> Vec<Marks> {
        let values = self.first_values[key].as_usize()..self.first_values[key + 1].as_usize();
        values.map(|value| decide(decode(self.values.get(value)))).collect()
    }
}

/// The result of a condition on an attribute for each span.
#[derive(Debug)]
pub struct MarkedAttribute<'i> {
    index: &'i AttributeIndex,
    marks: MarkedOrdinals,
    /// The result for spans without a value.
    missing: Marks,
}

/// The spans whose result can differ from that for spans without a value.
#[derive(Debug)]
enum MarkedOrdinals {
    /// The spans with a value, and the result for each value code.
    Spans { ordinals: KeySpans, codes: Option<PackedInts>, by_code: Vec<Marks> },
    /// The result for each resource.
    Resources(Vec<Marks>),
    /// The spans that need a document check.
    Open(RoaringBitmap),
}

impl<'i> KnownAttribute<'i> {
    /// Evaluates a condition for each span: `decide` for a value, `missing` for spans without one.
    pub fn marked(self, decide: impl Fn(StoredValue<'_>) -> Marks, missing: Marks) -> MarkedAttribute<'i> {
        let index = self.index;
        let marks = match (self.key, self.scope) {
            (None, _) => MarkedOrdinals::Open(index.beyond.bitmap(0)),
            (Some(key), AttributeScope::Span) => MarkedOrdinals::Spans {
                ordinals: index.ordinals_of(key).unwrap_or(KeySpans::List(ScalarBuffer::default())),
                codes: index.codes_of(key),
                by_code: index.of_values(key, decide),
            },
            (Some(key), AttributeScope::Resource) => {
                let by_code = index.of_values(key, decide);
                let resources = index.resource_starts.windows(2).map(|bounds| {
                    let pairs = &index.resource_pairs[bounds[0].as_usize()..bounds[1].as_usize()];
                    let own = pairs.chunks_exact(2).find(|pair| pair[0] as usize == key);
                    own.map_or(missing, |pair| by_code[pair[1] as usize])
                });
                MarkedOrdinals::Resources(resources.collect())
            }
        };
        MarkedAttribute { index, marks, missing }
    }
}

impl AttributeIndex {
    /// Returns the span ordinals of a key; `None` if the stored count does not match.
    pub(super) fn ordinals_of(&self, key: usize) -> Option<KeySpans> {
        let entries = self.ordinal_counts[key].as_usize();
        KeySpans::open(&self.ordinals.slice(key), entries, self.spans)
    }

    /// Returns the value codes of a key in ordinal order; `None` if it has a single value.
    pub(super) fn codes_of(&self, key: usize) -> Option<PackedInts> {
        let start = self.code_offsets[key].as_usize();
        let end = self.code_offsets.get(key + 1).map_or(self.codes.len(), |end| end.as_usize());
        PackedInts::new(self.codes.slice_with_length(start, end - start), self.code_widths[key], 0)
    }
}

impl MarkedAttribute<'_> {
    /// Returns `true` if no span needs a document check.
    pub fn is_decided(&self) -> bool {
        match &self.marks {
            MarkedOrdinals::Spans { by_code: marks, .. } | MarkedOrdinals::Resources(marks) => {
                marks.iter().all(|marks| marks & IS_OPEN == 0)
            }
            MarkedOrdinals::Open(ordinals) => ordinals.is_empty(),
        }
    }

    /// Returns the ordinals of a range for which the condition is true, false and undecided, in this order.
    pub fn sets(&self, ordinals: Range<usize>) -> [Bitmap; 3] {
        let (known, marks) = self.known(&ordinals);
        let mut sets = match marks {
            KnownMarks::Same(marks) => [IS_TRUE, IS_FALSE, IS_OPEN]
                .map(|mark| if marks & mark == 0 { vec![0; known.len()] } else { known.clone() }),
            KnownMarks::Each(marks) => spread(&known, &marks),
        };
        if self.missing != 0 {
            let all = Bitmap::all(ordinals.clone());
            for (mark, set) in [IS_TRUE, IS_FALSE, IS_OPEN].into_iter().zip(&mut sets) {
                if self.missing & mark != 0 {
                    let words = set.iter_mut().zip(all.words()).zip(&known);
                    words.for_each(|((own, all), known)| *own |= all & !known);
                }
            }
        }
        sets.map(|words| Bitmap::of_words(ordinals.clone(), words))
    }

    /// Returns the bits of the ordinals that have a value, and their results.
    fn known(&self, ordinals: &Range<usize>) -> (Vec<u64>, KnownMarks) {
        let as_u32 = |ordinal: usize| u32::try_from(ordinal).unwrap_or(u32::MAX);
        match &self.marks {
            MarkedOrdinals::Open(open) => {
                let mut known = Bitmap::none(ordinals.clone());
                let own = open.range(as_u32(ordinals.start)..as_u32(ordinals.end));
                own.for_each(|ordinal| known.insert(ordinal as usize));
                (known.words().to_vec(), KnownMarks::Same(IS_OPEN))
            }
            MarkedOrdinals::Spans { ordinals: own, codes, by_code } => {
                let (known, before) = own.bits(ordinals.clone());
                let first = by_code.first().copied().unwrap_or_default();
                let Some(codes) = codes.as_ref().filter(|_| by_code.iter().any(|marks| *marks != first))
                else {
                    return (known, KnownMarks::Same(first));
                };
                let count: usize = known.iter().map(|word| word.count_ones() as usize).sum();
                (known, marks_of(codes, before..before + count, by_code))
            }
            MarkedOrdinals::Resources(by_resource) => {
                let known = Bitmap::all(ordinals.clone()).words().to_vec();
                (known, marks_of(&self.index.resource_codes, ordinals.clone(), by_resource))
            }
        }
    }
}

/// The results for a range of span ordinals.
enum KnownMarks {
    /// One result for all ordinals.
    Same(Marks),
    /// One result for each ordinal, in order.
    Each(Vec<Marks>),
}

fn marks_of(codes: &PackedInts, range: Range<usize>, by_code: &[Marks]) -> KnownMarks {
    let as_u32 = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let mut marks = Vec::with_capacity(range.len());
    codes.for_each(&RowBlock::Range(as_u32(range.start)..as_u32(range.end)), |code| {
        marks.push(by_code[usize::try_from(code).unwrap_or_default()]);
    });
    KnownMarks::Each(marks)
}

/// Splits the set bits of `known` by mark. `marks` has one entry for each set bit.
fn spread(known: &[u64], marks: &[Marks]) -> [Vec<u64>; 3] {
    let mut sets = [(); 3].map(|()| Vec::with_capacity(known.len()));
    let mut marks = marks.iter();
    for word in known {
        let (mut left, mut bits) = (*word, [0_u64; 3]);
        while left != 0 {
            let ordinal = left.trailing_zeros();
            left &= left - 1;
            let marks = u64::from(marks.next().copied().unwrap_or_default());
            for (mark, bits) in bits.iter_mut().enumerate() {
                *bits |= (marks >> mark & 1) << ordinal;
            }
        }
        sets.iter_mut().zip(bits).for_each(|(set, bits)| set.push(bits));
    }
    sets
}

fn numbers<T: ArrowNativeType>(
    sections: &Sections,
    column: AttributeColumn,
    kind: SectionKind,
) -> Option<ScalarBuffer<T>> {
    sections.plain(column as usize, kind)
}
