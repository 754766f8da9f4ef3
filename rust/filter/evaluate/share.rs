//! Shares blocks of rows with other threads.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::words::{BLOCK_WORDS, BlockWords};
use crate::error::Result;

/// The minimum duration of work for which other threads are woken: about as long as it takes to wake one.
const WORTH_WAKING: Duration = Duration::from_micros(100);

/// Returns the words of `rows` rows. `evaluate` sets the words of one block: [`BLOCK_WORDS`] words, or fewer
/// for the last block.
///
/// The caller starts at once. The time for the first block predicts the total time and decides whether other
/// threads help. They take blocks once they are awake. The caller waits only for threads that have taken a
/// block.
///
/// # Errors
/// The first error of `evaluate` that the caller sees.
pub(super) fn each_block<F>(rows: usize, evaluate: F) -> Result<BlockWords>
where
    F: Fn(usize, &mut [u64]) -> Result<()> + Send + Sync + 'static,
{
    let mut words = vec![0; rows.div_ceil(64)];
    let mut blocks: Vec<&mut [u64]> = words.chunks_mut(BLOCK_WORDS).collect();
    let Some(first) = blocks.first_mut() else { return Ok(words) };
    let begun = Instant::now();
    evaluate(0, first)?;
    let rest = u32::try_from(blocks.len() - 1).unwrap_or(u32::MAX);
    if begun.elapsed().saturating_mul(rest) < WORTH_WAKING {
        blocks.iter_mut().enumerate().skip(1).try_for_each(|(number, block)| evaluate(number, block))?;
        return Ok(words);
    }
    let shared = Arc::new(Shared { evaluate, rows, next: AtomicUsize::new(1) });
    let (sender, finished) = crossbeam_channel::unbounded();
    for _ in 1..rayon::current_num_threads().min(blocks.len()) {
        let (shared, sender) = (Arc::clone(&shared), sender.clone());
        rayon::spawn(move || {
            while let Some(number) = shared.take() {
                let matching = catch_unwind(AssertUnwindSafe(|| shared.matching(number)));
                if sender.send((number, matching)).is_err() {
                    break;
                }
            }
        });
    }
    drop(sender);
    let mut awaited = blocks.len() - 1;
    while let Some(number) = shared.take() {
        awaited -= 1;
        (shared.evaluate)(number, blocks[number])?;
    }
    for (number, matching) in finished.iter().take(awaited) {
        let matching = matching.unwrap_or_else(|panic| resume_unwind(panic))?;
        blocks[number].copy_from_slice(&matching);
    }
    Ok(words)
}

/// The state that the threads share: the work, and the number of the next block.
struct Shared<F> {
    evaluate: F,
    rows: usize,
    next: AtomicUsize,
}

impl<F: Fn(usize, &mut [u64]) -> Result<()>> Shared<F> {
    /// Returns the number of a block that no thread has taken; `None` if all blocks are taken.
    fn take(&self) -> Option<usize> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (number * BLOCK_WORDS * 64 < self.rows).then_some(number)
    }

    fn matching(&self, number: usize) -> Result<BlockWords> {
        let words = self.rows.div_ceil(64) - number * BLOCK_WORDS;
        let mut matching = vec![0; words.min(BLOCK_WORDS)];
        (self.evaluate)(number, &mut matching)?;
        Ok(matching)
    }
}
