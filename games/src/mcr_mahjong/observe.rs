//! Observations of each seat: moves, successful claims, draws, and finished hands.

use ludex_env::game::{Action, EventView, Mover, Viewer};
use serde_json::{Value, json};

use super::hand::MeldKind;
use super::ids::{self, Doing};
use super::state::{FinishedHand, Outcome, Phase, SEATS, State};
use super::tiles::{Tile, list, name, names};
use super::{McrMahjong, WINDS, owner};

impl McrMahjong {
    /// Returns the part of an action that `who` sees. A tile of a first hand is visible to its owner only, and the rest
    /// of the walls to no seat. The wind, discards and promoted kongs are public. A concealed kong is public without
    /// its tile. A reply to an offer is private.
    pub(super) fn observe_action(&self, before: &State, who: Viewer, by: Mover, a: Action) -> EventView {
        let all = |text: String| EventView { action: Some(a), text: Some(text) };
        let seat = match by {
            Mover::Chance if usize::from(before.dealt) >= self.tiles() => {
                let wind = WINDS[a as usize % SEATS];
                return all(format!("the prevalent wind of hand {} is {wind}", before.hand_number + 1));
            }
            Mover::Chance => {
                let own = self.owner(before.dealt.into()).filter(|_| before.phase == Phase::Deal);
                let mine = own.is_some() && own == owner(who);
                return if mine { all(format!("you are dealt {}", name(a as Tile))) } else { EventView::default() };
            }
            Mover::Seat(seat) => seat,
        };
        let mine = owner(who) == Some(seat);
        let offer = matches!(before.phase, Phase::Claim | Phase::Kong);
        let text = ids::text(a, offer.then_some(before.tile));
        match ids::reading(a) {
            _ if mine => all(text),
            _ if offer => EventView::default(),
            Doing::Gang(_) => EventView { action: None, text: Some("GANG".to_owned()) },
            _ => all(text),
        }
    }

    /// Returns the tiles drawn in the last move, in order.
    fn fresh(&self, s: &State) -> Vec<Tile> {
        let n = usize::from(s.fresh_draws);
        let from_back = if s.fresh_back { n } else { n.saturating_sub(1) };
        let mut all: Vec<Tile> = Vec::new();
        if self.common() && n > 1 {
            if !s.fresh_back {
                all.extend(s.wall.get(usize::from(s.taken[0]).wrapping_sub(1)));
            }
            let first = usize::from(s.taken[1]).saturating_sub(from_back);
            let back = (first..usize::from(s.taken[1])).map(|k| (self.tiles() - 1).wrapping_sub(k));
            all.extend(back.filter_map(|at| s.wall.get(at)));
        } else {
            all.push(s.tile);
        }
        all
    }

    pub(super) fn revealed_tiles(&self, s: &State, who: Viewer) -> Vec<(String, Value)> {
        let mut all = Vec::new();
        let own = owner(who);
        let seat = usize::from(s.seat);
        if (s.phase == Phase::Discard || s.fresh_kong)
            && let Some(laid) = s.melds(seat).last().filter(|l| l.meld.kind != MeldKind::Angang)
        {
            let offer = s.discards_before + 1 + u16::from(laid.discard);
            let word = match laid.meld.kind {
                MeldKind::Chi => "CHI",
                MeldKind::Peng => "PENG",
                _ => "GANG",
            };
            let text = format!("offer {offer}: {} {word} {}", WINDS[seat], name(laid.meld.tile));
            all.push((text, json!({ "offer": offer, "seat": seat, "claim": word, "tile": name(laid.meld.tile) })));
        }
        if s.fresh_deal && self.params.flowers && s.phase == Phase::Turn {
            let there = (0..SEATS).map(|p| super::view::flowers(s.flowers[p]).into_iter().map(String::from).collect());
            let flowers: Vec<Vec<String>> = there.collect();
            let text = format!("hand {}: flowers are laid open", s.hand_number + 1);
            all.push((text, json!({ "flowers": flowers })));
            if let Some(p) = own {
                let mut hand = s.hands[p];
                if p == seat {
                    hand[usize::from(s.tile)] = hand[usize::from(s.tile)].saturating_sub(1);
                }
                let text = format!("hand {}: you hold {}", s.hand_number + 1, names(list(&hand)));
                all.push((text, json!({ "hand": list(&hand).map(name).collect::<Vec<_>>() })));
            }
        }
        if s.phase == Phase::Turn {
            let tiles = self.fresh(s);
            for (k, &tile) in tiles.iter().enumerate() {
                let number = usize::from(s.draws) + k + 1 - tiles.len();
                let last = k + 1 == tiles.len();
                let known = if own == Some(seat) || !last { format!(" {}", name(tile)) } else { String::new() };
                let mut data = json!({ "draw": number, "seat": seat });
                if !known.is_empty() {
                    data["tile"] = name(tile).into();
                }
                all.push((format!("draw {number}: {}{known}", WINDS[seat]), data));
            }
        }
        let ended = s.phase == Phase::Over || s.phase == Phase::Deal && s.dealt == 0;
        if let Some(done) = s.done.last().filter(|_| ended) {
            all.push(self.ending(s, done));
        }
        all
    }

    /// Returns the public text and data of a finished hand.
    fn ending(&self, s: &State, done: &FinishedHand) -> (String, Value) {
        let seat = |p: u8| WINDS.get(usize::from(p)).copied().unwrap_or("nobody");
        let result = self.result(done, None);
        let hand = s.done.len();
        let how = match done.outcome {
            Outcome::Drawn => format!("{} wins after draw {}", seat(done.winner), s.draws),
            Outcome::False => format!("{} says HU in error", seat(done.winner)),
            _ => {
                let from = match done.outcome {
                    Outcome::SelfDraw => "with the drawn".to_owned(),
                    Outcome::Robbed => format!("offer {}: HU, robs {} of", done.offer, seat(done.from)),
                    _ => format!("offer {}: HU with {}'s", done.offer, seat(done.from)),
                };
                let fan = |(points, count, name): &(u32, u8, String)| {
                    let times = if *count > 1 { format!(" x {count}") } else { String::new() };
                    format!("{name} {points}{times}")
                };
                let fans: Vec<String> = result.fans.iter().map(fan).collect();
                let (winner, tile) = (seat(done.winner), name(done.tile));
                format!("{winner} {from} {tile}: {} points ({})", done.points, fans.join(", "))
            }
        };
        let mut data = json!(result);
        data["hand_number"] = (hand - 1).into();
        data["flowers"] = json!(s.flowers.map(super::view::flowers));
        (format!("hand {hand}: {how}"), data)
    }
}
