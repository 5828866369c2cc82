//! Rules for the repository that a program can check: licenses, direction of imports, layout of files.

mod circles;
mod docs;
mod imports;
mod language;
mod sizes;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Crates that each workspace member may import.
const IMPORTS: &[(&str, &[&str])] = &[
    ("ludex-protocol", &[]),
    ("ludex-env", &["ludex-protocol"]),
    ("ludex-games", &["ludex-protocol", "ludex-env"]),
    ("ludex-agents", &["ludex-protocol", "ludex-env", "ludex-games"]),
    // Tests of the referee load games.
    ("ludex-referee", &["ludex-protocol", "ludex-env", "ludex-games"]),
    ("ludex-client", &["ludex-protocol"]),
    ("ludex-report", &["ludex-protocol", "ludex-env", "ludex-games", "ludex-referee"]),
    (
        "ludex-play",
        &[
            "ludex-protocol",
            "ludex-env",
            "ludex-games",
            "ludex-agents",
            "ludex-referee",
            "ludex-report",
            "ludex-client",
        ],
    ),
    ("ludex-store", &[]),
    ("ludex-gym", &["ludex-protocol", "ludex-env", "ludex-games", "ludex-agents", "ludex-play", "ludex-store"]),
    ("ludex-pages", &["ludex-protocol", "ludex-referee", "ludex-report"]),
    (
        "ludex-arena",
        &[
            "ludex-protocol",
            "ludex-env",
            "ludex-games",
            "ludex-agents",
            "ludex-referee",
            "ludex-report",
            "ludex-play",
            "ludex-store",
            "ludex-gym",
        ],
    ),
    (
        "ludex-server",
        &[
            "ludex-protocol",
            "ludex-env",
            "ludex-games",
            "ludex-referee",
            "ludex-report",
            "ludex-client",
            "ludex-play",
            "ludex-store",
            "ludex-gym",
            "ludex-pages",
            "ludex-arena",
        ],
    ),
    ("ludex-doors", &["ludex-protocol", "ludex-client"]),
    ("ludex-conformance", &["ludex-protocol", "ludex-env", "ludex-games", "ludex-agents", "ludex-referee"]),
    ("ludex-fuzz", &["ludex-protocol", "ludex-env", "ludex-games", "ludex-referee", "ludex-report"]),
    ("own-game", &["ludex-env", "ludex-games", "ludex-agents", "ludex-referee", "ludex-server", "ludex-protocol"]),
    (
        "ludex-cli",
        &[
            "ludex-protocol",
            "ludex-env",
            "ludex-games",
            "ludex-agents",
            "ludex-referee",
            "ludex-report",
            "ludex-client",
            "ludex-play",
            "ludex-store",
            "ludex-gym",
            "ludex-arena",
            "ludex-server",
            "ludex-doors",
            "ludex-conformance",
        ],
    ),
    (
        "ludex-tests",
        &[
            "ludex-protocol",
            "ludex-env",
            "ludex-games",
            "ludex-agents",
            "ludex-referee",
            "ludex-report",
            "ludex-client",
            "ludex-play",
            "ludex-store",
            "ludex-arena",
            "ludex-server",
            "ludex-conformance",
            "ludex-cli",
            "own-game",
        ],
    ),
];

/// Members under permissive licenses.
const FREE: &[&str] = &["ludex-protocol", "ludex-client"];

/// Members that must not depend on crates for I/O.
const PURE: &[&str] = &["ludex-protocol", "ludex-env", "ludex-games", "ludex-referee", "ludex-report"];
const IO: &[&str] = &["tokio", "mio", "hyper", "axum", "tungstenite", "rusqlite", "rustls", "reqwest"];

/// Headings that the page of every game must have.
const HEADINGS: &[&str] = &["## Actions", "## Observation", "## Parameters and presets", "## Anchors", "## Versions"];

