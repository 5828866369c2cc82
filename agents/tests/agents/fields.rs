//! Tests of bots for games with several seats or with negotiation, and of the bot for Free Style.

use crate::common::{after, far, game, near, play, seats, unfit};
use ludex_agents::build;
use ludex_env::check::scaled;
use ludex_env::{Action, Draw, DynState, GameRef, Outcomes, ParsedMove, Stream, ToMove, Viewer};
use ludex_games::hanabi::View as Hanabi;
use ludex_protocol::Move;

const HANABI: &[&str] = &["internal", "iggi", "piers", "conventions"];
const NEGOTIATORS: &[&str] = &[
    "time_dependent",
    "time_dependent exponent=0.2",
    "time_dependent exponent=3 reserve=0.5",
    "absolute_tit_for_tat",
    "hardliner",
    "bayesian_negotiator",
];
const BIDDERS: &[&str] = &["truthful_bidder", "shading_bidder part=0.6", "equilibrium_bidder", "best_response_bidder"];
const CLASSICS: &[&str] = &[
    "tit_for_tat",
    "always_cooperate",
    "always_defect",
    "grim",
    "pavlov",
    "generous_tit_for_tat",
    "suspicious_tit_for_tat",
    "tit_for_two_tats",
    "gradual",
    "classics_responder",
];

/// Calls `seen` for every move request in `episodes` games. One seat plays half of its moves at random; the bot plays
/// the other seats. Checks that moves are legal and equal for a remote view.
fn check_bot(g: &GameRef, bot: &str, episodes: u64, mut seen: impl FnMut(&dyn DynState, usize, Action)) {
    let agent = build(bot, g).unwrap();
    let mut rng = Stream::from_text("questions to bots");
    for seed in 0..episodes {
        let (mut state, mut draw) = (g.start(), Draw::new(g.id(), seed, 0));
        let (mut turn, mut outcomes) = (0, Outcomes::new());
        loop {
            let (set, together) = match state.turn() {
                ToMove::Over => break,
                ToMove::Chance => {
                    state.chance(&mut outcomes);
                    state.play_chance(draw.pick(&outcomes).unwrap()).unwrap();
                    continue;
                }
                t => (t.seats(), matches!(t, ToMove::Simultaneous(_))),
            };
            let mut joint = vec![None; g.spec().players as usize];
            for seat in set.iter() {
                let legal = state.legal_list(seat);
                let a = near(&*agent, &*state, seat, turn, &draw);
                assert!(
                    legal.contains(&a),
                    "{bot} says {a} in {}: {}",
                    g.spec().string,
                    state.view(Viewer::Seat(seat)).text()
                );
                if turn % 8 == 0 {
                    assert_eq!(a, far(&*agent, g, &*state, seat, turn, &draw), "{bot} from afar");
                }
                seen(&*state, seat, a);
                joint[seat] = Some(if rng.below(2) == 0 { a } else { legal[rng.below(legal.len())] });
            }
            match (together, state.turn()) {
                (true, _) => state.play_together(&joint).unwrap(),
                (false, ToMove::Seat(seat)) => state.play(seat, joint[seat].unwrap()).unwrap(),
                _ => unreachable!(),
            }
            turn += 1;
        }
    }
}

