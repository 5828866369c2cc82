//! Laws of hidden information: sampled states that a viewer cannot distinguish, and the contents of events.

use ludex_protocol::spec::{Information, RewardModel};
use serde_json::Value;

use super::event::Event;
use super::fingerprint::{Print, Sight, viewers};
use super::{Fault, law, same};
use crate::draw::Stream;
use crate::dyn_state::DynState;
use crate::game::{Action, EventView, Mover, Outcomes, ParsedMove, Seat, ToMove, Viewer};
use ludex_protocol::Move;

/// Checks that every state sampled from a view gives the viewer the same observations as the true state, in every form
/// of view.
pub(super) fn worlds(s: &dyn DynState, rng: &mut Stream) -> Result<(), Fault> {
    let spec = s.spec();
    for who in viewers(s) {
        let world = s.view(who).world(rng);
        let what = format!("a state sampled for {who:?}");
        Sight::of(&*world, who).same(&Sight::of(s, who), &what)?;
        let pictures = [&*world, s].map(|s| s.view(who).picture(who));
        law(pictures[0] == pictures[1], || format!("{what}: picture"))?;
        if spec.information == Information::Perfect {
            Print::of(&*world).same(&Print::of(s), &what)?;
            same(&world.hash(), &s.hash(), || format!("{what}: hash"))?;
            let outcomes = |s: &dyn DynState| {
                let mut out = Outcomes::new();
                s.chance(&mut out);
                out
            };
            same(&outcomes(&*world), &outcomes(s), || format!("{what}: chance"))?;
        }
        // Returns are public at the end, and in games with step rewards.
        if s.turn() == ToMove::Over || spec.rewards == RewardModel::Step {
            same(&world.returns(), &s.returns(), || format!("{what}: returns"))?;
        }
    }
    Ok(())
}

/// The events that a viewer gets from one step, one per mover, and the information revealed afterwards.
type StepDisclosure = (Vec<EventView>, Vec<(String, Value)>);

fn disclosure(before: &dyn DynState, event: &Event, after: &dyn DynState, who: Viewer) -> StepDisclosure {
    let seen = match event {
        Event::Chance(a) => vec![before.seen(who, Mover::Chance, *a)],
        Event::Move(seat, a) => vec![before.seen(who, Mover::Seat(*seat), *a)],
        Event::Together(joint) => {
            let acting = joint.iter().enumerate().filter_map(|(seat, heard)| Some((seat, heard.as_ref()?)));
            let seen = |(seat, heard): (Seat, &ParsedMove)| match heard {
                ParsedMove::Action(a) => before.seen(who, Mover::Seat(seat), *a),
                ParsedMove::Document(document) => before.observe_document(who, seat, document),
            };
            acting.map(seen).collect()
        }
        Event::Document(seat, document) => vec![before.observe_document(who, *seat, document)],
    };
    (seen, after.reveals(who))
}

/// Checks that events contain exactly the information that the view gains in a step. Plays a step in two states with
/// equal views. The viewer must get equal events if and only if the views are still equal after the step. (With perfect
/// information, different moves may lead to equal positions.)
pub(super) fn events(
    before: &dyn DynState,
    event: &Event,
    after: &dyn DynState,
    rng: &mut Stream,
) -> Result<(), Fault> {
    let perfect = before.spec().information == Information::Perfect;
    for who in viewers(before) {
        let here = disclosure(before, event, after, who);
        ids(event, &here.0, who, perfect)?;
        let world = before.view(who).world(rng);
        let other = elsewhere(&*world, event, rng);
        let mut next = world.boxed();
        other.play(&mut *next).map_err(|f| format!("in a state sampled for {who:?}: {f}"))?;
        let there = disclosure(&*world, &other, &*next, who);
        let equal = after.view(who).value() == next.view(who).value();
        law(perfect || !equal || here == there, || {
            format!("{who:?}: expected equal events in two states whose views stay equal, got {here:?} and {there:?}")
        })?;
        law(equal || here != there, || {
            format!("{who:?}: expected different events in two states whose views become different, got {here:?} twice")
        })?;
    }
    Ok(())
}

