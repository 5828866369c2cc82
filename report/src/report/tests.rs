use ludex_protocol::record::{EndReason, Record};
use ludex_referee::read::Source;
use ludex_referee::testing::{break_off, parts, play, verify};
use ludex_referee::verify::{VerifiedRecord, Verifier};

use super::about::{HeadAgent, HeadCost, HeadMatch, HeadMean, HeadResult, HeadSummary, RunHead};
use super::*;
use crate::figure::data::{Data, Grid};
use crate::scale::AgentRow;
use ludex_referee::rating::anchored::Bound;

fn verified(records: Vec<Record>) -> Vec<VerifiedRecord> {
    records.into_iter().map(verify).collect()
}

fn sample() -> Report {
    let mut records = Vec::new();
    for seed in 0..6 {
        for names in [["<b>&co", "random"], ["random", "<b>&co"], ["mcts, 100", "random"], ["<b>&co", "mcts, 100"]] {
            records.push(play("tic_tac_toe", &names, seed));
            records.push(play("kuhn_poker", &names, seed));
        }
    }
    break_off(&mut records[0], 1, EndReason::NoShow, None);
    let source = Source { file: "bad.jsonl".into(), line: 3 };
    let refused = vec![RejectedRecord { source, episode: Some("m_x".into()), message: "events[2]: no".into() }];
    let about = ReportAbout {
        title: "A <test>".into(),
        command: "ludex rate x.jsonl --report out".into(),
        secret: None,
        notes: vec!["among: needs 2 <candidates>".into()],
    };
    let options = RatingOptions { resamples: 100, ..RatingOptions::default() };
    Report::build(&verified(records), refused, options, about)
}

#[test]
fn page_is_complete_and_escaped() {
    let html = sample().to_html();
    assert!(html.starts_with("<!doctype html>") && html.trim_end().ends_with("</html>"), "{html}");
    for text in [
        "A &lt;test&gt;",
        "&lt;b&gt;&amp;co",
        "bad.jsonl:3",
        "m_x: events[2]: no",
        "<p>among: needs 2 &lt;candidates&gt;.</p>",
        "no_show",
        "ludex rate x.jsonl --report out",
        "Mean over games",
        "Kuhn",
        "prefers-color-scheme: dark",
    ] {
        assert!(html.contains(text), "{text}");
    }
    assert!(!html.contains("<b>"), "names are escaped");
    for outside in ["http:", "https:", "src=", "<link", "<script", "@import", "url("] {
        assert!(!html.contains(outside), "{outside}: the page loads nothing");
    }
    // Every table cell belongs to a row, and every opened element is closed.
    for tag in ["table", "thead", "tbody", "tr", "td", "th", "div", "section", "svg", "dl", "ul", "p", "small"] {
        let opened = html.matches(&format!("<{tag} ")).count() + html.matches(&format!("<{tag}>")).count();
        assert_eq!(opened, html.matches(&format!("</{tag}>")).count(), "{tag}");
    }
    assert_eq!(
        html.matches("scope=\"row\"").count() + html.matches("scope=\"col\"").count(),
        html.matches("<th ").count()
    );
}

/// Returns the number of an agent's matches. In this sample, each match is its own block.
fn scale_blocks(scale: &crate::scale::Scale, name: &str) -> usize {
    let at = scale.agents.iter().position(|a| a.name == name).unwrap();
    scale.crosstable[at].iter().map(|tally| tally.games() as usize).sum()
}

