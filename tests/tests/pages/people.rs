//! Invited people: consent before enrolment, tokens for one run, return to a run, and reports with people.

use ludex_arena::consent::ConsentText;
use ludex_arena::suites::Suites;
use ludex_play::runs::report_files;
use ludex_report::ReportAbout;
use ludex_report::figure::data::{Data, Grid};
use ludex_report::runs::archive::Archive;
use ludex_report::scale::RatingOptions;
use ludex_server::auth::people::{Invitation, Study, invite};
use ludex_tests::bot::first;
use ludex_tests::server::post;
use ludex_tests::{Bot, Client, Server};
use serde_json::{Value, json};

use super::BROWSER;

const SUITE: &str = r#"
name = "tiny"
version = 1
title = "Tiny"
headline = "scores"
[policy]
limit_s = 90
[[part]]
id = "nim"
game = "nim"
schedule = "against"
opponents = ["random"]
blocks = 1
[[part]]
id = "ttt"
game = "tic_tac_toe"
schedule = "against"
opponents = ["random"]
blocks = 1
[[figure]]
id = "scores"
title = "Scores"
kind = "table"
columns = "part"
cell = "score_rate"
margins = ["mean"]
"#;

const TEXT: &str = "# Study\n\nWe store your **moves** <script>alert(1)</script>.\n";

async fn server(data: &std::path::Path) -> Server {
    Server::start_in(data, |config| {
        config.suites = Suites::default().with(SUITE).expect("a suite");
        config.consent = Some(ConsentText::new(TEXT.to_owned()).expect("a text"));
    })
    .await
}

async fn invited(server: &Server, people: &[&str]) -> Vec<Invitation> {
    let study = Study { name: "people".into(), suite: "tiny".into(), only: Vec::new(), scale: 1.0, expires_ms: None };
    let people: Vec<String> = people.iter().map(|name| (*name).to_owned()).collect();
    invite(&server.hub.store, &study, &people, 0).await.expect("invitations")
}

fn cookie(invitation: &Invitation) -> String {
    format!("Cookie: ludex_token={}\r\n", invitation.token)
}

/// Accepts the consent text as the page of the person does.
async fn accept(server: &Server, invitation: &Invitation) {
    let run = &invitation.run;
    let headers = format!("{BROWSER}{}", cookie(invitation));
    let (status, body) = server.get_with(&format!("/runs/{run}/play"), &headers).await;
    assert_eq!(status, 200, "{body}");
    let hash = body.split("name=\"sha256\" value=\"").nth(1).expect("a form").split('"').next().expect("a hash");
    let answer = post(server.address, &format!("/runs/{run}/consent"), &headers, &format!("sha256={hash}")).await;
    assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
}

async fn person(server: &Server, invitation: &Invitation) -> Bot {
    let hello = json!({"token": invitation.token, "agent": {"name": invitation.person, "kind": "human"}});
    Bot::with(server.address, None, hello).await
}

/// Returns the request of the page's script.
fn enrol(invitation: &Invitation) -> Value {
    json!({"suite": "tiny", "run": invitation.run, "views": ["texts"]})
}

/// Plays all matches of a run and returns its `run_end`.
async fn play_run(bot: &mut Bot) -> Value {
    loop {
        let message = bot.next().await;
        if message["type"] == "run_end" {
            return message;
        }
        bot.answer(&message, &mut first).await;
    }
}

#[tokio::test]
async fn person_enrolls_only_with_consent_in_own_run() {
    let data = tempfile::tempdir().expect("a folder");
    let server = server(data.path()).await;
    let people = invited(&server, &["Ann", "bob"]).await;
    let [ann, bob] = &people[..] else { panic!("{people:?}") };
    assert_eq!(ann.link("https://play.example/"), format!("https://play.example/runs/people-ann/play#{}", ann.token));

    // Without consent, neither the page nor the server lets the person play.
    let headers = format!("{BROWSER}{}", cookie(ann));
    let (_, body) = server.get_with("/runs/people-ann/play", &headers).await;
    assert!(body.contains("<h2>Study</h2>") && body.contains("<strong>moves</strong>"), "{body}");
    assert!(!body.contains("<script>alert") && !body.contains("id=\"run-play\""), "{body}");
    assert!(body.contains("You have 90 seconds for each move."), "{body}");
    let mut bot = person(&server, ann).await;
    assert_eq!(bot.client.welcome["scopes"], json!(["play"]));
    let refused = bot.call("enrol", enrol(ann)).await;
    assert_eq!((&refused["code"], &refused["path"]), (&json!("forbidden"), &json!("run")), "{refused}");
    assert_eq!(server.get_with("/runs/people-ann", &cookie(ann)).await.0, 404, "nothing has started");

    // The acceptance of another text, or by another person, does not count.
    post(server.address, "/runs/people-ann/consent", &headers, "sha256=00").await;
    accept(&server, bob).await;
    assert_eq!(bot.call("enrol", enrol(ann)).await["code"], "forbidden");
    accept(&server, ann).await;
    let (_, body) = server.get_with("/runs/people-ann/play", &headers).await;
    assert!(body.contains("id=\"run-play\"") && body.contains("data-suite=\"tiny\""), "{body}");

    // The token is for one run with the settings of the invitation.
    for (request, path) in [
        (enrol(bob), "run"),
        (json!({"suite": "tiny", "run": ann.run, "scale": 0.5, "views": ["texts"]}), "scale"),
        (json!({"suite": "tiny", "run": ann.run, "rated": false}), "rated"),
    ] {
        let refused = bot.call("enrol", request).await;
        assert_eq!((&refused["code"], &refused["path"]), (&json!("forbidden"), &json!(path)), "{refused}");
    }
    let refused = bot.call("join", json!({"game": "nim", "against": ["random"]})).await;
    assert_eq!(refused["code"], "forbidden", "{refused}");
    let (status, _) = server.get_with("/runs/people-bob/play", &headers).await;
    assert_eq!(status, 303, "the page of another run leads to the own one");
    let hello = json!({"token": ann.token, "agent": {"name": "Ann", "kind": "bot"}});
    let mut machine = Bot::with(server.address, None, hello).await;
    let refused = machine.call("enrol", enrol(ann)).await;
    assert_eq!((&refused["code"], &refused["path"]), (&json!("forbidden"), &json!("agent.kind")), "{refused}");
    let hello = json!({"token": ann.token, "agent": {"name": "bob", "kind": "human"}});
    assert!(Client::try_greet(server.address, None, hello).await.is_none(), "the name belongs to another person");

    // The person continues on another device, without another acceptance.
    assert_eq!(bot.call("enrol", enrol(ann)).await["due"], 4);
    bot.play(1, first).await;
    drop(bot);
    let mut bot = person(&server, ann).await;
    let enrolled = bot.call("enrol", enrol(ann)).await;
    assert_eq!((&enrolled["type"], &enrolled["done"]), (&json!("enrolled"), &json!(1)), "{enrolled}");
    assert_eq!(play_run(&mut bot).await["reason"], "done");
    let consent = std::fs::read_to_string(data.path().join("runs/people-ann/consent.jsonl")).expect("a file");
    let line: Value = serde_json::from_str(&consent).expect("one line");
    let keys: Vec<&str> = line.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!((keys, &line["agent"]), (vec!["agent", "at", "sha256"], &json!("Ann")));
    server.stop().stopped().await;
}

