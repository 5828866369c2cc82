//! Tidy table of a run's matches by seat, with the plan's order.

use std::collections::HashSet;

use ludex_protocol::record::EndReason;
use ludex_referee::rows::{MetricMatch, Rows};
use schemars::JsonSchema;
use serde::Serialize;

use super::TableRow;

/// Seat of a match.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MatchRow {
    /// name of the run
    pub run: String,
    /// name of the match
    pub episode: String,
    /// part of the suite
    pub part: String,
    /// position in the order of the plan, which sequential ratings follow
    pub order: usize,
    /// index of the round-robin cycle, from 0
    pub cycle: u64,
    /// id of the block: the matches on one seed with swapped seats
    pub block: Option<String>,
    /// level of the opponent on the ladder
    pub level: Option<u32>,
    /// true if the match counts for the agent on the seat; false if an illegal move ended it and the plan replaces it, and for
    /// a candidate that the other agent of the match meets as an opponent
    pub counts: bool,
    /// index of the seat, from 0
    pub seat: usize,
    /// name of the seat in the game
    pub role: Option<String>,
    /// true if the seat moves first
    pub first: bool,
    /// agent on the seat
    pub agent: String,
    /// true if the agent is under evaluation
    pub candidate: bool,
    /// side of the match, from 0, by the agents of the plan; an agent that meets itself counts for side 0 only
    pub side: Option<usize>,
    /// agents on the seats of other sides, each once, separated by `, `
    pub opponent: String,
    /// points of the seat against the other seats: 1, 0.5 or 0; absent in games without winners
    pub points: Option<f64>,
    /// return of the seat, in the game's points
    pub r#return: Option<f64>,
    /// reason for the end of the match
    #[schemars(with = "String")]
    pub reason: EndReason,
    /// true if the seat's forfeit ended the match
    pub at_fault: bool,
    /// number of moves of all seats
    pub moves: Option<u32>,
    /// number of the seat's own moves
    pub turns: u32,
    /// number of the seat's refused attempts
    pub refused: u64,
    /// tokens read, with those of refused attempts
    pub tokens_in: u64,
    /// tokens written, with those of refused attempts
    pub tokens_out: u64,
    /// cost in US dollars; absent if unknown
    pub usd: Option<f64>,
    /// mean duration of the seat's moves, milliseconds, without forced moves
    pub ms_per_move: Option<f64>,
}

impl TableRow for MatchRow {
    const WHAT: &str = "matches";
    const ABOUT: &str =
        "One row is one seat of one match of the plan. Matches that the plan replaces are included (`counts`).";
}

/// Place of a seat in the plan, for rows of several tables.
pub(crate) struct Seated<'t> {
    pub game: &'t MetricMatch<'t>,
    pub seat: usize,
    pub part: &'t str,
    pub agent: &'t str,
    pub candidate: bool,
    /// True if the match counts for the agent on the seat.
    pub counts: bool,
    pub opponent: String,
}

/// Returns the seats of all matches, in the order of the plan.
pub(crate) fn seats<'t>(rows: &'t Rows<'t>) -> Vec<Seated<'t>> {
    let all = rows.of_all();
    let counting = |agent: usize| {
        let own = rows.of_agent(agent);
        let seats = own.own_matches().into_iter();
        seats.flat_map(|(game, seats)| seats.into_iter().map(move |seat| (game.episode, seat))).collect::<Vec<_>>()
    };
    let counting: HashSet<(&str, usize)> = all.agents_here().into_iter().flat_map(counting).collect();
    let mut games: Vec<&MetricMatch> = rows.everything().collect();
    games.sort_by_key(|game| game.order);
    let seated = |game: &'t MetricMatch<'t>, seat: usize| {
        let own = (game.players[seat], game.sides.get(seat));
        let others = (0..game.players.len()).map(|other| (game.players[other], game.sides.get(other)));
        let mut names: Vec<&str> = Vec::new();
        for (player, _) in others.filter(|other| if own.1.is_none() { other.0 != own.0 } else { other.1 != own.1 }) {
            let name = rows.agents()[player].name.as_str();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let agent = &rows.agents()[own.0];
        Seated {
            game,
            seat,
            part: &rows.parts()[game.part].id,
            agent: &agent.name,
            candidate: agent.candidate,
            counts: counting.contains(&(game.episode, seat)),
            opponent: names.join(", "),
        }
    };
    games
        .into_iter()
        .flat_map(|game| (0..game.players.len()).map(move |seat| (game, seat)))
        .map(|(game, seat)| seated(game, seat))
        .collect()
}

/// Returns one row for each seat of each match, in the order of the plan.
pub fn matches(run: &str, rows: &Rows) -> Vec<MatchRow> {
    let row = |Seated { game, seat, part, agent, candidate, counts, opponent }: Seated| {
        let own = &game.seats[seat];
        let spec = rows.parts()[game.part].spec();
        let side: Vec<usize> = match game.sides.get(seat) {
            Some(side) => (0..game.sides.len()).filter(|&other| game.sides[other] == *side).collect(),
            None => vec![seat],
        };
        MatchRow {
            run: run.to_owned(),
            episode: game.episode.to_owned(),
            part: part.to_owned(),
            order: game.order,
            cycle: game.cycle,
            block: game.block.map(str::to_owned),
            level: game.level,
            counts,
            seat,
            role: spec.and_then(|spec| spec.seats.get(seat).cloned()),
            first: game.first == seat,
            agent: agent.to_owned(),
            candidate,
            side: game.sides.get(seat).copied(),
            opponent,
            points: rows.parts()[game.part].is_fight().then(|| game.points(&side)),
            r#return: own.payoff,
            reason: game.reason,
            at_fault: game.at_fault == Some(seat),
            moves: game.moves,
            turns: own.turns,
            refused: own.refused,
            tokens_in: own.tokens.input,
            tokens_out: own.tokens.out,
            usd: (own.spent.moves > 0).then_some(own.spent.usd),
            ms_per_move: own.times.mean(),
        }
    };
    seats(rows).into_iter().map(row).collect()
}
