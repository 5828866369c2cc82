//! Language models with batched requests, against the LLM stub over HTTP.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::models::Stub;
use super::{Place, records, table};

/// Arguments of an agent that sends its batches after a short wait.
const SOON: &str = "batch=true batch_wait=0.1 batch_poll=0.05";

const APIS: [&str; 2] = ["openai", "anthropic"];

/// Returns the batches that a stub received.
fn batches(stub: &Stub, api: &str) -> Vec<Value> {
    let address = stub.url.trim_start_matches("http://").trim_end_matches("/v1");
    let page = if api == "openai" { "batches" } else { "messages/batches" };
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /v1/{page} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str::<Value>(body).unwrap()["data"].as_array().unwrap().clone()
}

/// Returns the number of requests in these batches.
fn questions(batches: &[Value]) -> u64 {
    let of = |batch: &Value| {
        let counts = &batch["request_counts"];
        let all = counts.as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
        counts["total"].as_u64().unwrap_or(all)
    };
    batches.iter().map(of).sum()
}

/// Returns the stored calls of a run.
fn calls(place: &Place, run: &str) -> Vec<Value> {
    let text = fs::read_to_string(place.of_run(run, "calls.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the moves of each match of a run.
fn moves(place: &Place, run: &str) -> BTreeSet<String> {
    let played = records(place, run).into_iter().map(|record| {
        let actions = record["events"].as_array().unwrap().iter().map(|e| e["action"].to_string());
        let name = record["episode"].as_str().unwrap().split_once('.').unwrap().1.to_owned();
        format!("{name}: {}", actions.collect::<Vec<_>>().join(" "))
    });
    played.collect()
}

#[test]
fn batched_run_equals_unbatched_run() {
    let place = Place::new();
    for api in APIS {
        let stub = Stub::start(&place, &["--agent", "anchor level=1"]);
        let model = |more: &str| stub.model("m", &format!("api={api} price_in=1 price_out=2 {more}"));
        let (plain, gathered) = (format!("plain-{api}"), format!("gathered-{api}"));
        let whole = place.evaluate(&model("prompting=cot"), &plain, &[]);
        let cheap = place.evaluate(&model(&format!("prompting=cot {SOON}")), &gathered, &[]);
        assert_eq!(table(&cheap), table(&whole), "{api}");
        assert_eq!(moves(&place, &gathered), moves(&place, &plain), "{api}");
        let (calls, batches) = (calls(&place, &gathered).len(), batches(&stub, api));
        assert_eq!(questions(&batches), calls as u64, "{api}: each call was in one batch");
        assert!(!batches.is_empty() && batches.len() * 4 < calls, "{api}: {} batches, {calls} calls", batches.len());
        // When the run is continued, the same player may send single requests.
        assert_eq!(place.evaluate(&model("prompting=cot"), &gathered, &[]).json()["played"], 0);
        assert!(place.ludex(&["verify", &gathered]).ok);
    }
}

/// Checks that requests without a reply in a batch are repeated, and that results do not change.
#[test]
fn requests_without_reply_are_repeated() {
    let place = Place::new();
    let scale = ["--part", "nim"];
    for api in APIS {
        let good = Stub::start(&place, &["--agent", "random"]);
        let whole = good.model("m", &format!("api={api} format=text"));
        let whole = place.evaluate(&whole, &format!("whole-{api}"), &scale);
        let bad = Stub::start(&place, &["--agent", "random", "--batch-fail", "0.1", "--batch-expire", "0.1"]);
        let run = format!("bad-{api}");
        let model = bad.model("m", &format!("api={api} retries=20 format=text {SOON}"));
        let ran = place.evaluate(&model, &run, &scale).json();
        assert_eq!(ran["end"], "done");
        let again: u64 = calls(&place, &run).iter().map(|call| call["call"]["retries"].as_u64().unwrap()).sum();
        let asked = questions(&batches(&bad, api));
        assert!(again > 5, "{api}: {again} of {asked} questions were asked again");
        assert_eq!(asked, calls(&place, &run).len() as u64 + again, "{api}");
        assert!(records(&place, &run).iter().all(|record| record["reason"] != "infra_error"), "{api}");
        let whole = whole.json();
        assert_eq!((&ran["matches"], &ran["usage"]["calls"]), (&whole["matches"], &whole["usage"]["calls"]), "{api}");
    }
    // If no request is ever answered, no match counts.
    let stub = Stub::start(&place, &["--batch-expire", "1"]);
    let never = place.evaluate(&stub.model("m", &format!("retries=1 {SOON}")), "never", &scale);
    assert!(never.fails().contains("given up after 2 tries"), "{}", never.err);
    assert!(records(&place, "never").iter().all(|record| record["reason"] == "infra_error"));
}

#[test]
fn schema_is_omitted_after_endpoint_refuses_it() {
    let place = Place::new();
    for api in APIS {
        let stub = Stub::start(&place, &["--agent", "random", "--no-schema"]);
        let run = format!("r-{api}");
        let model = |more: &str| stub.model("m", &format!("api={api} {more}"));
        let gathered = place.evaluate(&model(SOON), &run, &["--scale", "0.3"]);
        assert_eq!(gathered.json()["end"], "done");
        let all = calls(&place, &run);
        let refused = questions(&batches(&stub, api)) - all.len() as u64;
        // Each match requested JSON at most once.
        assert!((1..=records(&place, &run).len() as u64).contains(&refused), "{api}: {refused}");
        assert!(all.iter().all(|call| !call["call"]["answer"].as_str().unwrap().starts_with('{')), "{api}");
        let plain = place.evaluate(&model(""), &format!("plain-{api}"), &["--scale", "0.3"]);
        assert_eq!(table(&gathered), table(&plain), "{api}");
    }
}

/// Starts a command that plays `run` and waits until it has sent one more batch.
fn until_a_batch_is_sent(place: &Place, run: &str, line: &[&str]) -> Child {
    let noted = || fs::read_to_string(place.of_run(run, "batches.jsonl")).map_or(0, |text| text.lines().count());
    let (before, begun) = (noted(), Instant::now());
    let mut child = place.start(line);
    while noted() == before {
        assert!(child.try_wait().unwrap().is_none(), "{line:?}: the command ended before it sent a batch");
        assert!(begun.elapsed() < Duration::from_secs(60), "{line:?}: no batch was sent");
        std::thread::sleep(Duration::from_millis(1));
    }
    child
}

#[test]
fn killed_run_resumes_its_batches() {
    for api in APIS {
        let place = Place::new();
        let stub = Stub::start(&place, &["--agent", "mcts sims=10", "--batch-latency", "400"]);
        let model = stub.model("m", &format!("api={api} price_in=1 price_out=2 {SOON}"));
        let line = ["evaluate", "--agent", &model, "--suite", "small.toml", "--run", "cut", "--json", "--part", "nim"];
        for _ in 0..4 {
            let mut child = until_a_batch_is_sent(&place, "cut", &line);
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let cut = place.ludex(&line);
        let all = calls(&place, "cut");
        assert_eq!(questions(&batches(&stub, api)), all.len() as u64, "{api}: a request was repeated");
        let single = stub.model("m", &format!("api={api} price_in=1 price_out=2"));
        assert_eq!(table(&cut), table(&place.evaluate(&single, "whole", &["--part", "nim"])), "{api}");
    }
}

/// Checks that batches are sent again if the provider forgets them, after a restart of the process or while the process
/// waits.
#[test]
fn forgotten_batches_are_sent_again() {
    for api in APIS {
        let place = Place::new();
        let args = ["--agent", "random", "--batch-latency", "400"];
        let first = Stub::start(&place, &args);
        let model = first.model("m", &format!("api={api} retries=20 {SOON}"));
        let line = ["evaluate", "--agent", &model, "--suite", "small.toml", "--run", "cut", "--json", "--part", "nim"];
        let address = first.url.trim_start_matches("http://").trim_end_matches("/v1").to_owned();
        let again = || Stub::start(&place, &[&args[..], &["--listen", &address]].concat());
        let mut child = until_a_batch_is_sent(&place, "cut", &line);
        child.kill().unwrap();
        child.wait().unwrap();
        drop(first);
        let second = again();
        let child = until_a_batch_is_sent(&place, "cut", &line);
        drop(second);
        let third = again();
        let ended = child.wait_with_output().unwrap();
        assert!(ended.status.success(), "{api}: {}", String::from_utf8_lossy(&ended.stderr));
        let all: Value = serde_json::from_slice(&ended.stdout).unwrap();
        assert_eq!((&all["end"], &all["parts"][0]["discarded"]), (&"done".into(), &0.into()), "{api}: {all}");
        assert!(questions(&batches(&third, api)) > 0, "{api}");
    }
}

/// Checks that no match is lost if a batch takes longer than the time limit of a move, or if more requests are due than
/// may be pending at the provider.
#[test]
fn batches_respect_time_and_size_limits() {
    let place = Place::new();
    let suite = "name = \"short\"\nversion = 1\ntitle = \"S\"\n[policy]\nlimit_s = 1\n\
        [[part]]\nid = \"kuhn\"\ngame = \"kuhn_poker\"\nschedule = \"against\"\nopponents = [\"random\"]\nblocks = 12\n";
    fs::write(place.path("short.toml"), suite).unwrap();
    for api in APIS {
        let stub = Stub::start(
            &place,
            &["--agent", "random", "--batch-latency", "1300", "--batch-most", "8", "--retry-after", "1"],
        );
        let model = stub.model("m", &format!("api={api} batch_size=4 retries=20 {SOON}"));
        let line = ["evaluate", "--agent", &model, "--suite", "short.toml", "--run", api, "--json"];
        let all = place.ludex(&line).json();
        assert_eq!((&all["end"], &all["parts"][0]["discarded"]), (&"done".into(), &0.into()), "{api}: {all}");
        let batches = batches(&stub, api);
        assert!(questions(&batches) >= calls(&place, api).len() as u64, "{api}");
        let failed = batches.iter().filter(|batch| batch["status"] == "failed").count();
        assert_eq!(failed > 0, api == "openai", "{api}: too much at a time");
    }
}

#[test]
fn invalid_batch_settings_are_refused() {
    let place = Place::new();
    let stub = Stub::start(&place, &["--agent", "random"]);
    let model = stub.model("m", &format!("price_in=1 price_out=2 {SOON}"));
    let refused = |args: &[&str], why: &str| {
        let ran = place.ludex(args);
        assert!(ran.fails().contains(why), "{args:?}: {}", ran.err);
    };
    let suite = "name = \"strict\"\nversion = 1\ntitle = \"S\"\n[policy]\non_timeout = \"forfeit\"\n\
        [[part]]\nid = \"nim\"\ngame = \"nim\"\nschedule = \"against\"\nopponents = [\"random\"]\nblocks = 1\n";
    fs::write(place.path("strict.toml"), suite).unwrap();
    refused(&["evaluate", "--agent", &model, "--suite", "strict.toml", "--run", "s"], "remove batch=true");
    let budget = ["evaluate", "--agent", &model, "--suite", "small.toml", "--run", "b", "--json"];
    refused(&[&budget[..], &["--budget", "usd=1"]].concat(), "--budget games=20");
    refused(&["join", "ws://127.0.0.1:1", "--agent", &model, "--game", "nim"], "expected an agent without batch=true");
    refused(
        &["evaluate", "--agent", &stub.model("m", "batch_size=5"), "--suite", "small.toml", "--run", "n"],
        "batch_size needs batch=true",
    );
    // Given the cost of a match, the budget is respected.
    assert_eq!(place.ludex(&[&budget[..], &["--budget", "games=8"]].concat()).json()["end"], "budget");
    assert_eq!(place.ludex(&[&budget[..], &["--budget", "usd=100"]].concat()).json()["end"], "done");
}

#[test]
fn batched_agents_are_accepted_by_other_commands() {
    let place = Place::new();
    let stub = Stub::start(&place, &["--agent", "random"]);
    let estimate = |more: &str| {
        let model = stub.model("m", &format!("price_in=1 price_out=2 {more}"));
        place.ludex(&["evaluate", "--agent", &model, "--suite", "small.toml", "--estimate", "--json"]).json()
    };
    let (plain, gathered) = (estimate(""), estimate(SOON));
    for name in ["matches", "calls", "tokens_in", "tokens_out", "usd"] {
        assert_eq!(gathered["total"][name], plain["total"][name], "{name}");
    }
    assert_eq!(gathered["usd"], plain["usd"]);
    assert!(gathered["guesses"].to_string().contains("hours: excludes at least"), "{gathered}");
    assert!(!plain["guesses"].to_string().contains("batches"), "{plain}");
    assert!(batches(&stub, "openai").is_empty(), "an estimate sends no request");

    let model = stub.model("m", SOON);
    let matched =
        place.ludex(&["match", "nim", "--seat", &model, "--seat", "random", "--blocks", "20", "--json"]).json();
    assert_eq!(matched["pairs"], 20);
    let sent = batches(&stub, "openai");
    assert!(questions(&sent) > 40 && (sent.len() as u64) * 4 < questions(&sent), "{} batches", sent.len());

    let agents = format!("[agents.m]\nspec = '{model}'\n[agents.r]\nspec = \"random\"\n");
    fs::write(place.path("agents.toml"), agents).unwrap();
    let line =
        ["tournament", "--agents", "agents.toml", "--game", "nim", "--format", "double_round_robin", "--blocks", "5"];
    place.ludex(&[&line[..], &["--run", "cup", "--json"]].concat()).json();
    let more = questions(&batches(&stub, "openai")) - questions(&sent);
    assert_eq!(more, calls(&place, "cup").len() as u64, "trials send unbatched requests");
}
