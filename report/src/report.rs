//! Reports: rating tables, crosstables, metrics and discards, as HTML, CSV and JSON with the same numbers.
//!
//! A report is a function of the records and the options: the same input gives the same bytes. The footer contains the
//! command that reproduces it.

pub mod about;
mod cost;
mod csv;
pub(crate) mod headline;
mod html;
mod markdown;
mod overview;
mod people;
mod shares;
mod wordings;

use std::collections::{BTreeMap, BTreeSet};

use ludex_referee::rating::table::Interval;
use ludex_referee::read::{RecordLines, RejectedRecord};
use ludex_referee::result::GameResult;
use ludex_referee::verify::Verifier;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::scale::{AgentLabel, RatingOptions, Scale, keys, labels, mark_people, rate};

use self::about::{RunHead, SiteLinks};
use crate::figure::RenderedFigure;

/// Origin of a report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReportAbout {
    pub title: String,
    /// Command that reproduces the report.
    pub command: String,
    /// Secret of the rated seeds in hex, so that anyone can check that no seed was hand-picked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Notes on the plan for readers of the report, such as parts that could not be played.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Contents of a report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    #[serde(flatten)]
    pub about: ReportAbout,
    /// Program that generated the report, e.g. `ludex/0.1.0`.
    pub program: String,
    pub options: RatingOptions,
    /// Number of verified records.
    pub records: usize,
    /// SHA-256 over the sorted record digests, one per line: identifies this set of records.
    pub records_digest: String,
    /// Start of the first episode and end of the last episode, from the records.
    pub period: Option<[String; 2]>,
    /// Scales, each rated separately.
    pub scales: Vec<Scale>,
    /// Mean ratings over games; empty if there is a single game.
    pub headline: Vec<HeadlineRow>,
    /// Verified records that do not count, by agent.
    pub discards: Vec<DiscardRow>,
    /// Rejected records and lines.
    pub refused: Vec<RejectedRecord>,
    /// Runs in the report; empty for a report on records alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunHead>,
    /// Leaderboard, overview of all games, and the figures of the suites.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<RenderedFigure>,
}

/// Function that returns the 95 % interval of the paired difference of the scores of two agents, in the part or in all
/// parts; `None` if they have too few pairs.
pub type PairedDifference<'a> = &'a dyn Fn(Option<&str>, [&str; 2]) -> Option<Interval>;

/// Mean rating of an agent over games.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeadlineRow {
    pub name: String,
    /// Mean rating over games. A game with several scales contributes the mean of its scales.
    pub rating: f64,
    /// Lower end of the 95 % interval. Half widths of scales are combined under the assumption of independent errors.
    pub low: Option<f64>,
    /// Upper end of the 95 % interval.
    pub high: Option<f64>,
    /// Mean rating by game.
    pub games: BTreeMap<String, f64>,
    /// True if the agent has a rating in every rated game of the report. Otherwise, the mean is not comparable with the
    /// means of other agents.
    pub complete: bool,
}

/// Episodes of an agent that do not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiscardRow {
    pub name: String,
    /// Number of episodes by reason (`no_show`, `infra_error`, `aborted`, `replayed`, `unrated`, or a flag such as
    /// `peek`).
    pub reasons: BTreeMap<String, u64>,
}

