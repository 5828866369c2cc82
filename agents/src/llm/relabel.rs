//! Other names for the columns, rows, pieces and seats of a board, by a seeded permutation.
//!
//! A model that has learned positions of a game by heart plays worse under other names, while the game is the same. The
//! names change in prompts and are changed back in replies, so records have the usual moves.

use ludex_env::{DynState, GameRef, Stream, ToMove, Viewer};
use ludex_protocol::Refusal;

use crate::refusal::bad_value;

/// Argument of an `llm` spec with the seed of the names.
pub(super) const RELABEL: &str = "relabel";

/// Number of random moves that are played to learn the pieces and the notation of a game.
const PLIES: usize = 40;

/// Notation of cells in moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Notation {
    /// The letter of the column and the number of the row: `b6`.
    LetterNumber,
    /// The numbers of the row and the column: `0,1`, or with a piece `x(0,1)`.
    Pair,
    /// A piece and the number of the column: `x3`.
    Column,
}

/// Direction of a translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// From the names of the game to those of the prompts.
    Out,
    /// From the names of replies to those of the game.
    Back,
}

/// Permutation of names: pairs of a name of the game and the name in prompts.
#[derive(Clone, Debug, Default, PartialEq)]
struct Names(Vec<[String; 2]>);

impl Names {
    /// Returns a permutation of names; not the identity if there are at least two.
    fn shuffled(names: &[String], rng: &mut Stream) -> Names {
        let mut other = names.to_vec();
        loop {
            for k in (1..other.len()).rev() {
                other.swap(k, rng.below(k + 1));
            }
            if other != names || names.len() < 2 {
                break;
            }
        }
        Names(names.iter().cloned().zip(other).map(|(name, other)| [name, other]).collect())
    }

    /// Translates a name; `None` for an unknown name. Case is ignored.
    fn get(&self, name: &str, way: Way) -> Option<&str> {
        let (from, to) = if way == Way::Out { (0, 1) } else { (1, 0) };
        self.0.iter().find(|pair| pair[from].eq_ignore_ascii_case(name)).map(|pair| pair[to].as_str())
    }

