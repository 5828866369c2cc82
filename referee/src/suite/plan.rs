//! Due matches of a suite, as a function of the completed matches. An interrupted run continues by computing the due
//! matches again.

mod entrants;
mod ladder;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ludex_env::{GameRef, Games, Stream};
use ludex_protocol::record::{EndReason, Outcome, Record};

pub use self::entrants::Entrant;
pub use self::ladder::Climb;
use super::converge::{Converge, RandomMatch};
use super::roles::RoleAgent;
use super::seating::random_seating;
use super::shard::Shard;
use super::starts::Excerpts;
use super::{Invalid, Order, PartSpec, Schedule, Seats, Suite, SuiteError};
use crate::digest::rated_seed;
use crate::metric::MetricQuery;
use crate::rating::{self, gain, table::Tally};
use crate::schedule::{Deals, MatchSeeds, Seeds};

/// Due matches of a pairing, played in sequence: one for each seating, or with `order = "halves"` a single match. The
/// matches share a seed, unless [each has a separate seed](MatchSeeds).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Index of the part.
    pub part: usize,
    /// Entrants as indices into the run's agents. In a suite, the two or more sides, with equal indices if an agent
    /// plays against itself; in a tournament, all entrants of the block.
    pub pairing: Vec<usize>,
    /// Number of the block in the part, used to derive seeds.
    pub index: u64,
    pub matches: Vec<DueMatch>,
}

/// Match that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueMatch {
    /// Index of the seating in the block.
    pub turn: usize,
    /// Agent on each seat.
    pub seats: Vec<usize>,
}

/// Returns the name of a match in its run: `PART.A-B.INDEX.TURN`.
pub fn key(part: &str, pairing: &[usize], index: u64, turn: usize) -> String {
    format!("{}.{turn}", block_key(part, pairing, index))
}

/// Returns the name of a block in its run: `PART.A-B.INDEX`.
pub fn block_key(part: &str, pairing: &[usize], index: u64) -> String {
    let who: Vec<String> = pairing.iter().map(usize::to_string).collect();
    format!("{part}.{}.{index}", who.join("-"))
}

/// Parsed key of a match.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MatchKey {
    /// Id of the part.
    pub part: String,
    /// Entrants as indices of the run's agents.
    pub pairing: Vec<usize>,
    /// Number of the block in the part.
    pub index: u64,
    /// Index of the match in the block.
    pub turn: usize,
}

impl MatchKey {
    /// Parses a [`key`]; `None` if the text is not a key.
    pub fn parse(key: &str) -> Option<MatchKey> {
        let [part, pairing, index, turn] = key.split('.').collect::<Vec<_>>()[..] else { return None };
        let pairing: Result<Vec<usize>, _> = pairing.split('-').map(str::parse).collect();
        let (part, pairing) = (part.to_owned(), pairing.ok()?);
        super::is_word(&part).then_some(MatchKey {
            part,
            pairing,
            index: index.parse().ok()?,
            turn: turn.parse().ok()?,
        })
    }
}

/// Result of a completed match.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MatchScore {
    /// Points of the first side: 1, 1/2 or 0.
    Points(f64),
    /// Match that ended by an illegal move and does not count.
    Invalid,
    /// Match discarded after the maximum number of infrastructure failures.
    Discarded,
}

/// Completed matches by [`key`].
pub type Results = HashMap<String, MatchScore>;

/// Sort key of a due block: see [`PlannedPart::blocks`], or `[n, 0]` for random match `n`, from 0.
type Rank = [u64; 2];

/// Entrants that meet in a part, with the numbers of their blocks. There are two entrants, or as many as the part's
/// tables have letters.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cell {
    pairing: Vec<usize>,
    /// Level of the opponent on a ladder.
    level: Option<u32>,
    /// Numbers of the cell's blocks.
    blocks: std::ops::Range<u64>,
    /// Number of the meeting, used to derive separate match seeds. Against opponents, it is the number of the second
    /// side, so that all candidates play the same seeds; among candidates, it is the number of the pairing. Separate variants
    /// of a candidate differ in the upper 32 bits.
    meeting: u64,
    /// Number of the first shard piece of the cell.
    piece: u64,
    /// Random positions of the cell's blocks among all blocks of the part (with `order = "shuffled"`).
    places: Vec<u64>,
}