#[test]
fn html_csv_and_json_have_the_same_numbers() {
    let report = sample();
    let (html, csv, json) = (report.to_html(), report.to_csv(), report.to_json());
    let head: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    assert_eq!(&head[..6], ["scale", "agent", "kind", "rating", "low", "high"]);
    assert_eq!(csv.lines().count(), 1 + report.scales.iter().map(|s| s.agents.len()).sum::<usize>());
    for (s, scale) in report.scales.iter().enumerate() {
        for (k, a) in scale.agents.iter().enumerate() {
            let rating = a.rating.unwrap();
            assert_eq!(json["scales"][s]["agents"][k]["rating"].as_f64(), Some(rating));
            assert!(csv.contains(&format!("{rating:.4}")), "{rating}");
            let shown = format!("{:.0}", rating.abs());
            assert!(html.contains(&shown), "{shown}");
            // Number of blocks for the reported interval width, by hand.
            let Some((low, high)) = a.low.zip(a.high) else { continue };
            let needed = (a.blocks as f64 * ((high - low) / 60.0).powi(2)).ceil().max(2.0) as u64;
            assert_eq!((a.blocks, a.blocks_for_30), (scale_blocks(scale, &a.name), Some(needed)));
            assert_eq!(json["scales"][s]["agents"][k]["blocks_for_30"], needed);
            let line = csv.lines().find(|line| line.contains(&format!("{rating:.4}"))).unwrap();
            let bound = a.bound.map_or("", Bound::name);
            assert!(line.ends_with(&format!(",{},{needed},{bound}", a.blocks)), "{line}");
            assert!(html.contains(&format!("<td>{}</td><td>{needed}</td><td>{}</td>", a.blocks, a.games)), "{needed}");
        }
    }
    // Names with commas and quotes are quoted in CSV.
    assert!(csv.contains(",\"mcts, 100\",bot,"), "{csv}");
    let cross = report.crosstable_csv();
    let cells: usize =
        report.scales.iter().flat_map(|s| s.crosstable.iter().flatten()).filter(|t| t.games() > 0).count();
    assert_eq!(cross.lines().count(), 1 + cells);
}

#[test]
fn equal_records_give_equal_reports() {
    assert_eq!(sample().to_html(), sample().to_html());
    assert_eq!(sample().to_json().to_string(), sample().to_json().to_string());
}

#[test]
fn headline_rating_is_the_mean_over_games() {
    let report = sample();
    assert_eq!(report.headline.len(), 3);
    for row in &report.headline {
        let of = |game: &str| {
            let scale = report.scales.iter().find(|s| s.game == game).unwrap();
            scale.agents.iter().find(|a| a.name == row.name).unwrap()
        };
        let (t, k) = (of("tic_tac_toe"), of("kuhn_poker"));
        assert!((row.rating - (t.rating.unwrap() + k.rating.unwrap()) / 2.0).abs() < 1e-9);
        assert!(row.complete);
        if !t.fixed {
            let half = |a: &crate::scale::AgentRow| (a.high.unwrap() - a.low.unwrap()) / 2.0;
            let together = (half(t).powi(2) + half(k).powi(2)).sqrt() / 2.0;
            assert!((row.high.unwrap() - row.rating - together).abs() < 1e-9);
        }
    }
}

#[test]
fn headline_rating_is_complete_despite_an_unrated_game() {
    let mut records = Vec::new();
    for seed in 0..4 {
        for names in [["x", "random"], ["random", "x"]] {
            records.extend(["tic_tac_toe", "kuhn_poker", "hanabi"].map(|game| play(game, &names, seed)));
        }
    }
    let options = RatingOptions { resamples: 100, ..RatingOptions::default() };
    let report = Report::build(&verified(records), Vec::new(), options, ReportAbout::default());
    assert_eq!(report.scales.len(), 3);
    let shown: Vec<(&str, bool)> = report.headline.iter().map(|row| (&*row.name, row.complete)).collect();
    assert_eq!(shown.len(), 2);
    assert!(shown.iter().all(|row| row.1), "{shown:?}");
}

#[test]
fn discards_are_listed_by_agent() {
    let report = sample();
    let shown: Vec<(&str, u64)> = report.discards.iter().map(|d| (&*d.name, d.reasons["no_show"])).collect();
    assert_eq!(shown, [("<b>&co", 1), ("random", 1)]);
    assert_eq!(report.records, 48);
}

#[test]
fn empty_report_renders_as_a_page() {
    let report = Report::build::<GameResult>(&[], Vec::new(), RatingOptions::default(), ReportAbout::default());
    assert!(report.to_html().contains("nothing to rate"));
    assert_eq!((report.to_csv().lines().count(), report.period), (1, None));
}

