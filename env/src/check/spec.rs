//! Laws of a game's specification.

use serde_json::Value;

use ludex_protocol::spec::{ChanceMode, TensorSpec};

use super::{Fault, law, same};
use crate::dyn_game::DynGame;
use crate::params::split;

pub(super) fn laws(game: &dyn DynGame) -> Result<(), Fault> {
    let spec = game.spec();
    law(spec.min_return < spec.max_return, || format!("empty range {}..={}", spec.min_return, spec.max_return))?;
    same(&spec.seats.len(), &(spec.players as usize), || "names of seats".into())?;
    let [low, high] = spec.player_range;
    law((low..=high).contains(&spec.players) && spec.players <= 16, || {
        format!("expected {low} to {high} players, at most 16, got {}", spec.players)
    })?;
    law(spec.actions > 0 && spec.max_length > 0, || "expected actions and max_length of at least 1".into())?;
    let chance = spec.chance != ChanceMode::Deterministic;
    same(&(spec.max_chance > 0), &chance, || format!("max_chance {} under {:?}", spec.max_chance, spec.chance))?;
    law(spec.views.tensor.as_ref().is_none_or(|t| t.len() == 1), || "more than one observation array".into())?;
    let arrays = [&spec.views.tensor, &spec.views.info];
    for (name, t) in arrays.into_iter().flatten().flat_map(|t| t.iter()) {
        parts(name, t)?;
    }
    law(spec.params_schema["properties"].is_object() || spec.params.is_empty(), || {
        "the parameters have no schema".into()
    })?;
    law(game.info().page.starts_with("# "), || "the page has no title".into())?;
    let zero = spec.anchors.iter().find(|a| a.level == 0).map(|a| a.agent.as_str());
    same(&zero, &Some("random"), || "level 0 of the ladder".into())?;
    let (id, params) = split(&spec.string).map_err(|e| format!("the game refused its own game string: {e}"))?;
    same(&id, &spec.game, || "id in the game string".into())?;
    let again = game.reload(&params).map_err(|e| format!("the game refused its own game string: {e}"))?;
    same(&again.spec().hash, &spec.hash, || "rules hash of the game loaded from its game string".into())?;
    same(&again.spec().string, &spec.string, || "game string of the game loaded from its game string".into())?;
    let text = serde_json::to_string(&Value::Object(spec.params.clone())).map_err(|e| e.to_string())?;
    law(serde_json::from_str::<Value>(&text).is_ok(), || "parameters are not JSON".into())
}

/// Checks that the named parts cover the first axis in order.
fn parts(name: &str, t: &TensorSpec) -> Result<(), Fault> {
    let mut at = 0;
    for part in &t.parts {
        same(&part.at, &at, || format!("{name}: start of the part {}", part.name))?;
        at += part.len;
    }
    same(&Some(&at), &t.s.first(), || format!("{name}: end of the last part"))?;
    law(t.low < t.high, || format!("{name}: empty range of values {}..={}", t.low, t.high))
}
