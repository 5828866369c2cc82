//! Lenient parsing of moves: with different spacing or case, or within a sentence.

use ludex_env::dyn_state::DynView;
use ludex_env::{Action, MoveRequest};

/// Words that negate a following move. They matter only for moves that consist of letters.
const DENIALS: [&str; 6] = ["not", "no", "never", "don't", "won't", "can't"];

/// Texts of the legal moves, prepared for lenient parsing.
pub(super) struct LegalMoveTexts {
    /// Action id and text, without spaces, of each legal move.
    moves: Vec<(Action, Vec<char>)>,
    /// True if case is significant, as in chess.
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

    /// Returns the legal move whose text equals `text`, if there is exactly one. Ignores spaces, and ignores case
    /// unless it is significant.
    pub(super) fn find_lenient(&self, text: &str) -> Option<Action> {
        let wanted = squeezed(text);
        let mut able = self
            .moves
            .iter()
            .filter(|(_, own)| own.len() == wanted.len() && own.iter().zip(&wanted).all(|(&a, &b)| self.same(a, b)));
        let found = able.next()?.0;
        able.next().is_none().then_some(found)
    }

    /// Returns the legal move that a line contains, if it contains exactly one.
    pub(super) fn only(&self, line: &str) -> Option<Action> {
        let line: Vec<char> = line.chars().collect();
        let mut found: Option<Action> = None;
        let mut at = 0;
        while at < line.len() {
            let begins =
                at == 0 || !(line[at - 1].is_alphanumeric() && line[at].is_alphanumeric() && !is_wide(line[at - 1]));
            let able =
                self.moves.iter().filter(|_| begins).filter_map(|(a, text)| Some((self.end(&line, at, text)?, *a)));
            // If several moves start here, the move with the longest text counts.
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

    /// Returns the end offset of `text` in the line if it occurs at offset `at` as a separate word.
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
        // After a point or comma the number may continue.
        let number = line[next - 1].is_ascii_digit()
            && matches!(after, '.' | ',')
            && line.get(next + 1).is_some_and(char::is_ascii_digit);
        (!text.is_empty() && !cut && !number).then_some(next)
    }

    /// Returns true if the move at `at..end` is not negated and is the last word of its line.
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

/// Returns true for letters of scripts that do not separate words by spaces.
fn is_wide(c: char) -> bool {
    ('\u{2e80}'..='\u{9fff}').contains(&c) || ('\u{ac00}'..='\u{d7af}').contains(&c)
}

fn squeezed(text: &str) -> Vec<char> {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}
