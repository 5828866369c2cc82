//! Tests of the bots for hold'em and Fight the Landlord: legal moves at every table, and sensible moves in clear cases.

use std::sync::Arc;

use crate::common::{after, far, game, near, play, seats};
use ludex_agents::{Agent, build};
use ludex_env::{Action, Draw, Outcomes, ToMove};

const HOLDEM: [&str; 3] = ["hand_strength", "pot_odds", "hand_ranges"];
const SLIPPING: [&str; 1] = ["pot_odds slips=0.2"];
const LANDLORD: [&str; 4] = ["smallest_play slips=0.2", "hand_split", "team_split", "split_search worlds=2"];

/// Checks every bot in positions of random games: its moves are legal, repeatable, and equal for a remote view.
fn asked_everywhere(name: &str, bots: &[&str], episodes: u64, every: u64) {
    let g = game(name);
    let bots: Vec<Arc<dyn Agent>> = bots.iter().map(|b| build(b, &g).unwrap()).collect();
    for seed in 0..episodes {
        let (mut state, mut draw) = (g.start(), Draw::new(g.id(), seed, 0));
        let (mut outcomes, mut turn) = (Outcomes::new(), 0);
        loop {
            match state.turn() {
                ToMove::Over => break,
                ToMove::Chance => {
                    state.chance(&mut outcomes);
                    let a = draw.pick(&outcomes).unwrap();
                    state.play_chance(a).unwrap();
                }
                ToMove::Seat(seat) => {
                    let legal = state.legal_list(seat);
                    turn += 1;
                    if (u64::from(turn) + seed) % every == 0 {
                        for bot in &bots {
                            let a = near(&**bot, &*state, seat, turn, &draw);
                            assert!(legal.contains(&a), "{name}: {a} among {legal:?}");
                            assert_eq!(a, far(&**bot, &g, &*state, seat, turn, &draw), "{name}");
                        }
                    }
                    let a = legal[(draw.bits() % legal.len() as u64) as usize];
                    state.play(seat, a).unwrap();
                }
                ToMove::Simultaneous(_) => panic!(),
            }
        }
    }
}

#[test]
fn holdem_bots_move_legally_at_every_table() {
    for preset in ["hunl_fcpa", "hunl_fullgame", "limit", "llmarena"] {
        asked_everywhere(&format!("texas_holdem(preset={preset})"), &HOLDEM, 6, 2);
    }
    asked_everywhere("texas_holdem(preset=hunl_fullgame)", &SLIPPING, 4, 1);
    asked_everywhere("texas_holdem(preset=botzone,hands=2)", &HOLDEM, 3, 2);
    asked_everywhere("texas_holdem(numPlayers=10)", &HOLDEM, 2, 4);
    asked_everywhere("texas_holdem(numPlayers=3,bettingAbstraction=fchpa)", &HOLDEM, 4, 2);
    asked_everywhere("texas_holdem(bettingAbstraction=fc)", &HOLDEM, 2, 2);
    asked_everywhere("texas_holdem(numHoleCards=3,numBoardCards=0;2;1;1)", &HOLDEM, 3, 2);
    asked_everywhere("universal_poker(betting=limit)", &HOLDEM, 4, 2);
    asked_everywhere("universal_poker", &HOLDEM, 4, 2);
}

#[test]
fn landlord_bots_move_legally_under_all_rules() {
    for preset in ["botzone", "botzone2", "dou_dizhu"] {
        asked_everywhere(&format!("fight_the_landlord(preset={preset})"), &LANDLORD, 8, 3);
    }
}

#[test]
fn card_bots_refuse_unsupported_games() {
    let (holdem, landlord) = (game("texas_holdem"), game("fight_the_landlord"));
    HOLDEM.iter().for_each(|b| assert!(build(b, &landlord).err().unwrap().message.contains("texas_holdem")));
    LANDLORD.iter().for_each(|b| assert!(build(b, &holdem).err().unwrap().message.contains("fight_the_landlord")));
}

