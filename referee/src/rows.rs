//! Input of metrics: matches with their seatings, from verified records or from an imported table.
//!
//! [`Rows`] holds the matches in the order of the plan, and the queried agents. The methods [`of_part`](Rows::of_part),
//! [`of_agent`](Rows::of_agent) and [`of_pair`](Rows::of_pair) return narrower rows without copying matches.

use std::any::Any;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use ludex_env::{GameRef, MarkValue};
use ludex_protocol::record::{AgentKind, EndReason};
use ludex_protocol::spec::Spec;

use crate::outcome::is_competitive;
use crate::rating::{self, PlayedGame};
use crate::result::{GameResult, SeatResult};

/// Columns that metrics accept in place of a mark: the seat's `return`, `points` (1, 1/2 or 0) and `tokens`, and the
/// `length` of the match in moves. `turn`, the number of a move, is valid only as `x` of the metric `points`.
pub const COLUMNS: &[&str] = &["return", "points", "length", "tokens", "turn"];

/// Agent of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowAgent {
    pub name: String,
    /// True if the agent is under evaluation. The other agents are opponents from the suite.
    pub candidate: bool,
}

/// Part of a suite, or all matches of one game.
#[derive(Clone)]
pub struct RowPart {
    pub id: String,
    /// Game of the part; `None` for a part of an imported table.
    pub game: Option<GameRef>,
    /// True if a draw is the best possible result against the top level of the game's ladder.
    pub drawn: bool,
    /// True if the seat with the higher return wins and is rated as the winner, although each seat maximizes its own
    /// return.
    pub contest: bool,
    /// True if only matches in which a candidate is the first entrant (`a`) count for the candidate.
    pub only_a: bool,
}

impl RowPart {
    /// Creates a part with a game.
    pub fn of_game(id: &str, game: &GameRef) -> RowPart {
        RowPart { game: Some(game.clone()), ..RowPart::of_table(id) }
    }

    /// Creates a part of an imported table.
    pub fn of_table(id: &str) -> RowPart {
        RowPart { id: id.to_owned(), game: None, drawn: false, contest: false, only_a: false }
    }

    /// Returns the spec of the game.
    pub fn spec(&self) -> Option<&Spec> {
        self.game.as_ref().map(|game| game.spec())
    }

    /// Returns true if the game is competitive ([`is_competitive`]), or if the part comes from an imported table.
    pub fn is_fight(&self) -> bool {
        self.game.as_ref().is_none_or(|game| is_competitive(&**game))
    }
}

/// Match with its result.
#[derive(Clone, Debug)]
pub struct MetricMatch<'a> {
    /// Index of the part.
    pub part: usize,
    /// Index of the match's round-robin cycle, from 0.
    pub cycle: u64,
    /// Position in the order of the plan.
    pub order: usize,
    /// Block of the match: the matches on one seed with swapped seats.
    pub block: Option<&'a str>,
    /// Ladder level of the opponent, if any.
    pub level: Option<u32>,
    /// Agent index of each seat.
    pub players: Vec<usize>,
    /// Side of each seat; 0 is the side of `a`, the first entrant. Empty if unknown: a match of an agent against itself
    /// then counts once for each of the agent's seats.
    pub sides: Vec<usize>,
    /// Seat that moves first.
    pub first: usize,
    /// False if the match does not count: an illegal move ended it, and the plan schedules a replacement.
    pub valid: bool,
    /// Score of each seat, meaningful only in comparison with the other seats.
    pub scores: Vec<f64>,
    /// Reason for the end of the match.
    pub reason: EndReason,
    pub at_fault: Option<usize>,
    /// Name of the episode; empty in an imported table.
    pub episode: &'a str,
    /// Number of moves of all seats; absent in an imported table.
    pub moves: Option<u32>,
    /// Team of each seat; empty without teams.
    pub teams: &'a [usize],
    /// Return of each seat in the mirror match; empty without a mirror match.
    pub mirror: &'a [f64],
    pub seats: &'a [SeatResult],
}

