//! Pairing of agents that wait on a ladder.

use serde::{Deserialize, Serialize};

/// Pairing settings of a ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pacing {
    /// Maximum rating difference of two agents that have just joined the queue.
    pub near: f64,
    /// Points added to the maximum difference for each second that either agent has waited.
    pub widen: f64,
    /// Points added to the rating difference of two agents whose last match was against each other.
    pub again: f64,
    /// Waiting time in seconds after which an agent without a suitable opponent meets an anchor.
    pub anchor_after_s: f64,
}

impl Default for Pacing {
    fn default() -> Self {
        Pacing { near: 100.0, widen: 20.0, again: 200.0, anchor_after_s: 10.0 }
    }
}

impl Pacing {
    /// Returns the first error in the settings, if any.
    pub fn fault(&self) -> Option<&'static str> {
        let all = [self.near, self.widen, self.again, self.anchor_after_s];
        all.iter().any(|x| !x.is_finite() || *x < 0.0).then_some("[pairing]: expected numbers of at least 0")
    }
}

/// Agent waiting for a match.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitingAgent {
    /// Name of the agent. Agents with the same name do not meet each other.
    pub agent: String,
    /// Owner of the agent. Agents of the same owner do not meet each other.
    pub owner: String,
    pub rating: f64,
    /// Name of the last opponent; empty before the first match.
    pub met: String,
    /// Waiting time in milliseconds.
    pub waits_ms: u64,
}

/// Opponent of a waiting agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Partner {
    /// Index of another waiting agent.
    Waiter(usize),
    /// Index of an anchor.
    Anchor(usize),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meeting {
    /// Index of the waiting agent.
    pub waiter: usize,
    pub partner: Partner,
}

/// Number of neighbors by rating, on each side, with which an agent is compared. The limit bounds the work for long
/// queues.
const LOOK: usize = 32;

/// Returns the matches to start. Each waiting agent is in at most one match.
///
/// The cost of a pair is the rating difference minus the tolerance, plus `again` if the last match of both agents was
/// against each other. The tolerance is `near`, plus `widen` for each second that either agent has waited. Pairs with a
/// cost of at most 0 are chosen, cheapest first. Then each remaining agent that has waited too long meets the nearest
/// of the `anchors` (names and ratings).
pub fn meetings(waiters: &[WaitingAgent], anchors: &[(String, f64)], pacing: &Pacing) -> Vec<Meeting> {
    let mut order: Vec<usize> = (0..waiters.len()).collect();
    order.sort_by(|&a, &b| waiters[a].rating.total_cmp(&waiters[b].rating).then(a.cmp(&b)));
    let mut pairs = Vec::new();
    for (place, &a) in order.iter().enumerate() {
        let neighbours = order[place + 1..].iter().filter(|&&b| may_meet(&waiters[a], &waiters[b])).take(LOOK);
        let cost = |&b: &usize| (cost(&waiters[a], &waiters[b], pacing), a, b);
        pairs.extend(neighbours.map(cost).filter(|(cost, ..)| *cost <= 0.0));
    }
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let mut free = vec![true; waiters.len()];
    let mut all = Vec::new();
    for (_, a, b) in pairs {
        if free[a] && free[b] {
            (free[a], free[b]) = (false, false);
            all.push(Meeting { waiter: a.min(b), partner: Partner::Waiter(a.max(b)) });
        }
    }
    for (waiter, who) in waiters.iter().enumerate().filter(|(k, _)| free[*k]) {
        if (who.waits_ms as f64) < pacing.anchor_after_s * 1_000.0 {
            continue;
        }
        let far = |(name, rating): &(String, f64)| (rating - who.rating).abs() + again(&who.met, name, pacing);
        let nearest = (0..anchors.len()).min_by(|&a, &b| far(&anchors[a]).total_cmp(&far(&anchors[b])));
        all.extend(nearest.map(|anchor| Meeting { waiter, partner: Partner::Anchor(anchor) }));
    }
    all
}

