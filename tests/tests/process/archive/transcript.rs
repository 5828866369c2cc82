use ludex_tests::run::{SYSTEM, lines};

use super::{change, ludex, one, write};

#[test]
fn transcript_has_moves_prompts_and_refusals() {
    let at = one();
    let text = ludex(at.path(), &["show", "one"]).well();
    let run = at.path().join("ludex-data/runs/one");
    let records = lines(&run, "episodes.jsonl");
    for record in &records {
        let id = record["episode"].as_str().unwrap();
        assert!(text.contains(&format!("== {id}: ")), "{id}");
    }
    assert_eq!(text.matches("\n== ").count() + 1, records.len());
    // The system prompt is shown once, and every reply exactly once.
    assert_eq!(text.matches(SYSTEM).count(), 1);
    let calls = lines(&run, "calls.jsonl");
    assert_eq!(text.matches("I think <i>hard</i>.").count(), calls.len());
    let moves: usize =
        records.iter().flat_map(|r| r["events"].as_array().unwrap()).filter(|e| e["kind"] == "move").count();
    let bots = moves - text.matches("\nplays ").count();
    assert!(bots > 0, "expected the moves of bots as observed");
    assert!(text.contains("refused: \"nowhere\": ") && text.contains("\nattempt 2\n"), "{text}");
    assert!(text.contains("1.20 s, 100 tokens in and 7 out, $0.0005"), "{text}");
    // The last section shows only the moves after the last decision, not the whole match.
    let kuhn = ludex(at.path(), &["show", "one", "--episode", "one.kuhn.0-2.0.1"]).well();
    let end = kuhn.split("\n-- end").nth(1).unwrap();
    assert!(end.contains("p1 (model-a): ") && !end.contains("chance: "), "{end}");
    // A single match can be selected.
    let id = records[0]["episode"].as_str().unwrap();
    let alone = ludex(at.path(), &["show", "one", "--episode", id]).well();
    assert!(text.starts_with(alone.trim_end()), "{alone}");
    let other = ludex(at.path(), &["show", "one", "--episode", id, "--seat", "1"]).well();
    assert!(!other.contains(SYSTEM) && other.contains("o (random)"), "{other}");
}

#[test]
fn transcript_shows_view_of_seat_to_move() {
    let at = one();
    let text = ludex(at.path(), &["show", "one", "--game", "kuhn_poker"]).well();
    assert!(!text.contains("tic_tac_toe"));
    // The transcript names the player's own card but not the opponent's.
    for part in text.split("\n-- move ").skip(1) {
        let part = part.split("\n-- end").next().unwrap();
        let (mine, theirs) = if part.contains(": p0 (model-a)") { ("p0", "p1") } else { ("p1", "p0") };
        let dealt =
            |to: &str| part.lines().find(|l| l.starts_with("chance: ") && l.ends_with(&format!("is dealt to {to}")));
        if let Some(own) = dealt(mine) {
            assert!(!own.contains("a card"), "{part}");
        }
        if let Some(other) = dealt(theirs) {
            assert_eq!(other, format!("chance: a card is dealt to {theirs}"));
        }
    }
}

#[test]
fn transcript_shows_result_of_the_model() {
    let at = one();
    let run = at.path().join("ludex-data/runs/one");
    let records = lines(&run, "episodes.jsonl");
    let count = |word: &str| {
        let own = records.iter().filter(|r| {
            let seat = r["seats"].as_array().unwrap().iter().position(|s| s["name"] == "model-a").unwrap();
            r["outcome"][seat] == word
        });
        own.count()
    };
    for (flag, word) in [("--lost", "loss"), ("--won", "win")] {
        let shown = ludex(at.path(), &["show", "one", flag]).well();
        assert_eq!(shown.lines().filter(|l| l.starts_with("== ")).count(), count(word), "{flag}");
        assert!(count(word) > 0);
    }
    let both = ludex(at.path(), &["show", "one", "--lost", "--won", "--agent", "random"]).well();
    assert!(!both.contains("kuhn_poker"));
    let err = ludex(at.path(), &["show", "one", "--agent", "rndom"]).fails();
    assert!(err.contains("model-a, random, anchor level=1"), "{err}");
}

