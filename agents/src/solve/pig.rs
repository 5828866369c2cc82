//! Two-player pig, solved by backward induction.
//!
//! Source: Neller and Presser, *Optimal play of the dice game Pig* (2004). Only the values at the start of turns are
//! stored. The values within a turn are computed backward, from the winning turn total down to zero. The solution
//! ignores the horizon.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, OnceLock};

use ludex_env::{Action, GameRef, MoveRequest};
use ludex_games::pig::View;
use parking_lot::Mutex;
use serde_json::Value;

use super::solution::{Solution, SolutionResult};
use crate::error::AgentError;
use crate::typed_access::view;

pub(super) const GAME: &str = "pig";

/// Maximum supported `winscore`. The time to solve a game grows with the cube of `winscore`.
const MOST_POINTS: u64 = 200;
/// Minimum supported ratio of `horizon` to `winscore`. With ordinary dice, games almost never reach such a horizon.
const HORIZON: u64 = 8;
/// Number of bisection steps, which exceeds the number of mantissa bits of a double.
const HALVINGS: u32 = 54;
/// Maximum number of cached solutions. A limit is needed because clients choose the parameters of games.
const MOST_KEPT: usize = 16;

const ROLL: Action = 0;
const STOP: Action = 1;

/// Parameters of the game that affect the solution.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct PigRules {
    goal: usize,
    sides: usize,
    piglet: bool,
}

/// Values at the start of a turn, by rules; computed at the first move.
type SolvedRules = HashMap<PigRules, Arc<OnceLock<Vec<f64>>>>;

static KNOWN: LazyLock<Mutex<SolvedRules>> = LazyLock::new(Mutex::default);

pub(super) fn solution(game: &GameRef) -> SolutionResult {
    let params = &game.spec().params;
    let number = |name: &str| params.get(name).and_then(Value::as_u64).unwrap_or(0);
    let goal = number("winscore");
    if number("players") != 2 {
        return Err(("it has more than two players", "it plays two-player pig"));
    }
    if goal > MOST_POINTS {
        return Err(("its winscore is too high", "it plays pig with a winscore of at most 200"));
    }
    if number("horizon") < HORIZON * goal {
        return Err(("its horizon is too short", "it plays pig with a horizon of at least 8 times the winscore"));
    }
    let rules = PigRules {
        goal: goal as usize,
        sides: number("diceoutcomes") as usize,
        piglet: params.get("piglet") == Some(&Value::Bool(true)),
    };
    let mut known = KNOWN.lock();
    if known.len() >= MOST_KEPT && !known.contains_key(&rules) {
        known.clear();
    }
    Ok(Box::new(Pig { rules, starts: known.entry(rules).or_default().clone() }))
}

struct Pig {
    rules: PigRules,
    starts: Arc<OnceLock<Vec<f64>>>,
}

/// Win probabilities after a roll and after a stop.
struct Chances {
    roll: f64,
    stop: f64,
}

impl PigRules {
    /// Returns the win probabilities of a player with `mine` points against `theirs` and a turn total of `total`.
    /// `starts` contains the win probabilities at the start of a turn, by own points and opponent's points. `nothing`
    /// is the win probability after a turn without points.
    fn chances(self, starts: &[f64], [mine, theirs]: [usize; 2], total: usize, nothing: f64) -> Chances {
        let missing = self.goal - mine;
        let sides = self.sides as f64;
        let mut worth = vec![1.0; missing + self.sides + 2];
        // Sum of the win probabilities after all scoring rolls. Just below the goal, every scoring roll wins.
        let mut after = sides - 1.0;
        let mut chances = Chances { roll: 1.0, stop: 1.0 };
        for k in (total..missing).rev() {
            after = if self.piglet {
                (sides - 1.0) * worth[k + 1]
            } else {
                after + worth[k + 2] - worth[k + self.sides + 1]
            };
            let stop = if k == 0 { nothing } else { 1.0 - starts[theirs * self.goal + mine + k] };
            chances = Chances { roll: (nothing + after) / sides, stop };
            worth[k] = chances.roll.max(stop);
        }
        chances
    }

