//! The clocks of a match: pure arithmetic on milliseconds.

use ludex_protocol::record::Clock;

/// Time of every seat. Milliseconds of one monotonic clock.
#[derive(Clone, Debug)]
pub struct Clocks {
    rule: Clock,
    bank: Vec<u64>,
    /// When the seat's running turn was handed over, and its move allowance.
    running: Vec<Option<Running>>,
    /// When the episode began.
    began: u64,
}

#[derive(Clone, Copy, Debug)]
struct Running {
    since: u64,
    /// What the turn may use before the bank is touched.
    allowance: u64,
}

impl Clocks {
    /// Full banks for `seats` seats; the episode begins at `now`.
    pub fn new(rule: Clock, seats: usize, now: u64) -> Self {
        Clocks { bank: vec![rule.bank_ms; seats], running: vec![None; seats], began: now, rule }
    }

    /// Whether turns are limited at all.
    pub fn limited(&self) -> bool {
        self.rule.move_ms.is_some() || self.rule.first_ms.is_some() || self.rule.bank_ms > 0
    }

    /// The banks.
    pub fn banks(&self) -> &[u64] {
        &self.bank
    }

    /// Sets a bank, after a restart, to its last durable value.
    pub fn set_bank(&mut self, seat: usize, ms: u64) {
        self.bank[seat] = ms;
    }

    /// How long a turn of `seat` may take in all; `None` without a limit.
    pub fn budget(&self, seat: usize, first: bool) -> Option<u64> {
        self.limited().then(|| self.allowance(first).saturating_add(self.bank[seat]))
    }

    fn allowance(&self, first: bool) -> u64 {
        let plain = self.rule.move_ms.unwrap_or(0);
        if first { self.rule.first_ms.unwrap_or(plain) } else { plain }
    }

    /// Starts the clock of a turn, when it has been handed to the socket; a running clock is left alone.
    pub fn start(&mut self, seat: usize, first: bool, now: u64) {
        if self.running[seat].is_none() {
            self.running[seat] = Some(Running { since: now, allowance: self.allowance(first) });
        }
    }

    /// Time used by the running turn.
    pub fn used(&self, seat: usize, now: u64) -> u64 {
        self.running[seat].map_or(0, |r| now.saturating_sub(r.since))
    }

    /// Stops the clock of an accepted move: what went beyond the allowance comes off the bank, the increment is added.
    /// Returns the time used.
    pub fn stop(&mut self, seat: usize, now: u64) -> u64 {
        let Some(r) = self.running[seat].take() else { return 0 };
        let used = now.saturating_sub(r.since);
        let over = used.saturating_sub(r.allowance);
        self.bank[seat] = self.bank[seat].saturating_sub(over).saturating_add(self.rule.inc_ms);
        used
    }

    /// Stops the clock without charging anybody (a match that ended).
    pub fn halt(&mut self) {
        self.running.fill(None);
    }

    /// When the next clock falls: a seat's, or (`None`) the whole episode's.
    pub fn next(&self) -> Option<(u64, Option<usize>)> {
        let limited = self.limited();
        let seats = self.running.iter().enumerate().filter(|_| limited).filter_map(|(seat, r)| {
            let r = (*r)?;
            Some((r.since.saturating_add(r.allowance).saturating_add(self.bank[seat]), Some(seat)))
        });
        let episode = self.rule.episode_ms.map(|ms| (self.began.saturating_add(ms), None));
        // At the same moment the seat falls first, the lowest first.
        seats.chain(episode).min_by_key(|&(at, seat)| (at, seat.unwrap_or(usize::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(move_ms: Option<u64>, bank_ms: u64, inc_ms: u64) -> Clock {
        Clock { move_ms, bank_ms, inc_ms, first_ms: None, episode_ms: None }
    }

    #[test]
    fn a_plain_move_limit_renews() {
        let mut c = Clocks::new(rule(Some(100), 0, 0), 2, 0);
        c.start(0, true, 10);
        assert_eq!(c.next(), Some((110, Some(0))));
        assert_eq!(c.stop(0, 60), 50);
        assert_eq!((c.next(), c.budget(0, false)), (None, Some(100)));
    }

    #[test]
    fn a_chess_clock_runs_down_and_is_topped_up() {
        let mut c = Clocks::new(rule(Some(0), 1_000, 20), 2, 0);
        c.start(1, true, 0);
        assert_eq!(c.stop(1, 300), 300);
        assert_eq!(c.banks(), [1_000, 720]);
        c.start(1, false, 500);
        assert_eq!(c.next(), Some((1_220, Some(1))));
    }

    #[test]
    fn the_first_move_and_the_episode_have_limits_of_their_own() {
        let clock = Clock { first_ms: Some(500), episode_ms: Some(2_000), ..rule(Some(100), 0, 0) };
        let mut c = Clocks::new(clock, 1, 1_000);
        c.start(0, true, 1_000);
        assert_eq!(c.next(), Some((1_500, Some(0))));
        c.stop(0, 1_400);
        assert_eq!(c.next(), Some((3_000, None)));
    }

    #[test]
    fn without_a_limit_nothing_falls() {
        let mut c = Clocks::new(rule(None, 0, 0), 1, 0);
        c.start(0, true, 0);
        assert_eq!((c.next(), c.budget(0, true)), (None, None));
    }
}