/// Extensions of files written by hand.
const SOURCES: &[&str] = &["rs", "py", "js", "mjs", "ts", "java", "sql", "html", "css", "sh", "md", "toml", "yml"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// Package from `cargo metadata`, with its dependencies.
struct Package {
    name: String,
    licence: String,
    manifest: PathBuf,
    /// Root source files of the package's libraries and binaries.
    roots: Vec<PathBuf>,
    /// Number of integration test targets.
    tests: usize,
    /// Ids of dependencies; true for dev-dependencies.
    needs: Vec<(String, bool)>,
}

impl Package {
    fn folder(&self) -> &Path {
        self.manifest.parent().unwrap()
    }
}

struct Workspace {
    packages: BTreeMap<String, Package>,
    members: Vec<String>,
}

impl Workspace {
    fn read() -> Self {
        let host = Command::new("rustc").arg("-vV").output().unwrap();
        let host = String::from_utf8(host.stdout).unwrap();
        let host = host.lines().find_map(|l| l.strip_prefix("host: ")).unwrap();
        // Without a network, dependencies for other platforms may be missing, so they are excluded.
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["metadata", "--format-version=1", "--offline", "--locked", "--filter-platform", host]);
        let out = cargo.current_dir(root()).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let all: Value = serde_json::from_slice(&out.stdout).unwrap();
        let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        let mut packages = BTreeMap::new();
        for p in all["packages"].as_array().unwrap() {
            let built = p["targets"].as_array().unwrap().iter().filter(|t| {
                let kinds = t["kind"].as_array().unwrap();
                kinds.iter().any(|k| k == "lib" || k == "bin")
            });
            let is_test = |t: &&Value| t["kind"].as_array().unwrap().iter().any(|k| k == "test");
            let package = Package {
                name: text(&p["name"]),
                licence: text(&p["license"]),
                manifest: text(&p["manifest_path"]).into(),
                roots: built.map(|t| text(&t["src_path"]).into()).collect(),
                tests: p["targets"].as_array().unwrap().iter().filter(is_test).count(),
                needs: Vec::new(),
            };
            packages.insert(text(&p["id"]), package);
        }
        for node in all["resolve"]["nodes"].as_array().unwrap() {
            let needs = node["deps"].as_array().unwrap().iter().flat_map(|d| {
                let id = text(&d["pkg"]);
                d["dep_kinds"].as_array().unwrap().iter().map(move |k| (id.clone(), k["kind"] == "dev"))
            });
            packages.get_mut(&text(&node["id"])).unwrap().needs = needs.collect();
        }
        let members = all["workspace_members"].as_array().unwrap().iter().map(text).collect();
        Workspace { packages, members }
    }

    fn members(&self) -> impl Iterator<Item = (&String, &Package)> {
        self.members.iter().map(|id| (id, &self.packages[id]))
    }

    /// Returns the ids of all packages that a package depends on, directly or indirectly. Dev-dependencies are included
    /// only if `tests` is true.
    fn behind(&self, id: &str, tests: bool) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        let mut todo: Vec<&str> = Vec::new();
        let own = self.packages[id].needs.iter().filter(|(_, dev)| tests || !dev);
        todo.extend(own.map(|(need, _)| need.as_str()));
        while let Some(id) = todo.pop() {
            if found.insert(id) {
                let needs = self.packages[id].needs.iter().filter(|(_, dev)| !dev);
                todo.extend(needs.map(|(need, _)| need.as_str()));
            }
        }
        found
    }
}

#[test]
fn every_workspace_member_has_import_rules() {
    let house = Workspace::read();
    let there: BTreeSet<&str> = house.members().map(|(_, p)| p.name.as_str()).collect();
    assert_eq!(there, IMPORTS.iter().map(|(name, _)| *name).collect());
}

#[test]
fn permissive_crates_do_not_depend_on_gpl_code() {
    let house = Workspace::read();
    for (id, member) in house.members() {
        if !FREE.contains(&member.name.as_str()) {
            assert_eq!(member.licence, "GPL-3.0-or-later", "{}", member.name);
            continue;
        }
        assert_eq!(member.licence, "MIT OR Apache-2.0", "{}", member.name);
        for need in house.behind(id, true) {
            let need = &house.packages[need];
            assert!(may_be_used_freely(&need.licence), "{} needs {}: {}", member.name, need.name, need.licence);
        }
    }
    let client = std::fs::read_to_string(root().join("clients/python/pyproject.toml")).unwrap();
    assert!(client.contains("license = \"MIT OR Apache-2.0\""));
}

