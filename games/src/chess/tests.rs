//! Rules that the recorded games in `tests/tests/oracles/chess.rs` do not cover.

use ludex_env::draw::Stream;
use ludex_env::game::{Count, Mover};
use shakmaty::zobrist::Zobrist64;
use shakmaty::{EnPassantMode, Position};

use super::*;
use crate::load;

fn game(params: Params) -> Chess {
    Chess::new(params).unwrap()
}

fn from(fen: &str) -> Chess {
    game(Params { fen: Some(fen.into()), ..Params::default() })
}

/// Plays moves from the start position, in any supported notation.
fn play(game: &Chess, moves: &str) -> State {
    let mut s = game.start();
    for text in moves.split_whitespace() {
        let a = find(game, &s, text).unwrap_or_else(|| panic!("{text} in {}", notation::fen(&s.pos)));
        game.play_unchecked(&mut s, a);
    }
    s
}

fn legal(game: &Chess, s: &State) -> Vec<Action> {
    let mut out = Vec::new();
    game.legal(s, s.mover(), &mut out);
    out
}

fn find(game: &Chess, s: &State, text: &str) -> Option<Action> {
    game.parse(&game.view(s, Viewer::Public), s.mover(), &legal(game, s), text)
}

fn perft(game: &Chess, s: &State, depth: u32) -> u64 {
    if depth == 0 {
        return 1;
    }
    if depth == 1 {
        let mut n = Count(0);
        game.legal(s, s.mover(), &mut n);
        return n.0 as u64;
    }
    let mut next = s.clone();
    let count = |sum, a| {
        next.clone_from(s);
        game.play_unchecked(&mut next, a);
        sum + perft(game, &next, depth - 1)
    };
    legal(game, s).into_iter().fold(0, count)
}

/// Node counts and position names from chessprogramming.org, "Perft Results". The counts of the first position are also
/// OpenSpiel's.
const PERFT: [(&str, &str, &[u64]); 6] = [
    ("initial", "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", &[20, 400, 8902, 197_281]),
    ("kiwipete", "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", &[48, 2039, 97_862]),
    ("position 3", "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", &[14, 191, 2812, 43_238]),
    ("position 4", "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1", &[6, 264, 9467, 422_333]),
    ("position 5", "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8", &[44, 1486, 62_379]),
    ("position 6", "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10", &[46, 2079, 89_890]),
];

#[test]
fn perft_counts_equal_reference_counts() {
    for (name, fen, counts) in PERFT {
        let game = from(fen);
        for (i, &n) in counts.iter().enumerate() {
            assert_eq!(perft(&game, &game.start(), i as u32 + 1), n, "{name}, depth {}", i + 1);
        }
    }
}

#[test]
fn move_ids_equal_openspiel_ids() {
    let game = game(Params::default());
    let s = game.start();
    for (text, a) in [("a3", 89), ("a4", 90), ("Na3", 652), ("Nc3", 656), ("b1c3", 656), ("90", 90), ("h2h4", 4178)] {
        assert_eq!(find(&game, &s, text), Some(a), "{text}");
    }
    assert_eq!(game.to_move(&s), ToMove::Seat(1));
    // Black's ids are counted from its own side, with files not mirrored.
    let s = play(&game, "e4");
    assert_eq!(game.to_move(&s), ToMove::Seat(0));
    for (text, a) in [("a6", 89), ("a5", 90), ("Na6", 652), ("Nc6", 656)] {
        assert_eq!(find(&game, &s, text), Some(a), "{text}");
    }
    let both = from("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1");
    // Castling has the same two ids for both sides.
    for s in [both.start(), play(&both, "Rb1")] {
        assert_eq!(["0-0-0", "O-O"].map(|text| find(&both, &s, text)), [Some(4672), Some(4673)]);
    }
    let s = both.start();
    for text in ["O-O-O", "0-0-0", "o-o-o", "e1c1", "4672", "O-O-O+", "O-O-O!?"] {
        assert_eq!(find(&both, &s, text), Some(4672), "{text}");
    }
    let pawn = from("1r1k4/P7/8/8/8/8/7p/K5R1 w - - 0 1");
    let names: Vec<(&str, Action)> =
        vec![("a8=R", 438), ("axb8=R+", 439), ("a8=B", 441), ("axb8=B", 442), ("a8=N", 444), ("axb8=N", 445)];
    let s = pawn.start();
    for (text, a) in names {
        assert_eq!((find(&pawn, &s, text), notation::san(&s.pos, a).as_str()), (Some(a), text));
    }
    assert_eq!(find(&pawn, &s, "a7a8q"), Some(438 + 9 + 7));
    assert_eq!(find(&pawn, &s, "a7a8"), None);
    let s = play(&pawn, "Ka2");
    assert_eq!(find(&pawn, &s, "hxg1=N"), Some((7 * 8 + 6) * 73 + 6 + 2));
}