/// Returns the chance outcomes that deal these cards.
fn dealt(text: &str) -> Vec<Action> {
    ludex_games::cards::cards(text).unwrap().into_iter().map(Action::from).collect()
}

fn answer(game_text: &str, bot: &str, actions: &[Action], seat: usize) -> Action {
    let g = game(game_text);
    let state = after(&g, actions);
    assert_eq!(state.turn(), ToMove::Seat(seat));
    near(&*build(bot, &g).unwrap(), &*state, seat, 0, &Draw::new(g.id(), 5, 0))
}

#[test]
fn holdem_bots_play_clear_cases_correctly() {
    for bot in HOLDEM {
        // Position 1 has the small blind and goes all-in; position 0 holds aces.
        let aces = [dealt("As Ad 9c 8c"), vec![3]].concat();
        assert_ne!(answer("texas_holdem", bot, &aces, 0), 0, "{bot} folds aces to an all-in");
        let nothing = [dealt("7s 2d 9c 8c"), vec![3]].concat();
        assert_eq!(answer("texas_holdem", bot, &nothing, 0), 0, "{bot} calls an all-in with seven and two");
        // The nuts on the river, nothing to call: never a fold.
        let moves =
            [dealt("As Ks 9c 8c"), vec![1, 1], dealt("Ts Js Qs"), vec![1, 1], dealt("2d"), vec![1, 1], dealt("2h")];
        assert_ne!(
            answer("texas_holdem(bettingAbstraction=rlcard)", bot, &moves.concat(), 0),
            0,
            "{bot} folds the nuts"
        );
    }
    for bot in ["hand_strength", "hand_ranges"] {
        let nothing = [dealt("7s 2d 9c 8c"), vec![2]].concat();
        assert_eq!(answer("texas_holdem", bot, &nothing, 0), 0, "{bot} calls a raise by the pot with seven and two");
    }
}

/// Returns the share of `units` that `a` wins against `b`. Ties count as half. Each unit consists of `n` seat-swapped
/// deals.
fn score(game_text: &str, a: &str, b: &str, units: u64, n: u64) -> f64 {
    let g = game(game_text);
    let players = g.spec().players as usize;
    let mut won = 0.0;
    for unit in 0..units {
        let mut lead = 0.0;
        for seed in 0..n {
            // Each bot plays one seat after the other, against copies of its opponent on all other seats.
            for at in 0..players {
                for (one, others, sign) in [(a, b, 1.0), (b, a, -1.0)] {
                    let specs: Vec<&str> = (0..players).map(|p| if p == at { one } else { others }).collect();
                    let (_, returns) = play(&g, &seats(&g, &specs), unit * n + seed);
                    let rest = returns.iter().sum::<f64>() - returns[at];
                    lead += sign * (returns[at] - rest / (players as f64 - 1.0));
                }
            }
        }
        won += if lead > 0.0 { 1.0 } else { 0.5 * f64::from(u8::from(lead == 0.0)) };
    }
    won / units as f64
}

#[test]
fn each_landlord_level_beats_the_level_below() {
    let of = |a, b, units, n| score("fight_the_landlord", a, b, units, n);
    assert!(of("smallest_play slips=0.5", "random", 10, 2) > 0.6);
    assert!(of("smallest_play", "smallest_play slips=0.5", 10, 2) > 0.6);
    assert!(of("team_split", "smallest_play", 8, 6) > 0.6);
    assert!(of("split_search worlds=24", "team_split", 4, 4) > 0.5);
}

#[test]
fn each_holdem_level_beats_the_level_below() {
    let of = |a, b, units, n| score("texas_holdem", a, b, units, n);
    assert!(of("pot_odds slips=0.2", "random", 5, 100) > 0.6);
    assert!(of("pot_odds", "pot_odds slips=0.2", 5, 100) > 0.6);
    assert!(of("hand_ranges", "pot_odds", 1, 60) > 0.6);
}
