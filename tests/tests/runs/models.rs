//! Language models in runs, against the LLM stub over HTTP: ratings, costs, and endpoint failures.

use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Child;

use serde_json::Value;

use super::{Place, Ran, killed, table};

/// LLM stub in a separate process. Dropping this value kills the process.
pub(super) struct Stub {
    child: Child,
    pub(super) url: String,
}

impl Stub {
    pub(super) fn start(place: &Place, args: &[&str]) -> Stub {
        let mut child = place.start(&[&["check", "llm-stub", "--json"], args].concat());
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"));
        Stub { child, url: ready["url"].as_str().unwrap().to_owned() }
    }

    /// Returns the spec of a model that sends the position to the stub.
    pub(super) fn model(&self, name: &str, more: &str) -> String {
        format!("llm model={name} base_url={} stub=true {more}", self.url).trim_end().to_owned()
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn part<'a>(table: &'a Value, id: &str) -> &'a Value {
    table["parts"].as_array().unwrap().iter().find(|part| part["part"] == id).unwrap()
}

#[test]
fn stronger_stub_is_rated_higher() {
    let place = Place::new();
    let ratings: Vec<f64> = ["random", "anchor level=1", "anchor level=3"]
        .iter()
        .enumerate()
        .map(|(k, plays)| {
            let stub = Stub::start(&place, &["--agent", plays]);
            let ran = place.evaluate(&stub.model("m", "prompting=cot"), &format!("r{k}"), &[]);
            let all = ran.json();
            assert_eq!(all["end"], "done");
            // Each move is one call, as no move is refused; forced moves cause no call.
            assert!(all["usage"]["calls"].as_u64().unwrap() > 100);
            part(&all, "four")["rating"]["value"].as_f64().unwrap()
        })
        .collect();
    assert!(ratings.windows(2).all(|r| r[0] + 100.0 < r[1]), "{ratings:?}");
}

/// Checks that a match that ended by an illegal move is not counted once it was played again. The verdict, the report,
/// the ratings of the run's file, and a comparison must ignore the match.
#[test]
fn replaced_match_is_not_counted() {
    let place = Place::new();
    let suite = "name = \"again\"\nversion = 1\ntitle = \"Again\"\n\
        [policy]\ninvalid = \"replay\"\nreplay_factor = 3\nillegal = { tries = 1, then = \"forfeit\" }\n\
        [[variant]]\nname = \"cot\"\nllm = { prompting = \"cot\" }\n\
        [[part]]\nid = \"nim\"\ngame = \"nim\"\nschedule = \"against\"\nopponents = [\"random\"]\nblocks = 6\n\
        [[part]]\nid = \"auction\"\ngame = \"first_sealed_auction\"\nschedule = \"against\"\nopponents = [\"random\"]\nblocks = 6\n";
    fs::write(place.path("again.toml"), suite).unwrap();
    let stub = Stub::start(&place, &["--agent", "random", "--prose", "0.2"]);
    let model = stub.model("m", "");
    let evaluate = |run: &str| {
        place.ludex(&["evaluate", "--agent", &model, "--suite", "again.toml", "--run", run, "--json"]).json()
    };
    let verdict = evaluate("r");
    let own = part(&verdict, "nim");
    assert!(own["invalid"].as_u64().unwrap() > 0, "{own}");
    let name = own["agent"].as_str().unwrap().to_owned();
    let tally = |row: &Value| ["wins", "draws", "losses"].map(|key| row[key].as_u64().unwrap());
    let report: Value = serde_json::from_str(&fs::read_to_string(place.of_run("r", "report.json")).unwrap()).unwrap();
    let file = place.of_run("r", "episodes.jsonl");
    let rated = place.ludex(&["rate", "--unrated", "--json", file.to_str().unwrap()]).json();
    for table in [&report["scales"], &rated["ratings"]] {
        let scale = table.as_array().unwrap().iter().find(|scale| scale["part"] == "nim").unwrap();
        let row = scale["agents"].as_array().unwrap().iter().find(|row| row["name"] == name.as_str()).unwrap();
        assert_eq!(tally(row), tally(own));
    }
    let discards = report["discards"].as_array().unwrap().iter().find(|row| row["name"] == name.as_str()).unwrap();
    let lost: u64 = verdict["parts"].as_array().unwrap().iter().map(|part| part["invalid"].as_u64().unwrap()).sum();
    assert_eq!(discards["reasons"]["replayed"], lost);
    // Two runs with the same secret play the same matches, and every counted match has its partner.
    evaluate("s");
    let plain = place.ludex(&["compare", "r", "s"]);
    assert!(plain.fails().contains(&name), "{}", plain.err);
    let same = place.ludex(&["compare", "r", "s", "--agent", &name, "--json"]).json();
    assert_eq!(same["unpaired"], serde_json::json!([0, 0]), "{same}");
    let row = |game: &str| {
        let rows = same["games"].as_array().unwrap();
        rows.iter().find(|row| row["game"].as_str().unwrap().starts_with(game)).unwrap().clone()
    };
    assert_eq!(row("nim")["pairs"], tally(own).iter().sum::<u64>());
    // An auction has no single winner: its returns are compared, and the total over all games excludes it.
    assert_eq!(row("first_sealed_auction")["scores"], Value::Null);
    assert_eq!(same["all"]["pairs"], row("nim")["pairs"]);
}

