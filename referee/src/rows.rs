//! What metrics are computed of: matches with who sat where, from verified records or from an imported table.
//!
//! [`Rows`] holds the matches in the order of the plan, and says who is asked about. Narrowing it
//! ([`of_part`](Rows::of_part), [`of_agent`](Rows::of_agent), [`of_pair`](Rows::of_pair)) gives other rows and copies no match.

use std::any::Any;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use ludex_env::{GameRef, MarkValue};
use ludex_protocol::record::EndReason;
use ludex_protocol::spec::Spec;

use crate::outcome::is_competitive;
use crate::rating::{self, PlayedGame};
use crate::result::{GameResult, SeatResult};

/// What can be asked for like a mark and is known of every match: the seat's return, its points (1, 1/2, 0), the moves of the
/// match, the tokens of the seat. `turn`, the number of a move, stands for the x of points only.
pub const COLUMNS: &[&str] = &["return", "points", "length", "tokens", "turn"];

/// An agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowAgent {
    /// Its name.
    pub name: String,
    /// Whether it is under evaluation. The others are opponents that the suite names.
    pub candidate: bool,
}

/// A part of a suite, or all matches of one game.
#[derive(Clone)]
pub struct RowPart {
    /// Its id.
    pub id: String,
    /// Its game; a table has none.
    pub game: Option<GameRef>,
    /// Whether the best result against the top level of its ladder is a draw.
    pub drawn: bool,
    /// Whether its matches are rated although each seat of its game has an aim of its own: the higher return wins.
    pub contest: bool,
    /// Whether a candidate counts only where it is `a`, the first of those who meet, and not where it is the opponent of others.
    pub only_a: bool,
}

impl RowPart {
    /// A part of a game.
    pub fn of_game(id: &str, game: &GameRef) -> RowPart {
        RowPart { game: Some(game.clone()), ..RowPart::of_table(id) }
    }

    /// A part of a table.
    pub fn of_table(id: &str) -> RowPart {
        RowPart { id: id.to_owned(), game: None, drawn: false, contest: false, only_a: false }
    }

    /// What its game tells about itself.
    pub fn spec(&self) -> Option<&Spec> {
        self.game.as_ref().map(|game| game.spec())
    }

    /// Whether an agent can be better than another by beating it ([`is_fight`]); in a table it can.
    pub fn is_fight(&self) -> bool {
        self.game.as_ref().is_none_or(|game| is_competitive(&**game))
    }
}

/// A match.
#[derive(Clone, Debug)]
pub struct MetricMatch<'a> {
    /// Its part, as an index.
    pub part: usize,
    /// The cycle of its round robin, from 0.
    pub cycle: u64,
    /// Its place in the order of the plan.
    pub order: usize,
    /// Its block: the same seed, seats swapped.
    pub block: Option<&'a str>,
    /// The level of the ladder that the opponent is, if it is one.
    pub level: Option<u32>,
    /// The agent on each seat, as an index.
    pub players: Vec<usize>,
    /// The side of each seat: 0 is `a`, the first of those who meet. Empty if nobody said; then an agent that meets itself
    /// is counted from each of its seats.
    pub sides: Vec<usize>,
    /// The seat that goes first.
    pub first: usize,
    /// Whether it counts. One that does not was ended by an illegal move and was to be played again.
    pub valid: bool,
    /// How well each seat did; only the order counts.
    pub scores: Vec<f64>,
    /// Why it ended.
    pub reason: EndReason,
    /// The seat that forfeited.
    pub at_fault: Option<usize>,
    /// Moves of all seats; absent in a table.
    pub moves: Option<u32>,
    /// The team of each seat; empty if there are no teams.
    pub teams: &'a [usize],
    /// The returns of its mirror by seat; empty without one.
    pub mirror: &'a [f64],
    /// What each seat did.
    pub seats: &'a [SeatResult],
}

impl<'a> MetricMatch<'a> {
    /// A match by its verified record; `players` says who sat on each seat.
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
            moves: Some(game.moves),
            teams: &game.teams,
            mirror: &game.mirror,
            seats: &game.seats,
        }
    }

    /// The seats that an agent has, as the plan counts them: where it meets itself, those of the first side.
    pub fn seats_of(&self, agent: usize) -> Vec<usize> {
        let own: Vec<usize> = (0..self.players.len()).filter(|&seat| self.players[seat] == agent).collect();
        let first: Vec<usize> = own.iter().copied().filter(|&seat| self.sides.get(seat) == Some(&0)).collect();
        if first.is_empty() { own } else { first }
    }

    /// The points of some seats: 1, 1/2 or 0 by their mean score against that of the others. A side that forfeited lost. Where
    /// all seats are asked about, they are those of the first seat against the others.
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

    /// The plain result, as ratings take it. `block` is the number of its block.
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

