//! Moves as text and as documents, in the first position of each game. The first byte of the input selects the game.

use std::sync::LazyLock;

use ludex_env::documents::{ISSUES, document};
use ludex_env::{DynState, GameRef, Outcomes, ParsedMove, Seat, ToMove};
use ludex_protocol::Move;

use crate::corpus;

/// All games, in the order of their ids.
static GAMES: LazyLock<Vec<GameRef>> = LazyLock::new(|| {
    let games = ludex_games::builtin();
    let mut ids: Vec<_> = games.iter().map(|entry| entry.info.id).collect();
    ids.sort_unstable();
    ids.into_iter().map(|id| games.load(id).unwrap()).collect()
});

fn check(input: &[u8]) {
    let Some((&game, text)) = input.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let (state, seat) = first_position(&GAMES[usize::from(game) % GAMES.len()]);
    check_move(state.as_ref(), seat, &Move::Text(text.into()));
    if let Ok(value) = document(text) {
        assert_eq!(document(&value.to_string()).as_ref(), Ok(&value));
        check_move(state.as_ref(), seat, &Move::Document(value));
    }
}

/// Checks that an accepted move can be played, and that a document is accepted again in its canonical form.
fn check_move(state: &dyn DynState, seat: Seat, given: &Move) {
    match state.parse_move(seat, given) {
        Ok(ParsedMove::Action(action)) => assert!(state.is_legal(seat, action)),
        Ok(ParsedMove::Document(canonical)) => {
            let again = state.parse_move(seat, &Move::Document(canonical.clone()));
            assert!(matches!(again, Ok(ParsedMove::Document(same)) if same == canonical), "{canonical}");
        }
        Err(refusal) => {
            assert!(!refusal.message.is_empty());
            assert!(refusal.issues.len() <= ISSUES);
        }
    }
}

/// Returns the first position in which a seat moves, and the seat.
fn first_position(game: &GameRef) -> (Box<dyn DynState>, Seat) {
    let mut state = game.start();
    while state.turn() == ToMove::Chance {
        let mut outcomes = Outcomes::new();
        state.chance(&mut outcomes);
        state.play_chance(outcomes.items()[0].0).unwrap();
    }
    let seat = if let ToMove::Seat(seat) = state.turn() { seat } else { 0 };
    (state, seat)
}

#[test]
fn damaged_documents_never_panic() {
    corpus::replay("documents", 4_000, check);
    bolero::check!().with_iterations(1_000).for_each(|input: &[u8]| check(input));
}