/// Part with its agents.
pub struct PlannedPart {
    /// Part from the suite.
    pub part: PartSpec,
    pub game: GameRef,
    /// Games of a block: the part's game, or one for each combination of swept parameters.
    pub games: Vec<GameRef>,
    /// Candidates (or their variants) as indices of the run's agents.
    pub candidates: Vec<usize>,
    /// Excerpts of the game to play; whole games by default.
    pub excerpts: Excerpts,
    cells: Vec<Cell>,
    seatings: Vec<Vec<usize>>,
    /// Matches of a part with random pairs. The cells of the part are then its pairings, without blocks.
    converge: Option<Converge>,
    /// Label for random draws: suite, seed and part.
    draw: String,
    invalid: Invalid,
    replay_factor: u32,
}

/// Suite with its agents.
pub struct Plan {
    pub suite: Suite,
    pub parts: Vec<PlannedPart>,
    /// All agents: the candidates, their variants and the opponents.
    pub agents: Vec<Entrant>,
    /// Shard to play, if any. A shard changes only which blocks are due.
    pub shard: Option<Shard>,
    /// Number of shard pieces in the parts added so far.
    pieces: u64,
}

impl Plan {
    /// Builds the plan of a suite for these candidates, given as (name, spec). All numbers of blocks are multiplied by
    /// `scale` and are at least 1.
    ///
    /// # Errors
    /// Returns an error for a part that these candidates cannot play.
    pub fn new(
        mut suite: Suite,
        candidates: &[(String, String)],
        scale: f64,
        games: &Games,
    ) -> Result<Plan, SuiteError> {
        suite.name_selected();
        if candidates.is_empty() {
            return Err(SuiteError("expected at least one candidate, got none".into()));
        }
        let entrant = |(name, spec): &(String, String)| Entrant {
            name: name.clone(),
            spec: spec.clone(),
            variant: None,
            candidate: true,
        };
        let agents = candidates.iter().map(entrant).collect();
        let mut plan = Plan { suite: suite.clone(), parts: Vec::new(), agents, shard: None, pieces: 0 };
        for part in suite.parts {
            let id = part.id.clone();
            plan.add(part, candidates.len(), scale, games).map_err(|why| SuiteError(format!("part {id:?}: {why}")))?;
        }
        Ok(plan)
    }

