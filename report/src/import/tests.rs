mod metrics;

use ludex_referee::metric::METRICS;

use super::*;

fn csv(text: &str) -> Result<Import, String> {
    Import::read(text, ImportFormat::Csv, false).map_err(|e| e.to_string())
}

#[track_caller]
fn assert_refused(text: &str, why: &str) {
    let told = csv(text).expect_err("the table is wrong");
    assert!(told.contains(why), "{told:?} does not say {why:?}");
}

const RESULTS: &str = "part,agent,opponent,wins,draws,losses,planned\n";
const MATCHES: &str = "part,cycle,order,a,b,score_a,first\n";
const DECISIONS: &str = "agent,part,cycle,match,ply,result,name,value\n";
const ROUNDS: &str = "game,agent,opponent,side,first,match,round,won,cost,budget,violations,changed,kept,value\n";

#[test]
fn columns_determine_the_layout() {
    for (text, name, matches) in [
        (format!("{RESULTS}p,A,B,2,1,0,4\n"), "results", 4),
        (format!("{MATCHES}p,0,1,A,B,0.5,a\n"), "matches", 1),
        ("agent,part,value\nA,p,1.5\n".to_owned(), "scores", 0),
        (format!("{DECISIONS}A,p,0,m,1,win,emotion,E\nA,p,0,m,2,win,emotion,D\n"), "decisions", 1),
        (format!("{ROUNDS}td,A,B,human,1,m,1,1,5,10,0,0,0,\n"), "rounds", 1),
    ] {
        let import = csv(&text).unwrap();
        assert_eq!((import.layout().name, import.matches.len()), (name, matches));
        assert_eq!(import.rows().agents()[0].name, "A");
    }
    let missing = "expected the columns of a known table; results lacks part, opponent, draws, losses";
    assert_refused("agent,wins\nA,3\n", missing);
    assert_refused("agent,part,value,colour\nA,p,1,red\n", "row 1, column colour: unknown column in a table of scores");
    assert_refused("agent,part,value,part\nA,p,1,q\n", "row 1, column part: expected a unique column name");
    assert_refused("agent,part,value\n", "expected at least one row, got none");
    assert_refused("agent,part,value\nA,p\n", "row 2, expected 3 cells as in the header, got 2");
}

