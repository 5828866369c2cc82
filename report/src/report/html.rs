//! HTML page, rendered from `report.html` by minijinja, which escapes all text from records.

use ludex_referee::metric::USUAL;
use ludex_referee::rating::table::Tally;
use minijinja::context;
use minijinja::value::{Serde, Value};
use serde::Serialize;

use super::Report;
use super::about::{HeadAgent, SiteLinks};
use super::cost::{COST, FRONTIER};
use super::overview::{LEADERBOARD, OVERALL, SUMMARIES, names};
use super::people::PEOPLE;
use super::wordings::WORDINGS;
use crate::figure::data::Data;
use crate::figure::match_conditions::MatchConditions;
use crate::figure::resolve::FigurePage;
use crate::figure::{RenderedFigure, STYLE};
use crate::page;
use crate::scale::Scale;
use crate::text::count;
use crate::transcript::page_name;

pub(super) fn page(report: &Report, site: Option<&SiteLinks>) -> String {
    let metrics = |own: &dyn Fn(&str) -> bool| -> Vec<Value> {
        let own = USUAL.iter().filter(|m| own(m.id));
        own.map(|m| context! { id => m.id, title => m.title, unit => m.unit, digits => m.digits, formula => m.formula, source => m.source })
            .collect()
    };
    // Omit the columns of metrics without values.
    let has = |scale: &Scale, id: &str| scale.agents.iter().any(|agent| agent.metrics.contains_key(id));
    let measured: Vec<Vec<Value>> = report.scales.iter().map(|scale| metrics(&|id| has(scale, id))).collect();
    let fights: Vec<bool> = report.scales.iter().map(fight).collect();
    let pictures: Vec<Picture> = report.scales.iter().map(picture).collect();
    let cells: Vec<Vec<Vec<Cell>>> =
        report.scales.iter().map(|s| s.crosstable.iter().map(|r| r.iter().map(cell).collect()).collect()).collect();
    let (headlines, figures): (Vec<&RenderedFigure>, Vec<&RenderedFigure>) =
        report.figures.iter().partition(|figure| figure.headline);
    let (boards, figures): (Vec<&RenderedFigure>, Vec<&RenderedFigure>) = figures
        .into_iter()
        .partition(|figure| [LEADERBOARD, PEOPLE, SUMMARIES, WORDINGS, COST, FRONTIER].contains(&figure.id.as_str()));
    let (overall, figures): (Vec<&RenderedFigure>, Vec<&RenderedFigure>) =
        figures.into_iter().partition(|figure| figure.id == OVERALL);
    let [headlines, overall, boards, figures] = [headlines, overall, boards, figures]
        .map(|of| Value::from(Serde(of.into_iter().map(|f| figure_view(report, f)).collect::<Vec<FigureView>>())));
    let links: Vec<Vec<Link>> = report.scales.iter().map(|scale| links(report, scale)).collect();
    let context = context! {
        style => Value::from_safe_string(STYLE.to_owned()),
        headlines,
        overall,
        boards,
        ratings => report.wants_ratings(),
        figures,
        names => names(&report.scales),
        runs => Value::from(Serde(&report.runs)),
        links => Value::from(Serde(links)),
        report => Value::from(Serde(report)),
        pictures => Value::from(Serde(pictures)),
        cells => Value::from(Serde(cells)),
        metrics => metrics(&|_| true),
        measured,
        fights,
        site => Value::from(Serde(site)),
    };
    page::render("report.html", include_str!("report.html"), context)
}

/// Returns true if any agent of the scale has a win, a draw or a loss against another agent.
fn fight(scale: &Scale) -> bool {
    scale.crosstable.iter().flatten().any(|tally| tally.games() > 0)
}

/// Figure of the page.
#[derive(Serialize)]
struct FigureView {
    id: String,
    title: String,
    caption: String,
    measures: Vec<[String; 3]>,
    pages: Vec<PageView>,
    /// True if the drawings are tables, so that no separate table of their numbers is needed.
    table: bool,
}

/// Drawing and its numbers, as HTML.
#[derive(Serialize)]
struct PageView {
    name: String,
    drawing: String,
    numbers: String,
}

fn figure_view(report: &Report, figure: &RenderedFigure) -> FigureView {
    let page = |page: &FigurePage| {
        let mut page = page.clone();
        if let Data::Grid(grid) = &mut page.data {
            grid.link(&page.matches, |matches| matches_link(report, matches));
        }
        PageView { name: page.name.clone(), drawing: figure.draw(&page), numbers: page.data.to_table() }
    };
    FigureView {
        id: figure.id.clone(),
        title: figure.title.clone(),
        caption: figure.caption.clone(),
        measures: figure.measures.clone(),
        pages: figure.pages.iter().map(page).collect(),
        table: matches!(figure.kind.as_str(), "table" | "matrix" | "strip"),
    }
}

/// Link to the transcript of a match, or to the list of a part's transcripts.
#[derive(Serialize)]
struct Link {
    href: String,
    what: String,
}

