use super::*;

fn game(rows: u32, columns: u32) -> Breakthrough {
    Breakthrough::new(Params { rows, columns }).unwrap()
}

fn board(game: &Breakthrough, rows: &[&str], to_move: &str) -> State {
    let view = View { board: rows.iter().map(|r| (*r).to_owned()).collect(), to_move: Some(to_move.to_owned()) };
    game.sample_world(&view, &mut Stream::from_text("unused"))
}

fn texts(game: &Breakthrough, s: &State, seat: Seat) -> Vec<String> {
    let mut legal = Vec::new();
    game.legal(s, seat, &mut legal);
    let view = game.view(s, Viewer::Public);
    legal.into_iter().map(|a| game.action_text(&view, seat, a)).collect()
}

fn play(game: &Breakthrough, s: &mut State, text: &str) {
    let ToMove::Seat(seat) = game.to_move(s) else { panic!("the game is over") };
    let mut legal = Vec::new();
    game.legal(s, seat, &mut legal);
    let a = game.parse(&game.view(s, Viewer::Public), seat, &legal, text).unwrap_or_else(|| panic!("{text}"));
    game.play_unchecked(s, a);
}

fn result(game: &Breakthrough, s: &State) -> (ToMove, [f64; 2]) {
    let mut r = [0.0; 2];
    game.returns(s, &mut r);
    (game.to_move(s), r)
}

#[test]
fn sides_start_with_one_row_of_men_on_small_boards() {
    for (rows, men) in [(5, 4), (6, 8)] {
        assert_eq!(game(rows, 4).start().men.map(u128::count_ones), [men; 2], "{rows} rows");
    }
}

#[test]
fn captures_are_diagonal_and_optional() {
    let g = game(4, 4);
    let s = board(&g, &["....", ".b..", "www.", "...."], "b");
    assert_eq!(texts(&g, &s, 0), ["b3a2*", "b3c2*"], "straight ahead is blocked");
    let s = board(&g, &["....", ".b..", "..w.", "...."], "b");
    assert_eq!(texts(&g, &s, 0), ["b3a2", "b3b2", "b3c2*"]);
    let s = board(&g, &["....", ".b..", "..w.", "...."], "w");
    assert_eq!(texts(&g, &s, 1), ["c2b3*", "c2c3", "c2d3"]);
}

#[test]
fn moves_stay_on_board() {
    let g = game(4, 3);
    let s = board(&g, &["...", "b.b", "...", "w.w"], "b");
    assert_eq!(texts(&g, &s, 0), ["a3a2", "a3b2", "c3b2", "c3c2"]);
    let s = board(&g, &["...", "b.b", "...", "w.w"], "w");
    assert_eq!(texts(&g, &s, 1), ["a1a2", "a1b2", "c1b2", "c1c2"]);
}

#[test]
fn reaching_goal_row_wins() {
    let g = game(4, 2);
    let mut s = board(&g, &["..", ".w", "b.", ".."], "w");
    play(&g, &mut s, "b3b4");
    assert_eq!(result(&g, &s), (ToMove::Over, [-1.0, 1.0]));
    let mut s = board(&g, &["..", ".w", "b.", ".."], "b");
    play(&g, &mut s, "a2b1");
    assert_eq!(result(&g, &s), (ToMove::Over, [1.0, -1.0]));
}

#[test]
fn capturing_last_man_wins() {
    let g = game(6, 3);
    let mut s = board(&g, &["...", ".b.", "..w", "...", "b..", "..."], "w");
    assert_eq!(g.to_move(&s), ToMove::Seat(1));
    let mut other = s;
    play(&g, &mut other, "c4b5*");
    assert_eq!(g.to_move(&other), ToMove::Seat(0), "one man is left");
    s = board(&g, &["...", ".b.", "..w", "...", "...", "..."], "w");
    play(&g, &mut s, "c4b5*");
    assert_eq!(result(&g, &s), (ToMove::Over, [-1.0, 1.0]));
}

#[test]
fn move_notations_are_equivalent() {
    let g = game(4, 4);
    let s = board(&g, &["....", ".b..", "..w.", "...."], "b");
    let mut legal = Vec::new();
    g.legal(&s, 0, &mut legal);
    let view = g.view(&s, Viewer::Seat(0));
    let read = |text: &str| g.parse(&view, 0, &legal, text);
    for text in ["b3c2*", "b3c2", " B3xC2 ", "b3-c2", "b3->c2", "b3 c2", &legal[2].to_string()] {
        assert_eq!(read(text), Some(legal[2]), "{text}");
    }
    assert_eq!(read("b3b2*"), Some(legal[1]), "a star too many");
    for text in ["", "b3", "b3d2", "b3b2b1", "c3b2", "b33b2", "é", "b3é", "0", "b3xx2", "b99999999999c2"] {
        assert_eq!(read(text), None, "{text}");
    }
}

#[test]
fn column_x_is_not_a_capture_sign() {
    let g = game(4, 26);
    let row = |at: usize, mark: char| (0..26).map(|c| if c == at { mark } else { '.' }).collect::<String>();
    let s = board(&g, &[&row(26, '.'), &row(22, 'b'), &row(23, 'w'), &row(26, '.')], "b");
    let mut legal = Vec::new();
    g.legal(&s, 0, &mut legal);
    let view = g.view(&s, Viewer::Seat(0));
    for text in ["w3x2*", "w3xx2", "w3x2"] {
        assert_eq!(g.parse(&view, 0, &legal, text), Some(legal[2]), "{text}");
    }
}