#[test]
fn loose_notation_is_parsed() {
    let game = from("r1bqkbnr/pppp1ppp/2n5/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R w KQkq - 2 3");
    let s = game.start();
    let take = find(&game, &s, "Bxc6").unwrap();
    for text in ["Bc6", "bxc6", "B:c6", "Bb5xc6", "b5-c6", " b5c6 ", "Bb5-c6", "B5C6"] {
        assert_eq!(find(&game, &s, text), Some(take), "{text}");
    }
    for text in ["", "Nf6", "e5", "castle", "-1", "99999999999", "O-O-O", "\u{265e}f3"] {
        assert_eq!(find(&game, &s, text), None, "{text}");
    }
}

#[test]
fn automatic_draws_end_game() {
    let standard = game(Params::default());
    let s = play(&standard, "Nf3 Nf6 Ng1 Ng8 Nf3 Nf6 Ng1");
    assert_eq!((s.seen, s.end), (2, None));
    let s = play(&standard, "Nf3 Nf6 Ng1 Ng8 Nf3 Nf6 Ng1 Ng8");
    assert_eq!((s.seen, s.end), (3, Some(End::Repetition)));
    let never = game(Params { repetition: 0, ..Params::default() });
    assert_eq!(play(&never, "Nf3 Nf6 Ng1 Ng8 Nf3 Nf6 Ng1 Ng8").end, None);

    // The same pieces on the same squares with different castling rights are a different position.
    let king = from("4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1");
    assert_eq!(play(&king, "Ke2 Kd8 Ke1 Ke8 Ke2 Kd8 Ke1 Ke8").seen, 2);
    assert_eq!(play(&king, "Ke2 Kd8 Ke1 Ke8 Ke2 Kd8 Ke1 Ke8 Ke2").end, Some(End::Repetition));
    // A position with a possible en passant capture differs as well.
    let passing = from("4k3/8/8/8/3p4/8/4P3/4K3 w - - 0 1");
    assert_eq!(play(&passing, "e4 Kd8 Kd1 Ke8 Ke1 Kd8 Kd1 Ke8 Ke1").seen, 2);
    assert_eq!(notation::fen(&play(&passing, "e4").pos), "4k3/8/8/8/3pP3/8/8/4K3 b - e3 0 1");
    assert_eq!(notation::fen(&play(&passing, "e3").pos), "4k3/8/8/8/3p4/4P3/8/4K3 b - - 0 1");

    // Mate on the hundredth ply is mate; any other hundredth ply is a draw.
    let last = from("3k4/8/3K4/8/8/8/8/7R w - - 99 90");
    assert_eq!(play(&last, "Rh8").end, Some(End::Checkmate));
    assert_eq!(play(&last, "Rh7").end, Some(End::Counter));
    let mut returns = [0.0; 2];
    last.returns(&play(&last, "Rh8"), &mut returns);
    assert_eq!(returns, [-1.0, 1.0]);

    let stale = from("7k/8/8/6Q1/8/8/8/K7 w - - 0 1");
    assert_eq!(play(&stale, "Qg6").end, Some(End::Stalemate));
    let material = from("7k/8/8/8/8/8/1p6/1KN5 w - - 0 1");
    assert_eq!(play(&material, "Kxb2").end, Some(End::Material));
    let cap = game(Params { max_plies: 3, ..Params::default() });
    assert_eq!(play(&cap, "f3 e5 a3").end, Some(End::Plies));
    let mate = game(Params { max_plies: 4, ..Params::default() });
    assert_eq!(play(&mate, "f3 e5 g4 Qh4").end, Some(End::Checkmate));
}

