//! Running engines of one agent.

use std::sync::{Mutex, PoisonError};

use crate::error::AgentError;

/// Engines that wait for the next question: each thread that asks takes one, or starts one if none is idle, so that
/// there are never more than threads. An engine is a cache: every question begins anew, whatever the last one was.
pub(super) struct Pool<E>(Mutex<Vec<E>>);

impl<E> Pool<E> {
    pub fn new() -> Self {
        Pool(Mutex::new(Vec::new()))
    }

    /// Asks an idle engine that is `ready` for another question, else a new one. One that fails is not asked again.
    pub fn ask<A>(
        &self,
        ready: impl Fn(&mut E) -> bool,
        start: impl FnOnce() -> Result<E, AgentError>,
        question: impl FnOnce(&mut E) -> Result<A, AgentError>,
    ) -> Result<A, AgentError> {
        let mut engine = match self.idle(ready) {
            Some(engine) => engine,
            None => start()?,
        };
        let answer = question(&mut engine)?;
        self.lock().push(engine);
        Ok(answer)
    }

    fn idle(&self, ready: impl Fn(&mut E) -> bool) -> Option<E> {
        loop {
            // Taken in a statement of its own: an engine that is dropped here is waited for, with the pool unlocked.
            let mut engine = self.lock().pop()?;
            if ready(&mut engine) {
                return Some(engine);
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<E>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
