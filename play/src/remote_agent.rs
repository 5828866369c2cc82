//! Any agent of the house as a remote client: a turn's view becomes a question, the answer becomes an act.
//!
//! A remote agent and an in-process one play the same game: both are asked with the view, the turn and a key. The key of
//! the agent's n-th match, from 0, is the one that the spec's `seed = base + n` stands for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ludex_agents::{Agent, AgentClass, AgentSpec, MoveReply};
use ludex_client::{Failure, Handler, MatchResult, TurnReply as Act, TurnRequest};
use ludex_env::draw::{Key, key};
use ludex_env::{AgentKey, GameRef, ObservedMove, PriorAttempt, Seat};
use ludex_protocol::Move;
use ludex_protocol::message::{MatchEvent, MatchFrame, MatchStart, Resync};
use ludex_protocol::record::AgentKind;
use serde_json::Value;

use crate::machine::seat_history::tell;

/// Time that is kept back for the way of an act: a tenth of the budget, and no more than this.
const WIRE: Duration = Duration::from_millis(200);

/// What hears about the matches of a [`RemoteAgent`].
pub type OnMatchEnd = dyn Fn(&MatchResult) + Send + Sync;

/// An agent as the handler of a [`ludex_client::Player`]. It thinks on threads of its own, beside the socket.
pub struct RemoteAgent {
    spec: AgentSpec,
    seed: u64,
    told: Box<OnMatchEnd>,
    /// Whether a move without a choice is made without asking the agent, as runs in process do it.
    skips_forced: bool,
    tables: Mutex<Tables>,
}

#[derive(Default)]
struct Tables {
    begun: u64,
    running: HashMap<String, Table>,
    /// What each match has told so far.
    past: HashMap<String, Vec<ObservedMove>>,
    /// The open turn of each match.
    open: HashMap<String, Open>,
    /// By canonical game string and parameters.
    agents: HashMap<String, (GameRef, Arc<dyn Agent>)>,
}

/// A turn, and what was answered to it.
#[derive(Default)]
struct Open {
    turn: u32,
    /// The last answer.
    given: Option<Move>,
    refused: Vec<PriorAttempt>,
}

#[derive(Clone)]
struct Table {
    game: GameRef,
    agent: Arc<dyn Agent>,
    key: Key,
}

impl RemoteAgent {
    /// An agent whose n-th match has the randomness of seed `seed + n`. `told` hears of every match that is over.
    ///
    /// # Errors
    /// An agent that looks at the true state: a client has none.
    pub fn new(spec: AgentSpec, seed: u64, told: Box<OnMatchEnd>) -> anyhow::Result<Self> {
        anyhow::ensure!(!spec.peeks(), "{spec} looks at the true state, which no client sees; leave peek out");
        Ok(RemoteAgent { spec, seed, told, skips_forced: false, tables: Mutex::default() })
    }

    /// The same, but where there is one legal action it is played without asking the agent, as in runs in process.
    pub fn skipping_forced(mut self) -> Self {
        self.skips_forced = true;
        self
    }

