//! Metrics. A metric's module contains its formula, unit, source and code.
//!
//! A metric is a function of [`Rows`] and arguments, so the same formula serves records and imported tables. Without
//! data the value is absent, never zero.

use std::collections::BTreeSet;
use std::rc::Rc;

use ludex_env::DynGame;
use ludex_protocol::error::did_you_mean;
use serde::Serialize;

use crate::moments::Moments;
use crate::rating::PlayedGame;
use crate::rating::table::wilson;
use crate::result::EMOTION;
use crate::rows::{COLUMNS, Rows};

pub mod spec;
pub mod value;

mod alpha_rank;
mod anchored;
mod cnstr;
mod completion;
mod correlation;
mod crosstable;
mod csr;
mod degree;
mod distinct;
mod elo;
mod elo_cycles;
mod first_seat;
mod fma;
mod glicko2;
mod illegal;
mod illegal_end;
mod init_win;
mod labels;
mod length;
mod level;
mod loops;
mod mean;
mod mean_over_parts;
mod mirror;
mod moves;
mod mssr;
mod nash_averaging;
mod normalised;
mod nra;
mod obr;
mod orr;
mod plg;
mod points;
mod pss;
mod quantiles;
mod returns;
mod rounds;
mod rvr;
mod score;
mod selection;
mod share;
mod slope;
mod table_value;
mod time;
mod tokens;
mod trueskill;
mod walls;
mod wdl;
mod wdl_cycles;
mod win_graph;
mod wr;

pub use self::illegal::ILLEGAL_RATE;
pub use self::labels::{ANY_LABEL, LABEL, LABELS, NO_LABEL, label_mark};
pub use self::length::LENGTH;
pub use self::mirror::MIRRORED_RETURN;
pub use self::returns::MEAN_RETURN;
pub use self::score::SCORE_RATE;
pub use self::spec::{Args, MetricSpec, ParamDef, Takes};
pub use self::time::TIME_PER_MOVE;
pub use self::value::{Edge, Graph, Matrix, Measurement, Point, Quantiles, Value};
pub use self::walls::WALL_POINTS;

/// Metrics in every ratings report, in the order of the report.
pub const USUAL: &[Metric] =
    &[SCORE_RATE, MEAN_RETURN, MIRRORED_RETURN, WALL_POINTS, LENGTH, ILLEGAL_RATE, TIME_PER_MOVE];

/// All metrics that suites, figures and imported tables may use.
pub const METRICS: &[Metric] = &[
    score::SCORE_RATE,
    returns::MEAN_RETURN,
    mirror::MIRRORED_RETURN,
    walls::WALL_POINTS,
    length::LENGTH,
    moves::MOVES,
    illegal::ILLEGAL_RATE,
    time::TIME_PER_MOVE,
    tokens::TOKENS,
    wdl::WDL,
    wdl_cycles::WDL_CYCLES,
    crosstable::CROSSTABLE,
    elo::ELO,
    elo_cycles::ELO_CYCLES,
    trueskill::TRUESKILL,
    glicko2::GLICKO2,
    anchored::ANCHORED,
    alpha_rank::ALPHA_RANK,
    nash_averaging::NASH_AVERAGING,
    level::LEVEL,
    nra::NRA,
    completion::COMPLETION,
    table_value::VALUE,
    normalised::NORMALISED,
    mean::MEAN,
    mean_over_parts::MEAN_OVER_PARTS,
    share::SHARE,
    distinct::DISTINCT,
    quantiles::QUANTILES,
    points::POINTS,
    correlation::CORRELATION,
    plg::PLG,
    degree::DEGREE,
    loops::LOOPS,
    pss::PSS,
    first_seat::FIRST_SEAT,
    illegal_end::ILLEGAL_END,
    labels::LABELS,
    wr::WR,
    init_win::INIT_WIN,
    orr::ORR,
    csr::CSR,
    slope::SLOPE,
    obr::OBR,
    rvr::RVR,
    cnstr::CNSTR,
    mssr::MSSR,
    fma::FMA,
];

/// Definition of a metric.
#[derive(Clone, Copy)]
pub struct Metric {
    pub id: &'static str,
    pub title: &'static str,
    /// Unit; empty for a plain number.
    pub unit: &'static str,
    /// Number of decimals for display.
    pub digits: usize,
    pub formula: &'static str,
    /// Source of the definition.
    pub source: &'static str,
    pub scope: MetricScope,
    /// Parameters with their defaults.
    pub params: &'static [ParamDef],
    /// True if the metric needs the cycles or the levels of a plan, which records alone do not have.
    pub planned: bool,
    /// Names of the marks that the metric always reads, whatever its arguments.
    pub marks: &'static [&'static str],
    /// Function that checks the arguments together; each single argument is already valid.
    pub check: fn(&Args) -> Result<(), String>,
    /// Function that computes the value; returns `None` without data.
    pub of: fn(&Rows, &Args) -> Option<Value>,
}

