//! Pairing of agents that wait on a ladder.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::Seeker;
use super::table::{SeatName, StandingTable};

/// Pairing settings of a ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pacing {
    /// Maximum rating difference of two agents that have just joined the queue.
    pub near: f64,
    /// Points added to the maximum difference for each second that either agent has waited.
    pub widen: f64,
    /// Points added to the rating difference of two agents whose recent matches were all against each other. Agents with
    /// a part of their recent matches against each other get this part of the points.
    pub again: f64,
    /// Share of each agent's pairs that are against anchors. An agent with a provisional rating meets an anchor in every
    /// second pair.
    pub anchor_share: f64,
    /// Waiting time in seconds after which an agent without a suitable opponent meets an anchor.
    pub anchor_after_s: f64,
}

impl Default for Pacing {
    fn default() -> Self {
        Pacing { near: 200.0, widen: 100.0, again: 600.0, anchor_share: 0.2, anchor_after_s: 10.0 }
    }
}

impl Pacing {
    /// Returns the first error in the settings, if any.
    pub fn fault(&self) -> Option<&'static str> {
        let all = [self.near, self.widen, self.again, self.anchor_after_s];
        match () {
            () if all.iter().any(|x| !x.is_finite() || *x < 0.0) => Some("[pairing]: expected numbers of at least 0"),
            () if self.anchor_share != 0.0 && !(0.01..=1.0).contains(&self.anchor_share) => {
                Some("anchor_share: expected 0, or a number from 0.01 to 1")
            }
            () => None,
        }
    }

    /// Returns the number of other opponents between two anchors.
    fn others(&self) -> usize {
        (1.0 / self.anchor_share - 0.5) as usize
    }

    /// Returns true if an agent is to meet an anchor next. `met` lists its last opponents, the latest last.
    pub(super) fn wants_anchor(&self, met: &[SeatName], provisional: bool) -> bool {
        let others = if provisional { self.others().min(1) } else { self.others() };
        let is_anchor = |name: &SeatName| matches!(name, SeatName::Server(_));
        self.anchor_share > 0.0 && (provisional || met.len() >= others) && !met.iter().rev().take(others).any(is_anchor)
    }
}

/// Last opponents of each agent, the latest last.
#[derive(Default)]
pub struct Encounters(HashMap<String, Vec<SeatName>>);

impl Encounters {
    /// Returns the matches to start in this round, and remembers them. If anchors are `busy`, they play only agents that
    /// have waited too long.
    pub fn pair(
        &mut self,
        seekers: &[Seeker],
        table: &StandingTable,
        anchors: &[(String, f64)],
        pacing: &Pacing,
        busy: bool,
    ) -> Vec<Meeting> {
        let waiter = |seeker: &Seeker| {
            let (skill, met) = (table.skill(&seeker.agent), self.0.get(&seeker.agent).cloned().unwrap_or_default());
            WaitingAgent {
                agent: seeker.agent.clone(),
                owner: seeker.owner.clone(),
                rating: skill.rating,
                wants_anchor: !busy && pacing.wants_anchor(&met, skill.deviation > table.rating.provisional),
                met,
                waits_ms: seeker.waits_ms,
            }
        };
        let waiters: Vec<WaitingAgent> = seekers.iter().map(waiter).collect();
        let meetings = meetings(&waiters, anchors, pacing);
        for Meeting { waiter, partner } in &meetings {
            let client = |place: usize| SeatName::Client(seekers[place].agent.clone());
            match *partner {
                Partner::Waiter(other) => {
                    self.remember(&seekers[*waiter].agent, client(other), pacing);
                    self.remember(&seekers[other].agent, client(*waiter), pacing);
                }
                Partner::Anchor(anchor) => {
                    self.remember(&seekers[*waiter].agent, SeatName::Server(anchors[anchor].0.clone()), pacing);
                }
            }
        }
        meetings
    }