#[test]
fn bots_move_legally_at_every_table() {
    let tables: [(&[&str], &[&str]); 7] = [
        (
            HANABI,
            &[
                "hanabi",
                "hanabi(players=3,random_start_player=true)",
                "hanabi(players=4,observation_type=minimal)",
                "hanabi(players=5,observation_type=seer)",
                "hanabi(preset=llmarena)",
                "hanabi(colors=1,ranks=1,hand_size=1)",
                "hanabi(colors=3,ranks=2,hand_size=6,max_information_tokens=0)",
                "hanabi(ranks=4,hand_size=8,max_information_tokens=50,max_life_tokens=10)",
            ],
        ),
        (
            BIDDERS,
            &[
                "first_sealed_auction",
                "first_sealed_auction(players=10)",
                "first_sealed_auction(preset=llmarena,players=3)",
                "first_sealed_auction(max_value=1)",
                "first_sealed_auction(max_value=1000,players=4,up_to_value=true)",
            ],
        ),
        (
            NEGOTIATORS,
            &[
                "negotiation",
                "negotiation(enable_utterances=false,num_items=5)",
                "negotiation(num_items=1,num_symbols=1,utterance_dim=8)",
                "negotiation(instance=2 3 4;7 1 7;7 6 1;1)",
                "negotiation(instance=0 0 0;7 1 7;7 6 1;3)",
            ],
        ),
        (
            NEGOTIATORS,
            &[
                "bargaining",
                "bargaining(preset=llmarena)",
                "bargaining(discount=0.8,prob_end=0.1,max_turns=5)",
                "bargaining(max_turns=1)",
                "bargaining(instance=0 0 0;1 1 1;1 1 1)",
                "bargaining(instance=1 1 3;3 7 0;1 6 1,max_turns=2)",
            ],
        ),
        (
            CLASSICS,
            &[
                "iterated_prisoners_dilemma",
                "iterated_prisoners_dilemma(preset=years)",
                "iterated_prisoners_dilemma(preset=axelrod,num_repetitions=9)",
                "iterated_prisoners_dilemma(termination_probability=1)",
            ],
        ),
        (
            &["stock_speaker"],
            &[
                "undercover",
                "undercover(preset=llmarena_guess)",
                "undercover(players=10,undercovers=3)",
                "undercover(pair=winter;summer,players=3)",
            ],
        ),
        (
            &["rule_maker", "rule_maker sims=20"],
            &["free_style", "free_style(rules=F0)", "free_style(rules=F2)", "free_style(messages=2,fallback=F1)"],
        ),
    ];
    for (bots, games) in tables {
        for table in games {
            let g = game(table);
            bots.iter().for_each(|bot| check_bot(&g, bot, 2, |_, _, _| ()));
            let e = build(bots[0], &game("tic_tac_toe")).err().unwrap();
            assert!(unfit(&e), "{e}");
        }
    }
}

/// Deals a two-player game in which seat 0 holds R2 R3 R4 Y2 Y3 and seat 1 holds the cards of `hand`.
fn dealt(hand: [Action; 5]) -> (GameRef, Box<dyn DynState>) {
    let g = game("hanabi");
    let deal: Vec<Action> = [1, 2, 3, 6, 7].into_iter().chain(hand).collect();
    let state = after(&g, &deal);
    (g, state)
}

#[test]
fn known_playable_card_is_played() {
    // Y5 G1 Y4 W3 B3: the hint "rank 1" touches slot 1.
    let (g, mut state) = dealt([9, 10, 8, 17, 22]);
    let hint = state.view(Viewer::Seat(0)).parse(0, &state.legal_list(0), "tell 1").unwrap();
    state.play(0, hint).unwrap();
    let draw = Draw::new(g.id(), 0, 0);
    for bot in HANABI {
        assert_eq!(near(&*build(bot, &g).unwrap(), &*state, 1, 0, &draw), 5 + 1, "{bot}");
    }
}

#[test]
fn color_hint_promises_newest_card() {
    // G4 B1 G1 W3 B3: of the green cards, only the newer card is playable.
    let (g, mut state) = dealt([13, 20, 10, 17, 22]);
    let draw = Draw::new(g.id(), 0, 0);
    let bot = build("conventions", &g).unwrap();
    // Both cards of rank 1 are playable, and one hint covers them.
    let hint = near(&*bot, &*state, 0, 0, &draw);
    assert_eq!(state.view(Viewer::Seat(0)).action_text(0, hint), "(Reveal player +1 rank 1)");
    let green = state.view(Viewer::Seat(0)).parse(0, &state.legal_list(0), "tell green").unwrap();
    state.play(0, green).unwrap();
    assert_eq!(near(&*bot, &*state, 1, 0, &draw), 5 + 2);
}

#[test]
fn last_life_is_not_risked_on_unplayable_card() {
    for table in ["hanabi(max_life_tokens=1)", "hanabi(preset=llmarena)", "hanabi(players=4,max_life_tokens=1)"] {
        let g = game(table);
        let hand = g.spec().params["hand_size"].as_u64().unwrap() as u32;
        for bot in HANABI {
            check_bot(&g, bot, 20, |state, seat, a| {
                let Some(slot) = a.checked_sub(hand).filter(|slot| *slot < hand) else { return };
                let view = state.view(Viewer::Seat(seat));
                let seen: &Hanabi = view.as_any().downcast_ref().unwrap();
                let card = &seen.hands[seat][slot as usize];
                let fits = |(c, &height): (char, &u8)| {
                    card.colors.contains(c) && card.ranks.contains(&(height + 1).to_string())
                };
                assert!("RYGWB".chars().zip(&seen.fireworks).any(fits), "{bot} plays {slot}: {}", view.text());
            });
        }
    }
}

