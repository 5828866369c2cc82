use super::*;

fn game(size: u32, connect: u32, overline: Overline) -> Gomoku {
    Gomoku::new(Params { size, connect, overline, ..Params::default() }).unwrap()
}

/// Plays these moves of Black and returns the position. White's replies are far apart in the last two rows.
fn black_plays(g: &Gomoku, moves: &[u32]) -> State {
    let size = g.params.size;
    let mut s = g.start();
    for (k, &a) in (0..).zip(moves) {
        assert_eq!(g.to_move(&s), ToMove::Seat(0));
        g.play_unchecked(&mut s, a);
        if g.to_move(&s) != ToMove::Over {
            g.play_unchecked(&mut s, size * (size - 1 - k % 2) + 2 * k);
        }
    }
    s
}

fn won(g: &Gomoku, s: &State) -> [f64; 2] {
    let mut out = [0.0; 2];
    g.returns(s, &mut out);
    out
}

/// Returns true if `side` has a winning line. Scans the whole board.
fn slowly(g: &Gomoku, s: &State, side: usize) -> bool {
    let (n, connect) = (g.params.size as i32, g.params.connect as usize);
    let has = |r: i32, c: i32| (0..n).contains(&r) && (0..n).contains(&c) && s.stones[side].has((r * n + c) as usize);
    let starts = (0..n).flat_map(|r| (0..n).map(move |c| (r, c)));
    starts.flat_map(|at| [(0, 1), (1, 0), (1, 1), (1, -1)].map(|d| (at, d))).any(|((r, c), (dr, dc))| {
        let length = (0..).take_while(|k| has(r + dr * k, c + dc * k)).count();
        !has(r - dr, c - dc) && if g.params.overline == Overline::Wins { length >= connect } else { length == connect }
    })
}

#[test]
fn winning_line_is_detected_anywhere() {
    let mut rng = Stream::from_text("gomoku lines");
    for (size, connect, overline) in [
        (15, 5, Overline::Wins),
        (15, 5, Overline::Nothing),
        (19, 3, Overline::Nothing),
        (7, 4, Overline::Wins),
        (7, 4, Overline::Nothing),
        (3, 3, Overline::Wins),
        (5, 1, Overline::Nothing),
        (1, 1, Overline::Wins),
    ] {
        let g = game(size, connect, overline);
        for _ in 0..30 {
            let mut s = g.start();
            while let ToMove::Seat(seat) = g.to_move(&s) {
                let a = g.random_action(&s, seat, &mut rng);
                g.play_unchecked(&mut s, a);
                assert_eq!(s.won, slowly(&g, &s, seat), "{size} {connect} {overline:?}: {s:?}");
                assert_eq!(g.sample_world(&g.view(&s, Viewer::Public), &mut rng), s);
            }
        }
    }
}

#[test]
fn overline_parameter_decides_whether_six_in_a_row_wins() {
    // Three and two with a gap between them, which the last stone fills: six in a row.
    for (step, from) in [(1, 15), (15, 1), (16, 0), (14, 14)] {
        let moves = [0, 1, 2, 4, 5, 3].map(|k| from + step * k);
        let (g, exact) = (game(15, 5, Overline::Wins), game(15, 5, Overline::Nothing));
        let s = black_plays(&g, &moves);
        assert_eq!((g.to_move(&s), won(&g, &s)), (ToMove::Over, [1.0, -1.0]), "step {step}");
        let s = black_plays(&exact, &moves);
        assert_eq!((exact.to_move(&s), won(&exact, &s)), (ToMove::Seat(0), [0.0, 0.0]), "step {step}");
        // Five in a row without a sixth stone win under both rules.
        let s = black_plays(&exact, &[0, 1, 2, 4, 3].map(|k| from + step * k));
        assert_eq!((exact.to_move(&s), won(&exact, &s)), (ToMove::Over, [1.0, -1.0]), "step {step}");
    }
}

#[test]
fn five_on_one_axis_wins_despite_six_on_another() {
    let g = game(15, 5, Overline::Nothing);
    // A row of six and a column of five through the same last stone, (0, 3).
    let s = black_plays(&g, &[0, 1, 2, 4, 5, 18, 33, 48, 63, 3]);
    assert_eq!((g.to_move(&s), won(&g, &s)), (ToMove::Over, [1.0, -1.0]));
}