    fn remember(&mut self, agent: &str, opponent: SeatName, pacing: &Pacing) {
        let met = self.0.entry(agent.to_owned()).or_default();
        met.push(opponent);
        let most = RECENT.max(if pacing.anchor_share > 0.0 { pacing.others() } else { 0 });
        met.drain(..met.len().saturating_sub(most));
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
    /// Last opponents, the latest last.
    pub met: Vec<SeatName>,
    /// True if the agent meets an anchor, unless an anchor cannot play.
    pub wants_anchor: bool,
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

/// Number of last opponents that count as recent.
const RECENT: usize = 8;

/// Returns the matches to start. Each waiting agent is in at most one match.
///
/// Agents that want an anchor meet the nearest of the `anchors` (specs and ratings). The cost of a pair of other agents
/// is the rating difference minus the tolerance, plus `again` times the share of recent matches against each other. The
/// tolerance is `near`, plus `widen` for each second that either agent has waited. Pairs with a cost of at most 0 are
/// chosen, cheapest first. The last opponents of each other do not meet while one of them could meet a third agent.
/// Each remaining agent that has waited too long meets the nearest anchor.
pub fn meetings(waiters: &[WaitingAgent], anchors: &[(String, f64)], pacing: &Pacing) -> Vec<Meeting> {
    let nearest = |waiter: usize| {
        let far = |k: &usize| {
            let (spec, rating) = &anchors[*k];
            let recent = recent(&waiters[waiter].met, &SeatName::Server(spec.clone()));
            (rating - waiters[waiter].rating).abs() + pacing.again * recent
        };
        let anchor = (0..anchors.len()).min_by(|a, b| far(a).total_cmp(&far(b)))?;
        Some(Meeting { waiter, partner: Partner::Anchor(anchor) })
    };
    let wants = |k: &usize| waiters[*k].wants_anchor && !anchors.is_empty();
    let mut all: Vec<Meeting> = (0..waiters.len()).filter(wants).filter_map(nearest).collect();
    let mut order: Vec<usize> = (0..waiters.len()).filter(|k| !wants(k)).collect();
    order.sort_by(|&a, &b| waiters[a].rating.total_cmp(&waiters[b].rating).then(a.cmp(&b)));
    let mut pairs = Vec::new();
    for (place, &a) in order.iter().enumerate() {
        let neighbours = order[place + 1..].iter().filter(|&&b| may_meet(&waiters[a], &waiters[b])).take(LOOK);
        let cost = |&b: &usize| (cost(&waiters[a], &waiters[b], pacing), a, b);
        pairs.extend(neighbours.map(cost).filter(|(cost, ..)| *cost <= 0.0));
    }
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let long = |k: usize| waiters[k].waits_ms as f64 >= pacing.anchor_after_s * 1_000.0;
    let mut free = vec![false; waiters.len()];
    order.iter().for_each(|&k| free[k] = true);
    for (_, a, b) in pairs {
        let third = |&k: &usize| k != a && k != b && [a, b].iter().any(|&one| may_meet(&waiters[one], &waiters[k]));
        let repeated = is_rematch(&waiters[a], &waiters[b]) && !(long(a) && long(b));
        if free[a] && free[b] && !(repeated && order.iter().any(third)) {
            (free[a], free[b]) = (false, false);
            all.push(Meeting { waiter: a.min(b), partner: Partner::Waiter(a.max(b)) });
        }
    }
    all.extend((0..waiters.len()).filter(|&k| free[k] && long(k)).filter_map(nearest));
    all
}

fn may_meet(a: &WaitingAgent, b: &WaitingAgent) -> bool {
    a.agent != b.agent && a.owner != b.owner
}

/// Returns true if the last match of either agent was against the other.
fn is_rematch(a: &WaitingAgent, b: &WaitingAgent) -> bool {
    let last = |of: &WaitingAgent, other: &WaitingAgent| matches!(of.met.last(), Some(SeatName::Client(name)) if *name == other.agent);
    last(a, b) || last(b, a)
}

/// Returns the share of the recent opponents `met` that are `other`.
fn recent(met: &[SeatName], other: &SeatName) -> f64 {
    let last = &met[met.len().saturating_sub(RECENT)..];
    last.iter().filter(|name| *name == other).count() as f64 / last.len().max(1) as f64
}

fn cost(a: &WaitingAgent, b: &WaitingAgent, pacing: &Pacing) -> f64 {
    let share = |of: &WaitingAgent, other: &WaitingAgent| recent(&of.met, &SeatName::Client(other.agent.clone()));
    let waited = (a.waits_ms + b.waits_ms) as f64 / 1_000.0;
    let again = pacing.again * share(a, b).max(share(b, a));
    (a.rating - b.rating).abs() + again - pacing.near - pacing.widen * waited
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiter(agent: &str, rating: f64, waits_s: u64) -> WaitingAgent {
        let owner = format!("owner of {agent}");
        let (met, wants_anchor) = (Vec::new(), false);
        WaitingAgent { agent: agent.to_owned(), owner, rating, met, wants_anchor, waits_ms: 1_000 * waits_s }
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
        let pacing = Pacing { near: 100.0, widen: 20.0, again: 200.0, ..Pacing::default() };
        meetings(waiters, anchors, &pacing).iter().map(name).collect()
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

    fn client(name: &str) -> SeatName {
        SeatName::Client(name.to_owned())
    }

    #[test]
    fn last_opponents_meet_again_only_if_no_other_agent_waits() {
        let mut all = [waiter("a", 500.0, 5), waiter("b", 500.0, 5), waiter("c", 1_500.0, 5)];
        (all[0].met, all[1].met) = (vec![client("b")], vec![client("a")]);
        assert_eq!(told(&all, &[]), [""; 0]);
        assert_eq!(told(&all[..2], &[]), ["a b"], "no other agent waits");
        all.iter_mut().for_each(|who| who.waits_ms = 10_000);
        assert_eq!(told(&all, &[]), ["a b"], "the agents have waited for too long");
    }

    #[test]
    fn recent_opponents_meet_other_agents_first() {
        let mut all = [waiter("a", 500.0, 1), waiter("b", 500.0, 1), waiter("c", 560.0, 1)];
        all[0].met = vec![client("b"), client("d"), client("b"), client("d")];
        assert!(told(&all, &[])[0].ends_with(" c"), "{:?}", told(&all, &[]));
        all[0].met.extend(["e", "f", "g", "h", "i", "j", "k"].map(client));
        assert_eq!(told(&all, &[]), ["a b"], "the matches against b are no longer recent");
    }

    #[test]
    fn agents_meet_anchors_at_the_configured_share() {
        let pacing = Pacing::default();
        let anchor = SeatName::Server("random".to_owned());
        let mut met = Vec::new();
        let mut next = |provisional: bool| {
            let wants = pacing.wants_anchor(&met, provisional);
            met.push(if wants { anchor.clone() } else { client("b") });
            u8::from(wants)
        };
        assert_eq!([(); 4].map(|()| next(true)), [1, 0, 1, 0]);
        assert_eq!([(); 10].map(|()| next(false)), [0, 0, 0, 1, 0, 0, 0, 0, 1, 0]);
        let none = Pacing { anchor_share: 0.0, ..Pacing::default() };
        assert!(!none.wants_anchor(&[], true));
        let all = [WaitingAgent { wants_anchor: true, ..waiter("a", 300.0, 0) }, waiter("b", 300.0, 0)];
        assert_eq!(told(&all, &anchors()), ["a random"]);
        assert_eq!(told(&all, &[]), ["a b"], "no anchor can play");
    }

    #[test]
    fn long_waiting_agent_meets_the_nearest_anchor() {
        let mut all = [waiter("a", 300.0, 9), waiter("b", 800.0, 10)];
        all[1].owner = all[0].owner.clone();
        assert_eq!(told(&all, &anchors()), ["b good"]);
        all[0].waits_ms = 10_000;
        assert_eq!(told(&all, &anchors()), ["a random", "b good"]);
        all[0].rating = 440.0;
        all[0].met = vec![SeatName::Server("random".to_owned())];
        assert_eq!(told(&all, &anchors())[0], "a good", "another anchor is nearly as near");
        assert_eq!(told(&all, &[]), [""; 0]);
    }
}
