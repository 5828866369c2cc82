//! The rating to quote: batch maximum likelihood with some players' ratings held constant.
//!
//! **Model.** Davidson's extension of Bradley-Terry to draws (R. R. Davidson, *JASA* 65, 1970): with strengths
//! `pi = exp(theta)`,
//!
//! ```text
//! P(a wins) = pi_a / D    P(draw) = nu sqrt(pi_a pi_b) / D    P(b wins) = pi_b / D    D = pi_a + pi_b + nu sqrt(pi_a pi_b)
//! ```
//!
//! This module uses Davidson's model rather than Rao-Kupper's, because a rating then depends only on the points of the
//! player (a draw is half a point), and because the likelihood is concave. `nu / (2 + nu)` is the share of draws
//! between equals. This share is a constant of each ladder; it is estimated together with the strengths only for the
//! calibration of the ladder.
//!
//! **Scale.** `rating = 400 / ln 10 * 2 / (2 + nu) * theta`. The factor `2 / (2 + nu)` gives a point the same meaning
//! as in Elo, whatever the share of draws: between near equals the expected score is `1 / (1 + 10^(-d / 400))`. Without
//! the factor, ratings would be about twice as large in games with many draws.
//!
//! **Prior.** Each player whose rating is not fixed gets half a win and half a loss more than it scored, spread over
//! its opponents in proportion to its games. A player that won or lost every game therefore has a finite rating. With
//! one opponent this is Jeffreys' prior.
//!
//! **Intervals.** Percentile bootstrap over pairs. In each resample the prior's half win and half loss are redrawn from
//! Gamma(1/2), so that a player with identical results also has an interval; with one opponent the result is Jeffreys'
//! interval. `nu` keeps its estimate.

use std::collections::HashMap;

use ludex_env::Stream;
use ndarray::{Array1, Array2};
use rayon::prelude::*;
use serde::Serialize;

use super::linear::part;
use super::table::Interval;
use super::{Duel, PlayedGame};

mod error;

/// Default number of resamples. With this number, the ends of an interval differ by about two points between seeds.
pub const RESAMPLES: usize = 10_000;

#[derive(Clone, Debug, PartialEq)]
pub struct Anchored {
    /// Players with a constant rating, each with the rating in Elo points.
    pub fixed: Vec<(usize, f64)>,
    /// Share of draws between players of equal strength, in `0.0..1.0`; `None`: estimated from the games.
    pub draws: Option<f64>,
    /// Number of resamples for the intervals; 0: no intervals.
    pub resamples: usize,
    /// Seed of the resampling.
    pub seed: u64,
}

impl Default for Anchored {
    /// Returns settings with no fixed player, estimated draws, 10,000 resamples and seed 0.
    fn default() -> Self {
        Anchored { fixed: Vec::new(), draws: None, resamples: RESAMPLES, seed: 0 }
    }
}

/// Side of the rating on which the results of a player end, if it lost all comparisons or won all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// All comparisons lost: the rating is below the upper end of its interval.
    Below,
    /// All comparisons won: the rating is above the lower end of its interval.
    Above,
}

impl Bound {
    /// Returns the sign before the number of the bound: `<` or `>`.
    pub fn sign(self) -> &'static str {
        match self {
            Bound::Below => "<",
            Bound::Above => ">",
        }
    }

    /// Returns the word of the bound in tables.
    pub fn name(self) -> &'static str {
        match self {
            Bound::Below => "below",
            Bound::Above => "above",
        }
    }

    /// Returns the bound of each player that lost all its comparisons, or won all of them.
    fn of_players(players: usize, blocks: &[(Vec<Duel>, usize)]) -> Vec<Option<Bound>> {
        let mut scored = vec![(false, false); players];
        for duel in blocks.iter().filter(|(_, times)| *times > 0).flat_map(|(duels, _)| duels) {
            for (player, score) in [(duel.a, duel.score), (duel.b, 1.0 - duel.score)] {
                scored[player].0 |= score > 0.0;
                scored[player].1 |= score < 1.0;
            }
        }
        let bound = |(gained, lost)| match (gained, lost) {
            (false, true) => Some(Bound::Below),
            (true, false) => Some(Bound::Above),
            _ => None,
        };
        scored.into_iter().map(bound).collect()
    }
}