impl Report {
    /// Rates the records and collects the contents of a report. Rejected records are listed but not rated.
    ///
    /// Takes [`GameResult`]s or [`VerifiedRecord`](ludex_referee::VerifiedRecord)s.
    pub fn build<G: AsRef<GameResult>>(
        games: &[G],
        refused: Vec<RejectedRecord>,
        options: RatingOptions,
        about: ReportAbout,
    ) -> Report {
        let mut scales = rate(games, &options);
        let games: Vec<&GameResult> = games.iter().map(AsRef::as_ref).collect();
        let plain = labels(games.iter().copied());
        let mut names = plain.clone();
        mark_people(&mut names, games.iter().copied());
        let people: BTreeMap<&str, &str> = plain
            .iter()
            .map(|(key, label)| (label.as_str(), names[key].as_str()))
            .filter(|(old, new)| old != new)
            .collect();
        for row in scales.iter_mut().flat_map(|scale| &mut scale.agents) {
            row.name = people.get(row.name.as_str()).map_or_else(|| row.name.clone(), |name| (*name).to_owned());
        }
        let mut digests: Vec<&str> = games.iter().map(|g| &*g.digest).collect();
        digests.sort_unstable();
        let started = games.iter().map(|g| g.started.clone()).filter(|s| !s.is_empty()).min();
        let ended = games.iter().filter_map(|g| g.ended.clone()).max();
        Report {
            about,
            program: concat!("ludex/", env!("CARGO_PKG_VERSION")).to_owned(),
            records: games.len(),
            records_digest: hex::encode(Sha256::digest(digests.join("\n"))),
            period: started.zip(ended).map(<[String; 2]>::from),
            headline: headline(&scales),
            discards: discards(&games, &options, &names),
            options,
            scales,
            refused,
            runs: Vec::new(),
            figures: Vec::new(),
        }
    }

    /// Adds runs, and the figures of their suites, to the report. The headlines of the suites come first. `paired` returns
    /// the 95 % interval of the paired difference of the scores of two agents, in one part or in all parts.
    pub fn with_runs(mut self, runs: Vec<RunHead>, figures: Vec<RenderedFigure>, paired: PairedDifference) -> Report {
        self.runs = runs;
        let (first, rest): (Vec<_>, Vec<_>) = figures.into_iter().partition(|figure| figure.headline);
        self.figures = first;
        self.figures.extend(overview::boards(&self, paired));
        self.figures.extend(rest);
        self
    }

    /// Returns true if the report has ratings of use: all reports of records, and those of suites that want them.
    fn wants_ratings(&self) -> bool {
        self.runs.is_empty() || self.runs.iter().any(|run| run.ratings)
    }

    /// Verifies records and builds the report from the valid records. Invalid records are listed as rejected.
    pub fn verify(verifier: &Verifier, lines: RecordLines, options: RatingOptions, about: ReportAbout) -> Report {
        let (good, untrue) = verifier.verify_all(&lines.found);
        Report::build(&good, [lines.refused, untrue].concat(), options, about)
    }

    /// Renders a self-contained HTML page for light and dark mode, print and screen readers.
    pub fn to_html(&self) -> String {
        html::page(self, None)
    }

    /// Renders the page of [`to_html`](Report::to_html) as a page of a site, with links to the site's other pages.
    pub fn to_html_in(&self, site: &SiteLinks) -> String {
        html::page(self, Some(site))
    }

    /// Renders the rating tables as CSV (RFC 4180), one line per agent and scale.
    pub fn to_csv(&self) -> String {
        csv::ratings(self)
    }

    /// Renders the crosstables as CSV, one line per ordered pair of agents that met.
    pub fn crosstable_csv(&self) -> String {
        csv::crosstable(self)
    }

    /// Returns all files of the report by name: the page, the tables and the whole report as JSON. The directory
    /// `figures` holds the drawings of each figure, and its numbers as CSV, JSON and LaTeX.
    pub fn files(&self) -> Vec<(String, String)> {
        let mut out = vec![("report.html".to_owned(), self.to_html())];
        out.extend(self.data_files());
        out
    }

    /// Returns the files of the report without its page.
    pub(crate) fn data_files(&self) -> Vec<(String, String)> {
        let json = format!("{:#}\n", self.to_json());
        let mut out = vec![
            ("ratings.csv".to_owned(), self.to_csv()),
            ("crosstable.csv".to_owned(), self.crosstable_csv()),
            ("report.json".to_owned(), json),
        ];
        let figures = self.figures.iter().flat_map(RenderedFigure::files);
        out.extend(figures.map(|(name, text)| (format!("figures/{name}"), text)));
        out
    }