#[test]
fn report_is_built_from_lines() {
    let good: Vec<String> = (0..3).map(|k| play("tic_tac_toe", &["a", "random"], k).to_line().unwrap()).collect();
    let changed = good[2].replace("\"ms\":", "\"ms\":1");
    let text = [&good[0][..], &good[1], "{", &changed].join("\n");
    let mut lines = ludex_referee::read::read_lines("x.jsonl", text.as_bytes());
    lines.append(RecordLines::of_store("store", [parts(&play("tic_tac_toe", &["random", "a"], 9))]));
    let verifier = Verifier::new(ludex_games::builtin());
    let options = RatingOptions { resamples: 0, ..RatingOptions::default() };
    let report = Report::verify(&verifier, lines, options, ReportAbout::default());
    let refused: Vec<String> = report.refused.iter().map(|r| r.source.to_string()).collect();
    assert_eq!((report.records, refused), (3, vec!["x.jsonl:3".to_owned(), "x.jsonl:4".to_owned()]));
    assert_eq!(report.scales[0].games, 3);
}

pub(crate) fn with_runs() -> Report {
    use ludex_referee::rating::table::Tally;
    let agent = |name: &str| HeadAgent {
        name: name.into(),
        record_name: name.into(),
        own_name: name.into(),
        spec: "llm model=m\u{202e}<i>".into(),
        wording: None,
        matches: 4,
        seconds: 6.0,
        model: vec![("Model".into(), "m".into()), ("Endpoint".into(), "a place".into())],
        cost: Some(HeadCost { calls: 7, tokens_in: 4321, tokens_out: 99, usd: 0.125, unpriced: 0, hours: 1.5 }),
        results: vec![HeadResult {
            part: "ttt".into(),
            tally: Tally { wins: 3, draws: 0, losses: 1 },
            score: Tally { wins: 3, draws: 0, losses: 1 }.score(),
            level: Some(2),
            ..HeadResult::default()
        }],
        ..HeadAgent::default()
    };
    let mean = |agent: &str, value| HeadMean { agent: agent.into(), parts: 2, value };
    let run = RunHead {
        run: "first".into(),
        suite: "quick".into(),
        version: 3,
        digest: "d1ge57".into(),
        agents: vec![agent("<b>&co"), agent("mcts, 100")],
        summaries: vec![HeadSummary {
            summary: "nra".into(),
            title: "NRA".into(),
            digits: 3,
            opponents: vec!["them".into()],
            scores: vec![mean("<b>&co", 0.25), mean("mcts, 100", -0.5)],
        }],
        transcripts: Some("transcripts-first".into()),
        matches: vec![HeadMatch {
            part: "ttt".into(),
            episode: "first.ttt.0-1.0.0".into(),
            what: "a 1 \u{2013} b 0".into(),
        }],
        ratings: true,
        ..RunHead::default()
    };
    let mut report = sample();
    report
        .scales
        .iter_mut()
        .filter(|scale| scale.game == "tic_tac_toe")
        .for_each(|scale| scale.part = Some("ttt".into()));
    report.with_runs(vec![run], vec![figure("other"), figure("table")], &|_, _| None)
}

fn figure(id: &str) -> RenderedFigure {
    RenderedFigure {
        id: id.into(),
        title: format!("Title of {id}"),
        headline: id == "table",
        kind: "table".into(),
        caption: String::new(),
        pages: Vec::new(),
        measures: Vec::new(),
    }
}

fn leaderboard(report: &Report) -> Option<&Grid> {
    let found = report.figures.iter().find(|figure| figure.id == "leaderboard")?;
    match &found.pages[0].data {
        Data::Grid(grid) => Some(grid),
        other => panic!("{other:?}"),
    }
}

#[test]
fn headline_of_the_suite_comes_first_and_ratings_may_be_omitted() {
    let report = with_runs();
    let ids = |report: &Report| report.figures.iter().map(|figure| figure.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&report), ["table", "overall", "leaderboard", "summaries", "cost", "frontier", "other"]);
    let html = report.to_html();
    let place = |text: &str| html.find(text).unwrap_or_else(|| panic!("{text}"));
    assert!(place("<h3>Title of table") < place("id=\"figure-leaderboard\""), "headline before the board");
    assert!(place("<h3>Title of other") < place("<h2 id=\"run-1\""), "figures before details");
    let mut runs = report.runs.clone();
    runs[0].ratings = false;
    let without = report.clone().with_runs(runs, vec![figure("table")], &|_, _| None);
    assert_eq!(ids(&without), ["table", "overall", "summaries", "cost", "frontier"]);
    assert!(!without.to_html().contains("Mean over games"));
}

