//! Results of a run so far: scores, levels, ratings and metrics, computed from its verified records.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ludex_protocol::record::{EndReason, Record, RecordParts};
use ludex_referee::answer_counts::Answers;
use ludex_referee::metric::{MEAN_RETURN, Measurement, MetricQuery, MetricScope, MetricSpec, Value};
use ludex_referee::outcome::is_competitive;
use ludex_referee::rating::anchored::Bound;
use ludex_referee::rating::table::{Interval, Tally, wilson};
use ludex_referee::read::Source;
use ludex_referee::rows::Rows;
use ludex_referee::suite::plan::{MatchScore, Plan, PlannedPart, Results, points};
use ludex_referee::suite::summary::{SCORE, Summary, SummaryTransform};
use ludex_referee::suite::verdict::{Level, level};
use ludex_referee::suite::{PartSpec, Schedule};
use ludex_referee::{VerifiedRecord, Verifier};
use serde::Serialize;

use super::episode::key_of;
use super::metric_rows::observed;
use super::plan_progress::PlanProgress;
use super::results;
use crate::power::stopping_width;
use crate::scale::{AgentRow, RatingOptions, Scale, rate};

/// Results of a candidate in a part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartResult {
    /// Id of the part.
    pub part: String,
    pub game: String,
    pub agent: String,
    /// Wins, draws and losses over all opponents.
    #[serde(flatten)]
    pub tally: Tally,
    /// Share of the points; `None` in non-competitive games ([`is_competitive`]).
    pub score: Option<Interval>,
    /// Results against each opponent.
    pub against: Vec<Against>,
    /// Level on the anchor ladder, if the part requests it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// Rating from the matches of this part, with the anchors' ratings as constants.
    pub rating: Option<Interval>,
    /// Bound of the rating, if the agent lost or won all its games.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
    /// Number of blocks behind the rating.
    pub blocks: usize,
    /// Number of similar blocks needed for a half-width of 30 points.
    pub blocks_for_30: Option<u64>,
    /// Further scalar measurements of the part, by metric.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, Measurement>,
    /// Measurements of the matches that a summary with conditions covers, by summary.
    #[serde(skip)]
    pub selected: BTreeMap<String, Measurement>,
    /// Measurements of the part that are not a single number, such as shares and series.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, Value>,
    /// Verdicts on the replies of a language model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<Answers>,
    /// Number of matches lost because of replies that were not legal moves.
    pub lost_by_answers: u64,
    pub discarded: u64,
    /// Number of matches that do not count because an illegal move ended them.
    pub invalid: u64,
    /// Reason that the part is not played, if it needs more candidates than the run has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Results of a candidate against one opponent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Against {
    pub opponent: String,
    /// Level of an opponent on the ladder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<u32>,
    /// Wins, draws and losses of the candidate.
    #[serde(flatten)]
    pub tally: Tally,
}

/// Returns the records of matches that count. Excludes matches to be repeated, and invalid matches, which an illegal
/// move ended.
pub fn counted_records<'r>(run: &str, done: &Results, records: &'r [Record]) -> Vec<&'r Record> {
    of_plan(run, done, records, |done| matches!(done, MatchScore::Points(_)))
}

/// Returns the records that count and the records of invalid matches: the input of [`rows`].
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

/// Verifies records.
///
/// # Errors
/// Returns an error for a record that fails verification: the program has a bug, or the file was changed.
pub fn verified<'r>(records: impl IntoIterator<Item = &'r Record>) -> anyhow::Result<Vec<VerifiedRecord>> {
    verified_with(records, BTreeSet::new())
}

/// Verifies records and collects the marks named in `marks`.
///
/// # Errors
/// Same as [`verified`].
pub fn verified_with<'r>(
    records: impl IntoIterator<Item = &'r Record>,
    marks: BTreeSet<String>,
) -> anyhow::Result<Vec<VerifiedRecord>> {
    let verifier = Verifier::new(ludex_games::builtin()).with_marks(marks);
    let source = Source { file: "episodes.jsonl".into(), line: 0 };
    let check = |record: &Record| {
        let parts = RecordParts::parse(&record.to_line()?)?;
        verifier.verify(&parts, source.clone()).map_err(|fault| anyhow::anyhow!("{}: {fault}", record.header.episode))
    };
    records.into_iter().map(check).collect()
}

/// Returns the ids of a plan's parts.
pub fn ids(plan: &Plan) -> Vec<&str> {
    plan.parts.iter().map(|part| part.part.id.as_str()).collect()
}

