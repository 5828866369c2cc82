//! Players by lists of rules, after Osawa (2015) and Walton-Rivers et al. (2017): they take hints
//! literally, without conventions.

use ludex_env::Stream;

use super::table::{Act, HanabiTable, HintTarget, surely};

/// A rule: an action, where it applies.
type Rule = fn(&HanabiTable, &mut Stream) -> Option<Act>;

/// Osawa's player with an internal state: it remembers what it was told.
pub(super) const INTERNAL: &[Rule] = &[play_safe, discard_useless, tell_anything, discard_any, play_likely];

/// IGGI: tells of cards that can be played, and keeps a fixed order of discards.
pub(super) const IGGI: &[Rule] =
    &[play_safe, tell_playable, discard_useless, discard_oldest, tell_anything, play_likely];

/// Piers: IGGI that takes chances, and tells of cards that can go when tokens are few.
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

/// Tokens below which Piers tells of cards that can go.
const FEW: u8 = 4;

pub(super) fn play_safe(t: &HanabiTable, _: &mut Stream) -> Option<Act> {
    let good = t.piles.playable(&t.rules);
    t.may(t.me).iter().position(|&may| surely(may, good)).map(Act::Play)
}

pub(super) fn discard_useless(t: &HanabiTable, _: &mut Stream) -> Option<Act> {
    let useless = t.piles.useless(&t.rules);
    let slot = t.may(t.me).iter().position(|&may| surely(may, useless))?;
    may_discard(t).then_some(Act::Discard(slot))
}

fn may_discard(t: &HanabiTable) -> bool {
    t.information < t.rules.tokens
}

fn discard_oldest(t: &HanabiTable, _: &mut Stream) -> Option<Act> {
    may_discard(t).then_some(Act::Discard(0))
}

fn discard_any(t: &HanabiTable, rng: &mut Stream) -> Option<Act> {
    may_discard(t).then(|| Act::Discard(rng.below(t.hands[t.me].len())))
}

/// The next card of another that can be played and whose owner does not know it; its rank or its colour, whichever is not
/// yet told, or either.
pub(super) fn tell_playable(t: &HanabiTable, rng: &mut Stream) -> Option<Act> {
    tell_of(t, rng, t.piles.playable(&t.rules))
}

/// The same of a card that can go.
fn tell_dispensable(t: &HanabiTable, rng: &mut Stream) -> Option<Act> {
    if t.information >= FEW { None } else { tell_of(t, rng, t.piles.useless(&t.rules)) }
}

fn tell_of(t: &HanabiTable, rng: &mut Stream, good: u32) -> Option<Act> {
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
            return Some(Act::Hint(to, named));
        }
    }
    None
}

fn tell_anything(t: &HanabiTable, rng: &mut Stream) -> Option<Act> {
    if t.information == 0 {
        return None;
    }
    let all = t.others().flat_map(|to| t.rules.names().map(move |named| (to, named)));
    let all: Vec<_> = all.filter(|&(to, named)| !t.touched(to, named).is_empty()).collect();
    all.get(rng.below(all.len())).map(|&(to, named)| Act::Hint(to, named))
}

/// With the deck empty and a life to lose, the likeliest card is worth a try.
pub(super) fn play_last(t: &HanabiTable, rng: &mut Stream) -> Option<Act> {
    if t.lives > 1 && t.deck == 0 { likeliest(t, rng, 0.01) } else { None }
}

fn play_probable(t: &HanabiTable, rng: &mut Stream) -> Option<Act> {
    if t.lives > 1 { likeliest(t, rng, 0.6) } else { None }
}

/// For turns on which nothing else is allowed.
pub(super) fn play_likely(t: &HanabiTable, rng: &mut Stream) -> Option<Act> {
    likeliest(t, rng, 0.0)
}

/// The card that is likeliest to fit, if it is at least this likely.
pub(super) fn likeliest(t: &HanabiTable, _: &mut Stream, least: f64) -> Option<Act> {
    let chances = t.chances(t.piles.playable(&t.rules));
    let best = (0..chances.len()).fold(0, |best, i| if chances[i] > chances[best] { i } else { best });
    (*chances.get(best)? >= least).then_some(Act::Play(best))
}
