//! Minimal host that requests moves from agents and plays episodes.

use std::sync::Arc;

use ludex_agents::{Agent, build};
use ludex_env::{Action, AgentKey, Draw, DynState, GameRef, MoveRequest, Outcomes, Seat, Stream, ToMove, Viewer};
use ludex_games::load;
use ludex_protocol::Refusal;

/// Returns true if a refusal reports an unsupported game.
pub fn unfit(refusal: &Refusal) -> bool {
    refusal.path.is_none() && refusal.message.contains(" does not play ")
}

/// Loads a game by its string.
pub fn game(text: &str) -> GameRef {
    load(text).unwrap()
}

/// Returns the state after these actions and chance outcomes, each played by whichever seat is to move.
pub fn after(game: &GameRef, actions: &[Action]) -> Box<dyn DynState> {
    let mut state = game.start();
    for &a in actions {
        match state.turn() {
            ToMove::Chance => state.play_chance(a).unwrap(),
            ToMove::Seat(seat) => state.play(seat, a).unwrap(),
            other => panic!("{other:?}"),
        }
    }
    state
}

/// Requests an action for `seat` from an in-process agent.
pub fn near(agent: &dyn Agent, state: &dyn DynState, seat: Seat, turn: u32, draw: &Draw) -> Action {
    let legal = state.legal_list(seat);
    let mut ask = MoveRequest::on_state(state, seat, turn, &legal, AgentKey::Episode(draw));
    if agent.needs_full_state() {
        ask = ask.with_peek();
    }
    agent.act(&ask).unwrap().action().expect("an action")
}

/// Requests an action for `seat` as a remote host does, with a view that is serialized and parsed again.
pub fn far(agent: &dyn Agent, game: &GameRef, state: &dyn DynState, seat: Seat, turn: u32, draw: &Draw) -> Action {
    let legal = state.legal_list(seat);
    let view = game.read_view(&state.view(Viewer::Seat(seat)).value()).unwrap();
    let key = draw.other("agent");
    let ask = MoveRequest::on_view(&*view, seat, turn, &legal, AgentKey::Own(&key));
    agent.act(&ask).unwrap().action().expect("an action")
}

/// Plays at most `turns` random turns of an episode, and returns the last position. Checks in every turn that the
/// agent's move is legal and the same for a remote view.
pub fn check_remote_moves(
    agent: &dyn Agent,
    game: &GameRef,
    seed: u64,
    turns: u32,
    rng: &mut Stream,
) -> Box<dyn DynState> {
    let (name, draw, mut outcomes) = (&game.spec().string, Draw::new(game.id(), seed, 0), Outcomes::new());
    let mut state = game.start();
    for turn in 0..turns {
        match state.turn() {
            ToMove::Seat(seat) => {
                let legal = state.legal_list(seat);
                if legal.is_empty() {
                    break;
                }
                let a = near(agent, &*state, seat, turn, &draw);
                assert!(legal.contains(&a), "{name}, turn {turn}: {a}");
                assert_eq!(a, far(agent, game, &*state, seat, turn, &draw), "{name}, turn {turn}");
                state.play_unchecked(legal[rng.below(legal.len())]);
            }
            ToMove::Chance => {
                state.chance(&mut outcomes);
                state.play_unchecked(rng.pick(&outcomes).unwrap());
            }
            other => {
                assert_eq!(other, ToMove::Over, "{name}");
                break;
            }
        }
    }
    state
}

/// Plays an episode to its end. Returns the agents' actions in order, and the final returns.
pub fn play(game: &GameRef, agents: &[Arc<dyn Agent>], seed: u64) -> (Vec<Action>, Vec<f64>) {
    let (moves, end) = play_to(game, agents, seed);
    (moves, end.returns())
}

/// Plays an episode to its end. Returns the agents' actions in order, and the final position.
pub fn play_to(game: &GameRef, agents: &[Arc<dyn Agent>], seed: u64) -> (Vec<Action>, Box<dyn DynState>) {
    let (mut state, mut draw) = (game.start(), Draw::new(game.id(), seed, 0));
    let (mut turns, mut moves, mut outcomes) = (vec![0; agents.len()], Vec::new(), Outcomes::new());
    loop {
        match state.turn() {
            ToMove::Over => return (moves, state),
            ToMove::Chance => {
                state.chance(&mut outcomes);
                let a = draw.pick(&outcomes).unwrap();
                state.play_chance(a).unwrap();
            }
            ToMove::Seat(seat) => {
                let a = near(&*agents[seat], &*state, seat, turns[seat], &draw);
                turns[seat] += 1;
                moves.push(a);
                state.play(seat, a).unwrap();
            }
            ToMove::Simultaneous(set) => {
                let mut joint = vec![None; agents.len()];
                for seat in set.iter() {
                    joint[seat] = Some(near(&*agents[seat], &*state, seat, turns[seat], &draw));
                    turns[seat] += 1;
                }
                moves.extend(joint.iter().flatten());
                state.play_together(&joint).unwrap();
            }
        }
    }
}

/// Builds one agent per seat from these specs.
pub fn seats(game: &GameRef, specs: &[&str]) -> Vec<Arc<dyn Agent>> {
    specs.iter().map(|s| build(s, game).unwrap()).collect()
}
