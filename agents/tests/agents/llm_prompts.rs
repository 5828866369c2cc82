//! Tests of `llm` prompts without an endpoint: complete for every game and method, and without hidden information.

use ludex_agents::AgentSpec;
use ludex_agents::llm::{calls_per_move, prompt, prompt_digest, render, typical_out_tokens};
use ludex_env::{
    AgentKey, Draw, DynState, GameRef, MoveRequest, Mover, ObservedMove, Outcomes, PriorAttempt, Stream, ToMove, Viewer,
};

use ludex_protocol::Move;
use ludex_protocol::call::{ChatMessage, ChatRole};

use crate::common::game;

const METHODS: [&str; 7] = ["prompt", "cot", "parts", "chat", "sc_cot", "tot", "self_refine"];

/// Plays this many random moves, and then any chance events up to the next move. Returns the position and its history.
fn walk(game: &GameRef, seed: u64, moves: usize) -> (Box<dyn DynState>, Vec<ObservedMove>) {
    (seed..seed + 100).find_map(|seed| walked(game, seed, moves)).expect("not every game is over at once")
}

fn walked(game: &GameRef, seed: u64, moves: usize) -> Option<(Box<dyn DynState>, Vec<ObservedMove>)> {
    let mut rng = Stream::from_text(&format!("ludex.v1:test:prompts:{seed}"));
    let (mut state, mut draw, mut past) = (game.start(), Draw::new(game.id(), seed, 0), Vec::new());
    let (mut outcomes, mut made) = (Outcomes::new(), 0);
    loop {
        let before = state.boxed();
        match state.turn() {
            ToMove::Over => return None,
            ToMove::Chance => {
                state.chance(&mut outcomes);
                let a = draw.pick(&outcomes).unwrap();
                past.push(ObservedMove {
                    by: Mover::Chance,
                    action: before.seen(Viewer::Seat(0), Mover::Chance, a).action,
                    text: String::new(),
                    reveals: Vec::new(),
                });
                state.play_chance(a).unwrap();
            }
            _ if made == moves => return Some((state, past)),
            ToMove::Seat(seat) => {
                let a = state.random_action(seat, &mut rng);
                let by = Mover::Seat(seat);
                past.push(ObservedMove {
                    by,
                    action: before.seen(Viewer::Seat(0), by, a).action,
                    text: String::new(),
                    reveals: Vec::new(),
                });
                state.play(seat, a).unwrap();
                made += 1;
            }
            ToMove::Simultaneous(seats) => {
                let mut joint = vec![None; game.spec().players as usize];
                for seat in seats.iter() {
                    let a = state.random_action(seat, &mut rng);
                    joint[seat] = Some(a);
                    past.push(ObservedMove {
                        by: Mover::Seat(seat),
                        action: Some(a),
                        text: String::new(),
                        reveals: Vec::new(),
                    });
                }
                state.play_together(&joint).unwrap();
                made += 1;
            }
        }
    }
}

/// Returns the messages of the first call for the seat to move.
fn messages(spec: &str, game: &GameRef, state: &dyn DynState, past: &[ObservedMove]) -> Vec<ChatMessage> {
    let seat = state.turn().seats().iter().next().unwrap();
    let legal = state.legal_list(seat);
    let attempts = [PriorAttempt {
        given: Some(Move::Text("nonsense".into())),
        why: "it names nothing".into(),
        issues: Vec::new(),
    }];
    let key = [0; 32];
    let ask =
        MoveRequest::on_state(state, seat, 1, &legal, AgentKey::Own(&key)).with_history(past).with_attempts(&attempts);
    render(&AgentSpec::parse(spec).unwrap(), game, &ask).unwrap()
}

fn all(spec: &str, game: &GameRef, state: &dyn DynState, past: &[ObservedMove]) -> String {
    let parts: Vec<String> = messages(spec, game, state, past).into_iter().map(|m| m.content).collect();
    parts.join("\n\n")
}

