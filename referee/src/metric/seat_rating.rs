//! Ratings of an agent by seat.

use super::{Args, Measurement, Metric, MetricScope, Value};
use crate::rating::PlayedGame;
use crate::rating::anchored::{Anchored, anchored};
use crate::rows::Rows;

/// Rating of each (agent, seat) pair as its own player, from all matches of the part at once. The ratings are relative,
/// with the mean 0 over all pairs.
///
/// Unit: Elo points. Source: R. R. Davidson, *JASA* 65, 1970.
pub const SEAT_RATING: Metric = Metric {
    id: "seat_rating",
    title: "Rating by seat",
    unit: "Elo points",
    digits: 0,
    formula: "Davidson's model with each (agent, seat) as a player of its own, the mean of all being 0",
    source: "R. R. Davidson, JASA 65 (1970)",
    scope: MetricScope::Agent,
    params: &[],
    marks: &[],
    of: seat_rating,
};

fn seat_rating(rows: &Rows, _: &Args) -> Option<Value> {
    let agent = rows.agent()?;
    let all = rows.once("seat_rating", || {
        let all = rows.of_all();
        if all.parts_here().len() == 1 { ratings(&all) } else { Vec::new() }
    });
    let own = all.get(agent)?;
    let spec = rows.matches().find_map(|game| rows.part_of(game).spec());
    let named = own.iter().enumerate().filter_map(|(seat, measure)| {
        let name = spec.and_then(|spec| spec.seats.get(seat).cloned()).unwrap_or_else(|| format!("seat {seat}"));
        Some((name, (*measure)?))
    });
    Some(Value::Shares(named.collect())).filter(|value| *value != Value::Shares(Vec::new()))
}

/// Returns the ratings by agent and seat.
fn ratings(rows: &Rows) -> Vec<Vec<Option<Measurement>>> {
    let games = rows.games();
    let seats = games.iter().map(|game| game.seats.len()).max().unwrap_or(0);
    let own = |game: PlayedGame| {
        let players = game.seats.iter().enumerate().map(|(seat, agent)| agent * seats + seat).collect();
        PlayedGame { seats: players, ..game }
    };
    let games: Vec<PlayedGame> = games.into_iter().map(own).collect();
    let settings = Anchored { resamples: 0, draws: Some(0.0), ..Anchored::default() };
    let all = anchored(rows.agents().len() * seats, &games, &settings).players;
    let measure = |rating: &Option<crate::rating::anchored::Rating>| {
        rating.map(|r| Measurement::plain(r.rating, r.blocks as u64))
    };
    all.chunks(seats.max(1)).map(|own| own.iter().map(measure).collect()).collect()
}
