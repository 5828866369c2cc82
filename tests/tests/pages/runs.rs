//! Pages of runs, and a person's seat in a run.

use ludex_arena::suites::Suites;
use ludex_tests::bot::first;
use ludex_tests::{Bot, Server};
use serde_json::json;

use super::{BROWSER, ask, page, token};

const SUITE: &str = r#"
name = "little"
version = 1
title = "A little"
[[part]]
id = "nim"
game = "nim"
schedule = "against"
opponents = ["random", "anchor level=1"]
blocks = 2
groups = ["all"]
[[part]]
id = "climb"
game = "tic_tac_toe"
schedule = "climb"
blocks = 2
metrics = ["level"]
"#;

/// Suite with a part for several agents, a part that requires an opponent, and a small part.
const MIXED: &str = r#"
name = "mixed"
version = 1
title = "Mixed"
[[role]]
name = "rival"
[[part]]
id = "pairs"
game = "tic_tac_toe"
schedule = "round_robin"
blocks = 1
[[part]]
id = "named"
game = "nim"
schedule = "against"
opponents = ["@rival"]
blocks = 1
[[part]]
id = "plain"
game = "nim"
schedule = "against"
opponents = ["random"]
blocks = 1
"#;

const PAIRS: &str = r#"
name = "pairs"
version = 1
title = "Pairs"
[[part]]
id = "pairs"
game = "tic_tac_toe"
schedule = "round_robin"
blocks = 1
"#;

async fn server() -> Server {
    let suites = [SUITE, MIXED, PAIRS].into_iter().fold(Suites::default(), |all, text| all.with(text).unwrap());
    Server::start(|config| config.suites = suites).await
}

/// Returns the target of a redirect.
fn location(answer: &str) -> &str {
    answer.lines().find_map(|line| line.strip_prefix("location: ")).unwrap_or_else(|| panic!("{answer}")).trim()
}

#[tokio::test]
async fn run_page_shows_verdict() {
    let server = server().await;
    let mut bot = Bot::with(server.address, None, json!({"agent": {"name": "ada", "kind": "human"}})).await;
    let request = json!({"suite": "little", "run": "mine", "only": ["nim"], "views": ["picture", "texts"]});
    assert_eq!(bot.call("enrol", request).await["due"], 8);
    bot.play(2, first).await;
    let body = page(&server, "/runs/mine").await;
    for said in [
        "In progress",
        "<progress max=",
        "/runs/mine/play",
        "Until then, find them under <a href=\"/matches\">all matches</a>",
    ] {
        assert!(body.contains(said), "{said}: {body}");
    }
    assert!(page(&server, "/runs").await.contains("<a href=\"/runs/mine\">"));
    // If a match may not be shown as part of its run, its page does not name the run.
    for id in bot.matches.keys() {
        let body = page(&server, &format!("/matches/{id}")).await.replace(id.as_str(), "");
        assert!(!body.contains("/runs/mine"), "{body}");
    }
    bot.play(8, first).await;
    bot.wait("run_end").await;
    let body = page(&server, "/runs/mine").await;
    let of = |key: &str| -> u64 {
        let ends = bot.matches.values().map(|seen| (&seen.start["seat"], &seen.end["outcome"]));
        ends.filter(|(seat, outcome)| outcome[seat.as_u64().unwrap() as usize] == key).count() as u64
    };
    let told = format!("won {}, drew {} and lost {} of 8 matches: ", of("win"), of("draw"), of("loss"));
    for said in [&told, "% of the points.", "<td class=\"n\">", "Groups of parts", "View full report", "/games/nim"] {
        assert!(body.contains(said), "{said}: {body}");
    }
    assert!(!body.contains("&quot;parts&quot;") && !body.contains("{"), "no JSON: {body}");
    for id in bot.matches.keys() {
        assert!(body.contains(&format!("href=\"/matches/{id}\"")), "{id}: {body}");
    }
    let body = page(&server, "/runs").await;
    assert!(body.contains("<td>Finished: all matches played</td>") && body.contains("No runs in progress"), "{body}");
    assert!(page(&server, "/runs?after=mine").await.contains("No finished runs"));
    assert!(page(&server, &format!("/matches/{}", bot.matches.keys().next().unwrap())).await.contains("human"));
    // The run's seat is no longer available.
    let answer = ask(&server, "GET /runs/mine/play", BROWSER).await;
    assert!(answer.starts_with("HTTP/1.1 303") && location(&answer) == "/runs/mine", "{answer}");
}

