//! Comparison of one random game per game string, written as text, with `tests/data/playthroughs/<id>.txt`.
//!
//! After an intended change of a game's behavior, increase the rules version of the game, run `tests/run --bless`, and
//! review the difference.

use std::path::PathBuf;

use ludex_env::playthrough::{example, playthrough};

/// Maximum number of steps. Games that are longer under random play are cut off here.
const MOST: usize = 40;
/// Seed under which the games contain typical situations.
const SEED: u64 = 7;

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/playthroughs"))
}

#[test]
fn playthroughs_equal_stored_files() {
    let regenerate = std::env::var_os("LUDEX_REGENERATE").is_some();
    let mut faults = Vec::new();
    for entry in ludex_games::games() {
        let game = ludex_games::load(entry.info.id).unwrap();
        let now = playthrough(&*game, SEED, MOST);
        let path = folder().join(format!("{}.txt", entry.info.id));
        if regenerate {
            std::fs::create_dir_all(folder()).unwrap();
            std::fs::write(&path, &now).unwrap();
        }
        let then = std::fs::read_to_string(&path).unwrap_or_default();
        if let Some(difference) = difference(&then, &now) {
            faults.push(format!("{}: {difference}", entry.info.id));
        }
    }
    assert!(faults.is_empty(), "{}\nif intended, run tests/run --bless and review the difference", faults.join("\n"));
}

/// Returns the first line that differs, with the line before it; `None` if the texts are equal.
fn difference(then: &str, now: &str) -> Option<String> {
    if then == now {
        return None;
    }
    let (a, b): (Vec<&str>, Vec<&str>) = (then.lines().collect(), now.lines().collect());
    let at = (0..a.len().max(b.len())).find(|&i| a.get(i) != b.get(i))?;
    let before = a[at.saturating_sub(4).min(a.len())..at.min(a.len())].join("\n  ");
    let line = |l: &[&str]| l.get(at).map_or("(nothing)".to_owned(), |l| (*l).to_owned());
    Some(format!("line {}:\n  {before}\n- {}\n+ {}", at + 1, line(&a), line(&b)))
}

#[test]
fn difference_reports_first_changed_line() {
    assert_eq!(difference("a\nb", "a\nb"), None);
    assert!(difference("a\nb\nc", "a\nx\nc").unwrap().contains("line 2"));
    assert!(difference("a", "a\nb").unwrap().contains("(nothing)"));
}

/// The 137 chance outcomes of a deal do not count toward the length limit: the text contains a whole hand with claims.
#[test]
fn mahjong_playthrough_contains_whole_hand() {
    let text = playthrough(&*ludex_games::load("mcr_mahjong").unwrap(), SEED, MOST);
    for phase in ["deal", "turn", "claim", "discard", "over"] {
        assert!(text.contains(&format!(", phase {phase}\n")), "{phase}");
    }
    for words in [" PENG ", " CHI ", "draw 1: east", "reveals for all: hand 1: "] {
        assert!(text.contains(words), "{words}");
    }
}

/// The text shows each event as each viewer sees it.
#[test]
fn playthrough_shows_hidden_cards_per_viewer() {
    let text = playthrough(&*ludex_games::load("kuhn_poker").unwrap(), SEED, MOST);
    for line in ["legal for 0: 0 Pass, 1 Bet", "  seen for 1, public: a card is dealt to p0", "turn: Over"] {
        assert!(text.contains(line), "{line:?} is not in\n{text}");
    }
}

#[test]
fn example_view_occurs_in_playthrough() {
    for entry in ludex_games::games() {
        let game = ludex_games::load(entry.info.id).unwrap();
        let (seat, view) = example(&*game, SEED, 2);
        assert!(view.is_object(), "{}", entry.info.id);
        // The view occurs in the text if the text is long enough; the deals of some games are longer.
        let text = playthrough(&*game, SEED, MOST);
        let acted = text.lines().filter(|line| line.starts_with("turn: Seat") || line.starts_with("turn: Together"));
        if acted.count() > 2 {
            assert!(text.contains(&view.to_string()), "{}: seat {seat} sees {view}", entry.info.id);
        }
    }
    // If the game has fewer turns, `example` returns the view of the last turn.
    let (seat, view) = example(&*ludex_games::load("kuhn_poker").unwrap(), SEED, 99);
    assert_eq!((seat, view["bets"].is_string()), (1, true), "{view}");
}
