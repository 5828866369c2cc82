//! Headline of a report: the main result of each agent under evaluation.

use ludex_referee::metric::Measurement;
use ludex_referee::suite::figure::Highlight;

use super::Report;
use super::overview::mean_rating;
use super::shares::{mean_share, scored};
use crate::figure::RenderedFigure;
use crate::figure::data::{Axis, Data, Grid, GridColumn};

/// Main result of a suite, as a table with a row for each agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Headline {
    pub title: String,
    /// Id of the figure with all numbers; `None` if the suite names no headline.
    pub figure: Option<String>,
    pub columns: Vec<GridColumn>,
    /// True if the first column ranks the agents. Several columns without a mean have no rank.
    pub ranked: bool,
    /// Agents and their numbers, the best first, or in the order of the runs.
    pub rows: Vec<(String, Vec<Option<Measurement>>)>,
}

impl Report {
    /// Returns the headline: the means in the suite's main figure, or the whole figure if it has none. For a suite without
    /// such a figure, the rating and the mean score.
    pub(crate) fn headline_board(&self) -> Headline {
        let main = self.figures.iter().find(|figure| figure.headline);
        let mut board = main.and_then(|figure| self.of_figure(figure)).unwrap_or_else(|| self.of_scores());
        if !board.ranked {
            return board;
        }
        let sign = if main.is_some_and(lowest) { -1.0 } else { 1.0 };
        // Agents without a rating over all games are compared by score, the last column.
        let ranked =
            |cells: &[Option<Measurement>]| cells.first().is_some_and(|m| m.is_some_and(|m| m.bound().is_none()));
        let last = board.columns.len().saturating_sub(1);
        let by = if main.is_some() || board.rows.iter().all(|(_, cells)| ranked(cells)) { 0 } else { last };
        let value = |cells: &[Option<Measurement>]| {
            cells.get(by).copied().flatten().map_or(f64::NEG_INFINITY, |m| sign * m.value)
        };
        // A stable sort: equal agents remain in the order of the runs.
        board.rows.sort_by(|a, b| value(&b.1).total_cmp(&value(&a.1)));
        board
    }

    /// Returns the names of the agents under evaluation, each once.
    pub(crate) fn agents(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for agent in self.runs.iter().flat_map(|run| &run.agents) {
            if !names.contains(&agent.name.as_str()) {
                names.push(&agent.name);
            }
        }
        names
    }

    fn of_figure(&self, figure: &RenderedFigure) -> Option<Headline> {
        let grid = grid(figure)?;
        let means = grid.columns.len() - grid.margin_columns.min(grid.columns.len());
        let first = if means == grid.columns.len() { 0 } else { means };
        let row = |name: &str| {
            let at = grid.rows.iter().position(|row| row == name)?;
            let cells: Vec<_> = (first..grid.columns.len()).map(|column| grid.at(at, column)).collect();
            cells.iter().any(Option::is_some).then(|| (name.to_owned(), cells))
        };
        let rows: Vec<_> = self.agents().into_iter().filter_map(row).collect();
        (!rows.is_empty()).then(|| Headline {
            title: figure.title.clone(),
            figure: Some(figure.id.clone()),
            ranked: first > 0 || grid.columns.len() == 1,
            columns: grid.columns[first..].to_vec(),
            rows,
        })
    }

    fn of_scores(&self) -> Headline {
        let agents = self.agents();
        let parts = scored(self, &agents);
        let column = |name: &str, digits| GridColumn {
            name: name.to_owned(),
            axis: Axis { title: name.to_owned(), unit: String::new(), digits },
            ..GridColumn::default()
        };
        let rated = self.wants_ratings() && agents.iter().any(|name| mean_rating(self, name).is_some());
        let rating = rated.then(|| column("Rating", 0));
        let columns = rating.into_iter().chain([column("Score", 2)]).collect();
        let row = |name: &str| {
            let score = mean_share(self, &parts, name);
            (name.to_owned(), if rated { vec![mean_rating(self, name), score] } else { vec![score] })
        };
        let rows: Vec<_> = agents.iter().map(|name| row(name)).collect();
        Headline { title: "Mean over games".to_owned(), figure: None, ranked: true, columns, rows }
    }
}

/// Returns the numbers of a figure with a single table.
fn grid(figure: &RenderedFigure) -> Option<&Grid> {
    match figure.pages.as_slice() {
        [page] => match &page.data {
            Data::Grid(grid) => Some(grid),
            _ => None,
        },
        _ => None,
    }
}

fn lowest(figure: &RenderedFigure) -> bool {
    grid(figure).and_then(|grid| grid.highlight) == Some(Highlight::Lowest)
}