/// Rating of one player.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rating {
    /// Rating in Elo points.
    pub rating: f64,
    /// 95 % interval; `None` for a constant, and without resamples.
    pub interval: Option<Interval>,
    /// Bound, for a player that lost or won all its comparisons. The estimate then depends on the prior.
    pub bound: Option<Bound>,
    /// True if the rating is a constant from the settings, not an estimate.
    pub fixed: bool,
    /// True if a chain of games leads to a fixed player. Otherwise the rating is relative: the mean over all connected
    /// players is 0.
    pub anchored: bool,
    /// Number of blocks with this player; a game without a block is its own block. 0 for a constant.
    pub blocks: usize,
    /// Standard error for stopping rules, in Elo points. One more block, with the variance of the model, is added to
    /// the played blocks, so that a run does not stop too early (see `error.rs`). A relative rating has the error of its
    /// difference from the mean. `None` for a constant, and with fewer than two blocks.
    pub error: Option<f64>,
}

/// Ratings of all players.
#[derive(Clone, Debug, PartialEq)]
pub struct Ratings {
    /// Ratings by player; `None` for a player with neither comparisons nor a constant rating.
    pub players: Vec<Option<Rating>>,
    /// Share of draws between players of equal strength.
    pub draws: f64,
}

/// Rates `players` players from all games in one batch. The order of the games does not matter.
///
/// Games of more than two seats count as the comparisons of [`PlayedGame::duels`].
///
/// # Panics
/// If a game or a setting names a player outside `0..players`.
pub fn anchored(players: usize, games: &[PlayedGame], settings: &Anchored) -> Ratings {
    let mut pairs = HashMap::new();
    let mut blocks: Vec<(Vec<Duel>, usize)> = Vec::new();
    for game in games {
        let at = game.pair.map_or(blocks.len(), |pair| *pairs.entry(pair).or_insert(blocks.len()));
        if at == blocks.len() {
            blocks.push((Vec::new(), 1));
        }
        blocks[at].0.append(&mut game.duels());
    }
    anchored_blocks(players, blocks, settings)
}

/// Rates players like [`anchored`], from the comparisons of each kind of block and the number of such blocks.
///
/// # Panics
/// If a comparison or a setting names a player outside `0..players`.
pub fn anchored_blocks(players: usize, blocks: Vec<(Vec<Duel>, usize)>, settings: &Anchored) -> Ratings {
    let bounds = Bound::of_players(players, &blocks);
    let (mut whole, units) = Problem::new(players, blocks, &settings.fixed);
    whole.load(&whole.count(&units), &|_| (0.5, 0.5));
    let nu = match settings.draws {
        Some(share) => nu_of(share),
        None => whole.best_nu(),
    };
    let mut out = Ratings { players: vec![None; players], draws: nu / (2.0 + nu) };
    for (player, fixed) in whole.fixed.iter().enumerate() {
        let given = |rating| Rating {
            rating,
            interval: None,
            bound: None,
            fixed: true,
            anchored: true,
            blocks: 0,
            error: None,
        };
        out.players[player] = fixed.map(given);
    }
    for part in whole.components(&units) {
        part.rate(nu, settings, &mut out.players);
    }
    for (rating, bound) in out.players.iter_mut().zip(bounds) {
        rating.iter_mut().filter(|rating| !rating.fixed).for_each(|rating| rating.bound = bound);
    }
    out
}

/// Converts the share of draws between players of equal strength to `nu`, the draw parameter of Davidson's model.
fn nu_of(share: f64) -> f64 {
    2.0 * share / (1.0 - share)
}

/// Returns the Elo points per unit of `theta`, the strength in Davidson's model.
fn scale(nu: f64) -> f64 {
    400.0 / std::f64::consts::LN_10 * 2.0 / (2.0 + nu)
}

/// Draws from the Gamma distribution with shape 1/2: half the square of a normal deviate (Box-Muller).
fn gamma_half(rng: &mut Stream) -> f64 {
    let (u, v) = (1.0 - rng.unit(), rng.unit());
    -u.ln() * (std::f64::consts::TAU * v).cos().powi(2)
}

/// Returns a quantile of sorted values, with linear interpolation.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let at = q * (sorted.len() - 1) as f64;
    let (low, part) = (at.floor() as usize, at.fract());
    sorted[low] + part * (sorted[(low + 1).min(sorted.len() - 1)] - sorted[low])
}

