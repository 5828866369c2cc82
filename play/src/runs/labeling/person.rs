//! Labels by a person who reads decisions and types numbers.

use std::io::{BufRead, Write};

use ludex_referee::suite::rubric::Rubric;
use ludex_report::labels::RubricDecision;

use super::Labeling;
use super::question::DecisionText;
use super::store::LabelStore;

/// Result of a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PersonResult {
    pub labeled: usize,
    pub skipped: usize,
    /// Number of decisions after the end.
    pub left: usize,
}

/// Reply of a person to one question.
#[derive(Debug, PartialEq, Eq)]
enum Typed {
    Labels(Vec<String>),
    Skip,
    Quit,
}

/// Shows decisions on `out`, reads the labels of each from a line of `input`, and stores them. The end of the input ends the
/// batch.
///
/// # Errors
/// Returns an error if a line cannot be read, or if labels cannot be written.
pub fn label(
    labeling: &Labeling,
    store: &LabelStore,
    due: &[RubricDecision],
    by: &str,
    input: &mut impl BufRead,
    out: &mut impl Write,
) -> anyhow::Result<PersonResult> {
    let mut result = PersonResult { left: due.len(), ..PersonResult::default() };
    let mut system = String::new();
    for (number, decision) in (1..).zip(due) {
        let text = labeling.text_of(decision)?;
        // The rules are shown once, as long as they stay the same.
        let rules = text.prompt(true);
        let rules = if rules == system {
            String::new()
        } else {
            system.clone_from(&rules);
            rules
        };
        write!(out, "{}", plain(&show(labeling, &text, &rules, [number, due.len()])))?;
        let typed = loop {
            write!(out, "{}: ", expected(&labeling.rubric))?;
            out.flush()?;
            let mut line = String::new();
            if input.read_line(&mut line)? == 0 {
                writeln!(out)?;
                break Typed::Quit;
            }
            match parse(&labeling.rubric, &line) {
                Ok(typed) => break typed,
                Err(why) => writeln!(out, "{why}")?,
            }
        };
        match typed {
            Typed::Labels(labels) => {
                store.append(&labeling.line(decision, by, labels, None))?;
                result.labeled += 1;
            }
            Typed::Skip => result.skipped += 1,
            Typed::Quit => break,
        }
        result.left -= 1;
    }
    Ok(result)
}

/// Returns the replies that a rubric allows.
fn expected(rubric: &Rubric) -> String {
    let most = rubric.values.len();
    let labels = if rubric.several {
        format!("numbers such as 1 {most}, 0 for none")
    } else {
        format!("a number from 1 to {most}")
    };
    format!("{labels}, s to skip, q to quit")
}

fn show(labeling: &Labeling, text: &DecisionText, rules: &str, [number, of]: [usize; 2]) -> String {
    let mut out = format!("\n=== {number} of {of}: {}\n", text.game);
    let mut section = |title: &str, text: &str| {
        if !text.trim().is_empty() {
            out += &format!("--- {title}\n{}\n", text.trim_end());
        }
    };
    match text.call {
        Some(_) => {
            section("system prompt", rules);
            section("prompt", &text.prompt(false));
        }
        None => {
            section("events since the last turn", &text.since.join("\n"));
            section("position", &text.position);
        }
    }
    if let Some(call) = text.call {
        section("reasoning", call.reasoning.as_deref().unwrap_or_default());
        section("reply", &call.answer);
    }
    section("played", text.played.as_deref().unwrap_or_default());
    section("question", &labeling.rubric.question);
    for (number, value) in (1..).zip(&labeling.rubric.values) {
        out += &format!("{number:>3} {}: {}\n", value.id, value.about);
    }
    out
}

/// Parses a typed line as numbers of labels or as a command.
///
/// # Errors
/// Returns an error for other text, and for labels that the rubric does not allow.
fn parse(rubric: &Rubric, line: &str) -> Result<Typed, String> {
    let words: Vec<&str> = line.split([',', ' ', '\t', '\r', '\n']).filter(|word| !word.is_empty()).collect();
    match words.as_slice() {
        ["s"] => return Ok(Typed::Skip),
        ["q"] => return Ok(Typed::Quit),
        ["0"] if rubric.several => return Ok(Typed::Labels(Vec::new())),
        [] => return Err(format!("expected {}, got nothing", expected(rubric))),
        _ => {}
    }
    let known = rubric.labels();
    let label = |word: &&str| {
        let number = word.parse::<usize>().ok().and_then(|number| known.get(number.checked_sub(1)?));
        let wrong = || format!("expected {}, got {word:?}", expected(rubric));
        number.map(|label| (*label).to_owned()).ok_or_else(wrong)
    };
    let labels = words.iter().map(label).collect::<Result<Vec<String>, String>>()?;
    rubric.check_labels(&labels)?;
    Ok(Typed::Labels(labels))
}

/// Returns a text without control characters, since replies of models are untrusted.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c != '\n' && ludex_protocol::is_unprintable(c) { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_numbers_are_labels() {
        let text = "id = \"r\"\ntitle = \"R\"\nquestion = \"Which?\"\n[[value]]\nid = \"a\"\nabout = \"A.\"\n[[value]]\nid = \"b\"\nabout = \
                    \"B.\"\n";
        let single: Rubric = toml::from_str(text).unwrap();
        let several = Rubric { several: true, ..single.clone() };
        let labels = |all: &[&str]| Ok(Typed::Labels(all.iter().map(|label| (*label).to_owned()).collect()));
        assert_eq!(parse(&several, "1, 2\n"), labels(&["a", "b"]));
        assert_eq!(parse(&several, "0"), labels(&[]));
        assert_eq!(parse(&single, "2"), labels(&["b"]));
        assert_eq!([parse(&single, "s"), parse(&single, "q\r\n")], [Ok(Typed::Skip), Ok(Typed::Quit)]);
        for (rubric, line) in [(&single, "0"), (&single, "1 2"), (&several, "3"), (&several, "x"), (&several, "")] {
            assert!(parse(rubric, line).unwrap_err().starts_with("expected") || line == "1 2", "{line}");
        }
    }
}