#[tokio::test]
async fn person_starts_run_from_suite_list() {
    let server = server().await;
    let list = page(&server, "/runs").await;
    assert!(list.contains("value=\"little\"") && list.contains("value=\"little/climb\""), "{list}");
    // The smallest suite comes first. Parts for several agents are not offered.
    assert!(list.find("value=\"mixed/plain\"").unwrap() < list.find("value=\"little\"").unwrap(), "{list}");
    for other in ["\"mixed\"", "\"mixed/pairs\"", "\"mixed/named\"", "\"pairs\"", "\"pairs/pairs\""] {
        assert!(!list.contains(&format!("value={other}")), "{other}: {list}");
    }
    let answer = ask(&server, "GET /runs?suite=little%2Fnim&scale=0.5&play=mine", BROWSER).await;
    let to = location(&answer);
    assert_eq!(to, "/runs/mine/play?suite=little&only=nim&scale=0.5");
    let body = page(&server, to).await;
    for said in
        ["data-run=\"mine\"", "data-suite=\"little\"", "data-only=\"nim\"", "data-scale=\"0.5\"", "id=\"live-match\""]
    {
        assert!(body.contains(said), "{said}: {body}");
    }
    let body = page(&server, "/runs/mine/play?suite=little").await;
    assert!(body.contains("&quot;tic_tac_toe&quot;:[&quot;x&quot;,&quot;o&quot;]"), "{body}");
    // No match has started, so the person may look at the page and leave.
    assert_eq!(server.get("/runs/mine").await.0, 404);
    let hostile = "%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E";
    let answer = ask(&server, &format!("GET /runs?play={hostile}&suite={hostile}"), BROWSER).await;
    assert!(location(&answer).starts_with("/runs/%22%3E%3Cscript"), "{answer}");
    for path in [
        "/runs/mine/play".to_owned(),
        "/runs/mine/play?suite=none".to_owned(),
        "/runs/Mine!/play?suite=little".to_owned(),
        format!("/runs/{hostile}/play?suite={hostile}"),
    ] {
        let (status, body) = server.get_with(&path, BROWSER).await;
        assert!(status == 404 && body.contains(" not found</h1>") && !body.contains("<script>alert"), "{path}: {body}");
    }
    let body = page(&server, &format!("/runs/mine/play?suite=little&only={hostile}&scale={hostile}")).await;
    assert!(!body.contains("\"><script>"), "{body}");
}

const SCORELESS: &str = r#"
name = "trust"
version = 1
title = "Trust"
[[part]]
id = "nim"
game = "nim"
schedule = "against"
opponents = ["random"]
blocks = 1
[[part]]
id = "trust"
game = "iterated_prisoners_dilemma(num_repetitions=2)"
schedule = "against"
opponents = ["random"]
blocks = 2
"#;

#[tokio::test]
async fn verdict_counts_only_scored_parts() {
    let server = Server::start(|config| config.suites = Suites::default().with(SCORELESS).unwrap()).await;
    let mut bot = Bot::new(server.address, "ada").await;
    let due = bot.call("enrol", json!({"suite": "trust", "run": "mine"})).await["due"].as_u64().unwrap();
    let body = page(&server, "/runs/mine/play").await;
    assert!(body.contains("&quot;nim&quot;:["), "a run that has begun knows its games: {body}");
    bot.play(due as usize, first).await;
    bot.wait("run_end").await;
    let body = page(&server, "/runs/mine").await;
    let others = format!("Not counted: {} in parts without a score.", due - 2);
    for said in [" of 2 matches: ", &others] {
        assert!(body.contains(said), "{said}: {body}");
    }
}

#[tokio::test]
async fn run_page_shows_main_play_button_only_to_candidate() {
    let server = server().await;
    let (ada, bob) = (token(&server, "ada").await, token(&server, "bob").await);
    let mut bot = Bot::with(server.address, None, json!({"token": ada, "agent": {"name": "ada"}})).await;
    bot.call("enrol", json!({"suite": "little", "run": "mine", "only": ["nim"]})).await;
    let button = "class=\"button main\" href=\"/runs/mine/play\"";
    for (token, own) in [(ada, true), (bob, false)] {
        let (_, body) = server.get_with("/runs/mine", &format!("{BROWSER}Authorization: Bearer {token}\r\n")).await;
        assert_eq!(body.contains(button), own, "{body}");
        assert_eq!(body.contains("Are you the candidate?"), !own, "{body}");
        assert!(body.contains("href=\"/runs/mine/play\""), "{body}");
    }
}

#[tokio::test]
async fn tournament_page_shows_standings() {
    let server = Server::start(|_| {}).await;
    let request = json!({
        "run": "cup", "game": "nim", "format": "round_robin",
        "entrants": [{"name": "ann", "agent": "random"}, {"name": "bob", "agent": "random"}],
    });
    server.runs.organise(&serde_json::from_value(request).unwrap()).await.unwrap();
    let mut body = String::new();
    for _ in 0..1_000 {
        body = page(&server, "/runs/cup").await;
        if body.contains("Final standings") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    for said in ["Final standings", "round robin", "href=\"/agents/ann\"", "<th class=\"n\">Points</th>"] {
        assert!(body.contains(said), "{said}: {body}");
    }
}
