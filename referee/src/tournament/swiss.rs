//! Swiss format: rounds between entrants with equal points.

use std::collections::BTreeSet;

use super::{FinishedBlock, Tournament, TournamentBlock, TournamentResults};

/// Maximum number of entrants for an exhaustive search of the pairings.
const FEW: usize = 10;

pub(super) struct Round {
    /// Pairs of entrants, best pair first, each with its finished blocks.
    pub meetings: Vec<([usize; 2], Vec<FinishedBlock>)>,
    /// Entrant with a bye in this round.
    pub bye: Option<usize>,
}

/// State of a swiss tournament.
pub(super) struct SwissState {
    pub rounds: Vec<Round>,
    /// Points of each entrant, including points for byes.
    pub points: Vec<f64>,
    /// Blocks still due in the last round.
    pub due: Vec<TournamentBlock>,
}

/// Pairs that have met, with the smaller index first.
#[derive(Default)]
struct MetPairs(BTreeSet<[usize; 2]>);

impl MetPairs {
    fn pair_of(&self, a: usize, b: usize) -> Option<[usize; 2]> {
        [[a, b], [b, a]].into_iter().find(|pair| self.0.contains(pair))
    }

    fn strangers(&self, a: usize, b: usize) -> bool {
        self.pair_of(a, b).is_none()
    }
}

pub(super) fn course(tournament: &Tournament, rounds: u64, results: &TournamentResults) -> SwissState {
    let settings = tournament.settings();
    let n = settings.entrants;
    let mut met = MetPairs::default();
    let mut byes = vec![0; n];
    let mut course = SwissState { rounds: Vec::new(), points: vec![0.0; n], due: Vec::new() };
    for round in 0..rounds {
        // Failures in a round eliminate entrants from the next round on, so that the pairings of a round do not change.
        let before = course.rounds.iter().flat_map(|r| &r.meetings).flat_map(|(_, finished)| finished);
        let out = tournament.out_by(results, before);
        let mut order: Vec<usize> = (0..n).filter(|e| !out.contains_key(e)).collect();
        if order.len() < 2 {
            break;
        }
        order.sort_by(|&a, &b| {
            let drawn = tournament.drawn[a].cmp(&tournament.drawn[b]);
            course.points[b].total_cmp(&course.points[a]).then(drawn)
        });
        let bye = (order.len() % 2 == 1).then(|| {
            // The lowest-ranked of the entrants with the fewest byes.
            let fewest = order.iter().map(|&e| byes[e]).min();
            let at = order.iter().rposition(|&e| Some(byes[e]) == fewest).unwrap_or_default();
            order.remove(at)
        });
        let first = round * (n as u64 / 2) * settings.blocks;
        let pairs = pairs(&order, &met).into_iter().map(|[a, b]| met.pair_of(a, b).unwrap_or([a, b]));
        let mut meetings = Vec::new();
        for (board, pair) in pairs.enumerate() {
            let numbers = first + board as u64 * settings.blocks..;
            let blocks =
                numbers.take(settings.blocks as usize).map(|index| TournamentBlock::whole(pair.to_vec(), index));
            let mut finished = Vec::new();
            for block in blocks {
                match results.of(&block) {
                    Some(done) => finished.push(done.clone()),
                    None => course.due.push(block),
                }
            }
            meetings.push((pair, finished));
        }
        for (pair, finished) in &meetings {
            met.0.insert(*pair);
            pair.iter().for_each(|&e| course.points[e] += finished.iter().map(|f| f.points(e)).sum::<f64>());
        }
        if let Some(bye) = bye {
            byes[bye] += 1;
            course.points[bye] += (settings.blocks * tournament.matches_of_block()) as f64;
        }
        course.rounds.push(Round { meetings, bye });
        if !course.due.is_empty() {
            break;
        }
    }
    course
}

/// Pairs an even number of entrants, which `order` lists from highest to lowest. Each entrant is paired with the next
/// lower entrant that it has not met. With at most [`FEW`] entrants, the number of rematches is minimal.
fn pairs(order: &[usize], met: &MetPairs) -> Vec<[usize; 2]> {
    if order.len() <= FEW { fewest(order, met).0 } else { nearest(order, met) }
}

/// Searches exhaustively for the pairs with the fewest rematches. Returns the pairs and the number of rematches.
fn fewest(order: &[usize], met: &MetPairs) -> (Vec<[usize; 2]>, usize) {
    let Some((&a, below)) = order.split_first() else { return (Vec::new(), 0) };
    let mut best: Option<(Vec<[usize; 2]>, usize)> = None;
    for (k, &b) in below.iter().enumerate() {
        let again = usize::from(!met.strangers(a, b));
        if best.as_ref().is_some_and(|(_, least)| again >= *least) {
            continue;
        }
        let rest: Vec<usize> = below[..k].iter().chain(&below[k + 1..]).copied().collect();
        let (mut pairs, rematches) = fewest(&rest, met);
        if best.as_ref().is_none_or(|(_, least)| again + rematches < *least) {
            pairs.insert(0, [a, b]);
            best = Some((pairs, again + rematches));
        }
        if again + rematches == 0 {
            break;
        }
    }
    best.unwrap_or_default()
}

/// Pairs each entrant with the nearest lower entrant that it has not met. Entrants without a partner then swap partners
/// with existing pairs.
///
/// With fewer than n / 2 rounds for n entrants, no pair meets twice. Proof: each entrant has at least n / 2 opponents
/// that it has not met. Take two entrants without a partner that have already met each other. Together they have at
/// least n new opponents, all of them in the (n - 2) / 2 existing pairs. So at least one pair contains a new opponent
/// for each of the two.
fn nearest(order: &[usize], met: &MetPairs) -> Vec<[usize; 2]> {
    let mut free = order.to_vec();
    let mut pairs = Vec::new();
    let mut left = Vec::new();
    while !free.is_empty() {
        let a = free.remove(0);
        match free.iter().position(|&b| met.strangers(a, b)) {
            Some(at) => pairs.push([a, free.remove(at)]),
            None => left.push(a),
        }
    }
    for two in left.chunks_exact(2) {
        let [u, v] = [two[0], two[1]];
        // Start with the last pairs, which are nearest to the unpaired entrants.
        let found = pairs.iter().enumerate().rev().find_map(|(k, &[x, y])| {
            let fits = |x, y| met.strangers(u, x) && met.strangers(v, y);
            if fits(x, y) { Some((k, [x, y])) } else { fits(y, x).then_some((k, [y, x])) }
        });
        match found {
            Some((k, [x, y])) => {
                pairs[k] = [x, u];
                pairs.push([y, v]);
            }
            None => pairs.push([u, v]),
        }
    }
    pairs
}