    /// What kind of agent it is, for `hello`.
    pub fn kind(&self) -> AgentKind {
        match self.spec.class() {
            AgentClass::Person => AgentKind::Human,
            AgentClass::Model => AgentKind::Llm,
            _ => AgentKind::Bot,
        }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        // Plain maps: they are whole even after a panic.
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The agent for a match, built at its first turn.
    fn table(&self, start: &MatchStart) -> Result<Table, Failure> {
        let mut tables = self.tables();
        if let Some(table) = tables.running.get(&start.match_id) {
            return Ok(table.clone());
        }
        let name = format!("{} {}", start.game, Value::Object(start.params.clone()));
        let (game, agent) = match tables.agents.get(&name) {
            Some(known) => known.clone(),
            None => {
                let game = ludex_games::load_with(&start.game, &start.params)?;
                if game.spec().hash != start.hash {
                    let version = crate::PROGRAM;
                    return Err(format!(
                        "the server has other rules of {} than {version}; use one version",
                        start.game
                    )
                    .into());
                }
                let built = (game.clone(), self.spec.build(&game)?);
                tables.agents.insert(name, built.clone());
                built
            }
        };
        let key = key(&format!("ludex.v1:agent-seed:{}", self.seed.wrapping_add(tables.begun)));
        tables.begun += 1;
        agent.enter();
        let table = Table { game, agent, key };
        tables.running.insert(start.match_id.clone(), table.clone());
        Ok(table)
    }
}

impl RemoteAgent {
    /// The answers to this turn that were refused. Those from before the connection was lost are unknown.
    fn refused(&self, ask: &TurnRequest) -> Vec<PriorAttempt> {
        let mut tables = self.tables();
        let open = tables.open.entry(ask.start.match_id.clone()).or_default();
        if open.turn != ask.turn || ask.attempt == 0 {
            *open = Open { turn: ask.turn, ..Open::default() };
        }
        if let Some(refusal) = &ask.refusal {
            let (why, issues) = (refusal.message.clone(), refusal.issues.clone().unwrap_or_default());
            open.refused.push(PriorAttempt { given: open.given.take(), why, issues });
        }
        open.refused.clone()
    }
}

impl Handler for RemoteAgent {
    async fn turn(&self, ask: TurnRequest) -> Result<Act, Failure> {
        if let (AgentClass::Person, Some(refusal)) = (self.spec.class(), &ask.refusal) {
            println!("{} ({} tries left)", refusal.message, refusal.tries_left);
        }
        let table = self.table(&ask.start)?;
        let choices: Vec<u32> = ask.legal.iter().take(2).collect();
        if let (true, [only]) = (self.skips_forced, &choices[..]) {
            return Ok(act(MoveReply::id(*only)));
        }
        let past = self.tables().past.get(&ask.start.match_id).cloned().unwrap_or_default();
        let (refused, name) = (self.refused(&ask), ask.start.match_id.clone());
        let answer = tokio::task::spawn_blocking(move || think(&table, &ask, &past, &refused)).await??;
        if let Some(open) = self.tables().open.get_mut(&name) {
            open.given = answer.mv.clone();
        }
        Ok(act(answer))
    }

    fn event(&self, event: &MatchEvent) {
        tell(self.tables().past.entry(event.match_id.clone()).or_default(), &event.kind);
    }

    fn resync(&self, resync: &Resync) {
        let mut past = Vec::new();
        for frame in &resync.events {
            if let MatchFrame::Event(event) = frame {
                tell(&mut past, &event.kind);
            }
        }
        self.tables().past.insert(resync.match_id.clone(), past);
    }

    fn ended(&self, played: &MatchResult) {
        let mut tables = self.tables();
        if let Some(table) = tables.running.remove(&played.start.match_id) {
            table.agent.leave();
        }
        tables.past.remove(&played.start.match_id);
        tables.open.remove(&played.start.match_id);
        drop(tables);
        (self.told)(played);
    }
}

impl Drop for RemoteAgent {
    fn drop(&mut self) {
        self.tables().running.drain().for_each(|(_, table)| table.agent.leave());
    }
}

fn think(
    table: &Table,
    ask: &TurnRequest,
    past: &[ObservedMove],
    refused: &[PriorAttempt],
) -> Result<MoveReply, Failure> {
    let view = ask.view.structure.as_ref().ok_or("the turn shows no `struct` view")?;
    let view = table.game.read_view(view).map_err(|why| format!("the view is not understood: {why}"))?;
    let legal: Vec<u32> = ask.legal.iter().collect();
    let question =
        ludex_env::MoveRequest::on_view(&*view, ask.seat() as Seat, ask.turn, &legal, AgentKey::Own(&table.key));
    Ok(table.agent.act(&question.with_history(past).with_attempts(refused), deadline(ask))?)
}

fn deadline(ask: &TurnRequest) -> Option<Instant> {
    let budget = ask.budget?;
    ask.since.checked_add(budget - WIRE.min(budget / 10))
}

fn act(answer: MoveReply) -> Act {
    let act = match answer.mv {
        Some(Move::Id(a)) => Act::action(a),
        Some(Move::Text(text)) => Act::text(text),
        Some(Move::Document(document)) => Act::proposal(document),
        None => Act::resign(),
    };
    if answer.notes.is_empty() { act } else { act.with_notes(answer.notes) }
}
