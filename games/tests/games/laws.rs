//! Checks of all game laws for every registered game, with defaults, each preset and further parameters.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use ludex_env::{DynState, Stream, ToMove, Unit, Viewer, check};
use ludex_protocol::Move;
use serde_json::{Value, json};

use crate::common::offers::{Offers, offers, propose};

/// Game strings that are checked in addition to defaults and presets.
const MORE: &[&str] = &[
    "connect_four(rows=4,columns=4,x_in_row=3,egocentric_obs_tensor=true)",
    "connect_four(rows=1,columns=2,x_in_row=2)",
    "connect_four(rows=4,columns=15)",
    "breakthrough(rows=2,columns=2)",
    "breakthrough(rows=4,columns=26)",
    "breakthrough(rows=11,columns=11)",
    "nim(pile_sizes=1)",
    "nim(pile_sizes=2;0;11,is_misere=false)",
    "nim(pile_sizes=[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16])",
    "gomoku(size=19,connect=3,overline=nothing)",
    "gomoku(size=1,connect=1)",
    "mnk(m=4,n=4,k=4)",
    "kuhn_poker(players=3)",
    "kuhn_poker(players=10)",
    "iterated_prisoners_dilemma(max_game_length=3,termination_probability=0.3,recall=5)",
    "iterated_prisoners_dilemma(termination_probability=0,max_game_length=200)",
    "iterated_prisoners_dilemma(termination_probability=1)",
    "iterated_prisoners_dilemma(preset=years,num_repetitions=7,recall=7)",
    "iterated_prisoners_dilemma(num_repetitions=150,payoffs=[3.5,-1,2,0.25])",
    "go(board_size=9)",
    "go(board_size=2,komi=0,max_game_length=60,superko=forbidden)",
    "go(board_size=3,komi=0.5,max_game_length=200,superko=loses)",
    "go(handicap=4,max_game_length=60)",
    "ataxx(max_plies=30,repetition=loses)",
    "leduc_poker(players=3,starting_player=2)",
    "leduc_poker(players=10,suit_isomorphism=true)",
    "leduc_poker(players=4,action_mapping=true)",
    "liars_dice(players=3,numdice=2,dice_sides=4,bidding_rule=reset-quantity)",
    "liars_dice(numdice=5)",
    "liars_dice(players=6,numdice=5,dice_sides=8)",
    "first_sealed_auction(players=10,max_value=3)",
    "first_sealed_auction(max_value=1)",
    "first_sealed_auction(preset=llmarena,players=3,max_value=1)",
    "pig(players=10,winscore=8)",
    "pig(winscore=12,piglet=true,diceoutcomes=2)",
    "pig(players=3,winscore=1000,horizon=40,diceoutcomes=100)",
    "universal_poker",
    "universal_poker(betting=limit,numSuits=2,numRanks=3,raiseSize=200 400,maxRaises=2 2)",
    "texas_holdem(numPlayers=10,blind=0 0 0 0 0 0 0 0 0 0,stack=9 1 30 5 8 70 2 9 4 50,bettingAbstraction=fullgame)",
    "texas_holdem(numPlayers=3,blind=7 15 0,stack=500 400 311,bettingAbstraction=fchpa,hands=3)",
    "texas_holdem(numPlayers=4,bettingAbstraction=rlcard,blind=1 2 0 0,stack=10 60 100 3,randomSeats=true,hands=2)",
    "texas_holdem(betting=limit,stack=35 60,blind=10 5,bettingAbstraction=fullgame)",
    "texas_holdem(bettingAbstraction=botzone,stack=900 400,hands=2,score=blinds)",
    "texas_holdem(bettingAbstraction=fc,numPlayers=6,numHoleCards=3,numBoardCards=0 2 1 1)",
    "hanabi(players=3,max_life_tokens=10)",
    "hanabi(players=5,random_start_player=true)",
    "hanabi(observation_type=seer,max_life_tokens=10)",
    "hanabi(observation_type=minimal,colors=2,ranks=2,hand_size=1)",
    "hanabi(colors=1,max_information_tokens=0,max_life_tokens=10)",
    "negotiation(enable_utterances=false,num_items=1)",
    "negotiation(num_items=4,num_symbols=2,utterance_dim=1)",
    "negotiation(instance=2 3 4;7 1 7;7 6 1;6)",
    "bargaining(prob_end=0.3,discount=0.9,max_turns=4)",
    "bargaining(instance=1 1 3;3 7 0;1 6 1,reward=difference)",
    "free_style(rules=F0)",
    "free_style(rules=F1)",
    "free_style(rules=F2)",
    "free_style(messages=2,first=1,fallback=F2)",
    "undercover(players=3)",
    "undercover(players=10,undercovers=3,guesses=true)",
    "undercover(pair=winter;summer,survive=2)",
];