#[test]
fn costs_are_means_per_match_and_stand_beside_the_score() {
    let report = with_runs();
    let data = |id: &str| &report.figures.iter().find(|figure| figure.id == id).unwrap().pages[0].data;
    let Data::Grid(grid) = data("cost") else { panic!("cost") };
    let names: Vec<&str> = grid.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["Score", "Matches", "Seconds", "Calls", "Tokens in", "Tokens out", "Dollars"]);
    let row: Vec<f64> = grid.cells[0].iter().map(|cell| cell.unwrap().value).collect();
    assert_eq!(row, [0.75, 4.0, 1.5, 1.75, 1080.25, 24.75, 0.03125]);
    let Data::Points(points) = data("frontier") else { panic!("frontier") };
    assert_eq!(
        (points.x.title.as_str(), points.groups.len(), points.frontier().collect::<Vec<_>>()),
        ("Cost per match", 2, vec![[0.03125, 0.75]])
    );
}

#[test]
fn links_have_the_names_of_the_run() {
    let report = with_runs();
    let mut runs = report.runs.clone();
    runs[0].agents[1].name = "mcts, 100 (person)".into();
    let html = report.clone().with_runs(runs, Vec::new(), &|_, _| None).to_html();
    assert!(html.contains("index.html#agent=mcts%2C%20100&amp;part=ttt\">"), "{html}");
    assert!(!html.contains("person%29"), "{html}");
}

#[test]
fn wordings_of_an_agent_share_a_row() {
    let report = with_runs();
    let mut runs = report.runs.clone();
    let wordings = runs[0].agents.iter_mut().zip(["plain", "other"]);
    wordings.for_each(|(agent, wording)| agent.wording = Some(["m".to_owned(), wording.to_owned()]));
    let report = report.clone().with_runs(runs, Vec::new(), &|_, _| None);
    let Data::Grid(grid) = &report.figures.iter().find(|figure| figure.id == "wordings").unwrap().pages[0].data else {
        panic!("grid")
    };
    let names: Vec<String> = grid.columns.iter().map(|column| column.full()).collect();
    let score = ["Score: Mean", "Score: SD by wording", "Score: SD by seed"];
    assert_eq!(names, [&["Wordings"], &score[..], &["NRA: Mean", "NRA: SD by wording"]].concat());
    assert_eq!(grid.rows, ["m"]);
    let row: Vec<f64> = grid.cells[0].iter().map(|cell| cell.unwrap().value).collect();
    // Both wordings have the score 0.75, so all variance is that of seeds.
    assert_eq!([row[0], row[1], row[2], row[4]], [2.0, 0.75, 0.0, -0.125]);
    assert!(row[3] > 0.0);
}

#[test]
fn frontier_uses_tokens_or_time_without_prices_and_groups_variants() {
    let report = with_runs();
    let title = |change: fn(&mut HeadAgent)| {
        let mut runs = report.runs.clone();
        runs[0].agents.iter_mut().for_each(change);
        let report = report.clone().with_runs(runs, Vec::new(), &|_, _| None);
        let Data::Points(points) = &report.figures.iter().find(|figure| figure.id == "frontier").unwrap().pages[0].data
        else {
            panic!("points")
        };
        (points.x.title.clone(), points.groups.iter().map(|group| group.name.clone()).collect::<Vec<_>>())
    };
    let unpriced = |agent: &mut HeadAgent| agent.cost.as_mut().unwrap().unpriced = 7;
    assert_eq!(title(unpriced).0, "Tokens per match");
    assert_eq!(title(|agent| agent.cost = None).0, "Time per match");
    let (_, groups) = title(|agent| agent.name = format!("m / {}", agent.name));
    assert_eq!(groups, ["m"]);
}

#[test]
fn best_agent_is_marked_only_if_its_paired_difference_excludes_zero() {
    let report = with_runs();
    let best = |low: f64| {
        let difference = |_: Option<&str>, _: [&str; 2]| Some(Interval { value: 0.5, low, high: 0.9 });
        let marked = report.clone().with_runs(report.runs.clone(), Vec::new(), &difference);
        let grid = leaderboard(&marked).unwrap();
        let rating = (0..grid.columns.len()).filter(|&c| ["Rating", "Score"].contains(&grid.columns[c].name.as_str()));
        rating.map(|c| grid.places(c)[0].is_some()).collect::<Vec<_>>()
    };
    assert!(best(-0.1).iter().all(|marked| !marked), "{:?}", best(-0.1));
    assert!(best(0.1).iter().any(|marked| *marked));
    let unpaired = leaderboard(&report).unwrap();
    assert!((0..unpaired.columns.len()).all(|c| unpaired.places(c) == [None; 2]));
}

