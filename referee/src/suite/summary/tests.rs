use super::*;

fn summary(more: &str) -> Summary {
    toml::from_str(&format!("id = \"s\"\nmetric = \"score\"\n{more}")).unwrap()
}

fn values() -> Vec<Vec<(String, f64)>> {
    let part = |all: &[(&str, f64)]| all.iter().map(|(agent, value)| ((*agent).to_owned(), *value)).collect();
    vec![
        part(&[("a", 0.5), ("b", 0.25)]),
        part(&[("b", 8.0), ("a", 2.0)]),
        part(&[("a", -1.0), ("b", -2.0)]),
        part(&[("b", 3.0)]),
    ]
}

#[test]
fn means_cover_only_parts_with_a_value() {
    let means = summary("").means(&values());
    let told: Vec<(&str, usize, f64)> = means.iter().map(|m| (m.agent.as_str(), m.parts, m.value)).collect();
    // a: (0.5 + 2 - 1) / 3. b: (0.25 + 8 - 2 + 3) / 4.
    assert_eq!(told, [("a", 3, 0.5), ("b", 4, 2.3125)]);
}

#[test]
fn percentages_of_the_best_are_averaged() {
    let means = summary("form = \"percent_of_best\"").means(&values());
    let told: Vec<(&str, usize, f64)> = means.iter().map(|m| (m.agent.as_str(), m.parts, m.value)).collect();
    // a: (100 + 25) / 2. b: (50 + 100 + 100) / 3. The part whose best is below zero is excluded.
    assert_eq!((told[0], told[1].0, told[1].1), (("a", 2, 62.5), "b", 3));
    assert!((told[1].2 - 250.0 / 3.0).abs() < 1e-12);
}

#[test]
fn groups_and_exceptions_select_parts() {
    let part = |id: &str, groups: &str| -> PartSpec {
        let text = format!("id = \"{id}\"\ngame = \"nim\"\nschedule = \"self_play\"\nblocks = 1\ngroups = [{groups}]");
        toml::from_str(&text).unwrap()
    };
    let (board, cards) = (part("x", "\"board\""), part("y", "\"cards\""));
    let covers = |more: &str| [&board, &cards].map(|part| summary(more).covers(part));
    assert_eq!(covers(""), [true, true]);
    assert_eq!(covers("except = [\"x\"]"), [false, true]);
    assert_eq!(covers("groups = [\"board\"]"), [true, false]);
    assert_eq!(covers("groups = [\"board\"]\nexcept = [\"x\"]"), [false, false]);
}

#[test]
fn metric_accepts_the_syntax_of_parts_and_results() {
    let metric = |text: &str| -> String {
        let summary: Summary = toml::from_str(&format!("id = \"s\"\nmetric = {text}\n")).unwrap();
        let again: Summary = toml::from_str(&toml::to_string(&summary).unwrap()).unwrap();
        assert_eq!(again, summary);
        summary.metric
    };
    assert_eq!(metric("\"mean of=missed_block\""), "mean of=missed_block");
    assert_eq!(metric("{ id = \"mean\", of = \"missed_block\" }"), "mean of=missed_block");
    assert_eq!(metric("\"score\""), SCORE);
}
