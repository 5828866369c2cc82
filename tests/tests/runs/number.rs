//! The page docs/how-a-number-is-made.md: its commands give its output.

use std::fs;

use super::Place;

#[test]
fn commands_of_the_page_on_a_number_give_its_output() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/how-a-number-is-made.md")).unwrap();
    let place = Place::new();
    let run = |words: &[&str]| {
        let line = format!("ludex {}", words.join(" "));
        let quoted = line.replace("mcts sims=20", "\"mcts sims=20\"");
        assert!(page.contains(&quoted), "{quoted} is not on the page");
        let done = place.ludex(words);
        assert!(done.ok, "{line}: {}", done.err);
        done.out
    };
    run(&["evaluate", "--suite", "quick", "--part", "nim", "--agent", "mcts sims=20", "--run", "number"]);
    run(&["rate", "number", "--report", "report"]);
    let figure = fs::read_to_string(place.path("report/figures/overall.csv")).unwrap();
    let metric = run(&["rate", "number", "--metric", "score_rate"]);
    let shown = run(&["show", "number", "--seat", "0", "--episode", "number.nim.0-1.0.0"]);
    let verified = run(&["verify", "number"]);
    assert!(verified.contains("24"), "{verified}");
    // Each line of output on the page is a line of the program.
    for text in [&figure, &metric] {
        for line in text.trim_end().lines() {
            assert!(page.lines().any(|own| own == line), "{line:?} is not on the page");
        }
    }
    for line in
        ["    (0): 0 1 0 7", "plays pile:4, take:7;", "finished: p0 (mcts sims=20) win, 1; p1 (random) loss, -1"]
    {
        assert!(page.contains(line) && shown.contains(line), "{line}");
    }
    run(&["export", "number", "--table", "matches", "--format", "csv", "--out", "matches.csv"]);
    let rows = fs::read_to_string(place.path("matches.csv")).unwrap();
    let mut lines = rows.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| head.iter().position(|own| *own == name).unwrap();
    let own = lines.map(|line| line.split(',').collect::<Vec<_>>());
    let own = own.filter(|row| row[column("candidate")] == "true" && row[column("side")] == "0");
    let points: Vec<f64> = own.map(|row| row[column("points")].parse().unwrap()).collect();
    assert_eq!((points.iter().sum::<f64>(), points.len()), (13.0, 24));
    let html = fs::read_to_string(place.path("report/report.html")).unwrap();
    assert!(html.contains("transcripts-number/index.html#agent=mcts%20sims%3D20&amp;part=nim"), "{html}");
}
