//! Texts of positions and actions.

use ludex_protocol::record::Record;

use super::{Action, GameMoves, Seat, Viewer};

/// Conversion of positions and actions to text, and of text to actions.
pub trait GameText: GameMoves {
    /// Returns the view as text, with a diagram if the game has a board.
    fn text(&self, view: &Self::View) -> String;
    /// Returns the name of an action of `seat`, using only what the owner of `view` may know.
    fn action_text(&self, view: &Self::View, seat: Seat, a: Action) -> String;
    /// Returns the name of a chance outcome. Default: the id in decimal.
    fn outcome_text(&self, _s: &Self::State, a: Action) -> String {
        a.to_string()
    }
    /// Returns the name of the current phase, in games with several phases. Default: `None`.
    fn phase(&self, _s: &Self::State) -> Option<&'static str> {
        None
    }
    /// Returns the action in `legal` that `text` names, in any notation common for the game. Default: the action with
    /// this text, ignoring case and surrounding whitespace.
    fn parse(&self, view: &Self::View, seat: Seat, legal: &[Action], text: &str) -> Option<Action> {
        let text = text.trim();
        legal.iter().copied().find(|&a| self.action_text(view, seat, a).eq_ignore_ascii_case(text))
    }
    /// Returns an error message with the rule that makes `a` illegal for `seat`, which is to move. Default: a generic
    /// message.
    fn why_not(&self, s: &Self::State, seat: Seat, a: Action) -> String {
        format!("{}: not legal here", self.action_text(&self.view(s, Viewer::Seat(seat)), seat, a))
    }
    /// Returns an error message for a `text` in which [`parse`](GameText::parse) found no legal action. Default:
    /// [`why_not`](GameText::why_not) if the text names an illegal action, else a generic message.
    fn why_not_text(&self, s: &Self::State, seat: Seat, text: &str) -> String {
        let all: Vec<Action> = (0..self.facts().actions).collect();
        match self.parse(&self.view(s, Viewer::Seat(seat)), seat, &all, text) {
            Some(a) if !self.is_legal(s, seat, a) => self.why_not(s, seat, a),
            _ => format!("{text:?}: not legal here"),
        }
    }
    /// Converts a record of this game, whose final state is `end`, to
    /// [`GameInfo::notation`](super::GameInfo::notation). Called only if a notation is declared.
    ///
    /// # Errors
    /// Fails with the part of the record that the notation cannot express.
    fn in_notation(&self, _end: &Self::State, _record: &Record) -> Result<String, String> {
        Err(format!("{} has no standard notation", Self::INFO.id))
    }
}
