//! Moves that are written a little differently from the game's own notation: with other blanks, in other case, or in a
//! sentence.

use ludex_env::dyn_state::DynView;
use ludex_env::{Action, MoveRequest};

/// Words before a move that say it is not the one. Only moves that are words themselves are read as part of a sentence.
const DENIALS: [&str; 6] = ["not", "no", "never", "don't", "won't", "can't"];

/// The legal moves as they are written.
pub(super) struct LegalMoveTexts {
    /// Each move with its text without blanks.
    moves: Vec<(Action, Vec<char>)>,
    /// Whether capital letters tell moves apart, as they do in chess.
    cased: bool,
}

impl LegalMoveTexts {
    pub(super) fn new(ask: &MoveRequest<'_>, view: &dyn DynView) -> Self {
        let text = |&a: &Action| (a, squeezed(&view.action_text(ask.seat, a)));
        let moves: Vec<(Action, Vec<char>)> = ask.legal.iter().map(text).collect();
        let first = |test: fn(char) -> bool| moves.iter().any(|(_, text)| text.first().is_some_and(|&c| test(c)));
        let cased = first(|c| c.is_uppercase()) && first(|c| c.is_lowercase());
        LegalMoveTexts { moves, cased }
    }

    /// The one legal move that `text` names if blanks, and case where it does not matter, are left aside.
    pub(super) fn find_lenient(&self, text: &str) -> Option<Action> {
        let wanted = squeezed(text);
        let mut able = self
            .moves
            .iter()
            .filter(|(_, own)| own.len() == wanted.len() && own.iter().zip(&wanted).all(|(&a, &b)| self.same(a, b)));
        let found = able.next()?.0;
        able.next().is_none().then_some(found)
    }

    /// The legal move that a line names, if it names exactly one.
    pub(super) fn only(&self, line: &str) -> Option<Action> {
        let line: Vec<char> = line.chars().collect();
        let mut found: Option<Action> = None;
        let mut at = 0;
        while at < line.len() {
            let begins =
                at == 0 || !(line[at - 1].is_alphanumeric() && line[at].is_alphanumeric() && !is_wide(line[at - 1]));
            let able =
                self.moves.iter().filter(|_| begins).filter_map(|(a, text)| Some((self.end(&line, at, text)?, *a)));
            // Of texts that begin alike, the longest is meant.
            match able.max_by_key(|(end, _)| *end) {
                Some((end, action)) => {
                    let word = line[at..end].iter().all(|c| c.is_alphabetic());
                    if found.is_some_and(|other| other != action) || (word && !self.stands_alone(&line, at, end)) {
                        return None;
                    }
                    found = Some(action);
                    at = end;
                }
                None => at += 1,
            }
        }
        found
    }

    /// Where `text` ends, if the line has it at `at` as a word of its own.
    fn end(&self, line: &[char], at: usize, text: &[char]) -> Option<usize> {
        let mut next = at;
        for (k, &c) in text.iter().enumerate() {
            while k > 0 && line.get(next).is_some_and(|c| c.is_whitespace()) {
                next += 1;
            }
            if !self.same(c, *line.get(next)?) {
                return None;
            }
            next += 1;
        }
        let after = line.get(next).copied().unwrap_or(' ');
        let cut = line[next - 1].is_alphanumeric() && after.is_alphanumeric();
        // After a point or a comma there may be more of the number.
        let number = line[next - 1].is_ascii_digit()
            && matches!(after, '.' | ',')
            && line.get(next + 1).is_some_and(char::is_ascii_digit);
        (!text.is_empty() && !cut && !number).then_some(next)
    }

    /// Whether a move that is a word is the end of its line, and is not denied.
    fn stands_alone(&self, line: &[char], at: usize, end: usize) -> bool {
        let before: String = line[..at].iter().collect::<String>().to_lowercase();
        let denied = before.split_whitespace().any(|word| {
            let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '\'');
            DENIALS.contains(&word) || word.ends_with("n't")
        });
        !denied && !line[end..].iter().any(|c| c.is_alphanumeric())
    }

    fn same(&self, a: char, b: char) -> bool {
        a == b || (!self.cased && a.to_lowercase().eq(b.to_lowercase()))
    }
}

/// Whether a letter is of a script that writes no blanks between words.
fn is_wide(c: char) -> bool {
    ('\u{2e80}'..='\u{9fff}').contains(&c) || ('\u{ac00}'..='\u{d7af}').contains(&c)
}

fn squeezed(text: &str) -> Vec<char> {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}
