use ludex_env::game::Count;

use super::*;

/// Returns the position with these eight rows, converted from a view.
fn position(g: &Reversi, board: [&str; 8], to_move: &str) -> State {
    let view = View { board: board.map(String::from), discs: [0; 2], to_move: Some(to_move.to_owned()) };
    g.sample_world(&view, &mut Stream::from_text("position"))
}

fn game(auto_pass: bool) -> Reversi {
    Reversi::new(Params { auto_pass }).unwrap()
}

fn list(g: &Reversi, s: &State) -> Vec<Action> {
    let mut out = Vec::new();
    g.legal(s, usize::from(s.mover), &mut out);
    out
}

/// Returns the discs that a move flips, computed one square at a time from the written rules.
fn slowly_turned(s: &State, a: Action) -> u64 {
    let (me, mut all) = (usize::from(s.mover), 0);
    let (mine, theirs) = (s.discs[me], s.discs[1 - me]);
    for (dr, dc) in [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)] {
        let (mut r, mut c, mut run) = (a as i32 / 8 + dr, a as i32 % 8 + dc, 0u64);
        while (0..8).contains(&r) && (0..8).contains(&c) && theirs >> (r * 8 + c) & 1 == 1 {
            run |= 1 << (r * 8 + c);
            (r, c) = (r + dr, c + dc);
        }
        if (0..8).contains(&r) && (0..8).contains(&c) && mine >> (r * 8 + c) & 1 == 1 {
            all |= run;
        }
    }
    all
}

#[test]
fn bitboards_agree_with_written_rules() {
    let (g, mut rng) = (game(false), Stream::from_text("reversi bits"));
    for _ in 0..200 {
        let mut s = g.start();
        while let ToMove::Seat(seat) = g.to_move(&s) {
            let (mine, theirs) = (s.discs[seat], s.discs[1 - seat]);
            for a in 0..PASS {
                let free = (mine | theirs) >> a & 1 == 0;
                let wanted = slowly_turned(&s, a);
                assert_eq!(flips(mine, theirs, 1 << a), wanted, "{s:x?} {a}");
                assert_eq!(g.is_legal(&s, seat, a), free && wanted != 0, "{s:x?} {a}");
            }
            let a = g.random_action(&s, seat, &mut rng);
            g.play_unchecked(&mut s, a);
        }
    }
}

/// The number of move sequences by depth equals the published numbers for Othello, which OpenSpiel also counts.
#[test]
fn move_counts_equal_reference_counts() {
    fn perft(g: &Reversi, s: &State, depth: usize) -> u64 {
        let ToMove::Seat(seat) = g.to_move(s) else { return 0 };
        if depth == 1 {
            let mut count = Count::default();
            g.legal(s, seat, &mut count);
            return count.0 as u64;
        }
        let after = |a| {
            let mut next = *s;
            g.play_unchecked(&mut next, a);
            perft(g, &next, depth - 1)
        };
        list(g, s).into_iter().map(after).sum()
    }
    let g = game(false);
    let wanted = [4, 12, 56, 244, 1_396, 8_200, 55_092, 390_216, 3_005_288];
    for (k, count) in wanted.into_iter().enumerate() {
        assert_eq!(perft(&g, &g.start(), k + 1), count, "depth {}", k + 1);
    }
}

/// A position in which black is to move, but only white has a legal move.
const STUCK: [&str; 8] =
    ["........", "........", "........", "........", "........", "........", "........", "oox....."];

#[test]
fn player_without_move_passes() {
    let g = game(false);
    let mut s = position(&g, STUCK, "black");
    assert_eq!((g.to_move(&s), list(&g, &s)), (ToMove::Seat(0), vec![PASS]));
    let mut mask = [7; 65];
    g.mask(&s, 0, &mut mask);
    assert_eq!((mask[64], mask[..64].iter().sum::<u8>()), (1, 0));
    assert!(g.why_not(&s, 0, 0).contains("the only move is to pass"));
    g.play_unchecked(&mut s, PASS);
    assert_eq!((g.to_move(&s), list(&g, &s)), (ToMove::Seat(1), vec![59]));
    assert!(g.why_not(&s, 1, PASS).contains("may not pass") && g.why_not(&s, 1, 0).contains("no disc"));
    // White takes the last black disc: neither can move, though the board is almost empty.
    g.play_unchecked(&mut s, 59);
    let mut returns = [0.0; 2];
    g.returns(&s, &mut returns);
    assert_eq!((g.to_move(&s), returns, s.discs), (ToMove::Over, [-1.0, 1.0], [0, 0xf << 56]));
}

#[test]
fn player_without_move_is_skipped_with_auto_pass() {
    let g = game(true);
    let s = position(&g, STUCK, "black");
    assert_eq!((g.to_move(&s), list(&g, &s)), (ToMove::Seat(1), vec![59]));
    // Games with both settings are the same except for the passes.
    let (plain, mut rng) = (game(false), Stream::from_text("reversi passes"));
    let mut passes = 0;
    for _ in 0..200 {
        let (mut s, mut t) = (plain.start(), g.start());
        while let ToMove::Seat(seat) = plain.to_move(&s) {
            let a = plain.random_action(&s, seat, &mut rng);
            if a == PASS {
                passes += 1;
            } else {
                assert_eq!((g.to_move(&t), t.moves), (ToMove::Seat(seat), s.moves));
                g.play_unchecked(&mut t, a);
            }
            plain.play_unchecked(&mut s, a);
        }
        assert_eq!(s, t);
    }
    assert!(passes > 50, "{passes}");
}

#[test]
fn equal_discs_are_a_draw() {
    let g = game(false);
    let s = position(
        &g,
        ["xxxxxxxx", "xxxxxxxx", "xxxxxxxx", "xxxxxxxx", "oooooooo", "oooooooo", "oooooooo", "oooooooo"],
        "white",
    );
    let mut returns = [1.0; 2];
    g.returns(&s, &mut returns);
    assert_eq!((g.to_move(&s), returns, g.evaluate(&s, 0)), (ToMove::Over, [0.0, 0.0], Some(0.0)));
}

#[test]
fn square_names_round_trip() {
    let g = game(false);
    let (s, legal) = (g.start(), list(&g, &g.start()));
    let view = g.view(&s, Viewer::Public);
    assert_eq!(legal, [19, 26, 37, 44]);
    let texts: Vec<String> = legal.iter().map(|&a| g.action_text(&view, 0, a)).collect();
    assert_eq!(texts, ["d3", "c4", "f5", "e6"]);
    let parse = |text: &str| g.parse(&view, 0, &legal, text);
    assert_eq!(
        (parse(" D3 "), parse("19"), parse("a1"), parse("pass"), parse("d9")),
        (Some(19), Some(19), None, None, None)
    );
    assert!(g.why_not(&s, 0, 27).contains("taken"));
}

#[test]
fn corner_disc_favors_its_owner() {
    let g = game(false);
    let s = position(
        &g,
        ["x.......", "........", "........", "...ox...", "...xo...", "........", "........", "........"],
        "white",
    );
    assert!(g.evaluate(&s, 0).unwrap() > 0.01 && g.evaluate(&s, 1).unwrap() < -0.01);
}

#[test]
fn games_convert_to_sgf() {
    let text = sgf(&[(0, 19), (1, PASS)], &[("RE", "0")]);
    assert_eq!(text, "(;FF[4]CA[UTF-8]GM[2]SZ[8]RE[0]\n;B[dc];W[])\n");
}