/// Results between two players. Counts are fractional because they include the prior.
#[derive(Clone, Debug)]
struct Edge {
    a: usize,
    b: usize,
    wins: f64,
    draws: f64,
    losses: f64,
    /// Share of this edge in all games of `a`, and share in all games of `b`. Zero for a fixed player, which has no
    /// prior.
    share: (f64, f64),
}

/// Group of free players connected by games, with all their games.
struct Component {
    players: Vec<usize>,
    problem: Problem,
    /// Kind of each unit (a pair, or a game without a pair), as an index into [`Problem::kinds`].
    units: Vec<usize>,
}

impl Component {
    fn rate(self, nu: f64, settings: &Anchored, out: &mut [Option<Rating>]) {
        let Component { players, mut problem, units } = self;
        problem.load(&problem.count(&units), &|_| (0.5, 0.5));
        let scale = scale(nu);
        let theta = problem.solve(nu, problem.start(nu));
        let errors = problem.errors(&problem.count(&units), nu, &theta, &players);
        let sample = |problem: &mut Problem, k: usize| {
            let mut rng = Stream::from_text(&format!("ludex.v1:bootstrap:{}:{k}", settings.seed));
            let mut times = vec![0; problem.kinds.len()];
            for _ in 0..units.len() {
                times[units[rng.below(units.len())]] += 1;
            }
            let mut prior = vec![(0.0, 0.0); problem.fixed.len()];
            players.iter().for_each(|&p| prior[p] = (gamma_half(&mut rng), gamma_half(&mut rng)));
            problem.load(&times, &|p| prior[p]);
            let theta = problem.solve(nu, theta.clone());
            players.iter().map(|&p| theta[p] * scale).collect::<Vec<f64>>()
        };
        let samples: Vec<Vec<f64>> =
            (0..settings.resamples).into_par_iter().map_init(|| problem.clone(), sample).collect();
        for (at, &p) in players.iter().enumerate() {
            let rating = theta[p] * scale;
            let interval = (!samples.is_empty()).then(|| {
                let mut all: Vec<f64> = samples.iter().map(|sample| sample[at]).collect();
                all.sort_by(f64::total_cmp);
                Interval { value: rating, low: quantile(&all, 0.025), high: quantile(&all, 0.975) }
            });
            let anchored = problem.group[p].is_some_and(|group| problem.held[group]);
            let (blocks, error) = errors[at];
            let error = error.map(|error| error * scale);
            out[p] = Some(Rating { rating, interval, bound: None, fixed: false, anchored, blocks, error });
        }
    }
}

#[derive(Clone)]
struct Problem {
    fixed: Vec<Option<f64>>,
    edges: Vec<Edge>,
    /// Distinct kinds of units. A unit is a pair, or a game without a pair, and is resampled as a whole. A kind holds
    /// (edge, score of `a`) for each comparison in the unit. There are many units, but few kinds.
    kinds: Vec<Vec<(usize, f64)>>,
    /// Connected group of each player; `None` for a player without games and without a constant rating.
    group: Vec<Option<usize>>,
    /// True for groups with a fixed player.
    held: Vec<bool>,
}

impl Problem {
    /// Builds the estimation problem. Also returns the kind of each unit.
    fn new(players: usize, blocks: Vec<(Vec<Duel>, usize)>, given: &[(usize, f64)]) -> (Self, Vec<usize>) {
        let mut fixed = vec![None; players];
        for &(p, rating) in given {
            fixed[p] = Some(rating);
        }
        let mut edges: Vec<Edge> = Vec::new();
        let mut index = HashMap::new();
        let mut met = vec![0.0; players];
        let mut unit = |(duels, times): (Vec<Duel>, usize)| {
            let edge = |duel: Duel| {
                let (a, b, score) =
                    if duel.a < duel.b { (duel.a, duel.b, duel.score) } else { (duel.b, duel.a, 1.0 - duel.score) };
                let edge = *index.entry((a, b)).or_insert(edges.len());
                if edge == edges.len() {
                    edges.push(Edge { a, b, wins: 0.0, draws: 0.0, losses: 0.0, share: (0.0, 0.0) });
                }
                let games = times as f64;
                edges[edge].share = (edges[edge].share.0 + games, edges[edge].share.1 + games);
                met[a] += games;
                met[b] += games;
                (edge, score)
            };
            (duels.into_iter().map(edge).collect(), times)
        };
        let units = blocks.into_iter().map(&mut unit).collect();
        for e in &mut edges {
            let share = |p: usize, games: f64| if fixed[p].is_some() { 0.0 } else { games / met[p] };
            e.share = (share(e.a, e.share.0), share(e.b, e.share.1));
        }
        let (group, held) = groups(&fixed, &edges);
        let (kinds, units) = kinds(units);
        (Problem { fixed, edges, kinds, group, held }, units)
    }

