//! Positions in message form: requested views and lists of legal actions.

use std::collections::BTreeMap;

use ludex_protocol::message::{Legal, MatchView, PictureView, SeatView};
use ludex_protocol::spec::{Dtype, Information, LegalForm, TensorSpec};
use ludex_protocol::tensor::{Tensor, Tensors};

use crate::batch::Layout;
use crate::dyn_state::{DynState, DynView};
use crate::{Action, Seat, ToMove, Viewer};

/// Builds the requested views. Omits views that the game does not support.
pub fn view_of(state: &dyn DynState, who: Viewer, wanted: &[MatchView], layout: Layout) -> SeatView {
    let spec = state.spec();
    let has = |v: MatchView| wanted.contains(&v);
    let mut view = SeatView::default();
    if has(MatchView::Struct) || has(MatchView::Text) || has(MatchView::Picture) {
        let seen = state.view(who);
        view.picture = has(MatchView::Picture).then(|| render_picture(state, &*seen, who));
        view.structure = has(MatchView::Struct).then(|| seen.value());
        view.text = has(MatchView::Text).then(|| seen.text());
    }
    let seat = match who {
        Viewer::Seat(s) => s,
        Viewer::Public => 0,
    };
    let bytes = |t: &TensorSpec, write: &dyn Fn(&mut [u8])| {
        let mut b = vec![0; t.bytes()];
        write(&mut b);
        Tensor { d: t.d, s: t.s.clone(), b }
    };
    let named = |name: &str, tensor: Tensor| -> Option<Tensors> { Some(BTreeMap::from([(name.to_owned(), tensor)])) };
    if let (true, Some((name, t))) = (has(MatchView::Tensor), first(&spec.views.tensor)) {
        view.tensor = match (layout, state.openspiel_spec()) {
            (Layout::OpenSpiel, Some(os)) => {
                let mut values = vec![0f32; os.len()];
                state.openspiel_tensor(seat, &mut values);
                let b = values.iter().flat_map(|v| v.to_le_bytes()).collect();
                named(name, Tensor { d: Dtype::F4, s: os.s, b })
            }
            _ => named(name, bytes(t, &|b| state.tensor(who, b))),
        };
    }
    if let (true, Some((name, t))) = (has(MatchView::Info), first(&spec.views.info)) {
        view.info = named(name, bytes(t, &|b| state.info(who, b)));
    }
    view
}

/// Returns the picture cells of moves made in the position `before`. Empty for games with hidden information, which a
/// cell could reveal.
pub fn touched(before: &dyn DynState, moves: impl IntoIterator<Item = (Seat, Option<Action>)>) -> Vec<String> {
    if before.spec().information != Information::Perfect {
        return Vec::new();
    }
    let gesture = |(seat, action): (Seat, Option<Action>)| before.view(Viewer::Seat(seat)).gesture(seat, action?);
    moves.into_iter().filter_map(gesture).flat_map(|gesture| gesture.0).collect()
}

/// Returns the picture of a view, with the gestures if the viewer is to move.
fn render_picture(state: &dyn DynState, seen: &dyn DynView, who: Viewer) -> PictureView {
    let mover = match (who, state.turn()) {
        (Viewer::Seat(s), ToMove::Seat(mover)) if s == mover => Some(s),
        (Viewer::Seat(s), ToMove::Simultaneous(acting)) if acting.iter().any(|a| a == s) => Some(s),
        _ => None,
    };
    let gesture = |(seat, a): (Seat, u32)| Some((a.to_string(), seen.gesture(seat, a)?.0));
    let legal = mover.into_iter().flat_map(|s| state.legal_list(s).into_iter().map(move |a| (s, a)));
    PictureView { svg: seen.picture(who).svg, gestures: legal.filter_map(gesture).collect() }
}

fn first(t: &Option<BTreeMap<String, TensorSpec>>) -> Option<(&str, &TensorSpec)> {
    t.as_ref()?.iter().next().map(|(name, spec)| (name.as_str(), spec))
}

/// Returns the legal actions of `seat` in the form declared in the game's spec.
pub fn legal_of(state: &dyn DynState, seat: Seat) -> Legal {
    let ids = state.legal_list(seat);
    if state.spec().legal == LegalForm::Ids {
        return Legal::Ids(ids);
    }
    let mut ranges: Vec<[u32; 2]> = Vec::new();
    for id in ids {
        match ranges.last_mut() {
            Some(last) if last[1] + 1 == id => last[1] = id,
            _ => ranges.push([id, id]),
        }
    }
    Legal::Ranges(ranges)
}
