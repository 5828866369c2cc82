//! Comparison with a second implementation of the rules, and positions for each rare rule.

use std::collections::HashSet;

use ludex_env::GameRef;
use ludex_env::dyn_state::DynState;
use ludex_protocol::Move;

use super::view::read_point;
use super::*;
use crate::load;

/// A board as a plain list, independent of the tested bit sets: 0 empty, 1 Black, 2 White.
#[derive(Clone)]
struct Plain {
    size: usize,
    cells: Vec<u8>,
    ko: Option<usize>,
}

impl Plain {
    fn near(&self, p: usize) -> Vec<usize> {
        let (row, column, n) = (p / self.size, p % self.size, self.size);
        let mut out = Vec::new();
        if row > 0 {
            out.push(p - n);
        }
        if column > 0 {
            out.push(p - 1);
        }
        if column + 1 < n {
            out.push(p + 1);
        }
        if row + 1 < n {
            out.push(p + n);
        }
        out
    }

    /// Returns the connected region of equal cells that contains `p`, and the cells that border on it.
    fn region(&self, p: usize) -> (HashSet<usize>, HashSet<usize>) {
        let (mut inside, mut border, mut todo) = (HashSet::from([p]), HashSet::new(), vec![p]);
        while let Some(at) = todo.pop() {
            for q in self.near(at) {
                if self.cells[q] != self.cells[p] {
                    border.insert(q);
                } else if inside.insert(q) {
                    todo.push(q);
                }
            }
        }
        (inside, border)
    }

    fn liberties(&self, p: usize) -> usize {
        self.region(p).1.into_iter().filter(|&q| self.cells[q] == 0).count()
    }

    /// Returns the board after a new stone, or `None` if the move is illegal.
    fn after(&self, color: u8, p: usize) -> Option<Plain> {
        if self.cells[p] != 0 || self.ko == Some(p) {
            return None;
        }
        let mut next = Plain { ko: None, ..self.clone() };
        next.cells[p] = color;
        let mut taken = Vec::new();
        for q in self.near(p) {
            if next.cells[q] == 3 - color && next.liberties(q) == 0 {
                let chain = next.region(q).0;
                chain.iter().for_each(|&c| next.cells[c] = 0);
                taken.extend(chain);
            }
        }
        if next.liberties(p) == 0 {
            return None;
        }
        if taken.len() == 1 && next.region(p).0.len() == 1 && next.liberties(p) == 1 {
            next.ko = taken.pop();
        }
        Some(next)
    }

    fn area(&self) -> i32 {
        let worth = |p: usize| match self.cells[p] {
            1 => 1,
            2 => -1,
            _ => {
                let colors: HashSet<u8> = self.region(p).1.into_iter().map(|q| self.cells[q]).collect();
                i32::from(colors == HashSet::from([1])) - i32::from(colors == HashSet::from([2]))
            }
        };
        (0..self.cells.len()).map(worth).sum()
    }

    /// Returns the cells from the perspective of `color`: 0 empty, 1 own stone, 2 enemy stone.
    fn seen_by(&self, color: u8) -> Vec<u8> {
        self.cells.iter().map(|&c| if c == 0 { 0 } else { 1 + u8::from(c != color) }).collect()
    }
}

/// Plays random games with few passes and compares them with the plain board. Returns the number of games that ended by
/// repetition.
fn compare(string: &str, games: usize) -> usize {
    let game = load(string).unwrap();
    let params = &game.spec().params;
    let size = params["board_size"].as_u64().unwrap() as usize;
    let (rule, komi) = (params["superko"].as_str().unwrap(), params["komi"].as_f64().unwrap());
    let mut rng = Stream::from_text(string);
    let mut repeated = 0;
    for round in 0..games {
        let mut s = game.start();
        let mut plain = Plain { size, cells: vec![0; size * size], ko: None };
        let (mut boards, mut seen) = (HashSet::from([plain.cells.clone()]), HashSet::new());
        let (mut passes, mut plies) = (0, 0);
        let outcome = loop {
            let at = format!("{string}, game {round}, ply {plies}");
            let seat = plies % 2;
            let color = 1 + seat as u8;
            let allowed = |b: &Plain| rule != "forbidden" || !boards.contains(&b.cells);
            let open: Vec<u32> = (0..size * size)
                .filter(|&p| plain.after(color, p).as_ref().is_some_and(allowed))
                .map(|p| p as u32)
                .chain([(size * size) as u32])
                .collect();
            assert_eq!(s.turn(), ToMove::Seat(seat), "{at}");
            assert_eq!(s.legal_list(seat), open, "{at}");
            assert!(open.iter().all(|&a| s.is_legal(seat, a)), "{at}");
            let stones = open.len() - 1;
            let k = if stones == 0 || rng.below(30) == 0 { stones } else { rng.below(stones) };
            s.play(seat, open[k]).unwrap();
            plies += 1;
            if k == stones {
                passes += 1;
                plain.ko = None;
            } else {
                passes = 0;
                plain = plain.after(color, open[k] as usize).unwrap();
            }
            let new = boards.insert(plain.cells.clone());
            let new_to_see = seen.insert(plain.seen_by(3 - color));
            if passes == 2 {
                break f64::from(plain.area()) - komi;
            }
            if rule == "draw" && k < stones && !new {
                repeated += 1;
                break 0.0;
            }
            if rule == "loses" && !new_to_see {
                repeated += 1;
                break if seat == 0 { -1.0 } else { 1.0 };
            }
            if plies >= game.spec().max_length as usize {
                break f64::from(plain.area()) - komi;
            }
        };
        let black = if outcome == 0.0 { 0.0 } else { outcome.signum() };
        assert_eq!((s.turn(), s.returns()), (ToMove::Over, vec![black, -black]), "{string}, game {round}");
    }
    repeated
}

