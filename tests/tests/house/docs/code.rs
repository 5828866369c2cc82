//! Code in the book: every Rust fence is a doctest, the guide for new games names the methods of each trait, and the
//! architecture page names existing files and tests, as does the security page.

use std::collections::{BTreeMap, BTreeSet};

use super::{files, read, root};

/// Crate root whose doctests compile the pages.
const DOCTESTS: &str = "tests/src/lib.rs";

/// Guide for new games.
const GUIDE: &str = "docs/adding-a-game.md";

/// Page on the architecture.
const ARCHITECTURE: &str = "docs/architecture.md";

/// Page on threats and the tests of their protections.
const SECURITY: &str = "SECURITY.md";

/// Returns the texts between backticks.
fn in_code(text: &str) -> BTreeSet<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Returns the tests that `text` names and that no Rust file declares. A test has `_` in its name.
fn missing_tests(text: &str) -> Vec<String> {
    let rust = crate::files().into_iter().filter(|path| path.extension().is_some_and(|e| e == "rs"));
    let source: String = rust.map(|path| read(&root().join(path))).collect();
    let tests: Vec<String> = in_code(text).into_iter().filter(|name| name.contains('_')).collect();
    assert!(tests.len() > 30, "{tests:?}");
    tests.into_iter().filter(|test| !source.contains(&format!("fn {test}()"))).collect()
}

#[test]
fn every_rust_fence_is_a_doctest() {
    let doctests = read(&root().join(DOCTESTS));
    let mut faults = Vec::new();
    for page in files(&root().join("docs")).into_iter().filter(|file| file.ends_with(".md")) {
        let text = read(&root().join("docs").join(&page));
        let fences = || text.lines().filter_map(|line| line.trim_start().strip_prefix("```rust"));
        if fences().next().is_some() && !doctests.contains(&format!("include_str!(\"../../docs/{page}\")")) {
            faults.push(format!("docs/{page}: expected its fences among the doctests of {DOCTESTS}"));
        }
        let skipped = fences().filter(|attributes| !attributes.is_empty());
        faults.extend(skipped.map(|attributes| format!("docs/{page}: expected ```rust, got ```rust{attributes}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn guide_lists_all_methods_of_game_traits() {
    let guide = read(&root().join(GUIDE));
    let (_, methods) = guide.split_once("**The required methods:**").unwrap();
    let (methods, _) = methods.split_once("### Documents").unwrap();
    let mut listed: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for table in methods.split("| method of `").skip(1) {
        let (name, rows) = table.split_once('`').unwrap();
        let cells = rows.lines().filter_map(|line| line.strip_prefix("| `")?.split("` | ").next());
        listed.entry(name.to_owned()).or_default().extend(cells.flat_map(|cell| cell.split("`, `")));
    }
    let kernel = root().join("env/src");
    let is_trait = |file: &&String| *file == "game.rs" || file.starts_with("game/");
    let sources: Vec<String> = files(&kernel).iter().filter(is_trait).map(|file| read(&kernel.join(file))).collect();
    assert_eq!(listed.len(), 7, "{listed:?}");
    for (name, methods) in listed {
        let body = sources.iter().find_map(|source| Some(source.split_once(&format!("pub trait {name}: "))?.1));
        let body = body.unwrap_or_else(|| panic!("{GUIDE}: {name} is not a trait of games"));
        let (body, _) = body.split_once("\n}\n").unwrap();
        let declared = body.lines().filter_map(|line| line.strip_prefix("    fn ")?.split('(').next());
        assert_eq!(methods, declared.collect(), "{GUIDE}: methods of {name}");
    }
}

#[test]
fn architecture_page_mentions_only_existing_files_and_tests() {
    let page = read(&root().join(ARCHITECTURE));
    let paths: Vec<String> = crate::files().iter().map(|path| format!("/{}", path.display())).collect();
    let is_path =
        |name: &&String| [".rs", ".ts", ".py", "/"].iter().any(|end| name.ends_with(end)) && !name.contains(['<', ' ']);
    let exists = |name: &str| {
        let name = format!("/{name}");
        paths.iter().any(|path| path.ends_with(&name) || name.ends_with('/') && path.contains(&name))
    };
    let prose = page.split("```").step_by(2).collect::<String>();
    let mut missing: Vec<String> =
        in_code(&prose).iter().filter(is_path).filter(|name| !exists(name)).cloned().collect();
    let (_, invariants) = page.split_once("## Invariants").unwrap();
    let (invariants, _) = invariants.split_once("## Walks").unwrap();
    missing.extend(missing_tests(invariants));
    assert!(missing.is_empty(), "{ARCHITECTURE}: expected existing files and tests, got {missing:?}");
}

#[test]
fn security_page_mentions_only_existing_tests() {
    let page = read(&root().join(SECURITY));
    let (_, threats) = page.split_once("## Threats").unwrap();
    let (threats, _) = threats.split_once("## Known limits").unwrap();
    let missing = missing_tests(threats);
    assert!(missing.is_empty(), "{SECURITY}: expected existing tests, got {missing:?}");
}
