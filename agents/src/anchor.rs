//! The rungs of a game's ladder as agents.

use std::sync::Arc;

use ludex_env::GameRef;

use crate::agent::Agent;
use crate::error::{AgentError, ErrorKind};
use crate::spec::{AgentSpec, ArgValue};

pub(crate) fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, AgentError> {
    resolve(spec, game)?.build(game)
}

/// The spec that stands on the rung, with the anchor's `seed` if it has one.
pub(crate) fn resolve(spec: &AgentSpec, game: &GameRef) -> Result<AgentSpec, AgentError> {
    let (level, bot) = (spec.int("level").unwrap_or(0), spec.int("bot").unwrap_or(1));
    let ladder = &game.spec().anchors;
    let rung = ladder.iter().find(|a| (u64::from(a.level), u64::from(a.bot)) == (level, bot));
    let Some(rung) = rung else {
        let rungs: Vec<String> = ladder.iter().map(|a| format!("level={} bot={}", a.level, a.bot)).collect();
        let message =
            format!("{} has no anchor level={level} bot={bot}; there are: {}", game.spec().game, rungs.join(", "));
        return Err(AgentError {
            name: Some("level".into()),
            got: spec.to_string(),
            allowed: rungs.into(),
            ..AgentError::new(ErrorKind::BadValue, message)
        });
    };
    let found = AgentSpec::parse(&rung.agent)?;
    if found.name() == spec.name() {
        return Err(AgentError::new(ErrorKind::Syntax, format!("{}: an anchor names another anchor", rung.agent)));
    }
    Ok(match spec.int("seed") {
        Some(seed) => found.with("seed", ArgValue::Int(seed)),
        None => found,
    })
}
