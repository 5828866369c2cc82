//! Pool of an agent's running engines.

use parking_lot::Mutex;

use crate::error::AgentError;

/// Pool of idle engines. A calling thread takes an idle engine or starts one, so there are never more engines than
/// threads. Engines are caches: no request depends on an earlier request.
pub(super) struct Pool<E>(Mutex<Vec<E>>);

impl<E> Pool<E> {
    pub fn new() -> Self {
        Pool(Mutex::new(Vec::new()))
    }

    /// Runs `question` on an idle engine for which `ready` returns true, or on a newly started engine. Drops the engine
    /// on failure.
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
            // A separate statement, so that the pool is unlocked while a dropped engine terminates.
            let mut engine = self.0.lock().pop()?;
            if ready(&mut engine) {
                return Some(engine);
            }
        }
    }
}
