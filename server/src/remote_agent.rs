//! Built-in agents as remote clients: a turn's view becomes the question that the agent would be asked in-process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ludex_agents::{Agent, Move};
use ludex_client::{Answer, Failure, Handler};
use ludex_env::draw::Key;
use ludex_env::{AgentKey, Ask, GameRef, load_with};
use ludex_protocol::record::Notes;

/// A built-in agent that plays over the wire.
pub struct RemoteAgent {
    spec: String,
    key: Key,
    /// Games and agents by canonical game string: one join may bring several games.
    ready: Mutex<HashMap<String, (GameRef, Arc<dyn Agent>)>>,
}

impl RemoteAgent {
    /// The agent of a spec, with a key for its randomness.
    pub fn new(spec: impl Into<String>, key: Key) -> Self {
        RemoteAgent { spec: spec.into(), key, ready: Mutex::default() }
    }

    fn ready(&self, ask: &ludex_client::Ask) -> Result<(GameRef, Arc<dyn Agent>), Failure> {
        let id = format!("{}{}", ask.start.game, ask.start.hash);
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = ready.get(&id) {
            return Ok(found.clone());
        }
        let game = load_with(&ask.start.game, &ask.start.params)?;
        if game.spec().hash != ask.start.hash {
            return Err("the server plays other rules than this program".into());
        }
        let agent = ludex_agents::build(&self.spec, &game)?;
        ready.insert(id, (game.clone(), agent.clone()));
        Ok((game, agent))
    }
}

impl Handler for RemoteAgent {
    async fn turn(&self, ask: ludex_client::Ask) -> Result<Answer, Failure> {
        let (game, agent) = self.ready(&ask)?;
        let key = self.key;
        tokio::task::spawn_blocking(move || answer(&game, &*agent, &ask, &key)).await?
    }
}

/// What `agent` answers to a turn.
///
/// # Errors
/// A view that this program does not understand, or the agent's own failure.
pub fn answer(game: &GameRef, agent: &dyn Agent, ask: &ludex_client::Ask, key: &Key) -> Result<Answer, Failure> {
    let view = ask.view.structure.as_ref().ok_or("the turn has no structured view: join with views = struct")?;
    let view = game.read_view(view)?;
    let legal: Vec<u32> = ask.legal.iter().collect();
    let question = Ask::on_view(&*view, ask.seat() as usize, ask.turn, &legal, AgentKey::Own(key));
    let told = agent.act(&question, ask.deadline())?;
    let answer = match told.mv {
        Move::Id(id) => Answer::action(id),
        Move::Text(text) => Answer::text(text),
        Move::Said(document) => Answer::proposal(document),
        Move::Resign => Answer::resign(),
    };
    if told.notes.is_empty() {
        return Ok(answer);
    }
    Ok(answer.noting(serde_json::from_value::<Notes>(told.notes.into())?))
}