/// Subject of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetricScope {
    /// One agent, optionally against a single opponent. Matches between other agents may affect the value.
    Agent,
    /// Ordered pair of agents.
    Pair,
    /// All agents of a part together.
    Pool,
    /// All parts of the suite together.
    Suite,
}

/// Metric with its arguments.
#[derive(Clone)]
pub struct MetricQuery {
    pub metric: &'static Metric,
    pub args: Args,
}

/// Value of a metric, with the part and the agent that it describes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricResult {
    /// Part of the suite; absent for a metric over all parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Agent; absent for a metric over all agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(flatten)]
    pub value: Value,
}

impl Metric {
    /// Default field values: agent scope, three decimals, no unit, no parameters, no plan and no marks.
    const DEFAULT: Metric = Metric {
        id: "",
        title: "",
        unit: "",
        digits: 3,
        formula: "",
        source: "",
        scope: MetricScope::Agent,
        params: &[],
        planned: false,
        marks: &[],
        check: |_| Ok(()),
        of: |_, _| None,
    };

    /// Returns the metric with this id.
    ///
    /// # Errors
    /// Returns an error for an unknown id, with the nearest id and a list of all ids.
    pub fn find(id: &str) -> Result<&'static Metric, String> {
        METRICS.iter().find(|metric| metric.id == id).ok_or_else(|| {
            let ids: Vec<&str> = METRICS.iter().map(|metric| metric.id).collect();
            format!("unknown metric {id:?}{}", did_you_mean(id, &ids))
        })
    }

    /// Computes the value with default arguments. Returns `None` without data, or if the value is not a number.
    pub fn usual(&self, rows: &Rows) -> Option<Measurement> {
        (self.of)(rows, &Args::new(self.params, &Default::default()).ok()?)?.number()
    }
}

impl MetricQuery {
    /// Creates the query for a metric.
    ///
    /// # Errors
    /// Returns an error for an unknown metric, or for arguments that the metric does not accept.
    pub fn new(ask: &MetricSpec) -> Result<MetricQuery, String> {
        let metric = Metric::find(&ask.id)?;
        let args = Args::new(metric.params, &ask.args).map_err(|why| format!("metric {}: {why}", ask.id))?;
        for param in metric.params.iter().filter(|param| param.takes == Takes::Metric) {
            let Some(inner) = args.get(param.name) else { continue };
            MetricQuery::new(&MetricSpec::parse(inner)?)
                .map_err(|why| format!("metric {}: {} = {inner:?}: {why}", ask.id, param.name))?;
        }
        (metric.check)(&args).map_err(|why| format!("metric {}: {why}", ask.id))?;
        Ok(MetricQuery { metric, args })
    }

    /// Parses a query from text.
    ///
    /// # Errors
    /// Same as [`new`](Self::new) and [`MetricSpec::parse`].
    pub fn parse(text: &str) -> Result<MetricQuery, String> {
        MetricQuery::new(&MetricSpec::parse(text)?)
    }