#[test]
fn agent_that_lost_all_games_has_a_bound_and_no_rank() {
    let mut report = with_runs();
    let rated = |agent: &&mut AgentRow| agent.name == "mcts, 100";
    for agent in report.scales.iter_mut().flat_map(|scale| &mut scale.agents).filter(rated) {
        (agent.rating, agent.low, agent.high) = (Some(709.0), Some(-4.0), Some(1411.0));
        agent.bound = Some(Bound::Below);
    }
    report.headline.clear();
    let report = report.clone().with_runs(report.runs.clone(), Vec::new(), &|_, _| None);
    let grid = leaderboard(&report).unwrap();
    let row = grid.rows.iter().position(|row| row == "mcts, 100").unwrap();
    let column =
        (0..grid.columns.len()).find(|&c| grid.columns[c].name == "Rating" && grid.at(row, c).is_some()).unwrap();
    assert_eq!(grid.at(row, column).unwrap().bound(), Some(Bound::Below));
    let html = report.to_html();
    assert!(html.contains("&lt; 1411"), "{html}");
    assert!(report.to_csv().lines().any(|line| line.contains("mcts, 100") && line.ends_with(",below")));
}

/// Checks that scales of a part with a swept parameter are named by this parameter.
#[test]
fn scales_of_a_swept_part_are_named_by_the_parameter() {
    let mut report = sample();
    let [first, second] = [0, 1].map(|first| {
        let mut scale = report.scales[0].clone();
        (scale.part, scale.string) =
            (Some("towers".into()), format!("tower_defense(rounds=10,first={first},rules=paper)"));
        scale
    });
    report.scales = vec![first, second, report.scales[0].clone()];
    report.scales[2].part = Some("alone".into());
    assert_eq!(super::overview::names(&report.scales), ["towers (first=0)", "towers (first=1)", "alone"]);
}

#[test]
fn report_of_runs_has_details_leaderboard_contents_and_valid_links() {
    let report = with_runs();
    let html = report.to_html();
    for text in [
        "Run first",
        "version 3, digest <code>d1ge57</code>",
        "llm model=m\u{fffd}&lt;i&gt;",
        "7, with 4,321 tokens read and 99 written",
        "0.1250 US dollars; 1.5 hours of waiting",
        "id=\"figure-leaderboard\"",
        "<a href=\"#figure-leaderboard\">Leaderboard of all games</a>",
        "<a href=\"transcripts-first/index.html#agent=mcts%2C%20100&amp;part=ttt\">0.75",
        "<a href=\"transcripts-first/index.html#agent=mcts%2C%20100&amp;opponent=them\">\u{2212}0.500</a>",
        "<a href=\"transcripts-first&#x2f;m-first.ttt.0-1.0.0.html\">a 1 \u{2013} b 0</a>",
    ] {
        assert!(html.contains(text), "{text}\n{html}");
    }
    for outside in ["http", "src=", "<link", "<script", "@import", "url("] {
        assert!(!html.contains(outside), "{outside}: the page loads nothing");
    }
    // Every link target in the page exists.
    for link in html.split("href=\"#").skip(1) {
        let id = link.split('"').next().unwrap();
        assert!(html.contains(&format!("id=\"{id}\"")), "{id}");
    }
    let board = &report.figures.iter().find(|figure| figure.id == "leaderboard").unwrap().pages[0].data;
    let csv = board.to_csv();
    let mean = report.headline.iter().find(|row| row.name == "mcts, 100").unwrap().rating;
    assert!(csv.contains(&format!("\"mcts, 100\",all games,Rating,{mean},")), "{csv}");
    let needed = report.scales.iter().flat_map(|s| &s.agents).filter(|a| a.name == "mcts, 100");
    let needed = needed.filter_map(|a| a.blocks_for_30).max().unwrap();
    assert!(csv.contains(&format!("\"mcts, 100\",all games,Blocks for \u{b1}30,{needed},")), "{csv}");
    assert!(csv.contains("\"mcts, 100\",ttt,Level,2,"), "{csv}");
    assert!(!csv.contains("random,"), "only evaluated agents");
    // A part's column has the share of points from the run, and the summaries have the suite's means. A variant with a
    // single part is excluded.
    let mut studied = with_runs();
    let ran = &mut studied.runs[0].agents;
    ran[0].results.push(super::about::HeadResult { part: "other".into(), ..Default::default() });
    let left = studied.clone().with_runs(studied.runs.clone(), Vec::new(), &|_, _| None);
    assert_eq!(leaderboard(&left).unwrap().rows, ["<b>&co"]);
    let csv_of = |id: &str| report.figures.iter().find(|figure| figure.id == id).unwrap().pages[0].data.to_csv();
    assert!(csv_of("overall").contains("ttt,,\"mcts, 100\",0.75,"), "{}", csv_of("overall"));
    assert!(csv_of("summaries").contains("\"mcts, 100\",,NRA,-0.5,,,2"), "{}", csv_of("summaries"));
    assert!(html.contains("<a href=\"#figure-summaries\">Means over parts</a>"));
    let names: Vec<String> = report.files().into_iter().map(|(name, _)| name).collect();
    for name in
        ["report.html", "report.json", "figures/leaderboard.tex", "figures/leaderboard.csv", "figures/overall.svg"]
    {
        assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
    }
    assert_eq!(html, with_runs().to_html(), "the same input, the same page");
}