#[test]
fn presets_and_parameters_take_effect() {
    let spec = |text: &str| load(text).unwrap().spec().clone();
    assert_eq!(spec("chess").max_length, 17_695);
    assert_eq!(spec("chess(preset=qitown)").max_length, 300);
    assert_eq!(spec("chess(preset=botzone)").params["draw_after"], 50);
    assert_eq!(spec("chess(chess960=False)").string, spec("chess").string);
    let botzone = load("chess(preset=botzone,fen=7k/8/8/8/8/8/8/K4R2 w - - 48 30)").unwrap();
    let mut s = botzone.start();
    for (seat, text, over) in [(1, "Rg1", false), (0, "Kh7", true)] {
        let a = s.view(Viewer::Seat(seat)).parse(seat, &s.legal_list(seat), text).unwrap();
        s.play(seat, a).unwrap();
        assert_eq!(s.turn() == ToMove::Over, over);
    }
    for (text, name, words) in [
        ("chess(chess960=true)", "chess960", "false"),
        ("chess(fen=xyz)", "fen", "not a FEN"),
        ("chess(fen=8/8/8/8/8/8/8/K7 w - - 0 1)", "fen", "a king is missing"),
        ("chess(fen=k7/8/8/8/8/8/8/K6P w - - 0 1)", "fen", "a pawn is on the first or last rank"),
        ("chess(fen=7k/5Q2/6K1/8/8/8/8/8 b - - 0 1)", "fen", "stalemate"),
        ("chess(fen=k7/8/8/8/8/8/8/K6R w - - 100 80)", "fen", "no capture or pawn move"),
        ("chess(draw_after=0)", "draw_after", "max_plies"),
        ("chess(draw_after=1001)", "draw_after", "0 to 1000"),
        ("chess(repetition=1)", "repetition", "at least 2"),
        ("chess(max_plies=20001)", "max_plies", "0 to 20000"),
        ("chess(preset=fide)", "preset", "botzone, botzonebench, qitown"),
    ] {
        let e = load(text).err().unwrap();
        assert_eq!(e.name.as_deref(), Some(name), "{text}: {e}");
        assert!(e.message.contains(words), "{text}: {e}");
    }
}

/// In random games, legal moves and hash keys match shakmaty, views restore the state, and move texts parse.
#[test]
fn random_games_agree_with_shakmaty() {
    let game = game(Params { repetition: 4, ..Params::default() });
    let mut rng = Stream::from_text("chess: random games");
    let mut other = game.start();
    let mut ends = std::collections::BTreeSet::new();
    for _ in 0..40 {
        let mut s = game.start();
        while let ToMove::Seat(seat) = game.to_move(&s) {
            let ours = legal(&game, &s);
            let mut theirs: Vec<Action> = s.pos.legal_moves().iter().map(|&m| ids::id(s.pos.turn(), m)).collect();
            theirs.sort_unstable();
            assert_eq!(ours, theirs, "{}", notation::fen(&s.pos));
            assert_eq!(s.key, s.pos.zobrist_hash::<Zobrist64>(EnPassantMode::Legal).0);
            for &a in &ours {
                let m = ids::read(&s.pos, a).unwrap();
                assert!(s.pos.is_legal(m) && ids::id(s.pos.turn(), m) == a);
            }
            let mut twin = rng.clone();
            let a = game.random_action(&s, seat, &mut rng);
            assert_eq!(a, ours[twin.below(ours.len())]);
            if rng.below(20) == 0 {
                check_laws(&game, &s, &mut rng);
            }
            game.play_unchecked(&mut s, a);
        }
        check_laws(&game, &s, &mut rng);
        ends.insert(s.end.unwrap().text());
        other.clone_from(&s);
        assert_eq!(format!("{other:?}"), format!("{s:?}"));
    }
    assert!(ends.len() >= 2, "{ends:?}");
}