/// Checks that the report names the prompting method of a model, which the suite may set.
#[test]
fn report_shows_prompting_method_of_model() {
    let place = Place::new();
    let suite = "name = \"asked\"\nversion = 1\ntitle = \"Asked\"\n[llm]\nprompting = \"parts\"\n\
        [[part]]\nid = \"nim\"\ngame = \"nim\"\nschedule = \"against\"\nopponents = [\"random\"]\nblocks = 1\n";
    fs::write(place.path("asked.toml"), suite).unwrap();
    let stub = Stub::start(&place, &["--agent", "random"]);
    let model = stub.model("m", "");
    assert!(place.ludex(&["evaluate", "--agent", &model, "--suite", "asked.toml", "--run", "r"]).ok);
    let page = fs::read_to_string(place.of_run("r", "report.html")).unwrap();
    assert!(page.contains("<dt>Prompting</dt><dd>parts</dd>"), "{page}");
}

#[test]
fn killed_run_repeats_no_call() {
    let place = Place::new();
    let stub = Stub::start(&place, &["--agent", "mcts sims=10"]);
    // Conversations also continue from their previous state.
    let model = stub.model("m", "price_in=1 price_out=2 prompting=chat memory=3");
    let whole = place.evaluate(&model, "whole", &[]);
    let line = ["evaluate", "--agent", &model, "--suite", "small.toml", "--run", "cut", "--json"];
    let cut = killed(&place, "cut", &line, 10, 60_000);
    assert_eq!(table(&cut), table(&whole));
    let calls = fs::read_to_string(place.of_run("cut", "calls.jsonl")).unwrap();
    let mut keys: Vec<String> = calls
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|call| format!("{} {} {}", call["episode"], call["seat"], call["key"]))
        .collect();
    let all = keys.len();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), all, "a call was repeated");
}

/// Compares the estimate, which is based on measurements of `ludex agents check`, with the usage of the run.
#[test]
fn run_estimate_is_close_to_measured_usage() {
    for (plays, method) in [("random", "cot"), ("mcts sims=30", "cot"), ("mcts sims=30", "chat memory=4")] {
        let place = Place::new();
        let stub = Stub::start(&place, &["--agent", plays, "--out-tokens", "60"]);
        let model = stub.model("m", &format!("prompting={method}"));
        let added = ["agents", "add", "little", "--spec", &model, "--price-in", "1", "--price-out", "5"];
        assert!(place.ludex(&added).ok);
        let checked = place.ludex(&["agents", "check", "little", "--json"]);
        assert!(checked.ok, "{}{}", checked.out, checked.err);
        let estimate =
            ["evaluate", "--agent", "little", "--suite", "small.toml", "--estimate", "--stand-in", plays, "--json"];
        let estimate = place.ludex(&estimate).json();
        assert_eq!(estimate["guesses"].as_array().unwrap().len(), 0, "{estimate}");
        assert!(!place.of_run("r", "run.json").exists());
        let used = place.evaluate("little", "r", &[]).json();
        let near = |what: &str, about: f64, used: f64| {
            let off = about / used - 1.0;
            assert!(off.abs() < 0.25, "{plays}: {what}: {about} estimated, {used} used");
        };
        let total = |name: &str| estimate["total"][name].as_f64().unwrap();
        let parts = estimate["parts"].as_array().unwrap();
        let matches: f64 = parts.iter().map(|part| part["matches"].as_f64().unwrap()).sum();
        assert!(parts.iter().all(|part| part["part"].is_string() && part["points"].is_number()), "{estimate}");
        assert!((matches - total("matches")).abs() < 1e-6, "{estimate}");
        let usage = |name: &str| used["usage"][name].as_f64().unwrap();
        near("matches", total("matches"), used["matches"].as_f64().unwrap());
        for name in ["calls", "tokens_in", "tokens_out"] {
            near(name, total(name), usage(name));
        }
        near("dollars", estimate["usd"].as_f64().unwrap(), usage("usd"));
    }
}

