//! Clocks of a match: pure arithmetic on milliseconds.

use ludex_protocol::record::Clock;

/// Clocks of all seats. Times are in milliseconds of one monotonic clock.
#[derive(Clone, Debug)]
pub struct Clocks {
    rule: Clock,
    bank: Vec<u64>,
    /// Running turn of each seat.
    running: Vec<Option<Running>>,
    /// Start time of the episode.
    began: u64,
}

#[derive(Clone, Copy, Debug)]
struct Running {
    since: u64,
    /// Milliseconds per turn that are not charged to the bank.
    allowance: u64,
    /// Deadline of the turn; `None` without a limit.
    until: Option<u64>,
    /// True while the clock is paused.
    paused: bool,
}

/// Returns the maximum duration in ms of a turn with `bank` ms left in the bank; `None` without a limit.
pub(super) fn budget(rule: &Clock, bank: u64, first: bool) -> Option<u64> {
    let limited = rule.move_ms.is_some() || rule.first_ms.is_some() || rule.bank_ms > 0;
    limited.then(|| allowance(rule, first).saturating_add(bank))
}

/// Returns the milliseconds of a turn that are not charged to the bank.
fn allowance(rule: &Clock, first: bool) -> u64 {
    let plain = rule.move_ms.unwrap_or(0);
    if first { rule.first_ms.unwrap_or(plain) } else { plain }
}

impl Clocks {
    /// Creates the clocks of `seats` seats with full banks, for an episode that starts at `now`.
    pub fn new(rule: Clock, seats: usize, now: u64) -> Self {
        Clocks { bank: vec![rule.bank_ms; seats], running: vec![None; seats], began: now, rule }
    }

    /// Returns the remaining bank of each seat in ms.
    pub fn banks(&self) -> &[u64] {
        &self.bank
    }

    /// Sets the bank of `seat` to its last durable value, after a restart.
    pub fn set_bank(&mut self, seat: usize, ms: u64) {
        self.bank[seat] = ms;
    }

    /// Starts the clock of a turn that has been written to the socket. If the clock is already running, does nothing.
    pub fn start(&mut self, seat: usize, first: bool, now: u64) {
        let left = budget(&self.rule, self.bank[seat], first);
        self.run(seat, first, now, left);
    }

    /// Starts the clock of an in-process agent's turn; `limit_ms` applies where the clock rule sets no limit.
    pub fn start_agent(&mut self, seat: usize, first: bool, now: u64, limit_ms: u64) {
        let left = budget(&self.rule, self.bank[seat], first).unwrap_or(limit_ms);
        self.run(seat, first, now, Some(left));
    }

    fn run(&mut self, seat: usize, first: bool, now: u64, left: Option<u64>) {
        let until = left.map(|left| now.saturating_add(left));
        let new = Running { since: now, allowance: allowance(&self.rule, first), until, paused: false };
        self.running[seat].get_or_insert(new);
    }

    /// Extends the running turn of `seat` by `ms`.
    pub fn credit(&mut self, seat: usize, ms: u64) {
        if let Some(r) = &mut self.running[seat] {
            r.since = r.since.saturating_add(ms);
            r.until = r.until.map(|until| until.saturating_add(ms));
        }
    }

    /// Pauses the clock of `seat` until [`resume`](Self::resume).
    pub fn pause(&mut self, seat: usize) {
        if let Some(running) = &mut self.running[seat] {
            running.paused = true;
        }
    }

    /// Resumes the paused clock of `seat` and credits it with the `ms` of the pause.
    pub fn resume(&mut self, seat: usize, ms: u64) {
        if let Some(running) = self.running[seat].as_mut().filter(|running| running.paused) {
            running.paused = false;
            self.credit(seat, ms);
        }
    }

    /// Extends the episode by `ms`.
    pub fn credit_episode(&mut self, ms: u64) {
        self.began = self.began.saturating_add(ms);
    }

    /// Returns the milliseconds until the clock of `seat` runs out; 0 if the clock is not running.
    pub fn remaining_ms(&self, seat: usize, now: u64) -> u64 {
        self.running[seat].and_then(|r| r.until).map_or(0, |until| until.saturating_sub(now))
    }

