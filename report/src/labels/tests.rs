use ludex_env::MarkValue;

use super::*;

fn rubric(several: bool) -> Rubric {
    let text = format!(
        "id = \"r\"\ntitle = \"R\"\nquestion = \"Which?\"\nseveral = {several}\n[[value]]\nid = \"a\"\nabout = \"A.\"\n[[value]]\nid = \
         \"b\"\nabout = \"B.\"\n"
    );
    toml::from_str(&text).unwrap()
}

/// Returns lines of labelers, each with the labels of turns 0, 1 and so on; `-` skips a turn.
fn lines(of: &[(&str, &[&str])]) -> Vec<LabelLine> {
    let mut out = Vec::new();
    for (by, turns) in of {
        for (turn, labels) in turns.iter().enumerate().filter(|(_, labels)| **labels != "-") {
            out.push(LabelLine {
                episode: "e".into(),
                turn: turn as u32,
                rubric: "r".into(),
                labels: labels.split_whitespace().map(str::to_owned).collect(),
                by: format!("person:{by}"),
                ..LabelLine::default()
            });
        }
    }
    out
}

/// Returns the labels of each turn after [`consensus`].
fn agreed(several: bool, of: &[(&str, &[&str])]) -> Vec<(u32, String)> {
    let lines = lines(of);
    let all = consensus(&rubric(several), &lines.iter().collect::<Vec<_>>());
    all.into_iter().map(|((_, _, turn), labels)| (turn, labels.join(" "))).collect()
}

fn of(expected: &[(u32, &str)]) -> Vec<(u32, String)> {
    expected.iter().map(|(turn, labels)| (*turn, (*labels).to_owned())).collect()
}

#[test]
fn label_of_most_labelers_applies() {
    assert_eq!(agreed(true, &[("x", &["a", "a b", ""])]), of(&[(0, "a"), (1, "a b"), (2, "")]));
    let two: &[(&str, &[&str])] = &[("x", &["a", "a b", ""]), ("y", &["", "b", ""])];
    assert_eq!(agreed(true, two), of(&[(0, ""), (1, "b"), (2, "")]), "one of two is not a majority");
    let three: &[(&str, &[&str])] = &[("x", &["a", "a"]), ("y", &["", "b"]), ("z", &["", "b"])];
    assert_eq!(agreed(true, three), of(&[(0, ""), (1, "b")]));
}

#[test]
fn tie_of_single_labels_does_not_count() {
    let all: &[(&str, &[&str])] = &[("x", &["a", "a", "b"]), ("y", &["a", "b", "-"])];
    assert_eq!(agreed(false, all), of(&[(0, "a"), (2, "b")]));
}

#[test]
fn decision_without_a_label_has_the_mark_none() {
    let lines = lines(&[("x", &["", "b"])]);
    let marks = marks(&rubric(true), &lines.iter().collect::<Vec<_>>());
    let words: Vec<(&str, &MarkValue)> = marks.iter().map(|(_, mark)| (&*mark.name, &mark.value)).collect();
    let text = |text: &str| MarkValue::Text(text.to_owned());
    assert_eq!(words, [("label:r", &text("none")), ("label:r", &text("b"))]);
}

#[test]
fn agreement_is_computed_over_shared_decisions() {
    let all = lines(&[("x", &["a", "b", "a", "b"]), ("y", &["a", "b", "b", "-"]), ("z", &["-", "-", "-", "b"])]);
    let all: Vec<&LabelLine> = all.iter().collect();
    let found = RubricAgreement::of(&rubric(false), &all);
    let counts: Vec<usize> = found.labelers.iter().map(|labeler| labeler.decisions).collect();
    assert_eq!(counts, [4, 3, 1]);
    let pairs: Vec<(usize, Option<f64>)> = found.pairs.iter().map(|pair| (pair.decisions, pair.kappa)).collect();
    // x and y: two of three are equal, and 4/9 are expected. x and z: no variation.
    assert_eq!(pairs, [(3, Some(0.4)), (1, None), (0, None)]);
    assert_eq!((found.alphas.len(), found.alphas[0].decisions), (1, 4));

    let several = RubricAgreement::of(&rubric(true), &all);
    let labels: Vec<Option<&str>> = several.alphas.iter().map(|of| of.label.as_deref()).collect();
    assert_eq!((labels, several.pairs.len()), (vec![Some("a"), Some("b")], 6));
}

#[test]
fn note_names_labelers_or_the_command() {
    let none = note(&rubric(true), &[], "mine");
    assert_eq!(none, "No labels; `ludex label mine --rubric r` adds them.");
    let all = lines(&[("x", &["a", "b"]), ("y", &["a", "b"])]);
    let said = note(&rubric(false), &all.iter().collect::<Vec<_>>(), "mine");
    let expected = "Labels of 2 decisions by person:x, person:y. Krippendorff's alpha: 1.00 (2 shared decisions). \
        A decision has the label that most of its labelers gave; ties do not count.";
    assert_eq!(said, expected);
}