    fn add(&mut self, part: PartSpec, candidates: usize, scale: f64, games: &Games) -> Result<(), String> {
        let game = part.load(games)?;
        let scaled = |n: u64| ((n as f64 * scale).round() as u64).max(1);
        let games = part.games(games)?;
        let who = self.varied(&part, candidates);
        let draw = format!("{}:{}:{}", self.suite.name, self.suite.seed, part.id);
        let (mut cells, mut converge) = (Vec::new(), None);
        let all = scaled(part.blocks);
        let seatings = part.seatings(game.spec().players as usize);
        let sides = part.sides(&seatings);
        match part.schedule {
            Schedule::Against => {
                let mut others: Vec<usize> = Vec::new();
                for agent in self.suite.opponents(&part)? {
                    let known = (0..candidates).find(|&c| part.itself && self.agents[c].spec == agent.spec);
                    let who = known.unwrap_or_else(|| self.opponent(&agent));
                    // A role may name an agent twice. With two sides, a candidate meets this agent once; with more
                    // sides, the agent gets two seats.
                    if sides > 2 || !others.contains(&who) {
                        others.push(who);
                    }
                }
                for (meeting, others) in (0..).zip(others.chunks(sides - 1)) {
                    let pairing = |a: usize| [&[a][..], others].concat();
                    cells.extend(who.iter().map(|&a| Cell::new(pairing(a), None, 0..all, meeting)));
                }
            }
            Schedule::SelfPlay => cells.extend(who.iter().map(|&a| Cell::new(vec![a, a], None, 0..all, 0))),
            Schedule::RoundRobin => {
                let pairings = choices(&who, sides);
                for cycle in 0..u64::from(part.cycles) {
                    let blocks = cycle * all..(cycle + 1) * all;
                    let cell = |(meeting, pairing): (u64, &Vec<usize>)| {
                        Cell::new(pairing.clone(), None, blocks.clone(), meeting)
                    };
                    cells.extend((0..).zip(&pairings).map(cell));
                }
            }
            Schedule::Converge => {
                let pairings = choices(&who, sides);
                if let Some(stop) = &part.stop {
                    converge = Some(Converge::new(stop, scale, &pairings, seatings.len(), &draw));
                }
                cells.extend((0..).zip(pairings).map(|(meeting, pairing)| Cell::new(pairing, None, 0..0, meeting)));
            }
            Schedule::Climb | Schedule::Bisect => {
                // Each bot of a level plays a contiguous range of the level's blocks, so one bot plays each seed.
                let mut levels: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
                game.spec().anchors.iter().for_each(|rung| levels.entry(rung.level).or_default().push(rung.bot));
                let mut meetings = 0..;
                for (&level, bots) in &levels {
                    let wanted = part.blocks_of_random.filter(|_| level == 0).unwrap_or(part.blocks);
                    let (n, of) = (scaled(wanted).max(bots.len() as u64), bots.len() as u64);
                    for ((k, bot), meeting) in (0..of).zip(bots).zip(&mut meetings) {
                        let bot = if *bot == 1 { String::new() } else { format!(" bot={bot}") };
                        let spec = format!("anchor level={level}{bot}");
                        let b = self.opponent(&RoleAgent { name: spec.clone(), spec });
                        let blocks = k * n / of..(k + 1) * n / of;
                        let cell = |&a: &usize| Cell::new(vec![a, b], Some(level), blocks.clone(), meeting);
                        cells.extend(who.iter().map(cell));
                    }
                }
            }
        }
        if self.suite.deals == Deals::Once && !matches!(part.schedule, Schedule::RoundRobin | Schedule::Converge) {
            for cell in &mut cells {
                // All candidates come before their next variants.
                let variant = who.iter().position(|at| cell.pairing.contains(at)).unwrap_or(0) / candidates;
                cell.meeting += (variant as u64) << 32;
            }
        }
        let numbers = if converge.is_some() { 0 } else { all };
        let excerpts = Excerpts::new(&part, &game, &self.suite.files, &seatings, numbers)?;
        let policy = self.suite.policy(&part);
        let (invalid, replay_factor) = (policy.invalid, policy.replay_factor.max(1));
        if part.order == Order::Shuffled {
            shuffle(&mut cells, &draw);
        }
        let mut planned = PlannedPart {
            part,
            game,
            games,
            candidates: who,
            excerpts,
            cells,
            seatings,
            converge,
            draw,
            invalid,
            replay_factor,
        };
        self.pieces = planned.number_pieces(self.pieces);
        self.parts.push(planned);
        Ok(())
    }

    /// Returns the due blocks in playing order. The first blocks of all parts and pairings come before any second
    /// block, so that results are balanced whenever a run stops. Empty when the suite, or the shard, is complete.
    pub fn next(&self, done: &Results) -> Vec<Block> {
        let mut due: Vec<(Rank, Block)> = Vec::new();
        for (at, part) in self.parts.iter().enumerate() {
            let has = |piece| self.shard.is_none_or(|shard| shard.has(piece));
            if let (Some(converge), Some(cell)) = (&part.converge, part.cells.first()) {
                due.extend(part.converging(at, converge, done).filter(|_| has(cell.piece)));
                continue;
            }
            for cell in part.due(done) {
                let own = |block: &Block| has(part.piece(cell, block.index));
                due.extend(part.blocks(at, cell, done).filter(|(_, block)| own(block)));
            }
        }
        due.sort_by_key(|(rank, _)| *rank);
        due.into_iter().map(|(_, block)| block).collect()
    }

    /// Returns the maximum number of matches of the suite, with as many levels as a bisection can play.
    pub fn matches_at_most(&self) -> u64 {
        self.parts.iter().map(PlannedPart::matches_at_most).sum()
    }

