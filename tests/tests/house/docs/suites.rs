//! Pages of the suites: the tests and pages that the table rows name exist, and every figure is linked.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use ludex_referee::suite::Suite;

use super::{files, read, root};

const SUITES: [&str; 5] = ["advgamebench", "botzonebench", "gtbench", "llmarena", "qitown"];

/// Returns the cells of the columns titled "shown by".
fn shown_by(page: &str) -> Vec<&str> {
    let mut inside = false;
    let mut cells = Vec::new();
    for line in page.lines() {
        if line.ends_with("| shown by |") {
            inside = true;
        } else if !line.starts_with('|') {
            inside = false;
        } else if inside && !line.starts_with("|--") {
            cells.push(line.trim_end_matches('|').rsplit('|').next().unwrap_or_default().trim());
        }
    }
    cells
}

#[test]
fn table_row_links_have_targets() {
    let root = root();
    let crates = ["agents", "cli", "env", "games", "play", "protocol", "referee", "report", "server", "tests"];
    let mut source = String::new();
    for folder in crates {
        let rust = files(&root.join(folder)).into_iter().filter(|file| file.ends_with(".rs"));
        rust.for_each(|file| source += &read(&root.join(folder).join(file)));
    }
    let is_test = |name: &str| {
        let head = format!("fn {name}(");
        let found = source.match_indices(head.as_str()).map(|(at, _)| &source[..at]);
        found
            .map(|before| before.trim_end().lines().rev())
            .any(|mut lines| lines.by_ref().take(4).any(|line| line.trim() == "#[test]"))
    };
    let mut missing = String::new();
    for suite in SUITES {
        let page = read(&root.join(format!("docs/suites/{suite}.md")));
        let cells = shown_by(&page);
        assert!(cells.len() > 12, "{suite}: {} rows", cells.len());
        for cell in cells {
            let names: BTreeSet<&str> = cell.split('`').skip(1).step_by(2).collect();
            names.iter().filter(|name| !is_test(name)).for_each(|name| {
                let _ = writeln!(missing, "{suite}: expected the name of a test, got {name}");
            });
            if names.is_empty() && !cell.contains("](") {
                let _ = writeln!(missing, "{suite}: expected a test or a link in `shown by`, got {cell:?}");
            }
        }
    }
    assert!(missing.is_empty(), "{missing}");
}

/// Checks that the page of a suite links every figure, and that each stored complete run has a section with its
/// numbers.
#[test]
fn every_suite_figure_is_linked() {
    let root = root();
    for suite in SUITES {
        let page = read(&root.join(format!("docs/suites/{suite}.md")));
        let run = read(&root.join(format!("docs/suites/reports/{suite}.md")));
        for figure in Suite::parse(Suite::builtin_text(suite).unwrap(), &ludex_games::builtin()).unwrap().figures {
            let id = figure.id;
            let section = run.split("\n### ").find_map(|part| part.strip_prefix(&format!("Figure {id}\n")));
            let section = section.unwrap_or_else(|| panic!("{suite}: the run lacks {id}"));
            // Image strips have no numbers.
            let has_numbers = section.contains(&format!("({suite}/{id}.csv)")) || figure.kind == "strip";
            assert!(has_numbers, "{suite}: the numbers of {id} are missing");
            assert!(page.contains(&format!("#figure-{id})")), "{suite}: the page does not link {id}");
        }
    }
}
