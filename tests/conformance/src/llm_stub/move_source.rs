//! Agent that chooses the moves in the stub's answers.

use std::collections::HashMap;
use std::sync::Arc;

use ludex_agents::{Agent, AgentSpec};
use ludex_env::draw::{Key, key};
use ludex_env::policy::ObservedMove;
use ludex_env::{Action, AgentKey, GameRef, MoveRequest, Mover, Stream};
use ludex_protocol::Move;
use parking_lot::Mutex;
use serde_json::Value;

use super::error::StubError;
use super::request::PositionMetadata;

/// Maximum number of games for which an agent is cached.
const MAX_GAMES: usize = 64;

/// Agent that is built once per requested game.
pub(super) struct MoveSource {
    spec: AgentSpec,
    agents: Mutex<HashMap<String, GameAgent>>,
}

type GameAgent = (GameRef, Arc<dyn Agent>);

impl MoveSource {
    pub(super) fn new(spec: AgentSpec) -> Self {
        MoveSource { spec, agents: Mutex::default() }
    }

    fn agent(&self, game: &str) -> Result<GameAgent, StubError> {
        let mut agents = self.agents.lock();
        if let Some(cached) = agents.get(game) {
            return Ok(cached.clone());
        }
        let loaded = ludex_games::load(game).map_err(|e| StubError::bad(format!("metadata.ludex: game: {e}")))?;
        let agent = self.spec.build(&loaded).map_err(|e| StubError::bad(format!("the stub's agent: {e}")))?;
        if agents.len() == MAX_GAMES {
            agents.clear();
        }
        agents.insert(game.to_owned(), (loaded.clone(), agent.clone()));
        Ok((loaded, agent))
    }

    /// Returns the agent's move as text or document; `name` seeds the agent's randomness.
    pub(super) fn choose(&self, about: &PositionMetadata, name: &str) -> Result<Value, StubError> {
        let wrong = |why: &str| StubError::bad(format!("metadata.ludex: {why}"));
        let (game, agent) = self.agent(&about.game)?;
        let seat = about.seat;
        if seat >= game.spec().players as usize {
            return Err(wrong(&format!(
                "expected a seat below {} of {}, got {seat}",
                game.spec().players,
                game.spec().string
            )));
        }
        let view = game.read_view(&about.view).map_err(|e| wrong(&format!("view: {e}")))?;
        // Agents trust their input, but this position comes from a client.
        let world = view.world(&mut Stream::from_text(name));
        if about.legal.is_empty() || !about.legal.iter().all(|&a| world.is_legal(seat, a)) {
            return Err(wrong("legal: expected at least one action id, all legal in the view"));
        }
        let mut legal = about.legal.clone();
        legal.sort_unstable();
        let past: Option<Vec<ObservedMove>> = about.past.as_ref().map(|steps| {
            let by = |by: Option<usize>| by.map_or(Mover::Chance, Mover::Seat);
            steps
                .iter()
                .map(|step| ObservedMove {
                    by: by(step.by),
                    action: step.action,
                    text: String::new(),
                    reveals: Vec::new(),
                })
                .collect()
        });
        let key: Key = key(name);
        let mut ask = MoveRequest::on_view(&*view, seat, about.turn, &legal, AgentKey::Own(&key));
        if let Some(past) = &past {
            ask = ask.with_history(past);
        }
        match agent.act(&ask).map(|answer| answer.mv) {
            Ok(Some(Move::Id(a))) => {
                let action = Action::try_from(a).ok();
                let place = action.and_then(|a| about.legal.iter().position(|&legal| legal == a));
                let name = place.and_then(|place| about.names.get(place)).cloned();
                let usual = || action.map_or(a.to_string(), |a| view.action_text(seat, a));
                Ok(name.unwrap_or_else(usual).into())
            }
            Ok(Some(Move::Text(text))) => Ok(text.into()),
            Ok(Some(Move::Document(document))) => Ok(document),
            Ok(None) => Ok("I resign".into()),
            Err(e) => Err(StubError::internal(&format!("the stub's agent: {e}"))),
        }
    }
}