    /// Returns the names of the marks that the metrics need.
    pub fn marks(&self) -> BTreeSet<String> {
        let asks = self.parts.iter().flat_map(|part| &part.part.metrics);
        let of_parts = asks.filter_map(|ask| MetricQuery::new(ask).ok()).flat_map(|asked| asked.marks());
        let of_figures = self.suite.figures.iter().flat_map(|figure| figure.marks());
        let of_rubrics = self.suite.rubrics.iter().filter_map(|rubric| rubric.mark.clone());
        of_parts.chain(of_figures).chain(of_rubrics).collect()
    }

    /// Parses the [`key`] of a match of this plan as (part index, pairing, block number, turn).
    pub fn find(&self, key: &str) -> Option<(usize, Vec<usize>, u64, usize)> {
        let MatchKey { part, pairing, index, turn } = MatchKey::parse(key)?;
        let part = self.parts.iter().position(|p| p.part.id == part)?;
        Some((part, pairing, index, turn))
    }

    /// Returns the result of a record's match under the part's rules.
    pub fn score_match(&self, part: usize, turn: usize, record: &Record) -> MatchScore {
        let part = &self.parts[part];
        match record.footer.reason {
            Some(EndReason::Illegal) if part.invalid == Invalid::Replay => MatchScore::Invalid,
            Some(reason) if reason.counts() => {
                let first: Vec<bool> = part.sides(turn).iter().map(|&side| side == 0).collect();
                MatchScore::Points(points(&first, record))
            }
            _ => MatchScore::Discarded,
        }
    }
}

impl Cell {
    fn new(pairing: Vec<usize>, level: Option<u32>, blocks: std::ops::Range<u64>, meeting: u64) -> Self {
        Cell { pairing, level, blocks, meeting, piece: 0, places: Vec::new() }
    }
}

impl PlannedPart {
    /// Numbers the shard pieces of the part from `first`, and returns the next number. A piece is normally a block. If
    /// results decide which matches are due, a piece contains all matches that depend on each other. That piece is the
    /// ladder of a candidate, a pairing with its replacement matches, or a part with random pairs.
    fn number_pieces(&mut self, first: u64) -> u64 {
        let ladder = matches!(self.part.schedule, Schedule::Climb | Schedule::Bisect);
        if self.converge.is_some() {
            self.cells.iter_mut().for_each(|cell| cell.piece = first);
            return first + 1;
        }
        let turns = if self.part.order == Order::Halves { self.turns() as u64 } else { 1 };
        let (mut next, mut climbs) = (first, HashMap::new());
        for cell in &mut self.cells {
            let known = climbs.get(&cell.pairing[0]).copied().filter(|_| ladder);
            cell.piece = known.unwrap_or(next);
            if known.is_none() {
                climbs.insert(cell.pairing[0], next);
                let blocks = cell.blocks.end - cell.blocks.start;
                next += if ladder || self.invalid == Invalid::Replay { 1 } else { blocks * turns };
            }
        }
        next
    }

    /// Returns the number of the shard piece that contains a block.
    fn piece(&self, cell: &Cell, index: u64) -> u64 {
        let whole = cell.level.is_some() || self.invalid == Invalid::Replay;
        cell.piece + if whole { 0 } else { index - index.min(cell.blocks.start) }
    }

    /// Returns the seatings of a block. A seating holds the side on each seat, as an index into the pairing. Each game
    /// of the block has one match per seating.
    pub fn seatings(&self) -> &[Vec<usize>] {
        &self.seatings
    }

    /// Returns the index in [`games`](Self::games) for the match at position `turn` of a block.
    pub fn game_at(&self, turn: usize) -> usize {
        turn / self.seatings.len() % self.games.len()
    }

    /// Returns the number of matches in a block: one for each seating in each game.
    fn turns(&self) -> usize {
        self.seatings.len() * self.games.len()
    }

    /// Returns the message for a part that needs more candidates than the run has.
    pub fn short_of(&self) -> Option<String> {
        let (needs, has) = (self.part.sides(&self.seatings), self.candidates.len());
        let among = matches!(self.part.schedule, Schedule::RoundRobin | Schedule::Converge);
        let short = among && has < needs;
        short.then(|| format!("needs {needs} candidates, but the run has {has}; the part is not played"))
    }