/// Checks that an estimate takes the usage per move from a pilot (a small earlier run of the model). The usage is
/// measured for each game and prompting method, and includes the cost of faults. Both games have a fixed number of
/// moves, so that only the usage is estimated.
#[test]
fn pilot_measures_usage_per_move() {
    let place = Place::new();
    let part = |id: &str, game: &str| {
        format!(
            "[[part]]\nid = \"{id}\"\ngame = \"{game}\"\nschedule = \"against\"\nopponents = [\"random\"]\nblocks = 6\n"
        )
    };
    let suite = "name = \"ways\"\nversion = 1\ntitle = \"Ways\"\n\
        [[variant]]\nname = \"cot\"\nllm = { prompting = \"cot\" }\n";
    let parts =
        [part("auction", "first_sealed_auction"), part("dilemma", "iterated_prisoners_dilemma(num_repetitions=4)")];
    fs::write(place.path("ways.toml"), suite.to_owned() + &parts.concat()).unwrap();
    // Replies have an unexpected length, and faults cause repeated requests.
    let stub = Stub::start(&place, &["--agent", "random", "--out-tokens", "700", "--malformed", "0.2"]);
    let model = stub.model("m", "price_in=1 price_out=5");
    let line = |more: &[&str]| {
        let all = [&["evaluate", "--agent", &model, "--suite", "ways.toml", "--json"], more].concat();
        place.ludex(&all).json()
    };
    line(&["--run", "pilot", "--scale", "0.5"]);
    let plain = line(&["--estimate", "--stand-in", "random"]);
    let piloted = line(&["--estimate", "--stand-in", "random", "--pilot", "pilot"]);
    // Figures of whole matches do not depend on the agent that replaces the model in the estimate.
    let other = line(&["--estimate", "--stand-in", "always_defect", "--pilot", "pilot", "--part", "dilemma"]);
    let part =
        |estimate: &Value| estimate["parts"].as_array().unwrap().iter().find(|p| p["part"] == "dilemma").cloned();
    for name in ["moves", "calls", "tokens_in", "tokens_out", "usd"] {
        assert_eq!(part(&other).unwrap()[name], part(&piloted).unwrap()[name], "{name}");
    }
    let used = line(&["--run", "whole"]);
    assert!(plain["guesses"].to_string().contains("--pilot RUN"), "{plain}");
    assert_eq!(piloted["guesses"].as_array().unwrap().len(), 0, "{piloted}");
    let off = |estimate: &Value, name: &str| {
        let used = used["usage"][name].as_f64().unwrap();
        estimate["total"][name].as_f64().unwrap() / used - 1.0
    };
    for name in ["calls", "tokens_in", "tokens_out", "usd"] {
        assert!(off(&piloted, name).abs() < 0.25, "{name}: {} of {used}", off(&piloted, name));
    }
    assert!(off(&plain, "tokens_out").abs() > 0.25, "a guess is less accurate");
    // The interval comes from the spread of the pilot's matches.
    let range = |k: usize| piloted["usd_range"][k].as_f64().unwrap_or_else(|| panic!("{piloted}"));
    let (estimated, spent) = (piloted["usd"].as_f64().unwrap(), used["usage"]["usd"].as_f64().unwrap());
    assert!(range(0) < estimated && estimated < range(1), "{piloted}");
    assert!((spent - estimated).abs() < 2.0 * (range(1) - estimated), "{spent} of {piloted}");
    assert!(plain.get("usd_range").is_none(), "{plain}");
    // The estimate guesses the usage of parts that the pilot did not play, and lists these parts.
    line(&["--run", "half", "--part", "dilemma", "--scale", "0.1"]);
    let half = line(&["--estimate", "--stand-in", "random", "--pilot", "half"]);
    assert!(half["guesses"][0].as_str().unwrap().contains(" in auction:"), "{half}");
    let bare = ["evaluate", "--agent", "random", "--suite", "ways.toml", "--run", "bare"];
    place.ludex(&bare).well();
    let wrong = place.ludex(&["evaluate", "--agent", &model, "--suite", "ways.toml", "--estimate", "--pilot", "bare"]);
    assert!(wrong.fails().contains("expected a run with calls"), "{}", wrong.err);
}