/// Checks that metrics without a number, and ratings of noncompetitive games, have no column.
#[test]
fn empty_columns_are_omitted() {
    let mut report = sample();
    let html = report.to_html();
    assert!(html.contains("Crosstable of") && html.contains("<th scope=\"col\">Score<br>"), "{html}");
    let none: Vec<_> = ludex_referee::metric::USUAL
        .iter()
        .filter(|m| !report.scales.iter().flat_map(|s| &s.agents).any(|agent| agent.metrics.contains_key(m.id)))
        .collect();
    assert!(!none.is_empty(), "the sample lacks some metric");
    for metric in none {
        assert!(!html.contains(&format!("<th scope=\"col\">{}<br>", metric.title)), "{}", metric.title);
    }
    for scale in &mut report.scales {
        scale.crosstable.iter_mut().flatten().for_each(|tally| *tally = Default::default());
    }
    let html = report.to_html();
    for text in ["Crosstable of", "Ratings of", "By seat:"] {
        assert!(!html.contains(text), "{text}");
    }
    assert!(html.contains("This game has no winners and losers"));
}

/// Checks that the table of contents comes first, and that a larger number of needed blocks is not highlighted as
/// better.
#[test]
fn contents_precede_runs_and_block_counts_are_not_highlighted() {
    let report = with_runs();
    let html = report.to_html();
    assert!(html.find("id=\"contents\"").unwrap() < html.find("id=\"run-1\"").unwrap());
    assert!(html.contains("<a href=\"#run-1\">Run first</a>"));
    let difference = |_: Option<&str>, _: [&str; 2]| Some(Interval { value: 0.5, low: 0.1, high: 0.9 });
    let report = report.clone().with_runs(report.runs.clone(), Vec::new(), &difference);
    let mut grid = leaderboard(&report).unwrap().clone();
    let at = grid.columns.iter().position(|column| column.name.starts_with("Blocks")).unwrap();
    let rating = grid.columns.iter().position(|column| column.name == "Rating").unwrap();
    for (row, value) in grid.cells.iter_mut().zip([10.0, 20.0]) {
        (row[at], row[rating]) = (
            Some(ludex_referee::metric::Measurement::plain(value, 1)),
            Some(ludex_referee::metric::Measurement::plain(value, 1)),
        );
    }
    assert_eq!((grid.places(at), grid.places(rating)), ([None; 2], [Some(20.0), Some(10.0)]));
}

/// Checks that shortened names of variants remain distinct, because variants differ at the ends of their names.
#[test]
fn long_names_keep_their_ends() {
    let mut report = sample();
    report.scales[0].agents[0].name = "anchor level=1 (cot_wordings: cot0)".to_owned();
    let html = report.to_html();
    assert!(html.contains(">anchor level\u{2026}dings: cot0)</text>"), "{html}");
}