fn check_laws(game: &Chess, s: &State, rng: &mut Stream) {
    let view = game.view(s, Viewer::Seat(0));
    let read: View = serde_json::from_value(serde_json::to_value(&view).unwrap()).unwrap();
    let world = game.sample_world(&read, rng);
    assert_eq!(format!("{world:?}"), format!("{s:?}"));
    assert_eq!(game.hash(&world), game.hash(s));
    let (mut a, mut b) = (vec![7; 21 * 64], vec![9; 21 * 64]);
    for who in [Viewer::Seat(0), Viewer::Seat(1), Viewer::Public] {
        game.tensor(s, who, &mut a);
        game.tensor(&world, who, &mut b);
        assert_eq!(a, b);
    }
    let ToMove::Seat(seat) = game.to_move(s) else { return };
    assert_eq!(legal(game, &world), legal(game, s));
    let one_by_one: Vec<Action> = (0..ACTIONS).filter(|&a| game.is_legal(s, seat, a)).collect();
    assert_eq!(one_by_one, legal(game, s));
    for a in legal(game, s) {
        let m = ids::read(&s.pos, a).unwrap();
        let uci = m.to_uci(shakmaty::CastlingMode::Standard).to_string();
        for text in [game.action_text(&view, seat, a), uci, a.to_string()] {
            assert_eq!(find(game, s, &text), Some(a), "{text} in {}", view.fen);
        }
    }
    let white = game.evaluate(s, 1).unwrap();
    assert!(white > -1.0 && white < 1.0 && game.evaluate(s, 0) == Some(-white));
}

/// Plays and explains random ids, legal or not. The resulting positions may be impossible in a real game.
#[test]
fn unchecked_moves_never_panic() {
    let game = game(Params { repetition: 0, insufficient_material: false, max_plies: 400, ..Params::default() });
    let mut rng = Stream::from_text("chess: unchecked");
    for _ in 0..60 {
        let mut s = game.start();
        for _ in 0..4000 {
            let a =
                if rng.below(4) == 0 { game.random_action(&s, s.mover(), &mut rng) } else { rng.below(4674) as u32 };
            if game.to_move(&s) == ToMove::Over {
                break;
            }
            let _ = game.why_not(&s, s.mover(), a);
            game.play_unchecked(&mut s, a);
        }
        let view = game.view(&s, Viewer::Public);
        let _ = (game.text(&view), game.action_text(&view, 0, 89), game.sample_world(&view, &mut rng).plies());
    }
}

#[test]
fn invalid_views_never_panic() {
    let game = game(Params::default());
    let mut rng = Stream::from_text("chess: views");
    let honest = game.view(&game.start(), Viewer::Public);
    for fen in ["", "x", "8/8/8/8/8/8/8/8 w - - 0 1", "QQQQQQQQ/QQQQQQQQ/QQQQQQQQ/8/8/8/8/kK6 w - - 0 1", "9/\u{e9} w"]
    {
        let view =
            View { fen: fen.into(), start: fen.into(), moves: vec!["e2e4".into(), "zz".into()], ..honest.clone() };
        let s = game.sample_world(&view, &mut rng);
        assert_eq!(s.plies(), 1);
        let _ = game.text(&view);
        assert_eq!(game.action_text(&view, 1, 90), "a2a4");
        assert_eq!(game.parse(&view, 1, &[90], "a4"), None);
    }
}

