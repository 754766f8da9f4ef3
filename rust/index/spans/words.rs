//! The words of spans: the distinct values of a field, and the value that each combination of words has.

use std::collections::HashMap;
use std::io;

use ahash::RandomState;
use arrow_buffer::{Buffer, ScalarBuffer};

use crate::index::{PackedInts, SectionKind, SectionWriter, Sections};

/// The words of one field in an open table.
#[derive(Debug)]
pub(super) struct Words {
    values: Buffer,
    offsets: ScalarBuffer<u32>,
    /// The word of each combination; the number of words stands for a missing one.
    codes: PackedInts,
    combinations: usize,
}

impl Words {
    pub(super) fn open(sections: &Sections, column: usize) -> Option<Self> {
        let combinations: ScalarBuffer<u32> = sections.plain(column, SectionKind::Starts)?;
        let combinations = *combinations.first()? as usize;
        Some(Self {
            values: sections.buffer(column, SectionKind::Values)?,
            offsets: sections.plain(column, SectionKind::Offsets)?,
            codes: sections.packed(column, SectionKind::Codes, combinations)?,
            combinations,
        })
    }

    /// Returns the result of `decide` for the word of each combination.
    pub(super) fn of_combinations<T: Copy>(&self, decide: impl Fn(Option<&str>) -> T) -> Vec<T> {
        let of_word = |bounds: &[u32]| {
            let word = self.values.get(bounds[0] as usize..bounds[1] as usize).unwrap_or_default();
            decide(std::str::from_utf8(word).ok())
        };
        let mut by_word: Vec<T> = self.offsets.windows(2).map(of_word).collect();
        by_word.push(decide(None));
        (0..self.combinations).map(|combination| by_word[self.codes.code(combination) as usize]).collect()
    }

    pub(super) fn combinations(&self) -> usize {
        self.combinations
    }

    /// Returns the word of a combination; `None` if it is missing.
    pub(super) fn of_combination(&self, combination: usize) -> Option<&str> {
        let code = self.codes.code(combination) as usize;
        let (start, end) = (*self.offsets.get(code)?, *self.offsets.get(code + 1)?);
        std::str::from_utf8(self.values.get(start as usize..end as usize)?).ok()
    }

    /// Returns the code of the word of each combination; `None` if it is missing.
    pub(super) fn codes(&self) -> Vec<Option<u32>> {
        let words = self.offsets.len() - 1;
        let code = |combination| Some(self.codes.code(combination)).filter(|code| (*code as usize) < words);
        (0..self.combinations).map(code).collect()
    }
}

/// Collects the words of one field.
#[derive(Debug)]
pub(super) struct WordsBuilder {
    known: HashMap<Box<str>, u32, RandomState>,
    values: Vec<u8>,
    offsets: Vec<u32>,
}

impl WordsBuilder {
    /// The code of a missing value.
    pub(super) const MISSING: u32 = u32::MAX;

    pub(super) fn new() -> Self {
        Self { known: HashMap::default(), values: Vec::new(), offsets: vec![0] }
    }

    /// Returns the approximate memory use in bytes. Each word is stored twice, because it is also a key.
    pub(super) fn bytes(&self) -> usize {
        const BYTES_PER_WORD: usize = 48;
        2 * self.values.len() + self.known.len() * BYTES_PER_WORD
    }

    /// Returns the code of a word; `None` if the words exceed 4 GiB.
    pub(super) fn code(&mut self, word: &str) -> Option<u32> {
        if let Some(code) = self.known.get(word) {
            return Some(*code);
        }
        let code = u32::try_from(self.known.len()).ok()?;
        self.values.extend_from_slice(word.as_bytes());
        self.offsets.push(u32::try_from(self.values.len()).ok()?);
        self.known.insert(word.into(), code);
        Some(code)
    }

    /// Returns the words in the order of their codes.
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        let word = |bounds: &[u32]| {
            let word = self.values.get(bounds[0] as usize..bounds[1] as usize).unwrap_or_default();
            std::str::from_utf8(word).unwrap_or_default()
        };
        self.offsets.windows(2).map(word)
    }

    /// Writes the words and the word code of each combination.
    pub(super) fn write(
        self,
        writer: &mut SectionWriter<'_>,
        column: usize,
        codes: impl ExactSizeIterator<Item = u32>,
    ) -> io::Result<()> {
        let missing = u32::try_from(self.known.len()).unwrap_or(u32::MAX);
        let of_combination = |code| if code == Self::MISSING { missing } else { code };
        let codes: Vec<u32> = codes.map(of_combination).collect();
        writer.plain(column, SectionKind::Values, self.values)?;
        writer.plain(column, SectionKind::Offsets, self.offsets)?;
        writer.plain(column, SectionKind::Starts, vec![u32::try_from(codes.len()).unwrap_or(u32::MAX)])?;
        writer.codes(column, &codes)
    }
}