/// Returns true if the licenses in an expression can be chosen without the GPL, LGPL or AGPL. Every part joined by
/// `AND` must offer such a choice.
fn may_be_used_freely(licence: &str) -> bool {
    !licence.is_empty()
        && licence.replace(['(', ')'], "").split(" AND ").all(|part| {
            part.split([' ', '/'])
                .filter(|word| !matches!(*word, "OR" | "WITH" | "LLVM-exception"))
                .any(|w| !w.contains("GPL"))
        })
}

#[test]
fn licence_expressions_are_parsed() {
    for (licence, free) in [
        ("MIT", true),
        ("MIT/Apache-2.0", true),
        ("Apache-2.0 WITH LLVM-exception OR MIT", true),
        ("MIT OR LGPL-2.1-or-later", true),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("GPL-3.0-or-later", false),
        ("MIT AND AGPL-3.0-only", false),
        ("", false),
    ] {
        assert_eq!(may_be_used_freely(licence), free, "{licence}");
    }
}

#[test]
fn crates_import_only_allowed_crates() {
    let house = Workspace::read();
    for (_, member) in house.members() {
        let (_, allowed) = IMPORTS.iter().find(|(name, _)| *name == member.name).unwrap();
        for (need, _) in &member.needs {
            let name = house.packages[need].name.as_str();
            // A crate may need itself, with features for its tests.
            let fine = !house.members.contains(need) || allowed.contains(&name) || name == member.name;
            assert!(fine, "{} imports {name}", member.name);
        }
    }
}

#[test]
fn pure_crates_do_not_depend_on_io_crates() {
    let house = Workspace::read();
    for (id, member) in house.members().filter(|(_, p)| PURE.contains(&p.name.as_str())) {
        for need in house.behind(id, false) {
            let name = house.packages[need].name.as_str();
            assert!(!IO.contains(&name), "{} needs {name}", member.name);
        }
    }
}

/// Maximum number of integration test targets. Each target links the tested crates again, which costs seconds per
/// build.
const MAX_TEST_TARGETS: usize = 14;

#[test]
fn integration_test_targets_stay_under_limit() {
    let targets: usize = Workspace::read().members().map(|(_, member)| member.tests).sum();
    assert!(targets <= MAX_TEST_TARGETS, "expected at most {MAX_TEST_TARGETS} integration test targets, got {targets}");
}

#[test]
fn crates_forbid_unsafe_code() {
    let house = Workspace::read();
    for (_, member) in house.members() {
        let manifest = std::fs::read_to_string(&member.manifest).unwrap();
        assert!(manifest.contains("[lints]\nworkspace = true"), "{} takes no lints from the workspace", member.name);
        for source in &member.roots {
            let text = std::fs::read_to_string(source).unwrap();
            assert!(text.contains("#![forbid(unsafe_code)]"), "{}", source.display());
        }
    }
}

/// Members whose crate documentation shows the main use in a doctest.
const FRONT_PAGES: &[&str] = &[
    "ludex-agents",
    "ludex-arena",
    "ludex-client",
    "ludex-conformance",
    "ludex-doors",
    "ludex-env",
    "ludex-games",
    "ludex-gym",
    "ludex-pages",
    "ludex-play",
    "ludex-referee",
    "ludex-report",
    "ludex-server",
    "ludex-store",
];

#[test]
fn crate_docs_show_main_use_in_doctest() {
    let house = Workspace::read();
    for (_, member) in house.members().filter(|(_, p)| FRONT_PAGES.contains(&p.name.as_str())) {
        let text = std::fs::read_to_string(member.folder().join("src/lib.rs")).unwrap();
        let fences: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("//! ```")).collect();
        let is_run = |fence: &&str| matches!(*fence, "" | "no_run" | "rust" | "rust,no_run");
        assert!(fences.first().is_some_and(is_run), "{}: no doctest on its front page", member.name);
    }
}

/// Returns all files of the project, relative to the root, except those that builds, tests and runs create.
fn files() -> Vec<PathBuf> {
    const LEFT_BEHIND: &[&str] = &["target", "node_modules", "dist", "ludex-data", "__pycache__"];
    let root = root();
    let mut found = Vec::new();
    let mut todo = vec![PathBuf::new()];
    while let Some(at) = todo.pop() {
        for entry in std::fs::read_dir(root.join(&at)).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let hidden = name.starts_with('.') && !matches!(name.as_str(), ".ci" | ".gitignore");
            if hidden || LEFT_BEHIND.contains(&name.as_str()) {
                continue;
            }
            let path = at.join(&name);
            if entry.file_type().unwrap().is_dir() { todo.push(path) } else { found.push(path) }
        }
    }
    assert!(found.len() > 100, "the project has more than {} files", found.len());
    found
}

