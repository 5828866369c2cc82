//! Tests of the bots for plan games.

use std::time::Instant;

use crate::common::{game, seats, unfit};
use ludex_agents::{Agent, build};
use ludex_env::{AgentKey, Budget, Draw, DynState, MoveRequest, ParsedMove, ToMove, Viewer};
use ludex_protocol::Move;

const GAMES: [&str; 3] = ["tower_defense", "battle_cards", "elemental_duel"];
/// Game parameters that together cover every phase.
const COURSES: [&str; 3] = [
    "(format=match,rounds=3)",
    "(format=match,rounds=3,revise=both,budget_scale=0.5)",
    "(format=match,rounds=4,revise=both,roles=alternate)",
];

/// Requests a move from `agent`, and checks that it is the same for a remote view.
fn says(agent: &dyn Agent, state: &dyn DynState, seat: usize, turn: u32, draw: &Draw) -> ParsedMove {
    let legal = state.legal_list(seat);
    let key = draw.other("agent");
    let near = agent.act(&MoveRequest::on_state(state, seat, turn, &legal, AgentKey::Own(&key))).unwrap();
    let view = state.view(Viewer::Seat(seat));
    let far = agent.act(&MoveRequest::on_view(&*view, seat, turn, &legal, AgentKey::Own(&key))).unwrap();
    assert_eq!(near, far);
    state.parse_move(seat, &near.mv.unwrap()).unwrap()
}

/// Plays a match. Returns the final public view and the returns.
fn played(string: &str, bots: [&str; 2]) -> (serde_json::Value, Vec<f64>) {
    let game = game(string);
    let (mut state, draw, agents) = (game.start(), Draw::new(game.id(), 1, 0), seats(&game, &bots));
    let mut turns = [0; 2];
    while state.turn() != ToMove::Over {
        let due = state.turn().seats();
        let mut joint = [None, None];
        for seat in due.iter() {
            joint[seat] = Some(says(&*agents[seat], &*state, seat, turns[seat], &draw));
            turns[seat] += 1;
        }
        match (state.turn(), &joint) {
            (ToMove::Seat(seat), [.., Some(ParsedMove::Document(said))] | [Some(ParsedMove::Document(said)), ..]) => {
                state.play_document(seat, said).unwrap();
            }
            (ToMove::Seat(seat), [.., Some(ParsedMove::Action(a))] | [Some(ParsedMove::Action(a)), ..]) => {
                state.play(seat, *a).unwrap()
            }
            _ => state.play_joint(&joint).unwrap(),
        }
    }
    (state.view(Viewer::Public).value(), state.returns())
}

/// Checks that all plans are legal in every phase and for both sides, even with half of the budget.
#[test]
fn planners_submit_legal_plans() {
    for name in GAMES {
        for course in COURSES {
            let (view, _) = played(&format!("{name}{course}"), ["hill_climber sims=60", "best_answer sims=20"]);
            for round in view["history"].as_array().unwrap() {
                assert_eq!(round["violations"], serde_json::json!([[], []]), "{name}{course}");
            }
            let (view, _) = played(&format!("{name}{course}"), ["sound_plan", "random"]);
            assert_eq!(view["history"][0]["violations"][0], serde_json::json!([]), "{name}{course}");
        }
    }
}

/// Checks that a bot that responds to the last plan beats the fixed plan on either side, from its first response on.
#[test]
fn responding_planners_beat_fixed_plan() {
    for name in GAMES {
        let string = format!("{name}(format=match,rounds=4,revise=both)");
        assert_eq!(played(&string, ["hill_climber", "sound_plan"]).1, [4.0, -4.0], "{name}");
        assert_eq!(played(&string, ["sound_plan", "hill_climber"]).1, [-4.0, 4.0], "{name}");
    }
}

/// Checks that a bot returns its current plan with a note if the deadline has passed.
#[test]
fn deadline_cuts_planning() {
    let game = game("battle_cards");
    let (state, bot) = (game.start(), build("hill_climber sims=1000000", &game).unwrap());
    let legal = state.legal_list(0);
    let ask = MoveRequest::on_state(&*state, 0, 0, &legal, AgentKey::Own(&[0; 32]));
    let answer = bot.act(&ask.with_budget(Budget::until(Instant::now()))).unwrap();
    assert_eq!(answer.notes.more.get("cut"), Some(&true.into()));
    let fixed = build("sound_plan", &game).unwrap().act(&ask).unwrap();
    assert!(matches!(answer.mv, Some(Move::Document(_))) && answer.mv == fixed.mv);
}

#[test]
fn planners_refuse_unsupported_games() {
    let refusal = build("best_answer", &game("chess")).err().unwrap();
    assert!(unfit(&refusal) && refusal.message.contains("battle_cards"), "{refusal}");
}
