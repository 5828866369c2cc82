//! The agent behind the answers.

use std::collections::HashMap;
use std::sync::Arc;

use ludex_agents::{Agent, AgentSpec};
use ludex_env::draw::{Key, key};
use ludex_env::policy::ObservedMove;
use ludex_env::{Action, AgentKey, GameRef, MoveRequest, Mover, Stream};
use ludex_protocol::Move;
use parking_lot::Mutex;
use serde_json::Value;

use super::problem::Problem;
use super::request::About;

/// Games that are kept built.
const GAMES: usize = 64;

/// An agent, built once for each game that is asked about.
pub(super) struct Player {
    spec: AgentSpec,
    tables: Mutex<HashMap<String, Table>>,
}

type Table = (GameRef, Arc<dyn Agent>);

impl Player {
    pub(super) fn new(spec: AgentSpec) -> Self {
        Player { spec, tables: Mutex::default() }
    }

    fn table(&self, game: &str) -> Result<Table, Problem> {
        let mut tables = self.tables.lock();
        if let Some(table) = tables.get(game) {
            return Ok(table.clone());
        }
        let loaded = ludex_games::load(game).map_err(|e| Problem::bad(format!("metadata.ludex: game: {e}")))?;
        let agent = self.spec.build(&loaded).map_err(|e| Problem::bad(format!("the stand-in's agent: {e}")))?;
        if tables.len() == GAMES {
            tables.clear();
        }
        tables.insert(game.to_owned(), (loaded.clone(), agent.clone()));
        Ok((loaded, agent))
    }

    /// The agent's move, a text or a document; its randomness comes from `name`.
    pub(super) fn choose(&self, about: &About, name: &str) -> Result<Value, Problem> {
        let wrong = |why: &str| Problem::bad(format!("metadata.ludex: {why}"));
        let (game, agent) = self.table(&about.game)?;
        let seat = about.seat;
        if seat >= game.spec().players as usize {
            return Err(wrong(&format!("seat {seat} is not a seat of {}", game.spec().string)));
        }
        let view = game.read_view(&about.view).map_err(|e| wrong(&format!("view: {e}")))?;
        // Agents trust their question; this one comes from outside.
        let world = view.world(&mut Stream::from_text(name));
        if about.legal.is_empty() || !about.legal.iter().all(|&a| world.is_legal(seat, a)) {
            return Err(wrong("legal: give the actions that the view allows"));
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
        match agent.act(&ask, None).map(|answer| answer.mv) {
            Ok(Some(Move::Id(a))) => {
                Ok(Action::try_from(a).map_or(a.to_string(), |a| view.action_text(seat, a)).into())
            }
            Ok(Some(Move::Text(text))) => Ok(text.into()),
            Ok(Some(Move::Document(document))) => Ok(document),
            Ok(None) => Ok("I resign".into()),
            Err(e) => Err(Problem::internal(&format!("the stand-in's agent: {e}"))),
        }
    }
}
