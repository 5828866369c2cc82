//! Running engines of one agent.

use parking_lot::Mutex;

use crate::error::AgentError;

/// Engines that wait for the next question. A thread that asks takes an idle engine, or starts one, so there are never
/// more engines than threads. An engine is a cache: every question begins anew, whatever the last one was.
pub(super) struct Pool<E>(Mutex<Vec<E>>);

impl<E> Pool<E> {
    pub fn new() -> Self {
        Pool(Mutex::new(Vec::new()))
    }

    /// Asks an idle engine that is `ready` for another question, else a new one. An engine that fails is not asked again.
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
        self.0.lock().push(engine);
        Ok(answer)
    }

    fn idle(&self, ready: impl Fn(&mut E) -> bool) -> Option<E> {
        loop {
            // A statement of its own, so that the pool is unlocked while the end of a dropped engine is waited for.
            let mut engine = self.0.lock().pop()?;
            if ready(&mut engine) {
                return Some(engine);
            }
        }
    }
}
