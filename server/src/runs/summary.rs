//! What a run says so far: scores, levels, ratings, costs. From its records, which are verified first.

use std::collections::HashMap;

use ludex_protocol::record::{Parts, Record};
use ludex_referee::rating::table::{Interval, Tally, wilson};
use ludex_referee::read::Source;
use ludex_referee::scale::{Options, Scale, rate};
use ludex_referee::suite::plan::{Plan, Results};
use ludex_referee::suite::verdict::{Level, level};
use ludex_referee::{Verified, Verifier};
use serde::Serialize;

/// What a candidate did in a part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The part's id.
    pub part: String,
    /// The game, canonical.
    pub game: String,
    /// The candidate.
    pub agent: String,
    /// Its wins, draws and losses over all opponents.
    #[serde(flatten)]
    pub tally: Tally,
    /// Its share of the points.
    pub score: Option<Interval>,
    /// The same against each opponent.
    pub against: Vec<Against>,
    /// Its place on the ladder, where the part asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// Its rating with the anchors' as constants.
    pub rating: Option<Interval>,
    /// Matches that were discarded.
    pub discarded: u64,
    /// Matches that an illegal move ended and that do not count.
    pub invalid: u64,
}

/// What a candidate did against an opponent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Against {
    /// The opponent.
    pub opponent: String,
    /// Its level, if it is one of a ladder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<u32>,
    /// Wins, draws, losses of the candidate.
    #[serde(flatten)]
    pub tally: Tally,
}

/// The records that verify.
///
/// # Errors
/// A record of the run that does not: a fault of the program, or somebody changed the file.
pub fn verified(records: &[Record]) -> anyhow::Result<Vec<Verified>> {
    let verifier = Verifier::new();
    let source = Source { file: "episodes.jsonl".into(), line: 0 };
    let check = |record: &Record| {
        let parts = Parts::parse(&record.to_line()?)?;
        verifier.verify(&parts, source.clone()).map_err(|fault| anyhow::anyhow!("{}: {fault}", record.header.episode))
    };
    records.iter().map(check).collect()
}

/// The rows of a run, part by part.
pub fn rows(plan: &Plan, done: &Results, scales: &[Scale]) -> Vec<Row> {
    let mut out = Vec::new();
    for part in &plan.parts {
        let string = &part.game.spec().string;
        for &a in &part.candidates {
            let name = &plan.agents[a].name;
            let mut row = Row {
                part: part.part.id.clone(),
                game: string.clone(),
                agent: name.clone(),
                tally: Tally::default(),
                score: None,
                against: Vec::new(),
                level: level(part, a, done),
                rating: scales.iter().find(|s| s.string == *string).and_then(|s| rating(s, name)),
                discarded: 0,
                invalid: 0,
            };
            for (pairing, level) in part.pairings() {
                let Some(place) = pairing.iter().position(|&who| who == a) else { continue };
                let [discarded, invalid] = part.lost(pairing, done);
                row.discarded += discarded;
                row.invalid += invalid;
                let mut tally = part.tally(pairing, done);
                if tally.games() == 0 {
                    continue;
                }
                if place == 1 && pairing[0] != a {
                    std::mem::swap(&mut tally.wins, &mut tally.losses);
                }
                row.tally.wins += tally.wins;
                row.tally.draws += tally.draws;
                row.tally.losses += tally.losses;
                let opponent = plan.agents[pairing[1 - place]].name.clone();
                row.against.push(Against { opponent, level, tally });
            }
            let Tally { wins, draws, .. } = row.tally;
            row.score = wilson(wins as f64 + draws as f64 / 2.0, row.tally.games() as f64);
            out.push(row);
        }
    }
    out
}

fn rating(scale: &Scale, name: &str) -> Option<Interval> {
    let agent = scale.agents.iter().find(|a| a.name == name)?;
    if !agent.anchored || agent.fixed {
        return None;
    }
    Some(Interval { value: agent.rating?, low: agent.low?, high: agent.high? })
}

/// The half width of the rating's interval by part and candidate, as far as there is a rating.
pub fn widths(plan: &Plan, records: &[Record]) -> anyhow::Result<HashMap<(usize, usize), f64>> {
    let scales = rate(&verified(records)?, &Options::default());
    let mut out = HashMap::new();
    for (at, part) in plan.parts.iter().enumerate() {
        let Some(scale) = scales.iter().find(|s| s.string == part.game.spec().string) else { continue };
        for &a in &part.candidates {
            if let Some(Interval { low, high, .. }) = rating(scale, &plan.agents[a].name) {
                out.insert((at, a), (high - low) / 2.0);
            }
        }
    }
    Ok(out)
}
