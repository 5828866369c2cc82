//! The results of a run so far: scores, levels, ratings, metrics. They come from its records, which are verified first.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ludex_protocol::record::{EndReason, Record, RecordParts};
use ludex_referee::answer_counts::Answers;
use ludex_referee::metric::{MEAN_RETURN, Measurement, MetricQuery, MetricScope, MetricSpec, Value};
use ludex_referee::outcome::is_competitive;
use ludex_referee::power::stopping_width;
use ludex_referee::rating::table::{Interval, Tally, wilson};
use ludex_referee::read::Source;
use ludex_referee::rows::Rows;
use ludex_referee::scale::{AgentRow, RatingOptions, Scale, rate};
use ludex_referee::suite::plan::{MatchScore, Plan, PlannedPart, Results, points};
use ludex_referee::suite::summary::{SCORE, SummaryScore};
use ludex_referee::suite::verdict::{Level, level};
use ludex_referee::suite::{PartSpec, Schedule};
use ludex_referee::{VerifiedRecord, Verifier};
use serde::Serialize;

use super::driver::results;
use super::episode::key_of;
use super::metric_rows::observed;
use super::plan_progress::PlanProgress;
use super::run_files::EPISODES;

/// The results of a candidate in a part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartResult {
    /// The part's id.
    pub part: String,
    /// The game, canonical.
    pub game: String,
    /// The candidate.
    pub agent: String,
    /// Its wins, draws and losses over all opponents.
    #[serde(flatten)]
    pub tally: Tally,
    /// Its share of the points; absent in games that are not a fight ([`is_fight`]).
    pub score: Option<Interval>,
    /// The same against each opponent.
    pub against: Vec<Against>,
    /// Its place on the ladder, if the part asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// Its rating with the anchors' as constants, by the matches of this part.
    pub rating: Option<Interval>,
    /// Blocks behind the rating.
    pub blocks: usize,
    /// How many blocks like these would give an interval of 30 points to either side.
    pub blocks_for_30: Option<u64>,
    /// The part's other measurements, by metric.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, Measurement>,
    /// The part's measurements that are not one number: shares, series and so on.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, Value>,
    /// What became of its answers, if it is a language model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<Answers>,
    /// Matches that it lost by answers that were not legal moves.
    pub lost_by_answers: u64,
    /// Matches that were discarded.
    pub discarded: u64,
    /// Matches that do not count because an illegal move ended them.
    pub invalid: u64,
    /// Why nothing is played, if the part needs more candidates than there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The results of a candidate against an opponent.
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

/// The records of matches that count. Matches that are to be played again are left out, and so are matches that do not count
/// because an illegal move ended them.
pub fn counted_records<'r>(run: &str, done: &Results, records: &'r [Record]) -> Vec<&'r Record> {
    of_plan(run, done, records, |done| matches!(done, MatchScore::Points(_)))
}

/// As [`counting`], with the matches that do not count because an illegal move ended them: what [`rows`] takes.
pub fn counting_or_invalid<'r>(run: &str, done: &Results, records: &'r [Record]) -> Vec<&'r Record> {
    of_plan(run, done, records, |done| matches!(done, MatchScore::Points(_) | MatchScore::Invalid))
}

fn of_plan<'r>(run: &str, done: &Results, records: &'r [Record], is: impl Fn(&MatchScore) -> bool) -> Vec<&'r Record> {
    let counts = |record: &&Record| {
        let key = key_of(run, &record.header.episode).map(|(key, _)| key);
        key.is_some_and(|key| done.get(key).is_some_and(&is)) && record.footer.reason.is_some_and(EndReason::counts)
    };
    records.iter().filter(counts).collect()
}

/// The records that verify.
///
/// # Errors
/// A record that does not verify: the program has a fault, or the file was changed.
pub fn verified<'r>(records: impl IntoIterator<Item = &'r Record>) -> anyhow::Result<Vec<VerifiedRecord>> {
    verified_with(records, BTreeSet::new())
}

/// The records that verify, with the marks of these names.
///
/// # Errors
/// As [`verified`].
pub fn verified_with<'r>(
    records: impl IntoIterator<Item = &'r Record>,
    marks: BTreeSet<String>,
) -> anyhow::Result<Vec<VerifiedRecord>> {
    let verifier = Verifier::new().with_marks(marks);
    let source = Source { file: EPISODES.into(), line: 0 };
    let check = |record: &Record| {
        let parts = RecordParts::parse(&record.to_line()?)?;
        verifier.verify(&parts, source.clone()).map_err(|fault| anyhow::anyhow!("{}: {fault}", record.header.episode))
    };
    records.into_iter().map(check).collect()
}

/// The ids of a plan's parts.
pub fn ids(plan: &Plan) -> Vec<&str> {
    plan.parts.iter().map(|part| part.part.id.as_str()).collect()
}

