use std::collections::BTreeMap;

use super::{Downloads, Site};
use crate::report::tests::with_runs;

fn site() -> BTreeMap<String, String> {
    let mut report = with_runs();
    report.runs[0].transcripts = Some("../../transcripts/first".to_owned());
    let mut other = report.clone();
    other.runs[0].suite = "other".to_owned();
    other.runs[0].agents[1].spec = "mcts sims=7".to_owned();
    let downloads = vec![Downloads { run: "first".to_owned(), files: vec!["data/first/moves.csv".to_owned()] }];
    let site = Site { title: "Three <boards>".to_owned(), suites: vec![report, other], downloads };
    site.files().into_iter().collect()
}

#[test]
fn pages_are_complete_escaped_and_load_nothing() {
    let files = site();
    for (name, page) in files.iter().filter(|(name, _)| name.ends_with(".html")) {
        assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"), "{name}: {page}");
        for outside in ["http", "src=", "<link", "<script", "@import", "url("] {
            assert!(!page.contains(outside), "{name}: {outside}");
        }
        assert!(!page.contains("<b>&co") && !page.contains("<boards>"), "{name}");
        for tag in ["section", "table", "tr", "dl", "p", "div"] {
            let open = page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
            assert_eq!(open, page.matches(&format!("</{tag}>")).count(), "{name}: {tag}");
        }
    }
    assert_eq!(files, site(), "equal input gives equal files");
}

#[test]
fn agents_with_equal_names_and_different_specs_have_separate_pages() {
    let files = site();
    let own: Vec<&String> = files.keys().filter(|name| name.starts_with("agents/mcts")).collect();
    let [_, page, _, other] = own.as_slice() else { panic!("{own:?}") };
    assert!(page.starts_with("agents/mcts__100-") && page.ends_with(".html") && page != other, "{own:?}");
    for page in [page, other] {
        assert!(files[*page].contains("2 agents have this name."), "{}", files[*page]);
        assert!(files["index.html"].contains(page.strip_prefix("agents/").unwrap()), "{page}");
    }
    assert!(files["index.html"].contains("2 agents have this name, with different specs"));
    // Equal names and specs are one agent, with its results of both suites.
    let page = &files["agents/b__co.html"];
    assert!(page.contains("id=\"quick-v3\"") && page.contains("id=\"other-v3\""), "{page}");
}

#[test]
fn model_card_has_the_numbers_of_the_report() {
    let files = site();
    let card = &files["agents/b__co.card.md"];
    let head = card.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).expect("front matter").0;
    assert!(head.starts_with("license: \"other\"\n") && head.contains("\nmodel-index:\n"), "{head}");
    let score = with_runs().runs[0].agents[0].results[0].score.unwrap();
    let rows =
        ["type: \"quick\"", "config: \"ttt\"", "value: 0.75", &format!("low: {}", score.low), "n: 4", "value: 2"];
    for row in rows {
        assert!(head.lines().any(|line| line.trim() == row), "{row}: {head}");
    }
    assert!(card.contains("| ttt | 3 | 0 | 1 | 0.750 |") && card.contains("## License"), "{card}");
}