/// Checks that a model plays in every wording and under other names of the board, and that records have the usual moves.
#[test]
fn wordings_and_other_names_change_prompts_but_not_records() {
    let place = Place::new();
    let mut models = Vec::new();
    for (name, stub) in [("seen", "true"), ("read", "false")] {
        let endpoint = Stub::start(&place, &["--agent", "anchor level=1"]);
        let model = endpoint.model("m", "").replace("stub=true", &format!("stub={stub}"));
        let line = ["evaluate", "--suite", "robustness", "--agent", &model, "--run", name, "--scale", "0.1", "--json"];
        let played = place.ludex(&line).json();
        let parts = played["parts"].as_array().unwrap();
        assert_eq!(parts.len(), 4 * 4 + 4 * 3, "four wordings, and three sets of names");
        for part in parts {
            let answers = &part["answers"];
            assert_eq!(answers["ok"], answers["total"].as_u64().map_or(answers["ok"].clone(), Into::into), "{part}");
            assert_eq!(part["lost_by_answers"], 0, "{part}");
        }
        models.push(model.clone());
        place.ludex(&["verify", name]).well();
        let wordings = fs::read_to_string(place.of_run(name, "figures/wordings.csv")).unwrap();
        assert!(wordings.contains("Score,Mean"), "{wordings}");
        let names = fs::read_dir(place.of_run(name, "figures")).unwrap();
        assert!(names.flatten().any(|file| file.file_name().to_string_lossy().starts_with("names")));
    }
    // The prompt has other names, the record the usual ones.
    let renamed = format!("{} (connect_four_names: renamed)", models[0]);
    let shown = place.ludex(&["show", "seen", "--agent", &renamed]).out;
    assert!(shown.contains("the board has other names"), "{shown}");
}

/// Checks that every prompting method produces moves in every game.
#[test]
fn every_prompting_method_plays_every_game() {
    let place = Place::new();
    let mut suite = "name = \"all\"\nversion = 1\ntitle = \"All\"\n".to_owned();
    for game in ludex_games::games() {
        // Long games are shortened, since more moves would not test a method better.
        let params = match game.info.id {
            "go" => "(board_size=5,max_game_length=30)",
            "chess" => "(max_plies=16)",
            "gomoku" => "(size=6)",
            _ => "",
        };
        let seats =
            ludex_games::load(&format!("{}{params}", game.info.id)).unwrap_or_else(|e| panic!("{e}")).spec().players;
        let tables = format!("a{}", "b".repeat(seats as usize - 1));
        suite += &format!(
            "[[part]]\nid = \"{0}\"\ngame = \"{0}{params}\"\nschedule = \"against\"\nopponents = [\"random\"]\nblocks = 1\ntables = [\"{tables}\"]\n",
            game.info.id
        );
    }
    fs::write(place.path("all.toml"), &suite).unwrap();
    let stub = Stub::start(&place, &["--agent", "random"]);
    let methods = ["prompt", "cot variant=3", "sc_cot n=3", "tot", "self_refine", "parts", "chat memory=2"];
    for (k, method) in methods.iter().enumerate() {
        let model = stub.model("m", &format!("prompting={method} emotion={}", k % 2 == 0));
        let run = format!("r{k}");
        let line = ["evaluate", "--agent", &model, "--suite", "all.toml", "--run", &run, "--json"];
        let ran = place.ludex(&line);
        let all = ran.json();
        assert_eq!(all["end"], "done", "{method}: {}", ran.err);
        for part in all["parts"].as_array().unwrap() {
            let played = ["wins", "draws", "losses"].iter().map(|w| part[w].as_u64().unwrap()).sum::<u64>();
            assert_eq!((played, part["discarded"].as_u64()), (1, Some(0)), "{method}: {}", part["part"]);
        }
        let records = fs::read_to_string(place.of_run(&run, "episodes.jsonl")).unwrap();
        for record in records.lines() {
            let record: Value = serde_json::from_str(record).unwrap();
            let (game, reason) = (&record["game"], record["reason"].as_str().unwrap());
            assert!(matches!(reason, "finished" | "truncated"), "{method}: {game} ended by {reason}");
            assert_eq!(record["seats"][0]["kind"], "llm");
        }
        // `verify` rebuilds the conversations from the calls, and every other prompt too.
        let verified = place.ludex(&["verify", &run]);
        assert!(verified.ok, "{method}: {}{}", verified.out, verified.err);
    }
}