#[test]
fn random_games_agree_with_second_implementation() {
    for (size, games) in [(2, 60), (3, 60), (5, 30), (9, 4), (11, 2), (12, 2)] {
        compare(&format!("go(board_size={size},komi=0.5)"), games);
    }
    for rule in ["draw", "loses"] {
        let repeated = compare(&format!("go(board_size=3,komi=2,max_game_length=300,superko={rule})"), 60);
        assert!(repeated > 10, "{rule}: only {repeated} games ended by repetition");
    }
    compare("go(board_size=2,komi=1,max_game_length=300,superko=forbidden)", 40);
    compare("go(board_size=4,komi=1,max_game_length=400,superko=forbidden)", 20);
}

fn id(size: usize, name: &str) -> u32 {
    read_point(size, name).unwrap()
}

/// Plays points or passes given by name; the seats alternate.
fn play(game: &GameRef, moves: &str) -> Box<dyn DynState> {
    let mut s = game.start();
    for name in moves.split_whitespace() {
        let ToMove::Seat(seat) = s.turn() else { panic!("the game ended before {name}") };
        let a = s.parse_move(seat, &Move::Text(name.to_owned())).unwrap_or_else(|e| panic!("{name}: {e}"));
        let ludex_env::game::ParsedMove::Action(a) = a else { panic!("{name}") };
        s.play(seat, a).unwrap();
    }
    s
}

fn refusal(s: &dyn DynState, a: u32) -> String {
    let ToMove::Seat(seat) = s.turn() else { panic!("over") };
    s.boxed().play(seat, a).unwrap_err().message
}

/// Moves that create a ko: Black's stone at b2 captures c2. Black has stones at b3, a2 and b1, White at c3, d2 and c1.
const KO: &str = "b3 c3 a2 d2 b1 c1 e5 b2 c2";

#[test]
fn ko_cannot_be_retaken_immediately() {
    let game = load("go(board_size=5,komi=0.5)").unwrap();
    let mut s = play(&game, KO);
    let b2 = id(5, "b2");
    assert!(!s.is_legal(1, b2));
    assert!(refusal(&*s, b2).contains("ko"));
    assert_eq!(s.view(Viewer::Public).value()["ko"], "b2");
    // After a threat and its reply, the ko may be retaken, because the board is different.
    for a in ["e1", "e2", "b2"] {
        let ToMove::Seat(seat) = s.turn() else { panic!("over") };
        s.play(seat, id(5, a)).unwrap();
    }
    assert_eq!(s.turn(), ToMove::Seat(0));
    // A pass also lifts the ban, and retaking then repeats the board.
    let mut s = play(&game, &format!("{KO} pass pass"));
    assert_eq!(s.turn(), ToMove::Over);
    s = play(&game, &format!("{KO} pass e4 b2"));
    assert_eq!(s.turn(), ToMove::Seat(0));
}

fn on_2x2(superko: &str, moves: &str) -> Box<dyn DynState> {
    play(&load(&format!("go(board_size=2,komi=0.5,max_game_length=50,superko={superko})")).unwrap(), moves)
}

fn end(s: &dyn DynState) -> (String, Vec<f64>) {
    (s.view(Viewer::Public).value()["end"].as_str().unwrap_or_default().to_owned(), s.returns())
}

