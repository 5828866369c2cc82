//! Agents of the server: the agents that clients may seat, and their search limits.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use hashlink::LruCache;
use ludex_agents::{Agent, AgentClass, AgentSpec, Roster};
use ludex_env::{GameRef, Scheduler as _, Stream};
use ludex_play::local::kind_of;
use ludex_protocol::error::truncate_text;
use ludex_protocol::record::RecordSeat;
use ludex_protocol::{ErrorCode, Refusal};
use parking_lot::Mutex;
use serde_json::Value;

use crate::compute::CurrentJob;

/// Number of plies that a millisecond of search counts as.
const PLIES_PER_MS: u64 = 1_000;
/// Number of plies that an evaluation of a network counts as.
const PLIES_PER_EVALUATION: u64 = 200;
/// Number of random games played to estimate the mean length of a game.
const RANDOM_GAMES: u64 = 20;
/// Ply at which a random game is cut off.
const LONGEST_GAME: usize = 100_000;
/// Number of games whose length is cached.
const CACHED_LENGTHS: usize = 1_024;

/// Limits on the search per move of agents that clients specify.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchLimits {
    /// Maximum number of simulations per move.
    pub sims: u64,
    /// Maximum search depth in plies.
    pub depth: u64,
    /// Maximum number of positions per move.
    pub nodes: u64,
    /// Maximum search time per move in milliseconds.
    pub ms: u64,
}

impl Default for SearchLimits {
    fn default() -> Self {
        SearchLimits { sims: 100_000, depth: 16, nodes: 1_000_000, ms: 5_000 }
    }
}

/// Agents that clients may seat. These are in-process agents within the search limits, the anchors of the game, and all
/// agents that the operator has named.
#[derive(Clone)]
pub struct Opponents {
    /// Agents that specs may name.
    pub agents: Roster,
    /// Agent specs, by the names that the operator chose.
    pub named: BTreeMap<String, String>,
    /// Search limits for agents that the operator has not named.
    pub search: SearchLimits,
    /// Time limit per turn of a server agent, in milliseconds; applies where the clock rule of the match sets no limit.
    pub agent_ms: u64,
}

/// Agent that is ready to play.
#[derive(Clone)]
pub struct Opponent {
    /// Name in lists of seats: the operator's name for the agent, if any, else the canonical spec.
    pub name: String,
    /// Complete agent spec. The spec may contain command lines, paths and addresses of the operator.
    pub spec: AgentSpec,
    /// Agent that takes the seat.
    pub agent: Arc<dyn Agent>,
    /// Estimated reply time of the agent.
    pub pace: Arc<Pace>,
}

impl Opponent {
    /// Returns the entry of this agent's seat in the record header.
    pub fn record_seat(&self) -> RecordSeat {
        let seat = record_seat(&self.name, &self.spec);
        RecordSeat { version: self.agent.version().or(seat.version), ..seat }
    }
}

/// Returns the entry of a server agent in a record header, which is public. For programs and language models, the entry
/// contains the name instead of the spec, which may reveal command lines, paths and addresses. The version of a
/// language model is the name of its model.
fn record_seat(name: &str, spec: &AgentSpec) -> RecordSeat {
    let is_public = matches!(spec.class(), AgentClass::Builtin | AgentClass::Anchor);
    let version = (spec.class() == AgentClass::Model).then(|| spec.text("model")).flatten();
    let public = if is_public { spec.to_string() } else { name.to_owned() };
    RecordSeat { name: name.to_owned(), version, kind: kind_of(spec), model: None, spec: Some(public) }
}

/// Estimated reply time of an agent, in nanoseconds. Replies of a fast agent are computed without switching threads.
#[derive(Debug)]
pub struct Pace(AtomicU64);

impl Pace {
    /// Maximum reply time of a fast agent, in nanoseconds.
    const QUICK_NS: u64 = 20_000;

    /// Returns true if the next reply is expected to be fast.
    pub fn is_quick(&self) -> bool {
        self.0.load(Ordering::Relaxed) <= Self::QUICK_NS
    }