#[test]
fn endpoint_outage_loses_no_match() {
    let place = Place::new();
    let stub = Stub::start(&place, &["--agent", "random"]);
    let model = |url: &str| format!("llm model=m base_url={url} stub=true retries=0");
    let whole = place.evaluate(&model(&stub.url), "whole", &[]);
    let falling = Stub::start(&place, &["--agent", "random", "--down-after", "60"]);
    let down = place.evaluate(&model(&falling.url), "r", &[]);
    assert!(
        down.fails()
            .contains("stopped, since the infrastructure failed in several consecutive matches. These do not count"),
        "{}",
        down.err
    );
    let records = fs::read_to_string(place.of_run("r", "episodes.jsonl")).unwrap();
    assert!(!records.contains("infra_error"));
    // The endpoint is down: no match is played, and finished matches stay.
    let refused = place.evaluate(&model(&falling.url), "r", &[]);
    assert!(refused.fails().contains("nothing was played"), "{}", refused.err);
    assert_eq!(fs::read_to_string(place.of_run("r", "episodes.jsonl")).unwrap(), records);
    // The endpoint is up again at the same address.
    let port = falling.url.rsplit_once(':').unwrap().1.trim_end_matches("/v1").to_owned();
    drop(falling);
    let _back = Stub::start(&place, &["--agent", "random", "--listen", &format!("127.0.0.1:{port}")]);
    let all = place.ludex(&[
        "evaluate",
        "--agent",
        &model(&format!("http://127.0.0.1:{port}/v1")),
        "--suite",
        "small.toml",
        "--run",
        "r",
        "--json",
    ]);
    let (mut was, mut is) = (table(&whole), table(&all));
    for table in [&mut was, &mut is] {
        // The agent's name contains the port.
        table["parts"].as_array_mut().unwrap().iter_mut().for_each(|part| part["agent"] = Value::Null);
    }
    assert_eq!(is, was);
}

#[test]
fn endpoint_errors_are_reported_before_start() {
    let place = Place::new();
    let stub = Stub::start(&place, &["--key", "secret"]);
    let url = &stub.url;
    let root = url.trim_end_matches("/v1");
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for (agent, why) in [
        (format!("llm model=m base_url=http://127.0.0.1:{unused}/v1 retries=0"), "cannot connect"),
        (format!("llm model=m base_url={root}/nowhere retries=0"), "/v1"),
        (format!("llm model=m base_url={url} retries=0"), "key_env"),
        (format!("llm model=m base_url={url} key_env=LUDEX_TEST_NO_SUCH_KEY"), "LUDEX_TEST_NO_SUCH_KEY"),
        ("llm model=m base_url=ftp://x".to_owned(), "base_url"),
        ("llm base_url=http://127.0.0.1:1/v1".to_owned(), "llm needs model"),
        ("llm model=m base_url=http://me:secret@127.0.0.1:1/v1".to_owned(), "use key_env for keys"),
        (format!("llm model=m base_url={url} promting=cot"), "did you mean prompting?"),
        (format!("llm model=m base_url={url} extra='[1]'"), "extra"),
    ] {
        let ran = place.evaluate(&agent, "never", &[]);
        assert!(ran.fails().contains(why), "{agent}: {}", ran.err);
        // A run without any match is recreated by the next command.
        assert_eq!(place.written("never"), 0, "{agent}");
    }
    let named =
        place.ludex(&["agents", "check", &format!("llm model=m base_url=http://127.0.0.1:{unused}/v1 retries=0")]);
    assert!(!named.ok);
}