#[test]
fn prompts_are_complete_for_every_game_and_method() {
    for entry in ludex_games::games() {
        let game = game(entry.info.id);
        let (state, past) = walk(&game, 1, 1);
        let seat = state.turn().seats().iter().next().unwrap();
        let view = state.view(Viewer::Seat(seat));
        for method in METHODS {
            for more in ["", "format=text", "emotion=true", "emotion=true format=text", "template=user", "history=3"] {
                if method == "chat" && more == "template=user" {
                    continue;
                }
                let spec = format!("llm model=m prompting={method} {more}");
                let said = messages(&spec, &game, &*state, &past);
                let roles: Vec<ChatRole> = said.iter().map(|m| m.role).collect();
                let expected: &[ChatRole] =
                    if more == "template=user" { &[ChatRole::User] } else { &[ChatRole::System, ChatRole::User] };
                assert_eq!(roles, expected);
                let text = said.iter().map(|m| m.content.as_str()).collect::<Vec<_>>().join("\n\n");
                let name = &game.spec().seats[seat];
                let who = format!("You are {name}, and it is your turn");
                let needed = [
                    "## The rules",
                    "## How moves are written",
                    "## How a position is written",
                    "\nLegal moves",
                    "nonsense: it names nothing",
                ];
                for part in
                    needed.into_iter().chain([who.as_str(), entry.info.title, view.drawing(Viewer::Public).trim()])
                {
                    assert!(text.contains(part), "{spec}, {}: {part:?} is missing in\n{text}", entry.info.id);
                }
                assert_eq!(text.contains("desperate"), more.starts_with("emotion") && method != "tot", "{text}");
                assert_eq!(text.contains("## Your answer"), method != "tot", "{text}");
                for unwanted in ["{{", "{%", "\n\n\n", "policy `default`"] {
                    assert!(!text.contains(unwanted), "{spec}, {}: {unwanted:?} in\n{text}", entry.info.id);
                }
                // Parsing the list gives the legal moves.
                if more.is_empty() {
                    let list = text.split("\nLegal moves").nth(1).unwrap().split("\n\n").next().unwrap();
                    for a in state.legal_list(seat) {
                        let move_text = view.action_text(seat, a);
                        assert!(
                            list.contains(move_text.trim_start_matches([',', ' ']))
                                || list.contains("every whole number"),
                            "{move_text} in {list}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn prompt_contains_no_hidden_information() {
    for entry in ludex_games::games() {
        let game = game(entry.info.id);
        for moves in 0..=1 {
            let (state, _) = walk(&game, 7, moves);
            let seat = state.turn().seats().iter().next().unwrap();
            let world = state.view(Viewer::Seat(seat)).world(&mut Stream::from_text("ludex.v1:test:world"));
            let told = all("llm model=m", &game, &*state, &[]);
            assert_eq!(told, all("llm model=m", &game, &*world, &[]), "{}", entry.info.id);
        }
    }
}

#[test]
fn optional_prompt_parts_can_be_omitted() {
    let game = game("connect_four");
    let (state, past) = walk(&game, 3, 4);
    let text = |args: &str| all(&format!("llm model=m {args}"), &game, &*state, &past);
    assert!(!text("legal=false").contains("Legal moves:\n"));
    assert!(!text("rules=none").contains("## The rules"));
    let short = text("rules=short");
    assert!(short.contains("## The rules") && short.contains("## How moves are written"));
    let chess = crate::common::game("chess");
    let (begun, before) = walk(&chess, 2, 4);
    let of_chess = |args: &str| all(&format!("llm model=m {args}"), &chess, &*begun, &before).len();
    assert!(of_chess("rules=short") < of_chess(""), "short rules are the first paragraph");
    assert!(text("hints=true").contains("## Advice") && !text("").contains("## Advice"));
    let swapped = text("swap=true");
    assert!(swapped.contains("exchanged") && swapped != text(""));
    let history = text("history=2");
    assert!(history.contains("The last moves, oldest first:\n1. x: x") && !history.contains("\n3. "), "{history}");
    let variants: std::collections::BTreeSet<String> =
        (0..5).map(|k| text(&format!("prompting=cot variant={k}"))).collect();
    assert_eq!(variants.len(), 5);
}

#[test]
fn history_describes_each_move_in_its_position() {
    let game = game("chess");
    let (state, past) = walk(&game, 5, 6);
    let text = all("llm model=m history=100", &game, &*state, &past);
    let lines: Vec<&str> = text.split("oldest first:\n").nth(1).unwrap().lines().take(6).collect();
    assert_eq!(lines.len(), 6);
    let mut replay = game.start();
    for (k, (line, p)) in lines.iter().zip(&past).enumerate() {
        let (Mover::Seat(seat), Some(a)) = (p.by, p.action) else { panic!("chess has no chance") };
        let name = replay.view(Viewer::Seat(seat)).action_text(seat, a);
        assert_eq!(*line, format!("{}. {}: {name}", k + 1, game.spec().seats[seat]));
        replay.play(seat, a).unwrap();
    }
}

#[test]
fn unsupported_prompt_variants_are_refused() {
    let spec = |args: &str| AgentSpec::parse(&format!("llm model=m {args}")).unwrap();
    for (args, id, name) in
        [("hints=true", "hanabi", "hints"), ("swap=true", "chess", "swap"), ("swap=true", "pig", "swap")]
    {
        let e = prompt_digest(&spec(args), &game(id)).unwrap_err();
        assert_eq!(e.path.as_deref(), Some(name), "{e}");
        assert!(e.message.contains(id), "{e}");
    }
    assert!(AgentSpec::parse("llm model=m top_p=1").is_err(), "unknown fields belong in `extra`");
}

#[test]
fn prompt_digest_is_independent_of_the_model() {
    let digest =
        |args: &str, id: &str| prompt_digest(&AgentSpec::parse(&format!("llm {args}")).unwrap(), &game(id)).unwrap();
    let plain = digest("model=a", "nim");
    assert_eq!(plain.len(), 64);
    assert_eq!(plain, digest("model=b base_url=http://h/v1 timeout=3 retries=1 rpm=9", "nim"));
    for args in
        ["prompting=cot", "legal=false", "rules=short", "history=1", "emotion=true", "format=text", "hints=true"]
    {
        assert_ne!(plain, digest(&format!("model=a {args}"), "nim"), "{args}");
    }
    assert_ne!(plain, digest("model=a", "pig"));
    assert_ne!(plain, digest("model=a", "nim(is_misere=false)"));
}

#[test]
fn number_of_calls_is_forecast_without_endpoint() {
    let spec = |args: &str| AgentSpec::parse(&format!("llm model=m {args}")).unwrap();
    for (args, calls) in [
        ("", 1.0),
        ("prompting=sc_cot n=7", 7.0),
        ("prompting=tot width=2 votes=1", 6.0),
        ("prompting=self_refine", 3.0),
    ] {
        assert_eq!(calls_per_move(&spec(args)).unwrap(), calls, "{args}");
    }
    assert!(typical_out_tokens(&spec("prompting=cot")).unwrap() > typical_out_tokens(&spec("")).unwrap());
    assert_eq!(typical_out_tokens(&spec("max_tokens=5")).unwrap(), 5.0);
    assert!(calls_per_move(&AgentSpec::parse("random").unwrap()).is_err());
}

#[test]
fn history_contains_free_text() {
    let spec = AgentSpec::parse("llm model=none history=4").unwrap();
    let talk = game("bargaining(preset=llmarena)");
    let mut state = talk.start();
    let mut moves = Vec::new();
    while state.turn() == ToMove::Chance {
        let mut outcomes = Outcomes::new();
        state.chance(&mut outcomes);
        let outcome = outcomes.items()[0].0;
        state.play_chance(outcome).unwrap();
        moves.push(serde_json::json!([-1, outcome]));
    }
    moves.push(serde_json::json!([0, {"document": {"offer": [0, 0, 0], "say": "Take it all."}}]));
    let question = serde_json::from_value(serde_json::json!({ "h": moves })).unwrap();
    let told = prompt(&spec, &talk, &question).unwrap();
    let question = serde_json::to_string(&told.messages).unwrap();
    let history = question.split("The last moves, oldest first:").nth(1).unwrap();
    assert!(history.contains("1. p0: says: \\\"Take it all.\\\" Offer: "), "{history}");
}

#[test]
fn prompt_preview_equals_match_prompt() {
    let spec = AgentSpec::parse("llm model=none history=4").unwrap();
    let kuhn = game("kuhn_poker");
    let question = |text: &str| serde_json::from_str(text).unwrap();
    let told = prompt(&spec, &kuhn, &question(r#"{"h": [[-1, 2], [-1, 0], [0, 1]]}"#)).unwrap();
    assert_eq!((told.seat, &told.legal[..], told.names.len()), (1, &[0, 1][..], 2));
    let mut state = kuhn.start();
    for outcome in [2, 0] {
        state.play_chance(outcome).unwrap();
    }
    state.play(0, 1).unwrap();
    let legal = state.legal_list(1);
    let past = [
        ObservedMove { by: Mover::Chance, action: None, text: String::new(), reveals: Vec::new() },
        ObservedMove { by: Mover::Chance, action: Some(0), text: String::new(), reveals: Vec::new() },
        ObservedMove { by: Mover::Seat(0), action: Some(1), text: String::new(), reveals: Vec::new() },
    ];
    let ask = MoveRequest::on_state(&*state, 1, 0, &legal, AgentKey::Own(&[0; 32])).with_history(&past);
    assert_eq!(told.messages, render(&spec, &kuhn, &ask).unwrap());

    for (wrong, said) in [
        (r#"{"h": [[0, 1]]}"#, "move 0: mover 0 is not to move"),
        (r#"{"h": [[-1, 7]]}"#, "move 0"),
        (r#"{"h": [[-1, 2], [-1, 0]], "seat": 1}"#, "seat 1 is not to move"),
        (r#"{"h": [[-1, 2]]}"#, "no seat is to move"),
    ] {
        let refusal = prompt(&spec, &kuhn, &question(wrong)).unwrap_err();
        assert!(refusal.message.contains(said), "{wrong}: {}", refusal.message);
    }
    let dilemma = prompt(
        &spec,
        &game("iterated_prisoners_dilemma(num_repetitions=3)"),
        &question(r#"{"h": [[-2, [0, 1]]], "seat": 1}"#),
    );
    assert_eq!(dilemma.unwrap().seat, 1);
}

#[test]
fn prompt_mentions_simultaneous_moves() {
    for (id, together) in [("battle_cards", true), ("iterated_prisoners_dilemma", true), ("undercover", false)] {
        let game = game(id);
        let (state, _) = walk(&game, 1, 0);
        let text = all("llm model=m", &game, &*state, &[]);
        assert_eq!(text.contains("; all who move now move at the same time"), together, "{id}");
    }
}

#[test]
fn prompt_explains_lines_that_stand_for_many_moves() {
    let told = |id: &str| {
        let game = game(id);
        let (state, _) = walk(&game, 1, 0);
        all("llm model=m", &game, &*state, &[]).contains("stands for many moves")
    };
    assert!(told("negotiation") && !told("tic_tac_toe"));
}

#[test]
fn manual_depends_on_parameters() {
    let told = |text: &str| {
        let game = game(text);
        let (state, _) = walk(&game, 1, 0);
        all("llm model=m", &game, &*state, &[])
    };
    let two = told("hanabi(colors=2,hand_size=2)");
    assert!(two.contains("\"may be RY 2\""), "{two}");
    assert!(
        told("mcr_mahjong(flowers=true,wall=common)").contains("Flower Tiles")
            && !told("mcr_mahjong").contains("Flower Tiles")
    );
    for (id, words) in [
        ("tower_defense", "same_cell"),
        ("battle_cards", "bad_priority"),
        ("elemental_duel", "wrong_element"),
        ("free_style", "empty_or_opp_lower_eq"),
        ("leduc_poker", "has spoken"),
        ("negotiation", "The last proposal cannot be accepted"),
    ] {
        assert!(told(id).contains(words), "{id}: {words}");
    }
    // Sentences of the page have no line breaks of their own.
    assert!(told("elemental_duel").contains("Each uses its next skill of three, again and again."));
}

#[test]
fn prompt_explains_exchanged_rows_and_columns() {
    let game = game("connect_four");
    let (state, _) = walk(&game, 3, 4);
    let text = all("llm model=m swap=true", &game, &*state, &[]);
    assert!(
        text.contains("This is the usual drawing. But in your question its rows and columns are exchanged"),
        "{text}"
    );
}
