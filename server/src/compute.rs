//! The one pool for work that takes longer than a socket should wait: big batches, searches, verification, reports.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tokio::sync::{Semaphore, oneshot};

/// Jobs that may wait or run for each thread of the pool. When that many are there, a caller waits in its own task.
const QUEUED_PER_THREAD: usize = 64;

/// Jobs that may wait for something outside at the same time, each on a thread of its own.
const WAITING: usize = 256;

/// A pool of threads behind a bounded queue, and threads beside it for jobs that wait.
#[derive(Clone)]
pub struct Compute {
    pool: Arc<rayon::ThreadPool>,
    queue: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

/// The job panicked; the log has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the job panicked")]
pub struct Panicked;

impl Compute {
    /// A pool of `threads` (at least one).
    ///
    /// # Errors
    /// When the system gives no threads.
    pub fn new(threads: usize) -> anyhow::Result<Self> {
        let threads = threads.max(1);
        let pool =
            rayon::ThreadPoolBuilder::new().num_threads(threads).thread_name(|k| format!("compute-{k}")).build()?;
        Ok(Compute {
            pool: Arc::new(pool),
            queue: Arc::new(Semaphore::new(threads * QUEUED_PER_THREAD)),
            waiting: Arc::new(Semaphore::new(WAITING)),
        })
    }

    /// Runs `job` on the pool. The job is queued when the future is first polled and there is room; it
    /// continues when the future is dropped.
    pub fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = Result<T, Panicked>> + Send + 'static {
        let Compute { pool, queue, .. } = self.clone();
        async move {
            let place = queue.acquire_owned().await.map_err(|_| Panicked)?;
            let (done, result) = oneshot::channel();
            pool.spawn(move || {
                // A receiver that is gone wanted no result.
                let _ = done.send(caught("a job", job));
                drop(place);
            });
            result.await.map_err(|_| Panicked)?
        }
    }

    /// Runs a job that waits for something other than its own computing, beside the pool.
    ///
    /// # Errors
    /// When `job` panicked.
    pub async fn wait<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, Panicked> {
        let place = self.waiting.clone().acquire_owned().await.map_err(|_| Panicked)?;
        let done = tokio::task::spawn_blocking(move || {
            let result = caught("a job", job);
            drop(place);
            result
        });
        done.await.map_err(|_| Panicked)?
    }
}

/// Runs `f`; a panic is logged and becomes an error. What `f` held is to be thrown away then.
///
/// # Errors
/// When `f` panicked.
pub fn caught<T>(what: &str, f: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|payload| {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
        tracing::error!("{what} panicked: {text}");
        Panicked
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_costs_nobody_else_anything() {
        let compute = Compute::new(1).unwrap();
        assert_eq!(compute.run(|| -> u32 { panic!("on purpose") }).await, Err(Panicked));
        for k in 0..3 * QUEUED_PER_THREAD {
            assert_eq!(compute.run(move || k).await, Ok(k));
        }
    }
}