/// Checks that a resumed run may change how calls are made, but not the prompts.
#[test]
fn run_resumes_with_changed_call_settings_but_not_changed_prompt() {
    let place = Place::new();
    let stub = Stub::start(&place, &["--agent", "random"]);
    place.evaluate(&stub.model("m", ""), "r", &["--budget", "games=4"]).json();
    let refused = place.evaluate(&stub.model("m", "history=3"), "r", &[]);
    assert!(refused.fails().contains("agent: was llm model=m"), "{}", refused.err);
    let all = place.evaluate(&stub.model("m", "rpm=100000 retries=1 concurrency=2"), "r", &[]).json();
    assert_eq!(
        (all["end"].as_str(), all["parts"][0]["wins"].as_u64().unwrap() + all["parts"][0]["losses"].as_u64().unwrap()),
        (Some("done"), 48)
    );
    let records = fs::read_to_string(place.of_run("r", "episodes.jsonl")).unwrap();
    assert!(!records.contains("rpm="));
}

/// Checks that cached replies are not used if the opponent plays differently the second time, because the requests
/// differ.
#[test]
fn cached_replies_require_equal_requests() {
    let place = Place::new();
    let bot = "import json, random, sys\nseen = json.loads(sys.stdin.readline())\ntaken = [(m['x'], m['y']) for m in seen['requests'] + seen['responses']]\nfree = [(x, y) for x in range(3) for y in range(3) if (x, y) not in taken]\nx, y = random.choice(free)\nprint(json.dumps({'response': {'x': x, 'y': y}}))\n";
    fs::write(place.path("bot.py"), bot).unwrap();
    let suite = "name = \"wild\"\nversion = 1\ntitle = \"W\"\n[[part]]\nid = \"ttt\"\ngame = \"tic_tac_toe\"\nschedule = \"against\"\nopponents = ['botzone cmd=\"python3 bot.py\"']\nblocks = 6\n";
    fs::write(place.path("wild.toml"), suite).unwrap();
    let stub = Stub::start(&place, &["--agent", "random"]);
    let model = stub.model("m", "");
    let line = ["evaluate", "--agent", &model, "--suite", "wild.toml", "--run", "r", "--json", "--jobs", "2"];
    assert_eq!(killed(&place, "r", &line, 3, 9_000).json()["end"], "done");
    let verified = place.ludex(&["verify", "r"]);
    assert!(verified.ok, "{}{}", verified.out, verified.err);
    // Each used reply follows a prompt that shows the position in the record.
    let told = place.ludex(&["show", "r"]);
    assert!(told.ok && told.out.contains("verdict: ok"), "{}", told.err);
}

/// Checks that faults of the model count against it, and that network faults do not.
#[test]
fn only_faults_of_the_model_count_against_it() {
    let place = Place::new();
    let run = |faults: &[&str], more: &str, run: &str| -> Ran {
        let stub = Stub::start(&place, &[&["--agent", "anchor level=1"], faults].concat());
        place.evaluate(&stub.model("m", &format!("retries=2 {more}")), run, &["--scale", "0.5"])
    };
    // The stub sends only prose, empty replies, refusals, or truncated replies: the model is asked three times, then it
    // loses.
    for (k, faults) in [["--prose", "1"], ["--empty", "1"], ["--refuse", "1"], ["--truncate", "1"]].iter().enumerate() {
        let all = run(faults, "", &format!("own{k}")).json();
        let nim = part(&all, "nim");
        assert_eq!((nim["wins"].as_u64(), nim["losses"].as_u64()), (Some(0), Some(24)), "{faults:?}");
        let record = fs::read_to_string(place.of_run(&format!("own{k}"), "episodes.jsonl")).unwrap();
        let record: Value = serde_json::from_str(record.lines().next().unwrap()).unwrap();
        assert_eq!((record["reason"].as_str(), record["at_fault"].as_u64()), (Some("illegal"), Some(0)));
        let calls = fs::read_to_string(place.of_run(&format!("own{k}"), "calls.jsonl")).unwrap();
        let calls = calls.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let third: Vec<Value> = calls.filter(|call| call["key"] == "0.2.0").collect();
        assert!(!third.is_empty());
        for call in third {
            let prompt = call["call"]["messages"].to_string();
            assert!(prompt.contains("your answer was refused"), "{prompt}");
        }
    }
    // Occasional faults are retried or requested again, and no match is lost.
    for (k, faults) in [["--fail", "0.1"], ["--malformed", "0.1"]].iter().enumerate() {
        let all = run(faults, "", &format!("way{k}")).json();
        assert_eq!(all["end"], "done");
        let records = fs::read_to_string(place.of_run(&format!("way{k}"), "episodes.jsonl")).unwrap();
        assert!(records.lines().all(|r| !r.contains("\"reason\":\"illegal\"")), "{faults:?}");
    }
    // If every request fails, no match counts, even if the endpoint answers a greeting.
    for (k, (faults, why)) in
        [(["--context", "100"], "context"), (["--rate-limit", "1"], "rate limit")].iter().enumerate()
    {
        let ran = run(faults, "timeout=5", &format!("stop{k}"));
        assert!(ran.fails().contains(why), "{faults:?}: {}", ran.err);
        let records = fs::read_to_string(place.of_run(&format!("stop{k}"), "episodes.jsonl")).unwrap_or_default();
        assert!(records.lines().all(|r| r.contains("\"reason\":\"infra_error\"")), "{records}");
    }
}

