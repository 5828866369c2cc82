//! `uci`: chess played by an engine with the Universal Chess Interface, such as Stockfish.
//!
//! Every move request sends the whole game: `ucinewgame`, which clears the hash table, then
//! `position fen START moves ...`, from which the engine detects repetitions. Engines run with one thread. If only
//! `nodes` or `depth` limits the search, the same moves always lead to the same reply. Two kinds of settings weaken
//! the engine. `skill` and `elo` are engine options; Stockfish draws the resulting errors from the clock. `within=30`
//! requests several lines and plays a random move among those at most 30 centipawns worse than the best. The choice
//! comes from the turn's stream, so the same key gives the same move.
//!
//! Any other argument is an option of the engine, with spaces written as underscores: `Move_Overhead=50`. Options that
//! the engine does not list are refused by name at the first move request; building an agent starts no program.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ludex_env::{GameRef, MoveRequest, Stream};
use ludex_games::chess::View;
use ludex_protocol::Refusal;

use super::pool::Pool;
use super::program::{self, OutputDeadline, name, start};
use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;
use crate::process::{ChildProcess, ProgramConfig, WALL};
use crate::refusal::unknown;
use crate::spec::{AgentClass, AgentEntry, AgentSpec, ArgDef, ArgKind};
use crate::typed_access::{require_game, view};

pub(crate) const ENTRY: AgentEntry = AgentEntry::new(
    "uci",
    "a chess engine that speaks UCI, such as stockfish; other arguments are options of the engine",
    build,
)
.class(AgentClass::External)
.args(&[
    program::CMD,
    ArgDef::new("skill", ArgKind::Int { min: 0, max: 20 }, "the engine's Skill Level"),
    ArgDef::new("elo", ArgKind::Int { min: 0, max: 10_000 }, "the engine's UCI_Elo"),
    ArgDef::new(
        "within",
        ArgKind::Int { min: 1, max: 10_000 },
        "play any move within this many centipawns of the best",
    ),
    ArgDef::new("nodes", ArgKind::Int { min: 1, max: u64::MAX }, "positions per move").default_unless("10000", "ms"),
    ArgDef::new("depth", ArgKind::Int { min: 1, max: 1_000 }, "maximum plies to look ahead"),
    ArgDef::new("ms", ArgKind::Int { min: 1, max: 86_400_000 }, "milliseconds per move; not reproducible"),
    ArgDef::new("hash", ArgKind::Int { min: 1, max: 65_536 }, "megabytes of the engine's hash table").default("16"),
    program::FOLDER,
    program::SANDBOX,
])
.any_args();

/// Number of principal variations requested if `within` is set. Stockfish uses the same number for its skill levels.
const LINES: usize = 4;
/// Value of a mate in 0 moves, in centipawns; each move to the mate reduces it by 1.
const MATE: i32 = 100_000;
/// Time limit for operations other than a search: startup and clearing the hash table.
const PATIENCE: Duration = Duration::from_secs(30);
/// Minimum time for a search.
const MOMENT: Duration = Duration::from_millis(1);
/// Minimum and maximum safety margin before a deadline. The margin is a tenth of the remaining time, clamped to these
/// bounds.
const MARGIN: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(500)];

fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    require_game("chess", spec, game)?;
    let mut options = vec![("Threads".to_owned(), "1".to_owned())];
    let mut set = |name: &str, value: String| options.push((name.to_owned(), value));
    let hash = spec.int("hash").unwrap_or(16);
    set("Hash", hash.to_string());
    if let Some(skill) = spec.int("skill") {
        set("Skill Level", skill.to_string());
    }
    if let Some(elo) = spec.int("elo") {
        set("UCI_LimitStrength", "true".into());
        set("UCI_Elo", elo.to_string());
    }
    if spec.int("within").is_some() {
        set("MultiPV", LINES.to_string());
    }
    for (name, value) in spec.undefined() {
        set(&name.replace('_', " "), value.clone());
    }
    let limits = ["nodes", "depth"].iter().filter_map(|name| Some(format!(" {name} {}", spec.int(name)?)));
    let mut program = program::read(spec)?;
    program.limits.memory += hash << 20;
    Ok(Arc::new(Uci {
        program,
        options,
        go: limits.fold("go".to_owned(), |go, limit| go + &limit),
        within: spec.int("within").map(|n| n as i32),
        time: spec.int("ms").map(Duration::from_millis),
        reproducible: [spec.int("skill"), spec.int("elo"), spec.int("ms")].iter().all(Option::is_none),
        engines: Pool::new(),
    }))
}

struct Uci {
    program: ProgramConfig,
    /// Options to set, in order. Names are matched with the engine's list regardless of case.
    options: Vec<(String, String)>,
    /// `go` command without the time limit.
    go: String,
    within: Option<i32>,
    time: Option<Duration>,
    reproducible: bool,
    engines: Pool<Engine>,
}

