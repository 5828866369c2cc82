//! Static sites of runs: links, growth by bundles, equal bytes, agents with equal names, and cards.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use super::{Place, SUITE};

const HEADLINE: &str = r#"
[[figure]]
id = "scores"
title = "Scores"
kind = "table"
columns = "part"
cell = "score_rate"
margins = ["mean_column"]
"#;

/// Suite without a headline, and with names that pages must escape.
const OTHER: &str = r#"
name = "other"
version = 2
title = "Other <games> & more"
[[part]]
id = "lines"
game = "tic_tac_toe"
schedule = "against"
opponents = ["random"]
blocks = 2
"#;

/// Returns the files below a folder, with `/` as separator.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut found, mut open) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(at) = open.pop() {
        for path in fs::read_dir(at).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().replace('\\', "/");
                found.insert(name, fs::read(path).unwrap());
            }
        }
    }
    found
}

/// Returns the values of an attribute in a page, without character references.
fn attributes(page: &str, name: &str) -> Vec<String> {
    let start = format!("{name}=\"");
    let values = page.split(&start).skip(1).map(|rest| rest.split('"').next().unwrap());
    values.map(|value| value.replace("&#x2f;", "/").replace("&amp;", "&")).collect()
}

/// Returns the path of a link from a file, without `.` and `..`.
fn resolved(from: &str, to: &str) -> String {
    let mut path = PathBuf::from(from).parent().unwrap().to_owned();
    for part in Path::new(to).components() {
        match part {
            Component::ParentDir => assert!(path.pop(), "{from} links {to}, which is outside of the site"),
            Component::Normal(name) => path.push(name),
            other => panic!("{from} links {to}, which is not relative: {other:?}"),
        }
    }
    path.to_str().unwrap().replace('\\', "/")
}

/// Checks that each link of each page leads to a file of the site and to an anchor in it. Returns the linked files.
fn check_links(site: &BTreeMap<String, Vec<u8>>) -> BTreeSet<String> {
    let mut linked = BTreeSet::new();
    for (name, bytes) in site.iter().filter(|(name, _)| name.ends_with(".html")) {
        let page = String::from_utf8(bytes.clone()).unwrap();
        assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"), "{name}: {page}");
        for link in [attributes(&page, " href"), attributes(&page, " src")].concat() {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() { name.clone() } else { resolved(name, file) };
            let found = site.get(&target).unwrap_or_else(|| panic!("{name} links {link}, which is missing"));
            // The index of transcripts takes the anchor as its search.
            if !anchor.is_empty() && !target.starts_with("transcripts/") {
                let found = String::from_utf8_lossy(found);
                assert!(attributes(&found, " id").iter().any(|id| id == anchor), "{name} links {link}: no such anchor");
            }
            linked.insert(target);
        }
        let page = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!page.contains("http://") && !page.contains("https://"), "{name} names another host");
    }
    linked
}

fn head(card: &[u8]) -> String {
    let card = String::from_utf8(card.to_vec()).unwrap();
    card.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).expect("front matter").0.to_owned()
}

