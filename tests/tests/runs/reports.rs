//! Reports of runs: several runs in one leaderboard, figures, transcripts, and equal numbers in every format.

use std::fs;

use serde_json::Value;

use super::{Place, SUITE};

const FIGURES: &str = r#"
[[figure]]
id = "scores"
title = "Scores"
kind = "table"
columns = "part"
cell = "score_rate"
margins = ["mean"]
highlight = "best"

[[figure]]
id = "boards"
title = "Boards"
kind = "strip"
part = "four"

[[figure]]
id = "effort"
title = "Length and score"
kind = "scatter"
pages = "part"
x = "length"
y = "score_rate"
"#;

fn read_in(place: &Place, folder: &str) -> String {
    fs::read_to_string(place.path(folder).join("report.html")).unwrap()
}

/// Checks that a record of a different rules version is not counted. The report names the record, and a run that
/// contains the record cannot be continued.
#[test]
fn record_of_different_rules_version_is_not_counted() {
    let place = Place::new();
    fs::write(place.path("small.toml"), SUITE).unwrap();
    let line = ["evaluate", "--agent", "random", "--suite", "small.toml", "--run", "a", "--json"];
    let all = place.ludex(&line).json()["matches"].as_u64().unwrap();
    let file = place.of_run("a", "episodes.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    let record: Value = serde_json::from_str(first).unwrap();
    let rules = record["rules"].as_u64().unwrap();
    fs::write(&file, format!("{}\n{rest}", first.replacen(&format!("\"rules\":{rules}"), "\"rules\":99", 1))).unwrap();
    let ran = place.ludex(&["rate", "a", "--report", "r", "--json"]);
    let page = read_in(&place, "r");
    assert!(page.contains(&format!("{} verified episodes", all - 1)) && page.contains("1 refused"), "{}", ran.err);
    assert!(page.contains("got rules 99"), "the report states the reason");
    let again = place.ludex(&line);
    assert!(again.fails().contains("rules 99"), "{}{}", again.out, again.err);
}

#[test]
fn report_combines_two_runs() {
    let place = Place::new();
    fs::write(place.path("small.toml"), ["headline = \"scores\"\n", SUITE, FIGURES].concat()).unwrap();
    let all = [place.evaluate("random", "a", &[]).json(), place.evaluate("mcts sims=4", "b", &[]).json()];
    // Each run has a separate report.
    let own = fs::read_to_string(place.of_run("a", "report.html")).unwrap();
    assert!(own.contains("Run a") && own.contains("id=\"figure-scores\"") && !own.contains("transcripts-"));
    assert!(place.of_run("a", "figures/scores.csv").exists());

    // The figure that the suite names as its headline precedes the board.
    let [headline, board] =
        ["figure-scores", "figure-leaderboard"].map(|id| own.find(&format!("id=\"{id}\"")).unwrap());
    assert!(headline < board);
    // A metric of records that belong to a run would be a different number.
    let rate = |more: &[&str]| place.ludex(&[&["rate"], more, &["--metric", "score_rate", "--json"]].concat());
    let ran = rate(&["ludex-data/runs/a/episodes.jsonl"]);
    let err = ran.fails();
    assert!(err.contains("belong to the run \"a\", whose plan decides what counts"), "{err}");
    let value = |told: &Value| told["values"][0]["value"].clone();
    assert_eq!(value(&rate(&["a"]).json()), value(&rate(&["ludex-data/runs/a"]).json()));
    for (condition, why) in [
        ("opponent=@missing", "where: unknown role \"missing\""),
        ("opponent=missing", "where: unknown opponent \"missing\""),
        ("color=red", "where: unknown field"),
    ] {
        let ran = rate(&["a", "--where", condition]);
        let err = ran.fails();
        assert!(err.contains(why), "{err}");
    }

    let files = place.ludex(&["rate", "a", "b", "--report", "both", "--json"]).json();
    let files: Vec<&str> = files["files"].as_array().unwrap().iter().map(|file| file.as_str().unwrap()).collect();
    assert!(files.iter().all(|file| place.path(file).is_file()), "{files:?}");
    let read = |name: &str| fs::read_to_string(place.path("both").join(name)).unwrap();
    let page = read("report.html");
    for text in
        ["Run a", "Run b", "version 1, digest", "id=\"figure-leaderboard\"", "id=\"figure-overall\"", "mcts sims=4"]
    {
        assert!(page.contains(text), "{text}");
    }
    // The XML namespace of a format is not an address that browsers load.
    let bare = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for outside in ["http", "src=", "<link", "<script", "@import", "url("] {
        assert!(!bare.contains(outside), "{outside}: the page loads external files");
    }
    // The numbers equal those of the runs.
    let scores = read("figures/scores.csv");
    let leaders = read("figures/leaderboard.csv");
    for run in &all {
        for row in run["parts"].as_array().unwrap() {
            let (agent, part) = (row["agent"].as_str().unwrap(), row["part"].as_str().unwrap());
            let value = row["score"]["value"].as_f64().unwrap();
            assert!(scores.contains(&format!("{agent},,{part},{value},")), "{agent} {part} {value}\n{scores}");
            assert!(leaders.contains(&format!("{agent},{part},Score,{value},")), "{agent} {part} {value}\n{leaders}");
        }
    }
    let json: Value = serde_json::from_str(&read("figures/scores.json")).unwrap();
    assert_eq!(json["pages"][0]["data"]["rows"], serde_json::json!(["random", "mcts sims=4", "mean"]));
    assert!(read("figures/scores.tex").contains("\\begin{tabular}{lrrr}"));
    assert!(read("figures/boards.json").contains("<svg"), "the games have pictures");
    assert!(read("figures/effort-four.svg").starts_with("<svg xmlns="));

    // Each link leads to a match in the transcripts.
    let mut links = 0;
    for run in ["a", "b"] {
        let folder = format!("transcripts-{run}");
        let rows = read(&format!("{folder}/index-1.js"));
        for link in page.split(&format!("href=\"{folder}&#x2f;m-")).skip(1) {
            let file = format!("m-{}", link.split('"').next().unwrap());
            let episode = file.strip_prefix("m-").unwrap().strip_suffix(".html").unwrap();
            assert!(read(&format!("{folder}/{file}")).contains(&format!("<section id=\"{episode}\"")), "{episode}");
            assert!(rows.contains(&format!("\"file\":\"{file}\"")), "{file}");
            links += 1;
        }
        let index = read(&format!("{folder}/index.html"));
        assert!(index.contains("<script src=\"index-1.js\">") && !index.contains("http"), "{index}");
    }
    assert_eq!(links, all.iter().map(|run| run["matches"].as_u64().unwrap()).sum::<u64>());

    // Files that cannot be read are reported.
    let suite = place.of_run("b", "suite.toml");
    let text = fs::read_to_string(&suite).unwrap();
    fs::write(&suite, "name = 1").unwrap();
    place.ludex(&["rate", "b", "--report", "alone"]).well();
    assert!(read_in(&place, "alone").contains("b: the matches are rated without a plan"));
    fs::write(&suite, text).unwrap();

    place.ludex(&["rate", "a", "b", "--report", "again"]).well();
    let again = read_in(&place, "again");
    assert_eq!(page.replace("both", "again"), again, "equal runs give equal pages");

    assert!(
        place.ludex(&["rate", "a", "b", "--game", "nim", "--report", "no"]).fails().contains("--game: expected files")
    );
    fs::write(place.path("small.toml"), [SUITE, &FIGURES.replace("scatter", "scater")].concat()).unwrap();
    let wrong = place.evaluate("random", "c", &[]);
    assert!(
        wrong.fails().contains("figure \"effort\": unknown kind \"scater\"; did you mean scatter?"),
        "{}",
        wrong.err
    );
}
