//! `ludex mcp`: a language model plays over standard input and output.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use ludex_tests::Server;
use serde_json::{Value, json};

/// The program as an MCP client runs it.
struct Program {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    last_id: u64,
}

impl Program {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ludex-tests"))
            .arg("mcp")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut program = Program { child, input, output, last_id: 0 };
        let info = json!({ "name": "test", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
        assert_eq!(program.request("initialize", hello)["serverInfo"]["name"], "ludex");
        program.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        program
    }

    fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{message}").unwrap();
        input.flush().unwrap();
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let mut line = String::new();
        assert!(self.output.read_line(&mut line).unwrap() > 0, "{method}: the program ended");
        let response: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(response["id"], id, "{response}");
        response["result"].clone()
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert_ne!(result["isError"], true, "{result}");
        result["structuredContent"].clone()
    }

    /// Plays a game to its end.
    fn play(&mut self, mut reply: Value) -> Value {
        let id = reply["id"].clone();
        while reply["over"] == false {
            if reply["waiting"] == true {
                reply = self.call("position", json!({ "id": id }));
                continue;
            }
            let legal = legal_move(&reply);
            reply = self.call("play", json!({ "id": id, "answer": legal }));
        }
        reply
    }

    /// Ends the input, after which the program must exit.
    fn end(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }
}

/// Returns the first legal move in a prompt.
fn legal_move(reply: &Value) -> String {
    let prompt = reply["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
    let mut legal = prompt.split_once("Legal moves:\n").unwrap().1.lines();
    let first = legal.next().unwrap();
    // Short moves stand in one line; those of nim have commas and end with a semicolon.
    let is_list = legal.next().is_none_or(str::is_empty) && !first.ends_with(';');
    if is_list { first.split(", ").next().unwrap() } else { first }.to_owned()
}

#[test]
fn game_is_played_over_standard_input_with_a_server_of_its_own() {
    let data = tempfile::tempdir().unwrap();
    let folder = data.path().join("store");
    let mut program = Program::start(&["--data", folder.to_str().unwrap(), "--name", "model-1"]);
    let begun = program.call("begin", json!({ "game": "tic_tac_toe", "opponent": "anchor level=1" }));
    assert_eq!(program.call("own_games", json!({}))["games"][0]["id"], begun["id"]);
    program.play(begun);
    let joined = program.call("join", json!({ "game": "tic_tac_toe", "against": "random", "seat": "x" }));
    assert_eq!(program.play(joined)["last_match"]["reason"], "finished");
    program.end();

    let file = data.path().join("records.jsonl");
    let out = |arguments: &[&str]| {
        let ran = Command::new(env!("CARGO_BIN_EXE_ludex-tests")).args(arguments).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap()
    };
    let records = out(&["export", "--data", folder.to_str().unwrap()]);
    assert!(records.lines().count() == 2 && records.lines().all(|line| line.contains("model-1")), "{records}");
    std::fs::write(&file, &records).unwrap();
    assert!(out(&["verify", file.to_str().unwrap()]).contains("2 episodes verified"));
}

#[tokio::test]
async fn run_of_a_suite_is_played_over_standard_input() {
    let server = Server::start(|_| {}).await;
    let url = format!("ws://{}", server.address);
    let played = tokio::task::spawn_blocking(move || {
        let mut program = Program::start(&["--server", &url, "--name", "model-1"]);
        let run = json!({ "suite": "quick", "run": "mine", "scale": 0.01, "parts": ["nim"] });
        let joined = program.call("join", run);
        let played = program.play(joined);
        program.end();
        played
    });
    let played = played.await.unwrap();
    assert_eq!((&played["last_match"]["run"], &played["last_match"]["reason"]), (&json!("mine"), &json!("done")));
    server.stop().stopped().await;
}

#[tokio::test]
async fn another_program_resumes_the_seat_of_an_ended_one() {
    let server = Server::start(|_| {}).await;
    let url = format!("ws://{}", server.address);
    let played = tokio::task::spawn_blocking(move || {
        let mut program = Program::start(&["--server", &url, "--name", "model-1"]);
        let join = json!({ "game": "connect_four", "against": "random", "seat": 0 });
        let joined = program.call("join", join);
        program.call("play", json!({ "id": joined["id"], "answer": legal_move(&joined) }));
        program.end();
        let mut program = Program::start(&["--server", &url, "--name", "model-1"]);
        let resumed = program.call("join", json!({ "resume": true }));
        assert_eq!(resumed["match"], joined["match"]);
        let played = program.play(resumed);
        program.end();
        (joined["match"].clone(), played)
    });
    let (id, played) = played.await.unwrap();
    assert_eq!((&played["last_match"]["match"], &played["last_match"]["reason"]), (&id, &json!("finished")));
    server.stop().stopped().await;
}
