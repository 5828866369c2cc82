//! Tests of `equilibrium`: stored policies are equilibria, and the agent samples from them.

use crate::common::{after, check_remote_moves, game, near, unfit};
use ludex_agents::build;
use ludex_agents::solve::equilibrium::PolicyTable;
use ludex_agents::solve::tree::GameTree;
use ludex_env::{Draw, Stream, ToMove};

/// Returns the tree of a game, and the stored policy of the game.
fn stored(name: &str) -> (GameTree, Vec<f64>) {
    let g = game(name);
    let tree = GameTree::build(&g, 1 << 20).unwrap();
    let policy = PolicyTable::stored(&g).unwrap().policy(&tree);
    (tree, policy)
}

#[test]
fn kuhn_poker_table_is_equilibrium() {
    let (tree, policy) = stored("kuhn_poker");
    assert!((tree.values(&policy)[0] + 1.0 / 18.0).abs() < 1e-4, "{}", tree.values(&policy)[0]);
    assert!(tree.exploitability(&policy) < 1e-4, "{}", tree.exploitability(&policy));
}

#[test]
fn leduc_poker_table_is_equilibrium() {
    // Value from the literature: -0.0856 antes per hand for the first seat.
    let (tree, policy) = stored("leduc_poker");
    assert!(tree.exploitability(&policy) < 0.002, "{}", tree.exploitability(&policy));
    assert!((tree.values(&policy)[0] + 0.0856).abs() < 0.002, "{}", tree.values(&policy)[0]);
}

#[test]
fn liars_dice_table_is_equilibrium() {
    let (tree, policy) = stored("liars_dice");
    assert!(tree.exploitability(&policy) < 0.002, "{}", tree.exploitability(&policy));
}

/// Checks random episodes: every view is in the table, and every reply is legal and the same for a remote view.
#[test]
fn table_contains_every_view() {
    for name in ["kuhn_poker", "leduc_poker", "liars_dice"] {
        let g = game(name);
        let (agent, mut rng) = (build("equilibrium", &g).unwrap(), Stream::from_text(name));
        for seed in 0..200 {
            assert_eq!(check_remote_moves(&*agent, &g, seed, 100, &mut rng).turn(), ToMove::Over);
        }
    }
}

#[test]
fn agent_samples_from_table() {
    // In every equilibrium of Kuhn poker the second seat calls a bet with the queen one time in three.
    let g = game("kuhn_poker");
    let (agent, state) = (build("equilibrium", &g).unwrap(), after(&g, &[0, 1, 1]));
    let draw = Draw::new(g.id(), 1, 0);
    let calls = (0..3_000).filter(|&turn| near(&*agent, &*state, 1, turn, &draw) == 1).count();
    assert!((900..1_100).contains(&calls), "{calls} of 3000");
}

#[test]
fn games_without_a_table_are_refused() {
    for name in ["tic_tac_toe", "kuhn_poker(players=3)", "leduc_poker(suit_isomorphism=true)", "liars_dice(numdice=2)"]
    {
        let e = build("equilibrium", &game(name)).err().unwrap();
        assert!(unfit(&e));
        assert!(e.message.contains("cfr solves other small games"), "{e}");
    }
}
