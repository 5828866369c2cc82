//! Rule-based players, after Osawa (2015) and Walton-Rivers et al. (2017). They take hints literally, without
//! conventions.

use ludex_env::Stream;

use super::table::{BotAction, HanabiTable, HintTarget, surely};

/// Rule that returns an action, or `None` if it does not apply.
type Rule = fn(&HanabiTable, &mut Stream) -> Option<BotAction>;

/// Osawa's internal-state player: remembers the hints about its own cards.
pub(super) const INTERNAL: &[Rule] = &[play_safe, discard_useless, tell_anything, discard_any, play_likely];

/// IGGI: hints at playable cards, and discards useless cards first, then the oldest card.
pub(super) const IGGI: &[Rule] =
    &[play_safe, tell_playable, discard_useless, discard_oldest, tell_anything, play_likely];

/// Piers: IGGI that also takes risks and, if few tokens are left, hints at useless cards.
pub(super) const PIERS: &[Rule] = &[
    play_last,
    play_safe,
    play_probable,
    tell_playable,
    tell_dispensable,
    discard_useless,
    discard_oldest,
    tell_anything,
    play_likely,
];

/// Number of tokens below which Piers hints at useless cards.
const FEW: u8 = 4;

pub(super) fn play_safe(t: &HanabiTable, _: &mut Stream) -> Option<BotAction> {
    let good = t.piles.playable(&t.rules);
    t.may(t.me).iter().position(|&may| surely(may, good)).map(BotAction::Play)
}

pub(super) fn discard_useless(t: &HanabiTable, _: &mut Stream) -> Option<BotAction> {
    let useless = t.piles.useless(&t.rules);
    let slot = t.may(t.me).iter().position(|&may| surely(may, useless))?;
    may_discard(t).then_some(BotAction::Discard(slot))
}

fn may_discard(t: &HanabiTable) -> bool {
    t.information < t.rules.tokens
}

fn discard_oldest(t: &HanabiTable, _: &mut Stream) -> Option<BotAction> {
    may_discard(t).then_some(BotAction::Discard(0))
}

fn discard_any(t: &HanabiTable, rng: &mut Stream) -> Option<BotAction> {
    may_discard(t).then(|| BotAction::Discard(rng.below(t.hands[t.me].len())))
}

/// Hints at the first playable card whose owner does not know that it is playable. Names the card's rank or color,
/// whichever has not been hinted yet; chooses at random if neither has been hinted.
pub(super) fn tell_playable(t: &HanabiTable, rng: &mut Stream) -> Option<BotAction> {
    tell_of(t, rng, t.piles.playable(&t.rules))
}

/// If few tokens are left, hints at the first useless card whose owner does not know that it is useless.
fn tell_dispensable(t: &HanabiTable, rng: &mut Stream) -> Option<BotAction> {
    if t.information >= FEW { None } else { tell_of(t, rng, t.piles.useless(&t.rules)) }
}

fn tell_of(t: &HanabiTable, rng: &mut Stream, good: u32) -> Option<BotAction> {
    if t.information == 0 {
        return None;
    }
    for to in t.others() {
        let may = t.may(to);
        for (held, may) in t.hands[to].iter().zip(may) {
            let Some(kind) = held.kind.filter(|k| good >> k & 1 == 1 && !surely(may, good)) else { continue };
            let (color, rank) = (HintTarget::Color(kind / t.rules.ranks), HintTarget::Rank(kind % t.rules.ranks));
            let named = match held.named {
                [true, true] => continue,
                [true, false] => rank,
                [false, true] => color,
                [false, false] => [color, rank][rng.below(2)],
            };
            return Some(BotAction::Hint(to, named));
        }
    }
    None
}

fn tell_anything(t: &HanabiTable, rng: &mut Stream) -> Option<BotAction> {
    if t.information == 0 {
        return None;
    }
    let all = t.others().flat_map(|to| t.rules.names().map(move |named| (to, named)));
    let all: Vec<_> = all.filter(|&(to, named)| !t.touched(to, named).is_empty()).collect();
    all.get(rng.below(all.len())).map(|&(to, named)| BotAction::Hint(to, named))
}

/// Plays the card most likely to be playable, if the deck is empty and more than one life is left.
pub(super) fn play_last(t: &HanabiTable, rng: &mut Stream) -> Option<BotAction> {
    if t.lives > 1 && t.deck == 0 { likeliest(t, rng, 0.01) } else { None }
}

fn play_probable(t: &HanabiTable, rng: &mut Stream) -> Option<BotAction> {
    if t.lives > 1 { likeliest(t, rng, 0.6) } else { None }
}

/// Plays the card most likely to be playable. Used as a last resort, when no other rule applies.
pub(super) fn play_likely(t: &HanabiTable, rng: &mut Stream) -> Option<BotAction> {
    likeliest(t, rng, 0.0)
}

/// Plays the card most likely to be playable, if the probability that it is playable is at least `least`.
pub(super) fn likeliest(t: &HanabiTable, _: &mut Stream, least: f64) -> Option<BotAction> {
    let chances = t.chances(t.piles.playable(&t.rules));
    let best = (0..chances.len()).fold(0, |best, i| if chances[i] > chances[best] { i } else { best });
    (*chances.get(best)? >= least).then_some(BotAction::Play(best))
}
