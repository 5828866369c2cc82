//! Laws of a single position.

use std::collections::{HashMap, HashSet};

use ludex_protocol::spec::{ChanceMode, Dynamics, TensorSpec};

use super::fingerprint::{Print, Sight, info, mask, openspiel, tensor, viewers};
use super::{Fault, garbage, law, same};
use crate::draw::Stream;
use crate::dyn_game::GameRef;
use crate::dyn_state::{DynState, DynView};
use crate::game::{Action, Outcomes, ParsedMove, Seat, ToMove, Viewer};
use crate::picture::{Gesture, MOST_BYTES};
use ludex_protocol::Move;

/// Checks the laws that are fast enough for every position.
pub(super) fn position(s: &dyn DynState, rng: &mut Stream) -> Result<(), Fault> {
    let spec = s.spec();
    let turn = s.turn();
    law(turn != ToMove::Chance || spec.chance != ChanceMode::Deterministic, || {
        "chance is to move in a deterministic game".into()
    })?;
    let together = matches!(turn, ToMove::Simultaneous(_));
    law(!together || spec.dynamics != Dynamics::Sequential, || "a joint move in a sequential game".into())?;
    law(!matches!(turn, ToMove::Seat(_)) || spec.dynamics != Dynamics::Simultaneous, || {
        "a single move in a simultaneous game".into()
    })?;
    law(s.returns().iter().all(|r| r.is_finite()), || format!("expected finite returns, got {:?}", s.returns()))?;
    for seat in 0..spec.players as Seat {
        let legal = s.legal_list(seat);
        let acts = turn.seats().has(seat);
        law(acts || legal.is_empty(), || format!("seat {seat} does not act but has legal actions {legal:?}"))?;
        law(!acts || !legal.is_empty(), || format!("seat {seat} acts but has no legal action"))?;
        law(legal.windows(2).all(|w| w[0] < w[1]), || format!("expected ascending legal actions, got {legal:?}"))?;
        law(legal.last().is_none_or(|&a| a < spec.actions), || {
            format!("expected legal ids below {}, got {legal:?}", spec.actions)
        })?;
        let mut wanted = vec![0; spec.actions as usize];
        legal.iter().for_each(|&a| wanted[a as usize] = 1);
        same(&mask(s, seat), &wanted, || format!("mask of seat {seat}"))?;
        if !legal.is_empty() {
            let (random, default) = (s.random_action(seat, rng), s.default_move(seat, rng));
            law(legal.contains(&random), || format!("random action {random} is not legal"))?;
            let given = match &default {
                ParsedMove::Action(a) => Move::Id((*a).into()),
                ParsedMove::Document(document) => Move::Document(document.clone()),
            };
            let read = s.parse_move(seat, &given);
            law(read == Ok(default), || format!("the default move {given:?} is not legal: {read:?}"))?;
        }
    }
    chance(s)
}

fn chance(s: &dyn DynState) -> Result<(), Fault> {
    let mut outcomes = Outcomes::new();
    s.chance(&mut outcomes);
    if s.turn() != ToMove::Chance {
        return law(outcomes.items().is_empty(), || "expected no chance outcomes, since chance is not to move".into());
    }
    let ids: HashSet<Action> = outcomes.items().iter().map(|o| o.0).collect();
    law(!ids.is_empty(), || "a chance node without outcomes".into())?;
    law(ids.len() == outcomes.items().len(), || format!("expected distinct outcomes, got {:?}", outcomes.items()))?;
    law(ids.iter().all(|&a| a < s.spec().max_chance), || {
        format!("expected outcomes below {}, got {ids:?}", s.spec().max_chance)
    })?;
    let sum: f64 = outcomes.probabilities().map(|o| o.1).sum();
    law((sum - 1.0).abs() < 1e-9, || format!("expected probabilities that sum to 1, got {sum}"))
}

/// Checks the laws that are too slow for every position.
pub(super) fn thorough(game: &GameRef, s: &dyn DynState, rng: &mut Stream) -> Result<(), Fault> {
    names(s, rng)?;
    pictures(s)?;
    arrays(s)?;
    copies(game, s)?;
    round_trips(game, s, rng)?;
    refusals(s, rng)?;
    unchecked(s, rng);
    guesses(s)
}

