//! Imports between the modules of a crate, read from its sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Segments of a path that starts at the crate root.
pub type Segments = Vec<String>;

/// Modules imported by each module of one level, with one reason for each import: the file and the imported name.
pub type Floor = BTreeMap<String, BTreeMap<String, String>>;

/// Names used in one file.
#[derive(Default)]
struct File {
    /// Names imported by `use`, with their origins.
    names: BTreeMap<String, Segments>,
    paths: BTreeSet<Segments>,
    /// Child modules that are compiled for tests only.
    tests: BTreeSet<String>,
}

/// Returns all levels of the crate with this source folder. The key is the module whose children are listed.
pub fn floors(src: &Path) -> BTreeMap<Segments, Floor> {
    let mut files = BTreeMap::new();
    read_folder(src, &Vec::new(), &mut files);
    lean(&files)
}

fn read_folder(folder: &Path, module: &Segments, files: &mut BTreeMap<Segments, File>) {
    for entry in std::fs::read_dir(folder).unwrap().map(|e| e.unwrap()) {
        let path = entry.path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            read_folder(&path, &child(module, &stem), files);
        } else if path.extension().is_some_and(|e| e == "rs") && !(module.is_empty() && stem == "main") {
            let own = matches!(stem.as_str(), "lib" | "mod");
            let module = if own { module.clone() } else { child(module, &stem) };
            let text = std::fs::read_to_string(&path).unwrap();
            let tokens: TokenStream = text.parse().unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let mut file = File::default();
            file.read(tokens, &module, true);
            files.insert(module, file);
        }
    }
}

fn child(module: &Segments, name: &str) -> Segments {
    module.iter().cloned().chain([name.trim_start_matches("r#").to_owned()]).collect()
}

impl File {
    /// Reads code in `module`. If `own` is true, the file defines this module; otherwise, it is an inline module in the
    /// file.
    fn read(&mut self, tokens: TokenStream, module: &Segments, own: bool) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            let word = tokens[at].to_string();
            let next = tokens.get(at + 1);
            if word == "#" && next.is_some_and(|t| t.to_string().replace(' ', "") == "[cfg(test)]") {
                let end = item_end(&tokens, at + 2);
                if let Some(name) = word_after(&tokens[at + 2..end], "mod") {
                    self.tests.insert(name);
                }
                at = end;
            } else if word == "use" && matches!(tokens[at], TokenTree::Ident(_)) {
                let end = item_end(&tokens, at + 1);
                self.read_use(&tokens[at + 1..end], &Vec::new(), module, own);
                at = end;
            } else if let (true, Some(TokenTree::Ident(name)), Some(TokenTree::Group(body))) =
                (word == "mod", next, tokens.get(at + 2))
            {
                self.read(body.stream(), &child(module, &name.to_string()), false);
                at += 3;
            } else if let TokenTree::Group(group) = &tokens[at] {
                self.read(group.stream(), module, own);
                at += 1;
            } else {
                let (path, length) = path_at(&tokens[at..]);
                self.name(&path, module);
                // Serde attributes name functions in string literals.
                let quoted = word.trim_matches('"').split("::").map(str::to_owned).collect();
                self.name(&quoted, module);
                at += length.max(1);
            }
        }
    }

    /// Records `path`, which occurs in `module`, if the path starts at the crate root or in `module`.
    fn name(&mut self, path: &Segments, module: &Segments) {
        if path.len() > 1 && matches!(path[0].as_str(), "crate" | "self" | "super") {
            self.paths.insert(from_root(path, module));
        }
    }

    fn read_use(&mut self, tree: &[TokenTree], before: &Segments, module: &Segments, own: bool) {
        let (path, length) = path_at(tree);
        let path: Segments = before.iter().cloned().chain(path).collect();
        match tree.get(length) {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                for tree in inner.split(|t| t.to_string() == ",").filter(|tree| !tree.is_empty()) {
                    self.read_use(tree, &path, module, own);
                }
            }
            after => {
                let renamed = after.is_some_and(|t| t.to_string() == "as").then(|| tree[length + 1].to_string());
                let full = from_root(&path, module);
                if let (true, Some(name)) = (own, renamed.or_else(|| full.last().cloned())) {
                    self.names.insert(name, full.clone());
                }
                self.paths.insert(full);
            }
        }
    }
}

/// Returns the index of the token that follows the item at `at`. An item ends with a body in braces or with a
/// semicolon.
fn item_end(tokens: &[TokenTree], at: usize) -> usize {
    let is_use = tokens[at - 1].to_string() == "use";
    let last = tokens[at..].iter().position(|t| match t {
        TokenTree::Group(g) => g.delimiter() == Delimiter::Brace && !is_use,
        t => t.to_string() == ";",
    });
    last.map_or(tokens.len(), |n| at + n + 1)
}

fn word_after(tokens: &[TokenTree], word: &str) -> Option<String> {
    let at = tokens.iter().position(|t| t.to_string() == word)?;
    tokens.get(at + 1).map(ToString::to_string)
}

/// Returns the path at the start of the tokens (`a::b`) and the number of its tokens, including a trailing `::`.
fn path_at(tokens: &[TokenTree]) -> (Segments, usize) {
    let mut path = Vec::new();
    let mut at = 0;
    while let Some(TokenTree::Ident(name)) = tokens.get(at) {
        path.push(name.to_string().trim_start_matches("r#").to_owned());
        at += 1;
        let colons = tokens.get(at..at + 2).is_some_and(|t| t.iter().all(|t| t.to_string() == ":"));
        if !colons {
            break;
        }
        at += 2;
    }
    (path, at)
}

fn from_root(path: &Segments, module: &Segments) -> Segments {
    let mut full = module.clone();
    for (n, name) in path.iter().enumerate() {
        match name.as_str() {
            "crate" if n == 0 => full.clear(),
            "self" => {}
            "super" => {
                full.pop();
            }
            name => full.push(name.to_owned()),
        }
    }
    full
}

/// Returns the module that defines the item at `path`, after following re-exports.
fn home(files: &BTreeMap<Segments, File>, path: &[String], tries: usize) -> Segments {
    let mut at = Segments::new();
    for (n, name) in path.iter().enumerate() {
        let below = child(&at, name);
        if files.contains_key(&below) {
            at = below;
            continue;
        }
        let passed_on = files.get(&at).and_then(|file| file.names.get(name)).filter(|to| tries > 0 && **to != below);
        return match passed_on {
            Some(to) => home(files, &[to, &path[n + 1..]].concat(), tries - 1),
            None => at,
        };
    }
    at
}

fn lean(files: &BTreeMap<Segments, File>) -> BTreeMap<Segments, Floor> {
    let for_tests = |module: &Segments| {
        (0..module.len()).any(|n| files.get(&module[..n]).is_some_and(|file| file.tests.contains(&module[n])))
    };
    let mut floors: BTreeMap<Segments, Floor> = BTreeMap::new();
    for (module, file) in files.iter().filter(|(module, _)| !for_tests(module)) {
        for path in &file.paths {
            let to = home(files, path, 8);
            let shared = module.iter().zip(&to).take_while(|(a, b)| a == b).count();
            if let (Some(room), Some(other)) = (module.get(shared), to.get(shared)) {
                let reason = format!("{} names {}", module.join("::"), path.join("::"));
                let rooms = floors.entry(module[..shared].to_vec()).or_default();
                rooms.entry(room.clone()).or_default().entry(other.clone()).or_insert(reason);
            }
        }
    }
    floors
}