/// The scale of a part. A part that sweeps parameters is several games, which have no common scale.
fn scale_of<'s>(scales: &'s [Scale], part: &PlannedPart) -> Option<&'s Scale> {
    scales
        .iter()
        .filter(|_| part.games.len() == 1)
        .find(|s| s.string == part.game.spec().string && s.part.as_deref() == Some(&part.part.id))
}

/// The rows of a run, part by part, by its matches that count and those that are invalid ([`counting_or_invalid`]).
pub fn rows(run: &str, plan: &Plan, done: &Results, mut games: Vec<VerifiedRecord>) -> Vec<PartResult> {
    let walk = PlanProgress::new(plan, &ids(plan), done, &[]);
    walk.put_in_order(run, &mut games);
    let scales = rate(&counted(run, done, &games), &RatingOptions::default());
    rows_on(&scales, run, plan, done, &walk, &games)
}

/// The games that count.
fn counted<'g>(run: &str, done: &Results, games: &'g [VerifiedRecord]) -> Vec<&'g VerifiedRecord> {
    let counts = |game: &&VerifiedRecord| {
        let key = key_of(run, &game.record().header.episode).map(|(key, _)| key);
        key.is_some_and(|key| matches!(done.get(key), Some(MatchScore::Points(_))))
    };
    games.iter().filter(counts).collect()
}

/// As [`rows`], by games in the order of the plan, with the ratings of these scales.
pub(super) fn rows_on(
    scales: &[Scale],
    run: &str,
    plan: &Plan,
    done: &Results,
    walk: &PlanProgress,
    games: &[VerifiedRecord],
) -> Vec<PartResult> {
    let counted = counted(run, done, games);
    let all = observed(run, plan, walk, games);
    let mut out = Vec::new();
    for (at, part) in plan.parts.iter().enumerate() {
        let string = &part.game.spec().string;
        let fight = is_competitive(&*part.game);
        for &a in &part.candidates {
            let name = &plan.agents[a].name;
            let here = all.of_part(at);
            let own = here.of_agent(a);
            let samples = own.samples();
            let rated = scale_of(scales, part).and_then(|s| rated(s, name));
            let mut answers = Answers::default();
            samples.iter().for_each(|s| answers.add(&s.own().answers));
            let lost =
                samples.iter().filter(|s| s.game.reason == EndReason::Illegal && s.game.at_fault == Some(s.seat));
            let lost_by_answers = lost.count() as u64;
            let (metrics, values) = measured(&part.part, fight, &own, &here);
            let mut row = PartResult {
                part: part.part.id.clone(),
                game: string.clone(),
                agent: name.clone(),
                tally: Tally::default(),
                score: None,
                against: Vec::new(),
                level: level(part, a, done),
                rating: rated.and_then(rating),
                blocks: rated.map_or(0, |agent| agent.blocks),
                blocks_for_30: rated.and_then(|agent| agent.blocks_for_30),
                metrics,
                values,
                answers: Some(answers).filter(|answers| answers.total() > 0),
                lost_by_answers,
                discarded: 0,
                invalid: 0,
                note: part.short_of(),
            };
            for (pairing, level) in part.pairings() {
                let Some(place) = pairing.iter().position(|&who| who == a) else { continue };
                // As an opponent it is not evaluated.
                if place > 0 && part.part.schedule == Schedule::Against {
                    continue;
                }
                let [discarded, invalid] = part.uncounted(&pairing, done);
                row.discarded += discarded;
                row.invalid += invalid;
                let mut tally = part.tally(&pairing, done);
                if place > 1 || pairing.len() > 2 {
                    tally = among_many(run, walk, (at, a), &pairing, &counted);
                } else if place == 1 {
                    std::mem::swap(&mut tally.wins, &mut tally.losses);
                }
                if tally.games() == 0 {
                    continue;
                }
                row.tally.wins += tally.wins;
                row.tally.draws += tally.draws;
                row.tally.losses += tally.losses;
                let others = pairing.iter().enumerate().filter(|(k, _)| *k != place);
                let others: Vec<&str> = others.map(|(_, &who)| plan.agents[who].name.as_str()).collect();
                let opponent = others.join(", ");
                row.against.push(Against { opponent, level, tally });
            }
            let Tally { wins, draws, .. } = row.tally;
            row.score = wilson(wins as f64 + draws as f64 / 2.0, row.tally.games() as f64);
            row.score = row.score.filter(|_| fight);
            out.push(row);
        }
    }
    out
}