/// Checks that the `[llm]` table of a suite applies to all its models, and that move times and reply outcomes are
/// reported.
#[test]
fn suite_settings_apply_and_replies_are_counted() {
    let place = Place::new();
    let stub = Stub::start(&place, &["--agent", "random", "--truncate", "0.3", "--latency", "3"]);
    let opponent = stub.model("o", "");
    let suite = format!(
        "name = \"two\"\nversion = 1\ntitle = \"T\"\n[llm]\nprompting = \"cot\"\n[[part]]\nid = \"ttt\"\ngame = \"tic_tac_toe\"\nschedule = \"against\"\nopponents = ['{opponent}']\nblocks = 4\nmetrics = [\"time_per_move\"]\n"
    );
    fs::write(place.path("two.toml"), suite).unwrap();
    let model = stub.model("m", "");
    let line = ["evaluate", "--agent", &model, "--suite", "two.toml", "--run", "r"];
    let ran = place.ludex(&line);
    assert!(ran.ok, "{}", ran.err);
    assert!(ran.out.contains(" ok, ") && ran.out.contains(" truncated"), "{}", ran.out);
    assert!(ran.out.contains("WARNING: ttt: ") && ran.out.contains("were cut off: raise max_tokens"), "{}", ran.out);
    let all = place.ludex(&[&line[..], &["--json"]].concat()).json();
    let part = part(&all, "ttt");
    assert!(part["answers"]["truncated"].as_u64().unwrap() > 0 && part["answers"]["ok"].as_u64().unwrap() > 0);
    assert!(part["metrics"]["time_per_move"]["value"].as_f64().unwrap() >= 3.0, "{part}");
    let calls = fs::read_to_string(place.of_run("r", "calls.jsonl")).unwrap();
    let calls: Vec<Value> = calls.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for who in ["m", "o"] {
        let mut own = calls.iter().filter(|call| call["call"]["model"] == *who).peekable();
        assert!(own.peek().is_some());
        assert!(own.all(|call| call["call"]["messages"].to_string().contains("one step after the other")), "{who}");
    }
    assert!(place.ludex(&["verify", "r"]).ok);
    let page = fs::read_to_string(place.of_run("r", "report.html")).unwrap();
    assert!(page.contains("Answers of ") && page.contains(" truncated"));
}

/// Checks that a budget is exceeded by at most one pair per parallel match.
#[test]
fn budget_is_exceeded_by_at_most_one_pair_per_job() {
    let place = Place::new();
    let stub = Stub::start(&place, &["--agent", "random"]);
    let spent = |budget: &str, run: &str| {
        let all = place.evaluate(&stub.model("m", ""), run, &["--budget", budget, "--jobs", "8"]).json();
        assert_eq!(all["end"], "budget", "{all}");
        all
    };
    let games = spent("games=9", "games")["matches"].as_u64().unwrap();
    assert!((9..=10).contains(&games), "{games}");
    let all = spent("tokens=20000", "tokens");
    let used = all["usage"]["tokens_in"].as_u64().unwrap() + all["usage"]["tokens_out"].as_u64().unwrap();
    let each = used / all["matches"].as_u64().unwrap();
    assert!(used >= 20_000 && used < 20_000 + 6 * each, "{used}, {each} a match");
}

