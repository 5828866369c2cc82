//! Fine-tuning data: prompts and replies of the rows against the calls and records of their runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use ludex_agents::AgentSpec;
use ludex_agents::llm::{PositionQuery, observe, prompt};
use ludex_env::{Action, DynState, GameRef, Move, ToMove};
use serde_json::{Value, json};

use super::Place;
use super::models::Stub;

fn parsed(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn lines(place: &Place, run: &str, file: &str) -> Vec<Value> {
    parsed(&fs::read_to_string(place.of_run(run, file)).unwrap())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("expected a text, got {value}"))
}

fn export(place: &Place, run: &str, args: &[&str]) -> String {
    place.ludex(&[&["export", run, "--table"], args].concat()).well().to_owned()
}

/// Plays a run of a suite with open seeds, so that its rows are the same in each run of the test.
fn play(place: &Place, run: &str, agent: &str, parts: &[(&str, &str)], blocks: usize) {
    let parts: String = parts
        .iter()
        .map(|(id, game)| {
            format!(
                "[[part]]\nid = \"{id}\"\ngame = \"{game}\"\nschedule = \"against\"\nopponents = [\"random\"]\nblocks = {blocks}\n"
            )
        })
        .collect();
    let suite = format!("name = \"tuned\"\nversion = 1\ntitle = \"Tuned\"\nseed = 5\n[policy]\ntries = 3\n{parts}");
    fs::write(place.path("tuned.toml"), suite).unwrap();
    place.ludex(&["evaluate", "--agent", agent, "--suite", "tuned.toml", "--run", run]).well();
}

/// Returns the recorded move of a row, and its record.
fn recorded<'r>(records: &'r [Value], about: &Value) -> (&'r Value, &'r Value) {
    let record = records.iter().find(|record| record["episode"] == about["episode"]).unwrap();
    let events = record["events"].as_array().unwrap();
    let own = |event: &&Value| event["seat"] == about["seat"] && event["turn"] == about["decision"];
    (events.iter().find(own).unwrap(), record)
}

/// Returns the result for `seat` of tic-tac-toe played perfectly by both sides.
fn solved(state: &dyn DynState, seat: usize) -> f64 {
    let ToMove::Seat(mover) = state.turn() else { return state.returns()[seat] };
    let after = state.legal_list(mover).into_iter().map(|a| solved(&*played(state, mover, a), seat));
    if mover == seat { after.fold(-1.0, f64::max) } else { after.fold(1.0, f64::min) }
}

fn played(state: &dyn DynState, seat: usize, a: Action) -> Box<dyn DynState> {
    let mut next = state.boxed();
    next.play(seat, a).unwrap();
    next
}

/// Returns true if the game is over and `seat` has won.
fn has_won(state: &dyn DynState, seat: usize) -> bool {
    state.turn() == ToMove::Over && state.returns()[seat] > 0.0
}

/// Returns true if `seat` wins with its next move.
fn can_win(state: &dyn DynState, seat: usize) -> bool {
    state.turn() == ToMove::Seat(seat)
        && state.legal_list(seat).into_iter().any(|a| has_won(&*played(state, seat, a), seat))
}

/// Positions of a run by episode, seat and turn.
struct Positions(BTreeMap<String, Value>);

impl Positions {
    fn of(place: &Place, run: &str) -> Positions {
        let rows = parsed(&export(place, run, &["grpo", "--validation", "0"]));
        Positions(rows.into_iter().map(|row| (key(&row["metadata"]), row)).collect())
    }

    fn find(&self, about: &Value) -> (GameRef, Box<dyn DynState>, usize) {
        let row = &self.0[&key(about)];
        let game = ludex_games::load(text(&row["game"])).unwrap();
        let h: Vec<(i32, Value)> = serde_json::from_str(text(&row["history"])).unwrap();
        let state = observe(&game, &h, None).unwrap().state;
        (game, state, row["seat"].as_u64().unwrap() as usize)
    }
}

fn key(about: &Value) -> String {
    format!("{} {} {}", about["episode"], about["seat"], about["decision"])
}

/// Returns the action of a reply such as `{"move": "x(1,1)"}`.
fn action(state: &dyn DynState, seat: usize, message: &Value) -> Action {
    assert_eq!(message["role"], "assistant");
    let reply: Value = serde_json::from_str(text(&message["content"])).unwrap();
    let parsed = state.parse_move(seat, &Move::Text(text(&reply["move"]).to_owned())).unwrap();
    match parsed {
        ludex_env::ParsedMove::Action(a) => a,
        other => panic!("expected an action, got {other:?}"),
    }
}

