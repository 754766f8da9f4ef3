//! Evaluates a predicate over a record batch.
//!
//! For each row a predicate is true, false or unknown. The evaluator computes either the rows for which it is
//! true or the rows for which it is false. An unknown row is in neither result, so NULLs need no bookkeeping
//! of their own. `NOT` requests the other result from its part, and `AND` and `OR` are exchanged. Only the
//! true rows match in the end.
//!
//! First the parts are bound to the columns of the batch: types are distinguished once, and dictionary values
//! are tested once. Then blocks of rows are evaluated, on several threads if that takes long. A block carries
//! its open rows and stops if no open row remains. It is small enough for its rows to stay in the processor's
//! cache from one part to the next.

mod adjacent;
mod column_predicate;
mod dictionary;
mod key_table;
mod layouts;
mod numbers;
mod offsets;
mod share;
mod test;
mod texts;
mod views;
mod words;

use arrow_array::RecordBatch;
use arrow_buffer::bit_chunk_iterator::BitChunks;
use arrow_buffer::{BooleanBuffer, Buffer};
use rayon::prelude::*;

use super::columns::{Columns, SpanSource};
use super::planner::SpanRows;
use super::predicate::Predicate;
use super::spans::{SpanTest, Truth};
use crate::bitmap::ones;
use crate::error::Result;
use column_predicate::ColumnPredicate;
use share::each_block;
use test::ColumnTest;
use words::{BLOCK_WORDS, first_rows, has_any};

/// Returns the rows of `batch` for which `predicate` is true. `spans` decides conditions on spans.
pub(super) fn evaluate<'a>(
    predicate: &Predicate,
    batch: &'a RecordBatch,
    spans: SpanSource<'a>,
) -> Result<BooleanBuffer> {
    let columns = Columns::find(predicate, batch, spans)?;
    let bound = ColumnPredicate::of(predicate, true, &columns)?;
    let rows = batch.num_rows();
    if let ColumnPredicate::Present { present, is_negated } = &bound {
        return Ok(present_rows(present.as_ref(), *is_negated, rows));
    }
    let words = if bound.reads_spans() {
        let mut words = vec![0; rows.div_ceil(64)];
        for (number, block) in words.chunks_mut(BLOCK_WORDS).enumerate() {
            Block::at(number, rows, spans).evaluate(&bound, block)?;
        }
        words
    } else {
        each_block(rows, move |number, block| {
            Block::at(number, rows, SpanSource::None).evaluate(&bound, block)
        })?
    };
    Ok(BooleanBuffer::new(Buffer::from_vec(words), 0, rows))
}

/// Returns the rows that are not NULL, or the NULL rows if negated. The bits of the column are shared, not
/// copied.
fn present_rows(present: Option<&BooleanBuffer>, is_negated: bool, rows: usize) -> BooleanBuffer {
    match present {
        Some(present) if is_negated => !present,
        Some(present) => present.clone(),
        None if is_negated => BooleanBuffer::new_unset(rows),
        None => BooleanBuffer::new_set(rows),
    }
}

/// Up to [`BLOCK_WORDS`] words of 64 rows, one bit for each row.
struct Block<'a> {
    /// The first row and the number of rows.
    first: usize,
    rows: usize,
    spans: SpanSource<'a>,
}

impl<'a> Block<'a> {
    fn at(number: usize, rows: usize, spans: SpanSource<'a>) -> Self {
        let first = number * BLOCK_WORDS * 64;
        Self { first, rows: (rows - first).min(BLOCK_WORDS * 64), spans }
    }

    fn evaluate(&self, bound: &ColumnPredicate, matching: &mut [u64]) -> Result<()> {
        let mut open = [0; BLOCK_WORDS];
        let open = &mut open[..matching.len()];
        first_rows(self.rows, open);
        self.rows_of(bound, open, matching)
    }

    /// Sets `matching` to the rows of `open` for which the part is true. Recursion is bounded by the depth of
    /// the predicate, which is at most the depth of the expression.
    fn rows_of(&self, bound: &ColumnPredicate, open: &[u64], matching: &mut [u64]) -> Result<()> {
        match bound {
            ColumnPredicate::All(parts) => self.rows_of_all(parts, open, matching),
            ColumnPredicate::Any(parts) => self.rows_of_any(parts, open, matching),
            ColumnPredicate::Present { present, is_negated } => {
                self.keep_present(present.as_ref(), *is_negated, open, matching);
                Ok(())
            }
            ColumnPredicate::Test { test, present, is_negated } => {
                self.rows_of_test((test.as_ref(), present.as_ref(), *is_negated), open, matching);
                Ok(())
            }
            ColumnPredicate::Spans { test, truth, implied } => {
                self.rows_of_spans((test, *truth, implied.as_deref()), open, matching)
            }
        }
    }