    /// Counts the units of each kind.
    fn count(&self, units: &[usize]) -> Vec<u32> {
        let mut counts = vec![0; self.kinds.len()];
        units.iter().for_each(|&kind| counts[kind] += 1);
        counts
    }

    /// Splits the problem into components, each with its own games; `units` is the kind of each unit.
    fn components(&self, units: &[usize]) -> Vec<Component> {
        let free = |p: usize| self.fixed[p].is_none();
        // Two players are in one component if games connect them by a path without fixed players.
        let between: Vec<Edge> = self.edges.iter().filter(|e| free(e.a) && free(e.b)).cloned().collect();
        let (mut of, _) = groups(&vec![None; self.fixed.len()], &between);
        let mut count = of.iter().flatten().map(|&c| c + 1).max().unwrap_or(0);
        for p in (0..of.len()).filter(|&p| free(p) && self.group[p].is_some()) {
            if of[p].is_none() {
                of[p] = Some(count);
                count += 1;
            }
        }
        let component_of = |e: &Edge| of[if free(e.a) { e.a } else { e.b }];
        let part = |c: usize| {
            let players: Vec<usize> = (0..of.len()).filter(|&p| free(p) && of[p] == Some(c)).collect();
            let place: Vec<Option<usize>> = self
                .edges
                .iter()
                .scan(0, |next, e| {
                    let own = component_of(e) == Some(c);
                    *next += usize::from(own);
                    Some(own.then(|| *next - 1))
                })
                .collect();
            let own = |kind: &Vec<(usize, f64)>| -> Vec<(usize, f64)> {
                kind.iter().filter_map(|&(edge, score)| Some((place[edge]?, score))).collect()
            };
            let kinds: Vec<Vec<(usize, f64)>> = self.kinds.iter().map(own).collect();
            // Units without games in this component are dropped.
            let units = units.iter().copied().filter(|&kind| !kinds[kind].is_empty()).collect();
            let edges = self.edges.iter().zip(&place).filter(|(_, place)| place.is_some()).map(|(e, _)| e.clone());
            Component { players, problem: Problem { edges: edges.collect(), kinds, ..self.clone() }, units }
        };
        (0..count).map(part).collect()
    }

    /// Sets the results of all edges. Each unit of kind `u` counts `times[u]` times; `prior` returns the additional
    /// wins and losses of a player.
    fn load(&mut self, times: &[u32], prior: &dyn Fn(usize) -> (f64, f64)) {
        for e in &mut self.edges {
            let ((wa, la), (wb, lb)) = (prior(e.a), prior(e.b));
            e.wins = e.share.0 * wa + e.share.1 * lb;
            e.losses = e.share.0 * la + e.share.1 * wb;
            e.draws = 0.0;
        }
        for (kind, &n) in self.kinds.iter().zip(times) {
            for &(edge, score) in kind {
                let e = &mut self.edges[edge];
                let count = match score {
                    s if s > 0.5 => &mut e.wins,
                    s if s < 0.5 => &mut e.losses,
                    _ => &mut e.draws,
                };
                *count += f64::from(n);
            }
        }
    }

    /// Returns the initial strengths: the constants of fixed players, and 0 for free players.
    fn start(&self, nu: f64) -> Vec<f64> {
        self.fixed.iter().map(|f| f.unwrap_or(0.0) / scale(nu)).collect()
    }