    /// Records the duration of a reply. A slow reply raises the estimate immediately. Fast replies lower the estimate
    /// slowly, since an agent may not search in every turn.
    pub fn measure(&self, took: Duration) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let before = self.0.load(Ordering::Relaxed);
        let mean = if before == u64::MAX { took } else { before / 5 * 4 + took / 5 };
        self.0.store(took.max(mean), Ordering::Relaxed);
    }
}

impl Default for Pace {
    /// Returns the pace of an agent that has not replied yet. The agent counts as slow.
    fn default() -> Self {
        Pace(AtomicU64::new(u64::MAX))
    }
}

impl Default for Opponents {
    /// Returns the built-in agents with the default limits.
    fn default() -> Self {
        Opponents {
            agents: Roster::builtin().clone(),
            named: BTreeMap::new(),
            search: SearchLimits::default(),
            agent_ms: 60_000,
        }
    }
}

impl Opponents {
    /// Returns the agent that `text`, a name or a spec, selects in `game`. If `rated` is true, refuses agents that see
    /// hidden information.
    ///
    /// # Errors
    ///
    /// `unknown_agent`, with the nearest name. `forbidden` for agents that only the operator may offer, and for peeking
    /// agents in rated matches. `limit` for a search beyond the limits.
    pub fn seat(&self, text: &str, game: &GameRef, rated: bool) -> Result<Opponent, Box<Refusal>> {
        let offered = self.named.get(text.trim());
        let written = offered.map_or(text, String::as_str);
        let refused = |e: Refusal| match offered {
            Some(_) => unavailable(text.trim(), game, &e),
            None => self.for_clients(written, e),
        };
        let spec = self.agents.parse(written).map_err(refused)?;
        let resolved = self.agents.resolve(&spec, game).map_err(refused)?;
        if offered.is_none() {
            // The anchors of a game's ladder are defined by the project, including anchors that use engines.
            if resolved.class() != AgentClass::Builtin && spec.class() != AgentClass::Anchor {
                return Err(self.not_offered(spec.name()));
            }
            self.within_limits(&resolved)?;
        }
        if rated && resolved.peeks() {
            let message = "expected an agent without access to hidden information in a rated match";
            return Err(Box::new(Refusal::new(ErrorCode::Forbidden, message).got(truncate_text(text))));
        }
        let agent = self.agents.build_spec(&spec, game).map_err(refused)?;
        if agent.is_batched() {
            let message = "expected an agent without batch requests; replies to batch requests take hours";
            return Err(Box::new(Refusal::new(ErrorCode::Forbidden, message).got(truncate_text(text))));
        }
        let name = if offered.is_some() { text.trim().to_owned() } else { spec.to_string() };
        Ok(Opponent { name, spec, agent, pace: Arc::default() })
    }

    /// Returns the private spec of an agent: the spec that the operator named `text`, or otherwise `text` itself.
    pub fn private_spec<'t>(&'t self, text: &'t str) -> &'t str {
        self.named.get(text.trim()).map_or(text, String::as_str)
    }

    /// Returns the entry in record headers for the agent that `text`, a name or a spec, selects.
    pub(crate) fn record_seat(&self, text: &str) -> RecordSeat {
        let named = self.named.get_key_value(text.trim());
        match named.and_then(|(name, spec)| Some((name, self.agents.parse(spec).ok()?))) {
            Some((name, spec)) => record_seat(name, &spec),
            None => RecordSeat { name: text.into(), spec: Some(text.into()), ..RecordSeat::default() },
        }
    }

    /// Returns the maximum number of plies that a search plays per move; 0 for an agent that does not search. A
    /// simulation counts as the mean length of a random game, a position as one ply, and a millisecond
    /// as a thousand plies. A search limited only by depth counts as all lines of play of that depth. A network counts as
    /// 200 plies per evaluation.
    pub fn plies(&self, spec: &AgentSpec, game: &GameRef) -> u64 {
        let Ok(resolved) = self.agents.resolve(spec, game) else { return self.search.nodes };
        let budget = resolved.budget();
        let sims = match resolved.class() {
            AgentClass::Network if budget.ms.is_some() => None,
            AgentClass::Network => Some(budget.sims.unwrap_or(1).saturating_mul(PLIES_PER_EVALUATION)),
            _ => budget.sims.map(|sims| sims.saturating_mul(random_plies(game))),
        };
        let counted = [sims, budget.nodes, budget.ms.map(|ms| ms.saturating_mul(PLIES_PER_MS))];
        let plies = counted.into_iter().flatten().max();
        plies.unwrap_or_else(|| budget.depth.map_or(0, |depth| lines(game, depth).min(self.search.nodes)))
    }

