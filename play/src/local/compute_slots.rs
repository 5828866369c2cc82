//! Who computes when many matches are played at a time.
//!
//! Agents that gather questions wait for hours in hundreds of matches. When their answers come, all opponents are to move at once.
//! They take turns, so that none of them is late because of the others.

use std::sync::{Condvar, Mutex, PoisonError};

/// A number of places for agents that compute.
pub struct Turns {
    free: Mutex<usize>,
    left: Condvar,
}

/// A place, which is free again when this is dropped.
pub(super) struct ComputeSlot<'a>(&'a Turns);

impl Turns {
    /// A place for each core.
    pub fn of_cores() -> Self {
        Turns::new(super::cores())
    }

    fn new(places: usize) -> Self {
        Turns { free: Mutex::new(places), left: Condvar::new() }
    }

    /// Waits for a place.
    pub(super) fn take(&self) -> ComputeSlot<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self.left.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        ComputeSlot(self)
    }
}

impl Drop for ComputeSlot<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.left.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::time::Duration;

    use super::*;

    #[test]
    fn no_more_than_the_places_are_taken() {
        let (turns, inside, most) = (Turns::new(2), AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..5 {
                        let _place = turns.take();
                        most.fetch_max(inside.fetch_add(1, SeqCst) + 1, SeqCst);
                        std::thread::sleep(Duration::from_millis(1));
                        inside.fetch_sub(1, SeqCst);
                    }
                });
            }
        });
        assert_eq!((most.into_inner(), inside.into_inner()), (2, 0));
    }
}
