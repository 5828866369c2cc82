//! Convention-based player, in the style of O'Dwyer's HolmesBot and SmartBot.
//!
//! A hint that touches a possibly playable card promises that the card is playable. The promised card is the newest
//! touched card that no earlier hint has touched, or else the newest touched card without a promise.
//! A rank hint promises every card that it touches for the first time. All other hints have only their literal meaning.
//! A seat discards its oldest card that no hint has touched. Seats that break these conventions lose the bot's trust
//! and then get only literal hints.

use ludex_env::{Seat, Stream};
use ludex_games::hanabi::View;

use super::rules::{discard_useless, likeliest, play_last, play_likely, play_safe, tell_playable};
use super::table::{BotAction, CardInHand, HanabiRules, HanabiTable, HintTarget, KindSet, Piles, surely};

/// Common knowledge about a card.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// Index of the card in dealing order.
    serial: usize,
    hinted: KindSet,
    touched: bool,
    /// Seat that promised that the card is playable.
    promised: Option<Seat>,
}

/// Common knowledge of all seats: a mark for each card, and how well each seat follows the conventions.
struct Common {
    marks: Vec<Vec<Mark>>,
    /// Weighted number of times that each seat broke a convention as giver or receiver of hints. A hint instead of a
    /// promised play counts 1, any other breach [`PATIENCE`].
    breaches: Vec<u32>,
}

/// Number of breaches from which a seat is not trusted.
const PATIENCE: u32 = 2;

/// Returns the newest card among `slots` whose mark satisfies `wanted`.
fn newest(marks: &[Mark], slots: &[usize], wanted: impl Fn(&Mark) -> bool) -> Option<usize> {
    slots.iter().copied().filter(|&i| marks.get(i).is_some_and(&wanted)).max()
}

/// Updates the marks of a hand after a hint. Returns the slots of the cards that the hint promises to be playable.
fn hint(
    rules: &HanabiRules,
    piles: &Piles,
    marks: &mut [Mark],
    slots: &[usize],
    named: HintTarget,
    giver: Seat,
) -> Vec<usize> {
    let (having, spent, good) = (rules.having(named), piles.spent(rules), piles.playable(rules));
    for (i, mark) in marks.iter_mut().enumerate() {
        mark.hinted &= if slots.contains(&i) { having } else { !having };
    }
    let possible = |m: &Mark| m.hinted & !spent & good != 0;
    let fresh = newest(marks, slots, |m| !m.touched);
    let promised: Vec<usize> = match (fresh, named) {
        (Some(_), HintTarget::Rank(_)) => {
            slots.iter().copied().filter(|&i| marks.get(i).is_some_and(|m| !m.touched)).collect()
        }
        (Some(focus), HintTarget::Color(_)) => vec![focus],
        (None, _) => newest(marks, slots, |m| m.promised.is_none() && possible(m)).into_iter().collect(),
    };
    let promised: Vec<usize> = promised.into_iter().filter(|&i| possible(&marks[i])).collect();
    for &i in slots {
        if let Some(mark) = marks.get_mut(i) {
            mark.touched = true;
            if promised.contains(&i) {
                mark.promised = Some(giver);
            }
        }
    }
    promised
}