    /// Checks that a game provides the marks named in the arguments.
    ///
    /// # Errors
    /// Returns an error for a mark that the game does not provide, with a list of the game's marks.
    pub fn check_marks(&self, game: &dyn DynGame) -> Result<(), String> {
        let known = known_marks(game);
        for param in self.metric.params {
            let Some(value) = self.args.get(param.name) else { continue };
            match param.takes {
                Takes::Mark if !known.contains(&value) && !COLUMNS.contains(&value) => {
                    let known = [&known[..], COLUMNS].concat();
                    let (id, game, near) = (self.metric.id, &game.spec().game, did_you_mean(value, &known));
                    return Err(format!("metric {id}: {}: expected a mark of {game}, got {value:?}{near}", param.name));
                }
                Takes::Metric => MetricQuery::parse(value)?.check_marks(game)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Computes the value; `None` without data.
    pub fn of(&self, rows: &Rows) -> Option<Value> {
        (self.metric.of)(rows, &self.args)
    }

    /// Computes the value. Returns `None` without data, or if the value is not a number.
    pub fn number(&self, rows: &Rows) -> Option<Measurement> {
        self.of(rows)?.number()
    }

    /// Computes one value for each subject of the metric's scope: each candidate in each part, each part, or the suite.
    pub fn everywhere(&self, rows: &Rows) -> Vec<MetricResult> {
        let mut out = Vec::new();
        let mut put = |part: Option<usize>, agent: Option<usize>, value: Option<Value>| {
            let (part, agent) =
                (part.map(|k| rows.parts()[k].id.clone()), agent.map(|k| rows.agents()[k].name.clone()));
            out.extend(value.map(|value| MetricResult { part, agent, value }));
        };
        if self.metric.scope == MetricScope::Suite {
            put(None, None, self.of(&rows.of_all()));
            return out;
        }
        for part in rows.parts_here() {
            let own = rows.of_all().of_part(part);
            if self.metric.scope == MetricScope::Pool {
                put(Some(part), None, self.of(&own));
                continue;
            }
            for agent in own.candidates_here() {
                put(Some(part), Some(agent), self.of(&own.of_agent(agent)));
            }
        }
        out
    }

    /// Returns the names of the required marks, which the [`Verifier`](crate::Verifier) must collect.
    pub fn marks(&self) -> BTreeSet<String> {
        let mut out: BTreeSet<String> = self.metric.marks.iter().map(|mark| (*mark).to_owned()).collect();
        for param in self.metric.params {
            let Some(value) = self.args.get(param.name) else { continue };
            match param.takes {
                Takes::Mark if !COLUMNS.contains(&value) => out.extend([value.to_owned()]),
                Takes::Metric => out.extend(MetricQuery::parse(value).iter().flat_map(MetricQuery::marks)),
                _ => {}
            }
        }
        out
    }
}

/// Returns the queried agent's rating, or the ratings of all agents if no agent is queried. Ratings use all matches of
/// one part. They are computed together and memoized under `key`, which names the metric and its arguments.
fn rated(rows: &Rows, key: &str, of: impl FnOnce(&Rows) -> Vec<Option<Measurement>>) -> Option<Value> {
    let all = rows.once(key, || {
        let all = rows.of_all();
        // Each part has its own rating scale, so matches of several parts have no common ratings.
        if all.parts_here().len() == 1 { of(&all) } else { Vec::new() }
    });
    match rows.agent() {
        Some(agent) => number(all.get(agent).copied().flatten()),
        None => {
            let named = rows.agents().iter().zip(all.iter()).filter_map(|(agent, m)| Some((agent.name.clone(), (*m)?)));
            Some(Value::Shares(named.collect())).filter(|value| *value != Value::Shares(Vec::new()))
        }
    }
}

/// Returns the number of games per player. Counts only games in which the player is compared with a different player.
fn count_games(players: usize, games: &[PlayedGame]) -> Vec<u64> {
    let mut met = vec![0; players];
    for game in games {
        let mut own: Vec<usize> = game.duels().iter().flat_map(|duel| [duel.a, duel.b]).collect();
        own.sort_unstable();
        own.dedup();
        own.into_iter().for_each(|player| met[player] += 1);
    }
    met
}

/// Returns (agent, number) for each candidate with data. The number is the value of the metric `of`. The result is
/// memoized.
fn of_candidates(rows: &Rows, of: &str) -> Rc<Vec<(usize, f64)>> {
    rows.once(&format!("of candidates: {of}"), || {
        // Parsing cannot fail: the metric was checked when the query that contains it was created.
        let Ok(asked) = MetricQuery::parse(of) else { return Vec::new() };
        let value = |agent: usize| Some((agent, asked.number(&rows.of_agent(agent))?.value));
        rows.candidates_here().into_iter().filter_map(value).collect()
    })
}

/// Returns `hits / n` with Wilson's interval; `None` if `n` is 0.
fn share_of(hits: u64, n: u64) -> Option<Measurement> {
    let i = wilson(hits as f64, n as f64)?;
    Some(Measurement { value: i.value, low: Some(i.low), high: Some(i.high), n })
}

/// Returns the names of all marks available for a game: the game's marks, marks from agents' notes, and labels.
pub fn known_marks(game: &dyn DynGame) -> Vec<&'static str> {
    game.marks_docs().iter().map(|doc| doc.name).chain([EMOTION, LABEL]).collect()
}

/// Wraps a number as a value.
fn number(measure: Option<Measurement>) -> Option<Value> {
    measure.map(Value::Number)
}

/// Returns the mean of `n` numbers with the standard deviation `s`, and the interval `mean +- 1.96 s / sqrt(n)` (normal
/// approximation), clipped to the given range. `None` without numbers; no interval for a single number.
fn mean(of: &Moments, [least, most]: [f64; 2]) -> Option<Measurement> {
    let (value, half) = (of.mean()?, of.half_width());
    let end = |half: Option<f64>| half.map(|half| (value + half).clamp(least.min(value), most.max(value)));
    Some(Measurement { value, low: end(half.map(|h| -h)), high: end(half), n: of.count() })
}

/// Range of nonnegative numbers.
const NOT_NEGATIVE: [f64; 2] = [0.0, f64::INFINITY];

/// Range of all numbers.
const ANY: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

#[cfg(test)]
mod tests;