fn mean_return(table: &str, bots: &[&str], seeds: u64) -> Vec<f64> {
    let g = game(table);
    let agents = seats(&g, bots);
    let mut sums = vec![0.0; bots.len()];
    for seed in 0..seeds {
        sums.iter_mut().zip(play(&g, &agents, seed).1).for_each(|(sum, r)| *sum += r / seeds as f64);
    }
    sums
}

#[test]
fn convention_bots_outscore_rule_based_bots() {
    let mean = |bot: &str, n: usize| mean_return(&format!("hanabi(players={n})"), &vec![bot; n], 12)[0];
    for n in 2..=5 {
        let means: Vec<f64> = ["internal", "iggi", "conventions"].iter().map(|bot| mean(bot, n)).collect();
        assert!(means[0] > 3.0 && means[1] > means[0] + 4.0 && means[2] > 18.0, "{n}: {means:?}");
    }
}

/// Plays `bot` against an opponent that makes the moves in `other`, and returns the moves of `bot`. Both strings
/// contain one letter, `C` or `D`, per move.
fn against(bot: &str, other: &str) -> String {
    let g = game(&format!("iterated_prisoners_dilemma(num_repetitions={})", other.len()));
    let (agent, draw) = (build(bot, &g).unwrap(), Draw::new(g.id(), 0, 0));
    let mut state = g.start();
    let mut moves = String::new();
    for (turn, other) in other.chars().enumerate() {
        let a = near(&*agent, &*state, 1, turn as u32, &draw);
        moves.push(if a == 1 { 'D' } else { 'C' });
        state.play_together(&[Some(u32::from(other == 'D')), Some(a)]).unwrap();
    }
    moves
}

#[test]
fn classic_strategies_play_as_described_in_the_literature() {
    let other = "CDCDDCCCCC";
    for (bot, moves) in [
        ("tit_for_tat", "CCDCDDCCCC"),
        ("always_cooperate", "CCCCCCCCCC"),
        ("always_defect", "DDDDDDDDDD"),
        ("grim", "CCDDDDDDDD"),
        ("pavlov", "CCDDCDDDDD"),
        ("generous_tit_for_tat generosity=0", "CCDCDDCCCC"),
        ("generous_tit_for_tat generosity=1", "CCCCCCCCCC"),
        ("suspicious_tit_for_tat", "DCDCDDCCCC"),
        ("tit_for_two_tats", "CCCCCDCCCC"),
        // The first defection is punished once. The second, during the two cooperations after a punishment, is only
        // counted. The third is punished three times.
        ("gradual", "CCDCCDDDCC"),
    ] {
        assert_eq!(against(bot, other), moves, "{bot}");
    }
    // Each defection is punished separately: one, two, then three defections follow.
    assert_eq!(against("gradual", "DCCCDCCCCDCCCCCC"), "CDCCCDDCCCDDDCCC");
}

#[test]
fn responder_exploits_weak_strategies() {
    assert_eq!(against("classics_responder", "C"), "D", "the bot defects in the last round");
    assert!(against("classics_responder", &"D".repeat(12)).ends_with("DDDDDD"));
    // A player that never retaliates is exploited, but only once that is known.
    let found = against("classics_responder", &"C".repeat(12));
    assert!(found.starts_with('C') && found.contains('D'), "{found}");
}

#[test]
fn negotiators_accept_any_gain_in_last_turn() {
    for table in ["negotiation", "bargaining", "bargaining(max_turns=2,discount=0.5)"] {
        let g = game(table);
        let agree = if table.starts_with("negotiation") { 216 } else { 120 };
        for bot in NEGOTIATORS.iter().filter(|bot| !bot.contains("reserve")) {
            let mut last = 0;
            check_bot(&g, bot, 15, |state, seat, a| {
                let view = state.view(Viewer::Seat(seat)).value();
                let offers = view.get("offers").or(view.get("proposals")).unwrap().as_array().unwrap().len() as u64;
                let limit = view
                    .get("limit")
                    .map_or(g.spec().params.get("max_turns").map_or(0, |n| n.as_u64().unwrap()), |n| {
                        n.as_u64().unwrap()
                    });
                let asks = state.legal_list(seat)[0] <= agree;
                if asks && offers + 1 == limit {
                    last += 1;
                    assert_eq!(a, agree, "{bot} in {table}: {view}");
                }
            });
            assert!(last > 0, "{bot} never came to the last turn of {table}");
        }
    }
}