impl Common {
    /// Derives the common knowledge from all moves so far.
    fn new(t: &HanabiTable, view: &View) -> Self {
        let rules = &t.rules;
        let all = (1 << rules.kinds()) - 1;
        let mut next = 0;
        let mut fresh = || {
            next += 1;
            Mark { serial: next - 1, hinted: all, touched: false, promised: None }
        };
        let mut marks: Vec<Vec<Mark>> = (0..rules.n).map(|_| (0..rules.hand).map(|_| fresh()).collect()).collect();
        let mut deck = rules.cards() - rules.n * rules.hand;
        let mut piles = Piles { fireworks: [0; 5], gone: [0; 25] };
        let mut breaches = vec![0; rules.n];
        // All promises so far: serial of the card, giver, and playable kinds at the time of the hint.
        let mut promises: Vec<(usize, Seat, KindSet)> = Vec::new();
        let mut known: Vec<(usize, usize)> = Vec::new();
        for past in &view.moves {
            let seat = usize::from(past.seat) % rules.n;
            let good = piles.playable(rules);
            let pending = marks[seat].iter().any(|m| m.promised.is_some() && m.hinted & good != 0);
            match rules.act(seat, past.action.into()) {
                Some(BotAction::Hint(to, named)) => {
                    breaches[seat] += u32::from(pending);
                    let slots: Vec<usize> = past.slots.iter().map(|&i| i.into()).collect();
                    for i in hint(rules, &piles, &mut marks[to], &slots, named, seat) {
                        promises.push((marks[to][i].serial, seat, good));
                    }
                }
                Some(BotAction::Play(slot) | BotAction::Discard(slot)) => {
                    let kind = past.card.as_deref().and_then(|text| rules.kind(text));
                    let played = matches!(rules.act(seat, past.action.into()), Some(BotAction::Play(_)));
                    breaches[seat] += if pending && !played { PATIENCE } else { 0 };
                    if slot < marks[seat].len() {
                        let mark = marks[seat].remove(slot);
                        known.extend(kind.map(|k| (mark.serial, k)));
                        if deck > 0 {
                            deck -= 1;
                            marks[seat].push(fresh());
                        }
                    }
                    match kind {
                        Some(k) if past.fits => piles.fireworks[k / rules.ranks] += 1,
                        Some(k) => piles.gone[k] += 1,
                        None => {}
                    }
                }
                None => {}
            }
        }
        for (held, mark) in t.hands.iter().flatten().zip(marks.iter().flatten()) {
            known.extend(held.kind.map(|k| (mark.serial, k)));
        }
        for (serial, giver, good) in promises {
            let kind = known.iter().find(|(s, _)| *s == serial).map(|(_, k)| *k);
            breaches[giver] += if kind.is_some_and(|k| good >> k & 1 == 0) { PATIENCE } else { 0 };
        }
        breaches[t.me] = 0;
        Common { marks, breaches }
    }

    fn trusts(&self, seat: Seat) -> bool {
        self.breaches[seat] < PATIENCE
    }
}

/// Candidate hint with its expected effects.
struct Offer {
    act: BotAction,
    /// Number of playable cards that the receiver will play because of the hint.
    plays: i32,
    /// Number of unplayable cards that the receiver will play because of the hint.
    wrong: i32,
    /// True if the hint protects the last card of its kind from being discarded.
    saves: bool,
    worth: i32,
}

/// Chooses an action by the conventions.
pub(super) fn act(t: &HanabiTable, view: &View, rng: &mut Stream) -> Option<BotAction> {
    let common = Common::new(t, view);
    let offers = if t.information > 0 { offers(t, &common) } else { Vec::new() };
    let best = |wanted: &dyn Fn(&Offer) -> bool| {
        let good = offers.iter().filter(|o| o.wrong == 0 && wanted(o));
        good.reduce(|best, o| if o.worth > best.worth { o } else { best }).map(|o| o.act)
    };
    let next = (t.me + 1) % t.rules.n;
    if endangered(t, &common, next) {
        let helps = |o: &Offer| matches!(o.act, BotAction::Hint(to, _) if to == next) && (o.saves || o.plays > 0);
        if let Some(act) = best(&helps) {
            return Some(act);
        }
    }
    play(t, &common, rng)
        .or_else(|| best(&|o| o.plays > 0))
        .or_else(|| if t.lives > 1 { likeliest(t, rng, 0.8) } else { None })
        .or_else(|| play_last(t, rng))
        .or_else(|| if common.trusts(next) { None } else { tell_playable(t, rng) })
        .or_else(|| best(&|o| o.saves))
        .or_else(|| discard_useless(t, rng))
        .or_else(|| discard(t, &common))
        .or_else(|| best(&|_| true))
        .or_else(|| offers.iter().min_by_key(|o| (o.wrong, -o.worth)).map(|o| o.act))
        .or_else(|| play_likely(t, rng))
}

/// Plays a card that is known to be playable. Otherwise plays a card that a trusted seat has promised to be playable,
/// the lowest possible rank first.
fn play(t: &HanabiTable, common: &Common, rng: &mut Stream) -> Option<BotAction> {
    let good = t.piles.playable(&t.rules);
    let may = t.may(t.me);
    let promised = |i: usize| common.marks[t.me].get(i).and_then(|m| m.promised).is_some_and(|g| common.trusts(g));
    let ready = (0..may.len()).filter(|&i| may[i] & good != 0 && promised(i));
    let rank = |i: usize| (0..t.rules.kinds()).filter(|k| may[i] & good >> k & 1 == 1).map(|k| k % t.rules.ranks).min();
    play_safe(t, rng).or_else(|| ready.min_by_key(|&i| rank(i)).map(BotAction::Play))
}