    /// Returns a Markdown page and its tables by name: `STEM.md`, and the folder `STEM` with the numbers of each figure, the
    /// ratings and the crosstables as CSV. Drawings are omitted.
    pub fn markdown_files(&self, stem: &str) -> Vec<(String, String)> {
        let mut out = vec![
            (format!("{stem}.md"), markdown::page(self, stem)),
            (format!("{stem}/ratings.csv"), self.to_csv()),
            (format!("{stem}/crosstable.csv"), self.crosstable_csv()),
        ];
        let figures = self.figures.iter().filter(|figure| figure.kind != "strip");
        out.extend(figures.map(|figure| (format!("{stem}/{}.csv", figure.id), figure.to_csv())));
        out
    }

    /// Returns the whole report as one JSON document.
    pub fn to_json(&self) -> serde_json::Value {
        // A report is always valid JSON: keys are text, and numbers that are not finite become null.
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// Ratings of an agent by game: the rating, and the half width of the interval, on each scale of the game.
type Marks<'a> = BTreeMap<&'a str, Vec<(f64, Option<f64>)>>;

fn headline(scales: &[Scale]) -> Vec<HeadlineRow> {
    // Noncompetitive games have no ratings, so they are not counted as missing.
    let rated = |scale: &&Scale| scale.agents.iter().any(|a| a.anchored && a.rating.is_some());
    let games: BTreeSet<&str> = scales.iter().filter(rated).map(|s| &*s.game).collect();
    if games.len() < 2 {
        return Vec::new();
    }
    let mut agents: BTreeMap<&str, Marks> = BTreeMap::new();
    for scale in scales {
        for a in scale.agents.iter().filter(|a| a.anchored) {
            // A bound has no mean with ratings.
            let Some(rating) = a.rating.filter(|_| a.bound.is_none()) else { continue };
            let half = a.low.zip(a.high).map(|(low, high)| (high - low) / 2.0);
            agents.entry(&a.name).or_default().entry(&scale.game).or_default().push((rating, half));
        }
    }
    let row = |(name, marks): (&str, Marks)| {
        let mean = |of: &[(f64, Option<f64>)]| of.iter().map(|m| m.0).sum::<f64>() / of.len() as f64;
        let means: BTreeMap<String, f64> = marks.iter().map(|(game, of)| ((*game).to_owned(), mean(of))).collect();
        let rating = means.values().sum::<f64>() / means.len() as f64;
        // Half width times the weight of its scale in the mean; constants have no half width.
        let parts =
            marks.values().flat_map(|of| of.iter().filter_map(|m| Some(m.1? / (of.len() * marks.len()) as f64)));
        let half = parts.map(|h| h * h).reduce(|a, b| a + b).map(f64::sqrt);
        HeadlineRow {
            name: name.to_owned(),
            rating,
            low: half.map(|h| rating - h),
            high: half.map(|h| rating + h),
            complete: means.len() == games.len(),
            games: means,
        }
    };
    let mut rows: Vec<HeadlineRow> = agents.into_iter().map(row).collect();
    rows.sort_by(|a, b| b.complete.cmp(&a.complete).then(b.rating.total_cmp(&a.rating)));
    rows
}

fn discards(games: &[&GameResult], options: &RatingOptions, names: &BTreeMap<AgentLabel, String>) -> Vec<DiscardRow> {
    let mut out: BTreeMap<&str, BTreeMap<String, u64>> = BTreeMap::new();
    for game in games {
        let Some(reason) = options.discards(game) else { continue };
        let who: BTreeSet<_> = keys(game).collect();
        for key in who {
            *out.entry(&names[&key]).or_default().entry(reason.clone()).or_default() += 1;
        }
    }
    out.into_iter().map(|(name, reasons)| DiscardRow { name: name.to_owned(), reasons }).collect()
}

#[cfg(test)]
pub(crate) mod tests;
