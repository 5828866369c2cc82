//! Bot for Undercover. Action ids: 0 gives no clue, 1 to 64 give a stock clue, 65 and above vote for a seat.

use std::sync::Arc;

use ludex_env::{Action, GameRef, MoveRequest};
use ludex_games::undercover::{Clue, Phase, STOCK_CLUES, View, category, stock_clue};
use ludex_protocol::Refusal;

use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;
use crate::spec::{AgentEntry, AgentSpec};
use crate::typed_access::{require_game, view};

const GAME: &str = "undercover";

pub(crate) const BOTS: &[AgentEntry] = &[AgentEntry::new(
    "stock_speaker",
    "undercover: says stock clues that fit its word, and votes for the player whose clues fit it worst",
    build,
)];

fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    require_game(GAME, spec, game)?;
    Ok(Arc::new(StockSpeaker))
}

/// Action id of the vote for seat 0.
const VOTE: Action = 1 + STOCK_CLUES as Action;

/// Action ids of the stock clues that fit most words of each category.
const FITS: &[(&str, &[Action])] = &[
    ("bird", &[1, 3, 9, 10, 29, 31, 49, 50, 52, 57, 59, 62, 63]),
    ("bodywise", &[1, 4, 10, 46, 49, 51, 55, 57]),
    ("building", &[2, 3, 6, 8, 11, 42, 44, 47, 51, 57, 60, 64]),
    ("dairy", &[2, 4, 10, 15, 17, 22, 33, 38, 43, 45, 46, 49, 55, 61]),
    ("device", &[2, 4, 5, 11, 42, 44, 46, 49, 51, 56, 58, 60, 61, 64]),
    ("dish", &[2, 4, 16, 22, 30, 43, 45, 49, 51, 55, 59, 63]),
    ("drink", &[2, 4, 5, 15, 16, 17, 19, 21, 23, 30, 43, 45, 46, 49, 55, 61, 63]),
    ("fantasy", &[1, 47, 48, 50, 57, 59, 62]),
    ("fish", &[1, 3, 15, 17, 22, 30, 37, 50, 52, 55, 57, 63]),
    ("fruit", &[3, 5, 9, 13, 17, 19, 20, 22, 30, 31, 34, 35, 38, 39, 43, 45, 49, 51, 55, 57, 59, 63]),
    ("furniture", &[2, 4, 8, 11, 18, 26, 36, 42, 44, 46, 49, 51, 55, 57, 60, 61, 64]),
    ("garment", &[2, 4, 9, 10, 18, 24, 31, 45, 46, 49, 51, 55, 57, 63]),
    ("insect", &[1, 3, 7, 9, 39, 48, 50, 57, 64]),
    ("instrument", &[2, 4, 11, 18, 27, 29, 42, 44, 47, 49, 51, 54, 57, 64]),
    ("jewellery", &[2, 4, 5, 7, 9, 11, 13, 24, 42, 44, 49, 51, 55, 57]),
    ("job", &[1, 47, 50, 57, 60, 63]),
    ("kitchen", &[2, 4, 5, 11, 18, 42, 45, 46, 49, 51, 55, 57, 61]),
    ("mammal", &[1, 3, 8, 10, 29, 30, 36, 37, 50, 52, 57, 59, 62, 63]),
    ("material", &[3, 8, 11, 18, 32, 42, 51, 55, 57, 60]),
    ("nature", &[3, 6, 8, 17, 39, 42, 48, 51, 57, 62]),
    ("plant", &[1, 3, 9, 10, 30, 31, 35, 39, 49, 51, 55, 57, 63]),
    ("reptile", &[1, 3, 12, 18, 35, 36, 48, 50, 53, 55, 57]),
    ("sky", &[3, 6, 13, 41, 42, 50, 55, 57, 62]),
    ("sport", &[3, 27, 39, 47, 50, 52, 57, 59, 63]),
    ("sweets", &[2, 5, 9, 19, 22, 30, 31, 43, 45, 49, 51, 55, 59, 63]),
    ("toiletry", &[2, 4, 5, 9, 10, 17, 30, 45, 46, 49, 51, 55, 61]),
    ("tool", &[2, 5, 8, 11, 18, 42, 45, 48, 51, 57, 60, 61, 64]),
    ("toy", &[2, 4, 5, 9, 27, 31, 45, 49, 59]),
    ("vegetable", &[3, 5, 11, 17, 22, 30, 35, 43, 45, 49, 51, 55, 57, 63]),
    ("vehicle", &[2, 3, 6, 8, 11, 25, 26, 42, 44, 52, 54, 58, 60, 64]),
    ("weather", &[3, 15, 17, 29, 40, 43, 48, 50, 54, 57, 62]),
    ("writing", &[2, 4, 5, 9, 14, 28, 45, 46, 49, 51, 55, 57, 60, 61]),
];

/// Returns the stock clues that fit a word; empty if the word is not in the game's list.
fn fitting(word: &str) -> &'static [Action] {
    let of = category(word).and_then(|category| FITS.iter().find(|(name, _)| *name == category));
    of.map_or(&[], |(_, clues)| clues)
}

/// Returns a score for a clue: 1 for a stock clue that fits, 0 for one that does not, and a value in between for any
/// other text.
fn fit(clue: &Clue, fits: &[Action]) -> f64 {
    match stock_clue(&clue.text) {
        Some(id) if fits.contains(&id) => 1.0,
        Some(_) => 0.0,
        None if clue.text.is_empty() => 0.25,
        None => 0.5,
    }
}

struct StockSpeaker;

impl Agent for StockSpeaker {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        let seen: View = view(ask)?;
        let fits = fitting(seen.word.as_deref().unwrap_or_default());
        let good: Vec<Action> = match seen.phase {
            Phase::Clue => ask.legal.iter().copied().filter(|a| fits.contains(a)).collect(),
            _ => suspects(&seen, ask.legal, fits),
        };
        let among = if good.is_empty() { ask.legal } else { &good };
        let choice = among.get(ask.stream().below(among.len().max(1)));
        choice
            .map(|&a| MoveReply::id(a))
            .ok_or_else(|| AgentError::failed("stock_speaker: the list of legal actions is empty"))
    }
}

/// Returns the votes against the players whose clues have the lowest mean score.
fn suspects(seen: &View, legal: &[Action], fits: &[Action]) -> Vec<Action> {
    let mean = |a: Action| {
        let of = |clue: &&Clue| Action::from(clue.seat) + VOTE == a;
        let found: Vec<f64> = seen.clues.iter().filter(of).map(|clue| fit(clue, fits)).collect();
        found.iter().sum::<f64>() / found.len().max(1) as f64
    };
    let means: Vec<f64> = legal.iter().map(|&a| mean(a)).collect();
    let worst = means.iter().copied().fold(f64::INFINITY, f64::min);
    legal.iter().zip(means).filter(|(_, mean)| *mean <= worst).map(|(&a, _)| a).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clue_table_covers_every_category() {
        for (k, (name, clues)) in FITS.iter().enumerate() {
            assert!(clues.is_sorted() && clues.len() >= 6 && clues.iter().all(|a| (1..VOTE).contains(a)), "{name}");
            assert!(FITS[..k].iter().all(|(other, _)| other < name), "{name}");
        }
        assert!(fitting("apple").contains(&22) && !fitting("apple").contains(&25));
        assert!(fitting("no such word").is_empty());
        for word in ludex_games::undercover::all_words() {
            assert!(!fitting(word).is_empty(), "{word}");
        }
    }
}
