//! Cache of the pages and pictures of matches. Each is computed once per state of its match, even if many clients
//! request it.

use std::sync::Arc;

use hashlink::LruCache;
use ludex_pages::AccountLink;
use ludex_store::MatchState;
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use crate::response_body::ResponseBody;

/// Maximum size of all documents in bytes.
const ROOM: usize = 64 << 20;

/// Size in bytes of an entry without its document and its id.
const ENTRY: usize = 256;

/// Key of a cached document.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PageKey {
    /// Id of a match, or a game string.
    pub id: String,
    pub state: MatchState,
    pub kind: PageKind,
}

/// Kind of a cached document, with everything that the document depends on besides the match.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PageKind {
    /// Page of a match for visitors with the same account link.
    Page {
        seat: Option<usize>,
        at: Option<usize>,
        account: AccountLink,
    },
    Picture {
        seat: Option<usize>,
        at: Option<usize>,
    },
    /// JSON of a match.
    Episode,
    /// First position of a game.
    Game,
}

impl PageKind {
    /// Returns the label in `/metrics`.
    fn name(&self) -> &'static str {
        match self {
            PageKind::Page { .. } => "page",
            PageKind::Picture { .. } => "picture",
            PageKind::Episode => "episode",
            PageKind::Game => "game",
        }
    }
}

/// Cache of documents, bounded by their size. The least recently used documents are removed first.
pub(crate) struct PageCache {
    entries: Mutex<Entries>,
    room: usize,
}

struct Entries {
    by_key: LruCache<PageKey, Entry>,
    /// Size of all entries in bytes.
    bytes: usize,
}

struct Entry {
    document: Arc<OnceCell<ResponseBody>>,
    bytes: usize,
}

impl PageCache {
    pub fn new() -> Self {
        Self::with_room(ROOM)
    }

    fn with_room(room: usize) -> Self {
        PageCache { entries: Mutex::new(Entries { by_key: LruCache::new_unbounded(), bytes: 0 }), room }
    }

    /// Returns the document of `key`. If the document is missing, computes it with `make` and passes its kind to
    /// `on_made`. Concurrent callers share one computation.
    ///
    /// # Errors
    ///
    /// Returns the errors of `make`, which are not cached.
    pub async fn get<E>(
        &self,
        key: PageKey,
        on_made: impl FnOnce(&'static str),
        make: impl Future<Output = Result<ResponseBody, E>>,
    ) -> Result<ResponseBody, E> {
        let cell = self.cell(&key);
        let make = async {
            let made = make.await?;
            on_made(key.kind.name());
            self.weigh(&key, &cell, made.size());
            Ok(made)
        };
        cell.get_or_try_init(|| make).await.cloned()
    }

    fn cell(&self, key: &PageKey) -> Arc<OnceCell<ResponseBody>> {
        let mut entries = self.entries.lock();
        if let Some(entry) = entries.by_key.get(key) {
            return entry.document.clone();
        }
        let document = Arc::new(OnceCell::new());
        let bytes = ENTRY + 2 * key.id.len();
        entries.bytes += bytes;
        entries.by_key.insert(key.clone(), Entry { document: document.clone(), bytes });
        entries.shrink(self.room);
        document
    }

    /// Adds the size of a new document to the total, unless its entry was removed meanwhile.
    fn weigh(&self, key: &PageKey, document: &Arc<OnceCell<ResponseBody>>, bytes: usize) {
        let mut entries = self.entries.lock();
        let current = entries.by_key.get_mut(key).filter(|entry| Arc::ptr_eq(&entry.document, document));
        if let Some(entry) = current {
            entry.bytes += bytes;
            entries.bytes += bytes;
            entries.shrink(self.room);
        }
    }
}

impl Entries {
    fn shrink(&mut self, room: usize) {
        while self.bytes > room
            && let Some((_, entry)) = self.by_key.remove_lru()
        {
            self.bytes -= entry.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::convert::Infallible;

    use super::*;

    fn key(id: &str, rows: u64) -> PageKey {
        PageKey { id: id.to_owned(), state: MatchState { rows, ..MatchState::default() }, kind: PageKind::Episode }
    }

    async fn get(cache: &PageCache, key: PageKey, text: &str, made: &Cell<u32>) -> String {
        let make = async {
            tokio::task::yield_now().await;
            Ok::<_, Infallible>(ResponseBody::new(text.to_owned(), None))
        };
        let Ok(document) = cache.get(key, |_| made.set(made.get() + 1), make).await;
        String::from_utf8(document.bytes.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn document_is_computed_once_per_state() {
        let (cache, made) = (PageCache::new(), Cell::new(0));
        let two = tokio::join!(get(&cache, key("m", 1), "a", &made), get(&cache, key("m", 1), "b", &made));
        assert_eq!(two, ("a".to_owned(), "a".to_owned()));
        assert_eq!(get(&cache, key("m", 1), "c", &made).await, "a");
        assert_eq!(made.get(), 1);
        assert_eq!(get(&cache, key("m", 2), "d", &made).await, "d");
        assert_eq!(made.get(), 2);
    }

    #[tokio::test]
    async fn failure_is_not_cached() {
        let (cache, made) = (PageCache::new(), Cell::new(0));
        let failed = cache.get(key("m", 1), |_| (), async { Err::<ResponseBody, _>("no") }).await;
        assert_eq!(failed.unwrap_err(), "no");
        assert_eq!(get(&cache, key("m", 1), "a", &made).await, "a");
    }

    #[tokio::test]
    async fn least_recently_used_documents_are_removed() {
        const SIZE: usize = 10_000;
        let (cache, made) = (PageCache::with_room(4 * SIZE), Cell::new(0));
        let text = "x".repeat(SIZE);
        for rows in 0..10 {
            get(&cache, key("m", 0), &text, &made).await;
            get(&cache, key("m", rows), &text, &made).await;
        }
        assert_eq!(made.get(), 10, "the document in use stays");
        let entries = cache.entries.lock();
        assert!(entries.bytes <= 4 * SIZE && entries.by_key.len() == 3);
        assert_eq!(entries.bytes, entries.by_key.iter().map(|(_, entry)| entry.bytes).sum::<usize>());
    }
}
