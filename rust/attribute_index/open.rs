//! The open index of a segment's attributes.

use std::ops::Range;

use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer};
use roaring::RoaringBitmap;

use super::layout::{ATTRIBUTE_INDEX, Column, is_indexed, name_of};
use super::value::{StoredValue, decode};
use crate::index::{PackedInts, RowBlock, SectionKind, Sections};
use crate::span_table::PlaceSet;
use crate::trace::view::Scope;

/// What is known of what a condition says of a span, as bits; none if it is unknown.
pub type Marks = u8;
/// It is true.
pub const IS_TRUE: Marks = 1;
/// It is false.
pub const IS_FALSE: Marks = 2;
/// The span must be looked at.
pub const IS_OPEN: Marks = 4;

/// The open index of the attributes of a segment.
#[derive(Debug)]
pub struct AttributeIndex {
    sections: Sections,
    names: Slices,
    values: Slices,
    /// Where the values of each key begin.
    first_values: ScalarBuffer<u64>,
    places: Slices,
    codes: Buffer,
    code_offsets: ScalarBuffer<u64>,
    code_widths: ScalarBuffer<u8>,
    rows: Slices,
    row_counts: ScalarBuffer<u64>,
    /// Where the pairs of key and value of each resource begin.
    resource_starts: ScalarBuffer<u64>,
    resource_pairs: ScalarBuffer<u32>,
    resource_codes: PackedInts,
    spans: usize,
    roots: PackedInts,
    beyond: Slices,
}

/// Runs of bytes, one after another.
#[derive(Debug)]
struct Slices {
    content: Buffer,
    offsets: ScalarBuffer<u64>,
}

impl Slices {
    fn open(sections: &Sections, column: Column) -> Option<Self> {
        let content = sections.buffer(column as usize, SectionKind::Values)?;
        let offsets = numbers(sections, column, SectionKind::Offsets)?;
        (!offsets.is_empty()).then_some(Self { content, offsets })
    }

    fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    fn get(&self, at: usize) -> &[u8] {
        let (start, end) = (self.offsets[at].as_usize(), self.offsets[at + 1].as_usize());
        self.content.get(start..end).unwrap_or_default()
    }

    fn bitmap(&self, at: usize) -> RoaringBitmap {
        RoaringBitmap::deserialize_from(self.get(at)).unwrap_or_default()
    }
}

/// What an index knows of one attribute.
#[derive(Debug)]
pub struct KnownAttribute<'i> {
    index: &'i AttributeIndex,
    scope: Scope,
    /// The number of the key; `None` if no span that the index knows it of has it.
    key: Option<usize>,
}

impl AttributeIndex {
    /// Opens the index that [`super::AttributeIndexBuilder::finish`] wrote for `source`, and verifies its checksums; `None`
    /// if it is damaged, incomplete, of another format, or was built from something else.
    pub fn open(content: Buffer, source: &str) -> Option<Self> {
        let sections = Sections::open(ATTRIBUTE_INDEX, content, source)?;
        if !sections.are_sound(u32::MAX) {
            return None;
        }
        let rows = sections.rows() as usize;
        let codes = |bytes: usize| sections.packed(Column::Resources as usize, SectionKind::Codes, bytes);
        let spans = sections.numbers(Column::Resources as usize, SectionKind::Codes)?;
        let index = Self {
            names: Slices::open(&sections, Column::Names)?,
            values: Slices::open(&sections, Column::Values)?,
            first_values: numbers(&sections, Column::Values, SectionKind::Starts)?,
            places: Slices::open(&sections, Column::Places)?,
            codes: sections.buffer(Column::Codes as usize, SectionKind::Values)?,
            code_offsets: numbers(&sections, Column::Codes, SectionKind::Offsets)?,
            code_widths: numbers(&sections, Column::Codes, SectionKind::Whole)?,
            rows: Slices::open(&sections, Column::Rows)?,
            row_counts: numbers(&sections, Column::Rows, SectionKind::Whole)?,
            resource_starts: numbers(&sections, Column::Resources, SectionKind::Starts)?,
            resource_pairs: numbers(&sections, Column::Resources, SectionKind::Order)?,
            resource_codes: codes(spans)?,
            spans,
            roots: sections.packed(Column::Roots as usize, SectionKind::Whole, rows)?,
            beyond: Slices::open(&sections, Column::Beyond)?,
            sections,
        };
        let keys = index.names.len();
        let is_whole = index.first_values.len() == keys + 1
            && [index.places.len(), index.rows.len(), index.row_counts.len()].iter().all(|len| *len == keys)
            && [index.code_offsets.len(), index.code_widths.len()].iter().all(|len| *len == keys)
            && index.beyond.len() == 1;
        is_whole.then_some(index)
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

    /// Returns where the run root of a row stands among its spans; `None` of a trace without spans.
    pub fn run_root(&self, row: u32) -> Option<usize> {
        usize::try_from(self.roots.get(row as usize)).ok()?.checked_sub(1)
    }

    /// Returns the names of the keys that begin with `prefix`, as filters spell them, each with its number.
    pub fn names<'i>(&'i self, prefix: &'i str) -> impl Iterator<Item = (usize, &'i str)> {
        let first = self.first_name_from(prefix);
        let names = (first..self.names.len())
            .map(|key| (key, std::str::from_utf8(self.names.get(key)).unwrap_or_default()));
        names.take_while(move |(_, name)| name.starts_with(prefix))
    }

    /// Returns how many rows have a span with a key.
    pub fn count_of(&self, key: usize) -> u64 {
        self.row_counts[key]
    }