#[test]
fn illegal_moves_are_explained() {
    let start = game(Params::default());
    let castle = from("r3k2r/8/8/8/8/4n3/8/RN2K2R w KQq - 0 1");
    let pin = from("4r1k1/8/8/3p4/4N3/8/3P4/4K3 w - - 0 1");
    let check = from("4k3/8/8/8/4r3/8/8/4K2R w - - 0 1");
    let white = |from: &str, to: &str| {
        let squares: [shakmaty::Square; 2] = [from, to].map(|s| s.parse().unwrap());
        (0..4672).find(|&a| ids::squares(Color::White, a) == Some((squares[0], squares[1], None))).unwrap()
    };
    for (game, a, words) in [
        (&start, white("e4", "e5"), "no piece on e4"),
        (&start, white("e7", "e5"), "no piece of yours on e7: the pawn there is Black's"),
        (&start, white("a1", "a2"), "your own pawn is on a2"),
        (&start, white("a1", "a5"), "the way from a1 to a5 is blocked on a2"),
        (&start, white("b1", "b4"), "a knight cannot move from b1 to b4"),
        (&start, white("e2", "e5"), "a pawn cannot move from e2 to e5"),
        (&start, white("e2", "d3"), "d3 has no piece to capture"),
        (&start, 0, "leaves the board"),
        (&start, SHORT, "a piece is on f1"),
        (&castle, LONG, "a piece is on b1"),
        (&castle, SHORT, "f1, which is attacked"),
        (&castle, white("e1", "g1"), "castling has separate ids"),
        (&pin, white("e4", "c5"), "the king would be in check"),
        (&check, white("h1", "h2"), "the king is in check, and this move does not end the check"),
        (&check, SHORT, "the right to castle on the king's side is lost"),
    ] {
        let s = game.start();
        assert!(!legal(game, &s).contains(&a));
        let why = game.why_not(&s, 1, a);
        assert!(why.contains(words), "{why}");
    }
    let blocked = from("4k3/8/8/8/8/4n3/4P3/4K3 w - - 0 1");
    assert!(blocked.why_not(&blocked.start(), 1, white("e2", "e4")).contains("the pawn is blocked on e3"));
}

#[test]
fn arrays_show_board_from_side_of_viewer() {
    let game = game(Params::default());
    let s = play(&game, "e4 Nf6 Ke2");
    let mut mine = vec![0; 21 * 64];
    game.tensor(&s, Viewer::Seat(0), &mut mine);
    let plane = |i: usize| &mine[i * 64..(i + 1) * 64];
    // Black's pawns on its second rank, its knights on b8 and f6, White's king and pawn from the other side.
    assert_eq!(plane(0), [[0; 8], [1; 8], [0; 8], [0; 8], [0; 8], [0; 8], [0; 8], [0; 8]].concat());
    assert_eq!((plane(1)[1], plane(1)[2 * 8 + 5]), (1, 1));
    assert_eq!((plane(11)[6 * 8 + 4], plane(6)[4 * 8 + 4]), (1, 1));
    let flat: Vec<u8> = (12..21).map(|i| plane(i)[0]).collect();
    assert_eq!(flat, [1, 1, 0, 0, 0, 0, 1, 0, 2]);
    let spec = game.facts().tensor.unwrap().1;
    assert_eq!((spec.parts.len(), spec.len(), spec.high), (21, 21 * 64, 100.0));
}

#[test]
fn view_text_and_event_text_show_position_and_move() {
    let game = game(Params::default());
    let s = play(&game, "e4");
    let text = game.text(&game.view(&s, Viewer::Public));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1");
    assert_eq!(lines[2], "8 r n b q k b n r");
    assert_eq!(lines[6], "4 . . . . P . . .");
    assert_eq!(lines[12], "black to move; last move e2e4; 0 plies without capture or pawn move");
    let seen = game.observe_action(&s, Viewer::Public, Mover::Seat(0), 90);
    assert_eq!(seen.text.as_deref(), Some("a5"));
}

