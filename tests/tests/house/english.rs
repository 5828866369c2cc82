//! Plain English: phrases that readers have to read twice do not stand in the tree.
//!
//! The phrases are written as patterns that do not match themselves (`for e[v]er`).

use std::collections::BTreeMap;

use regex::Regex;

use super::{files, root};

/// A phrase, and what to write instead.
const PHRASES: &[(&str, &str)] = &[
    (r"\b(is|are|was|were|be) no [a-z`]", "is not a ..., is not valid, is not possible"),
    (r"\b(is|are|was|were) none\b", "is not one, is missing, there are none"),
    (r"\b[Ss]o m[a]ny\b", "this many, the number of, after N"),
    (r"\b(go|goes|went|going|gone) o[n]\b", "continues"),
    (r"\b[Ww]hoe[v]er\b", "the one who, anybody who, the client that"),
    (r"\bfor e[v]er\b", "always, without end"),
    (r"\bcom(e|es|ing) a[l]ong\b", "is built in, appears"),
    (r"\b[Ww]hat [a-z' ]{1,30}\bstands? o[n]\b", "an agent's endpoint or program, infrastructure"),
    (r"\bcounts? for n[o]body\b", "does not count"),
    (r"\bseveral times for s[e]veral\b", "may be repeated"),
    (r"\bis played again th[a]t\b", "a match that ... is played again"),
    (r"\bWho asks for m[o]re\b", "an endpoint that asks for more"),
    (r"\bfailed for it[s]elf\b", "the failure counts against it"),
];

/// Uses that are plain English, or not English at all, with the reason.
const EXCUSED: &[(&str, &str)] = &[
    (r"\b[Tt]here (is|are|was|were|will be|may be) (no|none)\b", "the usual way to say that something is missing"),
    (r"\bnone of\b", "counts members: `is none of the three`"),
    (
        r"\bno (longer|more|less|fewer|later|earlier|greater|smaller|larger|wider|worse|better|matter)\b",
        "usual phrases",
    ),
    (r"\bis no (reason|wonder|secret|exception|problem)\b", "usual phrases"),
    (r"\bgo(es)? on (top|the|a|its|their|this|that)\b", "a place, not a continuation"),
    (r"\brows to go o[n] both sides\b", "rows that are left to cross"),
    (r"^< .+ 9 is n[o] action of connect_four|^\{.+ 9 is n[o] action of connect_four", "a golden frame"),
    (r"\bgoes o[n] without one", "bytes of a test's frame"),
    // The doc comments below belong to specs, whose hashes stand in old records.
    (r"/// Why the game is over: .+; absent while it goes o[n]\.", "a field of the views of ataxx and go"),
    (r"/// `ply limit`; absent while it goes o[n]\.", "a field of the view of chess"),
    (r"/// After s[o] many offers without agreement nobody gets anything", "a parameter of bargaining"),
    (r"Chance decides whether the game goes o[n]\.", "a phase in the view of bargaining, and its text"),
    (r"/// Draw after s[o] many plies (without|in all)", "two parameters of chess"),
    (r"/// What is going o[n]\.$", "a field of the view of fight_the_landlord"),
    (r"/// (At most|Exactly) s[o] many rounds, 1 to 9999", "two parameters of iterated_prisoners_dilemma"),
];

/// Kinds of files that people read.
const READ: &[&str] = &["rs", "md", "py", "ts"];

fn patterns(list: &[(&str, &'static str)]) -> Vec<(Regex, &'static str)> {
    list.iter().map(|(pattern, words)| (Regex::new(pattern).unwrap(), *words)).collect()
}

/// The phrases in a line, by their places in [`PHRASES`].
fn found(line: &str, phrases: &[(Regex, &str)], excused: &[(Regex, &str)]) -> Vec<usize> {
    let mut line = line.to_owned();
    for (fine, _) in excused {
        line = fine.replace_all(&line, "...").into_owned();
    }
    (0..phrases.len()).filter(|&n| phrases[n].0.is_match(&line)).collect()
}

#[test]
fn no_sentence_has_to_be_read_twice() {
    let (phrases, excused) = (patterns(PHRASES), patterns(EXCUSED));
    let mut faults = Vec::new();
    let mut counts: BTreeMap<(usize, String), usize> = BTreeMap::new();
    let is_read = |ext: &std::ffi::OsStr| READ.iter().any(|read| ext == *read);
    for path in files().iter().filter(|p| p.extension().is_some_and(is_read) && !p.starts_with("tests/data")) {
        let text = std::fs::read_to_string(root().join(path)).unwrap();
        let folder = path.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
        for (n, line) in text.lines().enumerate() {
            for phrase in found(line, &phrases, &excused) {
                *counts.entry((phrase, folder.clone())).or_default() += 1;
                let (pattern, instead) = PHRASES[phrase];
                faults.push(format!("{}:{}: {pattern} ({instead}): {}", path.display(), n + 1, line.trim()));
            }
        }
    }
    let counts = counts.iter().map(|((phrase, folder), n)| format!("{n:4} {folder} {}", PHRASES[*phrase].0));
    let counts: Vec<String> = counts.collect();
    assert!(faults.is_empty(), "{}\n\n{}\n{} in all", faults.join("\n"), counts.join("\n"), faults.len());
}

#[test]
fn phrases_are_found_and_plain_sentences_are_not() {
    let (phrases, excused) = (patterns(PHRASES), patterns(EXCUSED));
    for (n, line) in [
        (0, concat!("3.5 is ", "no whole number")),
        (1, concat!("Arrays are ", "none yet")),
        (2, concat!("after so ", "many matches")),
        (3, concat!("the run goes ", "on")),
        (4, concat!("Who", "ever moves")),
        (5, concat!("waits for ", "ever")),
        (6, concat!("a suite that comes ", "along")),
        (7, concat!("what an agent stands ", "on failed")),
    ] {
        assert_eq!(found(line, &phrases, &excused), [n], "{line}");
    }
    for line in ["there is no such file", "If there are none, all", "it is no longer there", "is none of usd=50"] {
        assert!(found(line, &phrases, &excused).is_empty(), "{line}");
    }
}
