//! Matches among in-process agents, without sockets, store or waiting: the server's own machine, driven to its end in
//! virtual time.
//!
//! A match is a function of its game, its players and its seed; only `started` and `ended` of the record tell one run from
//! another. The match's clock stands still, except while an agent thinks whose answers are not reproducible anyway.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use ludex_agents::{Agent, AgentClass, AgentSpec, Answer};
use ludex_env::draw::{Key, key};
use ludex_env::{GameRef, Journal};
use ludex_protocol::record::{AgentKind, Clock, Header, Illegal, Reason, Record, RecordSeat, VERSION};
use ludex_protocol::{Move, Refusal};
use ludex_referee::digest::seed_commit;
use ludex_referee::schedule::{Planned, Seeds};
use rayon::prelude::*;

use crate::machine::Match;
use crate::machine::terms::{Input, Output, SeatSetup, Setup};
use crate::time::now_text;

/// An agent that takes seats.
#[derive(Clone)]
pub struct Player {
    /// What records call it: its spec, unless somebody gave it a name.
    pub name: String,
    /// As it was written, in canonical form.
    pub spec: AgentSpec,
    /// The agent.
    pub agent: Arc<dyn Agent>,
}

impl Player {
    /// The agent that `text` means in `game`.
    ///
    /// # Errors
    /// As [`AgentSpec::parse`] and [`AgentSpec::build`].
    pub fn new(text: &str, game: &GameRef) -> Result<Self, Refusal> {
        let spec = AgentSpec::parse(text)?;
        let agent = spec.build(game)?;
        Ok(Player { name: spec.to_string(), spec, agent })
    }

    /// The seat as records tell it.
    pub(crate) fn record_seat(&self) -> RecordSeat {
        let kind = match self.spec.class() {
            AgentClass::Person => AgentKind::Human,
            AgentClass::Model => AgentKind::Llm,
            _ => AgentKind::Bot,
        };
        RecordSeat { name: self.name.clone(), spec: Some(self.spec.to_string()), version: None, kind }
    }
}

/// A match that was played.
#[derive(Clone, Debug)]
pub struct Played {
    /// The record, with seed, salt and digest.
    pub record: Record,
    /// What an agent said that could not go on.
    pub failure: Option<String>,
}

/// How a match ends when an agent could not go on.
const FAILURES: [Reason; 4] = [Reason::AgentError, Reason::Illegal, Reason::Timeout, Reason::InfraError];

/// What a match without clock between `players` (one for each seat) is made of. `block` is the key of the block of
/// matches that it belongs to ([`block_key`]), `turn` its place there; a match alone has no `pair`.
pub fn setup(game: &GameRef, players: &[&Player], seed: u64, block: &Key, turn: usize, pair: Option<String>) -> Setup {
    let spec = game.spec();
    let mut salt = [0; 16];
    salt.copy_from_slice(&block[16..]);
    let peeks = players.iter().any(|p| p.agent.peeks());
    let header = Header {
        ludex: VERSION,
        episode: format!("l_{}_{turn}", hex::encode(&block[..8])),
        number: 0,
        flags: if peeks { vec!["peek".into()] } else { Vec::new() },
        game: spec.game.clone(),
        params: spec.params.clone(),
        rules: spec.rules,
        hash: spec.hash.clone(),
        server: crate::PROGRAM.into(),
        seats: players.iter().map(|p| p.record_seat()).collect(),
        rated: false,
        clock: Clock::default(),
        illegal: Illegal { tries: 1, ..Illegal::default() },
        seed_commit: Some(seed_commit(&salt, seed)),
        started: now_text(),
    };
    Setup {
        game: game.clone(),
        header,
        seats: players.iter().map(|_| SeatSetup::default()).collect(),
        skip_forced: false,
        seed,
        salt,
        release: true,
        grace_ms: 0,
        run: None,
        pair,
        restarts: 0,
    }
}

/// The key of a block of matches on one seed: SHA-256 of `ludex.v1:local:<game string>:<specs, sorted>:<seed>`. Names and
/// salts are taken from it, so that the same block has the same name wherever it is played.
pub fn block_key(game: &GameRef, players: &[&Player], seed: u64) -> Key {
    let mut specs: Vec<String> = players.iter().map(|p| p.spec.to_string()).collect();
    specs.sort();
    key(&format!("ludex.v1:local:{}:{}:{seed}", game.spec().string, specs.join("|")))
}

