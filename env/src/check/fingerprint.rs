//! Fingerprints: the complete observable data of a position, for comparisons.

use serde_json::Value;

use super::{Fault, same};
use crate::dyn_state::DynState;
use crate::game::{Action, Seat, ToMove, Viewer};

/// Iterates over all viewers: the seats, then the public.
pub(super) fn viewers(s: &dyn DynState) -> impl Iterator<Item = Viewer> + use<> {
    (0..s.spec().players as Seat).map(Viewer::Seat).chain([Viewer::Public])
}

/// All observations of one viewer.
#[derive(Debug, PartialEq)]
pub(super) struct Sight {
    pub value: Value,
    pub text: String,
    tensor: Vec<u8>,
    info: Vec<u8>,
    openspiel: Vec<f32>,
    turn: ToMove,
    phase: Option<&'static str>,
    pub legal: Vec<Action>,
    mask: Vec<u8>,
}

impl Sight {
    pub(super) fn of(s: &dyn DynState, who: Viewer) -> Sight {
        let view = s.view(who);
        let (legal, mask, openspiel) = match who {
            Viewer::Seat(seat) => (s.legal_list(seat), mask(s, seat), openspiel(s, seat)),
            Viewer::Public => Default::default(),
        };
        Sight {
            value: view.value(),
            text: view.text(),
            tensor: tensor(s, who, 0),
            info: info(s, who, 0),
            openspiel,
            turn: s.turn(),
            phase: s.phase(),
            legal,
            mask,
        }
    }

    /// Compares two fingerprints and names the first difference.
    pub(super) fn same(&self, other: &Sight, what: &str) -> Result<(), Fault> {
        same(&self.value, &other.value, || format!("{what}: view"))?;
        same(&self.text, &other.text, || format!("{what}: text"))?;
        same(&self.tensor, &other.tensor, || format!("{what}: tensor"))?;
        same(&self.info, &other.info, || format!("{what}: info"))?;
        same(&self.openspiel, &other.openspiel, || format!("{what}: layout openspiel"))?;
        same(&self.turn, &other.turn, || format!("{what}: turn"))?;
        same(&self.phase, &other.phase, || format!("{what}: phase"))?;
        same(&self.legal, &other.legal, || format!("{what}: legal actions"))?;
        same(&self.mask, &other.mask, || format!("{what}: mask"))
    }
}

/// All observations of every viewer, and the returns.
#[derive(Debug, PartialEq)]
pub(super) struct Print {
    sights: Vec<Sight>,
    returns: Vec<f64>,
}

impl Print {
    pub(super) fn of(s: &dyn DynState) -> Print {
        Print { sights: viewers(s).map(|who| Sight::of(s, who)).collect(), returns: s.returns() }
    }

    pub(super) fn same(&self, other: &Print, what: &str) -> Result<(), Fault> {
        for (who, (a, b)) in self.sights.iter().zip(&other.sights).enumerate() {
            a.same(b, &format!("{what}, seen by viewer {who}"))?;
        }
        same(&self.returns, &other.returns, || format!("{what}: returns"))
    }
}

pub(super) fn mask(s: &dyn DynState, seat: Seat) -> Vec<u8> {
    let mut out = vec![7; s.spec().actions as usize];
    s.mask(seat, &mut out);
    out
}

/// Returns the observation array, written into a buffer filled with `before`.
pub(super) fn tensor(s: &dyn DynState, who: Viewer, before: u8) -> Vec<u8> {
    let views = &s.spec().views;
    let Some(t) = views.tensor.as_ref().and_then(|t| t.values().next()) else { return Vec::new() };
    let mut out = vec![before; t.bytes()];
    s.tensor(who, &mut out);
    out
}

/// Returns the perfect-recall array, written into a buffer filled with `before`.
pub(super) fn info(s: &dyn DynState, who: Viewer, before: u8) -> Vec<u8> {
    let views = &s.spec().views;
    let Some(t) = views.info.as_ref().and_then(|t| t.values().next()) else { return Vec::new() };
    let mut out = vec![before; t.bytes()];
    s.info(who, &mut out);
    out
}

/// Returns the array in OpenSpiel's layout, written into a buffer filled with 0.5.
pub(super) fn openspiel(s: &dyn DynState, seat: Seat) -> Vec<f32> {
    let mut out = vec![0.5; s.openspiel_spec().map_or(0, |t| t.len())];
    if !out.is_empty() {
        s.openspiel_tensor(seat, &mut out);
    }
    out
}