    /// Returns the positions of the planned matches in a block.
    fn turns_of(&self, cell: &Cell, index: u64) -> Vec<usize> {
        if self.part.seats != Seats::Drawn {
            return (0..self.turns()).collect();
        }
        let seatings = self.seatings.len();
        let seating = random_seating(&self.draw, cell.meeting, index, seatings);
        (0..self.games.len()).map(|game| game * seatings + seating).collect()
    }

    /// Returns the seeds of the part's matches. `seeds` are the seeds of the part's blocks.
    pub fn match_seeds(&self, seeds: Seeds, deals: Deals) -> MatchSeeds {
        let meetings = self.cells.iter().map(|cell| (cell.pairing.clone(), cell.meeting)).collect();
        MatchSeeds::new(seeds, deals, &self.game, meetings)
    }

    /// Counts the first side's results in the completed matches of a pairing.
    pub fn tally(&self, pairing: &[usize], done: &Results) -> Tally {
        let mut tally = Tally::default();
        for cell in self.cells.iter().filter(|c| c.pairing == pairing) {
            for (index, turn) in self.potential_matches(cell) {
                if let Some(MatchScore::Points(points)) = done.get(&key(&self.part.id, &cell.pairing, index, turn)) {
                    tally.add(*points);
                }
            }
        }
        tally
    }

    /// Returns the pairings in order, with the opponent's level on a ladder.
    pub fn pairings(&self) -> Vec<(Vec<usize>, Option<u32>)> {
        let mut out: Vec<(Vec<usize>, Option<u32>)> = Vec::new();
        for cell in &self.cells {
            let pairing = (cell.pairing.clone(), cell.level);
            if !out.contains(&pairing) {
                out.push(pairing);
            }
        }
        out
    }

    /// Returns the cycle of each potential match, from 0, by [`key`]; empty for a single cycle.
    pub fn cycles(&self) -> HashMap<String, u64> {
        let mut out = HashMap::new();
        let mut met: HashMap<&[usize], u64> = HashMap::new();
        for cell in self.cells.iter().filter(|_| self.part.cycles > 1) {
            // A pairing has one cell for each cycle, in order.
            let next = met.entry(&cell.pairing).or_default();
            let cycle = *next;
            *next += 1;
            out.extend(
                self.potential_matches(cell)
                    .into_iter()
                    .map(|(index, turn)| (key(&self.part.id, &cell.pairing, index, turn), cycle)),
            );
        }
        out
    }

    /// Returns the side of each seat in a match of a block: 0 is `a`, the first entrant.
    pub fn sides(&self, turn: usize) -> &[usize] {
        &self.seatings[turn % self.seatings.len()]
    }

    /// Returns the number of planned matches of a pairing.
    pub fn planned(&self, pairing: &[usize]) -> u64 {
        self.cells.iter().filter(|c| c.pairing == pairing).map(|c| self.again(c, 0).len() as u64).sum()
    }

    /// Returns the number of discarded matches and the number of invalid matches of a pairing.
    pub fn uncounted(&self, pairing: &[usize], done: &Results) -> [u64; 2] {
        let mut out = [0; 2];
        for cell in self.cells.iter().filter(|c| c.pairing == pairing) {
            for (index, turn) in self.potential_matches(cell) {
                match done.get(&key(&self.part.id, &cell.pairing, index, turn)) {
                    Some(MatchScore::Discarded) => out[0] += 1,
                    Some(MatchScore::Invalid) => out[1] += 1,
                    _ => {}
                }
            }
        }
        out
    }

    /// Returns the cells with due matches.
    fn due<'a>(&'a self, done: &'a Results) -> impl Iterator<Item = &'a Cell> {
        let open: HashMap<usize, Climb> = match self.part.schedule {
            Schedule::Climb | Schedule::Bisect => self.candidates.iter().map(|&a| (a, self.climb(a, done))).collect(),
            _ => HashMap::new(),
        };
        self.cells.iter().filter(move |cell| match (cell.level, open.get(&cell.pairing[0])) {
            (Some(level), Some(climb)) => *climb == Climb::Open(level),
            _ => true,
        })
    }

