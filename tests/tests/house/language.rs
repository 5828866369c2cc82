//! Counts of comments and names that are hard to read at first sight. Each has a ceiling that may only fall.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use regex::Regex;

use super::{files, root};

const QUESTION_OPENINGS: usize = 339;
const SHORT_DOCS: usize = 216;
const PRONOUN_OPENINGS: usize = 40;
const PARTICIPLE_NAMES: usize = 171;
const REPEATED_TYPES: usize = 47;

/// Places of one kind, as `file:line: text`.
type Places = Vec<String>;

/// The counts of the sources, by kind.
#[derive(Default)]
struct Counts {
    /// Doc comments that open with a question word.
    question_openings: Places,
    /// Doc comments of three words or fewer.
    short_docs: Places,
    /// Doc comments that open with a pronoun.
    pronoun_openings: Places,
    /// Functions, types and modules named by a bare participle, preposition or adverb.
    participle_names: Places,
    /// Names of public types, with the files that declare them.
    type_names: BTreeMap<String, BTreeSet<String>>,
}

/// Patterns of the counts.
struct Patterns {
    question: Regex,
    pronoun: Regex,
    participle: Regex,
    public_type: Regex,
}

impl Patterns {
    fn new() -> Self {
        let participles = "told|heard|said|kept|held|asked|shown|seen|given|known|met|sought|wanted|named|refused|taken|\
                           made|done|gone|begun|drawn|lost|found|left|built|fallen|grown|born|turned|counted|counting|\
                           waits|tells|knows|looked|reached|barred|cast|among|apart|beside|within|beyond";
        Patterns {
            question: Regex::new(r"^(What|Whether|How|Who|Whose|Whom|Which|Where|When|That|As|So)\b").unwrap(),
            pronoun: Regex::new(r"^(Its|It|They|Their|This|These|Those)\b").unwrap(),
            participle: Regex::new(&format!(r"(?i)\b(?:fn|struct|enum|type|trait|mod)\s+({participles})\b")).unwrap(),
            public_type: Regex::new(r"^pub(?:\([a-z]+\))? (?:struct|enum|trait|type) (\w+)").unwrap(),
        }
    }
}

impl Counts {
    /// Adds the counts of one Rust source.
    fn add(&mut self, path: &str, source: &str, patterns: &Patterns) {
        let lines: Vec<&str> = source.lines().map(str::trim).collect();
        let is_test = path.split('/').any(|part| matches!(part, "test" | "tests" | "benches" | "examples"));
        for (n, line) in lines.iter().enumerate() {
            let place = || format!("{path}:{}: {line}", n + 1);
            let opens_doc = line.starts_with("///") && (n == 0 || !lines[n - 1].starts_with("///"));
            if opens_doc {
                let text = line[3..].trim_start();
                let doc = lines[n..].iter().take_while(|l| l.starts_with("///"));
                let words: usize = doc.map(|l| l[3..].split_whitespace().count()).sum();
                if patterns.question.is_match(text) {
                    self.question_openings.push(place());
                }
                if patterns.pronoun.is_match(text) {
                    self.pronoun_openings.push(place());
                }
                if words <= 3 {
                    self.short_docs.push(place());
                }
            }
            if !line.starts_with("//") && patterns.participle.is_match(line) {
                self.participle_names.push(place());
            }
            if let Some(name) = patterns.public_type.captures(line).filter(|_| !is_test) {
                self.type_names.entry(name[1].to_owned()).or_default().insert(path.to_owned());
            }
        }
    }

    /// Returns the names of public types that two or more files declare.
    fn repeated_types(&self) -> Places {
        let repeated = self.type_names.iter().filter(|(_, files)| files.len() > 1);
        repeated.map(|(name, files)| format!("{name}: {files:?}")).collect()
    }
}

fn of_sources() -> Counts {
    let (patterns, mut counts) = (Patterns::new(), Counts::default());
    for path in files().iter().filter(|p| p.extension().is_some_and(|e| e == "rs")) {
        let source = std::fs::read_to_string(root().join(Path::new(path))).unwrap();
        counts.add(&path.to_string_lossy(), &source, &patterns);
    }
    counts
}

#[test]
fn counts_stay_under_their_ceilings() {
    let counts = of_sources();
    for (kind, places, ceiling) in [
        ("doc comments that open with a question word", &counts.question_openings, QUESTION_OPENINGS),
        ("doc comments of three words or fewer", &counts.short_docs, SHORT_DOCS),
        ("doc comments that open with a pronoun", &counts.pronoun_openings, PRONOUN_OPENINGS),
        ("items named by a participle", &counts.participle_names, PARTICIPLE_NAMES),
        ("type names declared in several files", &counts.repeated_types(), REPEATED_TYPES),
    ] {
        let found = places.len();
        assert!(found <= ceiling, "{kind}: expected at most {ceiling}, got {found}:\n{}", places.join("\n"));
        assert!(found + 20 > ceiling, "{kind}: {found} found: lower the ceiling, which is {ceiling}");
    }
}

#[test]
fn counts_find_what_they_name() {
    let source = "/// What it is.\npub struct Heard;\n/// Its id.\n/// More of it, in many words.\nfn told() {}\n/// Returns the seat to move.\nfn seat() {}\n";
    let mut counts = Counts::default();
    counts.add("a/src/one.rs", source, &Patterns::new());
    counts.add("a/src/two.rs", "pub struct Heard;", &Patterns::new());
    assert_eq!(counts.question_openings, ["a/src/one.rs:1: /// What it is."]);
    assert_eq!(counts.pronoun_openings, ["a/src/one.rs:3: /// Its id."]);
    assert_eq!(counts.short_docs, ["a/src/one.rs:1: /// What it is."]);
    assert_eq!(counts.participle_names.len(), 3);
    assert_eq!(counts.repeated_types().len(), 1);
}
