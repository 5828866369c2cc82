//! Anchored rating.

use std::collections::BTreeMap;

use ludex_env::anchor_ladder;

use super::{Args, Measurement, Metric, ParamDef, Takes, Value, rated};
use crate::rating::anchored::{Anchored, anchored as anchored_of};
use crate::rows::{Rows, rung};

/// Main rating of an agent. All matches of the part are rated in one batch, with constant ratings for the anchors of
/// the game's ladder.
pub const ANCHORED: Metric = Metric {
    id: "anchored",
    title: "Anchored rating",
    unit: "Elo points",
    digits: 0,
    formula: "Davidson's model fitted to all matches of the part; constant ratings for anchors; prior of half a win and half a loss; percentile bootstrap over blocks; a bound, the end of the interval, for an agent that lost or won all its games",
    source: "R. R. Davidson, JASA 65 (1970); docs/ratings.md",
    params: &[
        ParamDef::new("resamples", "1000", Takes::Whole, "number of resamples for the interval"),
        ParamDef::new("seed", "0", Takes::Whole, "seed of the resampling"),
        ParamDef::new(
            "fixed",
            "none",
            Takes::Text,
            "constant ratings, NAME=RATING separated by commas; none: the anchors of the game's ladder",
        ),
    ],
    of: anchored,
    ..Metric::DEFAULT
};

fn anchored(rows: &Rows, args: &Args) -> Option<Value> {
    rated(rows, &format!("anchored {args}"), |rows| {
        let fixed = match args.get("fixed") {
            Some(given) => {
                let named = given.split(',').filter_map(|one| {
                    let (name, rating) = one.rsplit_once('=')?;
                    Some((rows.agent_index(name.trim())?, rating.trim().parse().ok()?))
                });
                named.collect()
            }
            None => rungs(rows),
        };
        let game = rows.matches().find_map(|game| rows.part_of(game).game.clone());
        let draws = game.map(|game| anchor_ladder::draws(game.info().page, &game.spec().string));
        let (resamples, seed) = (args.whole("resamples") as usize, args.whole("seed"));
        let ratings = anchored_of(rows.agents().len(), &rows.games(), &Anchored { fixed, draws, resamples, seed });
        let here = rows.agents_here();
        let measure = |(agent, rating): (usize, Option<crate::rating::anchored::Rating>)| {
            let rating = rating.filter(|_| here.contains(&agent))?;
            let n = rating.blocks as u64;
            Some(match rating.interval {
                Some(interval) => Measurement::of_interval(interval, rating.bound, n),
                None => Measurement::plain(rating.rating, n),
            })
        };
        ratings.players.into_iter().enumerate().map(measure).collect()
    })
}

/// Returns the agents with a constant rating, each with this rating. They are the agents that are fixed in `rows`, and
/// the anchors of the game's ladder, which are recognized by their specs.
fn rungs(rows: &Rows) -> Vec<(usize, f64)> {
    let mut fixed: BTreeMap<usize, f64> = rows.fixed().iter().copied().collect();
    for game in rows.matches() {
        let Some(spec) = rows.part_of(game).spec() else { continue };
        for (&player, seat) in game.players.iter().zip(game.seats) {
            if let (false, Some(agent)) = (fixed.contains_key(&player), &seat.spec)
                && let Some(rating) = rung(spec, agent)
            {
                fixed.insert(player, rating);
            }
        }
    }
    fixed.into_iter().collect()
}