    /// Returns the maximum-likelihood estimate of `nu`, by golden-section search over the share of draws between
    /// players of equal strength.
    fn best_nu(&self) -> f64 {
        if self.edges.iter().all(|e| e.draws == 0.0) {
            return 0.0;
        }
        let ratio = (5f64.sqrt() - 1.0) / 2.0;
        let value = |share: f64| {
            let nu = nu_of(share);
            self.likelihood(&self.solve(nu, self.start(nu)), nu)
        };
        let (mut low, mut high) = (0.0, 0.999);
        let (mut x, mut y) = (high - ratio * (high - low), low + ratio * (high - low));
        let (mut fx, mut fy) = (value(x), value(y));
        while high - low > 1e-7 {
            if fx > fy {
                (high, y, fy) = (y, x, fx);
                x = high - ratio * (high - low);
                fx = value(x);
            } else {
                (low, x, fx) = (x, y, fy);
                y = low + ratio * (high - low);
                fy = value(y);
            }
        }
        nu_of((low + high) / 2.0)
    }

    /// Returns the log-likelihood, including the prior's games.
    fn likelihood(&self, theta: &[f64], nu: f64) -> f64 {
        let edge = |e: &Edge| {
            // With t = exp(-|d| / 2): D / max(pi_a, pi_b) = 1 + t^2 + nu t, which cannot overflow.
            let d = theta[e.a] - theta[e.b];
            let t = (-d.abs() / 2.0).exp();
            let whole = (1.0 + t * t + nu * t).ln();
            let drawn = if e.draws > 0.0 { e.draws * (nu.ln() - d.abs() / 2.0) } else { 0.0 };
            let lost = if d > 0.0 { e.losses } else { e.wins };
            drawn - lost * d.abs() - (e.wins + e.draws + e.losses) * whole
        };
        self.edges.iter().map(edge).sum()
    }

    /// Returns the maximum-likelihood strengths for `nu`, by Newton's method. Groups without a fixed player are shifted
    /// to mean 0.
    fn solve(&self, nu: f64, mut theta: Vec<f64>) -> Vec<f64> {
        let mut free: Vec<usize> =
            self.edges.iter().flat_map(|e| [e.a, e.b]).filter(|&p| self.fixed[p].is_none()).collect();
        free.sort_unstable();
        free.dedup();
        let mut place = vec![None; theta.len()];
        for (i, &p) in free.iter().enumerate() {
            place[p] = Some(i);
        }
        let mut best = self.likelihood(&theta, nu);
        for _ in 0..200 {
            let step = self.newton_step(nu, &theta, &place, free.len());
            let longest = step.iter().fold(0.0f64, |m, s| m.max(s.abs()));
            // Far from the maximum, a full Newton step overshoots.
            let mut length = (3.0 / longest).min(1.0);
            loop {
                let mut next = theta.clone();
                free.iter().zip(&step).for_each(|(&p, s)| next[p] += length * s);
                let value = self.likelihood(&next, nu);
                if value >= best || length * longest < 1e-9 {
                    (theta, best) = (next, value);
                    break;
                }
                length /= 2.0;
            }
            if longest < 1e-8 {
                break;
            }
        }
        self.centre(&mut theta, &free);
        theta
    }

    /// Solves `H step = gradient`, where H is the negative second derivative.
    fn newton_step(&self, nu: f64, theta: &[f64], place: &[Option<usize>], n: usize) -> Array1<f64> {
        let (g, mut h) = self.derivatives(nu, theta, place, n);
        factor(&mut h);
        substitute(&h, g)
    }

    /// Returns the gradient of the log-likelihood, and H, its negative second derivative. In a group without a fixed
    /// player only rating differences matter, so H is singular. A tiny value added to the diagonal makes H invertible
    /// without moving the root of the gradient.
    fn derivatives(&self, nu: f64, theta: &[f64], place: &[Option<usize>], n: usize) -> (Array1<f64>, Array2<f64>) {
        let (mut g, mut h) = (Array1::<f64>::zeros(n), Array2::<f64>::zeros((n, n)));
        for e in &self.edges {
            let games = e.wins + e.draws + e.losses;
            let (lead, bend) = of_one(theta[e.a] - theta[e.b], nu);
            let (slope, bend) = (0.5 * (e.wins - e.losses) - games * lead, games * bend);
            for (p, sign) in [(e.a, 1.0), (e.b, -1.0)] {
                if let Some(i) = place[p] {
                    g[i] += sign * slope;
                    h[[i, i]] += bend;
                }
            }
            if let (Some(i), Some(j)) = (place[e.a], place[e.b]) {
                h[[i, j]] -= bend;
                h[[j, i]] -= bend;
            }
        }
        h.diag_mut().mapv_inplace(|x| x + (1e-9 + 1e-9 * x));
        (g, h)
    }

