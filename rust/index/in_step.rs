//! How many searches for a value go in step.
//!
//! Nearly every probe waits for memory, and the next one depends on it. Of searches that go in step, the processor waits
//! for the probes of all of them at once: a list of a thousand ids is found in a third of the time.

/// So many values are searched for in step. Twice as many are not faster.
pub(super) const IN_STEP: usize = 16;

/// Fewer are searched for one after another, in which the processor guesses the way of each.
pub(super) const MIN_IN_STEP: usize = 4;