/// Reads an HTTP message with its body and returns the raw bytes.
fn message(from: &mut impl BufRead) -> Option<Vec<u8>> {
    let (mut all, mut length) = (Vec::new(), 0);
    loop {
        let at = all.len();
        if from.read_until(b'\n', &mut all).ok()? == 0 {
            return None;
        }
        let line = String::from_utf8_lossy(&all[at..]).to_lowercase();
        if let Some(n) = line.strip_prefix("content-length:") {
            length = n.trim().parse().ok()?;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let at = all.len();
    all.resize(at + length, 0);
    from.read_exact(&mut all[at..]).ok()?;
    Some(all)
}

/// Starts a proxy to `to` that fails on requests for JSON, as llama.cpp does; returns its port.
fn without_schemas(to: &str) -> u16 {
    let to = to.trim_start_matches("http://").trim_end_matches("/v1").to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serve = move |client: TcpStream, to: &str| -> Option<()> {
        let mut behind = TcpStream::connect(to).ok()?;
        let (mut asked, mut answered) =
            (BufReader::new(client.try_clone().ok()?), BufReader::new(behind.try_clone().ok()?));
        let mut client = client;
        while let Some(request) = message(&mut asked) {
            if String::from_utf8_lossy(&request).contains("response_format") {
                let text = "{\"error\":{\"message\":\"Failed to parse grammar\"}}";
                write!(client, "HTTP/1.1 500 Error\r\ncontent-length: {}\r\n\r\n{text}", text.len()).ok()?;
                continue;
            }
            behind.write_all(&request).ok()?;
            client.write_all(&message(&mut answered)?).ok()?;
        }
        Some(())
    };
    // The thread ends with the test's process.
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let to = to.clone();
            std::thread::spawn(move || serve(client, &to));
        }
    });
    port
}

#[test]
fn endpoint_that_fails_on_schemas_gets_text_requests() {
    let place = Place::new();
    let stub = Stub::start(&place, &["--agent", "random"]);
    let model = format!("llm model=m base_url=http://127.0.0.1:{}/v1 stub=true", without_schemas(&stub.url));
    let all = place.evaluate(&model, "r", &["--scale", "0.2"]).json();
    assert_eq!((&all["end"], &part(&all, "nim")["discarded"]), (&"done".into(), &0.into()), "{all}");
    let calls = fs::read_to_string(place.of_run("r", "calls.jsonl")).unwrap();
    assert!(calls.lines().count() > 10 && !calls.contains("\\\"move\\\":"), "answers are text");
}

/// Checks that merging shards keeps their calls and binds the calls to the records.
#[test]
fn shards_of_model_merge_into_one_run() {
    let place = Place::new();
    let suite = "name = \"two\"\nversion = 1\ntitle = \"T\"\n[[part]]\nid = \"ttt\"\ngame = \"tic_tac_toe\"\nschedule = \"against\"\nopponents = [\"random\"]\nblocks = 4\n[[part]]\nid = \"kuhn\"\ngame = \"kuhn_poker\"\nschedule = \"climb\"\nblocks = 2\n";
    fs::write(place.path("two.toml"), suite).unwrap();
    let stub = Stub::start(&place, &["--agent", "random"]);
    let model = stub.model("m", "price_in=1 price_out=2");
    let line = ["evaluate", "--agent", &model, "--suite", "two.toml", "--json", "--jobs", "1", "--run", "r"];
    for shard in ["1/2", "2/2"] {
        place.ludex(&[&line[..], &["--shard", shard]].concat()).json();
    }
    let whole = place.ludex(&[&line[..], &["--data", "whole"]].concat()).json();
    let merged = place.ludex(&["evaluate", "--merge", "r.2-of-2", "r.1-of-2", "--json"]).json();
    assert_eq!(merged["matches"], whole["matches"]);
    for (file, name) in [("episodes.jsonl", "episode"), ("calls.jsonl", "key"), ("calls.jsonl", "episode")] {
        let named = |folder: &str| -> Vec<Value> {
            let text = fs::read_to_string(place.path(folder).join("runs/r").join(file)).unwrap();
            text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()[name].clone()).collect()
        };
        assert_eq!(named("ludex-data"), named("whole"), "{file}");
    }
    assert!(place.ludex(&["verify", "r"]).well().contains("complete: all "));
    let again = place.ludex(&line).json();
    assert_eq!((&again["played"], &again["usage"]["calls"]), (&0.into(), &whole["usage"]["calls"]));
}
