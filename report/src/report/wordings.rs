//! Variance over wordings of the prompts beside variance over seeds, in suites with paraphrases.

use std::collections::BTreeSet;

use ludex_referee::distribution::student_95;
use ludex_referee::metric::{Measurement, SCORE_RATE};
use ludex_referee::rating::table::Z95;

use super::Report;
use super::shares::{mean_share, scored, share};
use crate::figure::RenderedFigure;
use crate::figure::data::{Axis, Data, Grid, GridColumn};
use crate::figure::resolve::FigurePage;

pub(super) const WORDINGS: &str = "wordings";

/// Score of an agent in one wording.
struct WordingScore {
    mean: f64,
    /// Variance of the mean over seeds, from the intervals of the parts.
    variance: f64,
}

/// Returns the table of the variances; `None` without agents that played in at least two wordings.
pub(super) fn figure(report: &Report) -> Option<RenderedFigure> {
    let worded = || report.runs.iter().flat_map(|run| &run.agents).filter(|agent| agent.wording.is_some());
    let mut bases: Vec<&str> = Vec::new();
    for [base, _] in worded().filter_map(|agent| agent.wording.as_ref()) {
        if !bases.contains(&base.as_str()) {
            bases.push(base);
        }
    }
    let column = |under: &str, name: &str, unit: &str, digits| GridColumn {
        under: under.to_owned(),
        name: name.to_owned(),
        axis: Axis { title: name.to_owned(), unit: unit.to_owned(), digits },
        ..GridColumn::default()
    };
    let score = |name, digits| column("Score", name, SCORE_RATE.unit, digits);
    let mut columns =
        vec![column("", "Wordings", "", 0), score("Mean", 3), score("SD by wording", 3), score("SD by seed", 3)];
    let summaries: Vec<_> = report.runs.iter().flat_map(|run| &run.summaries).collect();
    let mut titles: Vec<(&str, usize)> = Vec::new();
    for summary in &summaries {
        if !titles.iter().any(|(title, _)| *title == summary.title) {
            titles.push((&summary.title, summary.digits));
        }
    }
    for (title, digits) in &titles {
        columns.extend(["Mean", "SD by wording"].map(|name| column(title, name, "", *digits)));
    }
    let row = |base: &&str| {
        let names: BTreeSet<&str> = worded()
            .filter(|agent| agent.wording.as_ref().is_some_and(|[of, _]| of == base))
            .map(|agent| agent.name.as_str())
            .collect();
        let scores: Vec<WordingScore> = names.iter().filter_map(|name| score_of(report, name)).collect();
        let mut cells = vec![Some(Measurement::plain(names.len() as f64, names.len() as u64))];
        cells.extend(variances(&scores));
        for (title, _) in &titles {
            let values = summaries.iter().filter(|summary| summary.title == *title).flat_map(|summary| &summary.scores);
            let values: Vec<f64> = values.filter(|s| names.contains(s.agent.as_str())).map(|s| s.value).collect();
            let spread = sample_variance(&values).map(f64::sqrt);
            let n = values.len() as u64;
            cells.push((n > 0).then(|| Measurement::plain(values.iter().sum::<f64>() / n as f64, n)));
            cells.push(spread.map(|sd| Measurement::plain(sd, n)));
        }
        cells
    };
    let cells: Vec<Vec<Option<Measurement>>> = bases.iter().map(row).collect();
    let rows: Vec<String> = bases.iter().map(|base| (*base).to_owned()).collect();
    let several = cells.iter().any(|row| row[0].is_some_and(|m| m.value >= 2.0));
    several.then(|| RenderedFigure {
        id: WORDINGS.into(),
        title: "Wordings of the prompts".into(),
        headline: false,
        kind: "table".into(),
        caption: "The mean score over wordings with a 95 % interval that covers other wordings of this kind, the standard deviation \
                  between wordings beyond that of seeds, and the standard deviation of the score of one wording over seeds."
            .into(),
        pages: FigurePage::only(Data::Grid(Grid { corner: "Agent".into(), rows, columns, cells, ..Grid::default() })),
        measures: vec![[
            "Variance by wording".into(),
            "max(0, S^2 - mean v), S^2 the variance of the k means of the wordings, v the variance of a mean over seeds; the interval is \
             the mean +- t(k - 1) S / sqrt(k)"
                .into(),
            "S. R. Searle, G. Casella and C. E. McCulloch, Variance Components, 1992, chapter 3".into(),
        ]],
    })
}

/// Returns the mean score of an agent over the parts in which it has one; `None` without such parts.
fn score_of(report: &Report, name: &str) -> Option<WordingScore> {
    let parts = scored(report, &[name]);
    let mean = mean_share(report, &parts, name)?;
    let variance = |part| {
        let share = share(report, part, name)?;
        Some(((share.high? - share.low?) / 2.0 / Z95).powi(2))
    };
    let variances: Vec<f64> = parts.iter().filter_map(|&part| variance(part)).collect();
    Some(WordingScore { mean: mean.value, variance: variances.iter().sum::<f64>() / (mean.n * mean.n) as f64 })
}

/// Returns the mean, the standard deviation by wording and the standard deviation by seed.
fn variances(scores: &[WordingScore]) -> [Option<Measurement>; 3] {
    let n = scores.len() as u64;
    if n == 0 {
        return [None; 3];
    }
    let count = n as f64;
    let means: Vec<f64> = scores.iter().map(|score| score.mean).collect();
    let mean = means.iter().sum::<f64>() / count;
    let within = scores.iter().map(|score| score.variance).sum::<f64>() / count;
    let between = sample_variance(&means);
    let half = between.map(|variance| student_95(n as u32 - 1) * (variance / count).sqrt());
    let interval = half.map(|half| [(mean - half).max(0.0), (mean + half).min(1.0)]);
    [
        Some(Measurement { value: mean, low: interval.map(|i| i[0]), high: interval.map(|i| i[1]), n }),
        between.map(|variance| Measurement::plain((variance - within).max(0.0).sqrt(), n)),
        Some(Measurement::plain(within.sqrt(), n)),
    ]
}

/// Returns the sample variance; `None` for fewer than two numbers.
fn sample_variance(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (n >= 2.0).then(|| values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variance_by_wording_excludes_that_of_seeds() {
        let score = |mean, variance| WordingScore { mean, variance };
        // S^2 = 0.01, v = 0.0036: SD by wording sqrt(0.0064); half width t(2) 0.1 / sqrt(3).
        let [mean, wording, seed] = variances(&[score(0.4, 0.0036), score(0.5, 0.0036), score(0.6, 0.0036)]);
        let mean = mean.unwrap();
        assert!((mean.value - 0.5).abs() < 1e-12);
        assert!((mean.high.unwrap() - (0.5 + 4.302_652_73 * 0.1 / 3f64.sqrt())).abs() < 1e-6, "{mean:?}");
        assert!((wording.unwrap().value - 0.08).abs() < 1e-12);
        assert!((seed.unwrap().value - 0.06).abs() < 1e-12);
        // Wordings that differ less than seeds do have no variance of their own.
        let [_, wording, _] = variances(&[score(0.50, 0.01), score(0.51, 0.01)]);
        assert_eq!(wording.unwrap().value, 0.0);
        let [mean, wording, _] = variances(&[score(0.5, 0.01)]);
        assert!(mean.unwrap().low.is_none() && wording.is_none());
    }
}