fn keeps_the_laws(string: &str) {
    let game = ludex_games::load(string).unwrap_or_else(|e| panic!("{string}: {e}"));
    if let Err(faults) = check::game(&game, 0..check::scaled(10)) {
        panic!("{}", faults.join("\n"));
    }
}

#[test]
fn default_games_satisfy_all_laws() {
    for entry in ludex_games::games() {
        keeps_the_laws(entry.info.id);
    }
}

#[test]
fn presets_satisfy_all_laws() {
    for entry in ludex_games::games() {
        // Many presets change nothing; each distinct game is checked once.
        let string = |text: &str| ludex_games::load(text).unwrap().spec().string.clone();
        let mut checked = BTreeSet::from([string(entry.info.id)]);
        for (preset, ..) in entry.info.presets {
            let name = format!("{}(preset={preset})", entry.info.id);
            if checked.insert(string(&name)) {
                keeps_the_laws(&name);
            }
        }
    }
}

#[test]
fn additional_game_strings_satisfy_all_laws() {
    MORE.iter().for_each(|string| keeps_the_laws(string));
}

#[test]
fn game_with_documents_satisfies_all_laws() {
    if let Err(faults) = check::game_with(&offers(""), 0..check::scaled(60), &propose) {
        panic!("{}", faults.join("\n"));
    }
}

#[test]
fn custom_game_loads_like_builtin() {
    let games = ludex_games::builtin().with::<Offers>();
    assert_eq!(games.iter().map(|e| e.info.id).next_back(), Some("offers"));
    assert_eq!(games.iter().count(), ludex_games::builtin().iter().count() + 1);
    assert_eq!(games.load("offers").unwrap().info().page, "# Offers\n");
    assert_eq!(games.load("ofers").err().unwrap().nearest.as_deref(), Some("offers"));
    assert!(games.load("othello").is_ok() && ludex_games::builtin().load("offers").is_err());
    assert_eq!(games.clone().with::<Offers>().iter().count(), games.iter().count(), "each id is registered once");
}

#[test]
fn bargaining_with_text_moves_satisfies_all_laws() {
    let speak = |s: &dyn DynState, seat: usize, rng: &mut Stream| {
        let legal = s.legal_list(seat);
        let a = *legal.get(rng.below(legal.len()))?;
        let text = format!("What about this? player_{seat}: {}", s.view(Viewer::Seat(seat)).action_text(seat, a));
        (rng.below(3) > 0).then_some(Move::Text(text))
    };
    let game = ludex_games::load("bargaining(preset=llmarena,max_turns=6)").unwrap();
    if let Err(faults) = check::game_with(&game, 0..check::scaled(20), &speak) {
        panic!("{}", faults.join("\n"));
    }
}

/// Returns a copy of a valid document with one or two random faults.
fn mutated(good: &Value, rng: &mut Stream) -> Value {
    let mut fields = good.as_object().cloned().unwrap_or_default();
    for _ in 0..1 + rng.below(2) {
        let name = fields.keys().nth(rng.below(fields.len().max(1))).cloned().unwrap_or_default();
        let deep = |n| (0..n).fold(json!(1), |inner, _| json!({ "a": inner }));
        let odd =
            [json!(null), json!(-1), json!(1e308), json!(0.5), json!("x".repeat(5_000)), json!([[], {}]), deep(40)];
        match rng.below(5) {
            0 => drop(fields.remove(&name)),
            1 => drop(fields.insert(format!("{name}/~"), json!(1))),
            2 => fields.extend((0..100).map(|k| (format!("field {k}"), json!(k)))),
            3 if rng.below(2) == 0 => return odd[rng.below(odd.len())].clone(),
            _ => drop(fields.insert(name, odd[rng.below(odd.len())].clone())),
        }
    }
    fields.into()
}