/// Returns the scale of a part; `None` for a part that sweeps parameters, because its games have different scales.
fn scale_of<'s>(scales: &'s [Scale], part: &PlannedPart) -> Option<&'s Scale> {
    scales
        .iter()
        .filter(|_| part.games.len() == 1)
        .find(|s| s.string == part.game.spec().string && s.part.as_deref() == Some(&part.part.id))
}

/// Returns one row for each part and candidate of a run, from its counted and invalid matches
/// ([`counting_or_invalid`]).
pub fn rows(run: &str, plan: &Plan, done: &Results, mut games: Vec<VerifiedRecord>) -> Vec<PartResult> {
    let walk = PlanProgress::new(plan, &ids(plan), done, &[]);
    walk.put_in_order(run, &mut games);
    let scales = rate(&counted_games(run, done, &games), &RatingOptions::default());
    rows_on(&scales, run, plan, done, &walk, &games)
}

/// Returns the games that count.
fn counted_games<'g>(run: &str, done: &Results, games: &'g [VerifiedRecord]) -> Vec<&'g VerifiedRecord> {
    let counts = |game: &&VerifiedRecord| {
        let key = key_of(run, &game.record().header.episode).map(|(key, _)| key);
        key.is_some_and(|key| matches!(done.get(key), Some(MatchScore::Points(_))))
    };
    games.iter().filter(counts).collect()
}

/// Returns the rows of [`rows`] for games that are in plan order, with ratings from `scales`.
pub fn rows_on(
    scales: &[Scale],
    run: &str,
    plan: &Plan,
    done: &Results,
    walk: &PlanProgress,
    games: &[VerifiedRecord],
) -> Vec<PartResult> {
    let counted = counted_games(run, done, games);
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
            let selected = selected(plan, &part.part, &own);
            let mut row = PartResult {
                part: part.part.id.clone(),
                game: string.clone(),
                agent: name.clone(),
                tally: Tally::default(),
                score: None,
                against: Vec::new(),
                level: level(part, a, done),
                rating: rated.and_then(rating),
                bound: rated.and_then(|agent| agent.bound),
                blocks: rated.map_or(0, |agent| agent.blocks),
                blocks_for_30: rated.and_then(|agent| agent.blocks_for_30),
                metrics,
                selected,
                values,
                answers: Some(answers).filter(|answers| answers.total() > 0),
                lost_by_answers,
                discarded: 0,
                invalid: 0,
                note: part.short_of(),
            };
            for (pairing, level) in part.pairings() {
                let Some(place) = pairing.iter().position(|&who| who == a) else { continue };
                // With `against`, all agents of a pairing except the first are opponents, which are not evaluated.
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

/// Returns the result of an agent in the blocks of a pairing with more than two agents. In each match, the agent's
/// return is compared with the mean return of the other agents.
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

/// Computes the metrics that a part requests and, for non-competitive games, the mean return, which is their result.
fn measured(
    part: &PartSpec,
    fight: bool,
    own: &Rows,
    here: &Rows,
) -> (BTreeMap<String, Measurement>, BTreeMap<String, Value>) {
    let (mut metrics, mut values) = (BTreeMap::new(), BTreeMap::new());
    let result = (!fight).then(|| MetricSpec::plain(MEAN_RETURN.id));
    for ask in part.metrics.iter().chain(&result) {
        // The metric is valid: metrics of a suite are checked when the suite is parsed.
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

/// Computes the metrics of the summaries that cover only some matches of a part, by summary.
fn selected(plan: &Plan, part: &PartSpec, own: &Rows) -> BTreeMap<String, Measurement> {
    let value = |summary: &Summary| {
        let label = summary.metric_label(part)?;
        let ask = part.metrics.iter().find(|ask| ask.to_string() == label)?;
        match MetricQuery::new(ask).ok()?.of(&summary.select.of(own))? {
            Value::Number(measure) => Some((summary.id.clone(), measure)),
            _ => None,
        }
    };
    let summaries = plan.suite.summaries.iter().filter(|summary| !summary.select.is_empty() && summary.covers(part));
    summaries.filter_map(value).collect()
}

/// Returns a candidate's mean score in each group of parts, over the parts that the candidate played. Parts of
/// non-competitive games have no score and are skipped.
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

/// Returns the means over parts that the suite requests.
pub fn summaries(plan: &Plan, rows: &[PartResult]) -> Vec<SummaryScore> {
    let mut out = Vec::new();
    for summary in &plan.suite.summaries {
        let value = |row: &PartResult, metric: &str| match metric {
            _ if !summary.select.is_empty() => row.selected.get(&summary.id).map(|measure| measure.value),
            SCORE => row.score.map(|score| score.value),
            other => row.metrics.get(other).map(|measure| measure.value),
        };
        let covered = plan.parts.iter().filter(|part| summary.covers(&part.part));
        let values = covered.map(|part| {
            let metric = summary.metric_label(&part.part);
            let own = rows.iter().filter(|row| row.part == part.part.id);
            own.filter_map(|row| Some((row.agent.clone(), value(row, metric.as_deref()?)?))).collect()
        });
        out.extend(means(summary, &values.collect::<Vec<_>>()));
    }
    out
}

/// Computes the means of all agents, in the order of their first appearance. `values` holds the values of each covered
/// part, by agent. Parts in which an agent has no value are excluded from the agent's mean.
fn means(summary: &Summary, values: &[Vec<(String, f64)>]) -> Vec<SummaryScore> {
    let mut out: Vec<SummaryScore> = Vec::new();
    for part in values {
        let best = part.iter().map(|(_, value)| *value).fold(f64::NEG_INFINITY, f64::max);
        if summary.form == SummaryTransform::PercentOfBest && best <= 0.0 {
            continue;
        }
        for (agent, value) in part {
            let value = if summary.form == SummaryTransform::PercentOfBest { 100.0 * value / best } else { *value };
            match out.iter_mut().find(|score| score.agent == *agent) {
                Some(score) => {
                    score.parts += 1;
                    score.value += (value - score.value) / score.parts as f64;
                }
                None => out.push(SummaryScore { summary: summary.id.clone(), agent: agent.clone(), parts: 1, value }),
            }
        }
    }
    out
}

/// Returns the reasons that parts are not played, one sentence each.
pub fn notes(plan: &Plan) -> Vec<String> {
    plan.parts.iter().filter_map(|part| Some(format!("{}: {}", part.part.id, part.short_of()?))).collect()
}

/// Mean of a metric over parts, for one agent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SummaryScore {
    /// Id of the [`Summary`].
    pub summary: String,
    pub agent: String,
    /// Number of parts in the mean.
    pub parts: usize,
    pub value: f64,
}

/// Mean over the parts of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupScore {
    pub group: String,
    pub agent: String,
    pub parts: usize,
    /// Mean score of the parts.
    pub score: f64,
}

/// Returns the row of an agent; `None` if its rating is a constant or relative.
fn rated<'s>(scale: &'s Scale, name: &str) -> Option<&'s AgentRow> {
    scale.agents.iter().find(|a| a.name == name && a.anchored && !a.fixed)
}

