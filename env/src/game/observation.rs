//! Observations: arrays, and events of moves.

use serde_json::Value;

use super::{Action, EventView, GameText, Mover, Seat, Viewer};

/// Observations: arrays for learners, and the information that viewers get from moves.
pub trait GameObservation: GameText {
    /// Writes the observation array into `out`, which has the declared size and arbitrary contents. Default: zeros.
    fn tensor(&self, _s: &Self::State, _who: Viewer, out: &mut [u8]) {
        out.fill(0);
    }
    /// Writes the perfect-recall array into `out`, which has the declared size and arbitrary contents. Default: zeros.
    fn info(&self, _s: &Self::State, _who: Viewer, out: &mut [u8]) {
        out.fill(0);
    }
    /// Writes the observation in OpenSpiel's layout into `out`, if [`Facts::openspiel`](super::Facts::openspiel)
    /// declares the layout. Default: zeros.
    fn openspiel_tensor(&self, _s: &Self::State, _seat: Seat, out: &mut [f32]) {
        out.fill(0.0);
    }
    /// Returns the information that `who` gets when `by` plays `a` in the state `before`. Default: the full action,
    /// which is correct only for games of perfect information.
    fn observe_action(&self, before: &Self::State, _who: Viewer, by: Mover, a: Action) -> EventView {
        let text = match by {
            Mover::Chance => self.outcome_text(before, a),
            Mover::Seat(seat) => self.action_text(&self.view(before, Viewer::Public), seat, a),
        };
        EventView { action: Some(a), text: Some(text) }
    }
    /// Returns the information that `who` gets when `seat` submits `document` in the state `before`. Default:
    /// the full document.
    fn observe_document(&self, _before: &Self::State, _who: Viewer, _seat: Seat, document: &Value) -> EventView {
        EventView { action: None, text: Some(document.as_str().map_or_else(|| document.to_string(), str::to_owned)) }
    }
    /// Returns the information revealed to `who` on reaching `now`, such as a showdown or a secret role, as pairs of
    /// text and data. Default: none.
    fn reveals(&self, _now: &Self::State, _who: Viewer) -> Vec<(String, Value)> {
        Vec::new()
    }
}