    fn within_limits(&self, spec: &AgentSpec) -> Result<(), Box<Refusal>> {
        let (budget, most) = (spec.budget(), self.search);
        let bounds = [
            ("sims", budget.sims, most.sims),
            ("depth", budget.depth, most.depth),
            ("nodes", budget.nodes, most.nodes),
            ("ms", budget.ms, most.ms),
        ];
        for (name, wanted, most) in bounds {
            if let Some(wanted) = wanted.filter(|&wanted| wanted > most) {
                let message = format!("{name}: expected at most {most}, got {wanted}");
                return Err(Box::new(Refusal::new(ErrorCode::Limit, message).got(wanted).allowed(most)));
            }
        }
        Ok(())
    }

    fn not_offered(&self, agent: &str) -> Box<Refusal> {
        let offered: Vec<&str> = self.named.keys().map(String::as_str).collect();
        let message = format!("expected an agent offered by the operator (serve --agent NAME=SPEC), got {agent}");
        Box::new(Refusal::new(ErrorCode::Forbidden, message).got(agent).allowed(offered))
    }

    /// Adapts a refusal of the spec `text` for clients. For an unknown agent name, adds the operator's names to the
    /// allowed values.
    fn for_clients(&self, text: &str, mut refusal: Refusal) -> Box<Refusal> {
        // The refusal's `path` names an argument of the agent spec, which is not a field of the client's request.
        refusal.path = None;
        let name = text.split_whitespace().next().unwrap_or_default();
        if let Some(Value::Array(allowed)) = refusal.allowed.as_deref_mut()
            && self.agents.get(name).is_none()
        {
            allowed.extend(self.named.keys().map(|name| Value::from(name.as_str())));
        }
        Box::new(refusal)
    }
}

/// Logs the reason why an operator's agent cannot take a seat, and returns a refusal without the agent's spec.
fn unavailable(name: &str, game: &GameRef, why: &Refusal) -> Box<Refusal> {
    let string = &game.spec().string;
    tracing::warn!(agent = name, game = string, error = %why.message, "agent of the operator is unavailable");
    let message = format!("the server's agent {name} cannot play {string}; the server log has the cause");
    Box::new(Refusal::new(why.code, message).got(name))
}

/// Returns the mean length of 20 random games from the start, in plies including chance, but at least 1. Lengths are
/// cached.
pub fn random_plies(game: &GameRef) -> u64 {
    static CACHE: LazyLock<Mutex<LruCache<String, u64>>> = LazyLock::new(|| Mutex::new(LruCache::new(CACHED_LENGTHS)));
    let string = &game.spec().string;
    if let Some(plies) = CACHE.lock().get(string) {
        return *plies;
    }
    let mut rng = Stream::from_text(&format!("ludex.v1:length:{string}"));
    let mut sum = 0;
    for _ in 0..RANDOM_GAMES {
        // The job was stopped, so its result will be discarded.
        if CurrentJob.pause().is_err() {
            return 1;
        }
        sum += game.start().rollout(&mut rng, LONGEST_GAME) as u64;
    }
    let plies = sum.div_ceil(RANDOM_GAMES).max(1);
    CACHE.lock().insert(string.clone(), plies);
    plies
}

/// Returns an upper bound on the number of positions within `depth` moves. The bound includes a factor of 2 for
/// iterative deepening.
fn lines(game: &GameRef, depth: u64) -> u64 {
    let spec = game.spec();
    let moves = u64::from(spec.actions).saturating_mul(u64::from(spec.max_chance).max(1));
    moves.max(2).saturating_pow(u32::try_from(depth).unwrap_or(u32::MAX)).saturating_mul(2)
}

#[cfg(test)]
mod tests {
    use ludex_protocol::record::AgentKind;

    use super::*;

