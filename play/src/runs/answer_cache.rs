//! Cache of replies within a run. A part lists game phases in its key `cache_answers`. In these phases, an agent
//! receives one move request per game, seat and view, and the reply is reused in later matches. Replies are stored in
//! the run's folder.
//!
//! The random stream of a cached reply does not depend on the match, so the reply does not depend on the order of the
//! matches. The notes of a reused reply name the episode of the original reply, and have no calls and no cost.

use std::collections::{BTreeSet, HashMap};
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ludex_agents::{Agent, AgentClass, AgentError, MoveReply, wrap};
use ludex_env::draw::key;
use ludex_env::recording::{steps, submitted_move};
use ludex_env::{AgentKey, GameRef, MoveRequest, Seat, Viewer};
use ludex_protocol::Move;
use ludex_protocol::record::{MoveRecord, Notes, Record, RecordEvent, RefusedMove};
use ludex_report::runs::run_files::{ANSWERS, AnswerLine};
use parking_lot::{ArcMutexGuard, Mutex, RawMutex};
use serde_json::{Value, json};

use super::folder::append;
use crate::local::Participant;
use crate::machine::known_answers::{KnownAnswer, KnownAnswers, question_digest};

/// Returns the request that a cached reply belongs to.
fn question(line: &AnswerLine) -> Question {
    let AnswerLine { agent, spec, game, seat, phase, asked, .. } = line;
    [agent, spec, game, &seat.to_string(), phase, asked].map(String::clone)
}

/// Returns a cached reply for the match `episode`. If another episode produced the reply, the notes name that episode
/// instead of containing the calls.
fn reply(line: &AnswerLine, episode: &str) -> MoveReply {
    let mut notes = line.notes.clone();
    if episode != line.episode {
        (notes.tokens, notes.more) = (None, [(NOTE.to_owned(), json!(line.episode))].into_iter().collect());
    }
    MoveReply { mv: Some(line.mv.clone()), notes }
}

/// Cache key: agent, spec, game, seat, phase and digest of the request.
type Question = [String; 6];

/// Name of the note with the episode of the original reply.
pub(crate) const NOTE: &str = "once";

/// Policy of a part that selects the move requests whose replies are cached.
#[derive(Clone, Debug, Default)]
pub struct CachePolicy {
    /// Game phases in which replies are cached.
    phases: Vec<String>,
    /// Seed of the random streams for cached replies.
    seed: u64,
}

impl CachePolicy {
    /// Creates a policy that caches replies in `phases`.
    pub fn new(phases: &[String], seed: u64) -> CachePolicy {
        CachePolicy { phases: phases.to_vec(), seed }
    }

    /// Returns true if the policy caches no replies.
    pub fn is_empty(&self) -> bool {
        self.phases.is_empty()
    }

    fn phase(&self, ask: &MoveRequest<'_>) -> Option<&'static str> {
        ask.phase().filter(|phase| self.phases.iter().any(|name| name == phase))
    }

    /// Requests a move from an agent, with a random stream independent of the match.
    fn ask(&self, agent: &dyn Agent, ask: &MoveRequest<'_>, asked: &str) -> Result<MoveReply, AgentError> {
        let own = key(&format!("ludex.v1:once:{}:{asked}", self.seed));
        agent.act(&ask.keyed(AgentKey::Own(&own)))
    }
}

/// Returns a digest of a move request.
fn digest_of(ask: &MoveRequest<'_>) -> String {
    let refused: Vec<Value> = ask.attempts().iter().map(|attempt| json!([attempt.text(), attempt.why])).collect();
    question_digest(&ask.view().value(), &refused)
}

/// Cache of the replies of a run.
pub(crate) struct AnswerCache {
    path: PathBuf,
    answers: Mutex<HashMap<Question, Arc<Mutex<Option<AnswerLine>>>>>,
    /// Locks of the clients' first replies, by game, seat and agent.
    gates: Mutex<HashMap<String, Arc<Mutex<()>>>>,
}

impl AnswerCache {
    /// Creates the cache of the run in the folder `path` from its stored replies.
    pub(crate) fn new(path: &Path, kept: Vec<AnswerLine>) -> Arc<AnswerCache> {
        let answers = kept.into_iter().map(|line| (question(&line), Arc::new(Mutex::new(Some(line))))).collect();
        Arc::new(AnswerCache { path: path.join(ANSWERS), answers: Mutex::new(answers), gates: Mutex::default() })
    }

