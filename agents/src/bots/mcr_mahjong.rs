//! Bots of international mahjong that go for the lowest shanten: one that claims nothing, and one that counts useful tiles.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Instant;

use ludex_env::games::mcr_mahjong::ids::{self, Doing};
use ludex_env::games::mcr_mahjong::shanten::shanten;
use ludex_env::games::mcr_mahjong::tiles::{self, Counts, KINDS, Tile};
use ludex_env::games::mcr_mahjong::{Errors, Params, View, unseen};
use ludex_env::{Action, Ask, GameRef};
use ludex_protocol::Refusal;

use crate::agent::{Agent, Answer};
use crate::error::AgentError;
use crate::fit::{params, plays_only, view};
use crate::refusal::does_not_play;
use crate::spec::{AgentEntry, AgentSpec};

const GAME: &str = "mcr_mahjong";

pub(crate) const BOTS: &[AgentEntry] = &[
    AgentEntry::new("lowest_shanten", "mcr_mahjong: discards for the lowest shanten, and claims nothing but HU", build),
    AgentEntry::new(
        "most_useful",
        "mcr_mahjong: lowest shanten with the most useful tiles unseen; claims what lowers its shanten",
        build,
    ),
];

fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    plays_only(GAME, spec, game)?;
    if params::<Params>(game)?.errors == Errors::Botzone {
        let why = "it says HU wherever it is legal, and there a false one is";
        return Err(does_not_play(spec.name(), &game.spec().string, why, "it plays mcr_mahjong with errors=refuse"));
    }
    Ok(Arc::new(ShantenBot { counts: spec.name() == "most_useful" }))
}

struct ShantenBot {
    /// Whether it counts useful tiles and claims.
    counts: bool,
}

/// A hand after the best discard: its shanten, useful tiles that are unseen (turned round, so that less is better), the discard.
type Best = (i8, Reverse<u32>, Tile);

impl ShantenBot {
    /// The best discard of a hand of 3n + 2 tiles.
    fn best(&self, hand: &Counts, melds: usize, unseen: &Counts) -> Option<Best> {
        let after = |t: Tile| {
            let mut left = *hand;
            left[usize::from(t)] -= 1;
            let s = shanten(&left, melds);
            let useful = s.useful.iter().map(|t| u32::from(unseen[usize::from(t)])).sum();
            (s.number, Reverse(if self.counts { useful } else { 0 }), t)
        };
        tiles::kinds(hand).iter().map(after).min()
    }

    /// The claim that lowers the shanten most, if one does.
    fn claim(&self, legal: &[Action], offer: Tile, hand: &Counts, melds: usize, unseen: &Counts) -> Option<Action> {
        let now = shanten(hand, melds).number;
        let after = |&a: &Action| {
            let mut left = *hand;
            let mut take = |t: Tile, n: u8| left[usize::from(t)] = left[usize::from(t)].saturating_sub(n);
            match ids::reading(a) {
                Doing::Peng => take(offer, 2),
                Doing::Chi(place) => {
                    let middle = ids::middle(offer, place)?;
                    (middle - 1..=middle + 1).filter(|&t| t != offer).for_each(|t| take(t, 1));
                }
                _ => return None,
            }
            let (number, useful, _) = self.best(&left, melds + 1, unseen)?;
            (number < now).then_some((number, useful, a))
        };
        legal.iter().filter_map(after).min().map(|best| best.2)
    }
}

impl Agent for ShantenBot {
    fn act(&self, ask: &Ask<'_>, _deadline: Option<Instant>) -> Result<Answer, AgentError> {
        let seen: View = view(ask)?;
        let first =
            ask.legal.first().copied().ok_or_else(|| AgentError::failed("there is no action to choose from"))?;
        if ask.legal.contains(&ids::HU) {
            return Ok(Answer::id(ids::HU));
        }
        let hand = tiles::counts(seen.hand.iter().map(|kind| kind.0));
        let melds = seen.melds.get(ask.seat).map_or(0, |m| m.len().min(4));
        let unseen = unseen(&seen);
        let choice = match &seen.offer {
            Some(offer) if self.counts && !offer.kong && usize::from(offer.tile.0) < KINDS => {
                self.claim(ask.legal, offer.tile.0, &hand, melds, &unseen)
            }
            Some(_) => None,
            None => self.best(&hand, melds, &unseen).map(|best| ids::PLAY + Action::from(best.2)),
        };
        let legal = choice.filter(|a| ask.legal.binary_search(a).is_ok());
        Ok(Answer::id(legal.unwrap_or(first)))
    }
}
