//! Suites of published evaluations, shortened but complete: two built-in agents and two stubs of language models play
//! them. One stub is strong and answers in JSON, the other is weak and answers in prose with faults.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use ludex_referee::metric::{Metric, MetricQuery, MetricScope, MetricSpec};
use ludex_referee::suite::Suite;
use serde_json::Value;

use super::models::Stub;
use super::{Place, table};

/// Shortened version of a suite.
struct Small {
    suite: &'static str,
    /// Replacements in the suite's text that shorten it.
    edits: &'static [(&'static str, &'static str)],
    /// Parts to play. If the list is empty, all parts are played.
    only: &'static [&'static str],
    /// Metrics without a value in a run of this size: part, metric, reason.
    unmeasured: &'static [(&'static str, &'static str, &'static str)],
    /// Figures without numbers in a run of this size, with the reason.
    empty: &'static [(&'static str, &'static str)],
}

impl Small {
    fn play(&self) {
        let place = Place::new();
        let strong = Stub::start(&place, &["--agent", "anchor level=1", "--out-tokens", "5"]);
        let weak = Stub::start(
            &place,
            &["--agent", "random", "--prose", "0.05", "--malformed", "0.05", "--empty", "0.02", "--out-tokens", "5"],
        );
        let models = [
            strong.model("strong", "format=schema price_in=1 price_out=4"),
            weak.model("weak", "format=text price_in=1 price_out=4"),
        ];
        let mut text = Suite::builtin_text(self.suite).unwrap().to_owned();
        for (from, to) in self.edits {
            assert!(text.contains(from), "{from}");
            text = text.replace(from, to);
        }
        fs::write(place.path("suite.toml"), &text).unwrap();
        let mut line = vec!["evaluate", "--suite", "suite.toml", "--scale", "0.02", "--run", "r", "--json"];
        for agent in ["random", "anchor level=1", &models[0], &models[1]] {
            line.extend(["--agent", agent]);
        }
        self.only.iter().for_each(|part| line.extend(["--part", part]));
        let ran = place.ludex(&line);
        let all = ran.json();
        assert_eq!(all["end"], "done", "{}", ran.err);

        let suite = Suite::parse(&text, &ludex_games::builtin()).unwrap();
        // A stub labels a sample, so that the figures of labels have numbers.
        for rubric in &suite.rubrics {
            let line = ["label", "r", "--rubric", &rubric.id, "--judge", &models[0], "--sample", "30"];
            assert!(place.ludex(&line).well().contains("by judge:strong"));
        }
        self.kept_report_has_the_numbers_of_the_run(&suite, &place);
        self.metrics(&suite, &all);
        self.rated_metrics_equal_those_of_the_run(&suite, &all, &place);
        self.figures(&suite, &place);

        // Finished matches are not repeated, and the stored matches are the whole plan.
        let again = place.ludex(&line);
        let shown = place.ludex(&line.iter().copied().filter(|word| *word != "--json").collect::<Vec<_>>());
        let shown = shown.well();
        assert!(shown.lines().count() <= 40, "{shown}");
        assert_eq!((again.json()["played"].as_u64(), table(&again)), (Some(0), table(&ran)));
        assert!(place.ludex(&["verify", "r"]).well().contains("complete: all "));
    }

    /// Checks that each metric of a part has a value for at least one agent.
    fn metrics(&self, suite: &Suite, all: &Value) {
        let mut without = BTreeSet::new();
        for part in suite.parts.iter().filter(|part| self.plays(&part.id)) {
            let rows = all["parts"].as_array().unwrap().iter().filter(|row| row["part"] == part.id.as_str());
            let rows: Vec<&Value> = rows.collect();
            assert!(rows.len() > 3, "{}: {} rows", part.id, rows.len());
            for ask in &part.metrics {
                let name = ask.to_string();
                let has = |row: &&Value| !row["metrics"][&name].is_null() || !row["values"][&name].is_null();
                let enough = match Metric::find(&ask.id).unwrap().scope {
                    MetricScope::Agent => rows.iter().any(has),
                    _ => rows.iter().all(has),
                };
                if !enough {
                    without.insert((part.id.clone(), name));
                }
            }
        }
        let known = self.unmeasured.iter().map(|(part, metric, _)| ((*part).to_owned(), (*metric).to_owned()));
        assert_eq!(without, known.collect::<BTreeSet<_>>(), "metrics without a value");
    }

    /// Checks that a report as a Markdown page, as kept in docs/suites/reports, has the headline first and equal numbers.
    fn kept_report_has_the_numbers_of_the_run(&self, suite: &Suite, place: &Place) {
        place.ludex(&["rate", "r", "--report", "kept.md", "--title", "Kept"]).well();
        let page = fs::read_to_string(place.path("kept.md")).unwrap();
        let first = page.split("\n### Figure ").nth(1).unwrap().lines().next();
        assert_eq!(first, suite.headline.as_deref(), "{page}");
        for figure in suite.figures.iter().filter(|figure| figure.kind != "strip") {
            let kept = fs::read_to_string(place.path(&format!("kept/{}.csv", figure.id))).unwrap();
            // A figure with several drawings has one file for each in the folder of the run.
            if let Ok(own) = fs::read_to_string(place.of_run("r", &format!("figures/{}.csv", figure.id))) {
                assert_eq!(kept, own, "{}", figure.id);
            } else {
                assert!(kept.starts_with("page,"), "{}: {kept}", figure.id);
            }
            assert!(page.contains(&format!("\n### Figure {}\n", figure.id)), "{}", figure.id);
        }
    }