/// Returns the slot of the card that the hand's owner would discard by the conventions.
fn chop(marks: &[Mark]) -> Option<usize> {
    marks.iter().position(|m| !m.touched)
}

/// Returns true if `seat` has no card to play and would discard the last card of a kind.
fn endangered(t: &HanabiTable, common: &Common, seat: Seat) -> bool {
    let (good, critical) = (t.piles.playable(&t.rules), t.piles.critical(&t.rules));
    let marks = &common.marks[seat];
    let busy =
        marks.iter().zip(t.may(seat)).any(|(m, may)| m.promised.is_some() && may & good != 0 || surely(may, good));
    let kind = chop(marks).and_then(|i| t.hands[seat].get(i)).and_then(|held| held.kind);
    !busy && t.information < t.rules.tokens && kind.is_some_and(|k| critical >> k & 1 == 1)
}

/// Discards the oldest untouched card that may be dispensable; otherwise the card least likely to be indispensable.
fn discard(t: &HanabiTable, common: &Common) -> Option<BotAction> {
    if t.information >= t.rules.tokens {
        return None;
    }
    let critical = t.piles.critical(&t.rules);
    let sure = t.may(t.me);
    let marks = &common.marks[t.me];
    let free = (0..sure.len()).find(|&i| marks.get(i).is_some_and(|m| !m.touched) && !surely(sure[i], critical));
    let missed = t.chances(critical);
    let least = (0..missed.len()).reduce(|best, i| if missed[i] < missed[best] { i } else { best });
    free.or(least).map(BotAction::Discard)
}

/// Returns all hints that touch a card, with their expected effects.
fn offers(t: &HanabiTable, common: &Common) -> Vec<Offer> {
    let (good, useless) = (t.piles.playable(&t.rules), t.piles.useless(&t.rules));
    let critical = t.piles.critical(&t.rules);
    // Kinds of other seats' cards that are promised or touched: further copies need no hint.
    let seen = |wanted: &dyn Fn(&Mark) -> bool| -> KindSet {
        let pairs = t.others().flat_map(|p| t.hands[p].iter().zip(&common.marks[p]));
        pairs.filter(|(_, m)| wanted(m)).filter_map(|(held, _)| held.kind).fold(0, |set, k| set | 1 << k)
    };
    let (promised, marked) = (seen(&|m| m.promised.is_some()), seen(&|m| m.touched));
    let mut all = Vec::new();
    for to in t.others() {
        let chop = chop(&common.marks[to]);
        let before = t.may(to);
        for named in t.rules.names() {
            let slots = t.touched(to, named);
            if slots.is_empty() {
                continue;
            }
            let mut marks = common.marks[to].clone();
            let mut fresh = hint(&t.rules, &t.piles, &mut marks, &slots, named, t.me);
            if !common.trusts(to) {
                // A seat that the bot does not trust plays only cards that it knows to be playable.
                fresh.clear();
            }
            let having = t.rules.having(named);
            let knows = |i: usize| {
                let after = if slots.contains(&i) { before[i] & having } else { before[i] & !having };
                surely(after, good) && !surely(before[i], good) && common.marks[to][i].promised.is_none()
            };
            let mut offer = Offer { act: BotAction::Hint(to, named), plays: 0, wrong: 0, saves: false, worth: 0 };
            let mut taken = promised;
            for (i, held) in t.hands[to].iter().enumerate() {
                let CardInHand { kind: Some(kind), .. } = *held else { continue };
                let one: KindSet = 1 << kind;
                let touched = slots.contains(&i) && !common.marks[to][i].touched;
                if fresh.contains(&i) || knows(i) {
                    let right = good & one != 0 && taken & one == 0;
                    offer.plays += i32::from(right);
                    offer.wrong += i32::from(!right && fresh.contains(&i));
                    taken |= one;
                } else if touched {
                    offer.worth += if (useless | marked) & one != 0 { -2 } else { 1 };
                }
                offer.saves |= touched && chop == Some(i) && critical & one != 0;
            }
            offer.worth += 10 * offer.plays + if offer.saves { 6 } else { 0 };
            all.push(offer);
        }
    }
    all
}