/// The result of an agent in the blocks of a pairing of many: in each match its return against the mean of the others'.
fn among_many(
    run: &str,
    walk: &PlanProgress,
    (part, agent): (usize, usize),
    pairing: &[usize],
    games: &[&VerifiedRecord],
) -> Tally {
    let mut tally = Tally::default();
    for game in games {
        let planned = walk.of_episode(run, &game.record().header.episode).filter(|planned| planned.part == part);
        let Some(planned) = planned.filter(|planned| planned.seats.iter().all(|who| pairing.contains(who))) else {
            continue;
        };
        let own: Vec<bool> = planned.seats.iter().map(|&who| who == agent).collect();
        if own.contains(&true) {
            tally.add(points(&own, game.record()));
        }
    }
    tally
}

/// The metrics that a part asks for, numbers and others; of a game that is not a fight also the mean return, which is its result.
fn measured(
    part: &PartSpec,
    fight: bool,
    own: &Rows,
    here: &Rows,
) -> (BTreeMap<String, Measurement>, BTreeMap<String, Value>) {
    let (mut metrics, mut values) = (BTreeMap::new(), BTreeMap::new());
    let result = (!fight).then(|| MetricSpec::plain(MEAN_RETURN.id));
    for ask in part.metrics.iter().chain(&result) {
        // A suite's metrics are checked when it is read.
        let Ok(asked) = MetricQuery::new(ask) else { continue };
        let scope = asked.metric.scope;
        let value = asked.of(if scope == MetricScope::Agent { own } else { here });
        match value {
            Some(Value::Number(measure)) => drop(metrics.insert(ask.to_string(), measure)),
            Some(other) => drop(values.insert(ask.to_string(), other)),
            None => {}
        }
    }
    (metrics, values)
}

/// The mean score of a candidate over the parts of each group that it played. Parts without a score, because their games are
/// not a fight, are left out.
pub fn groups(plan: &Plan, rows: &[PartResult]) -> Vec<GroupScore> {
    let mut out: Vec<GroupScore> = Vec::new();
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
                    None => out.push(GroupScore {
                        group: group.clone(),
                        agent: row.agent.clone(),
                        parts: 1,
                        score: score.value,
                    }),
                }
            }
        }
    }
    out
}

/// The means over parts that the suite asks for.
pub fn summaries(plan: &Plan, rows: &[PartResult]) -> Vec<SummaryScore> {
    let value = |row: &PartResult, metric: &str| match metric {
        SCORE => row.score.map(|score| score.value),
        other => row.metrics.get(other).map(|measure| measure.value),
    };
    let mut out = Vec::new();
    for summary in &plan.suite.summaries {
        let covered = plan.parts.iter().filter(|part| summary.covers(&part.part));
        let values = covered.map(|part| {
            let metric = summary.metric_label(&part.part);
            let own = rows.iter().filter(|row| row.part == part.part.id);
            own.filter_map(|row| Some((row.agent.clone(), value(row, metric.as_deref()?)?))).collect()
        });
        out.extend(summary.means(&values.collect::<Vec<_>>()));
    }
    out
}

/// Why parts are not played, each in a sentence.
pub fn notes(plan: &Plan) -> Vec<String> {
    plan.parts.iter().filter_map(|part| Some(format!("{}: {}", part.part.id, part.short_of()?))).collect()
}

/// A mean over the parts of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupScore {
    /// The group.
    pub group: String,
    /// The candidate.
    pub agent: String,
    /// How many parts.
    pub parts: usize,
    /// Their mean score.
    pub score: f64,
}

/// The row of an agent whose rating is measured and not relative.
fn rated<'s>(scale: &'s Scale, name: &str) -> Option<&'s AgentRow> {
    scale.agents.iter().find(|a| a.name == name && a.anchored && !a.fixed)
}

fn rating(agent: &AgentRow) -> Option<Interval> {
    Some(Interval { value: agent.rating?, low: agent.low?, high: agent.high? })
}

/// Half the width of a rating's interval by which a part may stop ([`stopping_width`]), by part and candidate; absent before
/// the first look, and without a rating.
///
/// # Errors
/// As [`verified`].
pub fn widths(run: &str, plan: &Plan, records: &[Record]) -> anyhow::Result<HashMap<(usize, usize), f64>> {
    let (done, _) = results(run, plan, records);
    // The order of the games plays no part in the rating and its error, and resamples are not needed.
    let options = RatingOptions { resamples: 0, ..RatingOptions::default() };
    let scales = rate(&verified(counted_records(run, &done, records))?, &options);
    let mut out = HashMap::new();
    for (at, part) in plan.parts.iter().enumerate() {
        let Some(scale) = scale_of(&scales, part) else { continue };
        for &a in &part.candidates {
            let agent = rated(scale, &plan.agents[a].name);
            let width = agent.and_then(|agent| stopping_width(agent.error?, agent.blocks));
            out.extend(width.map(|width| ((at, a), width)));
        }
    }
    Ok(out)
}