#[test]
fn files_contain_no_paths_outside_the_project() {
    // Split in two parts, since this file is checked too.
    let foreign = [concat!("../", "shared"), concat!("/work", "/"), concat!("/root", "/")];
    for path in files() {
        let bytes = std::fs::read(root().join(&path)).unwrap();
        let Ok(text) = String::from_utf8(bytes) else { continue };
        for (n, line) in text.lines().enumerate() {
            if let Some(name) = foreign.iter().find(|f| line.contains(**f)) {
                panic!("{}:{}: names {name}", path.display(), n + 1);
            }
        }
    }
}

/// Checks that modules are files `foo.rs` next to folders `foo/`.
#[test]
fn modules_use_no_mod_rs_files() {
    let is_old = |p: &&PathBuf| p.ends_with("mod.rs");
    let all = files();
    let old: Vec<String> = all.iter().filter(is_old).map(|p| p.display().to_string()).collect();
    assert!(old.is_empty(), "expected `name.rs` next to the folder `name`, got {}", old.join(", "));
}

#[test]
fn source_files_stay_under_line_limit() {
    let written = |p: &PathBuf| p.extension().and_then(|e| e.to_str()).is_some_and(|e| SOURCES.contains(&e));
    let made = |p: &PathBuf| p.starts_with("tests/data");
    for path in files().iter().filter(|p| written(p) && !made(p)) {
        let text = std::fs::read_to_string(root().join(path)).unwrap();
        if text.lines().take(4).any(|line| line.contains("Generated ")) {
            continue;
        }
        let lines = text.lines().count();
        assert!(lines <= 1000, "{} has {lines} lines: split it", path.display());
    }
}

#[test]
fn every_game_has_a_page() {
    let folder = root().join("games/src");
    let book = std::fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    for game in ludex_games::games() {
        let page = std::fs::read_to_string(folder.join(format!("{}.md", game.info.id))).unwrap();
        assert_eq!(page, game.info.page, "{}", game.info.id);
        assert!(
            page.starts_with(&format!("# {}\n", game.info.title)),
            "{}: the page's title is the game's",
            game.info.id
        );
        let headings: Vec<&str> = page.lines().filter(|l| l.starts_with("## ")).collect();
        let wanted: Vec<&str> = headings.iter().copied().filter(|h| HEADINGS.contains(h)).collect();
        assert_eq!(wanted, HEADINGS, "{}: the headings of its page, in order", game.info.id);
        let history = page.split("## Versions").nth(1).unwrap();
        let last = history.lines().rev().find(|l| l.starts_with(|c: char| c.is_ascii_digit())).unwrap_or_default();
        assert!(
            last.starts_with(&format!("{}.", game.info.rules)),
            "{}: rules version {} is not the last",
            game.info.id,
            game.info.rules
        );
        assert!(book.contains(&format!("(games/{}.md)", game.info.id)), "{} is not in the book", game.info.id);
    }
    // A page without a game is an error.
    for file in std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
        if file.extension().is_some_and(|e| e == "md") {
            let id = file.file_stem().unwrap().to_str().unwrap();
            assert!(ludex_games::games().iter().any(|g| g.info.id == id), "{id} is not a game of the registry");
        }
    }
}

#[test]
fn readme_has_only_demo_and_test_commands() {
    let read = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    let readme = read("README.md");
    let commands: Vec<&str> =
        readme.split("```sh\n").skip(1).flat_map(|block| block.split("```").next().unwrap().lines()).collect();
    let words: Vec<&str> = commands.iter().map(|line| line.split('#').next().unwrap().trim()).collect();
    assert_eq!(words, ["cargo run --release -- demo", "tests/run"]);
    let manifest = read("Cargo.toml");
    let rust = manifest.lines().find_map(|l| l.strip_prefix("rust-version = ")).unwrap().trim_matches('"');
    assert!(readme.contains(&format!("Rust >= {rust}")), "the README names another Rust than {rust}");
}
