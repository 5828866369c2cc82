#![doc = include_str!("subtract_square.md")]

use ludex_env::Stream;
use ludex_env::game::{
    Action, ActionSink, Facts, Game, GameDisplay, GameInfo, GameMarks, GameMoves, GameObservation, GameSearch,
    GameText, Seat, ToMove, Viewer,
};
use ludex_env::params::{ParamError, in_range};
use ludex_env::tensor::{one_hot, stretches};
use ludex_games::board;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rules of the game for a given initial pile.
pub struct SubtractSquare {
    params: Params,
}

/// Parameters of the game.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Number of objects at the start, 1 to 1,000.
    #[schemars(range(min = 1, max = 1000))]
    pub pile: u32,
}

impl Default for Params {
    fn default() -> Self {
        Params { pile: 40 }
    }
}

/// Position of the game: the pile and the seat to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    pile: u32,
    /// Seat to move; after the end, the losing seat.
    seat: u8,
}

/// View of the position, equal for all viewers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// Number of objects in the pile.
    pub pile: u32,
    /// Seat to move; absent after the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_move: Option<u8>,
    /// Winning seat; absent before the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub winner: Option<u8>,
}

/// Returns the number of objects taken by an action.
pub fn objects_of(a: Action) -> u32 {
    (a + 1).saturating_mul(a + 1)
}

/// Returns the number of legal actions, which is the number of perfect squares from 1 to `pile`.
pub fn squares(pile: u32) -> u32 {
    pile.isqrt()
}

impl Game for SubtractSquare {
    type Params = Params;
    type State = State;
    type View = View;

    const INFO: GameInfo = GameInfo {
        ladder: &[(0, 1, "random"), (1, 1, "square_player")],
        ..GameInfo::new("subtract_square", "Subtract a square", include_str!("subtract_square.md"))
    };

    fn new(params: Params) -> Result<Self, ParamError> {
        in_range(&params)?;
        Ok(SubtractSquare { params })
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn facts(&self) -> Facts {
        let pile = self.params.pile;
        Facts {
            tensor: Some(("pile", stretches(&[("pile", pile + 1)], 1.0))),
            ..board::facts(["first", "second"], squares(pile), pile)
        }
    }

    fn start(&self) -> State {
        State { pile: self.params.pile, seat: 0 }
    }

    fn to_move(&self, s: &State) -> ToMove {
        if s.pile == 0 { ToMove::Over } else { ToMove::Seat(usize::from(s.seat)) }
    }

    fn legal(&self, s: &State, seat: Seat, out: &mut impl ActionSink) {
        if self.to_move(s) == ToMove::Seat(seat) {
            (0..squares(s.pile)).for_each(|a| out.put(a));
        }
    }

    fn play_unchecked(&self, s: &mut State, a: Action) {
        s.pile = s.pile.saturating_sub(objects_of(a));
        s.seat = 1 - s.seat;
    }

    fn returns(&self, s: &State, out: &mut [f64]) {
        board::returns((s.pile == 0).then(|| usize::from(1 - s.seat)), out);
    }

    fn view(&self, s: &State, _who: Viewer) -> View {
        let over = s.pile == 0;
        View { pile: s.pile, to_move: (!over).then_some(s.seat), winner: over.then_some(1 - s.seat) }
    }

    fn sample_world(&self, view: &View, _rng: &mut Stream) -> State {
        // Views can come from clients, so their numbers may be out of range.
        let seat = view.to_move.or(view.winner.map(|p| 1 - (p & 1))).unwrap_or(0) & 1;
        State { pile: view.pile.min(self.params.pile), seat }
    }
}

impl GameMoves for SubtractSquare {}

impl GameText for SubtractSquare {
    fn text(&self, view: &View) -> String {
        match view.winner {
            Some(seat) => format!("the pile is empty; seat {seat} has won"),
            None => format!("{} objects; seat {} to move", view.pile, view.to_move.unwrap_or(0)),
        }
    }

    fn action_text(&self, _view: &View, _seat: Seat, a: Action) -> String {
        format!("take {}", objects_of(a))
    }

    /// Parses moves such as `take 9` or `9`.
    fn parse(&self, _view: &View, _seat: Seat, legal: &[Action], text: &str) -> Option<Action> {
        let number: u32 = text.trim().trim_start_matches("take").trim().parse().ok()?;
        legal.iter().copied().find(|&a| objects_of(a) == number)
    }

    fn why_not(&self, s: &State, _seat: Seat, a: Action) -> String {
        format!("action {a} takes {} objects, expected at most {} (the pile)", objects_of(a), s.pile)
    }
}

impl GameObservation for SubtractSquare {
    fn tensor(&self, s: &State, _who: Viewer, out: &mut [u8]) {
        one_hot(out, Some(s.pile as usize));
    }
}

impl GameDisplay for SubtractSquare {}

impl GameSearch for SubtractSquare {}

impl GameMarks for SubtractSquare {}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn subtract_square_satisfies_all_laws() {
        let games = ludex_games::builtin().with::<SubtractSquare>();
        for text in ["subtract_square", "subtract_square(pile=1)", "subtract_square(pile=1000)"] {
            let game = games.load(text).unwrap();
            ludex_env::check::game(&game, 0..20).unwrap_or_else(|faults| panic!("{}", faults.join("\n")));
        }
    }

    /// Source of the expected sizes: sequence A030193 of the On-Line Encyclopedia of Integer Sequences.
    #[test]
    fn losing_sizes_equal_published_sequence() {
        let lost = [2, 5, 7, 10, 12, 15, 17, 20, 22, 34, 39];
        let ours = crate::square_player::losing_sizes(40);
        assert_eq!((1..=40).filter(|&size| ours[size]).collect::<Vec<_>>(), lost);
    }
}