/// What a host decides about the asking of agents.
#[derive(Clone, Copy, Default)]
pub struct Asking<'a> {
    /// How long an agent may think about one move; those that cannot be hurried take what they take.
    pub limit: Option<Duration>,
    /// A seat with one legal action is not asked, whatever the game hides: there is nobody here who could tell by the time.
    pub skip_forced: bool,
    /// Being late is a fault of the infrastructure.
    pub late_is_infra: bool,
    /// Where each seat keeps what it did outside.
    pub journals: Option<&'a dyn Journals>,
}

/// The journals of an episode, one for each seat.
pub trait Journals: Send + Sync {
    /// The journal of a seat.
    fn of(&self, seat: usize) -> &dyn Journal;
}

/// Plays a match to its end. `told` hears everything that the machine puts out.
pub fn play(setup: Setup, players: &[&Player], asking: Asking, mut told: impl FnMut(&Match, &Output)) -> Played {
    let mut now = 0;
    let mut failure = None;
    players.iter().for_each(|player| player.agent.enter());
    let mut machine = Match::new(setup, now);
    let mut due = VecDeque::from(machine.on(now, Input::Start));
    while let Some(output) = due.pop_front() {
        told(&machine, &output);
        let Output::Ask(seat) = output else { continue };
        let player = players[seat];
        let Some(question) = machine.question(seat, player.agent.peeks()) else { continue };
        let begun = Instant::now();
        let answer = match question.legal[..] {
            [only] if asking.skip_forced => Ok(Answer::id(only)),
            _ => {
                let ask = question.ask();
                let journal = asking.journals.map(|journals| journals.of(seat));
                let ask = if let Some(journal) = journal { ask.with_journal(journal) } else { ask };
                player.agent.act(&ask, asking.limit.map(|limit| begun + limit))
            }
        };
        if !player.agent.reproducible() {
            now += begun.elapsed().as_millis() as u64;
        }
        let said = match &answer {
            Ok(answer) => format!("an illegal move: {}", text_of(&answer.mv)),
            Err(error) => error.to_string(),
        };
        let mut input = Input::of_agent(seat, question.turn, answer);
        if let Input::Failed { reason: reason @ Reason::Timeout, .. } = &mut input
            && asking.late_is_infra
        {
            *reason = Reason::InfraError;
        }
        due.extend(machine.on(now, input));
        if machine.record().and_then(|record| record.footer.reason).is_some_and(|reason| FAILURES.contains(&reason)) {
            failure.get_or_insert(said);
        }
    }
    if !machine.over() {
        // Nobody is asked and it is not over: no rule leads here, and a record must say so.
        machine.on(now, Input::Abort(Reason::InfraError));
    }
    players.iter().for_each(|player| player.agent.leave());
    Played { record: machine.record().cloned().unwrap_or_default(), failure }
}

/// A move as its agent gave it.
fn text_of(mv: &Option<Move>) -> String {
    match mv {
        Some(Move::Id(a)) => a.to_string(),
        Some(Move::Text(text)) => format!("{text:?}"),
        Some(Move::Document(value)) => value.to_string(),
        None => "resignation".to_owned(),
    }
}

/// Matches to be played by a plan.
pub struct Series {
    /// The game.
    pub game: GameRef,
    /// Who takes part; the plan names them by index.
    pub players: Vec<Player>,
    /// The matches. Those of one block are a pair.
    pub plan: Vec<Planned>,
    /// The seeds of the blocks.
    pub seeds: Seeds,
}

impl Series {
    /// Plays match `k` of the plan.
    ///
    /// # Panics
    /// If there is no such match, or it names a player who is not there.
    pub fn play(&self, k: usize) -> Played {
        self.play_asking(k, Asking::default())
    }

    /// [`Series::play`] with agents that are asked in this way.
    fn play_asking(&self, k: usize, asking: Asking) -> Played {
        let planned = &self.plan[k];
        let players: Vec<&Player> = planned.seats.iter().map(|&p| &self.players[p]).collect();
        let seed = self.seeds.of(planned.pair);
        let block = block_key(&self.game, &players, seed);
        let pair = format!("p_{}", hex::encode(&block[..8]));
        play(setup(&self.game, &players, seed, &block, planned.turn, Some(pair)), &players, asking, |_, _| {})
    }

