//! Tests of the agent `random` and its dependence on seeds and keys.

use ludex_agents::{Agent, AgentPolicy, build};
use ludex_env::draw::key;
use ludex_env::{Action, AgentKey, Draw, MoveRequest, Policy, Viewer};
use ludex_games::load;

fn moves(agent: &dyn Agent, base: &str, turns: u32) -> Vec<Action> {
    let game = load("connect_four").unwrap();
    let (state, key) = (game.start(), key(base));
    let legal = state.legal_list(0);
    (0..turns)
        .map(|turn| {
            let ask = MoveRequest::on_state(&*state, 0, turn, &legal, AgentKey::Own(&key));
            agent.act(&ask).unwrap().action().expect("an action")
        })
        .collect()
}

#[test]
fn moves_depend_on_key_and_turn() {
    let game = load("connect_four").unwrap();
    let random = build("random", &game).unwrap();
    assert_eq!(moves(&*random, "a", 40), moves(&*random, "a", 40));
    assert_ne!(moves(&*random, "a", 40), moves(&*random, "b", 40));
    let seen: std::collections::BTreeSet<Action> = moves(&*random, "a", 200).into_iter().collect();
    assert_eq!(seen.len(), 7, "every column is played");
}

#[test]
fn seed_determines_key() {
    let game = load("connect_four").unwrap();
    let (random, seeded) = (build("random", &game).unwrap(), build("random seed=5", &game).unwrap());
    assert_eq!(moves(&*seeded, "a", 40), moves(&*seeded, "b", 40));
    assert_eq!(moves(&*seeded, "a", 40), moves(&*random, "ludex.v1:agent-seed:5", 40));
}

#[test]
fn agent_moves_are_equal_for_local_and_remote_views() {
    let game = load("connect_four").unwrap();
    let policy = AgentPolicy(build("random", &game).unwrap());
    let (state, draw) = (game.start(), Draw::new(game.id(), 7, 0));
    let (legal, view) = (state.legal_list(0), state.view(Viewer::Seat(0)));
    for turn in 0..20 {
        let near = policy.choose(&MoveRequest::on_state(&*state, 0, turn, &legal, AgentKey::Episode(&draw)));
        let far = policy.choose(&MoveRequest::on_view(&*view, 0, turn, &legal, AgentKey::Own(&draw.other("agent"))));
        assert_eq!(near, far);
    }
}