impl<'a> MetricMatch<'a> {
    /// Creates a match from its verified record; `players` holds the agent index of each seat.
    pub fn of(game: &'a GameResult, part: usize, players: Vec<usize>) -> MetricMatch<'a> {
        let first = game.spec().params.get("first").and_then(serde_json::Value::as_u64).unwrap_or(0) as usize;
        MetricMatch {
            part,
            cycle: 0,
            order: game.order,
            block: game.pair.as_deref(),
            level: None,
            players,
            sides: Vec::new(),
            first: if first < game.seats.len() { first } else { 0 },
            valid: true,
            scores: game.seats.iter().map_while(|seat| seat.payoff).collect(),
            reason: game.reason,
            at_fault: game.at_fault,
            episode: &game.episode,
            moves: Some(game.moves),
            teams: &game.teams,
            mirror: &game.mirror,
            seats: &game.seats,
        }
    }

    /// Returns the seats that count for an agent: its seats, or the seats of the first side if the agent meets itself.
    pub fn seats_of(&self, agent: usize) -> Vec<usize> {
        let own: Vec<usize> = (0..self.players.len()).filter(|&seat| self.players[seat] == agent).collect();
        let first: Vec<usize> = own.iter().copied().filter(|&seat| self.sides.get(seat) == Some(&0)).collect();
        if first.is_empty() { own } else { first }
    }

    /// Returns the points of the seats `own`: 1, 1/2 or 0, from a comparison of their mean score with that of the
    /// remaining seats. A side that forfeited gets 0. If `own` holds all seats, the first seat is compared with the
    /// rest.
    pub fn points(&self, own: &[usize]) -> f64 {
        let all = own.len() == self.players.len();
        let own: &[usize] = if all { &[0] } else { own };
        let seating: Vec<bool> = (0..self.players.len()).map(|seat| own.contains(&seat)).collect();
        match self.at_fault {
            Some(seat) if seating.get(seat) == Some(&true) => 0.0,
            Some(_) => 1.0,
            None => rating::points(rating::gain(&seating, &self.scores)[0]),
        }
    }

    /// Converts to a plain result for ratings. `block` is the match's block number.
    pub fn played(&self, block: Option<usize>) -> PlayedGame {
        PlayedGame {
            seats: self.players.clone(),
            scores: self.scores.clone(),
            teams: self.teams.to_vec(),
            forfeit: self.at_fault,
            pair: block,
        }
    }
}

/// Value of an agent in an imported table that holds values instead of matches.
#[derive(Clone, Debug, PartialEq)]
pub struct RowValue {
    /// Index of the agent.
    pub agent: usize,
    /// Index of the part.
    pub part: usize,
    pub value: f64,
}

#[derive(Clone, Default)]
pub struct ResultTable<'a> {
    /// Agents in the order of the plan.
    pub agents: Vec<RowAgent>,
    /// Parts in the order of the suite.
    pub parts: Vec<RowPart>,
    /// Matches in any order.
    pub matches: Vec<MetricMatch<'a>>,
    pub values: Vec<RowValue>,
    /// Agents with a constant rating, in Elo points.
    pub fixed: Vec<(usize, f64)>,
}

/// Selected matches, and the agents that a metric is computed for.
#[derive(Clone)]
pub struct Rows<'a> {
    table: Rc<ResultTable<'a>>,
    picked: Rc<[usize]>,
    part: Option<usize>,
    agent: Option<usize>,
    opponent: Option<usize>,
    /// Memoized results by key, shared by all [`Rows`] of the same matches.
    memo: Rc<RefCell<HashMap<String, Rc<dyn Any>>>>,
}

/// Seat of an agent in a match.
#[derive(Clone, Copy)]
pub struct Sample<'r, 'a> {
    pub game: &'r MetricMatch<'a>,
    /// Seat of the agent.
    pub seat: usize,
}

impl<'r, 'a> Sample<'r, 'a> {
    /// Returns the result of the agent's seat.
    pub fn own(&self) -> &'a SeatResult {
        &self.game.seats[self.seat]
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Observed<'r> {
    /// Index of the match among the selected matches.
    pub game: usize,
    pub seat: usize,
    /// Index of the turn among the seat's own turns, from 0; 0 for a value of a whole match.
    pub turn: u32,
    pub value: Cow<'r, MarkValue>,
}

