//! Joins that wait for others of the same kind.

use std::collections::BTreeMap;

use ludex_protocol::client::Join;

/// What joins must have in common to meet: canonical game string, queue, whether they are rated, and clock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Kind {
    game: String,
    queue: String,
    rated: bool,
    clock: String,
}

impl Kind {
    /// Of a join for the game of this canonical string.
    pub(super) fn of(game: &str, join: &Join) -> Self {
        let clock = format!("{:?}", join.clock);
        Kind { game: game.to_owned(), queue: join.queue.clone(), rated: join.rated, clock }
    }
}

/// How much the newest interval between arrivals counts in their mean.
const NEWEST: f64 = 0.25;

/// The joins of one kind that wait.
pub(super) struct Queue {
    players: usize,
    /// By the seat that was asked for, then in order of arrival.
    waiting: BTreeMap<Option<u32>, BTreeMap<u64, String>>,
    /// When the last one arrived, and the mean interval between arrivals, in milliseconds.
    last: Option<u64>,
    interval: Option<f64>,
}

impl Queue {
    /// For a game with this number of players.
    pub(super) fn new(players: u32) -> Self {
        Queue { players: players as usize, waiting: BTreeMap::new(), last: None, interval: None }
    }

    /// A join waits; `arrival` is its number. It may wait already.
    pub(super) fn insert(&mut self, seat: Option<u32>, arrival: u64, id: &str) {
        self.waiting.entry(seat).or_default().insert(arrival, id.to_owned());
    }

    /// A new join came, at `now`.
    pub(super) fn arrived(&mut self, now: u64) {
        if let Some(last) = self.last.replace(now) {
            let newest = now.saturating_sub(last) as f64;
            self.interval = Some(self.interval.map_or(newest, |mean| mean + NEWEST * (newest - mean)));
        }
    }

    /// A join stops waiting.
    pub(super) fn remove(&mut self, seat: Option<u32>, arrival: u64) {
        if let Some(list) = self.waiting.get_mut(&seat) {
            list.remove(&arrival);
            if list.is_empty() {
                self.waiting.remove(&seat);
            }
        }
    }

    /// How many joins wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.values().map(BTreeMap::len).sum()
    }

    /// About how long it takes until enough have come, if anything is known about that.
    pub(super) fn eta_ms(&self) -> Option<u64> {
        let missing = self.players.saturating_sub(self.len()).max(1);
        self.interval.map(|mean| (mean * missing as f64) as u64)
    }

    /// The joins of the next match, if enough wait: the first to arrive whose seats differ.
    pub(super) fn table(&self) -> Option<Vec<String>> {
        let mut heads: Vec<_> = self.waiting.iter().map(|(seat, list)| (*seat, list.iter().peekable())).collect();
        let mut table = Vec::with_capacity(self.players);
        while table.len() < self.players {
            let first = heads.iter_mut().filter_map(|(_, list)| list.peek().map(|(at, _)| **at)).min()?;
            let at = heads.iter_mut().position(|(_, list)| list.peek().is_some_and(|(at, _)| **at == first))?;
            table.push(heads[at].1.next()?.1.clone());
            // One join for each seat; those that named none may take any.
            if heads[at].0.is_some() {
                drop(heads.swap_remove(at));
            }
        }
        Some(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_whose_seats_differ_meet() {
        let mut queue = Queue::new(2);
        for (arrival, seat) in [(0, Some(1)), (1, Some(1)), (2, Some(1))] {
            queue.insert(seat, arrival, &arrival.to_string());
            assert_eq!(queue.table(), None);
        }
        queue.insert(None, 3, "3");
        queue.insert(None, 4, "4");
        queue.insert(Some(0), 5, "5");
        assert_eq!(queue.table(), Some(vec!["0".to_owned(), "3".to_owned()]));
        queue.remove(Some(1), 0);
        queue.remove(None, 3);
        assert_eq!(queue.table(), Some(vec!["1".to_owned(), "4".to_owned()]));
        queue.remove(None, 4);
        assert_eq!(queue.table(), Some(vec!["1".to_owned(), "5".to_owned()]));
        assert_eq!(queue.len(), 3);
    }

    #[test]
    fn the_time_to_wait_is_that_between_arrivals() {
        let mut queue = Queue::new(3);
        queue.arrived(1_000);
        queue.insert(None, 0, "0");
        assert_eq!(queue.eta_ms(), None);
        queue.arrived(1_400);
        assert_eq!(queue.eta_ms(), Some(800), "two are missing");
        queue.insert(None, 1, "1");
        assert_eq!(queue.eta_ms(), Some(400));
    }
}
