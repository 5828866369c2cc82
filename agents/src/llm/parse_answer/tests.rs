use ludex_env::{AgentKey, Viewer};
use ludex_games::load;

use super::*;

/// Parses `answer` as a reply in the initial position of a game. Returns the verdict and the text of the move.
fn first(game: &str, answer: &str) -> (&'static str, Option<String>) {
    let game = load(game).unwrap();
    let state = game.start();
    let seat = state.turn().seat().unwrap();
    let legal = state.legal_list(seat);
    let view = state.view(Viewer::Seat(seat));
    let ask = MoveRequest::on_view(&*view, seat, 0, &legal, AgentKey::Own(&[0; 32]));
    let reading = read(&ask, &*view, None, answer, None);
    (reading.verdict, reading.read)
}

#[test]
fn last_valid_move_is_parsed() {
    let read = |answer| first("tic_tac_toe", answer).1;
    for answer in [
        "x(1,1)",
        "Answer: x(1,1)",
        "**Answer:** `x(1,1)`.",
        "Answer: x(0,0)\nNo, better:\nAnswer: x(1,1)",
        "Answer: x(1,1)\nAnswer: x(7,7)",
        r#"{"reason": "Answer: x(0,0)", "move": "x(1,1)"}"#,
        "Sure:\n```json\n{\"move\": \"x(1,1)\"}\n```\nGood luck!",
        r#"{"move": "x(0,0)"} or rather {"move": "x(1,1)"}"#,
        "My move: x(1,1) (the centre)",
        "Final answer:\n\nx(1,1)",
        "ANSWER: <x(1,1)>",
        "{broken {\"move\": 4}",
        "I take the centre.\nx(1,1)",
        "Action: b2 - it is the centre",
    ] {
        assert_eq!(read(answer).as_deref(), Some("x(1,1)"), "{answer}");
    }
}

/// Checks that a reply of many labels, boxes and unclosed braces is still read at its end, where only the last of them count.
#[test]
fn last_candidates_of_a_long_reply_count() {
    for noise in ["move: ", "\\boxed{", "{\"a\":", "{"] {
        let answer = format!("{}\nAnswer: x(1,1)", noise.repeat(3_000));
        assert_eq!(first("tic_tac_toe", &answer).1.as_deref(), Some("x(1,1)"), "{noise}");
    }
    assert_eq!(labelled(&"move: a\n".repeat(100), "move").count(), CANDIDATES);
    assert_eq!(boxed(&"\\boxed{a} ".repeat(100)).count(), CANDIDATES);
    let braces = "{".repeat(BRACES + 1) + "{\"move\": 1}";
    assert_eq!((objects(&braces).len(), objects(&braces[2..]).len()), (0, 1));
}

#[test]
fn replies_without_legal_move_get_expected_verdict() {
    let verdict = |answer| first("tic_tac_toe", answer).0;
    assert_eq!(verdict(""), "empty");
    assert_eq!(verdict("I would rather not say what I think about it, as it is a difficult position."), "unparsed");
    assert_eq!(verdict("Answer: o(1,1)"), "unparsed");
    assert_eq!(verdict("Remove: x(1,1) is what I would do first of all in such a position, I think."), "unparsed");
}

#[test]
fn documents_and_free_text_are_moves_if_game_accepts_them() {
    let game = load("bargaining(talk=true)").unwrap();
    let mut state = game.start();
    let mut draw = ludex_env::Draw::new(game.id(), 0, 0);
    let mut outcomes = ludex_env::Outcomes::new();
    while state.turn() == ludex_env::ToMove::Chance {
        state.chance(&mut outcomes);
        state.play_chance(draw.pick(&outcomes).unwrap()).unwrap();
    }
    let legal = state.legal_list(0);
    let view = state.view(Viewer::Seat(0));
    let ask = MoveRequest::on_view(&*view, 0, 0, &legal, AgentKey::Own(&[0; 32]));
    for answer in [
        r#"{"move": {"offer": [0, 0, 0], "say": "Take it."}}"#,
        r#"I offer: {"offer": [0, 0, 0], "say": "Take it."}"#,
        "Answer: Take it. player_0: 0 books 0 hats 0 basketballs",
    ] {
        let reading = read(&ask, &*view, None, answer, None);
        let said = serde_json::json!({"offer": [0, 0, 0], "say": "Take it."});
        assert_eq!(reading.mv, Some(Move::Document(said)), "{answer}");
    }
}