#[test]
fn run_of_search_agents_gives_all_tables() {
    let place = Place::new();
    play(&place, "r", "mcts sims=20", &[("ttt", "tic_tac_toe"), ("kuhn", "kuhn_poker")], 12);
    let records = lines(&place, "r", "episodes.jsonl");

    let sft = export(&place, "r", &["sft"]);
    assert_eq!(sft, export(&place, "r", &["sft"]));
    let rows = parsed(&sft);
    assert!(rows.len() > 40);
    for row in &rows {
        let about = &row["metadata"];
        let (event, record) = recorded(&records, about);
        let seat = about["seat"].as_u64().unwrap() as usize;
        assert_eq!((&record["outcome"][seat], &about["digest"]), (&json!("win"), &record["digest"]));
        assert_eq!((&about["source"], &about["seed"]), (&json!("written"), &record["seed"]));
        assert_eq!((&about["agent"], &about["hash"]), (&record["seats"][seat]["name"], &record["hash"]));
        let roles: Vec<&str> = row["messages"].as_array().unwrap().iter().map(|m| text(&m["role"])).collect();
        assert_eq!(roles, ["system", "user", "assistant"]);
        assert!(event["action"].is_number() && event["forced"] != true);
    }

    let positions = Positions::of(&place, "r");
    let llm = AgentSpec::parse("llm model=none").unwrap();
    for row in positions.0.values() {
        let (game, _, seat) = positions.find(&row["metadata"]);
        let h = serde_json::from_str(text(&row["history"])).unwrap();
        let same = prompt(&llm, &game, &PositionQuery { h, seat: Some(seat) }).unwrap();
        assert_eq!((&row["prompt"], &row["legal"]), (&json!(same.messages), &json!(same.legal)));
        assert_eq!(row["names"], json!(same.names));
        let (event, record) = recorded(&records, &row["metadata"]);
        assert_eq!(row["reference_action"], event["action"]);
        assert_eq!(row["reference_return"].as_f64(), record["returns"][seat].as_f64());
    }
    for row in &rows {
        let (_, state, seat) = positions.find(&row["metadata"]);
        let (event, _) = recorded(&records, &row["metadata"]);
        assert_eq!(json!(action(&*state, seat, &row["messages"][2])), event["action"]);
        assert_eq!(
            row["messages"].as_array().unwrap()[..2],
            *positions.0[&key(&row["metadata"])]["prompt"].as_array().unwrap()
        );
    }
}

#[test]
fn better_move_of_a_pair_is_better() {
    let place = Place::new();
    play(&place, "r", "mcts sims=20", &[("ttt", "tic_tac_toe")], 12);
    let positions = Positions::of(&place, "r");
    for rule in ["marks", "search"] {
        let args = ["dpo", "--pairs", rule, "--sims", "2000"];
        let args = if rule == "marks" { &args[..3] } else { &args[..] };
        let pairs = parsed(&export(&place, "r", args));
        assert!(pairs.len() > 10, "{rule}: {}", pairs.len());
        assert_eq!(export(&place, "r", args), export(&place, "r", args));
        for row in &pairs {
            let pair = &row["metadata"]["pair"];
            let (_, state, seat) = positions.find(&row["metadata"]);
            let [chosen, rejected] = ["chosen", "rejected"].map(|of| {
                let a = action(&*state, seat, &row[of][0]);
                assert_eq!(pair[of], state.view(ludex_env::Viewer::Seat(seat)).action_text(seat, a));
                played(&*state, seat, a)
            });
            match text(&pair["rule"]) {
                "missed_win" => assert!(has_won(&*chosen, seat) && !has_won(&*rejected, seat)),
                "missed_block" => assert!(can_win(&*rejected, 1 - seat) && !can_win(&*chosen, 1 - seat)),
                "search" => {
                    assert!(pair["chosen_value"].as_f64() > pair["rejected_value"].as_f64());
                    assert!(solved(&*chosen, seat) >= solved(&*rejected, seat), "{row}");
                }
                other => panic!("unknown rule {other}"),
            }
        }
    }
}