#[test]
fn lines_stop_at_edge() {
    let g = game(15, 5, Overline::Wins);
    let s = black_plays(&g, &[12, 13, 14, 15, 16]);
    assert_eq!(won(&g, &s), [0.0, 0.0]);
}

#[test]
fn full_board_is_a_draw() {
    let g = game(3, 3, Overline::Wins);
    let mut s = g.start();
    for a in [0, 1, 2, 4, 3, 5, 7, 6, 8] {
        assert!(g.is_legal(&s, usize::from(s.ply & 1), a));
        g.play_unchecked(&mut s, a);
    }
    assert_eq!((g.to_move(&s), won(&g, &s)), (ToMove::Over, [0.0, 0.0]));
    assert_eq!(g.text(&g.view(&s, Viewer::Public)), "W\nbwb\nbww\nwbb\n");
}

#[test]
fn point_notations_are_equivalent() {
    let g = game(15, 5, Overline::Wins);
    let mut s = g.start();
    g.play_unchecked(&mut s, 0);
    let view = g.view(&s, Viewer::Public);
    let legal: Vec<Action> = (1..225).collect();
    assert_eq!(g.action_text(&view, 1, 116), "7,11");
    let parse = |text: &str| g.parse(&view, 1, &legal, text);
    for text in ["7,11", " 7, 11 ", "L8", "l8", "116"] {
        assert_eq!(parse(text), Some(116), "{text}");
    }
    assert_eq!((parse("A1"), parse("O15")), (Some(210), Some(14)));
    for text in ["0,0", "A15", "0", "0,15", "15,0", "-1,3", "p1", "a16", "a0", "a", "", ",", "é1", "999999999999"] {
        assert_eq!(parse(text), None, "{text:?}");
    }
    assert_eq!(g.why_not(&s, 1, 0), "0 is 0,0: the point is taken");
}

#[test]
fn line_values_agree_with_definition() {
    // On a board of three with lines of three: a corner is in three lines, the center in four.
    let g = game(3, 3, Overline::Wins);
    let (mut corner, mut centre, mut both) = (Points::default(), Points::default(), Points::default());
    corner.put(0);
    centre.put(4);
    both.put(0);
    both.put(4);
    let none = Points::default();
    assert_eq!((g.lines.shape(&corner, &none).worth, g.lines.shape(&centre, &none).worth), (3.0, 4.0));
    assert_eq!((g.lines.shape(&corner, &centre).worth, g.lines.shape(&centre, &corner).worth), (2.0, 3.0));
    // Two lines through the corner only, three through the center only, and one through both.
    assert_eq!(g.lines.shape(&both, &none).worth, 2.0 + 3.0 + 8.0);
}

/// Returns the empty points at which a stone of `side` wins.
fn winning(g: &Gomoku, side: &Points, other: &Points) -> Vec<usize> {
    let wins = |&at: &usize| {
        let mut with = *side;
        with.put(at);
        !side.has(at) && !other.has(at) && g.lines.won_at(&with, at)
    };
    (0..g.cells).filter(wins).collect()
}

#[test]
fn line_statistics_agree_with_winning_points() {
    let mut rng = Stream::from_text("shapes");
    for (size, connect, overline) in [(9, 5, Overline::Wins), (9, 5, Overline::Nothing), (7, 4, Overline::Wins)] {
        let g = game(size, connect, overline);
        for _ in 0..60 {
            let mut s = g.start();
            for _ in 0..rng.below(30) {
                if !s.won {
                    let a = g.random_action(&s, 0, &mut rng);
                    g.play_unchecked(&mut s, a);
                }
            }
            let [side, other] = s.stones;
            if s.won {
                continue;
            }
            let mut shape = g.lines.shape(&side, &other);
            g.lines.keep_winning(&side, &mut shape.wins);
            let wins = winning(&g, &side, &other);
            assert_eq!(shape.wins.iter().collect::<Vec<_>>(), wins);
            for at in (g.empty(&s)).iter() {
                let mut with = side;
                with.put(at);
                let more: Vec<usize> = winning(&g, &with, &other).into_iter().filter(|p| !wins.contains(p)).collect();
                // If longer lines are ignored, a threat need not create a winning point.
                let threat = shape.threats.has(at);
                assert!(threat || more.is_empty(), "a stone on {at} creates the wins {more:?}");
                if overline == Overline::Wins {
                    assert!(!threat || more.len() + wins.len() > 0, "{at}");
                    assert!(!shape.opening.has(at) || winning(&g, &with, &other).len() > 1, "{at}");
                }
            }
        }
    }
}