    /// Wraps a player so that replies are cached according to `caching`.
    pub(crate) fn player(
        self: &Arc<AnswerCache>,
        caching: &CachePolicy,
        game: &str,
        episode: &str,
        player: &Participant,
    ) -> Participant {
        if caching.is_empty() {
            return player.clone();
        }
        let (book, caching, name, spec) = (self.clone(), caching.clone(), player.name.clone(), player.spec.to_string());
        let (game, episode) = (game.to_owned(), episode.to_owned());
        let act = move |agent: &dyn Agent, ask: &MoveRequest<'_>| {
            let Some(phase) = caching.phase(ask) else { return agent.act(ask) };
            let asked = digest_of(ask);
            let blank = AnswerLine {
                agent: name.clone(),
                spec: spec.clone(),
                game: game.clone(),
                seat: ask.seat,
                phase: phase.to_owned(),
                asked,
                episode: episode.clone(),
                mv: Move::Id(0),
                notes: Notes::default(),
            };
            book.answer(blank, |asked| caching.ask(agent, ask, asked))
        };
        Participant { agent: Arc::new(wrap(player.agent.clone(), act)), ..player.clone() }
    }

    /// Returns the reply to a request. Blocks while the agent computes its reply to the same request for another match.
    fn answer(
        &self,
        line: AnswerLine,
        act: impl FnOnce(&str) -> Result<MoveReply, AgentError>,
    ) -> Result<MoveReply, AgentError> {
        let place = {
            let mut answers = self.answers.lock();
            answers.entry(question(&line)).or_default().clone()
        };
        let mut known = place.lock();
        if let Some(known) = &*known {
            return Ok(reply(known, &line.episode));
        }
        let answer = act(&line.asked)?;
        // Resignations are not cached.
        let Some(mv) = answer.mv.clone() else { return Ok(answer) };
        let line = AnswerLine { mv, notes: answer.notes.clone(), ..line };
        let kept = serde_json::to_string(&line)
            .map_err(std::io::Error::from)
            .and_then(|text| append(&mut OpenOptions::new().create(true).append(true).open(&self.path)?, &text));
        kept.map_err(|e| AgentError::infrastructure(format!("{} cannot be written: {e}", self.path.display())))?;
        *known = Some(line);
        Ok(answer)
    }
}

/// Cached replies of the clients in one match. While a client has not answered any question of its seat, other matches
/// with this client on this seat wait, so that the client is asked once.
pub(crate) struct ClientAnswers<'a> {
    cache: &'a AnswerCache,
    caching: &'a CachePolicy,
    game: &'a str,
    players: &'a [&'a Participant],
    /// Replies known before the match, by seat.
    known: Vec<Vec<AnswerLine>>,
    /// Locks of the first replies that this match asks for.
    first: Vec<ArcMutexGuard<RawMutex, ()>>,
}

impl AnswerCache {
    /// Returns the cached replies of the clients among `players`. Blocks while another match asks for the first reply of
    /// one of them.
    pub(crate) fn clients<'a>(
        &'a self,
        caching: &'a CachePolicy,
        game: &'a str,
        players: &'a [&'a Participant],
    ) -> ClientAnswers<'a> {
        let remote = |player: &Participant| !caching.is_empty() && player.spec.class() == AgentClass::Remote;
        let seats = || players.iter().enumerate().filter(|(_, player)| remote(player));
        // Locked in order of their names, so that two matches never wait for each other.
        let keys: BTreeSet<(&str, Seat)> = seats().map(|(seat, player)| (player.name.as_str(), seat)).collect();
        let mut first = Vec::new();
        for (name, seat) in keys {
            let gate = self.gates.lock().entry(format!("{game}:{seat}:{name}")).or_default().clone();
            let guard = gate.lock_arc();
            if self.lines(game, name, seat).is_empty() {
                first.push(guard);
            }
        }
        let mut known = vec![Vec::new(); players.len()];
        for (seat, player) in seats() {
            known[seat] = self.lines(game, &player.name, seat);
        }
        ClientAnswers { cache: self, caching, game, players, known, first }
    }

    /// Returns the cached replies of an agent on a seat.
    fn lines(&self, game: &str, agent: &str, seat: Seat) -> Vec<AnswerLine> {
        let answers = self.answers.lock();
        let lines = answers.values().filter_map(|line| line.lock().clone());
        lines.filter(|line| (line.game.as_str(), line.agent.as_str(), line.seat) == (game, agent, seat)).collect()
    }
}

