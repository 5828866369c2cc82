//! Chess compared with an independent program: 200 games of python-chess 1.11.2 (`data/oracles/chess.json.gz`, whose
//! header documents its fields). Games of OpenSpiel are in `vectors.rs`.
use ludex_env::{DynState, GameRef, Move, ParsedMove, ToMove, Viewer};
use ludex_games::load;
use ludex_tests::data::{document, histories};
use serde_json::Value;

/// Returns the action id of a move text for the side to move.
fn id(s: &dyn DynState, text: &str) -> u32 {
    let ToMove::Seat(seat) = s.turn() else { panic!("no seat to move before {text}") };
    match s.parse_move(seat, &Move::Text(text.to_owned())) {
        Ok(ParsedMove::Action(a)) => a,
        other => panic!("{text}: {other:?}"),
    }
}

fn view(s: &dyn DynState) -> Value {
    s.view(Viewer::Public).value()
}

fn field(fen: &str, i: usize) -> &str {
    fen.split(' ').nth(i).unwrap()
}

/// Start position of ten games that python-chess plays and this project refuses: White is in check, but Black is to
/// move.
const GIVES_CHECK_ALREADY: &str = "8/2k5/8/8/8/8/5q2/2K4r b - - 0 1";

/// Loads chess with stalemate as the only draw by rule, so that games last as long as the recorded games.
fn endless(fen: &str) -> GameRef {
    load(&format!("chess(fen={fen},draw_after=0,repetition=0,insufficient_material=false,max_plies=2000)")).unwrap()
}

#[test]
fn moves_and_positions_equal_python_chess() {
    let data = document("oracles/chess");
    let (mut games, mut plies) = (0, 0);
    for g in data["games"].as_array().unwrap() {
        let fen = g["start_fen"].as_str().unwrap();
        if fen == GIVES_CHECK_ALREADY {
            let why = load(&format!("chess(fen={fen})")).err().unwrap();
            assert!(why.message.contains("the side that is not to move is in check"), "{why}");
            continue;
        }
        let game = endless(fen);
        let mut s = game.start();
        for m in g["moves"].as_array().unwrap() {
            let text = |i: usize| m[i].as_str().unwrap();
            let ToMove::Seat(seat) = s.turn() else { panic!("game {} is over too early", g["id"]) };
            let a = id(&*s, text(0));
            let before = s.view(Viewer::Seat(seat));
            assert_eq!(before.action_text(seat, a), text(1), "game {} ply {plies}", g["id"]);
            assert_eq!(id(&*s, text(1)), a);
            s.play(seat, a).unwrap();

            let now = view(&*s);
            let fen = now["fen"].as_str().unwrap();
            assert_eq!(fen, text(2));
            let (legal, always) = (field(fen, 3), field(text(3), 3));
            assert!(legal == "-" || legal == always, "{fen}");
            let seat = seat ^ 1;
            let legal = match s.turn() {
                ToMove::Over => 0,
                _ => s.legal_list(seat).len() as u64,
            };
            assert_eq!(legal, m[4].as_u64().unwrap(), "{fen}");
            assert_eq!(now["check"], m[5] == 1, "{fen}");
            assert_eq!(now["quiet"].as_u64().unwrap() >= 100 && legal > 0, m[8] == 1, "{fen}");
            plies += 1;
        }
        let over = ["checkmate", "stalemate"].contains(&g["termination"].as_str().unwrap());
        assert_eq!(s.turn() == ToMove::Over, over, "game {}", g["id"]);
        if over {
            assert_eq!(view(&*s)["end"], g["termination"]);
            let white = match g["result"].as_str().unwrap() {
                "1-0" => 1.0,
                "0-1" => -1.0,
                _ => 0.0,
            };
            assert_eq!(s.returns(), [-white, white]);
        } else {
            let mut legal: Vec<u32> =
                g["final_legal"].as_array().unwrap().iter().map(|m| id(&*s, m.as_str().unwrap())).collect();
            legal.sort_unstable();
            let ToMove::Seat(seat) = s.turn() else { unreachable!() };
            assert_eq!(s.legal_list(seat), legal);
        }
        games += 1;
    }
    assert_eq!(games, 190);
    assert!(plies > 10_000, "{plies}");
}

/// Checks that, with the default draw rules, a game ends at the first ply that python-chess marks as a draw.
#[test]
fn draws_equal_python_chess() {
    let data = document("oracles/chess");
    let mut ends = std::collections::BTreeMap::<String, u32>::new();
    for g in data["games"].as_array().unwrap() {
        let Ok(game) = load(&format!("chess(fen={})", g["start_fen"].as_str().unwrap())) else { continue };
        let mut s = game.start();
        for m in g["moves"].as_array().unwrap() {
            let ToMove::Seat(seat) = s.turn() else { unreachable!("a game continues after its end") };
            let a = id(&*s, m[0].as_str().unwrap());
            s.play(seat, a).unwrap();
            let end = match (m[10] == 1, m[6] == 1, m[4] == 0, m[5] == 1, m[8] == 1) {
                (true, ..) => "insufficient material",
                (_, true, ..) => "repetition",
                (_, _, true, true, _) => "checkmate",
                (_, _, true, false, _) => "stalemate",
                (.., true) => "no capture or pawn move",
                _ => {
                    assert_ne!(s.turn(), ToMove::Over, "game {} after {}: {}", g["id"], m[0], view(&*s));
                    continue;
                }
            };
            assert_eq!(view(&*s)["end"], end, "game {} after {}", g["id"], m[0]);
            *ends.entry(end.to_owned()).or_default() += 1;
            break;
        }
    }
    assert_eq!(ends.len(), 5, "{ends:?}");
}

#[test]
fn perft_equals_python_chess() {
    let mut refused = 0;
    for p in document("oracles/chess")["perft"].as_array().unwrap() {
        let fen = p["fen"].as_str().unwrap();
        let nodes = p["nodes"].as_array().unwrap();
        if nodes[0] == 0 {
            let why = load(&format!("chess(fen={fen})")).err().unwrap();
            assert!(why.message.contains("over"), "{why}");
            refused += 1;
            continue;
        }
        let game = endless(fen);
        for (i, n) in nodes.iter().enumerate() {
            assert_eq!(histories(&*game.start(), i + 1), n.as_u64().unwrap(), "{fen} depth {}", i + 1);
        }
    }
    assert_eq!(refused, 4);
}
