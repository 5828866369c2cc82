//! Import of external result tables as [`Rows`], for the same metrics as records.
//!
//! A table is CSV with one header row, or a JSON list of objects. The columns determine the kind of table
//! ([`LAYOUTS`]). docs/ratings.md explains each kind.

mod cells;
mod layouts;
mod metric_inputs;

use std::collections::BTreeMap;
use std::fmt;

use cells::Cells;
use ludex_protocol::record::{AgentKind, EndReason};
use ludex_referee::metric::MetricQuery;
use ludex_referee::rating::table::Tally;
use ludex_referee::result::SeatResult;
use ludex_referee::rows::{MetricMatch, ResultTable, RowAgent, RowPart, RowValue, Rows};

pub use layouts::{LAYOUTS, TableLayout};

/// Error in a table with its location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ImportError {
    /// Row number: the line of a CSV file, where line 1 is the header, or the object in a JSON list, from 1.
    pub row: Option<u64>,
    pub column: Option<String>,
    /// Description of the problem, with the invalid value.
    pub message: String,
}

impl ImportError {
    fn whole(message: impl Into<String>) -> ImportError {
        ImportError { row: None, column: None, message: message.into() }
    }

    fn at(row: u64, column: &str, message: impl Into<String>) -> ImportError {
        ImportError { row: Some(row), column: Some(column.to_owned()), message: message.into() }
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if let Some(row) = self.row {
            write!(f, "row {row}, ")?;
        }
        if let Some(column) = &self.column {
            write!(f, "column {column}: ")?;
        }
        f.write_str(&self.message)
    }
}

/// File format of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportFormat {
    /// Comma-separated values (RFC 4180) with one header row.
    Csv,
    /// JSON list of objects.
    Json,
}

impl ImportFormat {
    /// Returns the format for the extension of a file name.
    pub fn of_name(name: &str) -> Option<ImportFormat> {
        let (_, extension) = name.rsplit_once('.')?;
        match extension.to_ascii_lowercase().as_str() {
            "csv" => Some(ImportFormat::Csv),
            "json" => Some(ImportFormat::Json),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    layout: &'static TableLayout,
    columns: Vec<String>,
    agents: Vec<RowAgent>,
    parts: Vec<String>,
    matches: Vec<ImportedMatch>,
    values: Vec<RowValue>,
    /// Parts of which the table tells whether a draw is the best possible result at the top level.
    drawn: BTreeMap<usize, bool>,
}

/// Match of a table.
#[derive(Clone, Debug, PartialEq)]
struct ImportedMatch {
    part: usize,
    cycle: u64,
    order: usize,
    level: Option<u32>,
    players: Vec<usize>,
    first: usize,
    valid: bool,
    scores: Vec<f64>,
    seats: Vec<SeatResult>,
}

impl ImportedMatch {
    fn new(part: usize, players: Vec<usize>, scores: Vec<f64>) -> ImportedMatch {
        let seats = players.iter().map(|_| SeatResult::new("", None, AgentKind::default())).collect();
        ImportedMatch { part, cycle: 0, order: 0, level: None, players, first: 0, valid: true, scores, seats }
    }
}

impl Import {
    /// Parses a table. With `directed`, results of A against B and results of B against A are different matches.
    /// Otherwise both are results of the same matches: they must agree, and count once.
    ///
    /// # Errors
    /// Returns an error for the first invalid value, with its row and column.
    pub fn read(text: &str, format: ImportFormat, directed: bool) -> Result<Import, ImportError> {
        let cells = Cells::read(text, format)?;
        let layout = layouts::told_apart(&cells)?;
        let mut import = Import {
            layout,
            columns: cells.columns.clone(),
            agents: Vec::new(),
            parts: Vec::new(),
            matches: Vec::new(),
            values: Vec::new(),
            drawn: BTreeMap::new(),
        };
        (layout.read)(&mut import, &cells, directed)?;
        Ok(import)
    }

    /// Returns the layout of the table.
    pub fn layout(&self) -> &'static TableLayout {
        self.layout
    }

    /// Returns the table as rows.
    pub fn rows(&self) -> Rows<'_> {
        let of = |game: &'_ ImportedMatch| MetricMatch {
            part: game.part,
            cycle: game.cycle,
            order: game.order,
            block: None,
            level: game.level,
            players: game.players.clone(),
            sides: (0..game.players.len()).collect(),
            first: game.first,
            valid: game.valid,
            scores: game.scores.clone(),
            reason: EndReason::Finished,
            at_fault: None,
            episode: "",
            moves: None,
            teams: &[],
            mirror: &[],
            seats: &[],
        };
        let part = |(part, id): (usize, &String)| {
            let drawn = self.drawn.get(&part).copied().unwrap_or_default();
            RowPart { drawn, ..RowPart::of_table(id) }
        };
        Rows::new(ResultTable {
            agents: self.agents.clone(),
            parts: self.parts.iter().enumerate().map(part).collect(),
            matches: self.matches.iter().map(|game| MetricMatch { seats: &game.seats, ..of(game) }).collect(),
            values: self.values.clone(),
            fixed: Vec::new(),
        })
    }

    /// Checks that the table has the columns for a metric.
    ///
    /// # Errors
    /// Returns an error that lists the missing columns, or states that the metric needs records.
    pub fn feeds(&self, asked: &MetricQuery) -> Result<(), ImportError> {
        metric_inputs::check(self.layout, &self.columns, asked).map_err(ImportError::whole)?;
        self.check_draws(asked).map_err(ImportError::whole)
    }

    /// Checks that no agent has a progress of 0 at the top level only because the table does not tell what draws mean.
    fn check_draws(&self, asked: &MetricQuery) -> Result<(), String> {
        if asked.metric.id != "level" || !asked.args.is("drawn", "part") || asked.args.is("form", "corrected") {
            return Ok(());
        }
        for part in (0..self.parts.len()).filter(|part| !self.drawn.contains_key(part)) {
            let mut tallies: BTreeMap<usize, Tally> = BTreeMap::new();
            let own = || self.matches.iter().filter(|game| game.part == part);
            let top = own().filter_map(|game| game.level).max();
            let at_top = own().filter(|game| game.valid && game.level == top);
            at_top.for_each(|game| tallies.entry(game.players[0]).or_default().add(game.scores[0]));
            if let Some((agent, tally)) = tallies.iter().find(|(_, tally)| tally.wins == 0 && tally.draws > 0) {
                let (agent, part) = (&self.agents[*agent].name, &self.parts[part]);
                return Err(format!(
                    "level: {agent} drew {} and won none of its matches at the top level of {part}, so the table must tell if a draw is \
                     the best possible result there: expected a column drawn (yes or no) for each part, or --metric-arg drawn=yes or drawn=no for all parts",
                    tally.draws
                ));
            }
        }
        Ok(())
    }

    fn agent(&mut self, name: &str, candidate: bool) -> usize {
        match self.agents.iter().position(|agent| agent.name == name) {
            Some(at) => {
                self.agents[at].candidate |= candidate;
                at
            }
            None => {
                self.agents.push(RowAgent { name: name.to_owned(), candidate });
                self.agents.len() - 1
            }
        }
    }

    fn part(&mut self, id: &str) -> usize {
        self.parts.iter().position(|part| part == id).unwrap_or_else(|| {
            self.parts.push(id.to_owned());
            self.parts.len() - 1
        })
    }
}

#[cfg(test)]
mod tests;
