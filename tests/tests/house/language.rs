//! Counts of comments, names and texts that are hard to read at first sight. Each count has a ceiling that may only be
//! lowered.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use regex::Regex;

use super::{files, root};

const QUESTION_OPENINGS: usize = 5;
const SHORT_DOCS: usize = 20;
const PRONOUN_OPENINGS: usize = 5;
const PARTICIPLE_NAMES: usize = 12;
const REPEATED_TYPES: usize = 42;
const ODD_PHRASES: usize = 80;

/// Regular expressions for phrases that have a plainer form.
const ODD: &[&str] = &[
    r"\bis no [a-z]",
    r"\b(?:is|are) none\b",
    r"\bso many\b",
    r"\bfor so long\b",
    r"\bfor ever\b",
    r"\bcomes? along\b",
    r"\bstands? (?:on|for itself)\b",
    r"\bwhoever\b",
    r"\b(?:are|is) told\b",
    r"\bis asked\b",
    r"\bwas said\b",
    r"\bwho (?:asks|has|waits|plays|knows|comes|is)\b",
    r"\bnobody\b",
    r"\bgoes on\b",
    r"\bas far as\b",
    r"\bbesides? (?:it|that|them)\b",
    r"\bin the place of\b",
    r"\b(?:is|are) left out\b",
    r"\ba word of\b",
    r"\bat all that\b",
];

/// Path fragments of files that are not checked: data files, licenses, and generated or historical files.
const EXEMPT: &[&str] = &["node_modules", "/data/", "docs/suites/reports", "CHANGELOG", "LICEN"];

/// Occurrences of one kind, as `file:line: text`.
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
    /// Phrases in comments, strings and pages for which a plainer form exists.
    odd_phrases: Places,
    /// Names of public types, with the files that declare them.
    type_names: BTreeMap<String, BTreeSet<String>>,
}

/// Patterns of the counts.
struct Patterns {
    question: Regex,
    pronoun: Regex,
    participle: Regex,
    public_type: Regex,
    phrase: Regex,
    /// Start of a comment in Python and TypeScript.
    script_comment: Regex,
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
            phrase: Regex::new(&format!("(?i)(?:{})", ODD.join("|"))).unwrap(),
            script_comment: Regex::new(r#"#|"""|//|\*"#).unwrap(),
        }
    }
}

impl Counts {
    /// Counts the occurrences in one file. In Rust files, all kinds are counted. In Markdown, Python and TypeScript
    /// files, only phrases are counted.
    fn add(&mut self, path: &str, source: &str, patterns: &Patterns) {
        let extension = Path::new(path).extension().and_then(|e| e.to_str());
        for (n, line) in source.lines().map(str::trim).enumerate() {
            let is_text = match extension {
                Some("rs") => line.starts_with("//") || line.contains('"'),
                Some("md") => true,
                _ => patterns.script_comment.is_match(line),
            };
            if is_text && patterns.phrase.is_match(line) {
                self.odd_phrases.push(format!("{path}:{}: {line}", n + 1));
            }
        }
        if extension == Some("rs") {
            self.add_rust(path, source, patterns);
        }
    }

    fn add_rust(&mut self, path: &str, source: &str, patterns: &Patterns) {
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

/// Returns the counts of all files of the project.
fn of_sources() -> Counts {
    let (patterns, mut counts) = (Patterns::new(), Counts::default());
    for path in files() {
        let is_counted = path.extension().is_some_and(|e| e == "rs" || e == "md" || e == "py" || e == "ts");
        let name = path.to_string_lossy();
        if is_counted && !EXEMPT.iter().any(|part| name.contains(part)) {
            counts.add(&name, &std::fs::read_to_string(root().join(&path)).unwrap(), &patterns);
        }
    }
    counts
}

#[test]
fn language_faults_stay_under_ceilings() {
    let counts = of_sources();
    for (kind, places, ceiling) in [
        ("doc comments that open with a question word", &counts.question_openings, QUESTION_OPENINGS),
        ("doc comments of three words or fewer", &counts.short_docs, SHORT_DOCS),
        ("doc comments that open with a pronoun", &counts.pronoun_openings, PRONOUN_OPENINGS),
        ("items named by a participle", &counts.participle_names, PARTICIPLE_NAMES),
        ("type names declared in several files", &counts.repeated_types(), REPEATED_TYPES),
        ("phrases with a plainer form", &counts.odd_phrases, ODD_PHRASES),
    ] {
        let found = places.len();
        assert!(found <= ceiling, "{kind}: expected at most {ceiling}, got {found}:\n{}", places.join("\n"));
    }
}

#[test]
fn odd_phrases_are_found_in_comments_and_strings_only() {
    let mut counts = Counts::default();
    let phrase = concat!("no", "body");
    for (path, source) in [
        ("a.rs", format!("let {phrase} = 1;\n// For {phrase}.\nlet x = \"{phrase}\";")),
        ("a.md", format!("For {phrase}.")),
        ("a.py", format!("{phrase} = 1\n# For {phrase}.")),
        ("a.ts", format!("const {phrase} = 1;\n/** For {phrase}. */")),
    ] {
        counts.add(path, &source, &Patterns::new());
    }
    let places: Vec<&str> =
        counts.odd_phrases.iter().filter_map(|place| place.rsplit_once(": ")).map(|p| p.0).collect();
    assert_eq!(places, ["a.rs:2", "a.rs:3", "a.md:1", "a.py:2", "a.ts:2"]);
}

#[test]
fn faulty_comments_and_names_are_counted() {
    let (heard, told) = (concat!("pub struct", " Heard;"), concat!("fn", " told() {}"));
    let source = format!(
        "/// What it is.\n{heard}\n/// Its id.\n/// More of it, in many words.\n{told}\n/// Returns the seat to move.\nfn seat() {{}}\n"
    );
    let mut counts = Counts::default();
    counts.add("a/src/one.rs", &source, &Patterns::new());
    counts.add("a/src/two.rs", heard, &Patterns::new());
    assert_eq!(counts.question_openings, ["a/src/one.rs:1: /// What it is."]);
    assert_eq!(counts.pronoun_openings, ["a/src/one.rs:3: /// Its id."]);
    assert_eq!(counts.short_docs, ["a/src/one.rs:1: /// What it is."]);
    assert_eq!(counts.participle_names.len(), 3);
    assert_eq!(counts.repeated_types().len(), 1);
}