#[test]
fn site_grows_by_bundles_and_all_its_links_resolve() {
    let place = Place::new();
    fs::write(place.path("small.toml"), ["headline = \"scores\"\n", SUITE, HEADLINE].concat()).unwrap();
    fs::write(place.path("other.toml"), OTHER).unwrap();
    let first = place.evaluate("random", "a", &[]).json();
    place.evaluate("mcts sims=4", "b", &[]).json();
    place.ludex(&["evaluate", "--agent", "random", "--suite", "other.toml", "--run", "c"]).well();
    place.ludex(&["export", "b", "--bundle", "b.tar.gz"]).well();

    place.ludex(&["rate", "a", "--site", "site", "--title", "All games"]).well();
    place.ludex(&["rate", "b.tar.gz", "c", "--site", "site", "--title", "All games"]).well();
    let site = files(&place.path("site"));
    let linked = check_links(&site);
    for name in [
        "agents/random.html",
        "agents/random.card.md",
        "agents/mcts_sims_4.html",
        "suites/small-v1/index.html",
        "suites/other-v2/ratings.csv",
        "suites/small-v1/figures/scores.csv",
        "transcripts/a/index.html",
        "transcripts/b/index-1.js",
        "data/c/moves.csv",
        "bundles/b.tar.gz",
        "README.md",
    ] {
        assert!(linked.contains(name), "{name}");
    }
    assert_eq!(site["bundles/b.tar.gz"], fs::read(place.path("b.tar.gz")).unwrap());
    place.ludex(&["verify", "site/bundles/a.tar.gz"]).well();

    // The order of runs, and the way in which they come into the site, do not matter.
    place.ludex(&["rate", "c", "b", "a", "--site", "again", "--title", "All games"]).well();
    let again = files(&place.path("again"));
    assert_eq!(site.keys().collect::<Vec<_>>(), again.keys().collect::<Vec<_>>());
    for (name, bytes) in &site {
        assert!(*bytes == again[name], "{name} differs");
    }

    // The first page and the cards have the numbers of the run.
    let score = first["parts"].as_array().unwrap().iter().find(|part| part["part"] == "nim").unwrap()["score"].clone();
    let card = head(&site["agents/random.card.md"]);
    assert!(
        card.contains("model-index:") && card.contains("config: \"nim\"") && card.contains("type: \"small\""),
        "{card}"
    );
    for end in ["value", "low", "high"] {
        let number = score[end].as_f64().unwrap();
        assert!(card.lines().any(|line| line.trim() == format!("{end}: {number}")), "{end} {number}: {card}");
    }
    let readme = head(&site["README.md"]);
    for file in ["data/a/matches.csv", "data/b/moves.csv", "data/c/ratings.csv"] {
        assert!(readme.lines().any(|line| line.trim() == format!("- \"{file}\"")), "{file}: {readme}");
    }
    let mean: Value = serde_json::from_slice(&site["suites/small-v1/figures/scores.json"]).unwrap();
    let cells = mean["pages"][0]["data"]["cells"][0].as_array().unwrap();
    let shown = format!("{:.3}", cells.last().unwrap()["value"].as_f64().unwrap());
    let index = String::from_utf8(site["index.html"].clone()).unwrap();
    assert!(index.contains("All games") && index.contains(&format!(">{shown}<")), "{shown}: {index}");

    let err = place.ludex(&["rate", "a", "--site", "ludex-data"]);
    assert!(err.fails().contains("expected a new folder or a site with site.json, got ludex-data"), "{}", err.err);
    let err = place.ludex(&["rate", "a", "b.tar.gz", "b", "--site", "new"]);
    assert!(err.fails().contains("expected runs with different names, got b at "), "{}", err.err);
}

#[test]
fn agents_with_equal_names_and_different_specs_are_told_apart() {
    let place = Place::new();
    fs::write(place.path("small.toml"), ["headline = \"scores\"\n", SUITE, HEADLINE].concat()).unwrap();
    for (run, spec) in [("a", "random"), ("b", "mcts sims=4")] {
        place.ludex(&["agents", "add", "mine", "--spec", spec, "--replace"]).well();
        place.evaluate("mine", run, &[]).json();
    }
    place.ludex(&["rate", "a", "b", "--site", "site"]).well();
    let site = files(&place.path("site"));
    check_links(&site);
    let scores = String::from_utf8(site["suites/small-v1/figures/scores.csv"].clone()).unwrap();
    let index = String::from_utf8(site["index.html"].clone()).unwrap();
    for name in ["mine (random)", "mine (mcts sims=4)"] {
        assert!(
            scores.contains(&format!("\n{name},,nim,")) && index.contains(&format!(">{name}</a>")),
            "{name}: {scores}{index}"
        );
    }
    assert_eq!(index.matches("2 agents have this name, with different specs").count(), 2, "{index}");
    assert_eq!(site.keys().filter(|name| name.starts_with("agents/mine-") && name.ends_with(".html")).count(), 2);
}
