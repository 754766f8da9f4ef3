//! The progress of a long operation, readable from other threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The progress of one operation at a time. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    done: AtomicU64,
    total: AtomicU64,
}

impl Progress {
    /// Begins an operation of `total` units and resets the count of completed units.
    pub fn begin(&self, total: u64) {
        self.0.done.store(0, Ordering::Relaxed);
        self.0.total.store(total, Ordering::Relaxed);
    }

    /// Adds `units` to the total.
    pub fn expect(&self, units: u64) {
        self.0.total.fetch_add(units, Ordering::Relaxed);
    }

    /// Adds `units` to the completed units.
    pub fn add(&self, units: u64) {
        self.0.done.fetch_add(units, Ordering::Relaxed);
    }

    /// Returns the completed units and the total; the total is 0 if it is not known yet.
    pub fn done_of_total(&self) -> (u64, u64) {
        (self.0.done.load(Ordering::Relaxed), self.0.total.load(Ordering::Relaxed))
    }
}

/// Two values are equal if they have the same counts.
impl PartialEq for Progress {
    fn eq(&self, other: &Self) -> bool {
        self.done_of_total() == other.done_of_total()
    }
}

impl Eq for Progress {}