    /// Returns the planned blocks of a cell, completed or not, each with the positions of its matches.
    fn places(&self, cell: &Cell) -> Vec<(u64, Vec<usize>)> {
        let blocks = cell.blocks.clone();
        if self.part.order != Order::Halves {
            return blocks.map(|k| (k, self.turns_of(cell, k))).collect();
        }
        let half = |turn: usize| blocks.clone().map(move |k| (turn as u64 * cell.blocks.end + k, vec![turn]));
        (0..self.turns()).flat_map(half).collect()
    }

    /// Returns every potential match of a cell, including replacements of invalid matches.
    fn potential_matches(&self, cell: &Cell) -> Vec<(u64, usize)> {
        let factor = if self.invalid == Invalid::Replay { u64::from(self.replay_factor) } else { 1 };
        (0..factor).flat_map(|again| self.again(cell, again)).collect()
    }

    /// Returns the matches of a cell in round `again`: round 0 is the plan, later rounds replace invalid matches. Block
    /// numbers continue from the previous round.
    fn again(&self, cell: &Cell, again: u64) -> Vec<(u64, usize)> {
        if let Some(converge) = &self.converge {
            let pairing = |draw: &RandomMatch| &self.cells[draw.pairing].pairing;
            let own = (0..).zip(converge.draws()).filter(|(_, draw)| again == 0 && pairing(draw) == &cell.pairing);
            return own.map(|(n, draw)| (n, draw.turn)).collect();
        }
        let turns = if self.part.order == Order::Halves { self.turns() as u64 } else { 1 };
        let offset = again * cell.blocks.end * turns * u64::from(self.part.cycles);
        let places = self.places(cell).into_iter();
        places.flat_map(|(index, turns)| turns.into_iter().map(move |turn| (offset + index, turn))).collect()
    }

    /// Returns the due matches of a part with random pairs, each with its rank.
    fn converging<'a>(
        &'a self,
        at: usize,
        converge: &'a Converge,
        done: &'a Results,
    ) -> impl Iterator<Item = (Rank, Block)> + 'a {
        let pairing = |draw: &RandomMatch| &self.cells[draw.pairing].pairing;
        let known = move |n: usize, draw: &RandomMatch| {
            done.get(&key(&self.part.id, pairing(draw), n as u64, draw.turn)).copied()
        };
        let points = |done| if let MatchScore::Points(points) = done { Some(points) } else { None };
        let open = converge.certain(|n, draw| known(n, draw).map(points)).map(|n| (n, &converge.draws()[n]));
        open.filter(move |(n, draw)| known(*n, draw).is_none()).map(move |(n, draw)| {
            let pairing = pairing(draw);
            let seats = self.seatings[draw.turn].iter().map(|&side| pairing[side]).collect();
            let matches = vec![DueMatch { turn: draw.turn, seats }];
            ([n as u64, 0], Block { part: at, pairing: pairing.clone(), index: n as u64, matches })
        })
    }

    /// Returns the blocks of `cell` that have due matches, each with its sort key. The key is `[n, 0]`, where `n` is
    /// the number of the block in the cell, from 0. With `order = "shuffled"`, the key of a planned block is
    /// `[p / k, p]`: `p` is the random position of the block in the part, and `k` is the number of cells (in a round
    /// robin, of cells per cycle). Replacements for invalid matches keep `[n, 0]`.
    fn blocks<'a>(&'a self, at: usize, cell: &'a Cell, done: &'a Results) -> impl Iterator<Item = (Rank, Block)> + 'a {
        let known = |index, turn| done.get(&key(&self.part.id, &cell.pairing, index, turn));
        let mut due: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        // The planned matches, followed by replacements for invalid matches, up to the limit.
        let mut wanted = self.again(cell, 0);
        let mut again = 1;
        loop {
            wanted
                .iter()
                .filter(|&&(i, t)| known(i, t).is_none())
                .for_each(|&(i, t)| due.entry(i).or_default().push(t));
            let invalid = wanted.iter().filter(|&&(i, t)| known(i, t) == Some(&MatchScore::Invalid)).count();
            if invalid == 0 || self.invalid == Invalid::Count || again >= u64::from(self.replay_factor) {
                break;
            }
            wanted = self.again(cell, again);
            wanted.truncate(invalid);
            again += 1;
        }
        let seat = |side: usize| cell.pairing[side];
        due.into_iter().map(move |(index, turns)| {
            let due = |turn: usize| DueMatch { turn, seats: self.sides(turn).iter().map(|&side| seat(side)).collect() };
            let number = index - index.min(cell.blocks.start);
            let pairings = self.cells.len() as u64 / u64::from(self.rounds());
            let rank = match cell.places.get(number as usize) {
                Some(&place) => [place / pairings.max(1), place],
                None => [number, 0],
            };
            (
                rank,
                Block { part: at, pairing: cell.pairing.clone(), index, matches: turns.into_iter().map(due).collect() },
            )
        })
    }

    /// Returns the number of cycles in which each pairing plays.
    fn rounds(&self) -> u32 {
        if self.part.schedule == Schedule::RoundRobin { self.part.cycles } else { 1 }
    }

    /// Returns the maximum number of matches of the part.
    pub fn matches_at_most(&self) -> u64 {
        let of = |cell: &Cell| self.again(cell, 0).len() as u64;
        match self.part.schedule {
            Schedule::Bisect => {
                // Upper bound for the number of levels that bisection plays.
                let levels = self.levels();
                let looks = u64::from(levels.len().next_power_of_two().trailing_zeros()).max(1);
                let most = |level| self.cells.iter().filter(|c| c.level == Some(level)).map(of).sum::<u64>();
                looks * levels.into_iter().map(most).max().unwrap_or(0)
            }
            _ => self.cells.iter().map(of).sum(),
        }
    }
}