/// Checks that action names are unique, and that every parsing function maps a name to its action.
fn names(s: &dyn DynState, rng: &mut Stream) -> Result<(), Fault> {
    for seat in s.turn().seats().iter() {
        let (view, legal) = (s.view(Viewer::Seat(seat)), s.legal_list(seat));
        let mut seen = HashSet::new();
        let skip = (legal.len() / 40).max(1);
        for &a in legal.iter().skip(rng.below(skip)).step_by(skip) {
            let name = view.action_text(seat, a);
            law(seen.insert(name.clone()), || format!("two actions have the name {name:?}"))?;
            same(&view.parse(seat, &legal, &name), &Some(a), || format!("parse({name:?})"))?;
            same(&s.parse_move(seat, &Move::Text(name.clone())), &Ok(ParsedMove::Action(a)), || {
                format!("read({name:?})")
            })?;
            same(&s.parse_move(seat, &Move::Id(a.into())), &Ok(ParsedMove::Action(a)), || format!("read({a})"))?;
            law(s.is_legal(seat, a), || format!("`legal` lists action {a}, but `is_legal` returns false"))?;
        }
    }
    let mut outcomes = Outcomes::new();
    s.chance(&mut outcomes);
    for &(a, _) in outcomes.items().iter().take(40) {
        let given = Move::Text(s.outcome_text(a));
        same(&s.read_outcome(&given), &Ok(a), || format!("the outcome {given:?}"))?;
    }
    Ok(())
}

/// Checks that pictures are small and have a title and a description. Each gesture must refer to existing cells and
/// identify its action, alone or together with the action's text.
fn pictures(s: &dyn DynState) -> Result<(), Fault> {
    for who in viewers(s) {
        let view = s.view(who);
        let picture = view.picture(who);
        let size = picture.svg.len();
        law(size <= MOST_BYTES, || format!("picture of {who:?}: expected at most {MOST_BYTES} bytes, got {size}"))?;
        for part in ["<title>", "<desc>"] {
            let said = picture.svg.split_once(part).is_some_and(|(_, rest)| !rest.starts_with('<'));
            law(said, || format!("the picture of {who:?} has an empty {part}"))?;
        }
        let Viewer::Seat(seat) = who else { continue };
        let cells: HashSet<&str> = picture.cells().collect();
        let mut meant: HashMap<Gesture, Vec<Action>> = HashMap::new();
        for a in s.legal_list(seat) {
            let Some(gesture) = view.gesture(seat, a) else { continue };
            let there = !gesture.0.is_empty() && gesture.0.iter().all(|cell| cells.contains(cell.as_str()));
            law(there, || format!("the gesture {gesture:?} of action {a} has cells that are not in the picture"))?;
            meant.entry(gesture).or_default().push(a);
        }
        for (gesture, all) in meant.iter().filter(|(_, all)| all.len() > 1) {
            let texts: HashSet<String> = all.iter().map(|&a| view.action_text(seat, a)).collect();
            law(texts.len() == all.len(), || {
                format!("the gesture {gesture:?} is ambiguous: actions {all:?}, texts {texts:?}")
            })?;
        }
    }
    Ok(())
}

/// Checks that arrays fill their whole buffer, and that values are within the declared bounds.
fn arrays(s: &dyn DynState) -> Result<(), Fault> {
    let views = &s.spec().views;
    let first = |t: &Option<std::collections::BTreeMap<String, TensorSpec>>| {
        t.as_ref().and_then(|t| t.values().next().cloned())
    };
    for who in viewers(s) {
        type Read = fn(&dyn DynState, Viewer, u8) -> Vec<u8>;
        let both: [(&str, Option<TensorSpec>, Read); 2] =
            [("tensor", first(&views.tensor), tensor), ("info", first(&views.info), info)];
        for (what, t, read) in both {
            let Some(t) = t else { continue };
            let values = read(s, who, 0);
            same(&values, &read(s, who, 0xa5), || format!("{what} of {who:?}, written over other bytes"))?;
            let inside = |v: f64| (t.low..=t.high).contains(&v);
            let out = values.iter().find(|&&v| t.bytes() == t.len() && !inside(f64::from(v)));
            law(out.is_none(), || format!("{what} of {who:?} contains {out:?}, outside {}..={}", t.low, t.high))?;
        }
        if let Viewer::Seat(seat) = who {
            law(openspiel(s, seat).iter().all(|v| v.is_finite()), || "layout openspiel: non-finite value".into())?;
        }
    }
    Ok(())
}