fn rating(agent: &AgentRow) -> Option<Interval> {
    Some(Interval { value: agent.rating?, low: agent.low?, high: agent.high? })
}

/// Returns the half width of the rating interval that decides if a part may stop ([`stopping_width`]), by part and
/// candidate. Absent before the first computation, and for candidates without a rating.
///
/// # Errors
/// Same as [`verified`].
pub fn widths(run: &str, plan: &Plan, records: &[Record]) -> anyhow::Result<HashMap<(usize, usize), f64>> {
    let (done, _) = results(run, plan, records);
    // Rating and error do not depend on the order of the games, and no resampling is needed.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(more: &str) -> Summary {
        toml::from_str(&format!("id = \"s\"\nmetric = \"score\"\n{more}")).unwrap()
    }

    fn values() -> Vec<Vec<(String, f64)>> {
        let part = |all: &[(&str, f64)]| all.iter().map(|(agent, value)| ((*agent).to_owned(), *value)).collect();
        vec![
            part(&[("a", 0.5), ("b", 0.25)]),
            part(&[("b", 8.0), ("a", 2.0)]),
            part(&[("a", -1.0), ("b", -2.0)]),
            part(&[("b", 3.0)]),
        ]
    }

    #[test]
    fn mean_excludes_parts_without_a_value() {
        let means = means(&summary(""), &values());
        let found: Vec<(&str, usize, f64)> = means.iter().map(|m| (m.agent.as_str(), m.parts, m.value)).collect();
        // a: (0.5 + 2 - 1) / 3. b: (0.25 + 8 - 2 + 3) / 4.
        assert_eq!(found, [("a", 3, 0.5), ("b", 4, 2.3125)]);
    }

    #[test]
    fn summary_averages_percentages_of_the_best_agent() {
        let means = means(&summary("form = \"percent_of_best\""), &values());
        let found: Vec<(&str, usize, f64)> = means.iter().map(|m| (m.agent.as_str(), m.parts, m.value)).collect();
        // a: (100 + 25) / 2. b: (50 + 100 + 100) / 3. The part whose best is below zero is excluded.
        assert_eq!((found[0], found[1].0, found[1].1), (("a", 2, 62.5), "b", 3));
        assert!((found[1].2 - 250.0 / 3.0).abs() < 1e-12);
    }
}