/// Checks that action ids in events are correct, that movers see their own ids, and that everyone sees all ids in games
/// of perfect information.
fn ids(event: &Event, seen: &[EventView], who: Viewer, perfect: bool) -> Result<(), Fault> {
    let moves: Vec<(Option<Seat>, Option<Action>)> = match event {
        Event::Chance(a) => vec![(None, Some(*a))],
        Event::Move(seat, a) => vec![(Some(*seat), Some(*a))],
        Event::Together(joint) => {
            let id = |heard: &ParsedMove| if let ParsedMove::Action(a) = heard { Some(*a) } else { None };
            joint.iter().enumerate().filter_map(|(p, heard)| Some((Some(p), id(heard.as_ref()?)))).collect()
        }
        Event::Document(..) => return Ok(()),
    };
    for ((by, a), seen) in moves.into_iter().zip(seen) {
        let Some(a) = a else { continue };
        let own = by.is_some_and(|p| who == Viewer::Seat(p));
        law(seen.action.is_none_or(|id| id == a), || {
            format!("{who:?} sees action {:?} where action {a} was played", seen.action)
        })?;
        law(!(own || perfect) || seen.action == Some(a), || {
            format!("{who:?} does not see action {a}, played by {by:?}")
        })?;
        law(seen.action.is_none() || seen.text.is_some(), || format!("{who:?} sees action {a} without a text"))?;
    }
    Ok(())
}

/// Returns a counterpart of `event` that is possible in the sampled state `world`: the event itself or a similar event.
fn elsewhere(world: &dyn DynState, event: &Event, rng: &mut Stream) -> Event {
    let other = |seat: Seat, a: Action, rng: &mut Stream| {
        let legal = world.legal_list(seat);
        if legal.contains(&a) || legal.is_empty() { a } else { legal[rng.below(legal.len())] }
    };
    match event {
        Event::Move(seat, a) => Event::Move(*seat, other(*seat, *a, rng)),
        Event::Together(joint) => {
            let mut one = |(seat, heard): (Seat, &Option<ParsedMove>)| match heard.as_ref()? {
                ParsedMove::Action(a) => Some(ParsedMove::Action(other(seat, *a, rng))),
                ParsedMove::Document(document) => Some(document_elsewhere(world, seat, document, rng)),
            };
            Event::Together(joint.iter().enumerate().map(&mut one).collect())
        }
        Event::Document(seat, document) => match document_elsewhere(world, *seat, document, rng) {
            ParsedMove::Action(a) => Event::Move(*seat, a),
            ParsedMove::Document(document) => Event::Document(*seat, document),
        },
        Event::Chance(a) => {
            let mut outcomes = Outcomes::new();
            world.chance(&mut outcomes);
            // Redraws the outcome half of the time. Viewers that cannot see the outcome must get equal events.
            let same = outcomes.items().iter().any(|o| o.0 == *a) && rng.below(2) == 0;
            Event::Chance(if same { *a } else { rng.pick(&outcomes).unwrap_or(*a) })
        }
    }
}

/// Returns a counterpart in the sampled state `world` of `document`. With probability one half, returns `document`
/// itself if `world` accepts it. Otherwise returns a document sampled by the game, or a legal id. Viewers who may not
/// see the document must get equal events for `document` and for its counterpart.
fn document_elsewhere(world: &dyn DynState, seat: Seat, document: &Value, rng: &mut Stream) -> ParsedMove {
    let read = |document: Value| world.parse_move(seat, &Move::Document(document)).ok();
    let same = if rng.below(2) == 0 { read(document.clone()) } else { None };
    let other = || world.sample(seat, rng).and_then(read).or_else(|| read(document.clone()));
    same.or_else(other).unwrap_or_else(|| ParsedMove::Action(world.legal_list(seat).first().copied().unwrap_or(0)))
}
