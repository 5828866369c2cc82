//! Tests of bots for international mahjong: legal moves in every position, the same moves for remote views, and greater
//! strength at higher levels.

use std::sync::Arc;

use crate::common::{far, game, near, play, play_to, seats};
use ludex_agents::{Agent, build};
use ludex_env::check::scaled;
use ludex_env::{Action, Draw, DynState, Outcomes, ToMove, Viewer};
use ludex_games::mcr_mahjong::tiles::ALL_KINDS;
use ludex_games::mcr_mahjong::{Kind, View, ids};

const BOTS: [&str; 3] = ["lowest_shanten slips=0.2", "most_useful", "fan_plans"];

/// Plays a match in which the last bot of `BOTS` has every seat. Checks the move of every bot in each position.
fn asked_everywhere(name: &str, seed: u64) {
    let g = game(name);
    let bots: Vec<Arc<dyn Agent>> = BOTS.iter().map(|b| build(b, &g).unwrap()).collect();
    let (mut state, mut draw, mut outcomes, mut turn) = (g.start(), Draw::new(g.id(), seed, 0), Outcomes::new(), 0);
    loop {
        let seats = match state.turn() {
            ToMove::Over => break,
            ToMove::Chance => {
                state.chance(&mut outcomes);
                state.play_chance(draw.pick(&outcomes).unwrap()).unwrap();
                continue;
            }
            ToMove::Seat(seat) => vec![seat],
            ToMove::Simultaneous(set) => set.iter().collect(),
        };
        let mut joint: Vec<Option<Action>> = vec![None; 4];
        for &seat in &seats {
            let legal = state.legal_list(seat);
            turn += 1;
            for bot in &bots {
                let a = near(&**bot, &*state, seat, turn, &draw);
                assert!(legal.contains(&a), "{name}: {a} among {legal:?}");
                assert_eq!(a, far(&**bot, &g, &*state, seat, turn, &draw), "{name}");
                assert!(!legal.contains(&ids::HU) || a == ids::HU, "{name}: it wins where it can");
                joint[seat] = Some(a);
            }
        }
        match seats[..] {
            [seat] if matches!(state.turn(), ToMove::Seat(_)) => state.play(seat, joint[seat].unwrap()).unwrap(),
            _ => state.play_together(&joint).unwrap(),
        }
    }
}

#[test]
fn mahjong_bots_move_legally_in_every_preset() {
    for preset in ["botzone", "ijcai2020", "flowers"] {
        asked_everywhere(&format!("mcr_mahjong(preset={preset})"), 3);
    }
    asked_everywhere("mcr_mahjong(minimum=1,edition=strict98)", 4);
}

#[test]
fn mahjong_bots_refuse_unsupported_games() {
    for bot in BOTS {
        assert!(build(bot, &game("hanabi")).err().unwrap().message.contains("mcr_mahjong"));
        let refused = build(bot, &game("mcr_mahjong(preset=botzone_errors)")).err().unwrap();
        assert!(refused.message.contains("errors=refuse"), "{refused}");
    }
}

/// Checks that two players of each ladder level win more walls than two players of the level below.
#[test]
fn each_mahjong_level_beats_the_level_below() {
    let g = game("mcr_mahjong");
    let ladder: Vec<&str> = g.spec().anchors.iter().map(|a| a.agent.as_str()).collect();
    assert_eq!(ladder.len(), 5);
    for two in ladder.windows(2) {
        let gain: f64 = (0..20)
            .map(|seed| {
                let [even, odd] = [[two[1], two[0]], [two[0], two[1]]].map(|[a, b]| {
                    let returns = play(&g, &seats(&g, &[a, b, a, b]), seed).1;
                    returns[0] + returns[2] - returns[1] - returns[3]
                });
                even - odd
            })
            .sum();
        assert!(gain > 0.0, "{} gains {gain} on 20 walls against {}", two[1], two[0]);
    }
}

/// Checks the measured table: all scores against the level below are from 0.7 to 0.9.
#[test]
fn documented_scores_against_next_weaker_bot_are_moderate() {
    let g = game("mcr_mahjong");
    let line = |level: usize| {
        let rung = &g.spec().anchors[level];
        let begins = format!("| {level} | 1 | `{}` | ", rung.agent);
        let line = g.info().page.lines().find_map(|line| line.strip_prefix(&begins)).expect("a line for the level");
        line.split(" |").next().unwrap().parse::<f64>().unwrap()
    };
    for level in 1..g.spec().anchors.len() {
        let score = line(level);
        assert!((0.7..=0.9).contains(&score), "level {level} scores {score}");
    }
}

/// Counts the tiles of each kind that the four seats together see, and the tiles left in the walls.
fn tiles(end: &dyn DynState) -> ([u8; ALL_KINDS], u32) {
    let views = [0, 1, 2, 3].map(|p| {
        let view = end.view(Viewer::Seat(p));
        view.as_any().downcast_ref::<View>().unwrap().clone()
    });
    let mut all = [0; ALL_KINDS];
    let mut add = |tile: Kind| all[usize::from(tile.0)] += 1;
    for (p, view) in views.iter().enumerate() {
        view.hand.iter().copied().for_each(&mut add);
        view.melds[p].iter().flat_map(|m| &m.tiles).copied().for_each(&mut add);
        view.flowers[p].iter().copied().for_each(&mut add);
    }
    let lying = views[0].discards.iter().filter(|d| d.claimed_by.is_none());
    lying.for_each(|d| add(d.tile));
    (all, views[0].wall.iter().map(|&n| u32::from(n)).sum())
}

/// Checks the game's invariants in matches of ladder players: 500 hands times `LUDEX_TEST_SCALE`, on two threads.
#[test]
fn ladder_matches_satisfy_game_invariants() {
    let won: usize = std::thread::scope(|scope| {
        let halves = ["botzone", "flowers"].map(|preset| scope.spawn(move || keeps_the_invariants(preset)));
        halves.into_iter().map(|half| half.join().unwrap()).sum()
    });
    assert!(won > 0);
}

fn keeps_the_invariants(preset: &str) -> usize {
    let g = game(&format!("mcr_mahjong(preset={preset})"));
    let (names, mut won) = (["most_useful", "fan_plans slips=0.2", "lowest_shanten", "random"], 0);
    for seed in 0..scaled(250) {
        let at = seed as usize % 4;
        let table: Vec<&str> = (0..4).map(|p| names[(p + at) % 4]).collect();
        let (moves, end) = play_to(&g, &seats(&g, &table), seed);
        let returns = end.returns();
        assert!(moves.len() as u32 <= 3 * g.spec().max_length && returns.iter().sum::<f64>() == 0.0, "{returns:?}");
        let winner = returns.iter().filter(|r| **r > 0.0).count();
        assert!(winner <= 1 && returns.iter().all(|r| *r == 0.0) == (winner == 0), "{returns:?}");
        let paid = returns.iter().copied().fold(0.0, f64::max);
        assert!(winner == 0 || paid >= 32.0, "8 points pay at least 32: {returns:?}");
        let (tiles, walls) = tiles(&*end);
        let shown: u32 = tiles.iter().map(|&n| u32::from(n)).sum();
        assert_eq!(shown + walls, if preset == "flowers" { 144 } else { 136 }, "{preset} {seed}");
        assert!(
            tiles[..34].iter().all(|&n| n <= 4) && tiles[34..].iter().all(|&n| n <= 1),
            "{preset} {seed}: {tiles:?}"
        );
        won += winner;
    }
    won
}