#[test]
fn csv_and_json_give_equal_tables() {
    let json = r#"[{"agent": "A", "part": "p", "value": 1.5}, {"agent": "B", "part": "p", "value": "-2"}]"#;
    let import = Import::read(json, ImportFormat::Json, false).unwrap();
    assert_eq!(import.values, csv("agent,part,value\nA,p,1.5\nB,p,-2\n").unwrap().values);
    // The order of the columns and a byte order mark do not matter.
    assert_eq!(import.values, csv("\u{feff}value,agent,part\n1.5,A,p\n-2,B,p\n").unwrap().values);
    let wrong = |text: &str| Import::read(text, ImportFormat::Json, false).unwrap_err().to_string();
    assert!(wrong("{}").contains("expected a JSON list of objects"));
    assert_eq!(wrong(r#"[{"agent": "A", "part": "p", "value": 1}, 7]"#), "row 2, expected an object, got 7");
    assert!(
        wrong(r#"[{"agent": "A", "part": ["p"], "value": 1}]"#)
            .contains("row 1, column part: expected text or a number, got [\"p\"]")
    );
    assert_eq!(ImportFormat::of_name("a/b.CSV"), Some(ImportFormat::Csv));
    assert_eq!(
        (ImportFormat::of_name("x.json"), ImportFormat::of_name("x.txt"), ImportFormat::of_name("x")),
        (Some(ImportFormat::Json), None, None)
    );
}

#[test]
fn invalid_cells_report_row_and_column() {
    for (row, why) in [
        ("p,A,B,-1,0,0,", "row 2, column wins: expected a whole number from 0 to 1000000, got \"-1\""),
        ("p,A,B,1,0.5,0,", "row 2, column draws: expected a whole number from 0 to 1000000, got \"0.5\""),
        ("p,A,B,1,0,9999999,", "row 2, column losses: expected a whole number from 0 to 1000000, got \"9999999\""),
        ("p,A,,1,0,0,", "row 2, column opponent: expected a value, got an empty cell"),
        ("p,A,B,3,1,1,4", "row 2, column planned: expected at least 5 planned matches, got 4"),
        ("p,A,B,600000,0,0,\np,A,C,600000,0,0,", "row 3, column wins: expected at most 1000000 matches in the table"),
        ("p,A,B,1,0,0,\np,A,B,2,0,0,", "row 3, column agent: expected a unique key, but row 2 also has"),
        ("p,A,B,2,0,1,\np,B,A,2,0,1,", "row 3, column wins: expected 1-0-2 for B against A, the reverse of row 2"),
    ] {
        assert_refused(&format!("{RESULTS}{row}\n"), why);
    }
    for (row, why) in [
        ("p,0,1,A,B,0.7,a", "row 2, column score_a: expected 1, 0.5 or 0, got 0.7"),
        ("p,0,1,A,B,x,a", "row 2, column score_a: expected a number, got \"x\""),
        ("p,0,1,A,B,1,c", "row 2, column first: expected `a` or `b`, got \"c\""),
        ("p,0,1,A,B,1,a\np,0,2,A,A,1,a", "row 3, column b: expected an agent that differs from column `a`, got A"),
        ("p,0,1,A,B,1,a\np,0,1,B,C,1,a", "row 3, column order: expected a unique key, but row 2 also has"),
        ("p,first,1,A,B,1,a", "row 2, column cycle: expected a whole number from 0 to 1000000, got \"first\""),
    ] {
        assert_refused(&format!("{MATCHES}{row}\n"), why);
    }
    for (row, why) in [
        ("A,p,0,m,0,win,x,1", "row 2, column ply: expected a ply from 1, got 0"),
        ("A,p,0,m,1,won,x,1", "row 2, column result: expected win, draw or loss, got \"won\""),
        (
            "A,p,0,m,1,win,x,1\nA,p,0,m,2,loss,x,1",
            "row 3, column result: expected equal results of A in all rows of match m",
        ),
        ("A,p,0,m,1,win,x,1\nA,p,0,m,1,win,x,2", "row 3, column name"),
    ] {
        assert_refused(&format!("{DECISIONS}{row}\n"), why);
    }
    for (row, why) in [
        ("td,A,B,human,1,m,0,1,5,10,0,0,0,", "row 2, column round: expected a round from 1, got 0"),
        ("td,A,B,human,maybe,m,1,1,5,10,0,0,0,", "row 2, column first: expected 1 or 0, got \"maybe\""),
        ("td,A,B,human,1,m,1,2,5,10,0,0,0,", "row 2, column won: expected 1 or 0, got \"2\""),
        ("td,A,B,human,1,m,1,1,,10,0,0,0,", "row 2, column cost: expected a value, got an empty cell"),
        ("td,A,B,human,1,m,1,1,5,10,0,0,0,\ntd,A,B,human,1,m,1,1,5,10,0,0,0,", "row 3, column round"),
    ] {
        assert_refused(&format!("{ROUNDS}{row}\n"), why);
    }
    assert_refused("agent,part,value\nA,p,many\n", "row 2, column value: expected a number, got \"many\"");
    let twice = "row 3, column agent: expected a unique key, but row 2 also has the key A, p";
    assert_refused("agent,part,value\nA,p,1\nA,p,2\n", twice);
}

#[test]
fn results_listed_for_both_agents_count_once() {
    let text = format!("{RESULTS}p,A,B,2,1,0,\np,B,A,0,1,2,\n");
    assert_eq!(csv(&text).unwrap().matches.len(), 3);
    // B is a candidate too, and the score of B counts the results from B's side.
    let import = csv(&text).unwrap();
    let rows = import.rows();
    let score = MetricQuery::parse("score_rate").unwrap().number(&rows.of_agent(1)).unwrap();
    assert_eq!((score.value, score.n), (0.5 / 3.0, 3));
    let other = format!("{RESULTS}p,A,B,1,0,1,\np,B,A,2,0,0,\n");
    assert!(csv(&other).is_err());
    let directed = Import::read(&other, ImportFormat::Csv, true).unwrap();
    assert_eq!(directed.matches.len(), 4);
}

#[test]
fn unsupported_metric_lists_missing_columns() {
    let results = csv("part,agent,opponent,wins,draws,losses\np,A,B,1,0,0\n").unwrap();
    let why = |import: &Import, ask: &str| import.feeds(&MetricQuery::parse(ask).unwrap()).unwrap_err().to_string();
    assert_eq!(why(&results, "level"), "level needs columns that this table of results lacks: level");
    assert_eq!(why(&results, "completion"), "completion needs columns that this table of results lacks: planned");
    assert_eq!(
        why(&results, "elo"),
        "elo needs columns that this table of results lacks: cycle, order, a, b, score_a for a table of matches"
    );
    assert!(why(&results, "pss").contains("cycle, match, ply, result, name, value for a table of decisions"));
    assert_eq!(why(&results, "illegal_rate"), "illegal_rate needs match records; imported tables cannot supply it");
    let matches = csv(&format!("{MATCHES}p,0,1,A,B,1,a\n")).unwrap();
    assert!(why(&matches, "nra form=reward").ends_with("lacks: return_a, return_b"));
    // Inputs of derived metrics are checked too.
    assert!(why(&matches, "normalised of=completion").starts_with("completion needs columns"));
    assert!(matches.feeds(&MetricQuery::parse("normalised of=elo").unwrap()).is_ok());
    assert!(matches.feeds(&MetricQuery::parse("nra").unwrap()).is_ok());
}

/// Checks that all metrics in the list of supported metrics exist.
#[test]
fn every_metric_listed_for_import_exists() {
    for metric in metric_inputs::all() {
        assert!(METRICS.iter().any(|known| known.id == metric), "{metric}");
    }
}
