//! Turns: what takes much memory is done by a few at once; everybody else waits.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::error::Result;

/// How long somebody waits before it is asked again whether it still wants its turn.
const PATIENCE: Duration = Duration::from_millis(20);

/// A number of units that may be taken at once.
#[derive(Debug)]
pub struct Turns {
    free: Mutex<u64>,
    freed: Condvar,
}

impl Turns {
    /// Returns turns of `units` together.
    pub const fn of(units: u64) -> Self {
        Self { free: Mutex::new(units), freed: Condvar::new() }
    }

    /// Waits until so many units are free, which must not be more than there are; they are taken until the
    /// returned value is dropped.
    ///
    /// # Errors
    /// Those of `is_wanted`, which is asked while it waits.
    pub fn take(&self, units: u64, is_wanted: impl Fn() -> Result<()>) -> Result<Turn<'_>> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free < units {
            is_wanted()?;
            free = self.freed.wait_timeout(free, PATIENCE).unwrap_or_else(PoisonError::into_inner).0;
        }
        *free -= units;
        Ok(Turn { turns: self, units })
    }
}

/// A turn that was taken.
#[derive(Debug)]
pub struct Turn<'a> {
    turns: &'a Turns,
    units: u64,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.turns.free.lock().unwrap_or_else(PoisonError::into_inner) += self.units;
        self.turns.freed.notify_all();
    }
}