/// A value of a table that has no matches.
#[derive(Clone, Debug, PartialEq)]
pub struct RowValue {
    /// The agent, as an index.
    pub agent: usize,
    /// The part, as an index.
    pub part: usize,
    /// The value.
    pub value: f64,
}

/// Everything that there is.
#[derive(Clone, Default)]
pub struct ResultTable<'a> {
    /// The agents, in the order of the plan.
    pub agents: Vec<RowAgent>,
    /// The parts, in the order of the suite.
    pub parts: Vec<RowPart>,
    /// The matches, in any order.
    pub matches: Vec<MetricMatch<'a>>,
    /// Values without matches.
    pub values: Vec<RowValue>,
    /// Agents whose rating is a constant.
    pub fixed: Vec<(usize, f64)>,
}

/// Matches, and who is asked about.
#[derive(Clone)]
pub struct Rows<'a> {
    table: Rc<ResultTable<'a>>,
    picked: Rc<[usize]>,
    part: Option<usize>,
    agent: Option<usize>,
    opponent: Option<usize>,
    /// What was computed once for all agents of these matches.
    memo: Rc<RefCell<HashMap<String, Rc<dyn Any>>>>,
}

/// The part that an agent took in a match.
#[derive(Clone, Copy)]
pub struct Sample<'r, 'a> {
    /// The match.
    pub game: &'r MetricMatch<'a>,
    /// The agent's seat.
    pub seat: usize,
}

impl<'r, 'a> Sample<'r, 'a> {
    /// What the agent did on its seat.
    pub fn own(&self) -> &'a SeatResult {
        &self.game.seats[self.seat]
    }
}

/// One value that was observed.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed<'r> {
    /// The number of the match among those that are looked at.
    pub game: usize,
    /// The seat.
    pub seat: usize,
    /// The seat's own turn, from 0; 0 for what is known of a whole match.
    pub turn: u32,
    /// The value.
    pub value: Cow<'r, MarkValue>,
}

impl<'a> Rows<'a> {
    /// All of a table. The matches are put into the order of the plan.
    pub fn new(mut table: ResultTable<'a>) -> Rows<'a> {
        table.matches.sort_by_key(|game| (game.part, game.order));
        let picked = (0..table.matches.len()).collect();
        Rows { table: Rc::new(table), picked, part: None, agent: None, opponent: None, memo: Rc::default() }
    }

    /// The rows of one part.
    pub fn of_part(&self, part: usize) -> Rows<'a> {
        let own = |&&k: &&usize| self.table.matches[k].part == part;
        Rows {
            picked: self.picked.iter().filter(own).copied().collect(),
            part: Some(part),
            memo: Rc::default(),
            ..self.clone()
        }
    }

    /// The rows whose match fits.
    pub fn filtered(&self, keep: impl Fn(&MetricMatch<'a>) -> bool) -> Rows<'a> {
        let own = |&&k: &&usize| keep(&self.table.matches[k]);
        Rows { picked: self.picked.iter().filter(own).copied().collect(), memo: Rc::default(), ..self.clone() }
    }

    /// The same matches, and the question about one agent.
    pub fn of_agent(&self, agent: usize) -> Rows<'a> {
        Rows { agent: Some(agent), opponent: None, ..self.clone() }
    }

    /// The same matches, and the question about an agent against another.
    pub fn of_pair(&self, agent: usize, opponent: usize) -> Rows<'a> {
        Rows { agent: Some(agent), opponent: Some(opponent), ..self.clone() }
    }

