//! Move counts of two independent generators, and positions for each rule.

use ludex_env::dyn_state::DynState;
use ludex_env::game::ParsedMove;
use ludex_protocol::Move;

use super::*;
use crate::load;

/// A board as a plain array, independent of the tested bit sets: 0 empty, 1 `x`, 2 `o`.
#[derive(Clone, Copy)]
struct Plain {
    cells: [[u8; 7]; 7],
    mover: u8,
}

impl Plain {
    fn start() -> Self {
        let mut cells = [[0; 7]; 7];
        (cells[0][0], cells[6][6], cells[0][6], cells[6][0]) = (1, 1, 2, 2);
        Plain { cells, mover: 1 }
    }

    /// Returns every move as source and target row and column. Clones to the same target count as one move.
    fn moves(&self) -> Vec<[usize; 4]> {
        let mut out = Vec::new();
        let mut cloned = [[false; 7]; 7];
        for (r, c) in (0..49).map(|i| (i / 7, i % 7)) {
            if self.cells[r][c] != self.mover {
                continue;
            }
            for (dr, dc) in (-2..=2i32).flat_map(|dr| (-2..=2i32).map(move |dc| (dr, dc))) {
                let (tr, tc) = (r as i32 + dr, c as i32 + dc);
                if !(0..7).contains(&tr) || !(0..7).contains(&tc) {
                    continue;
                }
                let (tr, tc) = (tr as usize, tc as usize);
                let clone = dr.abs() < 2 && dc.abs() < 2;
                if self.cells[tr][tc] == 0 && !(clone && std::mem::replace(&mut cloned[tr][tc], true)) {
                    out.push([r, c, tr, tc]);
                }
            }
        }
        out
    }

    fn after(mut self, [r, c, tr, tc]: [usize; 4]) -> Self {
        if r.abs_diff(tr) == 2 || c.abs_diff(tc) == 2 {
            self.cells[r][c] = 0;
        }
        self.cells[tr][tc] = self.mover;
        for nr in tr.saturating_sub(1)..(tr + 2).min(7) {
            for nc in tc.saturating_sub(1)..(tc + 2).min(7) {
                if self.cells[nr][nc] != 0 {
                    self.cells[nr][nc] = self.mover;
                }
            }
        }
        self.mover = 3 - self.mover;
        self
    }

    fn perft(&self, depth: u32) -> u64 {
        let moves = self.moves();
        if depth == 1 {
            return moves.len() as u64;
        }
        moves.into_iter().map(|m| self.after(m).perft(depth - 1)).sum()
    }
}

fn ataxx() -> Ataxx {
    Ataxx::new(Params::default()).unwrap()
}

fn perft(game: &Ataxx, s: &State, depth: u32) -> u64 {
    let mut legal = Vec::new();
    game.legal(s, s.mover(), &mut legal);
    if depth == 1 {
        return legal.len() as u64;
    }
    let play = |a| {
        let mut next = s.clone();
        game.play_unchecked(&mut next, a);
        perft(game, &next, depth - 1)
    };
    legal.into_iter().map(play).sum()
}

/// Compares the number of move sequences: depths 1 to 4 with published counts, depth 5 with a second generator.
#[test]
fn move_counts_equal_reference_counts() {
    let game = ataxx();
    for (depth, published) in (1..).zip([16, 256, 6460, 155_888]) {
        assert_eq!(perft(&game, &game.start(), depth), published);
        assert_eq!(Plain::start().perft(depth), published);
    }
    assert_eq!([perft(&game, &game.start(), 5), Plain::start().perft(5)], [4_752_668; 2]);
}

