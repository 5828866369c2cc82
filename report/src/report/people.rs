//! People in a report: the score and the time per move of each person, and the means over people.

use ludex_referee::distribution::student_95;
use ludex_referee::metric::{Measurement, SCORE_RATE};

use super::Report;
use super::about::median;
use super::shares::{mean_share, scored, share};
use crate::figure::RenderedFigure;
use crate::figure::data::{Axis, Data, Grid, GridColumn};
use crate::figure::match_conditions::MatchConditions;
use crate::figure::resolve::FigurePage;

pub(super) const PEOPLE: &str = "people";

/// Returns the table of the people; `None` without people.
pub(super) fn figure(report: &Report) -> Option<RenderedFigure> {
    let mut people: Vec<&str> = Vec::new();
    for agent in report.runs.iter().flat_map(|run| &run.agents).filter(|agent| agent.person.is_some()) {
        if !people.contains(&agent.name.as_str()) {
            people.push(&agent.name);
        }
    }
    if people.is_empty() {
        return None;
    }
    let parts = scored(report, &people);
    let (mut columns, mut cells): (Vec<GridColumn>, Vec<Vec<Option<Measurement>>>) = (Vec::new(), Vec::new());
    let mut add = |under: &str, axis: Axis, values: Vec<Option<Measurement>>, pooled: Option<Measurement>| {
        columns.push(GridColumn { under: under.to_owned(), name: axis.title.clone(), axis, ..GridColumn::default() });
        cells.push(values.into_iter().chain([pooled]).collect());
    };
    let axis = |title: &str, unit: &str, digits| Axis { title: title.to_owned(), unit: unit.to_owned(), digits };
    let own = |value: &dyn Fn(&str) -> Option<Measurement>| -> Vec<Option<Measurement>> {
        people.iter().map(|name| value(name)).collect()
    };

    let means = own(&|name| mean_share(report, &parts, name));
    let pooled = mean_over_people(&means).map(as_share);
    add("", axis("Score", SCORE_RATE.unit, 2), means, pooled);
    let matches = own(&|name| {
        let own = report.runs.iter().flat_map(|run| &run.agents).filter(|agent| agent.name == name);
        let n = own.map(|agent| agent.matches).sum();
        Some(Measurement::plain(n as f64, n))
    });
    let all: u64 = matches.iter().flatten().map(|m| m.n).sum();
    add("", axis("Matches", "", 0), matches, Some(Measurement::plain(all as f64, all)));
    let times = own(&|name| {
        let own = report.runs.iter().flat_map(|run| &run.agents).filter(|agent| agent.name == name);
        let ms = own.filter_map(|agent| agent.person.as_ref()).flat_map(|person| &person.times_ms);
        let seconds: Vec<f64> = ms.map(|&ms| ms as f64 / 1e3).collect();
        let n = seconds.len() as u64;
        Some(Measurement::plain(median(seconds)?, n))
    });
    let typical = median(times.iter().flatten().map(|m| m.value).collect());
    let typical = typical.map(|s| Measurement::plain(s, times.iter().flatten().count() as u64));
    add("", axis("Time per move (median)", "s", 1), times, typical);
    if parts.len() > 1 {
        for &(suite, part) in &parts {
            let twice = parts.iter().any(|other| other.1 == part && other.0 != suite);
            let title = if twice { format!("{suite}: {part}") } else { part.to_owned() };
            let scores = own(&|name| share(report, (suite, part), name));
            let pooled = mean_over_people(&scores).map(as_share);
            add("Score", axis(&title, SCORE_RATE.unit, 2), scores, pooled);
        }
    }
    let summaries: Vec<_> = report.runs.iter().flat_map(|run| &run.summaries).collect();
    let mut titles: Vec<(&str, usize)> = Vec::new();
    for summary in &summaries {
        if !titles.iter().any(|(title, _)| *title == summary.title) {
            titles.push((&summary.title, summary.digits));
        }
    }
    for (title, digits) in titles {
        let values = own(&|name| {
            let mut scores = summaries.iter().filter(|summary| summary.title == title).flat_map(|of| &of.scores);
            scores.find(|score| score.agent == name).map(|score| Measurement::plain(score.value, score.parts as u64))
        });
        let pooled = mean_over_people(&values);
        add("Means over parts", axis(title, "", digits), values, pooled);
    }

    let rows = people.iter().map(|name| (*name).to_owned()).chain(["all people".to_owned()]).collect();
    let cells = (0..=people.len()).map(|row| cells.iter().map(|column| column[row]).collect()).collect();
    Some(RenderedFigure {
        id: PEOPLE.into(),
        title: "People".into(),
        headline: false,
        kind: "table".into(),
        caption: "The people apart from all other agents. The last row has the means over people, each person once, with 95 % \
                  intervals that cover other people; its time is the median of the people's medians, and its matches are a \
                  sum. Forced moves have no time."
            .into(),
        pages: FigurePage::only(Data::Grid(Grid {
            corner: "Person".into(),
            row_matches: people.iter().map(|name| MatchConditions::of_agent(name)).collect(),
            rows,
            columns,
            cells,
            margin_rows: 1,
            ..Grid::default()
        })),
        measures: vec![[
            "Mean over people".into(),
            "m +- t(k - 1) S / sqrt(k), m and S the mean and the standard deviation of the values of the k people".into(),
            "Student, The Probable Error of a Mean, Biometrika 6, 1908".into(),
        ]],
    })
}

/// Returns the mean over people with a 95 % interval by Student's t distribution; without the interval for one person.
fn mean_over_people(values: &[Option<Measurement>]) -> Option<Measurement> {
    let values: Vec<f64> = values.iter().flatten().map(|m| m.value).collect();
    let k = values.len();
    let count = k as f64;
    let mean = values.iter().sum::<f64>() / count;
    let plain = (k > 0).then(|| Measurement::plain(mean, k as u64))?;
    let Some(freedom) = u32::try_from(k - 1).ok().filter(|freedom| *freedom > 0) else { return Some(plain) };
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let half = student_95(freedom) * (variance / count).sqrt();
    Some(Measurement { low: Some(mean - half), high: Some(mean + half), ..plain })
}

/// Restricts the interval of a share to 0 to 1.
fn as_share(share: Measurement) -> Measurement {
    let within = |end: f64| end.clamp(0.0, 1.0);
    Measurement { low: share.low.map(within), high: share.high.map(within), ..share }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_over_people_counts_each_person_once() {
        let of = |value, n| Some(Measurement::plain(value, n));
        let mean = mean_over_people(&[of(0.25, 4), None, of(0.75, 400)]).unwrap();
        assert_eq!((mean.value, mean.n), (0.5, 2));
        // t(1) = 12.706, S = 0.35355, S / sqrt(2) = 0.25.
        assert!((mean.high.unwrap() - 0.5 - 12.706 * 0.25).abs() < 1e-3, "{mean:?}");
        assert_eq!([as_share(mean).low, as_share(mean).high], [Some(0.0), Some(1.0)]);
        assert_eq!(mean_over_people(&[of(0.25, 4)]).unwrap().low, None);
        assert_eq!(mean_over_people(&[None]), None);
    }
}