    /// Returns the rows that have a span with a key.
    pub fn rows_of(&self, key: usize) -> RoaringBitmap {
        self.rows.bitmap(key)
    }

    /// Returns the place of the first name that is not less than `name`.
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

    /// Returns what is known of an attribute; `None` if its key cannot be in an index.
    pub fn attribute(&self, scope: Scope, key: &str) -> Option<KnownAttribute<'_>> {
        if !is_indexed(key) {
            return None;
        }
        let name = name_of(scope, key);
        let found = self.first_name_from(&name);
        let key = (found < self.names.len() && self.names.get(found) == name.as_bytes()).then_some(found);
        Some(KnownAttribute { index: self, scope, key })
    }

    /// Returns what `decide` says of each value of a key.
    fn of_values(&self, key: usize, decide: impl Fn(StoredValue<'_>) -> Marks) -> Vec<Marks> {
        let values = self.first_values[key].as_usize()..self.first_values[key + 1].as_usize();
        values.map(|value| decide(decode(self.values.get(value)))).collect()
    }
}

/// What a condition on an attribute says of spans.
#[derive(Debug)]
pub struct MarkedAttribute<'i> {
    index: &'i AttributeIndex,
    marks: MarkedPlaces,
    /// Of spans without a value.
    missing: Marks,
}

/// The places of which something else is known than of those without a value.
#[derive(Debug)]
enum MarkedPlaces {
    /// What is known by the code of the value that each of these places has.
    Spans { places: RoaringBitmap, codes: Option<PackedInts>, by_code: Vec<Marks> },
    /// What is known by resource.
    Resources(Vec<Marks>),
    /// The places that must be looked at.
    Open(RoaringBitmap),
}

impl<'i> KnownAttribute<'i> {
    /// Returns what a condition says of each span: `decide` of a value, `missing` of none.
    pub fn marked(self, decide: impl Fn(StoredValue<'_>) -> Marks, missing: Marks) -> MarkedAttribute<'i> {
        let index = self.index;
        let marks = match (self.key, self.scope) {
            (None, _) => MarkedPlaces::Open(index.beyond.bitmap(0)),
            (Some(key), Scope::Span) => MarkedPlaces::Spans {
                places: index.places.bitmap(key),
                codes: index.codes_of(key),
                by_code: index.of_values(key, decide),
            },
            (Some(key), Scope::Resource) => {
                let by_code = index.of_values(key, decide);
                let resources = index.resource_starts.windows(2).map(|bounds| {
                    let pairs = &index.resource_pairs[bounds[0].as_usize()..bounds[1].as_usize()];
                    let own = pairs.chunks_exact(2).find(|pair| pair[0] as usize == key);
                    own.map_or(missing, |pair| by_code[pair[1] as usize])
                });
                MarkedPlaces::Resources(resources.collect())
            }
        };
        MarkedAttribute { index, marks, missing }
    }
}

impl AttributeIndex {
    /// Returns the codes of the values of a key, in the order of its places; `None` if all have the same value.
    fn codes_of(&self, key: usize) -> Option<PackedInts> {
        let start = self.code_offsets[key].as_usize();
        let end = self.code_offsets.get(key + 1).map_or(self.codes.len(), |end| end.as_usize());
        PackedInts::new(self.codes.slice_with_length(start, end - start), self.code_widths[key], 0)
    }
}

impl MarkedAttribute<'_> {
    /// Whether no span must be looked at.
    pub fn is_decided(&self) -> bool {
        match &self.marks {
            MarkedPlaces::Spans { by_code: marks, .. } | MarkedPlaces::Resources(marks) => {
                marks.iter().all(|marks| marks & IS_OPEN == 0)
            }
            MarkedPlaces::Open(places) => places.is_empty(),
        }
    }

    /// Returns the places among these of which it is true, false, and open.
    pub fn sets(&self, places: Range<usize>) -> [PlaceSet; 3] {
        let mut sets = [0, 1, 2].map(|_| PlaceSet::none(places.clone()));
        let mut known = PlaceSet::none(places.clone());
        let mut mark = |place: usize, marks: Marks| {
            known.insert(place);
            for (bit, set) in sets.iter_mut().enumerate() {
                if marks >> bit & 1 == 1 {
                    set.insert(place);
                }
            }
        };
        let as_u32 = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
        let range = as_u32(places.start)..as_u32(places.end);
        match &self.marks {
            MarkedPlaces::Open(open) => {
                open.range(range).for_each(|place| mark(place as usize, IS_OPEN));
            }
            MarkedPlaces::Spans { places: own, codes, by_code } => {
                let before = range.start.checked_sub(1).map_or(0, |last| own.rank(last));
                for (at, place) in (before.as_usize()..).zip(own.range(range)) {
                    let code = codes.as_ref().map_or(0, |codes| codes.code(at));
                    mark(place as usize, by_code[code as usize]);
                }
            }
            MarkedPlaces::Resources(by_resource) => {
                let mut place = places.start;
                self.index.resource_codes.for_each(&RowBlock::Range(range), |code| {
                    let code = usize::try_from(code).unwrap_or_default();
                    mark(place, by_resource[code]);
                    place += 1;
                });
            }
        }
        let mut others = PlaceSet::all(places);
        others.subtract(&known);
        for (bit, set) in sets.iter_mut().enumerate() {
            if self.missing >> bit & 1 == 1 {
                set.unite(&others);
            }
        }
        sets
    }
}

fn numbers<T: ArrowNativeType>(
    sections: &Sections,
    column: Column,
    kind: SectionKind,
) -> Option<ScalarBuffer<T>> {
    sections.plain(column as usize, kind)
}