impl<'a> Rows<'a> {
    /// Creates the rows of all matches in a table, sorted in the order of the plan.
    pub fn new(mut table: ResultTable<'a>) -> Rows<'a> {
        table.matches.sort_by_key(|game| (game.part, game.order));
        let picked = (0..table.matches.len()).collect();
        Rows { table: Rc::new(table), picked, part: None, agent: None, opponent: None, memo: Rc::default() }
    }

    /// Returns the rows of one part.
    pub fn of_part(&self, part: usize) -> Rows<'a> {
        let own = |&&k: &&usize| self.table.matches[k].part == part;
        Rows {
            picked: self.picked.iter().filter(own).copied().collect(),
            part: Some(part),
            memo: Rc::default(),
            ..self.clone()
        }
    }

    /// Returns the rows of the matches for which `keep` returns true.
    pub fn filtered(&self, keep: impl Fn(&MetricMatch<'a>) -> bool) -> Rows<'a> {
        let own = |&&k: &&usize| keep(&self.table.matches[k]);
        Rows { picked: self.picked.iter().filter(own).copied().collect(), memo: Rc::default(), ..self.clone() }
    }

    /// Returns rows of the same matches as `self`, with `agent` as the queried agent.
    pub fn of_agent(&self, agent: usize) -> Rows<'a> {
        Rows { agent: Some(agent), opponent: None, ..self.clone() }
    }

    /// Returns rows of the same matches as `self`, queried for `agent` against `opponent`.
    pub fn of_pair(&self, agent: usize, opponent: usize) -> Rows<'a> {
        Rows { agent: Some(agent), opponent: Some(opponent), ..self.clone() }
    }