    /// Returns the win probabilities at the start of a turn, by own points and opponent's points.
    fn solve(self) -> Vec<f64> {
        let goal = self.goal;
        let mut starts = vec![0.5; goal * goal];
        // Points only increase: in descending order of their sum, all values are known except those of two positions
        // that follow each other while neither player scores.
        for sum in (0..=2 * (goal - 1)).rev() {
            for mine in sum.saturating_sub(goal - 1)..=sum / 2 {
                let theirs = sum - mine;
                let points = [[mine, theirs], [theirs, mine]];
                let best = |of: usize, nothing: f64| {
                    let Chances { roll, stop } = self.chances(&starts, points[of], 0, nothing);
                    roll.max(stop)
                };
                // The value that follows from a guess decreases in the guess, so there is one fixed point. Bisection
                // finds it where fixed point iteration would not converge, as in hopeless positions.
                let (mut low, mut high) = (0.0, 1.0);
                let mut other = 0.5;
                for _ in 0..HALVINGS {
                    let guess: f64 = (low + high) / 2.0;
                    other = best(1, 1.0 - guess);
                    if best(0, 1.0 - other) > guess {
                        low = guess;
                    } else {
                        high = guess;
                    }
                }
                starts[mine * goal + theirs] = low;
                starts[theirs * goal + mine] = if mine == theirs { low } else { other };
            }
        }
        starts
    }
}

impl Solution for Pig {
    fn best(&self, ask: &MoveRequest<'_>) -> Result<Vec<Action>, AgentError> {
        let seen: View = view(ask)?;
        let points = [ask.seat, 1 - (ask.seat & 1)].map(|seat| seen.scores.get(seat).map_or(0, |&n| usize::from(n)));
        let [mine, theirs] = points;
        if points.iter().any(|&n| n >= self.rules.goal) {
            return Err(AgentError::failed("solver: this game of pig is over"));
        }
        let starts = self.starts.get_or_init(|| self.rules.solve());
        let nothing = 1.0 - starts[theirs * self.rules.goal + mine];
        let Chances { roll, stop } = self.rules.chances(starts, points, usize::from(seen.turn_total), nothing);
        Ok(vec![if roll > stop { ROLL } else { STOP }])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(goal: usize, sides: usize, piglet: bool) -> PigRules {
        PigRules { goal, sides, piglet }
    }

    /// Checks the result of Neller and Presser (2004): the first player wins 53.06 % of the games.
    #[test]
    fn first_player_win_rate_equals_published_rate() {
        let starts = rules(100, 6, false).solve();
        assert!((starts[0] - 0.5306).abs() < 5e-5, "{}", starts[0]);
    }

    /// Checks the two-point piglet with a coin, which Neller and Presser (2004) solve by hand.
    #[test]
    fn piglet_solution_equals_published_solution() {
        let starts = rules(2, 2, true).solve();
        for (points, wanted) in [4.0 / 7.0, 2.0 / 5.0, 4.0 / 5.0, 2.0 / 3.0].into_iter().enumerate() {
            let found = starts[points];
            assert!((found - wanted).abs() < 1e-12, "{}-{}: {found}", points / 2, points % 2);
        }
    }

    /// Checks Bellman's equation directly: no deviation in a single decision is better.
    #[test]
    fn values_satisfy_bellman_equation() {
        for rules in [rules(20, 6, false), rules(15, 3, false), rules(9, 4, true)] {
            let (goal, starts) = (rules.goal, rules.solve());
            let start = |mine: usize, theirs: usize| if mine >= goal { 1.0 } else { starts[mine * goal + theirs] };
            for (mine, theirs) in (0..goal * goal).map(|n| (n / goal, n % goal)) {
                let nothing = 1.0 - start(theirs, mine);
                let mut worth = vec![1.0; goal + rules.sides + 1];
                for total in (0..goal - mine).rev() {
                    let roll: f64 =
                        (2..=rules.sides).map(|face| worth[total + if rules.piglet { 1 } else { face }]).sum();
                    let roll = (roll + nothing) / rules.sides as f64;
                    worth[total] = roll.max(1.0 - start(theirs, mine + total));
                }
                assert!((worth[0] - start(mine, theirs)).abs() < 1e-9, "{mine}-{theirs}");
            }
        }
    }
}