impl Agent for Uci {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        let deadline = ask.budget().deadline();
        let seen: View = view(ask)?;
        let mut position = format!("position fen {}", seen.start);
        if !seen.moves.is_empty() {
            position = format!("{position} moves {}", seen.moves.join(" "));
        }
        let left = deadline.map(|t| {
            let left = t.saturating_duration_since(Instant::now());
            left.saturating_sub((left / 10).clamp(MARGIN[0], MARGIN[1])).max(MOMENT)
        });
        let time = self.time.into_iter().chain(left).min();
        let begun = Instant::now();
        let found = self.engines.ask(
            |engine| engine.begin(deadline).is_ok(),
            || Engine::start(&self.program, &self.options, deadline),
            |engine| engine.search(&position, &self.go, time, deadline),
        )?;
        // A search that used all the time up to the deadline was cut short.
        let cut = left.is_some_and(|left| self.time.is_none_or(|own| left < own) && begun.elapsed() >= left);
        let chosen = match self.within {
            Some(within) => found.lines.pick(within, &mut ask.stream()).unwrap_or(&found.best),
            None => &found.best,
        };
        let Some(action) = ask.view().parse(ask.seat, ask.legal, chosen) else {
            let (name, fen) = (name(&self.program), &seen.fen);
            return Err(AgentError::failed(format!("{name} returned an illegal move {chosen:?} in {fen}")));
        };
        let mut answer = MoveReply::id(action).note("depth", found.lines.depth).note("nodes", found.lines.nodes);
        if let Some(line) = found.lines.of(chosen) {
            let mates = MATE - line.score.abs() <= 1_000;
            answer = match (mates, line.score > 0) {
                (false, _) => answer.note("cp", line.score),
                (true, true) => answer.note("mate", MATE - line.score),
                (true, false) => answer.note("mate", -(MATE + line.score)),
            };
        }
        Ok(if cut { answer.note("cut", true) } else { answer })
    }

    fn reproducible(&self) -> bool {
        self.reproducible
    }

    fn is_io_bound(&self) -> bool {
        true
    }
}

/// Result of a search by the engine.
struct SearchResult {
    /// Best move according to the engine.
    best: String,
    lines: PvLines,
}

/// Running engine whose options have been set.
struct Engine {
    process: ChildProcess,
}

impl Engine {
    fn start(
        program: &ProgramConfig,
        options: &[(String, String)],
        deadline: Option<Instant>,
    ) -> Result<Self, AgentError> {
        let mut engine = Engine { process: start(program)? };
        engine.process.send("uci\n");
        let (mut name, mut listed) = (program.argv[0].clone(), Vec::new());
        engine.read_until("uciok", deadline, |line| {
            if let Some(rest) = line.strip_prefix("id name ") {
                name = rest.to_owned();
            }
            listed.extend(option_name(line));
        })?;
        for (option, value) in options {
            let Some(own) = listed.iter().find(|own| own.eq_ignore_ascii_case(option)) else {
                // Every engine has one thread and a hash table, even if it does not list these options.
                if matches!(option.as_str(), "Threads" | "Hash") {
                    continue;
                }
                let what = format!("option of {name}");
                let listed = listed.iter().map(String::as_str).collect();
                return Err(unknown(&what, option, listed).into());
            };
            engine.process.send(&format!("setoption name {own} value {value}\n"));
        }
        engine.begin(deadline)?;
        Ok(engine)
    }

    /// Starts a new game in the engine, which clears the engine's state.
    fn begin(&mut self, deadline: Option<Instant>) -> Result<(), AgentError> {
        self.process.send("ucinewgame\nisready\n");
        self.read_until("readyok", deadline, |_| {})
    }

    /// Reads lines up to `end`, and passes each earlier line to `each`.
    fn read_until(
        &mut self,
        end: &str,
        deadline: Option<Instant>,
        mut each: impl FnMut(&str),
    ) -> Result<(), AgentError> {
        let limit = OutputDeadline::new(PATIENCE, deadline);
        loop {
            let line = limit.read_line(&mut self.process)?;
            match line.trim() {
                line if line == end => return Ok(()),
                line => each(line),
            }
        }
    }

    fn search(
        &mut self,
        position: &str,
        go: &str,
        time: Option<Duration>,
        deadline: Option<Instant>,
    ) -> Result<SearchResult, AgentError> {
        let time_of = |time: Duration| format!(" movetime {}", time.as_millis());
        self.process.send(&format!("{position}\n{go}{}\n", time.map(time_of).unwrap_or_default()));
        let limit = OutputDeadline::new(time.unwrap_or_default() + WALL, deadline);
        let mut lines = PvLines::default();
        loop {
            let line = limit.read_line(&mut self.process)?;
            let mut words = line.split_whitespace();
            match words.next() {
                Some("info") => lines.read(words),
                Some("bestmove") => {
                    let best = words.next().unwrap_or_default().to_owned();
                    return Ok(SearchResult { best, lines });
                }
                _ => {}
            }
        }
    }
}