    /// Returns rows of the same matches as `self` without a queried agent, so that metrics cover all agents.
    pub fn of_all(&self) -> Rows<'a> {
        Rows { agent: None, opponent: None, ..self.clone() }
    }

    /// Returns the queried agent; `None` if metrics cover all agents.
    pub fn agent(&self) -> Option<usize> {
        self.agent
    }

    /// Returns the queried opponent; `None` if metrics cover all opponents.
    pub fn opponent(&self) -> Option<usize> {
        self.opponent
    }

    /// Returns the part of these rows; `None` for rows of all parts.
    pub fn part(&self) -> Option<usize> {
        self.part
    }

    /// Returns all agents, including those without a match in these rows.
    pub fn agents(&self) -> &[RowAgent] {
        &self.table.agents
    }

    pub fn parts(&self) -> &[RowPart] {
        &self.table.parts
    }

    /// Returns the index of an agent by name.
    pub fn agent_index(&self, name: &str) -> Option<usize> {
        self.table.agents.iter().position(|agent| agent.name == name)
    }

    /// Returns the index of a part by id.
    pub fn part_named(&self, id: &str) -> Option<usize> {
        self.table.parts.iter().position(|part| part.id == id)
    }

    /// Returns the part of a match.
    pub fn part_of(&self, game: &MetricMatch) -> &RowPart {
        &self.table.parts[game.part]
    }

    /// Returns the parts with matches or values in these rows, in the order of the suite.
    pub fn parts_here(&self) -> Vec<usize> {
        let mut here = vec![false; self.table.parts.len()];
        self.everything().for_each(|game| here[game.part] = true);
        self.values().for_each(|value| here[value.part] = true);
        (0..here.len()).filter(|&part| here[part]).collect()
    }

    /// Returns the least and the greatest possible value of a mark, if all games of these rows that have the mark agree.
    pub fn mark_range(&self, mark: &str) -> Option<[f64; 2]> {
        let games = self.parts_here().into_iter().filter_map(|part| self.table.parts[part].game.clone());
        let docs = games.filter_map(|game| game.marks_docs().iter().find(|doc| doc.name == mark).copied());
        let ranges: Vec<_> = docs.map(|doc| doc.range()).collect();
        let first = ranges.first().copied().flatten();
        first.filter(|_| ranges.iter().all(|range| *range == first))
    }

    /// Returns the agents with matches or values in these rows, in the order of the plan.
    pub fn agents_here(&self) -> Vec<usize> {
        let mut here = vec![false; self.table.agents.len()];
        self.everything().flat_map(|game| &game.players).for_each(|&agent| here[agent] = true);
        self.values().for_each(|value| here[value.agent] = true);
        (0..here.len()).filter(|&agent| here[agent]).collect()
    }

    /// Returns the candidates among [`agents_here`](Self::agents_here).
    pub fn candidates_here(&self) -> Vec<usize> {
        self.agents_here().into_iter().filter(|&agent| self.table.agents[agent].candidate).collect()
    }

    /// Returns the names of the agents that played as people, of the kind `human`.
    pub fn people(&self) -> BTreeSet<&str> {
        let seats = self.everything().flat_map(|game| game.players.iter().zip(game.seats));
        let people = seats.filter(|(_, seat)| seat.kind == AgentKind::Human);
        people.map(|(&agent, _)| self.table.agents[agent].name.as_str()).collect()
    }

    /// Returns all matches, including those that do not count.
    pub fn everything(&self) -> impl Iterator<Item = &MetricMatch<'a>> {
        self.picked.iter().map(|&k| &self.table.matches[k])
    }

    /// Returns the matches that count, of all agents, in the order of the plan.
    pub fn matches(&self) -> impl Iterator<Item = &MetricMatch<'a>> {
        self.everything().filter(|game| game.valid)
    }

    /// Returns the values of this part in an imported table, for all agents.
    pub fn values(&self) -> impl Iterator<Item = &RowValue> {
        self.table.values.iter().filter(|value| self.part.is_none_or(|part| value.part == part))
    }

    /// Returns the cycles, ascending.
    pub fn cycles(&self) -> Vec<u64> {
        let mut cycles: Vec<u64> = self.matches().map(|game| game.cycle).collect();
        cycles.sort_unstable();
        cycles.dedup();
        cycles
    }

    /// Returns the rows of one cycle.
    pub fn of_cycle(&self, cycle: u64) -> Rows<'a> {
        self.filtered(|game| game.cycle == cycle)
    }

    /// Returns the matches of the queried agent that count, each with the seats that count for the agent. With a
    /// queried opponent, only matches against it are included. In parts with [`RowPart::only_a`], only matches in which
    /// the agent is `a` are included. Without a queried agent, returns all matches with all seats.
    pub fn own_matches(&self) -> Vec<(&MetricMatch<'a>, Vec<usize>)> {
        self.own_everything().into_iter().filter(|(game, _)| game.valid).collect()
    }

    /// Returns the matches of [`own_matches`](Self::own_matches), plus those that do not count.
    pub fn own_everything(&self) -> Vec<(&MetricMatch<'a>, Vec<usize>)> {
        let Some(agent) = self.agent else {
            return self.everything().map(|game| (game, (0..game.players.len()).collect())).collect();
        };
        // Indices of the matches of each agent, memoized because many metrics need them.
        let places = self.once("places", || {
            let mut places: Vec<Vec<usize>> = vec![Vec::new(); self.table.agents.len()];
            for &k in &*self.picked {
                for &player in &self.table.matches[k].players {
                    if places[player].last() != Some(&k) {
                        places[player].push(k);
                    }
                }
            }
            places
        });
        let own = places[agent].iter().map(|&k| &self.table.matches[k]).map(|game| (game, game.seats_of(agent)));
        let meets = |game: &MetricMatch, seats: &[usize]| {
            self.opponent.is_none_or(|opponent| {
                (0..game.players.len()).any(|seat| !seats.contains(&seat) && game.players[seat] == opponent)
            })
        };
        let counts = |game: &MetricMatch, seats: &[usize]| {
            let restricted = self.part_of(game).only_a && self.table.agents[agent].candidate;
            !restricted || seats.iter().any(|&seat| game.sides.get(seat) == Some(&0))
        };
        own.filter(|(game, seats)| meets(game, seats) && counts(game, seats)).collect()
    }

    /// Returns one sample for each seat in [`own_matches`](Self::own_matches).
    pub fn samples(&self) -> Vec<Sample<'_, 'a>> {
        let each = |(game, seats): (_, Vec<usize>)| seats.into_iter().map(move |seat| Sample { game, seat });
        self.own_matches().into_iter().flat_map(each).collect()
    }

    /// Returns true if the match has a winner: the game is competitive, teams play against each other, or the part is a
    /// [contest](RowPart::contest).
    pub fn is_contest(&self, game: &MetricMatch) -> bool {
        !game.teams.is_empty() || self.part_of(game).is_fight() || self.part_of(game).contest
    }

    /// Returns all matches with a winner ([`is_contest`](Self::is_contest)) that count, as plain results for ratings.
    /// Players are agent indices.
    pub fn games(&self) -> Vec<PlayedGame> {
        let mut blocks: HashMap<(usize, &str), usize> = HashMap::new();
        let games = self.matches().filter(|game| self.is_contest(game));
        let each = games.map(|game| {
            let next = blocks.len();
            let block = game.block.map(|block| *blocks.entry((game.part, block)).or_insert(next));
            game.played(block)
        });
        each.collect()
    }

    /// Returns the agents with a constant rating.
    pub fn fixed(&self) -> &[(usize, f64)] {
        &self.table.fixed
    }

    /// Returns the observed values of the queried agent. `of` names a mark, whose values are in the order of play, or
    /// one of the [`COLUMNS`].
    pub fn observed(&self, of: &str) -> Vec<Observed<'_>> {
        let mut out = Vec::new();
        for (k, (game, seats)) in self.own_matches().into_iter().enumerate() {
            let number = |seat: usize, value: f64| Observed {
                game: k,
                seat,
                turn: 0,
                value: Cow::Owned(MarkValue::Number(value)),
            };
            match of {
                "points" => out.extend(seats.first().map(|&seat| number(seat, game.points(&seats)))),
                "length" => out.extend(seats.first().zip(game.moves).map(|(&seat, n)| number(seat, n.into()))),
                "return" => {
                    out.extend(seats.iter().filter_map(|&seat| Some(number(seat, game.seats.get(seat)?.payoff?))));
                }
                "tokens" => {
                    let used = |&&seat: &&usize| game.seats[seat].tokens.answers > 0;
                    out.extend(
                        seats.iter().filter(used).map(|&seat| number(seat, game.seats[seat].tokens.total() as f64)),
                    );
                }
                mark => {
                    for &seat in &seats {
                        let own = game.seats[seat].marks.iter().filter(|found| found.name == mark);
                        out.extend(own.map(|found| Observed {
                            game: k,
                            seat,
                            turn: found.turn,
                            value: Cow::Borrowed(&found.value),
                        }));
                    }
                }
            }
        }
        out
    }

    /// Returns the result of `of`, memoized under `key` for all rows with the same matches as `self`.
    pub fn once<T: 'static>(&self, key: &str, of: impl FnOnce() -> T) -> Rc<T> {
        let known = self.memo.borrow().get(key).cloned();
        if let Some(known) = known.and_then(|known| known.downcast::<T>().ok()) {
            return known;
        }
        let made = Rc::new(of());
        self.memo.borrow_mut().insert(key.to_owned(), made.clone());
        made
    }
}

/// Returns the rating of an anchor of the game's ladder; `None` if `agent` is not an anchor. An anchor is identified by
/// its anchor spec, such as `anchor level=2`, or by the spec of its bot. Level 0, which is `random`, has 0.
pub fn rung(spec: &Spec, agent: &str) -> Option<f64> {
    if agent == "random" || agent == "anchor level=0" {
        return Some(0.0);
    }
    let named = |rung: &&ludex_protocol::spec::Anchor| {
        let bot = if rung.bot == 1 { String::new() } else { format!(" bot={}", rung.bot) };
        rung.level > 0 && (rung.agent == agent || format!("anchor level={}{bot}", rung.level) == agent)
    };
    spec.anchors.iter().find(named)?.rating
}
