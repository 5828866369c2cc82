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
    /// When the turn is over.
    until: Option<u64>,
    /// Whether the clock stands still.
    paused: bool,
}

/// How long a turn may take in all under a clock, with `bank` in the bank; `None` without a limit.
pub(super) fn budget(rule: &Clock, bank: u64, first: bool) -> Option<u64> {
    let limited = rule.move_ms.is_some() || rule.first_ms.is_some() || rule.bank_ms > 0;
    limited.then(|| allowance(rule, first).saturating_add(bank))
}

/// What a turn may use before the bank is touched.
fn allowance(rule: &Clock, first: bool) -> u64 {
    let plain = rule.move_ms.unwrap_or(0);
    if first { rule.first_ms.unwrap_or(plain) } else { plain }
}

impl Clocks {
    /// Full banks for `seats` seats; the episode begins at `now`.
    pub fn new(rule: Clock, seats: usize, now: u64) -> Self {
        Clocks { bank: vec![rule.bank_ms; seats], running: vec![None; seats], began: now, rule }
    }

    /// The banks.
    pub fn banks(&self) -> &[u64] {
        &self.bank
    }

    /// Sets a bank, after a restart, to its last durable value.
    pub fn set_bank(&mut self, seat: usize, ms: u64) {
        self.bank[seat] = ms;
    }

    /// Starts the clock of a turn, when it has been handed to the socket; a running clock is left alone.
    pub fn start(&mut self, seat: usize, first: bool, now: u64) {
        let left = budget(&self.rule, self.bank[seat], first);
        self.run(seat, first, now, left);
    }

    /// Starts the clock of an in-process agent's turn, which has `limit_ms` where turns have no limit.
    pub fn start_agent(&mut self, seat: usize, first: bool, now: u64, limit_ms: u64) {
        let left = budget(&self.rule, self.bank[seat], first).unwrap_or(limit_ms);
        self.run(seat, first, now, Some(left));
    }

    fn run(&mut self, seat: usize, first: bool, now: u64, left: Option<u64>) {
        let until = left.map(|left| now.saturating_add(left));
        let new = Running { since: now, allowance: allowance(&self.rule, first), until, paused: false };
        self.running[seat].get_or_insert(new);
    }

    /// Gives the running turn of `seat` these milliseconds back.
    pub fn credit(&mut self, seat: usize, ms: u64) {
        if let Some(r) = &mut self.running[seat] {
            r.since = r.since.saturating_add(ms);
            r.until = r.until.map(|until| until.saturating_add(ms));
        }
    }

    /// The clock of `seat` stands still until [`resume`](Self::resume).
    pub fn pause(&mut self, seat: usize) {
        if let Some(running) = &mut self.running[seat] {
            running.paused = true;
        }
    }

    /// The clock of `seat` runs again, after it stood still for `ms`.
    pub fn resume(&mut self, seat: usize, ms: u64) {
        if let Some(running) = self.running[seat].as_mut().filter(|running| running.paused) {
            running.paused = false;
            self.credit(seat, ms);
        }
    }

    /// Gives the episode these milliseconds back.
    pub fn credit_episode(&mut self, ms: u64) {
        self.began = self.began.saturating_add(ms);
    }

    /// Milliseconds until the clock of `seat` runs out; 0 where it does not run.
    pub fn remaining_ms(&self, seat: usize, now: u64) -> u64 {
        self.running[seat].and_then(|r| r.until).map_or(0, |until| until.saturating_sub(now))
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

    /// When the next clock runs out: a seat's, or (`None`) the whole episode's.
    pub fn next(&self) -> Option<(u64, Option<usize>)> {
        let runs = |r: &Option<Running>| r.filter(|r| !r.paused);
        let seats = self.running.iter().enumerate().filter_map(|(seat, r)| Some((runs(r)?.until?, Some(seat))));
        let episode = self.rule.episode_ms.map(|ms| (self.began.saturating_add(ms), None));
        // At the same moment a seat's clock comes before the episode's, and the lowest seat first.
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
        assert_eq!((c.next(), budget(&rule(Some(100), 0, 0), 0, false)), (None, Some(100)));
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
    fn what_the_host_was_held_up_is_given_back() {
        let clock = Clock { episode_ms: Some(2_000), ..rule(Some(100), 50, 0) };
        let mut c = Clocks::new(clock, 2, 0);
        c.start(0, true, 0);
        c.credit(0, 1_000);
        c.credit(1, 1_000);
        c.credit_episode(1_000);
        assert_eq!((c.next(), c.used(0, 1_040)), (Some((1_150, Some(0))), 40));
        // An act that was read before the credit ends counts as made at once.
        assert_eq!((c.stop(0, 900), c.banks()), (0, &[50, 50][..]));
        assert_eq!(c.next(), Some((3_000, None)));
    }

    #[test]
    fn a_clock_that_stands_still_does_not_run_out() {
        let mut c = Clocks::new(rule(Some(100), 0, 0), 2, 0);
        c.start(0, true, 0);
        c.pause(0);
        assert_eq!(c.next(), None);
        c.resume(0, 5_000);
        assert_eq!((c.next(), c.used(0, 5_040)), (Some((5_100, Some(0))), 40));
        c.pause(1);
        c.resume(1, 10);
        assert_eq!(c.next(), Some((5_100, Some(0))), "a clock that does not run stays so");
    }

    #[test]
    fn without_a_limit_only_agents_run_out_of_time() {
        let mut c = Clocks::new(rule(None, 0, 0), 1, 0);
        c.start(0, true, 0);
        assert_eq!((c.next(), budget(&rule(None, 0, 0), 0, true)), (None, None));
        c.stop(0, 5);
        c.start_agent(0, false, 5, 100);
        c.start_agent(0, false, 50, 100);
        assert_eq!((c.next(), c.remaining_ms(0, 85)), (Some((105, Some(0))), 20));
        assert_eq!((c.stop(0, 90), c.banks()), (85, &[0][..]));
    }
}