#[test]
fn open_three_is_evaluated_for_both_sides() {
    // Black has three in the middle of the board, White three scattered stones.
    let g = game(15, 5, Overline::Wins);
    let mut s = g.start();
    for a in [110, 0, 111, 30, 112] {
        g.play_unchecked(&mut s, a);
    }
    // White to move may block the three at either end, or one point beyond an end.
    let mut moves = Vec::new();
    g.search_moves(&s, 1, &mut moves);
    moves.sort_unstable();
    assert_eq!(moves, [108, 109, 113, 114]);
    assert!(g.evaluate(&s, 0).unwrap() < 0.9);
    g.play_unchecked(&mut s, 60);
    assert!(g.evaluate(&s, 0).unwrap() > 0.9 && g.evaluate(&s, 1).unwrap() < -0.9);
    g.play_unchecked(&mut s, 113);
    // Black's four is open at both ends: White is lost, but must block one end.
    moves.clear();
    assert!(!g.quiescence_moves(&s, 1, &mut moves));
    assert_eq!(moves, [109, 114]);
    assert!(g.evaluate(&s, 1).unwrap() < -0.9);
}

#[test]
fn evaluation_favors_side_to_move() {
    let g = game(15, 5, Overline::Wins);
    let mut s = g.start();
    // Each side has one stone, at the same distances from the edges.
    g.play_unchecked(&mut s, 16);
    g.play_unchecked(&mut s, 208);
    assert!(g.evaluate(&s, 0).unwrap() > 0.0 && g.evaluate(&s, 1) == g.evaluate(&s, 0).map(|v| -v));
}

#[test]
fn error_identifies_the_invalid_parameter() {
    let refused = |string: &str| {
        let e = crate::load(string).map(|g| g.spec().string.clone()).unwrap_err();
        (e.name.unwrap_or_default(), e.message)
    };
    for (string, name, word) in [
        ("gomoku(size=20)", "size", "1 to 19"),
        ("gomoku(size=0)", "size", "1 to 19"),
        ("gomoku(size=4)", "connect", "size, which is 4"),
        ("gomoku(connect=0)", "connect", "1 to size"),
        ("gomoku(overline=loses)", "overline", "wins"),
        ("gomoku(dims=3)", "dims", "not supported"),
        ("gomoku(wrap=true)", "wrap", "not supported"),
        ("gomoku(anti=true)", "anti", "not supported"),
        ("gomoku(preset=renju)", "preset", "botzone, botzonebench, qitown"),
        ("mnk(m=5,n=6,k=4)", "n", "square"),
        ("mnk(m=5,n=5,k=6)", "k", "1 to 5"),
        ("mnk(m=20,n=20)", "m", "1 to 19"),
        ("mnk(m=x)", "m", "1 to 19"),
        ("mnk(q=1)", "q", "connect"),
    ] {
        let (got, message) = refused(string);
        assert!(got == name && message.contains(word), "{string}: {got}: {message}");
    }
}

#[test]
fn openspiel_game_strings_load_gomoku() {
    let string = |s: &str| crate::load(s).unwrap().spec().string.clone();
    assert_eq!(string("mnk(m=5,n=5,k=4)"), "gomoku(size=5,connect=4,overline=wins,dims=2,wrap=false,anti=false)");
    assert_eq!(string("mnk"), string("gomoku"));
    assert_eq!(string("gomoku(dims=2,wrap=false,anti=False)"), string("gomoku(preset=botzone)"));
    assert_eq!(string("gomoku(preset=qitown)"), string("gomoku(overline=nothing)"));
}

#[test]
fn games_convert_to_sgf() {
    // Ids count from the top left, as in the format.
    let text = sgf(&Params::default(), &[(0, 0), (1, 16)], &[("RE", "B+")]);
    assert_eq!(text, "(;FF[4]CA[UTF-8]GM[4]SZ[15]RE[B+]\n;B[aa];W[bb])\n");
}