fn may_meet(a: &WaitingAgent, b: &WaitingAgent) -> bool {
    a.agent != b.agent && a.owner != b.owner
}

fn again(met: &str, other: &str, pacing: &Pacing) -> f64 {
    if met == other { pacing.again } else { 0.0 }
}

fn cost(a: &WaitingAgent, b: &WaitingAgent, pacing: &Pacing) -> f64 {
    let repeated = again(&a.met, &b.agent, pacing).max(again(&b.met, &a.agent, pacing));
    let waited = (a.waits_ms + b.waits_ms) as f64 / 1_000.0;
    (a.rating - b.rating).abs() + repeated - pacing.near - pacing.widen * waited
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiter(agent: &str, rating: f64, waits_s: u64) -> WaitingAgent {
        let owner = format!("owner of {agent}");
        WaitingAgent { agent: agent.to_owned(), owner, rating, met: String::new(), waits_ms: 1_000 * waits_s }
    }

    fn anchors() -> Vec<(String, f64)> {
        vec![("random".to_owned(), 0.0), ("good".to_owned(), 900.0)]
    }

    fn told(waiters: &[WaitingAgent], anchors: &[(String, f64)]) -> Vec<String> {
        let name = |meeting: &Meeting| {
            let other = match meeting.partner {
                Partner::Waiter(k) => &waiters[k].agent,
                Partner::Anchor(k) => &anchors[k].0,
            };
            format!("{} {other}", waiters[meeting.waiter].agent)
        };
        meetings(waiters, anchors, &Pacing::default()).iter().map(name).collect()
    }

    #[test]
    fn agents_with_close_ratings_meet_and_waiting_widens_the_tolerance() {
        let all = [waiter("a", 500.0, 0), waiter("b", 590.0, 0), waiter("c", 610.0, 0), waiter("d", 900.0, 0)];
        assert_eq!(told(&all, &[]), ["b c"]);
        // 400 points apart: 100 from the start, and 15 seconds of waiting.
        assert_eq!(told(&[waiter("a", 500.0, 8), waiter("d", 900.0, 6)], &[]), [""; 0]);
        assert_eq!(told(&[waiter("a", 500.0, 8), waiter("d", 900.0, 7)], &[]), ["a d"]);
    }

    #[test]
    fn agents_with_the_same_owner_or_name_do_not_meet() {
        let mut all = [waiter("a", 500.0, 9), waiter("b", 500.0, 9), waiter("a", 500.0, 9)];
        all[2].owner = "another".to_owned();
        all[1].owner = all[0].owner.clone();
        assert_eq!(told(&all[..2], &[]), [""; 0]);
        assert_eq!(told(&all, &[]), ["b a"]);
        assert_eq!(told(&[all[0].clone(), all[2].clone()], &[]), [""; 0]);
    }

    #[test]
    fn recent_opponents_meet_other_agents_first() {
        let mut all = [waiter("a", 500.0, 1), waiter("b", 500.0, 1), waiter("c", 600.0, 1)];
        (all[0].met, all[1].met) = ("b".to_owned(), "a".to_owned());
        assert_eq!(told(&all, &[]).len(), 1);
        assert!(told(&all, &[])[0].ends_with(" c"));
        assert_eq!(told(&all[..2], &[]), [""; 0]);
        all.iter_mut().for_each(|who| who.waits_ms = 5_000);
        assert_eq!(told(&all[..2], &[]), ["a b"], "no other agent waits");
    }

    #[test]
    fn long_waiting_agent_meets_the_nearest_anchor() {
        let mut all = [waiter("a", 300.0, 9), waiter("b", 800.0, 10)];
        all[1].owner = all[0].owner.clone();
        assert_eq!(told(&all, &anchors()), ["b good"]);
        all[0].waits_ms = 10_000;
        assert_eq!(told(&all, &anchors()), ["a random", "b good"]);
        all[0].rating = 440.0;
        all[0].met = "random".to_owned();
        assert_eq!(told(&all, &anchors())[0], "a good", "another anchor is nearly as near");
        assert_eq!(told(&all, &[]), [""; 0]);
    }
}