    /// Checks that `ludex rate RUN --metric` prints the numbers of the run, for each metric of the suite.
    fn rated_metrics_equal_those_of_the_run(&self, suite: &Suite, all: &Value, place: &Place) {
        let parts = suite.parts.iter().filter(|part| self.plays(&part.id));
        let asks: BTreeMap<String, &MetricSpec> =
            parts.flat_map(|part| &part.metrics).map(|ask| (ask.to_string(), ask)).collect();
        let mut compared = 0;
        for (name, ask) in &asks {
            let args: Vec<String> = ask.to_string().split(' ').skip(1).map(str::to_owned).collect();
            let mut line = vec!["rate", "r", "--json", "--metric", &ask.id];
            args.iter().for_each(|arg| line.extend(["--metric-arg", arg]));
            let rated = place.ludex(&line).json();
            for one in rated["values"].as_array().unwrap().iter().filter(|one| one["kind"] == "number") {
                let same = |row: &&Value| row["part"] == one["part"] && row["agent"] == one["agent"];
                let row = all["parts"].as_array().unwrap().iter().find(same);
                let Some(own) = row.map(|row| &row["metrics"][name]).filter(|own| !own.is_null()) else { continue };
                assert_eq!(own, &one["value"], "{name} of {} in {}", one["agent"], one["part"]);
                compared += 1;
            }
        }
        assert!(compared >= asks.len(), "{compared} numbers of {} metrics", asks.len());
        // Without arguments, each part is measured in the form that it names first.
        let with_args = asks.values().filter(|ask| !ask.args.is_empty());
        let ids: BTreeSet<&str> =
            with_args.map(|ask| ask.id.as_str()).filter(|id| MetricQuery::parse(id).is_ok()).collect();
        for id in ids {
            let rated = place.ludex(&["rate", "r", "--json", "--metric", id]).json();
            for one in rated["values"].as_array().unwrap().iter().filter(|one| one["kind"] == "number") {
                let part = suite.parts.iter().find(|part| one["part"] == part.id.as_str()).unwrap();
                let Some(ask) = part.metrics.iter().find(|ask| ask.id == id) else { continue };
                let same = |row: &&Value| row["part"] == one["part"] && row["agent"] == one["agent"];
                let row = all["parts"].as_array().unwrap().iter().find(same).unwrap();
                assert_eq!(row["metrics"][&ask.to_string()], one["value"], "{ask} of {} in {}", one["agent"], part.id);
            }
        }
    }

    /// Checks that each figure has numbers and is drawn.
    fn figures(&self, suite: &Suite, place: &Place) {
        let page = fs::read_to_string(place.of_run("r", "report.html")).unwrap();
        let mut empty = BTreeSet::new();
        for figure in &suite.figures {
            assert!(page.contains(&format!("id=\"figure-{}\"", figure.id)), "{} is not in the report", figure.id);
            let file = fs::read_to_string(place.of_run("r", &format!("figures/{}.json", figure.id))).unwrap();
            let drawn: Value = serde_json::from_str(&file).unwrap();
            let pages = drawn["pages"].as_array().unwrap();
            if pages.iter().all(|page| is_empty(&page["data"])) {
                empty.insert(figure.id.clone());
            }
        }
        let known = self.empty.iter().map(|(figure, _)| (*figure).to_owned());
        assert_eq!(empty, known.collect::<BTreeSet<_>>(), "figures without numbers");
    }

    fn plays(&self, part: &str) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }
}

/// Returns true if a figure has no data.
fn is_empty(data: &Value) -> bool {
    let none = |list: &Value| list.as_array().is_none_or(Vec::is_empty);
    match data["shape"].as_str().unwrap() {
        "grid" => data["cells"].as_array().unwrap().iter().flat_map(|row| row.as_array().unwrap()).all(Value::is_null),
        "lines" => none(&data["lines"]),
        "boxes" => none(&data["boxes"]),
        "points" => none(&data["groups"]),
        "arrows" => none(&data["nodes"]),
        "strip" => none(&data["pictures"]),
        other => panic!("{other}"),
    }
}

#[test]
fn botzonebench_is_playable() {
    let small = Small { suite: "botzonebench", edits: &[], only: &[], unmeasured: &[], empty: &[] };
    small.play();
}

#[test]
fn gtbench_is_playable() {
    let small = Small { suite: "gtbench", edits: &[("sims=1000", "sims=20")], only: &[], unmeasured: &[], empty: &[] };
    small.play();
}

#[test]
fn llmarena_is_playable() {
    let small = Small {
        suite: "llmarena",
        edits: &[(
            "games = 50, sigma = 1.5, change = 0.25, over = 10, most = 400",
            "games = 4, sigma = 9, change = 9, over = 2, most = 8",
        )],
        only: &[],
        unmeasured: &[],
        empty: &[],
    };
    small.play();
}

#[test]
fn advgamebench_is_playable() {
    Small { suite: "advgamebench", edits: &[], only: &[], unmeasured: &[], empty: &[] }.play();
}

#[test]
fn qitown_is_playable() {
    Small { suite: "qitown", edits: &[], only: &[], unmeasured: &[], empty: &[] }.play();
}
