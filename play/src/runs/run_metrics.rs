//! Metrics and tidy tables of runs, as their plans define them.

use ludex_referee::VerifiedRecord;
use ludex_referee::metric::{MetricQuery, MetricResult, MetricScope};
use ludex_referee::read::RejectedRecord;
use ludex_referee::result::GameResult;
use ludex_referee::rows::{RowPart, Rows};
use ludex_referee::suite::selection::MatchSelection;
use ludex_report::runs::archive::Archive;
use ludex_report::runs::metric_rows::{join, table};
use ludex_report::scale::{self, RatingOptions};
use ludex_report::tables;
use ludex_report::tables::labels::LabelRow;
use ludex_report::tables::marks::MarkRow;
use ludex_report::tables::matches::MatchRow;
use ludex_report::tables::moves::MoveRow;
use ludex_report::tables::ratings::RatingRow;

use super::report_files::Read;

/// Returns a metric of runs, as in their reports: the plan decides which matches count, and for whom.
///
/// # Errors
/// Returns an error for a run whose plan cannot be rebuilt, a metric that needs a plan that no run has, or an unknown role
/// in `select`.
pub fn measure(
    runs: &[Archive],
    query: &MetricQuery,
    select: &MatchSelection,
) -> anyhow::Result<(Vec<MetricResult>, Vec<RejectedRecord>)> {
    let read: Vec<Read> = runs.iter().map(|run| Read::of(run, query.marks())).collect();
    let results = |read: &Read| -> Vec<GameResult> {
        let games = if read.plan.is_some() { &read.planned } else { &read.games };
        games.iter().map(|game| game.result().clone()).collect()
    };
    let games: Vec<Vec<GameResult>> = read.iter().map(results).collect();
    // A role may have another agent in each run.
    let (mut tables, mut selected) = (Vec::new(), MatchSelection { opponent: Vec::new(), ..select.clone() });
    for (read, games) in read.iter().zip(&games) {
        anyhow::ensure!(read.unplanned.is_none(), "{}", read.unplanned.clone().unwrap_or_default());
        let run = &read.run.about.run;
        tables.push(match &read.plan {
            Some(plan) => {
                selected.opponent.extend(select.in_suite(&plan.suite).map_err(anyhow::Error::msg)?.opponent);
                table(run, plan, &read.walk, games)
            }
            None => {
                let name = query.metric.id;
                anyhow::ensure!(!query.metric.planned, "{name}: expected a run of a suite, got the tournament {run}");
                selected.opponent.extend(select.opponent.iter().cloned());
                scale::table(games, &RatingOptions { unrated: true, ..RatingOptions::default() })
            }
        });
    }
    let refused = read.iter().flat_map(|read| read.refused.clone()).collect();
    let rows = Rows::new(join(tables));
    selected.check_values(&rows).map_err(anyhow::Error::msg)?;
    let rows = selected.of(&rows);
    let plain = MetricQuery::parse(query.metric.id).is_ok_and(|usual| usual.args == query.args);
    // Without arguments, each part measures the metric in the form that its suite names.
    let asked = |part: &RowPart| -> MetricQuery {
        let parts = read.iter().filter_map(|read| read.plan.as_ref()).flat_map(|plan| &plan.suite.parts);
        let mut asks = parts.filter(|own| own.id == part.id).flat_map(|own| &own.metrics);
        let own = asks.find(|ask| ask.id == query.metric.id).filter(|_| plain);
        own.and_then(|ask| MetricQuery::new(ask).ok()).unwrap_or_else(|| query.clone())
    };
    if query.metric.scope == MetricScope::Suite {
        return Ok((query.everywhere(&rows), refused));
    }
    let parts = rows.parts_here().into_iter();
    let found = parts.flat_map(|part| asked(&rows.parts()[part]).everywhere(&rows.of_part(part))).collect();
    Ok((found, refused))
}

/// Run with its plan, from which the tidy tables are made.
pub struct RunTables<'r> {
    read: Read<'r>,
}

impl<'r> RunTables<'r> {
    /// Verifies the records of a run; with `marks`, computes all marks of its games.
    ///
    /// # Errors
    /// Returns an error for a tournament, and for a run whose plan cannot be rebuilt.
    pub fn of(run: &'r Archive, marks: bool) -> anyhow::Result<RunTables<'r>> {
        let games = ludex_games::games().iter().filter(|_| marks);
        let games = games.filter_map(|game| ludex_games::load(game.info.id).ok());
        let marks = games.flat_map(|game| game.marks_docs().iter().map(|doc| doc.name.to_owned()).collect::<Vec<_>>());
        let read = Read::of(run, marks.collect());
        let name = &run.about.run;
        anyhow::ensure!(read.unplanned.is_none(), "{}", read.unplanned.clone().unwrap_or_default());
        anyhow::ensure!(read.plan.is_some(), "expected a run of a suite, got the tournament {name}");
        Ok(RunTables { read })
    }

    /// Returns the refused records.
    pub fn refusals(&self) -> &[RejectedRecord] {
        &self.read.refused
    }

    fn rows(&self) -> Rows<'_> {
        let Read { run, plan, walk, planned, .. } = &self.read;
        Rows::new(plan.as_ref().map(|plan| table(&run.about.run, plan, walk, planned)).unwrap_or_default())
    }

    /// Returns the rows of the table `matches`.
    pub fn matches(&self) -> Vec<MatchRow> {
        tables::matches::matches(&self.read.run.about.run, &self.rows())
    }

    /// Returns the rows of the table `marks`.
    pub fn marks(&self) -> Vec<MarkRow> {
        tables::marks::marks(&self.read.run.about.run, &self.rows())
    }

    /// Returns the rows of the table `moves`.
    pub fn moves(&self) -> Vec<MoveRow> {
        let games = self.read.planned.iter().map(VerifiedRecord::record);
        let records = games.map(|record| (record.header.episode.as_str(), record)).collect();
        tables::moves::moves(&self.read.run.about.run, &self.rows(), &records)
    }

    /// Returns the rows of the table `labels`.
    pub fn labels(&self) -> Vec<LabelRow> {
        tables::labels::labels(&self.read.run.about.run, &self.rows(), &self.read.labels.lines)
    }

    /// Returns the rows of the table `ratings`.
    pub fn ratings(&self) -> Vec<RatingRow> {
        let games: Vec<&GameResult> = self.read.games.iter().map(VerifiedRecord::result).collect();
        tables::ratings::ratings(&self.read.run.about.run, &scale::rate(&games, &RatingOptions::default()))
    }
}
