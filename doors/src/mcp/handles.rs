//! Games by handle. A handle belongs to the token of the request that created it, and not to a connection or a session of
//! the client, so any later request with the token finds its games.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use rand::TryRng as _;
use rand::rngs::SysRng;
use tokio::time::Instant;

/// Maximum number of games of one token.
const MAX_OWN: usize = 64;

/// Maximum number of games of all callers without a token.
const MAX_GUESTS: usize = 1_024;

/// Maximum number of all games.
const MAX_ALL: usize = 8_192;

/// Longest time of a game without a request.
const MAX_IDLE: Duration = Duration::from_secs(3_600);

/// Entry of the table that may be over. Dropping it frees the resources of the game.
pub(super) trait Ends {
    /// Returns true if the game is over.
    fn is_over(&self) -> bool;
}

/// Table of games, with limits on their number and on their idle time.
pub(super) struct Handles<T> {
    entries: Mutex<BTreeMap<String, Entry<T>>>,
    /// Time without a request after which a game is closed.
    idle: Duration,
}

struct Entry<T> {
    /// Token of the owner; `None` without a token.
    owner: Option<String>,
    game: Arc<T>,
    used: Instant,
}

impl<T> Default for Handles<T> {
    fn default() -> Self {
        Handles { entries: Mutex::default(), idle: MAX_IDLE }
    }
}

impl<T: Ends + Send + Sync + 'static> Handles<T> {
    /// Checks that the owner may have another game. If its limit is reached, its least recently used game that is over is
    /// removed.
    ///
    /// # Errors
    /// The limit that is reached.
    pub fn admit(&self, owner: Option<&str>) -> Result<(), String> {
        make_room(&mut self.entries.lock(), owner)
    }

    /// Adds a game and returns its handle. A task closes the game once it is idle.
    ///
    /// # Errors
    /// The limit that requests at the same time have reached since [`admit`](Self::admit), or a system without random
    /// numbers.
    pub fn insert(self: &Arc<Self>, owner: Option<&str>, game: Arc<T>) -> Result<String, String> {
        let mut bytes = [0; 8];
        SysRng.try_fill_bytes(&mut bytes).map_err(|error| error.to_string())?;
        let id = format!("g{:016x}", u64::from_le_bytes(bytes));
        let entry = Entry { owner: owner.map(str::to_owned), game, used: Instant::now() };
        let mut entries = self.entries.lock();
        make_room(&mut entries, owner)?;
        entries.insert(id.clone(), entry);
        drop(entries);
        tokio::spawn(close_idle(Arc::downgrade(self), id.clone()));
        Ok(id)
    }

    /// Returns a game of the owner, and counts it as used now.
    pub fn get(&self, owner: Option<&str>, id: &str) -> Option<Arc<T>> {
        let mut entries = self.entries.lock();
        let entry = entries.get_mut(id).filter(|entry| entry.owner.as_deref() == owner)?;
        entry.used = Instant::now();
        Some(entry.game.clone())
    }

    /// Returns all games of the owner by handle.
    pub fn all(&self, owner: Option<&str>) -> Vec<(String, Arc<T>)> {
        let entries = self.entries.lock();
        let own = entries.iter().filter(|(_, entry)| entry.owner.as_deref() == owner);
        own.map(|(id, entry)| (id.clone(), entry.game.clone())).collect()
    }

    /// Removes a game if it is idle. Otherwise returns the time at which it will be.
    fn deadline(&self, id: &str) -> Option<Instant> {
        let mut entries = self.entries.lock();
        let deadline = entries.get(id)?.used + self.idle;
        if deadline > Instant::now() {
            return Some(deadline);
        }
        entries.remove(id);
        None
    }
}

/// Removes the owner's least recently used game that is over, if the limit of the owner or of all games is reached.
fn make_room<T: Ends>(entries: &mut BTreeMap<String, Entry<T>>, owner: Option<&str>) -> Result<(), String> {
    let own = |entry: &Entry<T>| entry.owner.as_deref() == owner;
    let most = if owner.is_some() { MAX_OWN } else { MAX_GUESTS };
    if entries.values().filter(|entry| own(entry)).count() >= most || entries.len() >= MAX_ALL {
        let over = entries.iter().filter(|(_, entry)| own(entry) && entry.game.is_over());
        let oldest = over.min_by_key(|(_, entry)| entry.used).map(|(id, _)| id.clone());
        let Some(oldest) = oldest else {
            return Err(format!("expected at most {most} games at a time; end one with `resign`"));
        };
        entries.remove(&oldest);
    }
    Ok(())
}

/// Waits until a game is idle or removed.
async fn close_idle<T: Ends + Send + Sync + 'static>(handles: Weak<Handles<T>>, id: String) {
    while let Some(deadline) = handles.upgrade().and_then(|handles| handles.deadline(&id)) {
        tokio::time::sleep_until(deadline).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Stub(bool);

    impl Ends for Stub {
        fn is_over(&self) -> bool {
            self.0
        }
    }

    #[tokio::test]
    async fn idle_games_are_closed() {
        let handles = Arc::new(Handles { idle: Duration::ZERO, ..Handles::default() });
        handles.insert(None, Arc::new(Stub(false))).unwrap();
        while !handles.all(None).is_empty() {
            tokio::task::yield_now().await;
        }
        let handles = Arc::new(Handles::default());
        let id = handles.insert(None, Arc::new(Stub(false))).unwrap();
        let (before, game) = (handles.deadline(&id), handles.get(None, &id));
        assert!(game.is_some() && before.is_some() && handles.deadline(&id) >= before);
    }

    #[tokio::test]
    async fn games_are_found_with_their_token_only() {
        let handles = Arc::new(Handles::default());
        let id = handles.insert(Some("ann"), Arc::new(Stub(false))).unwrap();
        assert!(handles.get(Some("ann"), &id).is_some());
        assert!(handles.get(Some("bob"), &id).is_none() && handles.get(None, &id).is_none());
        assert!(handles.all(Some("bob")).is_empty());
    }

    #[tokio::test]
    async fn ended_games_make_room_for_new_ones() {
        let handles = Arc::new(Handles::default());
        for k in 0..MAX_OWN {
            handles.admit(Some("ann")).unwrap();
            handles.insert(Some("ann"), Arc::new(Stub(k == 3))).unwrap();
        }
        handles.admit(Some("bob")).unwrap();
        handles.admit(Some("ann")).unwrap();
        assert_eq!(handles.all(Some("ann")).len(), MAX_OWN - 1);
        handles.insert(Some("ann"), Arc::new(Stub(false))).unwrap();
        assert!(handles.admit(Some("ann")).unwrap_err().contains("at most 64"));
        // A request that was admitted before the last game was added gets none either.
        assert!(handles.insert(Some("ann"), Arc::new(Stub(false))).unwrap_err().contains("at most 64"));
        assert_eq!(handles.all(Some("ann")).len(), MAX_OWN);
    }
}
