//! Rank points per wall (hand), in matches with as many entrants as the game has seats.

use std::collections::{BTreeMap, BTreeSet};

use super::{Args, Measurement, Metric, Value};
use crate::rows::Rows;

/// Sum of an entrant's points over all walls.
///
/// A wall is one hand of the matches on one seed. In these matches the entrants change seats, and each entrant's scores
/// in the hand are summed. Of n entrants, the one with the highest sum gets n points, the next n - 1, and so on to 1.
/// Entrants with equal sums share the mean of their points. Blocks (the matches on one seed) are excluded if an agent
/// had two seats, if the entrants differ between matches, or if a match ended before its last hand. Games whose marks
/// do not report the scores of hands are excluded too.
pub const WALL_POINTS: Metric = Metric {
    id: "wall_points",
    title: "Points for walls",
    unit: "points",
    digits: 1,
    formula: "sum over walls of n + 1 - place; place is the rank of the entrant's score in the hand, summed over the matches of the block; \
              equal sums share the mean of their places",
    source: "the contest of International mahjong at IJCAI 2020: 4, 3, 2 and 1 points for a wall over 24 seatings",
    of: wall_points,
    ..Metric::DEFAULT
};

/// Sums of the scores in a block, by hand and entrant.
#[derive(Default)]
struct Block<'a> {
    own: Option<&'a str>,
    entrants: BTreeSet<&'a str>,
    hands: Vec<BTreeMap<&'a str, f64>>,
    uneven: bool,
}

fn wall_points(rows: &Rows, _: &Args) -> Option<Value> {
    let mut blocks: BTreeMap<(usize, &str), Block> = BTreeMap::new();
    for sample in &rows.samples() {
        let (game, own) = (sample.game, sample.own());
        let tells = rows.part_of(game).game.as_ref().is_some_and(|game| game.info().hand_scores);
        let Some(pair) = game.block.filter(|_| tells) else { continue };
        let entrants: BTreeSet<&str> = game.seats.iter().map(|seat| seat.name.as_str()).collect();
        let block = blocks.entry((game.part, pair)).or_default();
        let (first, hands) = (block.own.is_none(), own.hand_scores.len());
        block.uneven |= entrants.len() < game.seats.len() || hands == 0;
        block.uneven |= !first && (block.entrants != entrants || block.hands.len() != hands);
        (block.own, block.entrants) = (Some(own.name.as_str()), entrants);
        for seat in game.seats {
            for (hand, score) in seat.hand_scores.iter().enumerate() {
                block.hands.resize_with(block.hands.len().max(hand + 1), BTreeMap::new);
                *block.hands[hand].entry(seat.name.as_str()).or_default() += score;
            }
        }
    }
    let (mut sum, mut walls) = (0.0, 0);
    for block in blocks.values().filter(|block| !block.uneven) {
        for hand in &block.hands {
            let Some(own) = block.own.and_then(|own| hand.get(own)) else { continue };
            sum += place_points(*own, hand.values().copied());
            walls += 1;
        }
    }
    (walls > 0).then_some(Value::Number(Measurement::plain(sum, walls)))
}

/// Returns the rank points of an entrant with the sum `own`: 1, plus 1 for each lower sum, plus 1/2 for each equal sum
/// of another entrant.
fn place_points(own: f64, all: impl Iterator<Item = f64>) -> f64 {
    let (mut behind, mut level) = (0.0, 0.0);
    for other in all {
        behind += f64::from(u8::from(other < own));
        level += f64::from(u8::from(other == own));
    }
    1.0 + behind + (level - 1.0) / 2.0
}

#[cfg(test)]
mod tests {
    use super::place_points;

    #[test]
    fn seats_with_equal_scores_share_the_mean_of_place_points() {
        let points = |scores: [f64; 4]| scores.map(|own| place_points(own, scores.into_iter()));
        assert_eq!(points([30.0, -8.0, 2.0, -24.0]), [4.0, 2.0, 3.0, 1.0]);
        assert_eq!(points([0.0; 4]), [2.5; 4]);
        assert_eq!(points([5.0, 5.0, -5.0, -5.0]), [3.5, 3.5, 1.5, 1.5]);
        assert_eq!(points([9.0, 1.0, 1.0, 1.0]), [4.0, 2.0, 2.0, 2.0]);
    }
}