    fn centre(&self, theta: &mut [f64], free: &[usize]) {
        for (group, _) in self.held.iter().enumerate().filter(|(_, held)| !**held) {
            let members: Vec<usize> = free.iter().copied().filter(|&p| self.group[p] == Some(group)).collect();
            if members.is_empty() {
                continue;
            }
            let mean = members.iter().map(|&p| theta[p]).sum::<f64>() / members.len() as f64;
            members.iter().for_each(|&p| theta[p] -= mean);
        }
    }
}

/// Returns the distinct units, and the index of the kind of each unit. `units` are units with their numbers.
fn kinds(units: Vec<(Vec<(usize, f64)>, usize)>) -> (Vec<Vec<(usize, f64)>>, Vec<usize>) {
    let mut known: HashMap<Vec<(usize, u64)>, usize> = HashMap::new();
    let mut kinds = Vec::new();
    let place = |(unit, times): (Vec<(usize, f64)>, usize)| {
        let next = known.len();
        let place = *known.entry(unit.iter().map(|&(edge, score)| (edge, score.to_bits())).collect()).or_insert(next);
        if place == next {
            kinds.push(unit);
        }
        std::iter::repeat_n(place, times)
    };
    let places = units.into_iter().flat_map(place).collect();
    (kinds, places)
}

/// Returns the connected group of each player and, for each group, true if it has a fixed player. All fixed players
/// form one group, because their rating differences are known.
fn groups(fixed: &[Option<f64>], edges: &[Edge]) -> (Vec<Option<usize>>, Vec<bool>) {
    let mut links = vec![Vec::new(); fixed.len()];
    for e in edges {
        links[e.a].push(e.b);
        links[e.b].push(e.a);
    }
    let mut group = vec![None; fixed.len()];
    let mut held = Vec::new();
    let anchors: Vec<usize> = (0..fixed.len()).filter(|&p| fixed[p].is_some()).collect();
    let starts = std::iter::once(anchors).chain((0..fixed.len()).map(|p| vec![p]));
    for mut stack in starts {
        stack.retain(|&p| group[p].is_none() && (fixed[p].is_some() || !links[p].is_empty()));
        if stack.is_empty() {
            continue;
        }
        held.push(fixed[stack[0]].is_some());
        let id = held.len() - 1;
        while let Some(p) = stack.pop() {
            if group[p].is_none() {
                group[p] = Some(id);
                stack.extend(&links[p]);
            }
        }
    }
    (group, held)
}

/// Returns two terms of a game between players whose strengths differ by `d`: half the difference between the first
/// player's expected wins and expected losses, and the term that the game adds to H.
fn of_one(d: f64, nu: f64) -> (f64, f64) {
    let t = (-d.abs() / 2.0).exp();
    let whole = 1.0 + t * t + nu * t;
    let bend = 0.25 * (4.0 * t * t + nu * t * (1.0 + t * t)) / (whole * whole);
    (0.5 * d.signum() * (1.0 - t * t) / whole, bend)
}

/// Computes the Cholesky factor of a symmetric positive definite `h`, in its lower half.
fn factor(h: &mut Array2<f64>) {
    for j in 0..h.nrows() {
        for i in j..h.nrows() {
            let dot = part(h.row(i), ..j).dot(&part(h.row(j), ..j));
            h[[i, j]] =
                if i == j { (h[[j, j]] - dot).max(f64::MIN_POSITIVE).sqrt() } else { (h[[i, j]] - dot) / h[[j, j]] };
        }
    }
}

/// Solves `h x = g` for an `h` that [`factor`] has prepared.
fn substitute(h: &Array2<f64>, mut g: Array1<f64>) -> Array1<f64> {
    let n = g.len();
    for i in 0..n {
        let dot = part(h.row(i), ..i).dot(&part(g.view(), ..i));
        g[i] = (g[i] - dot) / h[[i, i]];
    }
    for i in (0..n).rev() {
        let dot = part(h.column(i), i + 1..).dot(&part(g.view(), i + 1..));
        g[i] = (g[i] - dot) / h[[i, i]];
    }
    g
}

#[cfg(test)]
mod tests;
