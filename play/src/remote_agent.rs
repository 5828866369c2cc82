//! Built-in agents as clients of a remote server: each turn becomes a move request, each reply becomes an act.
//!
//! Remote agents receive the same requests as in-process agents: view, turn and random key. The random key of the n-th
//! match, counted from 0, is derived from the seed `base + n`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ludex_agents::{Agent, AgentClass, AgentSpec, MoveReply};
use ludex_client::{Failure, Handler, MatchResult, TurnReply as Act, TurnRequest};
use ludex_env::draw::{Key, key};
use ludex_env::{AgentKey, Budget, GameRef, Journal, ObservedMove, PriorAttempt, Seat};
use ludex_protocol::call::Call;
use ludex_protocol::message::{MatchEvent, MatchFrame, MatchStart, Resync};
use ludex_protocol::record::AgentKind;
use ludex_protocol::{Move, plain_text};
use parking_lot::Mutex;
use serde_json::Value;

use crate::local::kind_of;
use crate::machine::seat_history::append;
use crate::suite_specs::SuiteSpecs;

/// Maximum size in bytes of each text of a turn's calls. Even if JSON doubles them, the three texts stay below the default
/// of `transcript_bytes`.
const TEXT_BYTES: usize = 40 << 10;

/// Time reserved for sending an act, at most a tenth of the turn's budget.
const WIRE: Duration = Duration::from_millis(200);

/// Callback for ended matches of a [`RemoteAgent`].
pub type OnMatchEnd = dyn Fn(&MatchResult) + Send + Sync;

/// Built-in agent as the handler of a [`ludex_client::Player`]. The agent computes on separate threads, so the socket
/// is not blocked.
pub struct RemoteAgent {
    spec: AgentSpec,
    /// Specs in the parts of the suite that the agent plays.
    suite: Option<SuiteSpecs>,
    seed: u64,
    on_end: Box<OnMatchEnd>,
    /// True if a seat's only legal action is played without a request to the agent, as in local runs.
    skips_forced: bool,
    tables: Mutex<Tables>,
}

/// A seat of a match, by match id and seat.
type SeatKey = (String, Option<u32>);

#[derive(Default)]
struct Tables {
    begun: u64,
    running: HashMap<SeatKey, Table>,
    /// Observed history of each seat.
    past: HashMap<SeatKey, Vec<ObservedMove>>,
    /// Open turn of each seat.
    open: HashMap<SeatKey, Open>,
    /// Agents built so far, by game, parameters and spec.
    agents: HashMap<String, (GameRef, Arc<dyn Agent>)>,
}

/// Open turn with the agent's replies so far.
#[derive(Default)]
struct Open {
    turn: u32,
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
    /// Creates an agent whose n-th match uses seed `seed + n`. `on_end` is called after every match.
    ///
    /// # Errors
    /// Returns an error if the agent needs the full state, which clients do not receive.
    pub fn new(spec: AgentSpec, seed: u64, on_end: Box<OnMatchEnd>) -> anyhow::Result<Self> {
        anyhow::ensure!(!spec.peeks(), "expected an agent without peek, got {spec}: clients do not get the full state");
        Ok(RemoteAgent { spec, suite: None, seed, on_end, skips_forced: false, tables: Mutex::default() })
    }

    /// Enables playing a seat's only legal action without a request to the agent, as in local runs.
    pub fn skipping_forced(mut self) -> Self {
        self.skips_forced = true;
        self
    }

    /// Plays with the settings of a suite, as in local runs. Has an effect on language models only.
    ///
    /// # Errors
    /// Those of [`SuiteSpecs::new`].
    pub fn in_suite(mut self, suite: &str) -> anyhow::Result<Self> {
        if self.spec.class() == AgentClass::Model {
            self.suite = Some(SuiteSpecs::new(suite, &self.spec)?);
        }
        Ok(self)
    }

    /// Returns the agent kind to send in `hello`.
    pub fn kind(&self) -> AgentKind {
        kind_of(&self.spec)
    }

    /// Checks that the agent can play a game.
    ///
    /// # Errors
    /// Returns an error if this program does not have the game, or if the agent cannot be built for it.
    pub fn check(&self, game: &str) -> Result<(), Failure> {
        self.spec.build(&ludex_games::load(game)?)?;
        Ok(())
    }

    /// Returns the game and agent of a match; the agent is built at the first turn.
    fn table(&self, start: &MatchStart) -> Result<Table, Failure> {
        let mut tables = self.tables.lock();
        if let Some(table) = tables.running.get(&key_of(start)) {
            return Ok(table.clone());
        }
        let own = self.suite.as_ref().and_then(|suite| suite.of(&start.match_id, start.variant.as_deref()));
        let spec = own.unwrap_or(&self.spec);
        let name = format!("{} {} {spec}", start.game, Value::Object(start.params.clone()));
        let (game, agent) = match tables.agents.get(&name) {
            Some(known) => known.clone(),
            None => {
                let game = ludex_games::load_with(&start.game, &start.params)?;
                if game.spec().hash != start.hash {
                    let (game, version) = (&start.game, crate::PROGRAM);
                    return Err(format!(
                        "the server's rules of {game} differ from those of {version}; use the version of the server"
                    )
                    .into());
                }
                let built = (game.clone(), spec.build(&game)?);
                tables.agents.insert(name, built.clone());
                built
            }
        };
        let key = key(&format!("ludex.v1:agent-seed:{}", self.seed.wrapping_add(tables.begun)));
        tables.begun += 1;
        agent.enter();
        let table = Table { game, agent, key };
        tables.running.insert(key_of(start), table.clone());
        Ok(table)
    }

