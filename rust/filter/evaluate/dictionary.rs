//! Tests of dictionary-encoded texts: each value is tested once, and rows are found by their codes.

use arrow_array::cast::AsArray;
use arrow_array::types::ArrowDictionaryKeyType;
use arrow_array::{Array, ArrayRef, DictionaryArray, downcast_dictionary_array};
use arrow_buffer::{ArrowNativeType, ScalarBuffer};

use super::super::columns::mistyped;
use super::super::text::TextMatcher;
use super::layouts;
use super::test::{ColumnTest, values_of};
use super::words::{each_open, each_value, flags_of, has_any, is_dense, nulls, words_of};
use crate::error::{Error, Result};
use crate::schema::Field;

/// Returns the test of a dictionary. A dictionary with more values than rows is tested as plain texts.
pub(super) fn test(
    field: Field,
    array: &ArrayRef,
    matcher: &TextMatcher,
) -> Result<Option<Box<dyn ColumnTest>>> {
    let coded = array.as_any_dictionary();
    let distinct = coded.values();
    if distinct.len() > array.len() {
        let plain = arrow_select::take::take(distinct, coded.keys(), None)
            .map_err(|error| Error::Batch(format!("column `{}`: {error}", field.key())))?;
        return layouts::test(field, &plain, matcher);
    }
    let Some(test) = layouts::test(field, distinct, matcher)? else { return Ok(None) };
    let mut hits = values_of(test, distinct.len())?;
    if let Some(present) = nulls(distinct) {
        hits.iter_mut().zip(words_of(&present)).for_each(|(hits, present)| *hits &= present);
    }
    Ok(Some(downcast_dictionary_array!(
        array => code_test(array, &hits),
        other => return Err(mistyped(field, other)),
    )))
}

fn code_test<K: ArrowDictionaryKeyType>(array: &DictionaryArray<K>, hits: &[u64]) -> Box<dyn ColumnTest>
where
    K::Native: Send + Sync,
{
    if !has_any(hits) {
        return Box::new(NoCode);
    }
    let codes = array.keys().values().clone();
    let count: u32 = hits.iter().map(|word| word.count_ones()).sum();
    let only = (count == 1).then(|| hits.iter().position(|word| *word != 0)).flatten();
    if let Some(code) =
        only.and_then(|word| K::Native::from_usize(word * 64 + hits[word].trailing_zeros() as usize))
    {
        return Box::new(OneCode { codes, code });
    }
    if hits.len() == 1 {
        return Box::new(FewCodes { codes, hits: hits[0] });
    }
    Box::new(ManyCodes { codes, flags: flags_of(hits) })
}

/// Exactly one value matches.
struct OneCode<N: ArrowNativeType> {
    codes: ScalarBuffer<N>,
    code: N,
}

impl<N: ArrowNativeType + Send + Sync> ColumnTest for OneCode<N> {
    fn find(&self, first: usize, open: &[u64], matching: &mut [u64]) {
        each_value(rows_of(&self.codes, first, open), matching, |code| code == self.code);
    }
}

/// At most 64 values.
struct FewCodes<N: ArrowNativeType> {
    codes: ScalarBuffer<N>,
    hits: u64,
}

impl<N: ArrowNativeType + Send + Sync> ColumnTest for FewCodes<N> {
    #[allow(clippy::cast_possible_truncation, reason = "codes of present values are below 64")]
    fn find(&self, first: usize, open: &[u64], matching: &mut [u64]) {
        let codes = rows_of(&self.codes, first, open);
        // A NULL slot may hold any code; such a row is not open.
        each_value(codes, matching, |code| self.hits.wrapping_shr(code.as_usize() as u32) & 1 != 0);
    }
}

/// No value matches.
struct NoCode;

impl ColumnTest for NoCode {
    fn find(&self, _: usize, _: &[u64], matching: &mut [u64]) {
        matching.fill(0);
    }
}

/// Many values: one byte for each, which is faster than a lookup of a bit.
struct ManyCodes<N: ArrowNativeType> {
    codes: ScalarBuffer<N>,
    flags: Vec<u8>,
}

impl<N: ArrowNativeType + Send + Sync> ColumnTest for ManyCodes<N> {
    fn find(&self, first: usize, open: &[u64], matching: &mut [u64]) {
        let codes = rows_of(&self.codes, first, open);
        // A NULL slot may hold any code.
        let is_hit = |code: N| self.flags.get(code.as_usize()).is_some_and(|flag| *flag == 1);
        if is_dense(open) {
            each_value(codes, matching, is_hit);
        } else {
            each_open(open, matching, |row| is_hit(codes[row]));
        }
    }
}

fn rows_of<'c, N: ArrowNativeType>(codes: &'c ScalarBuffer<N>, first: usize, open: &[u64]) -> &'c [N] {
    &codes[first..codes.len().min(first + open.len() * 64)]
}
