use std::path::Path;

use ludex_tests::run::{Run, SYSTEM, lines};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;
use serde_json::{Map, Value, json};

use super::{ludex, one};

/// Returns the rows of a Parquet file.
fn rows(path: &Path) -> Vec<Value> {
    let file = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
    let row = |row: parquet::record::Row| {
        let fields = row.get_column_iter().map(|(name, field)| {
            let value = match field {
                Field::Null => Value::Null,
                Field::Str(text) => json!(text),
                Field::Long(n) => json!(n),
                Field::Double(x) => json!(x),
                Field::Bool(b) => json!(b),
                other => panic!("{name}: {other}"),
            };
            (name.clone(), value)
        });
        Value::Object(fields.collect::<Map<_, _>>())
    };
    file.get_row_iter(None).unwrap().map(|r| row(r.unwrap())).collect()
}

fn parsed(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn exported_tables_are_read_back_unchanged() {
    let at = one();
    for what in ["episodes", "matches", "moves", "marks", "decisions", "calls", "ratings"] {
        let file = format!("{what}.parquet");
        ludex(at.path(), &["export", "one", "--table", what, "--format", "parquet", "--out", &file]).well();
        let read = rows(&at.path().join(&file));
        let lines = parsed(&ludex(at.path(), &["export", "one", "--table", what]).well());
        if what == "episodes" {
            // As JSON lines, the export equals the records.
            let records: Vec<Value> =
                read.iter().map(|r| serde_json::from_str(r["record"].as_str().unwrap()).unwrap()).collect();
            assert_eq!(records, lines);
            continue;
        }
        assert!(!read.is_empty());
        assert_eq!(read, lines, "{what}");
        let csv = ludex(at.path(), &["export", "one", "--table", what, "--format", "csv"]).well();
        let names: Vec<&str> = lines[0].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(csv.lines().next(), Some(names.join(",").as_str()), "{what}");
    }
}

#[test]
fn exported_episodes_equal_records() {
    let at = one();
    let run = at.path().join("ludex-data/runs/one");
    let records = lines(&run, "episodes.jsonl");
    assert_eq!(parsed(&ludex(at.path(), &["export", "one"]).well()), records);
    // A run can also be named by its folder, and --game selects one of its games.
    let some = ludex(at.path(), &["export", "ludex-data/runs/one", "--game", "kuhn_poker", "--out", "k.jsonl"]).well();
    assert_eq!(some, "");
    let kuhn: Vec<Value> = records.iter().filter(|r| r["game"] == "kuhn_poker").cloned().collect();
    assert_eq!(parsed(&std::fs::read_to_string(at.path().join("k.jsonl")).unwrap()), kuhn);
    assert_eq!(ludex(at.path(), &["verify", "k.jsonl", "--json"]).json()["verified"], kuhn.len());
}

#[test]
fn decision_row_has_prompt_reply_and_verdict() {
    let at = one();
    let run = at.path().join("ludex-data/runs/one");
    let decisions = parsed(&ludex(at.path(), &["export", "one", "--table", "decisions"]).well());
    let own: usize = lines(&run, "episodes.jsonl")
        .iter()
        .map(|r| {
            let seat = r["seats"].as_array().unwrap().iter().position(|s| s["name"] == "model-a").unwrap();
            r["events"].as_array().unwrap().iter().filter(|e| e["seat"] == json!(seat)).count()
        })
        .sum();
    assert_eq!(decisions.len(), own);
    for d in &decisions {
        assert_eq!(
            (&d["agent"], &d["system_prompt"], &d["verdict"]),
            (&json!("model-a"), &json!(SYSTEM), &json!("accepted"))
        );
        assert_eq!(d["level"], if d["part"] == "kuhn" { json!(1) } else { Value::Null });
        assert!(d["output"].as_str().unwrap().ends_with(&format!("Answer: {}", d["move"].as_str().unwrap())), "{d}");
        assert_eq!(d["response"], d["move"]);
        // The first reply of every match was refused, so this decision is a second attempt.
        let refused: Value = serde_json::from_str(d["refused"].as_str().unwrap()).unwrap();
        let first = d["decision"] == 0;
        assert_eq!(refused.as_array().unwrap().len(), usize::from(first), "{d}");
        assert_eq!((&d["attempts"], &d["calls"]), (&json!(1 + u8::from(first)), &json!(1 + u8::from(first))));
        assert_eq!(d["reasoning"], format!("thought {}", u8::from(first)));
        if first {
            assert_eq!((&refused[0]["said"], refused[0]["why"].is_string()), (&json!("nowhere"), true));
            assert_eq!((&d["tokens_in"], &d["usd"]), (&json!(200), &json!(0.001)));
        }
    }
}

#[test]
fn data_card_describes_exported_tables() {
    let at = one();
    ludex(at.path(), &["export", "one", "--table", "decisions", "--format", "parquet", "--out", "d.parquet"]).well();
    let card = std::fs::read_to_string(at.path().join("d.parquet.card.md")).unwrap();
    let bytes = std::fs::read(at.path().join("d.parquet")).unwrap();
    let sum = hex::encode(<sha2::Sha256 as sha2::Digest>::digest(&bytes));
    let rows = rows(&at.path().join("d.parquet"));
    for said in [
        "---\npretty_name: \"d.parquet\"\nlicense: \"other\"\n",
        "    config_name: \"decisions\"\n    data_files:\n      - \"d.parquet\"\n",
        "size_categories:\n  - \"n<1K\"\n",
        "# d.parquet\n",
        &format!("`{sum}`"),
        &format!("| {} rows of decisions | {} |", rows.len(), bytes.len()),
        "| `ms` | integer | duration of the decision, milliseconds |",
        "ludex export one --data ./ludex-data --table decisions --format parquet --out d.parquet",
        "## License",
        "model-a",
    ] {
        assert!(card.contains(said), "{said}: {card}");
    }
    for name in rows[0].as_object().unwrap().keys() {
        assert!(card.contains(&format!("| `{name}` |")), "{name}: {card}");
    }
}

#[test]
fn stone_games_export_as_sgf() {
    let at = tempfile::tempdir().unwrap();
    let parts =
        &[("go", "go(board_size=5,komi=0.5)", "random"), ("five", "gomoku", "random"), ("turn", "reversi", "random")];
    Run { name: "stones", models: &[("m]x", "random")], parts, seeds: 1 }.write(&at.path().join("ludex-data"));
    let text = ludex(at.path(), &["export", "stones", "--format", "sgf"]).well();
    assert_eq!(text.matches("(;FF[4]CA[UTF-8]").count(), 6);
    for said in
        ["GM[1]SZ[5]KM[0.5]", "GM[4]SZ[15]", "GM[2]SZ[8]", "PB[m\\]x]PW[random]", "EV[stones]", "GN[stones.go.0-1.0.0]"]
    {
        assert!(text.contains(said), "{said}: {text}");
    }
    // With this komi, an area-scored board has a score in half points.
    let go = text.split("(;").find(|game| game.contains("GM[1]")).unwrap();
    let result = go.split("RE[").nth(1).unwrap().split(']').next().unwrap();
    assert!(result.ends_with(".5") && (result.starts_with("B+") || result.starts_with("W+")), "{result}");
    let err = ludex(at.path(), &["export", "stones", "--format", "pgn"]).fails();
    assert!(err.contains("expected a verified game of chess, got none in stones"), "{err}");
}

#[test]
fn invalid_export_errors_suggest_a_remedy() {
    let at = one();
    for (args, said) in [
        (&["export", "one", "--format", "sgf", "--table", "calls"][..], "expected jsonl, csv or parquet with --table"),
        (&["export", "one", "--out", "no/x.jsonl"], "no/x.jsonl cannot be written"),
        (&["export", "ludex-data/runs/one/episodes.jsonl", "--table", "calls"], "expected a run (for tables"),
        (&["export", "tow"], "there is no run \"tow\": runs in ./ludex-data/runs are one"),
        (&["export", "tow.jsonl"], "tow.jsonl cannot be opened"),
    ] {
        let err = ludex(at.path(), args).fails();
        assert!(err.contains(said), "{args:?}: {err}");
    }
    assert_eq!(ludex(at.path(), &["export", "one", "--bundle", "x", "--out", "y"]).code, 2);
}