    /// Plays the whole plan on `jobs` threads (0: one for each core). `done` gets every match with its place in the plan,
    /// in the order of the plan, as soon as those before it are done.
    ///
    /// # Errors
    /// The first error of `done`; matches that have not begun are not played then. When the system gives no threads.
    pub fn run(&self, jobs: usize, mut done: impl FnMut(usize, Played) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build()?;
        let (tx, rx) = mpsc::channel();
        std::thread::scope(|scope| {
            // One after the other, not in halves, so that little waits for its turn. Nobody listens after an error.
            let all = || {
                (0..self.plan.len())
                    .par_bridge()
                    .try_for_each_with(tx, |tx, k| tx.send((k, self.play(k))).map_err(drop))
            };
            scope.spawn(|| pool.install(all));
            let mut early = BTreeMap::new();
            let mut next = 0;
            for (k, played) in rx {
                early.insert(k, played);
                while let Some(played) = early.remove(&next) {
                    done(next, played)?;
                    next += 1;
                }
            }
            Ok(())
        })
    }
}

/// Lets an agent play a match against itself, and one against random on each seat; `limit` as in [`Asking`].
///
/// # Errors
/// What went wrong in the first match that its fault ended.
pub fn check(player: Player, game: &GameRef, limit: Option<Duration>) -> Result<(), Unfit> {
    let random = Player::new("random", game).map_err(|e| Unfit { why: e.to_string(), own: false })?;
    let seats = game.spec().players as usize;
    let alone = (0..seats).map(|seat| (0..seats).map(|s| usize::from(s != seat)).collect());
    let tables: Vec<Vec<usize>> = [vec![0; seats]].into_iter().chain(alone).collect();
    let plan = tables.into_iter().zip(0..).map(|(seats, pair)| Planned { pair, turn: 0, seats }).collect();
    let series = Series { game: game.clone(), players: vec![player, random], plan, seeds: Seeds::Open(0) };
    for (k, planned) in series.plan.iter().enumerate() {
        let played = series.play_asking(k, Asking { limit, ..Asking::default() });
        let Some(why) = played.failure else { continue };
        let seat = played.record.footer.at_fault.unwrap_or_default();
        let against = if k == 0 { "itself" } else { "random" };
        let (seats, events) = (planned.seats.len(), played.record.events.len());
        let why = format!("{why} (on seat {seat} of {seats} against {against}, after {events} events)");
        return Err(Unfit { why, own: played.record.footer.reason != Some(Reason::InfraError) });
    }
    Ok(())
}

/// Why an agent did not pass its check.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Unfit {
    /// What went wrong.
    pub why: String,
    /// Whether it is the agent's own fault, not that of what it stands on.
    pub own: bool,
}

#[cfg(test)]
mod tests {
    use ludex_env::load;
    use ludex_referee::schedule::blocks;

    use super::*;

    fn series(game: &str, seats: &[&str], pairs: u64) -> Series {
        let game = load(game).unwrap();
        let players: Vec<Player> = seats.iter().map(|s| Player::new(s, &game).unwrap()).collect();
        let table: Vec<usize> = (0..players.len()).collect();
        Series { game, players, plan: blocks(&table, pairs, 0), seeds: Seeds::Open(1) }
    }

    /// Records without the time of day.
    fn records(series: &Series, jobs: usize) -> Vec<Record> {
        let mut all = Vec::new();
        series
            .run(jobs, |k, mut played| {
                assert_eq!((k, played.failure), (all.len(), None));
                played.record.header.started.clear();
                (played.record.footer.ended, played.record.footer.digest) = (None, None);
                all.push(played.record);
                Ok(())
            })
            .unwrap();
        all
    }

    #[test]
    fn a_series_is_the_same_on_any_number_of_threads() {
        for (game, seats) in [
            ("tic_tac_toe", &["mcts sims=20", "random"][..]),
            ("kuhn_poker(players=3)", &["random", "mcts sims=20", "random"]),
            ("iterated_prisoners_dilemma", &["tit_for_tat", "random"]),
        ] {
            let series = series(game, seats, 4);
            let one = records(&series, 1);
            assert_eq!(one, records(&series, 3));
            assert_eq!(one.len(), 4 * seats.len());
            let first = &one[0].footer;
            assert!(one[1..seats.len()].iter().all(|r| r.footer.pair == first.pair && r.footer.seed == first.seed));
            assert!(one[seats.len()..].iter().all(|r| r.footer.pair != first.pair && r.footer.seed != first.seed));
        }
    }

    #[test]
    fn an_error_of_the_listener_ends_the_series() {
        let series = series("tic_tac_toe", &["random", "random"], 500);
        let mut seen = 0;
        let end = series.run(1, |k, _| {
            seen += 1;
            anyhow::ensure!(k < 3, "enough");
            Ok(())
        });
        assert_eq!((end.unwrap_err().to_string(), seen), ("enough".to_owned(), 4));
    }
}