#[test]
fn transcript_page_is_escaped_and_complete() {
    let at = one();
    let said = ludex(at.path(), &["show", "one", "--html"]).well();
    assert_eq!(said, "one.html: 12 matches\n");
    let page = std::fs::read_to_string(at.path().join("one.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"), "{page}");
    assert!(!page.contains("<b>games") && !page.contains("<i>hard") && !page.contains("<script"));
    assert!(
        page.contains("&lt;b&gt;games&lt;&#x2f;b&gt; &amp; answer")
            || page.contains("&lt;b&gt;games&lt;/b&gt; &amp; answer")
    );
    for tag in ["section", "article", "details", "div", "pre", "ul", "p"] {
        let open = page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(open, page.matches(&format!("</{tag}>")).count(), "{tag}");
    }
    assert!(!page.contains("src=") && !page.contains("@import") && !page.contains("url("), "nothing is loaded");
}

#[test]
fn long_match_has_several_pages_and_system_prompt_is_printed_once() {
    let at = one();
    let text = ludex(at.path(), &["show", "one"]).well();
    let prompts: Vec<&str> = text.lines().filter(|line| line.contains("system prompt")).collect();
    assert!(prompts.iter().skip(1).all(|line| line.contains("as before")), "{prompts:?}");
    // Long replies in each turn of a match.
    let long = "x".repeat(600_000);
    change(at.path(), "calls.jsonl", |text| text.replace("<i>hard", &format!("<i>hard{long}")));
    ludex(at.path(), &["rate", "one", "--report", "rep"]).well();
    let folder = at.path().join("rep/transcripts-one");
    let names: Vec<String> =
        std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    let second = names.iter().find(|name| name.ends_with("-2.html")).expect("a second piece");
    let first = std::fs::read_to_string(folder.join(second.replace("-2.html", ".html"))).unwrap();
    assert!(first.contains(&format!("href=\"{second}\"")), "the first piece links the second");
    for name in &names {
        assert!(std::fs::metadata(folder.join(name)).unwrap().len() <= 2_000_000, "{name}");
    }
}

#[test]
fn control_characters_are_replaced_in_terminal_and_page() {
    let at = one();
    change(at.path(), "calls.jsonl", |text| text.replace("<i>hard", "h\\u001b[2J\\u0007\\u0000\\u202eard"));
    let text = ludex(at.path(), &["show", "one"]).well();
    ludex(at.path(), &["show", "one", "--html"]).well();
    let page = std::fs::read_to_string(at.path().join("one.html")).unwrap();
    for shown in [text, page] {
        assert!(shown.contains("h\u{fffd}[2J\u{fffd}\u{fffd}\u{fffd}ard"), "{shown}");
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\0', '\u{202e}']), "{shown}");
    }
}

#[test]
fn transcript_errors_state_the_reason() {
    let at = one();
    write(at.path(), "two", "model-b", "random");
    let err = ludex(at.path(), &["show", "tow"]).fails();
    assert!(err.contains("got tow") && err.contains("runs: one, two"), "{err}");
    let err = ludex(at.path(), &["show", "one", "--ply", "1"]).fails();
    assert!(err.contains("require an episode, got the run"), "{err}");
    let err = ludex(at.path(), &["show", "ludex-data/runs/one/episodes.jsonl", "--lost"]).fails();
    assert!(err.contains("require a run, got"), "{err}");
    let err = ludex(at.path(), &["show", "one", "--data", "elsewhere"]).fails();
    assert!(err.contains("--data"), "{err}");
    let err = ludex(at.path(), &["show", "one", "--episode", "x"]).fails();
    assert!(err.contains("the run has 12 matches"), "{err}");
    // An interrupted match has only calls, and a truncated line is ignored.
    change(at.path(), "episodes.jsonl", |text| text[..text.trim_end().rfind('\n').unwrap() + 100].to_owned());
    let broken = "one.kuhn.0-2.2.1";
    let err = ludex(at.path(), &["show", "one", "--episode", broken]).fails();
    assert!(err.contains("has calls but no result yet"), "{err}");
    let rest = ludex(at.path(), &["show", "one"]).well();
    assert!(!rest.contains(broken));
}