#[test]
fn mutated_documents_are_accepted_or_refused_with_issues() {
    let mut slowest = Duration::ZERO;
    let mut heard = [0, 0];
    let load = |text: &str| ludex_games::load(text).unwrap();
    for (game, documents) in [
        (offers(""), 50_000),
        (load("bargaining(preset=llmarena)"), 50_000),
        (load("undercover(preset=llmarena_guess)"), 20_000),
        (load("free_style"), 20_000),
    ] {
        let mut rng = Stream::from_text(game.id());
        let mut state = game.start();
        let mut left = check::scaled(documents);
        while left > 0 {
            if state.turn() == ToMove::Over {
                state = game.start();
            }
            for seat in state.turn().seats().iter().filter(|&seat| state.schema(seat).is_some()) {
                let good = state.sample(seat, &mut rng).unwrap_or_else(|| json!({ "offer": rng.below(10) }));
                for _ in 0..20 {
                    let given = mutated(&good, &mut rng);
                    let begun = Instant::now();
                    let read = state.parse_move(seat, &Move::Document(given.clone()));
                    slowest = slowest.max(begun.elapsed());
                    heard[usize::from(read.is_ok())] += 1;
                    if let Err(refusal) = read {
                        let sorted = refusal.issues.windows(2).all(|two| two[0].path <= two[1].path);
                        let told = (1..=64).contains(&refusal.issues.len());
                        assert!(told && !refusal.message.is_empty(), "{given}: {refusal:?}");
                        assert!(sorted || refusal.issues.len() == 64, "{given}: {refusal:?}");
                    }
                }
                left = left.saturating_sub(20);
            }
            state.rollout(&mut rng, 1);
        }
    }
    println!("{heard:?} refused and accepted; the slowest verdict took {slowest:?}");
    assert!(heard.iter().all(|&n| n > 0), "{heard:?}");
}

/// The page of each game contains the ladder table of the current anchors.
#[test]
fn ladder_tables_list_current_anchors() {
    for entry in ludex_games::games() {
        let game = ludex_games::load(entry.info.id).unwrap();
        let spec = game.spec();
        // An outdated table names another scale, and its ratings are not used.
        let rated = spec.anchors.iter().filter(|anchor| anchor.rating.is_some()).count();
        let wanted = if matches!(game.info().unit, Unit::Field(_)) { 0 } else { spec.anchors.len() };
        let scale = ludex_env::anchor_ladder::scale(&spec.string, spec.rules, &spec.anchors);
        let there = entry.info.page.contains(&format!("<!-- ladder {scale} -->"));
        assert!(
            there && rated == wanted,
            "{}: the page has no table for the current ladder; run ludex measure-anchors {} --write games/src",
            entry.info.id,
            entry.info.id
        );
    }
}

#[test]
fn planted_flaws_are_detected() {
    const FLAWS: &[(&str, &str)] = &[
        ("early_reward", "before the end"),
        ("bounds", "outside"),
        ("length", "max_length"),
        ("legal_leak", "legal actions"),
        ("order", "ascending"),
        ("names", "two actions have the name"),
        ("hears_illegal", "was refused"),
        ("said_leak", "expected equal events in two states"),
        ("not_canonical", "parsed again"),
        ("forgets_answer", "turn"),
        ("event_leak", "expected equal events in two states"),
        ("text_leak", "expected equal events in two states"),
        ("no_reveal", "expected different events in two states"),
        ("tensor_holes", "over other bytes"),
        ("tensor_leak", "tensor"),
        ("tensor_range", "contains"),
    ];
    for (flaw, word) in FLAWS {
        let faults = check::game_with(&offers(flaw), 0..60, &propose).err().unwrap_or_default().join("\n");
        assert!(faults.contains(word), "the flaw {flaw} was not reported as {word:?}: {faults:?}");
    }
}
