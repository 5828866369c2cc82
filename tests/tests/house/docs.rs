//! Completeness of the book: generated pages are current, every page is in the summary, and every link has a target.
//!
//! `tests/run --bless` regenerates the pages.

mod code;
mod links;
mod pages;
mod protocol;
mod suites;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Returns all files below `folder`, as relative paths with `/` as separator.
fn files(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut todo = vec![PathBuf::new()];
    while let Some(at) = todo.pop() {
        for entry in std::fs::read_dir(folder.join(&at)).unwrap() {
            let entry = entry.unwrap();
            let path = at.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                todo.push(path);
            } else {
                found.insert(path.to_str().unwrap().replace('\\', "/"));
            }
        }
    }
    found
}

#[test]
fn generated_files_are_current() {
    let root = root();
    let summary = "docs/SUMMARY.md";
    let mut made = pages::all();
    made.push((summary.to_owned(), pages::with_games(&read(&root.join(summary)))));
    let regenerate = std::env::var_os("LUDEX_REGENERATE").is_some();
    let mut stale = Vec::new();
    for (name, text) in &made {
        if regenerate {
            std::fs::write(root.join(name), text).unwrap();
        }
        if std::fs::read_to_string(root.join(name)).ok().as_ref() != Some(text) {
            stale.push(name.as_str());
        }
    }
    // Pages of removed games must be deleted.
    let known: BTreeSet<String> =
        made.iter().filter_map(|(n, _)| Some(n.strip_prefix("docs/games/")?.to_owned())).collect();
    let left = files(&root.join("docs/games"));
    for name in left.difference(&known) {
        if regenerate {
            std::fs::remove_file(root.join("docs/games").join(name)).unwrap();
        } else {
            stale.push(name);
        }
    }
    assert!(stale.is_empty(), "{}: run tests/run --bless and review the difference", stale.join(", "));
}

#[test]
fn every_page_is_in_the_summary() {
    let docs = root().join("docs");
    let listed: BTreeSet<String> = links::targets(&read(&docs.join("SUMMARY.md"))).into_iter().collect();
    let mut there = files(&docs);
    there.retain(|f| f.ends_with(".md") && f != "SUMMARY.md");
    assert_eq!(listed.symmetric_difference(&there).collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn links_have_targets() {
    let root = root();
    let mut pages: Vec<PathBuf> =
        ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSING.md", "SECURITY.md"].map(PathBuf::from).into();
    pages.extend(
        files(&root.join("docs")).into_iter().filter(|f| f.ends_with(".md")).map(|f| Path::new("docs").join(f)),
    );
    let mut broken = Vec::new();
    for page in &pages {
        for target in links::targets(&read(&root.join(page))) {
            if let Err(why) = links::resolve(&root, page, &target) {
                broken.push(format!("{}: {target}: {why}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