    /// The same matches, and the question about all.
    pub fn of_all(&self) -> Rows<'a> {
        Rows { agent: None, opponent: None, ..self.clone() }
    }

    /// The agent that is asked about.
    pub fn agent(&self) -> Option<usize> {
        self.agent
    }

    /// The opponent that is asked about.
    pub fn opponent(&self) -> Option<usize> {
        self.opponent
    }

    /// The part, if these are the rows of one.
    pub fn part(&self) -> Option<usize> {
        self.part
    }

    /// All agents, also those without a match here.
    pub fn agents(&self) -> &[RowAgent] {
        &self.table.agents
    }

    /// All parts.
    pub fn parts(&self) -> &[RowPart] {
        &self.table.parts
    }

    /// The agent of a name.
    pub fn agent_index(&self, name: &str) -> Option<usize> {
        self.table.agents.iter().position(|agent| agent.name == name)
    }

    /// The part of an id.
    pub fn part_named(&self, id: &str) -> Option<usize> {
        self.table.parts.iter().position(|part| part.id == id)
    }

    /// The part of a match.
    pub fn part_of(&self, game: &MetricMatch) -> &RowPart {
        &self.table.parts[game.part]
    }

    /// The parts that have matches or values here, in the order of the suite.
    pub fn parts_here(&self) -> Vec<usize> {
        let mut here = vec![false; self.table.parts.len()];
        self.everything().for_each(|game| here[game.part] = true);
        self.values().for_each(|value| here[value.part] = true);
        (0..here.len()).filter(|&part| here[part]).collect()
    }

    /// The agents that took part here, in the order of the plan.
    pub fn agents_here(&self) -> Vec<usize> {
        let mut here = vec![false; self.table.agents.len()];
        self.everything().flat_map(|game| &game.players).for_each(|&agent| here[agent] = true);
        self.values().for_each(|value| here[value.agent] = true);
        (0..here.len()).filter(|&agent| here[agent]).collect()
    }

    /// The candidates among [`agents_here`](Self::agents_here).
    pub fn candidates_here(&self) -> Vec<usize> {
        self.agents_here().into_iter().filter(|&agent| self.table.agents[agent].candidate).collect()
    }

    /// All matches, also those that do not count.
    pub fn everything(&self) -> impl Iterator<Item = &MetricMatch<'a>> {
        self.picked.iter().map(|&k| &self.table.matches[k])
    }

    /// The matches that count, of all agents, in the order of the plan.
    pub fn matches(&self) -> impl Iterator<Item = &MetricMatch<'a>> {
        self.everything().filter(|game| game.valid)
    }

    /// The values without matches of the part, of all agents.
    pub fn values(&self) -> impl Iterator<Item = &RowValue> {
        self.table.values.iter().filter(|value| self.part.is_none_or(|part| value.part == part))
    }

    /// The cycles, ascending.
    pub fn cycles(&self) -> Vec<u64> {
        let mut cycles: Vec<u64> = self.matches().map(|game| game.cycle).collect();
        cycles.sort_unstable();
        cycles.dedup();
        cycles
    }

    /// The rows of one cycle.
    pub fn of_cycle(&self, cycle: u64) -> Rows<'a> {
        self.filtered(|game| game.cycle == cycle)
    }

    /// The matches that count of the agent that is asked about, against the opponent if one is named, each with the agent's
    /// seats; where its part says so ([`RowPart::only_a`]), only those in which it is `a`. If nobody is asked about: all matches
    /// with all seats.
    pub fn own_matches(&self) -> Vec<(&MetricMatch<'a>, Vec<usize>)> {
        self.own_everything().into_iter().filter(|(game, _)| game.valid).collect()
    }

    /// As [`own_matches`](Self::own_matches), with those that do not count.
    pub fn own_everything(&self) -> Vec<(&MetricMatch<'a>, Vec<usize>)> {
        let Some(agent) = self.agent else {
            return self.everything().map(|game| (game, (0..game.players.len()).collect())).collect();
        };
        // Where each agent played, found once for all.
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

    /// The same, each seat by itself.
    pub fn samples(&self) -> Vec<Sample<'_, 'a>> {
        let each = |(game, seats): (_, Vec<usize>)| seats.into_iter().map(move |seat| Sample { game, seat });
        self.own_matches().into_iter().flat_map(each).collect()
    }

    /// Whether a match says who is better: its game is a fight, teams played against each other, or its part rates it.
    pub fn is_contest(&self, game: &MetricMatch) -> bool {
        !game.teams.is_empty() || self.part_of(game).is_fight() || self.part_of(game).contest
    }

    /// All matches that count and are a [contest](Self::is_contest) as plain results, for ratings; the players are the agents by
    /// index.
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

    /// Agents whose rating is a constant.
    pub fn fixed(&self) -> &[(usize, f64)] {
        &self.table.fixed
    }

    /// What was observed of the agent that is asked about: the values of a mark in the order of play, or a column
    /// ([`COLUMNS`]).
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

    /// What `of` gives, computed once for all rows that look at the same matches. `key` names it.
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

/// The rating of a rung of a game's ladder, by the spec of the agent that played: the name of the anchor or the agent's own.
/// `random` is as strong as level 0.
pub(crate) fn rung(spec: &Spec, agent: &str) -> Option<f64> {
    if agent == "random" {
        return Some(0.0);
    }
    let named = |rung: &&ludex_protocol::spec::Anchor| {
        let bot = if rung.bot == 1 { String::new() } else { format!(" bot={}", rung.bot) };
        rung.level > 0 && (rung.agent == agent || format!("anchor level={}{bot}", rung.level) == agent)
    };
    spec.anchors.iter().find(named)?.rating
}