fn copies(game: &GameRef, s: &dyn DynState) -> Result<(), Fault> {
    let print = Print::of(s);
    Print::of(&*s.boxed()).same(&print, "a copy")?;
    same(&s.boxed().hash(), &s.hash(), || "hash of a copy".into())?;
    let mut other = game.start();
    other.copy_from(s);
    Print::of(&*other).same(&print, "copy_from")
}

/// Checks that a view survives serialization, and that a corrupted view causes no panic.
fn round_trips(game: &GameRef, s: &dyn DynState, rng: &mut Stream) -> Result<(), Fault> {
    for who in viewers(s) {
        let view = s.view(who);
        let value = view.value();
        let text = serde_json::to_string(&value).map_err(|e| e.to_string())?;
        let back = serde_json::from_str(&text).map_err(|e| e.to_string())?;
        let read = game.read_view(&back).map_err(|e| format!("cannot deserialize the view {value}: {e}"))?;
        same(&read.value(), &value, || "deserialized view".into())?;
        same(&read.text(), &view.text(), || "text of a deserialized view".into())?;
        let world = read.world(rng);
        Sight::of(&*world, who).same(&Sight::of(s, who), "state sampled from a deserialized view")?;
        let mut bent = value;
        bend(&mut bent, rng);
        harmless(game.read_view(&bent).ok(), rng);
    }
    let [a, ..] = garbage();
    garbage().iter().for_each(|value| harmless(game.read_view(value).ok(), rng));
    law(game.read_view(&a).is_err(), || "null was accepted as a view".into())
}

/// Replaces one random leaf of a JSON value with a random value of the same type.
fn bend(value: &mut serde_json::Value, rng: &mut Stream) {
    use serde_json::Value;
    match value {
        Value::Object(map) if !map.is_empty() => {
            let k = rng.below(map.len());
            if let Some((_, inner)) = map.iter_mut().nth(k) {
                bend(inner, rng);
            }
        }
        Value::Array(list) if !list.is_empty() => {
            let k = rng.below(list.len());
            bend(&mut list[k], rng);
        }
        Value::Number(_) => *value = [0, 1, 77, 255, 1u64 << 40][rng.below(5)].into(),
        Value::String(text) => *value = [String::new(), text.repeat(3), "?".into()][rng.below(3)].clone().into(),
        other => *other = Value::from("bent"),
    }
}

/// Calls every method of a corrupted view, none of which may panic.
fn harmless(view: Option<Box<dyn DynView>>, rng: &mut Stream) {
    if let Some(view) = view {
        let _ = view.text();
        let _ = view.picture(Viewer::Public);
        let world = view.world(rng);
        let _ = world.turn();
    }
}

/// Checks that every illegal move is refused with a reason and leaves the state unchanged.
fn refusals(s: &dyn DynState, rng: &mut Stream) -> Result<(), Fault> {
    let spec = s.spec();
    let print = Print::of(s);
    let mut t = s.boxed();
    let refused = |done: Result<(), crate::Refusal>, what: &dyn Fn() -> String| match done {
        Ok(()) => Err(format!("{} was accepted", what())),
        Err(r) => law(!r.message.is_empty(), || format!("{} was refused without a reason", what())),
    };
    let players = spec.players as Seat;
    for seat in 0..players {
        let legal = s.legal_list(seat);
        let some = (0..8).map(|_| rng.below(spec.actions.max(1) as usize) as Action);
        for a in some.chain([0, spec.actions, Action::MAX]) {
            if !legal.contains(&a) || !matches!(s.turn(), ToMove::Seat(_)) {
                refused(t.play(seat, a), &|| format!("action {a} of seat {seat}"))?;
                law(legal.contains(&a) || s.parse_move(seat, &Move::Id(a.into())).is_err(), || {
                    format!("the illegal action {a} was accepted")
                })?;
            }
        }
        law(s.parse_move(seat, &Move::Id(-1)).is_err(), || "action -1 was accepted".into())?;
        law(s.parse_move(seat, &Move::Id(i64::MAX)).is_err(), || "action 2^63 - 1 was accepted".into())?;
        for value in garbage() {
            let read = s.parse_move(seat, &Move::Document(value.clone()));
            law(read.is_err() || spec.document_schemas.is_some(), || format!("{value} was accepted as a move"))?;
        }
        let odd = s.parse_move(seat, &Move::Text("no such move \u{0}".into()));
        law(odd.is_err() || spec.document_schemas.is_some(), || "meaningless text was accepted as a move".into())?;
    }
    let mut outcomes = Outcomes::new();
    s.chance(&mut outcomes);
    for a in [0, 1, spec.max_chance, Action::MAX] {
        if !outcomes.items().iter().any(|o| o.0 == a) {
            refused(t.play_chance(a), &|| format!("chance outcome {a}"))?;
        }
    }
    let acting = s.turn().seats();
    let right = |seat| acting.has(seat).then(|| s.legal_list(seat).first().copied().unwrap_or(0));
    let joint: Vec<Option<Action>> = (0..players).map(right).collect();
    if let ToMove::Simultaneous(_) = s.turn() {
        for seat in 0..players {
            let mut wrong = joint.clone();
            wrong[seat] = if acting.has(seat) { None } else { Some(0) };
            refused(t.play_together(&wrong), &|| format!("the joint move {wrong:?}"))?;
            wrong[seat] = Some(spec.actions);
            refused(t.play_together(&wrong), &|| format!("the joint move {wrong:?}"))?;
        }
        refused(t.play_together(&joint[1..]), &|| "a short joint move".into())?;
    } else {
        refused(t.play_together(&joint), &|| "a joint move out of turn".into())?;
    }
    Print::of(&*t).same(&print, "after refused moves")
}