/// Shuffles the blocks of a part, cycle by cycle. `draw` names the suite, its seed and the part.
fn shuffle(cells: &mut [Cell], draw: &str) {
    let mut starts: Vec<u64> = cells.iter().map(|cell| cell.blocks.start).collect();
    starts.dedup();
    let mut next = 0..;
    for (cycle, start) in starts.into_iter().enumerate() {
        let own = (0..cells.len()).filter(|&at| cells[at].blocks.start == start);
        let mut all: Vec<(usize, usize)> =
            own.flat_map(|at| (0..cells[at].blocks.clone().count()).map(move |k| (at, k))).collect();
        cells.iter_mut().filter(|cell| cell.blocks.start == start).for_each(|cell| {
            cell.places = vec![0; cell.blocks.clone().count()];
        });
        Stream::from_text(&format!("ludex.v1:order:{draw}:{cycle}")).shuffle(&mut all);
        for ((at, k), place) in all.into_iter().zip(&mut next) {
            cells[at].places[k] = place;
        }
    }
}

/// Returns all combinations of `n` elements, in list order.
fn choices(of: &[usize], n: usize) -> Vec<Vec<usize>> {
    let Some(less) = n.checked_sub(1) else { return vec![Vec::new()] };
    let from = |k: usize| choices(&of[k + 1..], less).into_iter().map(move |rest| [vec![of[k]], rest].concat());
    (0..of.len()).flat_map(from).collect()
}

/// Returns the points of the first side in a match: 1, 1/2 or 0, from a comparison of the mean returns of both sides. A
/// side that forfeited gets 0.
pub fn points(seating: &[bool], record: &Record) -> f64 {
    if seating.iter().all(|&first| first) {
        // An agent that plays itself gets the points of seat 0.
        return match record.footer.outcome.first() {
            Some(Outcome::Win) => 1.0,
            Some(Outcome::Loss) => 0.0,
            _ => 0.5,
        };
    }
    if let Some(at_fault) = record.footer.at_fault {
        return if seating.get(at_fault as usize) == Some(&true) { 0.0 } else { 1.0 };
    }
    rating::points(gain(seating, &record.footer.returns)[0])
}

/// Returns the seeds of a part's blocks, derived from the run's secret or, without one, from the suite's seed. Each
/// part has its own seeds.
pub fn seeds(suite: &str, seed: u64, part: &str, secret: Option<&[u8]>) -> Seeds {
    match secret {
        Some(secret) => Seeds::Secret([secret, b":", part.as_bytes()].concat()),
        None => Seeds::Open(rated_seed(format!("{suite}:{part}").as_bytes(), seed)),
    }
}

#[cfg(test)]
mod tests;
