//! Turns: what takes much memory is done by a few at once; everybody else waits, and is served in order.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Thread, current, park_timeout};
use std::time::Duration;

use crate::error::Result;

/// How long somebody waits before it is asked again whether it still wants its turn.
const PATIENCE: Duration = Duration::from_millis(20);

/// A number of units that may be taken at once.
#[derive(Debug)]
pub struct Turns {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    units: u64,
    taken: u64,
    /// Who waits, the first one first: one that wants much is not passed by for ever.
    queue: VecDeque<(u64, Thread)>,
    next: u64,
}

impl Turns {
    /// Returns turns of `units` together.
    pub const fn of(units: u64) -> Self {
        let state = State { units, taken: 0, queue: VecDeque::new(), next: 0 };
        Self { state: Mutex::new(state) }
    }

    /// Has no more than `units` be taken together from now on.
    pub fn limit(&self, units: u64) {
        let mut state = self.state();
        state.units = units;
        state.wake();
    }

    /// Returns how many units there are together.
    pub fn units(&self) -> u64 {
        self.state().units
    }

    /// Waits until so many units are free, or all of them if it wants more than there are, and all who asked
    /// before have had their turn. They are taken until the returned value is dropped.
    ///
    /// # Errors
    /// Those of `is_wanted`, which is asked while it waits.
    pub fn take(&self, units: u64, is_wanted: impl Fn() -> Result<()>) -> Result<Turn<'_>> {
        let mut state = self.state();
        if !(state.queue.is_empty() && state.has_free(units)) {
            let place = state.next;
            state.next += 1;
            state.queue.push_back((place, current()));
            while !(state.is_first(place) && state.has_free(units)) {
                if let Err(unwanted) = is_wanted() {
                    state.queue.retain(|(waiting, _)| *waiting != place);
                    state.wake();
                    return Err(unwanted);
                }
                drop(state);
                park_timeout(PATIENCE);
                state = self.state();
            }
            state.queue.pop_front();
        }
        state.taken += units;
        state.wake();
        Ok(Turn { turns: self, units })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn has_free(&self, units: u64) -> bool {
        self.taken == 0 || self.taken + units <= self.units
    }

    fn is_first(&self, place: u64) -> bool {
        self.queue.front().is_some_and(|(first, _)| *first == place)
    }

    /// Has the first one that waits look again.
    fn wake(&self) {
        if let Some((_, thread)) = self.queue.front() {
            thread.unpark();
        }
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
        let mut state = self.turns.state();
        state.taken -= self.units;
        state.wake();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread::{scope, sleep};

    use super::*;
    use crate::error::Error;

    #[test]
    fn no_more_is_taken_than_there_is_unless_one_alone_wants_more() {
        let (turns, together) = (Turns::of(10), AtomicU64::new(0));
        scope(|scope| {
            for thread in 0..8_u64 {
                let (turns, together) = (&turns, &together);
                scope.spawn(move || {
                    for round in 0..200 {
                        let units = 1 + (thread * 7 + round) % 12;
                        let turn = turns.take(units, || Ok(())).expect("it is wanted");
                        let with_it = together.fetch_add(units, Ordering::SeqCst) + units;
                        assert!(with_it <= 10 || with_it == units, "{with_it}");
                        together.fetch_sub(units, Ordering::SeqCst);
                        drop(turn);
                    }
                });
            }
        });
        assert_eq!(turns.state().taken, 0);
    }

    #[test]
    fn one_that_wants_much_is_not_passed_by_and_one_that_leaves_holds_nobody_up() {
        let (turns, leaves) = (Turns::of(4), AtomicU64::new(0));
        let leaving = || if leaves.load(Ordering::SeqCst) > 0 { Err(Error::Cancelled) } else { Ok(()) };
        let waits = |count: usize| {
            while turns.state().queue.len() < count {
                sleep(Duration::from_millis(1));
            }
        };
        let held = turns.take(1, || Ok(())).expect("free");
        scope(|scope| {
            let unwanted = scope.spawn(|| turns.take(4, leaving).map(drop));
            waits(1);
            let large = scope.spawn(|| turns.take(4, || Ok(())).map(|_turn| turns.state().queue.len()));
            waits(2);
            let small = scope.spawn(|| turns.take(1, || Ok(())).map(drop));
            waits(3);
            leaves.store(1, Ordering::SeqCst);
            assert!(matches!(unwanted.join().expect("ends"), Err(Error::Cancelled)));
            assert_eq!(turns.state().queue.len(), 2);
            drop(held);
            assert_eq!(large.join().expect("ends").expect("wanted"), 1);
            small.join().expect("ends").expect("wanted");
        });
    }

    #[test]
    fn fewer_units_hold_from_the_next_turn_on() {
        let turns = Turns::of(8);
        let first = turns.take(6, || Ok(())).expect("free");
        turns.limit(4);
        assert_eq!(turns.units(), 4);
        assert!(turns.take(1, || Err(Error::Cancelled)).is_err());
        drop(first);
        drop(turns.take(4, || Err(Error::Cancelled)).expect("free"));
    }
}