    #[test]
    fn depth_limited_search_counts_reachable_positions() {
        let opponents = Opponents::default();
        let plies = |text: &str, game: &str| {
            let game = ludex_games::load(game).unwrap();
            opponents.plies(&Roster::builtin().parse(text).unwrap(), &game)
        };
        assert_eq!(plies("alphabeta depth=3", "connect_four"), 2 * 7 * 7 * 7);
        assert_eq!(plies("alphabeta depth=3", "chess"), opponents.search.nodes);
        assert_eq!(plies("random", "chess"), 0);
        assert_eq!(plies("mcts ms=5", "chess"), 5_000);
        // Random games of tic-tac-toe have 5 to 9 plies.
        assert!((500..=900).contains(&plies("mcts sims=100", "tic_tac_toe")));
        let hold_em = "texas_holdem(numPlayers=6,hands=1000)";
        assert!(plies("ismcts sims=100", hold_em) > 1_000 * plies("ismcts sims=100", "kuhn_poker"));
    }

    #[test]
    fn estimated_reply_time_rises_immediately_and_falls_slowly() {
        let (pace, quick) = (Pace::default(), Duration::from_micros(5));
        assert!(!pace.is_quick());
        pace.measure(quick);
        assert!(pace.is_quick());
        pace.measure(Duration::from_millis(1));
        assert!(!pace.is_quick());
        pace.measure(quick);
        assert!(!pace.is_quick());
        (0..30).for_each(|_| pace.measure(quick));
        assert!(pace.is_quick());
    }

    #[test]
    fn record_shows_kind_and_model_but_no_private_spec() {
        let game = ludex_games::load("tic_tac_toe").unwrap();
        let named = [
            ("oracle", "llm model=m-7 base_url=http://127.0.0.1:1/v1"),
            ("engine", "uci cmd=/opt/engine"),
            ("house", "mcts sims=50"),
        ];
        let named = named.map(|(name, spec)| (name.to_owned(), spec.to_owned())).into();
        let opponents = Opponents { named, ..Opponents::default() };
        let seat = |text: &str| match opponents.seat(text, &game, false) {
            Ok(opponent) => Ok(opponent.record_seat()),
            Err(refusal) => Err(*refusal),
        };
        let oracle = seat("oracle").unwrap();
        assert_eq!((oracle.kind, oracle.version.as_deref()), (AgentKind::Llm, Some("m-7")));
        assert_eq!((oracle.name.as_str(), oracle.spec.as_deref()), ("oracle", Some("oracle")));
        assert_eq!(opponents.record_seat(" oracle "), oracle, "in the gym, as in matches");
        assert_eq!(seat("house").unwrap().spec.as_deref(), Some("mcts sims=50"));
        assert_eq!(seat("anchor level=0").unwrap().spec.as_deref(), Some("anchor level=0"));
        let refusal = format!("{:?}", seat("engine").unwrap_err());
        assert!(refusal.contains("engine cannot play") && !refusal.contains("/opt"), "{refusal}");
    }

    #[test]
    fn clients_cannot_seat_agents_that_start_programs() {
        let game = ludex_games::load("tic_tac_toe").unwrap();
        let opponents = Opponents {
            named: BTreeMap::from([
                ("house".into(), "random".into()),
                ("late".into(), "llm model=x base_url=http://127.0.0.1:1/v1 batch=true".into()),
            ]),
            search: SearchLimits { sims: 100, ..SearchLimits::default() },
            ..Opponents::default()
        };
        let code = |text: &str, rated| opponents.seat(text, &game, rated).map(|o| o.name).map_err(|e| e.code);
        assert_eq!(code("house", true), Ok("house".into()));
        assert_eq!(code("random", true), Ok("random".into()));
        assert_eq!(code("late", false), Err(ErrorCode::Forbidden), "batch replies take hours");
        for text in ["uci cmd=stockfish", "botzone cmd=./bot", "llm model=x base_url=http://localhost", "human"] {
            assert_eq!(code(text, false), Err(ErrorCode::Forbidden), "{text}");
        }
        assert_eq!(code("mcts sims=101", false), Err(ErrorCode::Limit));
        assert_eq!(code("mcts sims=100 peek=true", true), Err(ErrorCode::Forbidden));
        assert!(code("mcts sims=100 peek=true", false).is_ok());
        let error = opponents.seat("rndom", &game, false).err().unwrap();
        assert_eq!((error.code, error.nearest.as_deref()), (ErrorCode::UnknownAgent, Some("random")));
    }
}