/// Returns the link to the list of matches in the first run of the agent that has transcripts; `None` without an agent and a
/// part.
fn matches_link(report: &Report, matches: &MatchConditions) -> Option<String> {
    let name = matches.agent.as_ref()?;
    let plays = |agent: &HeadAgent| {
        agent.name == *name || agent.name.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with([' ', '(']))
    };
    let run = report.runs.iter().find(|run| run.transcripts.is_some() && run.agents.iter().any(plays))?;
    let mut matches = matches.clone();
    // The transcripts have the names of the run; the report may add a spec or a mark.
    if let Some(agent) = run.agents.iter().find(|agent| agent.name == *name) {
        matches.agent = Some(agent.record_name.clone());
    }
    Some(format!("{}/index.html#{}", run.transcripts.as_ref()?, matches.fragment()))
}

/// Maximum number of links to single matches of a part.
const LINKS: usize = 200;

/// Returns the transcript links of a scale's matches.
fn links(report: &Report, scale: &Scale) -> Vec<Link> {
    let mut out = Vec::new();
    for run in &report.runs {
        let Some(folder) = &run.transcripts else { continue };
        let own: Vec<_> = run.matches.iter().filter(|m| Some(&m.part) == scale.part.as_ref()).collect();
        if let (Some(part), true) = (&scale.part, own.len() > LINKS) {
            let what = format!("{} matches of {part}", count(own.len() as u64));
            out.push(Link { href: format!("{folder}/index.html#{}", MatchConditions::of_part(part).fragment()), what });
            continue;
        }
        let href = |m: &super::about::HeadMatch| format!("{folder}/{}", page_name(&m.episode, 0));
        out.extend(own.into_iter().map(|m| Link { href: href(m), what: m.what.clone() }));
    }
    out
}

/// Cell of a crosstable.
#[derive(Serialize)]
struct Cell {
    #[serde(flatten)]
    tally: Tally,
    games: u64,
    /// Percent of the points, with the ends of the interval.
    score: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

fn cell(tally: &Tally) -> Cell {
    let score = tally.score();
    let part = |of: fn(ludex_referee::rating::table::Interval) -> f64| score.map(|s| 100.0 * of(s));
    Cell { tally: *tally, games: tally.games(), score: part(|s| s.value), low: part(|s| s.low), high: part(|s| s.high) }
}

/// Drawing of a scale's ratings. Each agent has a row with its interval as a bar. Lengths are in SVG units.
#[derive(Serialize)]
struct Picture {
    height: f64,
    ticks: Vec<Tick>,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Tick {
    x: f64,
    label: f64,
}

#[derive(Serialize)]
struct Row {
    name: String,
    y: f64,
    x: f64,
    low: f64,
    high: f64,
    fixed: bool,
}

const LEFT: f64 = 190.0;
const RIGHT: f64 = 700.0;
const TOP: f64 = 12.0;
const STEP: f64 = 26.0;

fn picture(scale: &Scale) -> Picture {
    let shown: Vec<_> =
        scale.agents.iter().filter(|a| a.bound.is_none()).filter_map(|a| Some((a, a.rating?))).collect();
    let ends = shown.iter().flat_map(|(a, r)| [a.low.unwrap_or(*r), a.high.unwrap_or(*r)]);
    let (low, high) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    if !(low.is_finite() && high.is_finite()) {
        return Picture { height: 0.0, ticks: Vec::new(), rows: Vec::new() };
    }
    let gap = [25.0, 50.0, 100.0, 200.0, 400.0, 1000.0].into_iter().find(|g| (high - low) / g <= 8.0).unwrap_or(2500.0);
    let (first, last) = ((low / gap).floor(), (high / gap).ceil().max((low / gap).floor() + 1.0));
    let x = |rating: f64| round(LEFT + (RIGHT - LEFT) * (rating / gap - first) / (last - first));
    let ticks = (0..=(last - first) as usize).map(|k| (first + k as f64) * gap);
    let rows = shown.iter().enumerate().map(|(k, (a, r))| Row {
        name: shorten(&a.name),
        y: TOP + STEP * (k as f64 + 0.5),
        x: x(*r),
        low: x(a.low.unwrap_or(*r)),
        high: x(a.high.unwrap_or(*r)),
        fixed: a.fixed,
    });
    Picture {
        height: TOP + STEP * shown.len() as f64,
        ticks: ticks.map(|label| Tick { x: x(label), label }).collect(),
        rows: rows.collect(),
    }
}

fn round(x: f64) -> f64 {
    (x * 10.0).round() / 10.0
}

/// Shortens a name to fit beside a drawing. The middle is omitted, because names of variants differ at their ends.
fn shorten(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= 25 {
        return name.to_owned();
    }
    let (begin, end) = (&letters[..12], &letters[letters.len() - 12..]);
    format!("{}\u{2026}{}", begin.iter().collect::<String>(), end.iter().collect::<String>())
}