#[test]
fn random_games_agree_with_second_implementation() {
    let game = load("ataxx").unwrap();
    let mut rng = Stream::from_text("ataxx against a plain board");
    for _ in 0..40 {
        let (mut s, mut plain) = (game.start(), Plain::start());
        while let ToMove::Seat(seat) = s.turn() {
            let mut moves = plain.moves();
            // The game lists one clone per target cell, and then the jumps, sorted by source and target.
            let clone = |m: &[usize; 4]| m[0].abs_diff(m[2]) < 2 && m[1].abs_diff(m[3]) < 2;
            moves.sort_by_key(
                |m| if clone(m) { (0, 0, m[2] * 7 + m[3]) } else { (1, m[0] * 7 + m[1], m[2] * 7 + m[3]) },
            );
            let legal = s.legal_list(seat);
            let named = |&a: &Action| s.view(Viewer::Public).action_text(seat, a);
            let names: Vec<String> = legal.iter().map(named).collect();
            let square = |r: usize, c: usize| format!("{}{}", char::from(b'a' + c as u8), 7 - r);
            let wanted =
                |m: &[usize; 4]| if clone(m) { String::new() } else { square(m[0], m[1]) } + &square(m[2], m[3]);
            assert_eq!(names, moves.iter().map(wanted).collect::<Vec<_>>());
            let k = rng.below(legal.len());
            s.play(seat, legal[k]).unwrap();
            plain = plain.after(moves[k]);
            let cells = plain.cells.map(|row| row.map(|c| ['.', 'x', 'o'][usize::from(c)]).iter().collect::<String>());
            assert_eq!(s.view(Viewer::Public).value()["board"], serde_json::json!(cells));
        }
        // If only one side can move, it owns the empty cells.
        let count = |c: u8| plain.cells.iter().flatten().filter(|&&x| x == c).count() as i32;
        let can = |mover: u8| i32::from(!Plain { mover, ..plain }.moves().is_empty());
        let lead = count(1) - count(2) + count(0) * (can(1) - can(2));
        assert_eq!(s.returns()[0], f64::from(lead.signum()));
    }
}

/// Creates a position from seven rows.
fn position(board: [&str; 7], plies: u32, preset: &str) -> Box<dyn DynState> {
    let game = load(&format!("ataxx({preset})")).unwrap();
    let view = serde_json::json!({ "board": board, "plies": plies });
    game.read_view(&view).unwrap().world(&mut Stream::from_text("position"))
}

fn play(s: &mut dyn DynState, moves: &str) {
    for text in moves.split_whitespace() {
        let ToMove::Seat(seat) = s.turn() else { panic!("the game ended before {text}") };
        let Ok(ParsedMove::Action(a)) = s.parse_move(seat, &Move::Text(text.into())) else { panic!("{text}") };
        s.play(seat, a).unwrap();
    }
}

fn end(s: &dyn DynState) -> (String, Vec<f64>) {
    (s.view(Viewer::Public).value()["end"].as_str().unwrap_or_default().to_owned(), s.returns())
}

#[test]
fn side_that_can_move_gets_empty_cells() {
    // The last piece of o is flipped: x owns the board.
    let mut s = position(["x.o....", ".......", ".......", ".......", ".......", ".......", "......."], 0, "");
    play(&mut *s, "b7");
    assert_eq!(
        (end(&*s), s.view(Viewer::Public).value()["score"].clone()),
        (("no_move".into(), vec![1.0, -1.0]), serde_json::json!([49, 0]))
    );
    // x encloses o: it has fewer pieces, but it owns the empty cells.
    let rows = ["ooooooo", "ooooooo", "ooooooo", "xxxxxxx", "xxxxxx.", ".......", "......."];
    let mut s = position(rows, 0, "");
    assert_eq!(s.turn(), ToMove::Seat(0), "o could still jump to g3");
    play(&mut *s, "g3");
    assert_eq!(end(&*s), ("no_move".into(), vec![1.0, -1.0]));
    assert_eq!(s.view(Viewer::Public).value()["score"], serde_json::json!([28, 21]));
    // The same holds if the mover has enclosed itself.
    let rows = ["xxxxxx.", "xxxxxxx", "ooooooo", "ooooooo", "ooooooo", ".......", "......."];
    let mut s = position(rows, 0, "");
    play(&mut *s, "g7");
    assert_eq!(end(&*s), ("no_move".into(), vec![-1.0, 1.0]));
    assert_eq!(s.view(Viewer::Public).value()["score"], serde_json::json!([14, 35]));
}

#[test]
fn pieces_are_counted_on_full_board() {
    let rows = ["xxxxxxx", "xxxxxxx", "xxxxxxx", "ooooooo", "ooooooo", "ooooooo", "oooo.xx"];
    let mut s = position(rows, 1, "");
    play(&mut *s, "e1");
    // o fills e1 and flips f1.
    assert_eq!(s.view(Viewer::Public).value()["score"], serde_json::json!([22, 27]));
    assert_eq!(end(&*s), ("no_move".into(), vec![-1.0, 1.0]));
}

#[test]
fn pieces_are_counted_after_last_ply() {
    let mut s = load("ataxx(max_plies=2)").unwrap().start();
    play(&mut *s, "b6 g6");
    assert_eq!(end(&*s), ("plies".into(), vec![0.0, 0.0]), "3 : 3 is a draw");
    let mut s = load("ataxx(max_plies=1)").unwrap().start();
    play(&mut *s, "b6");
    assert_eq!(end(&*s), ("plies".into(), vec![1.0, -1.0]));
    assert_eq!(load("ataxx").unwrap().spec().max_length, 400);
}