#[test]
fn superko_parameter_decides_result_of_repetition() {
    // White captures two stones, then one. Black's last move captures three and restores the board after move 1.
    let moves = "a1 b1 a2 b2 a1 a2 a1";
    assert_eq!(end(&*on_2x2("draw", moves)), ("repetition".into(), vec![0.0, 0.0]));
    assert_eq!(end(&*on_2x2("loses", moves)), ("repetition".into(), vec![-1.0, 1.0]));
    let s = on_2x2("forbidden", "a1 b1 a2 b2 a1 a2");
    assert!(refusal(&*s, 0).contains("earlier position"));
    assert_eq!(s.legal_list(0), [4], "nothing is left but to pass");
}

#[test]
fn botzone_superko_treats_passes_and_exchanged_colors_as_repetition() {
    // The last move leaves one white stone on a1. After the first move, there was one black stone on a1.
    let exchanged = "a1 b1 a2 b2 a2 a1 a2 a1 b1 pass b2 a1";
    assert_eq!(end(&*on_2x2("loses", exchanged)), ("repetition".into(), vec![1.0, -1.0]));
    assert_eq!(end(&*on_2x2("draw", exchanged)).0, "");
    // White's second pass restores the position after the second move, with Black to move.
    let passed = "a1 b1 a2 pass b2 b1 a1 pass";
    assert_eq!(end(&*on_2x2("loses", passed)), ("repetition".into(), vec![1.0, -1.0]));
    // Two passes in a row end the game even if they repeat a position.
    assert_eq!(end(&*on_2x2("loses", "a1 b1 pass pass")).0, "passes");
}

#[test]
fn suicide_is_refused() {
    let game = load("go(board_size=5,komi=0.5)").unwrap();
    let s = play(&game, "b1 e5 a2");
    assert!(refusal(&*s, id(5, "a1")).contains("suicide"));
    assert!(refusal(&*s, id(5, "a2")).contains("taken"));
    // Suicide of several stones is illegal too: a stone on a1 would leave a1 and a2 without a liberty.
    let s = play(&game, "a3 a2 b2 e5 b1");
    assert!(refusal(&*s, id(5, "a1")).contains("suicide"));
    // A capture is legal: White on a1 captures b1, whose other liberties are filled by c1 and b2.
    let s = play(&game, "b1 c1 a2 b2 e5 a3 e4");
    assert!(s.is_legal(1, id(5, "a1")));
}

/// Plays the moves and two passes. Returns Black's lead and the returns.
fn lead(game: &str, moves: &str) -> (Option<f64>, Vec<f64>) {
    let s = play(&load(game).unwrap(), &format!("{moves} pass pass"));
    (s.view(Viewer::Public).value()["lead"].as_f64(), s.returns())
}

#[test]
fn area_is_counted_after_two_passes() {
    let black = (Some(25.0 - 7.5), vec![1.0, -1.0]);
    assert_eq!(lead("go(board_size=5)", "c3"), black, "one stone owns an empty board");
    let empty = (Some(-7.5), vec![-1.0, 1.0]);
    assert_eq!(lead("go(board_size=5)", ""), empty);
    assert_eq!(lead("go(board_size=5)", "c3 c4"), empty, "a region that touches both colors has no owner");
    // A wall on b: a is Black's, c is neutral, e is White's. Dead stones are not removed.
    let wall = "b1 d1 b2 d2 b3 d3 b4 d4 b5 d5";
    assert_eq!(lead("go(board_size=5,komi=0)", wall), (Some(0.0), vec![0.0, 0.0]));
    assert_eq!(lead("go(board_size=5,komi=-1)", wall).1, [1.0, -1.0]);
    assert_eq!(lead("go(board_size=5,komi=0)", &format!("{wall} e1 a1")), (Some(0.0), vec![0.0, 0.0]));
    assert_eq!(lead("go(board_size=5,komi=0)", &format!("{wall} pass a1")).0, Some(-6.0));
}

#[test]
fn handicap_stones_are_placed_and_counted() {
    let game = load("go(handicap=5,komi=0.5)").unwrap();
    let s = game.start();
    assert_eq!(s.turn(), ToMove::Seat(1), "White begins");
    let stones: Vec<usize> = ["d4", "q16", "d16", "q4", "k10"].map(|name| id(19, name) as usize).into();
    let mut planes = vec![0.0; 4 * 361];
    s.openspiel_tensor(0, &mut planes);
    assert!((0..361).all(|p| (planes[p] == 1.0) == stones.contains(&p)));
    assert_eq!(lead("go(handicap=5,komi=0.5)", "").0, Some(361.0 - 5.5));
    assert_eq!(load("go(handicap=1)").unwrap().start().turn(), ToMove::Seat(0));
    assert_eq!(handicap_points(9).iter().collect::<HashSet<_>>().len(), 9);
    assert_eq!(handicap_points(7).last(), Some(&(id(19, "k10") as usize)));
}

