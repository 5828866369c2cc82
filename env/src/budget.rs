//! Time and processor limits of one piece of work.

use std::time::Instant;

/// The error for work that was canceled by its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the work was stopped")]
pub struct Stopped;

/// Scheduler that shares processors among long-running work.
pub trait Scheduler: Send + Sync {
    /// Lets other work run; may block until the scheduler allows this work to continue. Long-running work calls this
    /// method every few milliseconds.
    ///
    /// # Errors
    /// Fails with [`Stopped`] if the host has canceled the work. Every later call also fails.
    fn pause(&self) -> Result<(), Stopped>;
}

/// Deadline and scheduler of one piece of work, such as a search or a step of a batch. The default has neither.
#[derive(Clone, Copy, Default)]
pub struct Budget<'a> {
    deadline: Option<Instant>,
    scheduler: Option<&'a dyn Scheduler>,
}

impl<'a> Budget<'a> {
    /// Creates a budget with a deadline.
    pub fn until(deadline: Instant) -> Self {
        Budget { deadline: Some(deadline), scheduler: None }
    }

    /// Replaces the deadline; `None` removes the deadline.
    pub fn with_deadline(self, deadline: Option<Instant>) -> Self {
        Budget { deadline, ..self }
    }

    /// Replaces the scheduler; `None` removes the scheduler.
    pub fn with_scheduler(self, scheduler: Option<&'a dyn Scheduler>) -> Self {
        Budget { scheduler, ..self }
    }

    /// Returns the latest time at which the work must end.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Lets other work run. Does not read the clock, so calls without a scheduler are nearly free.
    ///
    /// # Errors
    /// Fails with [`Stopped`] if the host stopped the work.
    pub fn pause(&self) -> Result<(), Stopped> {
        self.scheduler.map_or(Ok(()), Scheduler::pause)
    }

    /// Lets other work run. Then returns true if the deadline has passed or the host stopped the work.
    pub fn is_spent(&self) -> bool {
        self.pause().is_err() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use super::*;

    /// Scheduler that stops the work at the third pause.
    #[derive(Default)]
    struct StopsAtThird(AtomicU32);

    impl Scheduler for StopsAtThird {
        fn pause(&self) -> Result<(), Stopped> {
            if self.0.fetch_add(1, Ordering::Relaxed) >= 2 { Err(Stopped) } else { Ok(()) }
        }
    }

    #[test]
    fn budget_is_spent_at_its_deadline_or_when_stopped() {
        assert!(!Budget::default().is_spent());
        assert!(Budget::until(Instant::now()).is_spent());
        let scheduler = StopsAtThird::default();
        let budget = Budget::until(Instant::now() + Duration::from_secs(3_600)).with_scheduler(Some(&scheduler));
        assert_eq!([(); 3].map(|()| budget.is_spent()), [false, false, true]);
        assert!(budget.with_deadline(None).is_spent(), "stopped work stays stopped");
    }
}
