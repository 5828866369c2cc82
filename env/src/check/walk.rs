//! One random episode, with the laws checked at its positions.

use ludex_protocol::spec::{RewardModel, Utility};

use super::event::Event;
use super::fingerprint::Print;
use super::{Fault, Proposer, law, laws, same, secrets};
use crate::draw::{Draw, Stream};
use crate::dyn_game::GameRef;
use crate::dyn_state::DynState;
use crate::game::{Outcomes, ParsedMove, Seat, ToMove};
use ludex_protocol::Move;

/// Returns a random next event in `s`; `None` at the end.
fn next(s: &dyn DynState, draw: &mut Draw, rng: &mut Stream, propose: Proposer<'_>) -> Result<Option<Event>, Fault> {
    Ok(match s.turn() {
        ToMove::Over => None,
        ToMove::Chance => {
            let mut outcomes = Outcomes::new();
            s.chance(&mut outcomes);
            draw.pick(&outcomes).map(Event::Chance)
        }
        ToMove::Simultaneous(set) => {
            let one = |seat| set.has(seat).then(|| answer(s, seat, rng, propose)).transpose();
            let joint: Result<Vec<_>, Fault> = (0..s.spec().players as Seat).map(one).collect();
            Some(Event::Together(joint?))
        }
        ToMove::Seat(seat) => Some(match answer(s, seat, rng, propose)? {
            ParsedMove::Action(a) => Event::Move(seat, a),
            ParsedMove::Document(document) => Event::Document(seat, document),
        }),
    })
}

/// Returns a move of `seat`: the move from `propose`, if any. Otherwise returns a document sampled by the game or a
/// random legal id, each half of the time.
fn answer(s: &dyn DynState, seat: Seat, rng: &mut Stream, propose: Proposer<'_>) -> Result<ParsedMove, Fault> {
    let sample = |rng: &mut Stream| if rng.below(2) == 0 { s.sample(seat, rng).map(Move::Document) } else { None };
    let Some(given) = propose(s, seat, rng).or_else(|| sample(rng)) else {
        return Ok(ParsedMove::Action(s.random_action(seat, rng)));
    };
    let heard = s.parse_move(seat, &given).map_err(|r| format!("the proposal {given:?} was refused: {r}"))?;
    if let ParsedMove::Document(value) = &heard {
        let again = s.parse_move(seat, &Move::Document(value.clone())).map_err(|r| r.message);
        same(&again, &Ok(heard.clone()), || "a canonical document, parsed again".into())?;
    }
    Ok(heard)
}

/// Returns true if the slow laws are checked at ply `k`: at the first 6 plies, at powers of two, and at random plies.
fn thorough(k: usize, rng: &mut Stream) -> bool {
    k < 6 || k.is_power_of_two() || rng.below(12) == 0
}

/// Plays one episode under `seed` and checks it.
pub(super) fn episode(game: &GameRef, seed: u64, propose: Proposer<'_>) -> Result<(), Fault> {
    let mut rng = Stream::from_text(&format!("ludex.v1:check:{}:{seed}", game.id()));
    let mut draw = Draw::new(game.id(), seed, 0);
    let mut s = game.start();
    let mut history: Vec<Event> = Vec::new();
    let mut marks: Vec<(usize, Print)> = Vec::new();
    let spec = s.spec().clone();
    laws::rollout(&*s, &mut rng)?;
    for k in 0.. {
        let at = |f: Fault| format!("ply {k}: {f}");
        laws::position(&*s, &mut rng).map_err(at)?;
        let full = thorough(k, &mut rng) || s.turn() == ToMove::Over;
        if full {
            laws::thorough(game, &*s, &mut rng).map_err(at)?;
            secrets::worlds(&*s, &mut rng).map_err(at)?;
            marks.push((k, Print::of(&*s)));
        }
        let Some(event) = next(&*s, &mut draw, &mut rng, propose).map_err(at)? else {
            break;
        };
        let before = full.then(|| (s.boxed(), Print::of(&*s)));
        let mut unchecked = full.then(|| s.boxed());
        event.play(&mut *s).map_err(at)?;
        if let Some(other) = &mut unchecked {
            event.play_unchecked(&mut **other).map_err(at)?;
            Print::of(&**other).same(&Print::of(&*s), "unchecked play").map_err(at)?;
        }
        if let Some((before, print)) = before {
            Print::of(&*before).same(&print, "a copy after the original moved on").map_err(at)?;
            secrets::events(&*before, &event, &*s, &mut rng).map_err(at)?;
        }
        if spec.rewards == RewardModel::Terminal && s.turn() != ToMove::Over {
            let zero = s.returns().iter().all(|&r| r == 0.0);
            law(zero, || format!("expected zero returns before the end, got {:?}", s.returns())).map_err(at)?;
        }
        history.push(event);
    }
    if s.turn() != ToMove::Over {
        return Ok(());
    }
    let moves = history.iter().filter(|e| !matches!(e, Event::Chance(_))).count();
    law(moves <= spec.max_length as usize, || {
        format!("expected at most {} moves (`max_length`), got {moves}", spec.max_length)
    })?;
    ended(&*s)?;
    replayed(game, &history, &marks)
}

/// Checks the returns of a finished episode.
fn ended(s: &dyn DynState) -> Result<(), Fault> {
    let (spec, returns) = (s.spec(), s.returns());
    let inside = returns.iter().all(|r| (spec.min_return..=spec.max_return).contains(r));
    law(inside, || format!("returns {returns:?} outside {}..={}", spec.min_return, spec.max_return))?;
    let sum: f64 = returns.iter().sum();
    match spec.utility {
        Utility::ZeroSum => law(sum.abs() < 1e-6, || format!("returns {returns:?} do not sum to zero")),
        Utility::Identical => {
            law(returns.windows(2).all(|w| w[0] == w[1]), || format!("returns {returns:?} are not identical"))
        }
        Utility::ConstantSum => {
            let (low, high) = (spec.min_return, spec.max_return * returns.len() as f64);
            law(sum >= low && sum <= high, || format!("returns {returns:?} sum to {sum}, outside {low}..={high}"))
        }
        Utility::GeneralSum => Ok(()),
    }
}

/// Checks that playing `history` from the start visits the positions recorded in `marks`.
fn replayed(game: &GameRef, history: &[Event], marks: &[(usize, Print)]) -> Result<(), Fault> {
    let mut s = game.start();
    let mut marks = marks.iter();
    let mut mark = marks.next();
    for k in 0..=history.len() {
        if let Some((_, print)) = mark.filter(|m| m.0 == k) {
            Print::of(&*s).same(print, &format!("replay at ply {k}"))?;
            mark = marks.next();
        }
        if let Some(event) = history.get(k) {
            event.play(&mut *s).map_err(|f| format!("replay at ply {k}: {f}"))?;
        }
    }
    Ok(())
}
