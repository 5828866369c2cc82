//! Standings of a tournament.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{FinishedBlock, Tournament, TournamentFormat, TournamentResults, ladder, swiss};
use crate::rating::PlayedGame;
use crate::rating::table::Tally;

/// Row of the standings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Standing {
    pub entrant: usize,
    /// Rank from 1. Tied entrants share a rank; eliminated entrants have none.
    pub rank: Option<usize>,
    /// Points: in each match, 1 for each opponent beaten and 1/2 for each draw with an opponent; plus points for byes.
    pub points: f64,
    /// Tie-break value for entrants with equal points (`TournamentFormat::tie_break`).
    pub tie_break: Option<f64>,
    /// Wins, draws and losses that give the points. For an eliminated entrant, all its matches are included.
    #[serde(flatten)]
    pub tally: Tally,
    /// Rounds without an opponent.
    pub byes: u64,
    /// Matches ended by the entrant's own failure.
    pub failures: u64,
    /// Matches, completed or not, that do not count because one of the entrants was eliminated.
    pub walkovers: u64,
    /// Reason for the elimination.
    pub out: Option<String>,
}

/// Results that count in the tournament's format.
struct CountedResults<'a> {
    finished: Vec<&'a FinishedBlock>,
    byes: Vec<u64>,
    given: Vec<f64>,
    walkovers: Vec<u64>,
    /// Ladder place of each entrant, which is its rank; `None` in other formats.
    places: Option<BTreeMap<usize, usize>>,
}

impl Tournament {
    /// Returns the current standings: ranked entrants with the best first, then eliminated entrants.
    pub fn standings(&self, results: &TournamentResults) -> Vec<Standing> {
        let out = self.out(results);
        let counted = self.count_results(results, &out);
        let mut lines: Vec<Standing> = (0..self.settings.entrants)
            .map(|entrant| {
                let why = out.get(&entrant).cloned();
                // The table lists the results of an eliminated entrant, although the results do not count.
                let tally = match &why {
                    Some(_) => tally(results.finished.values(), entrant),
                    None => tally(counted.finished.iter().copied(), entrant),
                };
                Standing {
                    entrant,
                    rank: None,
                    points: tally.wins as f64 + 0.5 * tally.draws as f64 + counted.given[entrant],
                    tie_break: None,
                    tally,
                    byes: counted.byes[entrant],
                    failures: failures(results, entrant),
                    walkovers: counted.walkovers[entrant],
                    out: why,
                }
            })
            .collect();
        let points: Vec<f64> = lines.iter().map(|line| line.points).collect();
        for line in &mut lines {
            // An empty sum is -0.
            line.tie_break = self.tie_break(&counted, &points, line.entrant).map(|value| value + 0.0);
        }
        let key = |line: &Standing| (line.points, line.tie_break.unwrap_or_default());
        let place = |line: &Standing| counted.places.as_ref()?.get(&line.entrant).copied();
        lines.sort_by(|a, b| {
            let ((p, s), (q, t)) = (key(a), key(b));
            let by_place = place(a).is_none().cmp(&place(b).is_none()).then(place(a).cmp(&place(b)));
            let by_points = q.total_cmp(&p).then(t.total_cmp(&s));
            a.out.is_some().cmp(&b.out.is_some()).then(by_place).then(by_points).then(a.entrant.cmp(&b.entrant))
        });
        let mut last: Option<(f64, f64, usize)> = None;
        for (k, line) in lines.iter_mut().enumerate().filter(|(_, line)| line.out.is_none()) {
            let (points, tie_break) = key(line);
            let shared = last.filter(|_| counted.places.is_none()).filter(|l| (l.0, l.1) == (points, tie_break));
            let rank = shared.map_or(k + 1, |l| l.2);
            line.rank = Some(rank);
            last = Some((points, tie_break, rank));
        }
        lines
    }

    fn count_results<'a>(&self, results: &'a TournamentResults, out: &BTreeMap<usize, String>) -> CountedResults<'a> {
        let n = self.settings.entrants;
        let mut counted = CountedResults {
            finished: Vec::new(),
            byes: vec![0; n],
            given: vec![0.0; n],
            walkovers: vec![0; n],
            places: None,
        };
        let of_blocks =
            |blocks: &[super::TournamentBlock]| blocks.iter().filter_map(|b| results.of(b)).collect::<Vec<_>>();
        let of = |f: &FinishedBlock| results.finished.get(&(f.index, f.pairing.clone()));
        match self.settings.format {
            TournamentFormat::RoundRobin | TournamentFormat::DoubleRoundRobin => {
                let all = self.everybody();
                let (void, good): (Vec<_>, Vec<_>) =
                    all.into_iter().partition(|b| b.pairing.iter().any(|e| out.contains_key(e)));
                for block in void {
                    block.pairing.iter().for_each(|&e| counted.walkovers[e] += block.tables.len() as u64);
                }
                counted.finished = of_blocks(&good);
            }
            TournamentFormat::Swiss { rounds } => {
                let course = swiss::course(self, rounds, results);
                let meetings = course.rounds.iter().flat_map(|round| &round.meetings);
                counted.finished = meetings.flat_map(|(_, finished)| finished).filter_map(of).collect();
                let round_won = (self.settings.blocks * self.matches_of_block()) as f64;
                for bye in course.rounds.iter().filter_map(|round| round.bye) {
                    counted.byes[bye] += 1;
                    counted.given[bye] += round_won;
                }
            }
            TournamentFormat::Ladder => {
                let course = ladder::course(self, results);
                counted.finished = course.finished.iter().filter_map(of).collect();
                counted.places = Some(course.table.iter().enumerate().map(|(k, &e)| (e, k)).collect());
            }
        }
        counted
    }

    /// Returns the tie-break value. Sonneborn-Berger: the points of beaten opponents, plus half of the points of
    /// opponents that the entrant drew with. Buchholz: the points of all opponents; a bye counts as an opponent with
    /// the entrant's own points.
    fn tie_break(&self, counted: &CountedResults, points: &[f64], entrant: usize) -> Option<f64> {
        let met = counted.finished.iter().filter(|f| f.pairing.contains(&entrant));
        match self.settings.format {
            TournamentFormat::Ladder => None,
            TournamentFormat::RoundRobin | TournamentFormat::DoubleRoundRobin => {
                let duels = met.flat_map(|f| &f.matches).flat_map(PlayedGame::duels);
                let worth = duels.filter_map(|d| match entrant {
                    e if e == d.a => Some(d.score * points[d.b]),
                    e if e == d.b => Some((1.0 - d.score) * points[d.a]),
                    _ => None,
                });
                Some(worth.sum())
            }
            TournamentFormat::Swiss { .. } => {
                // Each block of a meeting counts the opponent once, equally for all entrants.
                let others = met.flat_map(|f| &f.pairing).filter(|&&e| e != entrant).map(|&e| points[e]);
                let byes = (counted.byes[entrant] * self.settings.blocks) as f64 * points[entrant];
                Some(others.sum::<f64>() + byes)
            }
        }
    }
}

fn tally<'a>(finished: impl Iterator<Item = &'a FinishedBlock>, entrant: usize) -> Tally {
    let mut tally = Tally::default();
    for duel in finished.flat_map(|f| &f.matches).flat_map(PlayedGame::duels) {
        if duel.a == entrant {
            tally.add(duel.score);
        } else if duel.b == entrant {
            tally.add(1.0 - duel.score);
        }
    }
    tally
}

fn failures(results: &TournamentResults, entrant: usize) -> u64 {
    results.finished.values().flat_map(|f| &f.failed).filter(|&&e| e == entrant).count() as u64
}
