//! Connection pool for reads. A read sees the data committed before it started, and never waits for the writer.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::Semaphore;

use super::StoreError;
use super::connection::connect;

/// Maximum number of concurrent reads.
const READERS: u32 = 4;

/// Pool of connections, opened on first use.
#[derive(Clone)]
pub(super) struct Readers {
    path: PathBuf,
    idle: Arc<Mutex<Vec<Connection>>>,
    room: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(path: PathBuf) -> Self {
        Readers { path, idle: Arc::default(), room: Arc::new(Semaphore::new(READERS as usize)) }
    }

    /// Runs `read` with a consistent snapshot on a blocking thread.
    ///
    /// # Errors
    ///
    /// [`StoreError::Closed`], or an SQLite error.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let room = self.room.clone().acquire_owned().await.map_err(|_| StoreError::Closed)?;
        let readers = self.clone();
        let task = tokio::task::spawn_blocking(move || {
            let answer = readers.read_now(read);
            drop(room);
            answer
        });
        match task.await {
            Ok(answer) => answer,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => Err(StoreError::Closed),
        }
    }

    fn read_now<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let sql = |e| StoreError::sql(&self.path, e);
        let idle = self.idle.lock().pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => connect(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(sql)?,
        };
        let answer = connection.transaction().and_then(|snapshot| read(&snapshot)).map_err(sql);
        self.idle.lock().push(connection);
        answer
    }

    /// Waits for the running reads to finish, and refuses new reads.
    pub(super) async fn close(&self) {
        let all = self.room.acquire_many(READERS).await;
        self.room.close();
        drop(all);
        self.idle.lock().clear();
    }
}