#[test]
fn negotiators_agree_in_self_play() {
    for table in ["negotiation", "bargaining"] {
        let g = game(table);
        for bot in NEGOTIATORS.iter().filter(|bot| !bot.contains("reserve")) {
            let agents = seats(&g, &[bot, bot]);
            let agreed = (0..20).filter(|&seed| play(&g, &agents, seed).1.iter().sum::<f64>() > 0.0).count();
            assert!(agreed >= 18, "{bot} in {table}: {agreed} of 20");
        }
    }
}

#[test]
fn negotiator_states_its_true_values() {
    let g = game("negotiation(instance=2 3 4;10 5 0;7 6 1;6)");
    let (bot, draw) = (build("time_dependent", &g).unwrap(), Draw::new(g.id(), 0, 0));
    let mut state = g.start();
    let offer = near(&*bot, &*state, 0, 0, &draw);
    assert_eq!(state.view(Viewer::Seat(0)).action_text(0, offer), "Proposal: [2, 3, 0]", "worthless items are offered");
    state.play(0, offer).unwrap();
    let words = near(&*bot, &*state, 0, 1, &draw);
    assert_eq!(state.view(Viewer::Seat(0)).action_text(0, words), ", Utterance: [4, 2, 0]");
}

/// Returns the share of games that `bot` wins as the undercover player against four `others`. In LLMArena's preset, the
/// undercover player has the last seat.
fn undercover_wins(bot: &str, others: &str, games: u64) -> f64 {
    let g = game("undercover(preset=llmarena)");
    let agents = seats(&g, &[others, others, others, others, bot]);
    (0..games).filter(|&seed| play(&g, &agents, seed).1[4] > 0.0).count() as f64 / games as f64
}

#[test]
fn fitting_clues_reduce_undercover_detection() {
    let [fits, strays] = ["stock_speaker", "random"].map(|bot| undercover_wins(bot, "stock_speaker", scaled(1_000)));
    assert!(fits > strays + 0.1 || scaled(1_000) < 200, "{fits} {strays}");
}

#[test]
fn rule_maker_accepts_only_fair_rules() {
    let g = game("free_style");
    let (bot, draw) = (build("rule_maker", &g).unwrap(), Draw::new(g.id(), 0, 0));
    let mut state = g.start();
    assert!(near(&*bot, &*state, 0, 0, &draw) < 3, "it proposes a built-in document");
    state.play(0, 0).unwrap();
    assert_eq!(near(&*bot, &*state, 1, 0, &draw), 3, "four in line is fair to both");
    // Four corners never form a line.
    let rules = serde_json::json!({ "fsr": 1, "name": "unfair", "board": 5, "ply_cap": 25, "kinds": [{ "id": "s" }],
        "actions": [{ "do": "place", "kind": "s", "by": { "0": "all", "1": "corner" } }, { "do": "pass", "when": "stuck" }],
        "end": [{ "if": "line", "len": 3, "then": "win" }] });
    let mut state = g.start();
    let heard = state.parse_move(0, &Move::Document(serde_json::json!({ "act": "propose", "rules": rules })));
    let Ok(ParsedMove::Document(said)) = heard else { panic!("{heard:?}") };
    state.play_document(0, &said).unwrap();
    assert!(near(&*bot, &*state, 1, 0, &draw) < 3, "it counters");
}

#[test]
fn rule_maker_plays_winning_moves_and_blocks_threats() {
    let g = game("free_style(rules=F0)");
    let (bot, draw) = (build("rule_maker", &g).unwrap(), Draw::new(g.id(), 0, 0));
    let place = |cell: Action| 6 + cell * 26;
    // Seat 1 moves first; it has a1, b1, c1, and seat 0 has a5, b5, c5.
    let state = after(&g, &[0, 20, 1, 21, 2, 22].map(place));
    assert_eq!(near(&*bot, &*state, 1, 3, &draw), place(3));
    let state = after(&g, &[0, 20, 1, 21, 2].map(place));
    assert_eq!(near(&*bot, &*state, 0, 2, &draw), place(3));
}