/// Plays unchecked moves with random ids in range, which must not panic.
fn unchecked(s: &dyn DynState, rng: &mut Stream) {
    let spec = s.spec();
    let mut t = s.boxed();
    for _ in 0..3 {
        match s.turn() {
            ToMove::Chance => t.play_unchecked(rng.below(spec.max_chance as usize) as Action),
            ToMove::Simultaneous(_) => {
                let ids: Vec<Action> = (0..spec.players).map(|_| rng.below(spec.actions as usize) as Action).collect();
                t.play_together_unchecked(&ids);
            }
            ToMove::Seat(_) | ToMove::Over => t.play_unchecked(rng.below(spec.actions as usize) as Action),
        }
    }
}

/// Checks that evaluations are within the bounds of returns, and that search moves and quiescence moves are legal.
fn guesses(s: &dyn DynState) -> Result<(), Fault> {
    let spec = s.spec();
    if let ToMove::Seat(seat) = s.turn() {
        let legal = s.legal_list(seat);
        let (mut promising, mut noisy) = (Vec::new(), Vec::new());
        let first = s.promising(seat, &mut promising);
        let may_leave = s.noisy(seat, &mut noisy);
        law(promising.is_empty() == legal.is_empty() && first <= promising.len(), || {
            format!(
                "search moves: expected moves if and only if there are legal actions, and a prefix no longer than the \
                 list, got {} moves, prefix {first} and {} legal actions",
                promising.len(),
                legal.len()
            )
        })?;
        law(may_leave || !noisy.is_empty(), || {
            "quiescence moves: expected at least one move if the seat may not decline, got none".into()
        })?;
        for (what, mut list) in [("search moves", promising), ("quiescence moves", noisy)] {
            let stray = list.iter().copied().find(|a| legal.binary_search(a).is_err());
            law(stray.is_none(), || format!("{what}: expected a legal action, got {stray:?}"))?;
            list.sort_unstable();
            law(list.windows(2).all(|two| two[0] < two[1]), || format!("{what}: duplicate action in {list:?}"))?;
        }
    }
    for seat in 0..spec.players as Seat {
        let guess = s.evaluate(seat);
        law(guess.is_none_or(|v| (spec.min_return..=spec.max_return).contains(&v)), || {
            format!("evaluation of seat {seat}: expected a value within the bounds of returns, got {guess:?}")
        })?;
    }
    Ok(())
}

/// Checks that a rollout ends, or stops at its limit.
pub(super) fn rollout(s: &dyn DynState, rng: &mut Stream) -> Result<(), Fault> {
    let mut t = s.boxed();
    let played = t.rollout(rng, 3);
    law(played <= 3, || format!("rollout: expected at most 3 moves, got {played}"))?;
    let limit = 4 * s.spec().max_length as usize + 1_000;
    let played = s.boxed().rollout(rng, limit);
    law(played < limit, || format!("rollout: expected an end within {limit} moves"))
}