    /// Returns the milliseconds that the running turn of `seat` has used.
    pub fn used(&self, seat: usize, now: u64) -> u64 {
        self.running[seat].map_or(0, |r| now.saturating_sub(r.since))
    }

    /// Stops the clock of `seat` after an accepted move and returns the milliseconds used. Time beyond the allowance is
    /// taken from the bank; then the increment is added to the bank.
    pub fn stop(&mut self, seat: usize, now: u64) -> u64 {
        let Some(r) = self.running[seat].take() else { return 0 };
        let used = now.saturating_sub(r.since);
        let over = used.saturating_sub(r.allowance);
        self.bank[seat] = self.bank[seat].saturating_sub(over).saturating_add(self.rule.inc_ms);
        used
    }

    /// Stops all clocks without charging the banks, at the end of a match.
    pub fn halt(&mut self) {
        self.running.fill(None);
    }

    /// Returns the next deadline in ms and its seat; the seat is `None` for the deadline of the episode.
    pub fn next(&self) -> Option<(u64, Option<usize>)> {
        let runs = |r: &Option<Running>| r.filter(|r| !r.paused);
        let seats = self.running.iter().enumerate().filter_map(|(seat, r)| Some((runs(r)?.until?, Some(seat))));
        let episode = self.rule.episode_ms.map(|ms| (self.began.saturating_add(ms), None));
        // On ties, seats precede the episode, and lower seats precede higher seats.
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
    fn move_limit_renews_each_turn() {
        let mut c = Clocks::new(rule(Some(100), 0, 0), 2, 0);
        c.start(0, true, 10);
        assert_eq!(c.next(), Some((110, Some(0))));
        assert_eq!(c.stop(0, 60), 50);
        assert_eq!((c.next(), budget(&rule(Some(100), 0, 0), 0, false)), (None, Some(100)));
    }

    #[test]
    fn time_bank_is_charged_and_increment_is_added() {
        let mut c = Clocks::new(rule(Some(0), 1_000, 20), 2, 0);
        c.start(1, true, 0);
        assert_eq!(c.stop(1, 300), 300);
        assert_eq!(c.banks(), [1_000, 720]);
        c.start(1, false, 500);
        assert_eq!(c.next(), Some((1_220, Some(1))));
    }

    #[test]
    fn first_move_and_episode_have_their_own_limits() {
        let clock = Clock { first_ms: Some(500), episode_ms: Some(2_000), ..rule(Some(100), 0, 0) };
        let mut c = Clocks::new(clock, 1, 1_000);
        c.start(0, true, 1_000);
        assert_eq!(c.next(), Some((1_500, Some(0))));
        c.stop(0, 1_400);
        assert_eq!(c.next(), Some((3_000, None)));
    }

    #[test]
    fn host_stall_is_credited_to_seat_and_episode_clocks() {
        let clock = Clock { episode_ms: Some(2_000), ..rule(Some(100), 50, 0) };
        let mut c = Clocks::new(clock, 2, 0);
        c.start(0, true, 0);
        c.credit(0, 1_000);
        c.credit(1, 1_000);
        c.credit_episode(1_000);
        assert_eq!((c.next(), c.used(0, 1_040)), (Some((1_150, Some(0))), 40));
        // An act read before the end of the credit uses no time.
        assert_eq!((c.stop(0, 900), c.banks()), (0, &[50, 50][..]));
        assert_eq!(c.next(), Some((3_000, None)));
    }

    #[test]
    fn paused_clock_does_not_run_out() {
        let mut c = Clocks::new(rule(Some(100), 0, 0), 2, 0);
        c.start(0, true, 0);
        c.pause(0);
        assert_eq!(c.next(), None);
        c.resume(0, 5_000);
        assert_eq!((c.next(), c.used(0, 5_040)), (Some((5_100, Some(0))), 40));
        c.pause(1);
        c.resume(1, 10);
        assert_eq!(c.next(), Some((5_100, Some(0))), "resume does not start a stopped clock");
    }

    #[test]
    fn host_limit_applies_if_clock_rule_sets_no_limit() {
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
