//! Limit on the number of agents that compute at the same time, for many parallel matches.
//!
//! With batched agents, hundreds of matches wait for hours. When the replies of a batch arrive, all opponents must move
//! at the same time. Each opponent takes a slot before it computes, so that no opponent exceeds its time limit because
//! too many compute.

use parking_lot::{Condvar, Mutex};

/// Fixed number of slots for agents that compute.
pub struct Turns {
    free: Mutex<usize>,
    left: Condvar,
}

/// Slot of an agent that computes; released on drop.
pub(super) struct ComputeSlot<'a>(&'a Turns);

impl Turns {
    /// Creates one slot per core.
    pub fn of_cores() -> Self {
        Turns::new(super::cores())
    }

    fn new(places: usize) -> Self {
        Turns { free: Mutex::new(places), left: Condvar::new() }
    }

    /// Blocks until a slot is free.
    pub(super) fn take(&self) -> ComputeSlot<'_> {
        let mut free = self.free.lock();
        self.left.wait_while(&mut free, |free| *free == 0);
        *free -= 1;
        ComputeSlot(self)
    }
}

impl Drop for ComputeSlot<'_> {
    fn drop(&mut self) {
        *self.0.free.lock() += 1;
        self.0.left.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::time::Duration;

    use super::*;

    #[test]
    fn concurrent_agents_never_exceed_slots() {
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