#[test]
fn illegal_moves_are_explained() {
    let g = game(4, 4);
    let s = board(&g, &["....", "bb..", "bww.", "...."], "b");
    let at = |row: u32, column: u32, direction: u32, capture: u32| ((row * 4 + column) * 6 + direction) * 2 + capture;
    for (a, word) in [
        (at(0, 0, 1, 0), "b has no man on a4"),
        (at(1, 0, 4, 0), "move down"),
        (at(1, 0, 0, 0), "leaves the board"),
        (at(1, 0, 1, 0), "a2 is occupied by another man of b"),
        (at(1, 1, 1, 0), "b2 is occupied; a man captures only diagonally"),
        (at(2, 0, 1, 1), "a man captures only diagonally"),
        (at(1, 0, 2, 0), "b2 is occupied by an enemy man; its capture is action 53"),
        (at(2, 0, 2, 1), "no man to capture on b1; the step to b1 is action 100"),
    ] {
        assert!(!g.is_legal(&s, 0, a), "{a}");
        let why = g.why_not(&s, 0, a);
        assert!(why.contains(word), "{why}");
    }
    assert!(g.is_legal(&s, 0, 53) && g.is_legal(&s, 0, 100));
}

#[test]
fn invalid_sizes_are_refused() {
    for (rows, columns, name) in
        [(1, 8, "rows"), (65, 2, "rows"), (8, 1, "columns"), (8, 27, "columns"), (12, 11, "rows")]
    {
        let error = Breakthrough::new(Params { rows, columns }).err().unwrap();
        assert_eq!(error.name.as_deref(), Some(name), "{rows} x {columns}");
    }
}

/// Returns the legal moves, generated square by square from the written rules.
fn by_squares(g: &Breakthrough, s: &State, seat: Seat) -> Vec<Action> {
    let view = g.view(s, Viewer::Public);
    let mark = |r: i32, c: i32| view.board.get(usize::try_from(r).ok()?)?.chars().nth(usize::try_from(c).ok()?);
    let (mine, theirs) = if seat == 0 { ('b', 'w') } else { ('w', 'b') };
    let ahead = if seat == 0 { 1 } else { -1 };
    let mut ids = Vec::new();
    for (r, c) in (0..g.rows as i32).flat_map(|r| (0..g.columns as i32).map(move |c| (r, c))) {
        for side in [-1, 0, 1] {
            let to = mark(r + ahead, c + side);
            let takes = to == Some(theirs) && side != 0;
            if mark(r, c) == Some(mine) && (to == Some('.') || takes) {
                let direction = seat as i32 * 3 + side + 1;
                ids.push((((r * g.columns as i32 + c) * 6 + direction) * 2 + i32::from(takes)) as Action);
            }
        }
    }
    ids
}

#[test]
fn legal_moves_agree_with_written_rules_on_every_size() {
    let mut rng = Stream::from_text("breakthrough sizes");
    for (rows, columns) in [(2, 2), (2, 26), (5, 5), (8, 8), (16, 8), (8, 16), (11, 11), (64, 2), (4, 26), (9, 14)] {
        let g = game(rows, columns);
        for _ in 0..20 {
            let mut s = g.start();
            while let ToMove::Seat(seat) = g.to_move(&s) {
                let wanted = by_squares(&g, &s, seat);
                let mut legal = Vec::new();
                g.legal(&s, seat, &mut legal);
                assert_eq!(legal, wanted, "{rows} x {columns}: {s:?}");
                let ids = 0..g.facts().actions;
                let single: Vec<Action> = ids.filter(|&a| g.is_legal(&s, seat, a)).collect();
                assert_eq!(single, wanted, "{rows} x {columns}: {s:?}");
                let a = g.random_action(&s, seat, &mut rng);
                assert!(wanted.contains(&a));
                g.play_unchecked(&mut s, a);
            }
        }
    }
}

#[test]
fn random_actions_are_uniform() {
    let g = game(8, 3);
    let (s, mut rng) = (g.start(), Stream::from_text("breakthrough evenly"));
    let mut counts = std::collections::BTreeMap::new();
    (0..7_000).for_each(|_| *counts.entry(g.random_action(&s, 0, &mut rng)).or_insert(0) += 1);
    assert_eq!(counts.len(), 7);
    assert!(counts.values().all(|n| (850..1_150).contains(n)), "{counts:?}");
}

#[test]
fn seat_zero_sees_rotated_board() {
    let g = game(4, 3);
    let view = g.view(&board(&g, &["...", "b..", "..w", "www"], "b"), Viewer::Public);
    assert_eq!(g.text(&view), "4...\n3b..\n2..w\n1www\n abc\n");
    let drawn = "  a b c\n4 . . .\n3 b . .\n2 . . w\n1 w w w\n";
    assert_eq!([g.drawing(&view, Viewer::Seat(1)), g.drawing(&view, Viewer::Public)], [drawn, drawn]);
    assert_eq!(g.drawing(&view, Viewer::Seat(0)), "  c b a\n1 w w w\n2 w . .\n3 . . b\n4 . . .\n");
}