#[tokio::test]
async fn link_logs_in_invited_people_only() {
    let data = tempfile::tempdir().expect("a folder");
    let server = server(data.path()).await;
    let people = invited(&server, &["ann"]).await;
    let other = super::token(&server, "eve").await;
    for (token, status) in [(&people[0].token, "200"), (&other, "403")] {
        let headers = format!("Authorization: Bearer {token}\r\n");
        let answer = post(server.address, "/login?link=true", &headers, "").await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
    }
    server.stop().stopped().await;
}

fn grid<'r>(report: &'r ludex_report::Report, id: &str) -> &'r Grid {
    let figure = report.figures.iter().find(|figure| figure.id == id).unwrap_or_else(|| panic!("{id}"));
    match &figure.pages[0].data {
        Data::Grid(grid) => grid,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn report_counts_people_apart() {
    let data = tempfile::tempdir().expect("a folder");
    let server = server(data.path()).await;
    let people = invited(&server, &["ann", "bob"]).await;
    for invitation in &people {
        accept(&server, invitation).await;
        let mut bot = person(&server, invitation).await;
        bot.call("enrol", enrol(invitation)).await;
        play_run(&mut bot).await;
    }
    let token = super::token(&server, "model").await;
    let mut bot = Bot::with(server.address, None, json!({"token": token, "agent": {"name": "model"}})).await;
    bot.call("enrol", json!({"suite": "tiny", "run": "machine"})).await;
    play_run(&mut bot).await;
    server.stop().stopped().await;

    let open = |run: &str| Archive::open(run, data.path()).expect("a run");
    let runs = [open("people-ann"), open("people-bob"), open("machine")];
    let runs: Vec<&Archive> = runs.iter().collect();
    let (report, refused) = report_files::report(&runs, RatingOptions::default(), ReportAbout::default(), |_| None);
    assert!(refused.is_empty(), "{refused:?}");
    let table = grid(&report, "people");
    assert_eq!(table.rows, ["ann (person)", "bob (person)", "all people"]);
    let column = |name: &str| table.columns.iter().position(|column| column.name == name).expect("a column");
    let [ann, bob, all] = [0, 1, 2].map(|row| table.cells[row][column("Score")].expect("a score"));
    assert!((all.value - (ann.value + bob.value) / 2.0).abs() < 1e-12 && all.n == 2 && all.low.is_some(), "{all:?}");
    let matches = [0, 1, 2].map(|row| table.cells[row][column("Matches")].expect("a number").value);
    assert_eq!(matches, [4.0, 4.0, 8.0]);
    assert!((0..3).all(|row| table.cells[row][column("Time per move (median)")].is_some()));

    // People are marked everywhere, and the mean over agents is that of the model.
    let mut rows = grid(&report, "leaderboard").rows.clone();
    rows.sort_unstable();
    assert_eq!(rows, ["ann (person)", "bob (person)", "model"]);
    let scores = grid(&report, "scores");
    let row =
        |name: &str| scores.rows.iter().position(|row| row == name).unwrap_or_else(|| panic!("{:?}", scores.rows));
    for part in 0..2 {
        let value = |name: &str| scores.cells[row(name)][part].map(|m| m.value);
        assert_eq!(value("mean"), value("model"));
    }
    let names = report.scales.iter().flat_map(|scale| &scale.agents).map(|agent| agent.name.as_str());
    assert_eq!(names.filter(|name| *name == "ann (person)").count(), 2);
    assert!(report.to_html().contains("s per move (median)") && report.to_html().contains("id=\"figure-people\""));
    // One run alone marks its person too.
    let (report, _) = report_files::report(&runs[..1], RatingOptions::default(), ReportAbout::default(), |_| None);
    assert_eq!(grid(&report, "people").rows, ["ann (person)", "all people"]);
}
