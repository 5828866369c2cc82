//! What a run says so far: scores, levels, ratings, costs. From its records, which are verified first.

use std::collections::{BTreeMap, HashMap};

use ludex_protocol::record::{Parts, Reason, Record};
use ludex_referee::metric::{METRICS, Measure, Sample};
use ludex_referee::rating::table::{Interval, Tally, wilson};
use ludex_referee::read::Source;
use ludex_referee::scale::{RatingOptions, Scale, rate};
use ludex_referee::suite::Part;
use ludex_referee::suite::plan::{Done, Plan, Results};
use ludex_referee::suite::verdict::{Level, level};
use ludex_referee::{Verified, Verifier};
use serde::Serialize;

use super::episode::key_of;
use super::lines::EPISODES;
use super::play::results;

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
    /// What the part measures beside, by metric.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<&'static str, Measure>,
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

/// The records of matches that count: not those that are to be played again, nor those that an illegal move ended where that does
/// not count.
pub fn counting<'r>(run: &str, done: &Results, records: &'r [Record]) -> Vec<&'r Record> {
    let counts = |record: &&Record| {
        let key = key_of(run, &record.header.episode).map(|(key, _)| key);
        key.is_some_and(|key| matches!(done.get(key), Some(Done::Points(_))))
            && record.footer.reason.is_some_and(Reason::counts)
    };
    records.iter().filter(counts).collect()
}

/// The records that verify.
///
/// # Errors
/// A record of the run that does not: a fault of the program, or somebody changed the file.
pub fn verified<'r>(records: impl IntoIterator<Item = &'r Record>) -> anyhow::Result<Vec<Verified>> {
    let verifier = Verifier::new();
    let source = Source { file: EPISODES.into(), line: 0 };
    let check = |record: &Record| {
        let parts = Parts::parse(&record.to_line()?)?;
        verifier.verify(&parts, source.clone()).map_err(|fault| anyhow::anyhow!("{}: {fault}", record.header.episode))
    };
    records.into_iter().map(check).collect()
}

/// The rows of a run, part by part.
pub fn rows(run: &str, plan: &Plan, done: &Results, games: &[Verified]) -> Vec<Row> {
    let scales = rate(games, &RatingOptions::default());
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
                metrics: measured(run, &part.part, name, games),
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
                if place == 1 {
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

/// The metrics that a part asks for, of one agent over its matches there.
fn measured(run: &str, part: &Part, name: &str, games: &[Verified]) -> BTreeMap<&'static str, Measure> {
    let prefix = format!("{run}.{}.", part.id);
    let here = games.iter().filter(|game| game.record().header.episode.starts_with(&prefix));
    let samples: Vec<Sample> = here
        .flat_map(|game| {
            let seats = game.record().header.seats.iter().enumerate().filter(|(_, seat)| seat.name == name);
            seats.map(move |(seat, _)| Sample { game: game.result(), seat })
        })
        .collect();
    let asked = METRICS.iter().filter(|metric| part.metrics.iter().any(|id| id == metric.id));
    asked.filter_map(|metric| Some((metric.id, (metric.of)(&samples)?))).collect()
}

/// The mean score of a candidate over the parts of each group that it played.
pub fn groups(plan: &Plan, rows: &[Row]) -> Vec<Group> {
    let mut out: Vec<Group> = Vec::new();
    for part in &plan.parts {
        for row in rows.iter().filter(|row| row.part == part.part.id) {
            let Some(score) = row.score else { continue };
            for group in &part.part.groups {
                let known = out.iter_mut().find(|g| g.group == *group && g.agent == row.agent);
                match known {
                    Some(known) => {
                        known.score = (known.score * known.parts as f64 + score.value) / (known.parts + 1) as f64;
                        known.parts += 1;
                    }
                    None => {
                        out.push(Group { group: group.clone(), agent: row.agent.clone(), parts: 1, score: score.value })
                    }
                }
            }
        }
    }
    out
}

/// A mean over the parts of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// The group.
    pub group: String,
    /// The candidate.
    pub agent: String,
    /// How many parts.
    pub parts: usize,
    /// Their mean score.
    pub score: f64,
}

fn rating(scale: &Scale, name: &str) -> Option<Interval> {
    let agent = scale.agents.iter().find(|a| a.name == name)?;
    if !agent.anchored || agent.fixed {
        return None;
    }
    Some(Interval { value: agent.rating?, low: agent.low?, high: agent.high? })
}

/// The half width of the rating's interval by part and candidate, as far as there is a rating.
///
/// # Errors
/// As [`verified`].
pub fn widths(run: &str, plan: &Plan, records: &[Record]) -> anyhow::Result<HashMap<(usize, usize), f64>> {
    let (done, _) = results(run, plan, records);
    let scales = rate(&verified(counting(run, &done, records))?, &RatingOptions::default());
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
