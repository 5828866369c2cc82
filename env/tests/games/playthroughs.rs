//! One random game of every kind, written out, is what it was: `tests/data/playthroughs/<id>.txt`.
//!
//! If you mean to change a game's behaviour, raise its rules version, run `tests/run --bless`, and review the difference.

use std::path::PathBuf;

use ludex_env::playthrough::{example, playthrough};

/// Games that are long at random are cut here.
const MOST: usize = 40;
/// A seed under which the games show something of themselves.
const SEED: u64 = 7;

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/playthroughs"))
}

#[test]
fn games_play_as_they_did() {
    let regenerate = std::env::var_os("LUDEX_REGENERATE").is_some();
    let mut faults = Vec::new();
    for entry in ludex_env::games() {
        let game = ludex_env::load(entry.id).unwrap();
        let now = playthrough(&*game, SEED, MOST);
        let path = folder().join(format!("{}.txt", entry.id));
        if regenerate {
            std::fs::create_dir_all(folder()).unwrap();
            std::fs::write(&path, &now).unwrap();
        }
        let then = std::fs::read_to_string(&path).unwrap_or_default();
        if let Some(difference) = difference(&then, &now) {
            faults.push(format!("{}: {difference}", entry.id));
        }
    }
    assert!(
        faults.is_empty(),
        "{}\nIf you mean it, run tests/run --bless and review the difference.",
        faults.join("\n")
    );
}

/// The first line that differs, with the lines before it.
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
fn differences_are_found() {
    assert_eq!(difference("a\nb", "a\nb"), None);
    assert!(difference("a\nb\nc", "a\nx\nc").unwrap().contains("line 2"));
    assert!(difference("a", "a\nb").unwrap().contains("(nothing)"));
}

/// A deal of 137 outcomes does not hide the game: a whole hand is there, with claims that won.
#[test]
fn a_hand_of_mahjong_is_whole() {
    let text = playthrough(&*ludex_env::load("mcr_mahjong").unwrap(), SEED, MOST);
    for phase in ["deal", "turn", "claim", "discard", "over"] {
        assert!(text.contains(&format!(", phase {phase}\n")), "{phase}");
    }
    for words in [" PENG ", " CHI ", "draw 1: east", "reveals for all: hand 1: "] {
        assert!(text.contains(words), "{words}");
    }
}

/// The text holds every field: what is hidden from a viewer, and what is told to it, both show.
#[test]
fn hidden_cards_show_by_viewer() {
    let text = playthrough(&*ludex_env::load("kuhn_poker").unwrap(), SEED, MOST);
    for line in ["legal for 0: 0 Pass, 1 Bet", "  seen for 1, public: a card is dealt to p0", "turn: Over"] {
        assert!(text.contains(line), "{line:?} is not in\n{text}");
    }
}

#[test]
fn an_example_is_a_view_of_the_same_game() {
    for entry in ludex_env::games() {
        let game = ludex_env::load(entry.id).unwrap();
        let (seat, view) = example(&*game, SEED, 2);
        assert!(view.is_object(), "{}", entry.id);
        // It is one of the views that the text shows, if the text reaches it: the deals of some games are longer.
        let text = playthrough(&*game, SEED, MOST);
        let acted = text.lines().filter(|line| line.starts_with("turn: Seat") || line.starts_with("turn: Together"));
        if acted.count() > 2 {
            assert!(text.contains(&view.to_string()), "{}: seat {seat} sees {view}", entry.id);
        }
    }
    // A game that is over before that shows its last turn.
    let (seat, view) = example(&*ludex_env::load("kuhn_poker").unwrap(), SEED, 99);
    assert_eq!((seat, view["bets"].is_string()), (1, true), "{view}");
}