/// Parses the option name in a line such as `option name Skill Level type spin default 20 min 0 max 20`.
fn option_name(line: &str) -> Option<String> {
    let rest = line.strip_prefix("option name ")?;
    Some(rest.split_once(" type ").map_or(rest, |(name, _)| name).trim().to_owned())
}

/// Principal variations, depth and node count reported by a search.
#[derive(Debug, Default)]
struct PvLines {
    best: Vec<Option<Line>>,
    depth: u64,
    nodes: u64,
}

/// Latest report about one principal variation.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    /// Score for the side to move, in centipawns.
    score: i32,
    /// First move of the variation.
    first: String,
}

impl PvLines {
    /// Parses the words after `info`. Ignores scores that are only bounds.
    fn read<'a>(&mut self, mut words: impl Iterator<Item = &'a str>) {
        let (mut rank, mut score, mut first, mut bound) = (1, None, None, false);
        while let Some(word) = words.next() {
            let mut number = || words.next().and_then(|n| n.parse::<i64>().ok());
            match word {
                "depth" => self.depth = number().map_or(self.depth, |n| n.max(0) as u64),
                "nodes" => self.nodes = number().map_or(self.nodes, |n| n.max(0) as u64),
                "multipv" => rank = number().map_or(1, |n| n.clamp(1, 500) as usize),
                "cp" => score = number().map(|n| n.clamp(-30_000, 30_000) as i32),
                "mate" => {
                    score = number().map(|n| n.clamp(-1_000, 1_000) as i32);
                    // A mate in 0 or fewer moves: the side to move is mated, or will be.
                    score = score.map(|n| if n > 0 { MATE - n } else { -MATE - n });
                }
                "lowerbound" | "upperbound" => bound = true,
                "pv" => first = words.next(),
                // Free text to the end of the line.
                "string" => return,
                _ => {}
            }
        }
        if let (Some(score), Some(first), false) = (score, first, bound) {
            if self.best.len() < rank {
                self.best.resize(rank, None);
            }
            self.best[rank - 1] = Some(Line { score, first: first.to_owned() });
        }
    }

    fn of(&self, first: &str) -> Option<&Line> {
        self.best.iter().flatten().find(|line| line.first == first)
    }

    /// Picks a random move among those at most `within` centipawns worse than the best move.
    fn pick(&self, within: i32, rng: &mut Stream) -> Option<&String> {
        let most = self.best.iter().flatten().map(|line| line.score).max()?;
        let mut near: Vec<&String> = Vec::new();
        for line in self.best.iter().flatten().filter(|line| line.score >= most - within) {
            // If a search is stopped, its last lines may be from a lower depth than its first line, and repeat a move.
            if !near.contains(&&line.first) {
                near.push(&line.first);
            }
        }
        Some(near[rng.below(near.len())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(infos: &[&str]) -> PvLines {
        let mut lines = PvLines::default();
        infos.iter().for_each(|info| lines.read(info.split_whitespace().skip(1)));
        lines
    }

    #[test]
    fn info_parser_skips_unknown_fields() {
        let found = lines(&[
            "info string NNUE evaluation using nn.nnue enabled depth 99",
            "info depth 5 seldepth 3 multipv 1 score cp -10 nodes 442 nps 221000 tbhits 0 time 2 pv e7e5 b1c3",
            "info depth 6 score cp 14 lowerbound nodes 1000 pv d7d5",
            "info currmove e2e4 currmovenumber",
            "info depth 6 multipv 2 score mate -3 nodes 1100 pv a7a6",
            "info depth x score cp",
        ]);
        assert_eq!((found.depth, found.nodes), (6, 1100));
        assert_eq!(found.of("e7e5").unwrap().score, -10);
        assert_eq!(found.of("a7a6").unwrap().score, 3 - MATE);
        assert_eq!(found.of("d7d5"), None);
    }

    #[test]
    fn picked_move_stays_within_centipawn_limit() {
        let found = lines(&[
            "info multipv 1 score cp 30 pv e2e4",
            "info multipv 2 score cp 20 pv d2d4",
            "info multipv 3 score cp 19 pv a2a3",
        ]);
        let mut rng = Stream::new(&[7; 32]);
        let mut seen: Vec<&str> = (0..50).map(|_| found.pick(10, &mut rng).unwrap().as_str()).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, ["d2d4", "e2e4"]);
        assert_eq!(lines(&[]).pick(10, &mut rng), None);
    }

    #[test]
    fn option_parser_accepts_names_with_spaces() {
        let name = |line| option_name(line).unwrap();
        assert_eq!(name("option name Skill Level type spin default 20 min 0 max 20"), "Skill Level");
        assert_eq!(name("option name Clear Hash type button"), "Clear Hash");
        assert_eq!(option_name("id name Stockfish"), None);
    }
}
