//! Queues of joins that wait for opponents.

use std::collections::BTreeMap;
use std::sync::Arc;

use ludex_protocol::message::Join;

/// Properties that two joins must share to meet: canonical game string, queue name, clock, and the settings `rated` and
/// `paired`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct QueueKey {
    game: String,
    queue: String,
    rated: bool,
    paired: bool,
    clock: String,
}

impl QueueKey {
    /// Returns the queue key of a join. `game` is the canonical game string.
    pub(super) fn of(game: &str, join: &Join, paired: bool) -> Self {
        let clock = format!("{:?}", join.clock);
        QueueKey { game: game.to_owned(), queue: join.queue.clone(), rated: join.rated, paired, clock }
    }
}

/// Weight of the newest arrival interval in the moving average.
const NEWEST: f64 = 0.25;

/// Waiting join, and the owner of the join.
struct Entry {
    id: String,
    owner: Arc<str>,
}

/// Waiting joins with the same queue key.
pub(super) struct Queue {
    players: usize,
    /// True if joins of one owner never meet each other.
    apart: bool,
    /// Waiting joins by requested seat, then by order of arrival.
    waiting: BTreeMap<Option<u32>, BTreeMap<u64, Entry>>,
    /// Time of the last arrival, in milliseconds.
    last: Option<u64>,
    /// Mean interval between arrivals, in milliseconds.
    interval: Option<f64>,
}

impl Queue {
    /// Creates a queue for a game with this number of players. In rated matches, joins of one owner never meet.
    pub(super) fn new(players: u32, rated: bool) -> Self {
        let players = players as usize;
        Queue { players, apart: rated, waiting: BTreeMap::new(), last: None, interval: None }
    }

    /// Adds a join with the sequence number `arrival`. Does nothing if the join already waits.
    pub(super) fn insert(&mut self, seat: Option<u32>, arrival: u64, id: &str, owner: &Arc<str>) {
        let entry = Entry { id: id.to_owned(), owner: owner.clone() };
        self.waiting.entry(seat).or_default().insert(arrival, entry);
    }

    /// Records the arrival of a new join at `now`.
    pub(super) fn arrived(&mut self, now: u64) {
        if let Some(last) = self.last.replace(now) {
            let newest = now.saturating_sub(last) as f64;
            self.interval = Some(self.interval.map_or(newest, |mean| mean + NEWEST * (newest - mean)));
        }
    }

    pub(super) fn remove(&mut self, seat: Option<u32>, arrival: u64) {
        if let Some(list) = self.waiting.get_mut(&seat) {
            list.remove(&arrival);
            if list.is_empty() {
                self.waiting.remove(&seat);
            }
        }
    }

    /// Returns the ids of the waiting joins.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.waiting.values().flat_map(BTreeMap::values).map(|entry| entry.id.as_str())
    }

    /// Returns the number of waiting joins.
    pub(super) fn len(&self) -> usize {
        self.waiting.values().map(BTreeMap::len).sum()
    }

    /// Returns the estimated time in milliseconds until enough joins for a match have arrived; `None` if unknown.
    pub(super) fn eta_ms(&self) -> Option<u64> {
        let missing = self.players.saturating_sub(self.len()).max(1);
        self.interval.map(|mean| (mean * missing as f64) as u64)
    }

    /// Returns the joins of a match, in order of arrival; `None` if too few joins wait. The match includes the join
    /// with the arrival number `new`, which requested the seat `seat`, and the earliest joins whose requested seats are
    /// compatible. Assumes that no match is possible without the new join.
    pub(super) fn table(&self, seat: Option<u32>, new: u64) -> Option<Vec<String>> {
        let mut table = vec![(new, self.waiting.get(&seat)?.get(&new)?)];
        // One join per seat; joins without a requested seat may take any.
        let free = self.waiting.iter().filter(|(of, _)| of.is_none() || **of != seat);
        let mut lists: Vec<_> = free.map(|(of, list)| (of, list.iter().peekable())).collect();
        while table.len() < self.players {
            let firsts = lists.iter_mut().enumerate().filter_map(|(k, (_, list))| Some((*list.peek()?.0, k)));
            let (_, k) = firsts.min()?;
            let (&arrival, entry) = lists[k].1.next()?;
            let barred = |(at, seated): &(u64, &Entry)| *at == arrival || self.apart && seated.owner == entry.owner;
            if table.iter().any(barred) {
                continue;
            }
            table.push((arrival, entry));
            if lists[k].0.is_some() {
                drop(lists.swap_remove(k));
            }
        }
        table.sort_unstable_by_key(|(arrival, _)| *arrival);
        Some(table.into_iter().map(|(_, entry)| entry.id.clone()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(name: &str) -> Arc<str> {
        Arc::from(name)
    }

    #[test]
    fn earliest_joins_with_compatible_seats_meet() {
        let mut queue = Queue::new(2, false);
        let me = owner("me");
        for (arrival, seat) in [(0, Some(1)), (1, Some(1)), (2, Some(1))] {
            queue.insert(seat, arrival, &arrival.to_string(), &me);
            assert_eq!(queue.table(seat, arrival), None);
        }
        queue.insert(None, 3, "3", &me);
        assert_eq!(queue.table(None, 3), Some(vec!["0".to_owned(), "3".to_owned()]));
        queue.remove(Some(1), 0);
        queue.insert(Some(0), 5, "5", &me);
        assert_eq!(queue.table(Some(0), 5), Some(vec!["1".to_owned(), "5".to_owned()]));
        queue.remove(None, 3);
        assert_eq!(queue.table(Some(0), 5), Some(vec!["1".to_owned(), "5".to_owned()]));
        assert_eq!((queue.table(Some(0), 9), queue.len()), (None, 3));
    }

    #[test]
    fn rated_joins_of_one_owner_do_not_meet() {
        let mut queue = Queue::new(2, true);
        queue.insert(None, 0, "a", &owner("ann"));
        queue.insert(Some(1), 1, "b", &owner("ann"));
        assert_eq!((queue.table(None, 0), queue.table(Some(1), 1)), (None, None));
        queue.insert(None, 2, "c", &owner("bob"));
        assert_eq!(queue.table(None, 2), Some(vec!["a".to_owned(), "c".to_owned()]));
        assert_eq!(queue.table(Some(1), 1), Some(vec!["b".to_owned(), "c".to_owned()]));
        let mut three = Queue::new(3, true);
        for (arrival, name) in ["ann", "ann", "bob", "bob"].into_iter().enumerate() {
            three.insert(None, arrival as u64, &arrival.to_string(), &owner(name));
        }
        assert_eq!(three.table(None, 3), None, "two owners for three seats");
        three.insert(None, 4, "4", &owner("eve"));
        assert_eq!(three.table(None, 4), Some(vec!["0".to_owned(), "2".to_owned(), "4".to_owned()]));
    }

    #[test]
    fn eta_follows_the_mean_arrival_interval() {
        let mut queue = Queue::new(3, false);
        queue.arrived(1_000);
        queue.insert(None, 0, "0", &owner("me"));
        assert_eq!(queue.eta_ms(), None);
        queue.arrived(1_400);
        assert_eq!(queue.eta_ms(), Some(800), "two are missing");
        queue.insert(None, 1, "1", &owner("me"));
        assert_eq!(queue.eta_ms(), Some(400));
    }
}
