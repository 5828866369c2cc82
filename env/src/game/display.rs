//! Drawings and pictures for people.

use super::{Action, GameText, Seat, Viewer};
use crate::picture::{self, Gesture, Picture};

/// Display of views to people. Drawings and pictures derive from the view alone.
pub trait GameDisplay: GameText {
    /// Returns the view for display in a terminal. Override this method if [`text`](super::GameText::text) contains
    /// lines that only programs need. A board with a forward direction is drawn from the side of `from`. Default:
    /// [`text`](super::GameText::text).
    fn drawing(&self, view: &Self::View, _from: Viewer) -> String {
        self.text(view)
    }
    /// Returns a picture of the view, drawn from the side of `from`. The picture depends on the view alone. Clickable
    /// elements carry `data-cell`. Must not panic on any view that deserializes. Default:
    /// [`drawing`](GameDisplay::drawing) in a text box.
    fn picture(&self, view: &Self::View, from: Viewer) -> Picture {
        picture::text_box(Self::INFO.title, &self.drawing(view, from))
    }
    /// Returns the cells of the [`picture`](GameDisplay::picture) that a person clicks, in order, to play action `a` of
    /// `seat`. Actions with the same gesture are distinguished by their texts. `None`: a button plays `a`. Default:
    /// `None`.
    fn gesture(&self, _view: &Self::View, _seat: Seat, _a: Action) -> Option<Gesture> {
        None
    }
    /// Returns an explanation of an action whose name is not sufficient, such as the number of chips in a bet. Default:
    /// empty.
    fn gloss(&self, _view: &Self::View, _seat: Seat, _a: Action) -> String {
        String::new()
    }
}