impl ClientAnswers<'_> {
    /// Returns the answers for the setup of the match `episode`, by seat.
    pub(crate) fn answers_for(&self, episode: &str) -> Vec<KnownAnswers> {
        let answer = |line: &AnswerLine| {
            let notes = reply(line, episode).notes;
            KnownAnswer { asked: line.asked.clone(), mv: line.mv.clone(), notes }
        };
        let phases = |player: &&Participant| match player.spec.class() {
            AgentClass::Remote => self.caching.phases.clone(),
            _ => Vec::new(),
        };
        let seat = |(player, lines): (&&Participant, &Vec<AnswerLine>)| KnownAnswers {
            phases: phases(player),
            answers: lines.iter().map(answer).collect(),
        };
        self.players.iter().zip(&self.known).map(seat).collect()
    }

    /// Caches the moves by which the clients answered new questions in a match.
    ///
    /// # Errors
    /// Returns an error if the file of the answers cannot be written.
    pub(crate) fn learn(&self, game: &GameRef, episode: &str, record: &Record) -> Result<(), AgentError> {
        if self.known.iter().all(Vec::is_empty) && self.first.is_empty() {
            return Ok(());
        }
        let mut steps = steps(&**game, record);
        while let Some(Ok(step)) = steps.next() {
            let Some(phase) = step.before.phase().filter(|phase| self.caching.phases.iter().any(|name| name == phase))
            else {
                continue;
            };
            for event in step.events {
                let RecordEvent::Move(m) = event else { continue };
                let seat = m.seat as usize;
                let made = m.action.map(|a| Move::Id(a.into())).or_else(|| m.document.clone().map(Move::Document));
                let (Some(mv), false, None) = (made, m.forced, first_episode(m.notes.as_ref())) else { continue };
                let player = self.players[seat];
                if player.spec.class() != AgentClass::Remote {
                    continue;
                }
                let asked = question_digest(&step.before.view(Viewer::Seat(seat)).value(), &[]);
                let line = AnswerLine {
                    agent: player.name.clone(),
                    spec: player.spec.to_string(),
                    game: self.game.to_owned(),
                    seat,
                    phase: phase.to_owned(),
                    asked,
                    episode: episode.to_owned(),
                    mv: mv.clone(),
                    notes: Notes::default(),
                };
                let notes = m.notes.clone().unwrap_or_default();
                self.cache.answer(line, |_| Ok(MoveReply { mv: Some(mv), notes }))?;
            }
        }
        Ok(())
    }
}

/// Wraps the agent of a seat for an audit: reused replies are taken from the record.
pub(crate) fn again(caching: &CachePolicy, record: &Record, seat: usize, agent: Arc<dyn Agent>) -> Arc<dyn Agent> {
    if caching.is_empty() {
        return agent;
    }
    let caching = caching.clone();
    let before: HashMap<(u32, usize), MoveReply> = answers(record, seat)
        .filter(|(.., notes)| first_episode(*notes).is_some())
        .map(|(turn, attempt, mv, notes)| {
            ((turn, attempt), MoveReply { mv, notes: notes.cloned().unwrap_or_default() })
        })
        .collect();
    Arc::new(wrap(agent, move |agent: &dyn Agent, ask: &MoveRequest<'_>| match caching.phase(ask) {
        None => agent.act(ask),
        Some(_) => match before.get(&(ask.turn, ask.attempts().len())) {
            Some(answer) => Ok(answer.clone()),
            None => caching.ask(agent, ask, &digest_of(ask)),
        },
    }))
}

/// Returns the faults of the reused replies in a record; `of` returns the run's record of an episode.
pub(crate) fn wrong<'r>(record: &Record, of: impl Fn(&str) -> Option<&'r Record>) -> Vec<String> {
    let mut out = Vec::new();
    for (seat, sat) in record.header.seats.iter().enumerate() {
        for (turn, _, mv, notes) in answers(record, seat) {
            let Some(episode) = first_episode(notes) else { continue };
            let first = of(episode).filter(|first| {
                let same = |(_, _, said, notes): SeatReply| said == mv && first_episode(notes).is_none();
                first.header.seats.get(seat).is_some_and(|other| other.name == sat.name)
                    && answers(first, seat).any(same)
            });
            if first.is_none() {
                out.push(format!("seat {seat}, turn {turn}: expected the cached reply in {episode}, got none"));
            }
        }
    }
    out
}

fn first_episode(notes: Option<&Notes>) -> Option<&str> {
    notes?.more.get(NOTE)?.as_str()
}

/// Reply in a record: turn, attempt, move and notes.
type SeatReply<'a> = (u32, usize, Option<Move>, Option<&'a Notes>);

/// Returns the replies of a seat, including refused replies.
pub(super) fn answers<'a>(record: &'a Record, seat: usize) -> impl Iterator<Item = SeatReply<'a>> {
    let moves = record.events.iter().filter_map(move |event| match event {
        RecordEvent::Move(m) if m.seat as usize == seat => Some(m),
        _ => None,
    });
    moves.flat_map(|m: &'a MoveRecord| {
        let tried = |(k, t): (usize, &'a RefusedMove)| (m.turn, k, submitted_move(t), t.notes.as_ref());
        let tries = m.tries.iter().enumerate().map(tried);
        let made = m.action.map(|a| Move::Id(a.into())).or_else(|| m.document.clone().map(Move::Document));
        let made = made.filter(|_| !m.forced).map(|mv| (m.turn, m.tries.len(), Some(mv), m.notes.as_ref()));
        tries.chain(made)
    })
}
