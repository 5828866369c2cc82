//! Word pairs, stock clues, and the check that a clue does not contain a word.

use std::sync::LazyLock;

use serde_json::{Value, json};
use unicode_normalization::UnicodeNormalization;

/// A stock clue with its stems.
pub(super) struct Stock {
    pub text: &'static str,
    pub stems: Vec<String>,
}

/// The word pairs and the stock clues.
pub(super) struct Lexicon {
    /// The words of each pair.
    pub pairs: Vec<[&'static str; 2]>,
    /// The category of each pair.
    pub categories: Vec<&'static str>,
    /// All words in sorted order.
    pub words: Vec<&'static str>,
    pub clues: Vec<Stock>,
}

fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.starts_with('#') && !line.is_empty())
}

/// Parses a line of the file of pairs: two words and their category.
///
/// # Errors
/// Returns the problem of an invalid line.
pub(super) fn pair(line: &str) -> Result<([&str; 2], &str), String> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [a, b, category] = fields[..] else {
        return Err(format!("expected 3 fields (two words and a category), got {}", fields.len()));
    };
    if category.trim().is_empty() {
        return Err("expected a category as the third field, got an empty text".into());
    }
    for word in [a, b] {
        let n = tokens(word).len();
        if !(1..=3).contains(&n) {
            return Err(format!("expected 1 to 3 words in {word:?}, got {n}"));
        }
        let length = word.chars().count();
        if length > 30 {
            return Err(format!("expected at most 30 characters in {word:?}, got {length}"));
        }
    }
    if holds(a, b) || holds(b, a) {
        return Err(format!("expected two words of which neither contains the other, got {a:?} and {b:?}"));
    }
    Ok(([a, b], category))
}

/// Returns the word pairs and stock clues of this crate.
pub(super) fn lexicon() -> &'static Lexicon {
    static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
        let (pairs, categories): (Vec<[&str; 2]>, Vec<&str>) =
            lines(include_str!("pairs.tsv")).filter_map(|line| pair(line).ok()).unzip();
        let mut words: Vec<&str> = pairs.iter().flatten().copied().collect();
        words.sort_unstable();
        words.dedup();
        let clues = lines(include_str!("clues.txt")).map(|text| Stock { text, stems: stems(text) }).collect();
        Lexicon { pairs, categories, words, clues }
    });
    &LEXICON
}

/// Returns the text in Unicode normalization form KC and in lowercase.
fn normal(text: &str) -> String {
    text.nfkc().collect::<String>().to_lowercase()
}

/// Returns the lowercase words of a text, split at characters other than letters and digits.
pub(super) fn tokens(text: &str) -> Vec<String> {
    let text = normal(text);
    text.split(|c: char| !c.is_alphanumeric()).filter(|t| !t.is_empty()).map(str::to_owned).collect()
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// Strips plural endings, -ing, -ed and a final e from a word.
pub(super) fn stem(token: &str) -> String {
    if length(token) < 4 {
        return token.to_owned();
    }
    let mut t = token.to_owned();
    let cut = |t: &str, n: usize| t[..t.len() - n].to_owned();
    if t.ends_with("ies") {
        t = cut(&t, 3) + "y";
    } else if ["sses", "shes", "ches", "xes", "zes"].iter().any(|end| t.ends_with(end)) {
        t = cut(&t, 2);
    } else if t.ends_with('s') && !["ss", "us", "is"].iter().any(|end| t.ends_with(end)) {
        t = cut(&t, 1);
    }
    let end = match length(&t) {
        n if n >= 6 && t.ends_with("ing") => 3,
        n if n >= 5 && t.ends_with("ed") => 2,
        _ => 0,
    };
    if end > 0 {
        t = cut(&t, end);
        let mut last = t.chars().rev();
        if let (Some(a), Some(b)) = (last.next(), last.next())
            && a == b
            && !"aeioulsz".contains(a)
        {
            t.pop();
        }
    }
    if t.ends_with('e') && length(&t) > 4 {
        t.pop();
    }
    t
}

/// Returns the stems of all words of a text.
pub(super) fn stems(text: &str) -> Vec<String> {
    tokens(text).iter().map(|t| stem(t)).collect()
}

/// Returns true if two clues, given as stems, are equal; empty clues are never equal.
pub(super) fn equal(a: &[String], b: &[String]) -> bool {
    !a.is_empty() && a == b
}

/// Returns true for letters of scripts that have no spaces between words.
fn dense(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{0e7f}' | '\u{1100}'..='\u{11ff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}')
}

/// Returns true if a clue contains a word, also in another grammatical form or as part of a longer word.
pub(super) fn holds(clue: &str, word: &str) -> bool {
    let (parts, secret) = (tokens(clue), tokens(word));
    if secret.is_empty() {
        return false;
    }
    let stem_of = |list: &[String]| -> Vec<String> { list.iter().map(|t| stem(t)).collect() };
    let (stems, secret_stems) = (stem_of(&parts), stem_of(&secret));
    if stems.windows(secret.len()).any(|w| w == &secret_stems[..]) {
        return true;
    }
    let within = |part: &str| parts.iter().any(|t| t.contains(part));
    let inside = match &secret_stems[..] {
        [one] => length(one) >= 4 && within(one),
        _ => within(&secret.concat()),
    };
    inside || word.chars().any(dense) && normal(clue).contains(normal(word).trim())
}

/// Answers a query `{"clue", "word"}` with `{"holds", "clue": [stems], "word": [stems]}`.
///
/// # Errors
/// Returns an error for a query in any other form.
pub(super) fn answer(question: &Value) -> Result<Value, String> {
    let fields = question.as_object().filter(|map| map.keys().all(|k| k == "clue" || k == "word"));
    let text = |key: &str| fields.and_then(|map| map.get(key)).and_then(Value::as_str);
    match (text("clue"), text("word")) {
        (Some(clue), Some(word)) => Ok(json!({ "holds": holds(clue, word), "clue": stems(clue), "word": stems(word) })),
        _ => Err(format!("expected {{\"clue\": TEXT, \"word\": TEXT}}, got {question}")),
    }
}