    fn rows_of_all(&self, parts: &[ColumnPredicate], open: &[u64], matching: &mut [u64]) -> Result<()> {
        let mut left = [0; BLOCK_WORDS];
        let left = &mut left[..open.len()];
        matching.copy_from_slice(open);
        for part in parts {
            if !has_any(matching) {
                break;
            }
            left.copy_from_slice(matching);
            self.rows_of(part, left, matching)?;
        }
        Ok(())
    }

    fn rows_of_any(&self, parts: &[ColumnPredicate], open: &[u64], matching: &mut [u64]) -> Result<()> {
        let (mut left, mut hits) = ([0; BLOCK_WORDS], [0; BLOCK_WORDS]);
        let (left, hits) = (&mut left[..open.len()], &mut hits[..open.len()]);
        left.copy_from_slice(open);
        matching.fill(0);
        for part in parts {
            if !has_any(left) {
                break;
            }
            self.rows_of(part, left, hits)?;
            for ((matching, left), hits) in matching.iter_mut().zip(left.iter_mut()).zip(hits.iter()) {
                *matching |= hits;
                *left &= !hits;
            }
        }
        Ok(())
    }

    fn rows_of_test(
        &self,
        part: (&dyn ColumnTest, Option<&BooleanBuffer>, bool),
        open: &[u64],
        matching: &mut [u64],
    ) {
        let (test, present, is_negated) = part;
        let mut candidates = [0; BLOCK_WORDS];
        let candidates = &mut candidates[..open.len()];
        self.keep_present(present, false, open, candidates);
        if !has_any(candidates) {
            matching.fill(0);
            return;
        }
        test.find(self.first, candidates, matching);
        let flip = if is_negated { u64::MAX } else { 0 };
        for (matching, candidates) in matching.iter_mut().zip(candidates.iter()) {
            *matching = (*matching ^ flip) & candidates;
        }
    }

    /// Sets `matching` to the rows of `open` that are not NULL, or to the NULL rows if negated.
    fn keep_present(
        &self,
        present: Option<&BooleanBuffer>,
        is_negated: bool,
        open: &[u64],
        matching: &mut [u64],
    ) {
        let flip = if is_negated { u64::MAX } else { 0 };
        let Some(present) = present else {
            matching.iter_mut().zip(open).for_each(|(matching, open)| *matching = open & !flip);
            return;
        };
        let present = BitChunks::new(present.values(), present.offset() + self.first, self.rows);
        for ((matching, open), present) in matching.iter_mut().zip(open).zip(present.iter_padded()) {
            *matching = open & (present ^ flip);
        }
    }

    /// Checks the trace of each row that the columns leave open, if traces are available.
    fn rows_of_spans(
        &self,
        part: (&SpanTest, bool, Option<&ColumnPredicate>),
        open: &[u64],
        matching: &mut [u64],
    ) -> Result<()> {
        let (test, truth, implied) = part;
        let mut left = [0; BLOCK_WORDS];
        let left = &mut left[..open.len()];
        match implied {
            Some(implied) => self.rows_of(implied, open, left)?,
            None => left.copy_from_slice(open),
        }
        matching.fill(0);
        let traces = match self.spans {
            SpanSource::None | SpanSource::Rows(SpanRows::Certain) => return Ok(()),
            SpanSource::Rows(SpanRows::Possible) => {
                matching.copy_from_slice(left);
                return Ok(());
            }
            SpanSource::Traces(traces) => traces,
        };
        let test_word = |(index, (word, matching)): (usize, (&u64, &mut u64))| {
            for bit in ones(0, *word) {
                let trace = traces(self.first + index * 64 + bit as usize);
                *matching |= u64::from(test.is_of_trace(trace, Truth::of(truth))?) << bit;
            }
            Ok(())
        };
        left.par_iter().zip(matching).enumerate().try_for_each(test_word)
    }
}
