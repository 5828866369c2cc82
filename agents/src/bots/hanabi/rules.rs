//! Rule-based players, after Osawa (2015) and Walton-Rivers et al. (2017). They take hints literally, without
//! conventions.

use ludex_env::Stream;

use super::table::{BotAction, HanabiTable, HintTarget, surely};

/// Rule: returns an action if it applies.
type Rule = fn(&HanabiTable, &mut Stream) -> Option<BotAction>;

/// Osawa's player with an internal state: it stores the hints that it received.
pub(super) const INTERNAL: &[Rule] = &[play_safe, discard_useless, tell_anything, discard_any, play_likely];

/// IGGI: hints about playable cards, and a fixed order of discards.
pub(super) const IGGI: &[Rule] =
    &[play_safe, tell_playable, discard_useless, discard_oldest, tell_anything, play_likely];

/// Piers: IGGI with risky plays, and hints about useless cards when tokens are few.
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

/// Tokens below which Piers hints about useless cards.
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

/// Hints about the next playable card of another seat that does not know it: its rank or color, whichever has not been
/// hinted, or either.
pub(super) fn tell_playable(t: &HanabiTable, rng: &mut Stream) -> Option<BotAction> {
    tell_of(t, rng, t.piles.playable(&t.rules))
}

/// Hints about the next useless card of another seat, if tokens are few.
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

/// With an empty deck and a life to spare, plays the most likely card.
pub(super) fn play_last(t: &HanabiTable, rng: &mut Stream) -> Option<BotAction> {
    if t.lives > 1 && t.deck == 0 { likeliest(t, rng, 0.01) } else { None }
}

fn play_probable(t: &HanabiTable, rng: &mut Stream) -> Option<BotAction> {
    if t.lives > 1 { likeliest(t, rng, 0.6) } else { None }
}

/// Plays the most likely card, for turns without another legal action.
pub(super) fn play_likely(t: &HanabiTable, rng: &mut Stream) -> Option<BotAction> {
    likeliest(t, rng, 0.0)
}

/// Plays the card most likely to be playable, with at least this probability.
pub(super) fn likeliest(t: &HanabiTable, _: &mut Stream, least: f64) -> Option<BotAction> {
    let chances = t.chances(t.piles.playable(&t.rules));
    let best = (0..chances.len()).fold(0, |best, i| if chances[i] > chances[best] { i } else { best });
    (*chances.get(best)? >= least).then_some(BotAction::Play(best))
}