    /// Returns the replies of this turn that were refused since the last reconnect.
    fn attempts(&self, ask: &TurnRequest) -> Vec<PriorAttempt> {
        let mut tables = self.tables.lock();
        let open = tables.open.entry(key_of(&ask.start)).or_default();
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
            println!("{} ({} tries left)", plain_text(&refusal.message), refusal.tries_left);
        }
        let table = self.table(&ask.start)?;
        let choices: Vec<u32> = ask.legal.iter().take(2).collect();
        if let (true, [only]) = (self.skips_forced, &choices[..]) {
            return Ok(act(MoveReply::id(*only)));
        }
        let past = self.tables.lock().past.get(&key_of(&ask.start)).cloned().unwrap_or_default();
        let (refused, name) = (self.attempts(&ask), key_of(&ask.start));
        let answer = tokio::task::spawn_blocking(move || think(&table, &ask, &past, &refused)).await??;
        if let Some(open) = self.tables.lock().open.get_mut(&name) {
            open.given = answer.mv.clone();
        }
        Ok(act(answer))
    }

    fn event(&self, event: &MatchEvent) {
        append(self.tables.lock().past.entry((event.match_id.clone(), event.viewer)).or_default(), &event.kind);
    }

    fn resync(&self, resync: &Resync) {
        let mut past = Vec::new();
        for frame in &resync.events {
            if let MatchFrame::Event(event) = frame {
                append(&mut past, &event.kind);
            }
        }
        self.tables.lock().past.insert((resync.match_id.clone(), resync.seat), past);
    }

    fn ended(&self, played: &MatchResult) {
        let (mut tables, at) = (self.tables.lock(), key_of(&played.start));
        if let Some(table) = tables.running.remove(&at) {
            table.agent.leave();
        }
        tables.past.remove(&at);
        tables.open.remove(&at);
        drop(tables);
        (self.on_end)(played);
    }
}

impl Drop for RemoteAgent {
    fn drop(&mut self) {
        self.tables.lock().running.drain().for_each(|(_, table)| table.agent.leave());
    }
}

fn key_of(start: &MatchStart) -> SeatKey {
    (start.match_id.clone(), start.seat)
}

fn think(
    table: &Table,
    ask: &TurnRequest,
    past: &[ObservedMove],
    refused: &[PriorAttempt],
) -> Result<MoveReply, Failure> {
    let view = ask.view.structure.as_ref().ok_or("expected a turn with the view `struct`, got none")?;
    let view = table.game.read_view(view).map_err(|why| format!("the view cannot be read: {why}"))?;
    let legal: Vec<u32> = ask.legal.iter().collect();
    let question =
        ludex_env::MoveRequest::on_view(&*view, ask.seat() as Seat, ask.turn, &legal, AgentKey::Own(&table.key));
    let (budget, calls) = (Budget::default().with_deadline(deadline(ask)), CallLog::default());
    let question = question.with_history(past).with_attempts(refused).with_budget(budget).with_journal(&calls);
    let mut answer = table.agent.act(&question)?;
    answer.notes.more.extend(calls.texts());
    Ok(answer)
}

/// Calls of a language model during one turn, for the notes of the act.
#[derive(Default)]
struct CallLog(Mutex<Vec<Call>>);

impl Journal for CallLog {
    fn find(&self, _key: &str) -> Option<Value> {
        None
    }

    fn keep(&self, _key: &str, entry: &Value) -> Result<(), String> {
        self.0.lock().push(serde_json::from_value(entry.clone()).map_err(|e| e.to_string())?);
        Ok(())
    }
}

impl CallLog {
    /// Returns the notes `model`, `prompt`, `answer` and `reasoning`. The texts of several calls are separated by lines, and
    /// cut at [`TEXT_BYTES`].
    fn texts(self) -> Vec<(String, Value)> {
        let calls = self.0.into_inner();
        let Some(model) = calls.first().map(|call| call.model.clone()) else { return Vec::new() };
        let join = |text: &dyn Fn(&Call) -> String| {
            let mut all =
                calls.iter().map(text).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n---\n\n");
            all.truncate(all.floor_char_boundary(TEXT_BYTES));
            all
        };
        let prompt = |call: &Call| call.messages.iter().map(|m| m.content.as_str()).collect::<Vec<_>>().join("\n\n");
        let texts = [
            ("model", model),
            ("prompt", join(&prompt)),
            ("answer", join(&|call| call.answer.clone())),
            ("reasoning", join(&|call| call.reasoning.clone().unwrap_or_default())),
        ];
        let notes = texts.into_iter().filter(|(_, text)| !text.is_empty());
        notes.map(|(name, text)| (name.to_owned(), text.into())).collect()
    }
}

fn deadline(ask: &TurnRequest) -> Option<Instant> {
    let budget = ask.budget?;
    ask.since.checked_add(budget - WIRE.min(budget / 10))
}

fn act(answer: MoveReply) -> Act {
    let act = match answer.mv {
        Some(Move::Id(a)) => Act::action(a),
        Some(Move::Text(text)) => Act::text(text),
        Some(Move::Document(document)) => Act::document(document),
        None => Act::resign(),
    };
    if answer.notes.is_empty() { act } else { act.with_notes(answer.notes) }
}