    fn others(&self) -> String {
        self.0.iter().map(|pair| pair[1].as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// Names of the parts of a board, as its drawing has them.
struct Board {
    columns: Vec<String>,
    /// Names of the rows from top to bottom; empty if the drawing has none.
    rows: Vec<String>,
    /// Index of the line with the names of the columns.
    head: usize,
    /// Number of lines with cells.
    height: usize,
}

impl Board {
    /// Finds the first board of at least three rows with single-character cells and column names above it.
    fn find(text: &str) -> Option<Board> {
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        (0..lines.len()).find_map(|head| {
            let columns = &lines[head];
            let wide = columns.len();
            let numbered = columns.iter().enumerate().all(|(k, name)| *name == k.to_string());
            let lettered = columns.iter().all(|name| name.len() == 1 && name.as_bytes()[0].is_ascii_lowercase());
            let distinct = columns.iter().enumerate().all(|(k, name)| !columns[..k].contains(name));
            if wide < 3 || !distinct || !(numbered || lettered) {
                return None;
            }
            let cells = |line: &[&str]| line.iter().all(|cell| cell.chars().count() == 1);
            let named = |line: &&Vec<&str>| {
                let number = |k: usize| line[k].bytes().all(|b| b.is_ascii_digit());
                (line.len() == wide + 1 && number(0) && cells(&line[1..]))
                    || (line.len() == wide + 2 && number(0) && line[0] == line[wide + 1] && cells(&line[1..=wide]))
            };
            let below = &lines[head + 1..];
            let rows: Vec<String> = below.iter().take_while(named).map(|line| line[0].to_owned()).collect();
            let bare = below.iter().take_while(|line| line.len() == wide && cells(line)).count();
            let height = rows.len().max(bare);
            let columns = columns.iter().map(|name| (*name).to_owned()).collect();
            (height > 2).then_some(Board { columns, rows, head, height })
        })
    }
}

/// Names of one game under one seed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Relabel {
    notation: Notation,
    columns: Names,
    rows: Names,
    pieces: Names,
    seats: Names,
}

impl Relabel {
    /// Draws the names of a game.
    ///
    /// # Errors
    /// A game whose board or moves cannot be renamed.
    pub(super) fn new(game: &GameRef, seed: u64) -> Result<Relabel, Refusal> {
        let refused = || {
            let allowed = format!("0 for {}, whose position is not only a grid of rows and columns", game.id());
            bad_value(RELABEL, &seed.to_string(), &allowed)
        };
        let drawing = |state: &dyn DynState| state.view(Viewer::Seat(0)).drawing(Viewer::Public);
        let mut rng = Stream::from_text(&format!("ludex.v1:relabel:{}:{seed}", game.id()));
        let mut state = game.start();
        let board = Board::find(&drawing(&*state)).ok_or_else(refused)?;
        let notation = match (board.columns[0].parse::<u32>().is_ok(), board.rows.is_empty()) {
            (false, false) => Notation::LetterNumber,
            (true, false) => Notation::Pair,
            (true, true) => Notation::Column,
            (false, true) => return Err(refused()),
        };
        let mut pieces: Vec<String> = Vec::new();
        let mut moves: Vec<String> = Vec::new();
        for _ in 0..PLIES {
            let text = drawing(&*state);
            let side = usize::from(!board.rows.is_empty());
            for line in text.lines().skip(board.head + 1).take(board.height) {
                let cells = line.split_whitespace().skip(side).take(board.columns.len());
                for cell in cells.filter(|cell| cell.chars().all(char::is_alphabetic)) {
                    if !pieces.iter().any(|known| known == cell) {
                        pieces.push(cell.to_owned());
                    }
                }
            }
            let ToMove::Seat(seat) = state.turn() else { break };
            let (legal, view) = (state.legal_list(seat), state.view(Viewer::Seat(seat)));
            moves.extend(legal.iter().map(|&a| view.action_text(seat, a)));
            let a = legal[rng.below(legal.len())];
            state.play(seat, a).map_err(|_| refused())?;
        }
        pieces.sort_unstable();
        let seats = &game.spec().seats;
        let pieces = Names::shuffled(&pieces, &mut rng);
        // Seats that are named by their pieces keep doing so.
        let same = seats.iter().all(|seat| pieces.get(seat, Way::Out).is_some());
        let named = |seat: &String| [seat.clone(), pieces.get(seat, Way::Out).unwrap_or(seat).to_owned()];
        let seats = if same { Names(seats.iter().map(named).collect()) } else { Names::shuffled(seats, &mut rng) };
        let [columns, rows] = [&board.columns, &board.rows].map(|names| Names::shuffled(names, &mut rng));
        let names = Relabel { notation, columns, rows, pieces, seats };
        let exact = |text: &String| {
            let other = names.of_move(text);
            names.moves(&other, Way::Back) == *text && (other != *text || !text.contains(|c: char| c.is_ascii_digit()))
        };
        // A name that happens to stay the same is not an error as long as most names change.
        let changed = moves.iter().filter(|text| names.of_move(text) != **text).count();
        let exact = moves.iter().filter(|text| exact(text)).count();
        if 2 * changed < moves.len() || exact < changed {
            return Err(refused());
        }
        Ok(names)
    }

    /// Returns the explanation of the names for the system prompt.
    pub(super) fn explanation(&self) -> String {
        let called = |names: &Names| {
            let each = names.0.iter().filter(|[name, other]| name != other);
            each.map(|[name, other]| format!("{name} is called {other}")).collect::<Vec<_>>()
        };
        let mut parts = vec![format!("Columns, from left to right, are called {}", self.columns.others())];
        if !self.rows.0.is_empty() {
            parts.push(format!("rows, from top to bottom, {}", self.rows.others()));
        }
        let mut others = called(&self.seats);
        others.extend(called(&self.pieces).into_iter().filter(|text| !called(&self.seats).contains(text)));
        parts.extend((!others.is_empty()).then(|| others.join(", ")));
        format!(
            "In your questions, and in your answers, the board has other names than in the text above. {}. The names of moves \
             change with them.",
            parts.join("; ")
        )
    }

    /// Renames the columns, rows and pieces of a drawn position.
    pub(super) fn board(&self, text: &str) -> String {
        let Some(board) = Board::find(text) else { return self.prose(text) };
        let line = |(at, line): (usize, &str)| {
            let tokens: Vec<&str> = line.split_whitespace().collect();
            if tokens == board.columns {
                return replaced(line, |_, name| self.columns.get(name, Way::Out));
            }
            if !(board.head + 1..=board.head + board.height).contains(&at) {
                return self.prose(line);
            }
            let side = usize::from(!board.rows.is_empty());
            replaced(line, |k, token| {
                let inside = (side..side + board.columns.len()).contains(&k);
                if inside { self.pieces.get(token, Way::Out) } else { self.rows.get(token, Way::Out) }
            })
        };
        text.lines().enumerate().map(line).collect::<Vec<_>>().join("\n")
    }

    /// Renames seats, pieces that stand alone, and cells in a text.
    pub(super) fn prose(&self, text: &str) -> String {
        let chars: Vec<char> = text.chars().collect();
        let (mut out, mut at) = (String::new(), 0);
        while at < chars.len() {
            if !chars[at].is_alphabetic() {
                out.push(chars[at]);
                at += 1;
                continue;
            }
            let end = (at..chars.len()).find(|&k| !chars[k].is_alphanumeric()).unwrap_or(chars.len());
            let word: String = chars[at..end].iter().collect();
            // In "3 x 3" the x is not a piece.
            let number = |k: Option<usize>| k.and_then(|k| chars.get(k)).is_some_and(char::is_ascii_digit);
            let sign = number(at.checked_sub(2)) && number(Some(end + 1));
            let other = self.seats.get(&word, Way::Out).or_else(|| self.pieces.get(&word, Way::Out).filter(|_| !sign));
            match other {
                Some(other) if chars[at].is_uppercase() && other.len() > 1 => {
                    out.extend(other.chars().next().map(|c| c.to_ascii_uppercase()));
                    out.push_str(&other[1..]);
                }
                Some(other) => out.push_str(other),
                None => out.push_str(&word),
            }
            at = end;
        }
        self.cells(&out, Way::Out).0
    }

    /// Renames a move of the game.
    pub(super) fn of_move(&self, text: &str) -> String {
        self.moves(text, Way::Out)
    }

    /// Translates a part of a reply into the names of the game; `None` if it has a number that names no cell.
    pub(super) fn back(&self, text: &str) -> Option<String> {
        let (found, changed) = self.cells(text, Way::Back);
        (changed || !text.contains(|c: char| c.is_ascii_digit())).then_some(found)
    }

    fn moves(&self, text: &str, way: Way) -> String {
        self.cells(text, way).0
    }

    /// Translates the cells, and the pieces beside them, in a text. The second value is true if the text has any.
    fn cells(&self, text: &str, way: Way) -> (String, bool) {
        let chars: Vec<char> = text.chars().collect();
        let (mut out, mut at, mut any) = (String::new(), 0, false);
        while at < chars.len() {
            match self.cell(&chars, at, way) {
                Some((end, other)) => {
                    out.push_str(&other);
                    (at, any) = (end, true);
                }
                None => {
                    out.push(chars[at]);
                    at += 1;
                    // A word or a number is skipped as a whole, unless a cell may follow a letter directly.
                    if chars[at - 1].is_ascii_digit() {
                        while at < chars.len() && chars[at].is_ascii_digit() {
                            out.push(chars[at]);
                            at += 1;
                        }
                    }
                }
            }
        }
        (out, any)
    }

    /// Translates the cell that starts at a place, and returns the place after it.
    fn cell(&self, chars: &[char], at: usize, way: Way) -> Option<(usize, String)> {
        let before = at.checked_sub(1).map(|k| chars[k]);
        let digits = |from: usize| {
            let end = (from..chars.len()).find(|&k| !chars[k].is_ascii_digit()).unwrap_or(chars.len());
            (end > from).then(|| (end, chars[from..end].iter().collect::<String>()))
        };
        let alone = |end: usize| !chars.get(end).is_some_and(|c| c.is_alphanumeric());
        let piece = |name: char| self.pieces.get(&name.to_string(), way).map(str::to_owned);
        match self.notation {
            Notation::LetterNumber => {
                if before.is_some_and(char::is_alphabetic) {
                    return None;
                }
                let column = self.columns.get(&chars[at].to_string(), way)?;
                let (end, row) = digits(at + 1)?;
                Some((end, format!("{column}{}", self.rows.get(&row, way)?)))
            }
            Notation::Pair => {
                if before.is_some_and(|c| c.is_alphanumeric() || c == '.') {
                    return None;
                }
                if chars.get(at + 1) == Some(&'(')
                    && let Some(piece) = piece(chars[at])
                {
                    let (end, cell) = self.cell(chars, at + 2, way)?;
                    return Some((end, format!("{piece}({cell}")));
                }
                let (comma, row) = digits(at)?;
                let gap = if chars.get(comma + 1) == Some(&' ') { 2 } else { 1 };
                let (end, column) = digits(comma + gap).filter(|_| chars.get(comma) == Some(&','))?;
                let [row, column] = [self.rows.get(&row, way)?, self.columns.get(&column, way)?];
                Some((end, format!("{row},{column}")))
            }
            Notation::Column => {
                if before.is_some_and(|c| c.is_alphanumeric() || c == '.') {
                    return None;
                }
                if let Some(piece) = piece(chars[at]) {
                    let (end, column) = digits(at + 1).filter(|(end, _)| alone(*end))?;
                    return Some((end, format!("{piece}{}", self.columns.get(&column, way)?)));
                }
                // A number alone is a column.
                let (end, column) = digits(at).filter(|(end, _)| at == 0 && *end == chars.len())?;
                Some((end, self.columns.get(&column, way)?.to_owned()))
            }
        }
    }
}

/// Replaces words of a line, each so that its end stays in place.
fn replaced<'n>(line: &str, other: impl Fn(usize, &str) -> Option<&'n str>) -> String {
    let mut out = String::new();
    let mut end = 0;
    for (k, word) in line.split_whitespace().enumerate() {
        let start = end + line[end..].find(word).unwrap_or(0);
        end = start + word.len();
        let new = other(k, word).unwrap_or(word);
        let wide = end.saturating_sub(out.len());
        out += &format!("{new:>wide$}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Games that can be renamed.
    const GAMES: [&str; 7] =
        ["tic_tac_toe", "connect_four", "gomoku", "reversi", "breakthrough", "ataxx", "go(board_size=9)"];

    #[test]
    fn board_and_moves_are_renamed_and_changed_back() {
        let names = Relabel::new(&ludex_games::load("tic_tac_toe").unwrap(), 1).unwrap();
        let board = names.board("  0 1 2\n0 x . .\n1 . o .\n2 . . .");
        let first: Vec<&str> = board.lines().collect();
        assert_eq!(first.len(), 4);
        let mut columns: Vec<&str> = first[0].split_whitespace().collect();
        assert_ne!(columns, ["0", "1", "2"]);
        columns.sort_unstable();
        assert_eq!(columns, ["0", "1", "2"]);
        // The cells stay where they are.
        let cell = |line: usize, column: usize| first[line].split_whitespace().nth(column + 1).unwrap();
        let [x, o] = ["x", "o"].map(|piece| names.pieces.get(piece, Way::Out).unwrap());
        assert_eq!([cell(1, 0), cell(2, 1)], [x, o]);
        let told = names.of_move("x(0,2)");
        let row = first[1].split_whitespace().next().unwrap();
        let column = first[0].split_whitespace().nth(2).unwrap();
        assert_eq!(told, format!("{x}({row},{column})"));
        assert_eq!(names.back(&told).as_deref(), Some("x(0,2)"));
        assert_eq!(names.back("3"), None, "a number that names no cell");
        assert_eq!(names.back("pass").as_deref(), Some("pass"));
    }

    #[test]
    fn every_move_of_every_game_that_can_be_renamed_comes_back() {
        for (game, seed) in GAMES.iter().flat_map(|game| (1..4).map(move |seed| (game, seed))) {
            let game = ludex_games::load(game).unwrap();
            let names = Relabel::new(&game, seed).unwrap_or_else(|e| panic!("{e:?}"));
            let mut rng = Stream::from_text("ludex.v1:relabel:test");
            let mut state = game.start();
            for _ in 0..60 {
                let ToMove::Seat(seat) = state.turn() else { break };
                let (legal, view) = (state.legal_list(seat), state.view(Viewer::Seat(seat)));
                let texts: Vec<String> = legal.iter().map(|&a| view.action_text(seat, a)).collect();
                for text in &texts {
                    assert_eq!(names.back(&names.of_move(text)).as_deref(), Some(text.as_str()), "{}", game.id());
                    let upper = names.of_move(text).to_uppercase();
                    let found = names.back(&upper).unwrap_or_else(|| panic!("{upper}"));
                    assert!(found.eq_ignore_ascii_case(text), "{upper}: {found}");
                }
                let drawn = view.drawing(Viewer::Public);
                let other = names.board(&drawn);
                assert_eq!(other.lines().count(), drawn.lines().count());
                let widths = |text: &str| text.lines().map(|line| line.trim_end().len()).collect::<Vec<_>>();
                assert_eq!(widths(&other)[0], widths(&drawn)[0], "{drawn}\n{other}");
                state.play(seat, legal[rng.below(legal.len())]).unwrap();
            }
        }
    }

    #[test]
    fn games_without_a_plain_board_are_refused() {
        for game in ["nim", "kuhn_poker", "chess", "battle_cards"] {
            let refusal = Relabel::new(&ludex_games::load(game).unwrap(), 1).unwrap_err();
            assert!(refusal.message.contains("relabel"), "{}", refusal.message);
        }
    }

    #[test]
    fn texts_have_the_names_of_seats_pieces_and_cells() {
        let names = Relabel::new(&ludex_games::load("reversi").unwrap(), 3).unwrap();
        let [black, x] = [names.seats.get("black", Way::Out).unwrap(), names.pieces.get("x", Way::Out).unwrap()];
        let cell = names.of_move("d3");
        let told = names.prose("Black (x) may not play d3 on 8 x 8 cells");
        let capital = black[..1].to_uppercase() + &black[1..];
        assert_eq!(told, format!("{capital} ({x}) may not play {cell} on 8 x 8 cells"));
    }
}