#[test]
fn repetition_loses_if_configured() {
    // Both sides jump out and back. The fifth move repeats the first move in the same position.
    let there_and_back = "a7c7 g7e7 c7a7 e7g7 a7c7";
    let mut s = load("ataxx").unwrap().start();
    play(&mut *s, there_and_back);
    assert_eq!(s.turn(), ToMove::Seat(1));
    let mut s = load("ataxx(preset=botzone)").unwrap().start();
    play(&mut *s, there_and_back);
    assert_eq!(end(&*s), ("repetition".into(), vec![-1.0, 1.0]));
    assert!(s.view(Viewer::Public).text().contains("x repeated a step"));
    // A different fifth move creates a new position. After a clone, only one board is stored.
    let mut s = load("ataxx(preset=botzone)").unwrap().start();
    play(&mut *s, "a7c7 g7e7 c7a7 e7g7 a7a5 g7e7");
    assert_eq!(s.turn(), ToMove::Seat(0));
    assert_eq!(s.view(Viewer::Public).value()["steps"].as_array().unwrap().len(), 7);
    play(&mut *s, "a6");
    assert_eq!(s.view(Viewer::Public).value()["steps"].as_array().unwrap().len(), 1);
}

/// Each board in the view is stored before the move flips pieces.
#[test]
fn view_lists_boards_before_flips_as_steps() {
    let rows = ["x.....o", ".......", ".......", "...o...", ".......", ".......", "o.....x"];
    let mut s = position(rows, 0, "preset=botzone");
    // x jumps to c5, next to d4, and flips the piece on d4.
    play(&mut *s, "a7c5");
    assert_eq!(s.view(Viewer::Public).value()["board"][3], "...x...");
    let steps = s.view(Viewer::Public).value()["steps"].clone();
    let last = steps.as_array().unwrap().last().unwrap().as_str().unwrap().to_owned();
    assert!(last.contains("/...o.../"), "{last}");
}

#[test]
fn move_notations_are_equivalent() {
    let game = load("ataxx").unwrap();
    let s = game.start();
    for text in ["b6", "a7b6", "A7-B6", "(A,7) -> (B,6)", " a7 b6 ", "8"] {
        assert_eq!(s.parse_move(0, &Move::Text(text.into())), Ok(ParsedMove::Action(8)), "{text}");
    }
    assert_eq!(s.parse_move(0, &Move::Text("a7c7".into())), Ok(ParsedMove::Action(49)));
    assert_eq!(s.view(Viewer::Public).action_text(0, 528), "g1e1");
    for text in ["a7", "b6a7", "b7b6", "a7d7", "h1", "a0", "0000", "08", "a7b6c5", ""] {
        assert!(s.parse_move(0, &Move::Text(text.into())).is_err(), "{text}");
    }
    for (a, why) in
        [(0, "a7 is taken"), (24, "x has no piece next to d4"), (JUMP_ID[24][26].into(), "x has no piece on d4")]
    {
        let message = s.boxed().play(0, a).unwrap_err().message;
        assert!(message.contains(why), "{message}");
    }
}

#[test]
fn invalid_parameters_are_refused() {
    for (text, name) in [
        ("ataxx(max_plies=0)", "max_plies"),
        ("ataxx(max_plies=10001)", "max_plies"),
        ("ataxx(repetition=draw)", "repetition"),
        ("ataxx(preset=qitown)", "preset"),
    ] {
        let error = load(text).err().unwrap_or_else(|| panic!("{text} was accepted"));
        assert_eq!(error.name.as_deref(), Some(name), "{text}: {error}");
    }
}

#[test]
fn losing_repetition_has_warning() {
    for (game, word) in [("ataxx", ""), ("ataxx(preset=botzone)", "repeats an earlier step and loses at once")] {
        let mut s = load(game).unwrap().start();
        play(&mut *s, "a7c7 g7e7 c7a7 e7g7");
        let view = s.view(Viewer::Seat(0));
        let told: Vec<String> = s.legal_list(0).iter().map(|&a| view.gloss(0, a)).filter(|g| !g.is_empty()).collect();
        assert_eq!(told.join("; "), word);
    }
}

#[test]
fn drawing_labels_rows_and_columns() {
    let drawn = load("ataxx").unwrap().start().view(Viewer::Public).drawing(Viewer::Public);
    assert!(drawn.starts_with("  a b c d e f g\n7 x . . . . . o\n6 "), "{drawn}");
}