#[test]
fn splits_share_neither_seeds_nor_prompts() {
    let place = Place::new();
    play(&place, "r", "mcts sims=20", &[("ttt", "tic_tac_toe"), ("nim", "nim")], 12);
    let all = export(&place, "r", &["grpo", "--validation", "0.4"]);
    let [train, validation] = ["train", "validation"].map(|split| {
        let own = export(&place, "r", &["grpo", "--validation", "0.4", "--split", split]);
        let of_all: String = all
            .lines()
            .zip(parsed(&all))
            .filter(|(_, row)| row["split"] == split)
            .map(|(line, _)| format!("{line}\n"))
            .collect();
        assert_eq!(own, of_all);
        let rows = parsed(&own);
        assert!(!rows.is_empty());
        let column = |name: &str| rows.iter().map(|row| row[name].to_string()).collect::<BTreeSet<_>>();
        [column("seed"), column("prompt")]
    });
    for (train, validation) in train.iter().zip(&validation) {
        assert!(train.is_disjoint(validation));
    }
    // The opening is a position of all seeds.
    let err = place.ludex(&["export", "r", "--table", "grpo", "--validation", "0.4"]).err;
    assert!(err.contains("rows for validation with a prompt that is also in the training rows"), "{err}");
}

#[test]
fn openai_fields_have_no_other_fields() {
    let place = Place::new();
    play(&place, "r", "mcts sims=20", &[("ttt", "tic_tac_toe")], 4);
    let fields = |row: &Value| row.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    for (table, wanted) in [("sft", &["messages"][..]), ("dpo", &["input", "non_preferred_output", "preferred_output"])]
    {
        let rows = parsed(&export(&place, "r", &[table, "--fields", "openai", "--split", "train"]));
        let trl = parsed(&export(&place, "r", &[table, "--split", "train"]));
        assert_eq!(rows.len(), trl.len());
        for (row, trl) in rows.iter().zip(&trl) {
            let mut own = fields(row);
            own.sort();
            assert_eq!(own, wanted);
            if table == "dpo" {
                let own = [&row["input"]["messages"], &row["preferred_output"], &row["non_preferred_output"]];
                assert_eq!(own, [&trl["prompt"], &trl["chosen"], &trl["rejected"]]);
            } else {
                assert_eq!(row["messages"], trl["messages"]);
            }
        }
    }
    let rows = parsed(&export(&place, "r", &["grpo", "--fields", "openai", "--prompt", "template=user"]));
    assert_eq!(rows[0]["messages"].as_array().unwrap().len(), 1);
    assert!(rows[0].get("prompt").is_none() && rows[0]["metadata"]["prompt"] == r#"{"template":"user"}"#);
    place.ludex(&["export", "r", "--table", "sft", "--agent", "mcts sims=20", "--out", "sft.jsonl"]).well();
    let card = fs::read_to_string(place.path("sft.jsonl.card.md")).unwrap();
    for said in [
        "license: \"other\"",
        "config_name: \"sft\"",
        "text-generation",
        "--table sft --format jsonl --agent 'mcts sims=20' --out sft.jsonl",
        "| `messages` | list or object |",
        "| `metadata.digest` | text |",
        "for training,",
        "## License",
    ] {
        assert!(card.contains(said), "{said}: {card}");
    }
}

/// Returns the calls of a run by episode, seat, turn and attempt.
fn calls(place: &Place, run: &str) -> BTreeMap<(String, u64, u64, u64), Value> {
    let of = |line: Value| {
        let [turn, attempt, _] = text(&line["key"]).split('.').map(|n| n.parse().unwrap()).collect::<Vec<u64>>()[..]
        else {
            panic!("{line}")
        };
        ((text(&line["episode"]).to_owned(), line["seat"].as_u64().unwrap(), turn, attempt), line["call"].clone())
    };
    lines(place, run, "calls.jsonl").into_iter().map(of).collect()
}

fn decision(about: &Value) -> (String, u64, u64) {
    (text(&about["episode"]).to_owned(), about["seat"].as_u64().unwrap(), about["decision"].as_u64().unwrap())
}

#[test]
fn rows_of_a_model_have_its_prompts_and_replies() {
    let place = Place::new();
    let stub = Stub::start(&place, &["--agent", "random", "--prose", "0.3"]);
    play(&place, "r", &stub.model("m", ""), &[("nim", "nim")], 8);
    let (calls, records) = (calls(&place, "r"), lines(&place, "r", "episodes.jsonl"));
    let is_ok = |call: &Value| call["verdict"] == "ok";
    let agent = text(&parsed(&export(&place, "r", &["decisions"]))[0]["agent"]).to_owned();

    let rows = parsed(&export(&place, "r", &["sft", "--decisions", "all", "--agent", &agent, "--validation", "0"]));
    let mut found = BTreeSet::new();
    for row in &rows {
        let (episode, seat, turn) = decision(&row["metadata"]);
        let (event, _) = recorded(&records, &row["metadata"]);
        let attempt = event["tries"].as_array().map_or(0, Vec::len) as u64;
        let call = &calls[&(episode.clone(), seat, turn, attempt)];
        assert!(is_ok(call) && row["metadata"]["source"] == "sent");
        let messages = row["messages"].as_array().unwrap();
        let (reply, sent) = messages.split_last().unwrap();
        assert_eq!(json!(sent), call["messages"]);
        assert_eq!((&reply["role"], &reply["content"]), (&json!("assistant"), &call["answer"]));
        found.insert((episode, seat, turn));
    }
    assert_eq!((found.len(), rows.len()), (rows.len(), calls.values().filter(|call| is_ok(call)).count()));

    let pairs = parsed(&export(&place, "r", &["dpo", "--pairs", "refused", "--validation", "0"]));
    let mut refused = BTreeSet::new();
    for row in &pairs {
        let (episode, seat, turn) = decision(&row["metadata"]);
        let of_turn = || calls.range((episode.clone(), seat, turn, 0)..=(episode.clone(), seat, turn, u64::MAX));
        let (key, call) = of_turn().find(|(_, call)| call["messages"] == row["prompt"]).unwrap();
        assert!(!is_ok(call));
        assert_eq!(row["rejected"][0]["content"], call["answer"]);
        let accepted = of_turn().map(|(_, call)| call).find(|call| is_ok(call)).unwrap();
        assert_eq!(row["chosen"][0]["content"], accepted["answer"]);
        refused.insert(key.clone());
    }
    let of_found = calls.iter().filter(|(key, call)| {
        !is_ok(call) && found.contains(&(key.0.clone(), key.1, key.2)) && !text(&call["answer"]).trim().is_empty()
    });
    assert!(!refused.is_empty());
    assert_eq!(refused, of_found.map(|(key, _)| key.clone()).collect());

    // Prompts that are written from the record are those that the model was sent.
    let first = parsed(&export(&place, "r", &["grpo", "--agent", &agent, "--validation", "0"]));
    assert!(first.len() >= rows.len());
    for row in &first {
        let (episode, seat, turn) = decision(&row["metadata"]);
        assert_eq!(row["prompt"], calls[&(episode, seat, turn, 0)]["messages"]);
    }
}

#[test]
fn earlier_replies_of_a_conversation_have_no_weight() {
    let place = Place::new();
    let stub = Stub::start(&place, &["--agent", "random"]);
    play(&place, "r", &stub.model("m", "prompting=chat"), &[("nim", "nim")], 3);
    let args = ["sft", "--decisions", "all", "--fields", "openai", "--validation", "0"];
    let rows = parsed(&export(&place, "r", &args));
    let mut earlier = 0;
    for row in &rows {
        let (reply, before) = row["messages"].as_array().unwrap().split_last().unwrap();
        assert!(reply["role"] == "assistant" && reply.get("weight").is_none());
        for message in before {
            let is_reply = message["role"] == "assistant";
            assert_eq!(message.get("weight"), is_reply.then_some(&json!(0)));
            earlier += usize::from(is_reply);
        }
    }
    assert!(earlier > 0);
}

#[test]
fn invalid_tuning_export_names_the_remedy() {
    let place = Place::new();
    play(&place, "r", "mcts sims=20", &[("kuhn", "kuhn_poker")], 2);
    for (args, said) in [
        (&["dpo", "--pairs", "refused"][..], "--pairs refused: expected refused replies of language models, got none"),
        (&["dpo", "--pairs", "marks"], "--pairs marks: expected positions in which only some moves have the mark"),
        (&["sft", "--agent", "nim"], "--agent: expected an agent of the exported matches, got \"nim\"; allowed: "),
        (&["sft", "--prompt", "prompting=cot"], "--prompt prompting: expected prompt, got cot"),
        (&["sft", "--prompt", "legal=maybe"], "--prompt for kuhn_poker"),
        (&["sft", "--prompt", "legal"], "--prompt: expected NAME=VALUE, got legal"),
        (&["sft", "--fields", "openai"], "--split: expected train or validation with --fields openai"),
        (&["sft", "--validation", "1.5"], "--validation: expected a share from 0 to 1, got 1.5"),
        (&["sft", "--format", "csv"], "--format: expected jsonl with --table sft, dpo and grpo"),
        (&["decisions", "--pairs", "marks"], "--pairs: expected --table sft, dpo or grpo"),
        (&["dpo", "--sims", "0"], "sims"),
    ] {
        let ran = place.ludex(&[&["export", "r", "--table"], args].concat());
        assert!(ran.fails().contains(said), "{args:?}: {}", ran.err);
    }
    let file = place.of_run("r", "episodes.jsonl");
    let ran = place.ludex(&["export", file.to_str().unwrap(), "--table", "sft"]);
    assert!(ran.fails().contains("expected a run (for tables"), "{}", ran.err);
}