#[test]
fn hash_includes_remaining_plies_only_near_draw_limit() {
    let game = game(Params { repetition: 0, ..Params::default() });
    let a = play(&game, "Nf3 Nf6 Nc3 Nc6");
    let b = play(&game, "Nc3 Nc6 Nf3 Nf6");
    assert_eq!(game.hash(&a), game.hash(&b));
    assert_ne!(game.hash(&a), game.hash(&game.start()));
    let hashes = [10, 60, 90].map(|n| {
        let game = from(&format!("4k3/8/8/8/8/8/8/R3K3 w - - {n} 80"));
        game.hash(&game.start())
    });
    assert_eq!(hashes[0], hashes[1]);
    assert_ne!(hashes[1], hashes[2]);
}

#[test]
fn games_convert_to_pgn() {
    let game = game(Params::default());
    let mut s = game.start();
    let mut played = Vec::new();
    for text in "e4 e5 Nf3 Nc6 Bb5 a6 Bxc6 dxc6 O-O f6".split(' ') {
        let a = find(&game, &s, text).unwrap();
        game.play_unchecked(&mut s, a);
        played.push(a);
    }
    let text = pgn(None, &played, "*", &[("White", "a \"b\""), ("Variant", "Standard")]).unwrap();
    assert!(text.starts_with("[Event \"?\"]\n"));
    assert!(text.contains("[White \"a \\\"b\\\"\"]\n") && text.contains("[Result \"*\"]\n[Variant \"Standard\"]\n\n"));
    assert!(text.ends_with("\n1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Bxc6 dxc6 5. O-O f6 *\n"), "{text}");
    assert!(pgn(None, &[90, 90, 90], "*", &[]).is_err());

    let fen = "4k3/8/8/8/8/8/8/R3K3 b Q - 3 20";
    let moves = [notation::from_uci(&notation::position(fen).unwrap(), "e8e7").unwrap(), LONG];
    let text = pgn(Some(fen), &moves, "1/2-1/2", &[]).unwrap();
    assert!(text.contains(&format!("[SetUp \"1\"]\n[FEN \"{fen}\"]\n")));
    assert!(text.ends_with("20... Ke7 21. O-O-O 1/2-1/2\n"), "{text}");
    assert!(pgn(Some("x"), &[], "*", &[]).is_err());
}

#[test]
fn black_sees_board_from_its_side() {
    let g = game(Params::default());
    let view = g.view(&play(&g, "e4"), Viewer::Public);
    let board = |text: String| text.lines().skip(2).take(9).map(str::to_owned).collect::<Vec<_>>();
    let white = board(g.text(&view));
    assert_eq!(white[4], "4 . . . . P . . .");
    assert_eq!(white, board(g.drawing(&view, Viewer::Seat(1))));
    assert_eq!(white, board(g.drawing(&view, Viewer::Public)));
    let black = board(g.drawing(&view, Viewer::Seat(0)));
    assert_eq!((black[0].as_str(), black[3].as_str()), ("1 R N B K Q B N R", "4 . . . P . . . ."));
    assert_eq!(black[8], "  h g f e d c b a");
    // A view of external origin may hold any text.
    let odd = View { fen: "x/9".into(), ..view };
    assert!(g.drawing(&odd, Viewer::Seat(0)).contains("8 x"));
}

#[test]
fn move_that_draws_by_repetition_has_warning() {
    let dance = "Nf3 Nf6 Ng1 Ng8 Nf3 Nf6 Ng1";
    let told = |params: Params, moves: &str| {
        let g = game(params);
        let s = play(&g, moves);
        let a = find(&g, &s, "Ng8").unwrap();
        let other = find(&g, &s, "Nd5").unwrap();
        let view = g.view(&s, Viewer::Seat(0));
        [g.gloss(&view, 0, a), g.gloss(&view, 0, other)]
    };
    let [back, on] = told(Params::default(), dance);
    assert!(back.contains("draw") && on.is_empty(), "{back}, {on}");
    assert!(told(Params::default(), "Nf3 Nf6 Ng1").iter().all(String::is_empty), "the second occurrence is not a draw");
    assert!(told(Params { repetition: 0, ..Params::default() }, dance).iter().all(String::is_empty));
}