/// Checks that a refused document reaches the rules unchanged, so that they can list its issues.
#[test]
fn invalid_document_is_submitted_whole() {
    let game = load("bargaining(talk=true)").unwrap();
    let mut state = game.start();
    while state.turn() == ludex_env::ToMove::Chance {
        let mut outcomes = ludex_env::Outcomes::new();
        state.chance(&mut outcomes);
        state.play_chance(outcomes.items()[0].0).unwrap();
    }
    let legal = state.legal_list(0);
    let view = state.view(Viewer::Seat(0));
    let ask = MoveRequest::on_view(&*view, 0, 0, &legal, AgentKey::Own(&[0; 32]));
    let document = serde_json::json!({"offer": [70, 0, 0], "say": "More for me. ".repeat(20)});
    let answer = format!("I offer this:\n```json\n{document}\n```");
    let reading = read(&ask, &*view, None, &answer, None);
    assert_eq!((reading.verdict, reading.into_move()), ("illegal", Move::Document(document.clone())));
    let refusal = state.parse_move(0, &Move::Document(document)).unwrap_err();
    assert_eq!(refusal.issues[0].path, "/offer/0");
    // Games without documents are unaffected.
    assert_eq!(first("tic_tac_toe", r#"{"offer": "all"}"#).0, "unparsed");
}

#[test]
fn move_outside_the_legal_list_is_illegal() {
    let state = load("tic_tac_toe").unwrap().start();
    let view = state.view(Viewer::Seat(0));
    let ask = MoveRequest::on_view(&*view, 0, 0, &[0, 1], AgentKey::Own(&[0; 32]));
    let reading = read(&ask, &*view, None, "Answer: x(1,1)", None);
    assert_eq!((reading.verdict, reading.mv), ("illegal", None));
}

/// Checks malformed replies in every game: they cause no panic and yield no move that the rules would refuse.
#[test]
fn malformed_replies_are_not_moves() {
    let odd = [
        "",
        NOTHING,
        "{",
        "{}",
        "{\"move\": null}",
        "{\"move\": []}",
        "Answer:",
        "Move: \u{1f600}",
        "-1",
        "999999999999",
    ];
    for entry in ludex_games::games() {
        let game = load(entry.info.id).unwrap();
        // A clue in Undercover may be any line.
        let speech = entry.info.id == "undercover";
        let (mut state, mut draw) = (game.start(), ludex_env::Draw::new(game.id(), 0, 0));
        let mut outcomes = ludex_env::Outcomes::new();
        while state.turn() == ludex_env::ToMove::Chance {
            state.chance(&mut outcomes);
            state.play_chance(draw.pick(&outcomes).unwrap()).unwrap();
        }
        let seat = state.turn().seats().iter().next().unwrap();
        let legal = state.legal_list(seat);
        let view = state.view(Viewer::Seat(seat));
        let ask = MoveRequest::on_view(&*view, seat, 0, &legal, AgentKey::Own(&[0; 32]));
        for answer in odd {
            let reading = read(&ask, &*view, None, answer, None);
            let given = match reading.into_move() {
                Move::Id(a) => Move::Id(a),
                _ if speech => continue,
                said => {
                    assert!(
                        state.parse_move(seat, &said).is_err(),
                        "{}: {answer:?} was read as {said:?}",
                        entry.info.id
                    );
                    continue;
                }
            };
            assert!(state.parse_move(seat, &given).is_ok());
        }
        assert!(state.parse_move(seat, &Move::Text(NOTHING.into())).is_err(), "{}", entry.info.id);
        let text = view.action_text(seat, legal[0]);
        assert_eq!(
            read(&ask, &*view, None, &format!("Answer: {text}"), None).mv,
            Some(Move::Id(legal[0].into())),
            "{text}"
        );
        let json = serde_json::json!({ "move": text }).to_string();
        let given = read(&ask, &*view, None, &json, None).mv;
        // If objects count as documents, a value in them need not be parsed as a move.
        let named = given == Some(Move::Id(legal[0].into()));
        assert!(named || given.is_none() && state.schema(seat).is_some(), "{text}: {given:?}");
    }
}

#[test]
fn vote_and_emotion_parsers_accept_common_forms() {
    assert_eq!(vote("I compared them.\nBest: 2", 3), Some(2));
    assert_eq!(vote("The best choice is 3.", 3), Some(3));
    assert_eq!(vote("Best: 4", 3), None);
    assert_eq!(vote("none", 3), None);
    for (text, expected) in
        [("B", Some('B')), ("c (Peaceful)", Some('C')), ("Happy", None), ("F", None), ("Emotion: D", Some('D'))]
    {
        assert_eq!(emotion(text), expected, "{text}");
    }
}

#[test]
fn notes_are_parsed_from_json_and_labels() {
    let note = |answer: &str, name: &str| note(answer, &objects(answer), name);
    assert_eq!(note(r#"{"analysis": "fine", "move": "x"}"#, "analysis").as_deref(), Some("fine"));
    assert_eq!(note("Emotion: A\nAnalysis: I am lost.\nAnswer: x", "analysis").as_deref(), Some("I am lost."));
}

/// Checks replies that a person would understand. Replies without a game name are for tic-tac-toe.
#[test]
fn moves_are_parsed_from_replies_in_many_styles() {
    let board: &[(&str, &str)] = &[
        // Spaces and case.
        ("Answer: x(0, 0)", "x(0,0)"),
        ("Answer: x (0,0)", "x(0,0)"),
        ("Answer: x( 0 , 0 )", "x(0,0)"),
        ("Answer: X(1,2)", "x(1,2)"),
        ("answer - X(1,2)", "x(1,2)"),
        ("ANSWER = X(1, 2)", "x(1,2)"),
        ("**Answer**: **X(1, 2)**", "x(1,2)"),
        ("Answer: `x(2, 1)`", "x(2,1)"),
        ("Answer: \"x(2, 1)\"", "x(2,1)"),
        ("Answer: x(2, 1) (the edge)", "x(2,1)"),
        ("Action: x(0, 2).", "x(0,2)"),
        ("Move: x(0, 2), because it blocks", "x(0,2)"),
        // LaTeX boxes.
        ("\\boxed{x(1,1)}", "x(1,1)"),
        ("\\boxed{\\text{x(1,1)}}", "x(1,1)"),
        ("The best is $\\boxed{x(1, 1)}$.", "x(1,1)"),
        ("Final: \\boxed{\\mathrm{x(1,1)}}", "x(1,1)"),
        ("I looked at \\boxed{x(0,0)} first, but it is \\boxed{x(1,1)}", "x(1,1)"),
        ("$$\\boxed{\\texttt{x(1,1)}}$$", "x(1,1)"),
        // Other languages, and sentences.
        ("Antwort: x(1,1)", "x(1,1)"),
        ("\u{7b54}\u{6848}:x(1,1)", "x(1,1)"),
        ("\u{7b54}\u{6848}\u{ff1a}x(1,1)", "x(1,1)"),
        ("\u{6211}\u{9009}\u{62e9}x(1,1)\u{3002}", "x(1,1)"),
        ("Mon coup est x(1,1).", "x(1,1)"),
        ("Respuesta: x(1, 1)", "x(1,1)"),
        ("Risposta finale: x(1,1)!", "x(1,1)"),
        ("Resposta: **x(1,1)**", "x(1,1)"),
        ("\u{41e}\u{442}\u{432}\u{435}\u{442}: x(1,1)", "x(1,1)"),
        ("I will play x(1,1) now.", "x(1,1)"),
        ("My choice is x(1, 1), the centre of the board.", "x(1,1)"),
        ("Let us think.\nThe centre is free.\nSo: x(1,1)", "x(1,1)"),
        ("I choose x(1,1) over the corners: it has more lines.", "x(1,1)"),
        ("-> x(1,1)", "x(1,1)"),
        ("=> x(1,1) <=", "x(1,1)"),
        ("1. x(1,1)", "x(1,1)"),
        ("- x(1,1)", "x(1,1)"),
        ("> x(1,1)", "x(1,1)"),
        // Other JSON shapes.
        (r#"{"reasoning": "the corner", "best_move": "x(0,2)"}"#, "x(0,2)"),
        (r#"{"move": {"text": "x(0,0)"}}"#, "x(0,0)"),
        (r#"{"move": ["x(0,0)"]}"#, "x(0,0)"),
        (r#"{"action": {"type": "place", "at": "x(0, 0)"}}"#, "x(0,0)"),
        (r#"{"final_answer": "X(0, 0)", "confidence": 0.9}"#, "x(0,0)"),
        ("```json\n{\"choice\": \"x(0,0)\"}\n```", "x(0,0)"),
        (r#"Here it is: {"next": "x(0,0)", "why": "corner"} Enjoy!"#, "x(0,0)"),
        (r#"{"thought": "x(1,1) is taken soon", "move": "x(0, 1)"}"#, "x(0,1)"),
        // Reasoning.
        ("<think>x(0,0)? No.</think>x(1,1)", "x(1,1)"),
        ("<think>\nAnswer: x(0,0)\n</think>\n\nAnswer: x(1,1)", "x(1,1)"),
        ("so x(0,0) is bad</think>\nx(1,1)", "x(1,1)"),
        ("<think>hm</think> I go for x(1, 1).", "x(1,1)"),
    ];
    let elsewhere: &[(&str, &str, &str)] = &[
        ("connect_four", "I drop my disc into column x3.", "x3"),
        ("connect_four", "Answer: X3", "x3"),
        ("chess", "Answer: nf3", "Nf3"),
        ("chess", "I play Nf3.", "Nf3"),
        ("chess", "\\boxed{\\text{e4}}", "e4"),
        ("chess", "Mein Zug: e4", "e4"),
        ("breakthrough", "Answer: A7A6", "a7a6"),
        ("breakthrough", "Mon coup : a7 a6", "a7a6"),
        ("tic_tac_toe", "x(0,0) or x(1,1)", "-"),
        ("tic_tac_toe", "I would not play.", "-"),
        ("tic_tac_toe", "x(7,7)", "-"),
        ("tic_tac_toe", "<think>Answer: x(1,1)", "-"),
    ];
    let all = board.iter().map(|(answer, read)| ("tic_tac_toe", *answer, *read)).chain(elsewhere.iter().copied());
    let all: Vec<_> = all.collect();
    assert_eq!(all.len(), 60);
    let mut wrong = Vec::new();
    for (game, answer, wanted) in all {
        let (verdict, read) = first(game, answer);
        if read.as_deref().unwrap_or("-") != wanted {
            wrong.push(format!("{game}: {answer}: {verdict}, {read:?}, not {wanted}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn reasoning_is_separated_from_answer() {
    for (answer, thought) in [
        ("<think>hm</think>x", Some("hm")),
        ("hm</think>x", Some("hm")),
        ("<think>hm", Some("hm")),
        ("<think></think>x", None),
        ("x", None),
        ("</think><think>", None),
    ] {
        assert_eq!(thoughts(answer), thought, "{answer}");
    }
}