#[test]
fn area_is_counted_at_maximum_length() {
    let game = load("go(board_size=5,komi=0.5,max_game_length=3)").unwrap();
    assert_eq!(end(&*play(&game, "c3 a1 c4")), ("length".into(), vec![1.0, -1.0]));
    assert_eq!(load("go(board_size=5)").unwrap().spec().max_length, 50);
}

#[test]
fn point_notations_are_equivalent() {
    let game = load("go(board_size=9)").unwrap();
    let s = game.start();
    for (text, a) in [("j1", 8), ("J9", 80), ("B a2", 9), ("black a2", 9), (" 9 ", 9), ("pass", 81), ("b PASS", 81)] {
        assert_eq!(s.parse_move(0, &Move::Text(text.into())), Ok(ludex_env::game::ParsedMove::Action(a)), "{text}");
    }
    for text in ["i1", "k1", "a10", "a0", "W a2", "B", "B a2 a3", "82", ""] {
        assert!(s.parse_move(0, &Move::Text(text.into())).is_err(), "{text}");
    }
    assert_eq!(s.view(Viewer::Public).action_text(1, 81), "W PASS");
}

#[test]
fn invalid_parameters_are_refused() {
    for (text, name) in [
        ("go(board_size=1)", "board_size"),
        ("go(board_size=20)", "board_size"),
        ("go(komi=401)", "komi"),
        ("go(komi=many)", "komi"),
        ("go(handicap=10)", "handicap"),
        ("go(board_size=9,handicap=2)", "handicap"),
        ("go(max_game_length=1)", "max_game_length"),
        ("go(superko=allowed)", "superko"),
        ("go(size=9)", "size"),
    ] {
        let error = load(text).err().unwrap_or_else(|| panic!("{text} was accepted"));
        assert_eq!(error.name.as_deref(), Some(name), "{text}: {error}");
    }
    assert_eq!(
        load("go(board_size=9,komi=7)").unwrap().spec().string,
        "go(board_size=9,komi=7.0,handicap=0,max_game_length=162,superko=draw)"
    );
    let botzone = load("go(preset=botzone)").unwrap();
    assert_eq!((botzone.spec().actions, botzone.spec().max_length), (65, 1000));
}

/// The types for small and for large boards apply the same rules to a small board.
#[test]
fn small_and_large_board_types_agree() {
    let params = Params { board_size: 9, komi: 0.5, ..Params::default() };
    let (small, large) = (Go::<2>::new(params.clone()).unwrap(), Go::<6>::new(params).unwrap());
    let mut rng = Stream::from_text("both builds");
    for _ in 0..20 {
        let (mut a, mut b) = (small.start(), large.start());
        while small.to_move(&a) != ToMove::Over {
            let (x, y) = (small.random_action(&a, 0, &mut rng.clone()), large.random_action(&b, 0, &mut rng));
            assert_eq!(x, y);
            small.play_unchecked(&mut a, x);
            large.play_unchecked(&mut b, y);
            assert_eq!(small.view(&a, Viewer::Public), large.view(&b, Viewer::Public));
            assert_eq!((small.hash(&a), small.evaluate(&a, 0)), (large.hash(&b), large.evaluate(&b, 0)));
        }
    }
}

#[test]
fn games_convert_to_sgf() {
    let params = Params { board_size: 9, komi: 0.5, ..Params::default() };
    // c3 is id 2 * 9 + 2 = 20. Counted from the top, its row is 6.
    let moves = [(0, 20), (1, 81), (0, 80)];
    let text = sgf(&params, &moves, &[("PB", "x")]);
    assert_eq!(text, "(;FF[4]CA[UTF-8]GM[1]SZ[9]KM[0.5]PB[x]\n;B[cg];W[];B[ia])\n");
    let handicap = sgf(&Params { handicap: 2, ..Params::default() }, &[(1, 0)], &[]);
    assert_eq!(handicap, "(;FF[4]CA[UTF-8]GM[1]SZ[19]KM[7.5]HA[2]AB[dp][pd]\n;W[as])\n");
}

#[test]
fn repeating_move_has_warning() {
    let told = |superko: &str, seat: usize| {
        let s = on_2x2(superko, "a1 b1 a2 b2 a1 a2");
        s.legal_list(seat).iter().map(|&a| s.view(Viewer::Seat(seat)).gloss(seat, a)).collect::<Vec<_>>()
    };
    assert_eq!(told("draw", 0), ["brings an earlier board back: the game ends as a draw", ""]);
    assert_eq!(told("loses", 0), ["repeats an earlier position and loses at once", ""]);
    assert_eq!(told("forbidden", 0), [""]);
}
