use ludex_env::recording;

use super::super::Suite;
use super::super::plan::Plan;
use super::*;

fn text(fields: &str, files: &[(&str, &str)]) -> String {
    let text = format!("name = \"s\"\nversion = 1\ntitle = \"S\"\n[[part]]\nid = \"p\"\n{fields}\n");
    carrying(&text, &files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()).unwrap()
}

fn excerpts(fields: &str, lines: &str) -> Excerpts {
    let suite = Suite::parse(&text(fields, &[("s.jsonl", lines)]), &ludex_games::builtin()).unwrap();
    let me = [("me".to_owned(), "random".to_owned())];
    Plan::new(suite, &me, 1.0, &ludex_games::builtin()).unwrap().parts[0].excerpts.clone()
}

/// Returns the position after a start, as text.
fn render(game: &str, excerpt: &Excerpt) -> String {
    let game = ludex_games::load(game).unwrap();
    recording::position(&*game, &excerpt.start).unwrap().view(ludex_env::Viewer::Public).text()
}

#[test]
fn matches_of_a_block_share_a_start_and_swap_seats() {
    let part = "game = \"tic_tac_toe\"\nschedule = \"against\"\nopponents = [\"random\"]\nstarts = \"s.jsonl\"\nmoves = 2\nblocks = 2";
    let lines = "{\"moves\": [4, \"o(0,0)\"]}\n\n{\"moves\": [0], \"about\": \"A corner\"}\n{}\n";
    let all = excerpts(part, lines);
    for turn in 0..2 {
        let [first, second] = [0, 1].map(|block| all.of(block, turn));
        assert_eq!((first.start.len(), second.start.len()), (2, 1));
        // The seat of the candidate changes, the start does not.
        assert_eq!((first.moves, &first.of), (Some(2), &vec![turn]));
        assert_eq!(first.start, all.of(0, 1 - turn).start);
        assert!(first.counts(turn) && !first.counts(1 - turn) && first.is_spent(2) && !first.is_spent(1));
    }
    assert_eq!(render("tic_tac_toe", &all.of(0, 0)).matches('x').count(), 1);
    // Both halves of a part use the same lines of the file, and so do all cycles.
    let halves = excerpts(&part.replace("blocks = 2", "blocks = 2\norder = \"halves\""), lines);
    assert_eq!([0, 1, 2, 3].map(|index| halves.of(index, 0).start.len()), [2, 1, 2, 1]);
    assert!(excerpts("game = \"nim\"\nschedule = \"self_play\"\nblocks = 1", "{}").of(0, 0).is_whole());
}

#[test]
fn starts_may_contain_chance_and_joint_moves() {
    let poker = "game = \"kuhn_poker\"\nschedule = \"self_play\"\nstarts = \"s.jsonl\"\nmoves = 1\nblocks = 1";
    let all = excerpts(poker, "{\"chance\": [2, 0], \"moves\": [\"pass\"]}");
    let start = all.of(0, 0);
    let kinds: Vec<bool> = start.start.iter().map(|event| matches!(event, RecordEvent::Chance(_))).collect();
    assert_eq!((kinds, start.of), (vec![true, true, false], vec![0, 1]));
    let joint = "game = \"iterated_prisoners_dilemma\"\nschedule = \"against\"\nopponents = [\"random\"]\nstarts = \"s.jsonl\"\nblocks = 1";
    let start = excerpts(joint, "{\"moves\": [0, 1, 1, 1], \"chance\": [\"CONTINUE\", 0]}").of(0, 0).start;
    let more: Vec<bool> = start.iter().map(|event| matches!(event, RecordEvent::Move(m) if m.more)).collect();
    // Two rounds: the moves of both seats, where `more` marks the first move, and a chance event after each round.
    assert_eq!(more, [true, false, false, true, false, false]);
}

#[test]
fn error_for_an_unplayable_start_states_the_line() {
    let suite = |game: &str, lines: &str, more: &str| {
        let part = format!("game = \"{game}\"\nschedule = \"self_play\"\nstarts = \"s.jsonl\"\nblocks = 1\n{more}");
        Suite::parse(&text(&part, &[("s.jsonl", lines)]), &ludex_games::builtin()).map_err(|e| e.to_string())
    };
    for (game, lines, why) in [
        ("tic_tac_toe", "{}\n{\"moves\": [4, 4]}", "part \"p\": s.jsonl line 2: moves[1] 4:"),
        ("tic_tac_toe", "{\"moves\": [\"x9\"]}", "s.jsonl line 1: moves[0] \"x9\":"),
        ("tic_tac_toe", "{\"moves\": [0, 3, 1, 4, 2]}", "s.jsonl line 1: the game ends before the first move request"),
        ("tic_tac_toe", "{\"moves\": [0, 3, 1, 4, 2, 5]}", "the game ends before the first move request"),
        ("tic_tac_toe", "{\"moves\": [0], \"chance\": [1]}", "chance[0] 1: expected a move of a seat"),
        ("kuhn_poker", "{\"chance\": [2], \"moves\": [0]}", "moves[0] 0: expected a chance outcome before this move"),
        ("kuhn_poker", "{\"chance\": [2, 2]}", "chance[1] 2:"),
        (
            "iterated_prisoners_dilemma",
            "{\"moves\": [0, 1, 1], \"chance\": [0]}",
            "moves[2]: expected 2 simultaneous moves, got 1",
        ),
        ("tic_tac_toe", "{\"move\": [0]}", "s.jsonl line 1: unknown field `move`"),
        ("tic_tac_toe", "\n", "s.jsonl: expected at least one start"),
    ] {
        let error = suite(game, lines, "").unwrap_err();
        assert!(error.contains(why), "{lines}: {error}");
    }
    assert!(suite("tic_tac_toe", "{}", "moves = 0").unwrap_err().contains("at least 1 decision"));
}

#[test]
fn suite_text_includes_its_files() {
    let bare = "name = \"s\"\nversion = 1\ntitle = \"S\"\n[[part]]\nid = \"p\"\ngame = \"nim\"\nschedule = \"self_play\"\n\
        starts = \"a.jsonl\"\nblocks = 1\n[[part]]\nid = \"q\"\ngame = \"connect_four\"\nschedule = \"self_play\"\n\
        starts = \"reference-starts.jsonl\"\nblocks = 1\n";
    assert_eq!(missing(bare), BTreeSet::from(["a.jsonl".to_owned()]));
    let error = Suite::parse(bare, &ludex_games::builtin()).unwrap_err().to_string();
    assert!(error.contains("starts = \"a.jsonl\": this file is neither in [files] nor built in"), "{error}");
    let lines = "{\"moves\": [], \"about\": \"it's '''all''' \\\"quoted\\\"\"}\n";
    let whole = carrying(bare, &BTreeMap::from([("a.jsonl".to_owned(), lines.to_owned())])).unwrap();
    let suite = Suite::parse(&whole, &ludex_games::builtin()).unwrap();
    assert_eq!((suite.files["a.jsonl"].as_str(), missing(&whole).len()), (lines, 0));
    assert!(Suite::digest(&whole) != Suite::digest(bare));
    assert!(carrying(&whole, &BTreeMap::from([("b.jsonl".to_owned(), String::new())])).is_err());
}
