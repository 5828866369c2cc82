//! Registration of owners by themselves: tokens, invitations, taken names, limits, revocation.

use std::time::{Duration, Instant};

use ludex_arena::seasons::SuiteSeasons;
use ludex_arena::suites::Suites;
use ludex_server::Config;
use ludex_server::auth::{self, NewToken, Scopes};
use ludex_server::config::RegistrationMode;
use ludex_tests::bot::first;
use ludex_tests::client::ClientEnd;
use ludex_tests::server::post;
use ludex_tests::{Bot, Client, Process, Server};
use serde_json::{Value, json};

use super::{BROWSER, ask, page};

const JSON: &str = "Accept: application/json\r\n";

/// Compiles the first bot in Rust that the page displays.
#[allow(dead_code)]
mod first_bot {
    include!("../../../pages/first-bot/bot.rs");
}

fn open(config: &mut Config) {
    config.registration = Some(RegistrationMode::Open);
}

fn invite(config: &mut Config) {
    config.registration = Some(RegistrationMode::Invite);
}

/// Returns the status of a response.
fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status")
}

/// Returns the status and the JSON of a registration by a program.
async fn register(server: &Server, form: &str) -> (u16, Value) {
    let answer = post(server.address, "/register", JSON, form).await;
    let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
    (status(&answer), serde_json::from_str(body).expect("JSON"))
}

/// Registers an owner and returns its token.
async fn token_of(server: &Server, form: &str) -> String {
    let (status, told) = register(server, form).await;
    assert_eq!(status, 201, "{told}");
    told["token"].as_str().expect("a token").to_owned()
}

/// Creates a token as an operator.
async fn add(server: &Server, owner: &str, scopes: Scopes, names: &[&str]) -> String {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    let wanted = NewToken { owner: owner.to_owned(), scopes, names, expires_ms: None };
    auth::add(&server.hub.store, &[wanted], 0).await.expect("a token").remove(0)
}

/// Returns the reply to a `hello` with a token.
async fn reply_to(server: &Server, token: &str) -> Value {
    let mut client = Client::mute(server.address).await;
    client.say(&json!({"type": "hello", "id": 0, "protocol": [1], "client": "raw/0", "token": token})).await;
    client.hear().await
}

#[tokio::test]
async fn registered_owner_plays_a_rated_match() {
    let server = Server::start(open).await;
    for path in ["/", "/login"] {
        assert!(page(&server, path).await.contains("<a href=\"/register\">register</a>"), "{path}");
    }
    let form = page(&server, "/register").await;
    assert!(form.contains("name=\"owner\"") && form.contains("10 registrations are possible"), "{form}");
    assert!(!form.contains("name=\"invitation\"") && form.contains("name=\"token\""), "{form}");
    let answer = post(server.address, "/register", BROWSER, "owner=ann").await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert_eq!(status(head), 201, "{answer}");
    assert!(head.contains("cache-control: no-store\r\n") && head.contains("content-security-policy"), "{head}");
    assert!(!head.contains("lx_"), "{head}");
    let token = body.split("<pre class=\"token\" tabindex=\"0\">").nth(1).unwrap().split('<').next().unwrap();
    assert!(token.starts_with("lx_") && token.len() == 46, "{body}");
    let url = format!("ws://{}", server.address).replace('/', "&#x2f;");
    for language in ["Python", "TypeScript", "Rust", "C++", "Go", "Java"] {
        let bot = body.split(&format!("<span class=\"label\">{language}</span>")).nth(1).expect(language);
        let bot = bot.split("</pre>").next().unwrap();
        assert!(bot.contains(&url) && bot.contains(token) && bot.contains("tic_tac_toe"), "{language}: {bot}");
    }

    let mut bot = Bot::with(server.address, None, json!({"token": token, "agent": {"name": "ann.deep"}})).await;
    assert_eq!(bot.client.welcome["scopes"], json!(["gym", "play", "spectate"]), "the mark is not on the wire");
    bot.join(json!({"game": "tic_tac_toe", "against": ["random"], "rated": true, "count": 1})).await;
    bot.play(1, first).await;
    let bearer = format!("Authorization: Bearer {token}\r\n");
    let matches: Value = serde_json::from_str(&server.get_with("/matches?live=false", &bearer).await.1).unwrap();
    assert_eq!((&matches["matches"][0]["rated"], &matches["next"]), (&json!(true), &Value::Null), "{matches}");
    assert_eq!(Bot::with(server.address, None, json!({"token": token})).await.client.welcome["agent"], "ann");
    server.stop().stopped().await;
}

#[tokio::test]
async fn registration_for_programs_is_json() {
    let server = Server::start(open).await;
    let (status, told) = register(&server, "owner=ann").await;
    assert_eq!((status, &told["owner"], &told["names"]), (201, &json!("ann"), &json!(["ann", "ann.*"])), "{told}");
    assert_eq!(told["scopes"], json!(["gym", "play", "spectate"]));
    let (status, told) = register(&server, "owner=ann").await;
    assert_eq!((status, &told["code"], &told["path"]), (409, &json!("conflict"), &json!("owner")), "{told}");
    let longest = "a".repeat(40);
    let (status, told) = register(&server, &format!("owner={longest}")).await;
    assert_eq!((status, &told["names"]), (201, &json!([longest])), "no name is longer than the owner's");
    for bad in ["", "a%20b", "%C3%A9", "a*", &"a".repeat(41), "a%2Fb"] {
        let (status, told) = register(&server, &format!("owner={bad}")).await;
        assert_eq!((status, &told["code"]), (422, &json!("bad_field")), "{bad}: {told}");
        assert!(told["message"].as_str().unwrap().contains("1 to 40 of A-Z a-z 0-9"), "{told}");
    }
    server.stop().stopped().await;
}

#[tokio::test]
async fn registration_is_off_by_default() {
    let server = Server::start(|_| {}).await;
    for path in ["/register", "/register/revoke"] {
        assert_eq!(server.get_with(path, BROWSER).await.0, 404, "{path}");
        for accept in [BROWSER, JSON] {
            let answer = post(server.address, path, accept, "owner=ann").await;
            assert_eq!(status(&answer), 404, "{answer}");
        }
    }
    for path in ["/", "/login"] {
        assert!(!page(&server, path).await.contains("/register"), "{path}");
    }
    Client::hello(server.address).await;
    server.stop().stopped().await;
}

#[tokio::test]
async fn server_with_registration_requires_tokens_from_the_start() {
    for mode in [open, invite] {
        let server = Server::start(mode).await;
        assert_eq!(server.get("/matches").await.0, 401);
        assert!(Client::try_greet(server.address, None, json!({})).await.is_none());
        server.stop().stopped().await;
    }
}

#[tokio::test]
async fn only_short_forms_of_pages_of_this_server_are_accepted() {
    let server = Server::start(open).await;
    for origin in ["", "Origin: http://127.0.0.1:1\r\n", "Origin: null\r\n"] {
        for path in ["/register", "/register/revoke"] {
            let answer = ask(&server, &format!("POST {path}"), &format!("{origin}Content-Length: 0\r\n")).await;
            assert_eq!(status(&answer), 403, "{answer}");
        }
    }
    let own = format!("Origin: http://{}\r\n", server.address);
    for body in ["Content-Length: 4097\r\n", "Transfer-Encoding: chunked\r\n"] {
        let answer = ask(&server, "POST /register", &format!("{own}{body}")).await;
        assert_eq!(status(&answer), 413, "{answer}");
    }
    let answer = ask(&server, "POST /login", &format!("{own}Content-Length: 4\r\n")).await;
    assert_eq!(status(&answer), 400, "{answer}");
    let answer =
        ask(&server, "POST /register", &format!("{own}Content-Type: text/plain\r\nContent-Length: 0\r\n")).await;
    assert_eq!(status(&answer), 400, "{answer}");
    server.stop().stopped().await;
}

#[tokio::test]
async fn form_that_does_not_arrive_is_refused() {
    let server = Server::start(|config| {
        open(config);
        config.limits.hello_ms = 2_000;
    })
    .await;
    let kind = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n";
    let own = format!("Origin: http://{}\r\n{kind}", server.address);
    let answer = ask(&server, "POST /register", &own).await;
    assert_eq!(status(&answer), 408, "{answer}");
    server.stop().stopped().await;
}

#[tokio::test]
async fn invitation_permits_one_registration_and_nothing_else() {
    let server = Server::start(invite).await;
    assert!(page(&server, "/register").await.contains("name=\"invitation\""));
    let invitation = add(&server, "friends", Scopes::INVITE, &["friends", "friends.*"]).await;
    let refused = reply_to(&server, &invitation).await;
    assert_eq!((&refused["code"], &refused["path"]), (&json!("unauthorized"), &json!("token")), "{refused}");
    assert!(refused["message"].as_str().unwrap().contains("it permits one registration"), "{refused}");
    let bearer = format!("Authorization: Bearer {invitation}\r\n");
    for path in ["/matches", "/metrics", "/runs"] {
        assert_eq!(server.get_with(path, &bearer).await.0, 401, "{path}");
    }
    let admin = add(&server, "root", Scopes::ADMIN, &["*"]).await;
    for (other, said) in [("", "none was entered"), ("lx_x", "unknown"), (&admin, "other scopes")] {
        let (status, told) = register(&server, &format!("owner=ann&invitation={other}")).await;
        assert_eq!((status, &told["path"]), (401, &json!("invitation")), "{told}");
        assert!(told["message"].as_str().unwrap().contains(said), "{told}");
    }
    // A refused name does not use up the invitation.
    assert_eq!(register(&server, &format!("owner=root&invitation={invitation}")).await.0, 409);
    let token = token_of(&server, &format!("owner=ann&invitation={invitation}")).await;
    let (status, told) = register(&server, &format!("owner=bob&invitation={invitation}")).await;
    assert!(status == 401 && told["message"].as_str().unwrap().contains("it was used or revoked"), "{told}");
    assert_eq!(reply_to(&server, &token).await["type"], "welcome");
    assert_eq!(reply_to(&server, &admin).await["type"], "welcome", "no invitation, so it is not used up");
    let rows = server.hub.store.tokens().await.unwrap();
    let of = |owner: &str| rows.iter().find(|row| row.owner == owner).unwrap();
    assert_eq!(of("ann").scopes, Scopes::OPEN, "an invited owner is not marked");
    assert!(of("friends").revoked_ms.is_some() && rows.len() == 3, "{rows:?}");
    server.stop().stopped().await;
}

#[tokio::test]
async fn simultaneous_registrations_use_a_name_or_an_invitation_once() {
    let server = Server::start(invite).await;
    let mut invitations = Vec::new();
    for _ in 0..2 {
        invitations.push(add(&server, "friends", Scopes::INVITE, &["friends"]).await);
    }
    let forms: Vec<String> =
        (0..12).map(|k| format!("owner=owner{}&invitation={}", k % 3, invitations[k % 2])).collect();
    let all = futures_util::future::join_all(forms.iter().map(|form| register(&server, form))).await;
    let registered: Vec<&Value> = all.iter().filter(|(status, _)| *status == 201).map(|(_, told)| told).collect();
    assert_eq!(registered.len(), 2, "{all:?}");
    assert_ne!(registered[0]["owner"], registered[1]["owner"]);
    server.stop().stopped().await;
}

#[tokio::test]
async fn taken_names_are_refused_and_kept_in_the_form() {
    let server = Server::start(|config| {
        open(config);
        config.opponents.named.insert("House".to_owned(), "random".to_owned());
    })
    .await;
    add(&server, "Zed", Scopes::OPEN, &["zed", "team-*", "eve.bot"]).await;
    add(&server, "root", Scopes::ADMIN, &["*"]).await;
    add(&server, "gone", Scopes::OPEN, &["gone"]).await;
    auth::revoke(&server.hub.store, "gone", 1).await.unwrap();
    for name in ["zed", "ZED", "gone", "Gone", "team-a", "TEAM-", "eve", "Eve.bot", "house", "random", "root"] {
        let answer = post(server.address, "/register", BROWSER, &format!("owner={name}")).await;
        assert_eq!(status(&answer), 409, "{name}: {answer}");
        assert!(answer.contains("role=\"alert\">expected a free name, got "), "{answer}");
        assert!(
            answer.contains(&format!("name=\"owner\" value=\"{name}\"")) && answer.contains("no-store"),
            "{answer}"
        );
    }
    // Neither a name with the same beginning nor a token for all names is in the way.
    for name in ["ze", "zeds", "team", "evening", "eve-bot"] {
        token_of(&server, &format!("owner={name}")).await;
    }
    assert_eq!(register(&server, "owner=ze.deep").await.0, 409, "an agent of ze");
    let bad = "%3Cscript%3Ealert(1)%3C%2Fscript%3E";
    let answer = post(server.address, "/register", BROWSER, &format!("owner={bad}")).await;
    assert!(status(&answer) == 422 && !answer.contains("<script>alert"), "{answer}");
    server.stop().stopped().await;
}

#[tokio::test]
async fn registrations_of_an_address_are_limited() {
    let server = Server::start(|config| {
        open(config);
        config.limits.registrations_per_hour = 2;
        config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    let from = async |address: &str, accept: &str, owner: &str| {
        let headers = format!("{accept}X-Forwarded-For: {address}\r\n");
        post(server.address, "/register", &headers, &format!("owner={owner}")).await
    };
    assert_eq!(status(&from("203.0.113.7", JSON, "a").await), 201);
    assert_eq!(status(&from("203.0.113.7", JSON, "a").await), 409, "a refusal costs nothing");
    assert_eq!(status(&from("203.0.113.7", JSON, "b").await), 201);
    for accept in [JSON, BROWSER] {
        let answer = from("203.0.113.7", accept, "c").await;
        assert_eq!(status(&answer), 429, "{answer}");
        let wait = answer.split("retry-after: ").nth(1).and_then(|line| line.split("\r\n").next()).unwrap();
        assert!((3_000..=3_600).contains(&wait.parse::<u32>().unwrap()), "{wait}");
        assert!(answer.contains("expected at most 2 registrations per hour"), "{answer}");
    }
    assert_eq!(status(&from("203.0.113.8", JSON, "c").await), 201);
    server.stop().stopped().await;
}

#[tokio::test]
async fn number_of_owners_that_register_themselves_is_limited() {
    let limited = |config: &mut Config| {
        config.limits.registered_owners = 1;
        config.limits.registrations_per_hour = 0;
    };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_in(folder.path(), |config| {
        open(config);
        limited(config);
    })
    .await;
    token_of(&server, "owner=ann").await;
    auth::revoke(&server.hub.store, "ann", 1).await.unwrap();
    let (status, told) = register(&server, "owner=bob").await;
    assert_eq!((status, &told["code"]), (403, &json!("limit")), "{told}");
    server.stop().stopped().await;
    // The limit does not apply to invited owners.
    let server = Server::start_in(folder.path(), |config| {
        invite(config);
        limited(config);
    })
    .await;
    let invitation = add(&server, "friends", Scopes::INVITE, &["friends"]).await;
    token_of(&server, &format!("owner=bob&invitation={invitation}")).await;
    server.stop().stopped().await;
}

const SUITE: &str = r#"
name = "cards"
version = 1
title = "Cards"
[[part]]
id = "kuhn"
game = "kuhn_poker"
schedule = "against"
opponents = ["random"]
blocks = 1
"#;

const SEASON: &str = "suite = \"cards\"\n[[season]]\nname = \"autumn\"\n";

fn with_season(config: &mut Config) {
    open(config);
    config.suites = Suites::default().with(SUITE).unwrap();
    config.seasons = vec![SuiteSeasons::parse(SEASON).unwrap()];
}

#[tokio::test]
async fn seasons_are_closed_to_owners_that_registered_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_in(folder.path(), with_season).await;
    let token = token_of(&server, "owner=ann").await;
    let enrol =
        async |client: &mut Client, run: &str| client.call("enrol", json!({"suite": "cards", "run": run})).await;
    let check = |refused: &Value| {
        assert_eq!((&refused["code"], &refused["path"]), (&json!("forbidden"), &json!("suite")), "{refused}");
        let said = "season autumn: expected an owner with a token of the operator; this owner registered itself";
        assert_eq!(refused["message"], said);
    };
    let mut client = Client::greet(server.address, None, json!({"token": token})).await;
    check(&enrol(&mut client, "first").await);
    let (welcome, last) = (client.welcome.clone(), client.last_id());
    server.stop().stopped().await;
    drop(client);

    // The stored session has the mark too.
    let server = Server::start_in(folder.path(), with_season).await;
    let resume = json!({"session": welcome["session"], "key": welcome["key"]});
    let mut client = Client::greet(server.address, None, json!({"token": token, "resume": resume})).await;
    assert_eq!(client.welcome["resumed"], true, "{}", client.welcome);
    client.go_on_from(last);
    check(&enrol(&mut client, "second").await);
    // A token of the operator opens the season to the same owner.
    let given = add(&server, "ann", Scopes::OPEN, &["ann"]).await;
    let mut client = Client::greet(server.address, None, json!({"token": given})).await;
    assert_eq!(enrol(&mut client, "third").await["type"], "enrolled");
    server.stop().stopped().await;
}

#[tokio::test]
async fn holder_of_a_token_revokes_it_at_once() {
    let server = Server::start(open).await;
    let token = token_of(&server, "owner=ann").await;
    let mut client = Client::greet(server.address, None, json!({"token": token})).await;
    // Neither an owner nor the id of a token is sufficient.
    let id = auth::TokenHash::of(&token).to_string();
    for other in ["ann", "", &id] {
        let answer = post(server.address, "/register/revoke", BROWSER, &format!("token={other}")).await;
        assert!(status(&answer) == 401 && answer.contains("expected a token of this server"), "{answer}");
    }
    assert_eq!(reply_to(&server, &token).await["type"], "welcome");
    let from = Instant::now();
    let answer = post(server.address, "/register/revoke", BROWSER, &format!("token={token}")).await;
    assert!(status(&answer) == 200 && answer.contains("The token of ann is revoked."), "{answer}");
    assert!(answer.contains("cache-control: no-store\r\n") && !answer.contains(&token), "{answer}");
    assert_eq!(client.ended().await.0, ClientEnd::Closed(4001, "unauthorized".into()));
    assert!(from.elapsed() < Duration::from_secs(30));
    assert_eq!(reply_to(&server, &token).await["message"], "the token was revoked");
    let answer = post(server.address, "/register/revoke", JSON, &format!("token={token}")).await;
    assert!(status(&answer) == 200 && answer.ends_with("{\"revoked\":\"ann\"}"), "{answer}");
    assert_eq!(register(&server, "owner=ann").await.0, 409, "the name stays taken");
    server.stop().stopped().await;
}

#[tokio::test]
async fn tokens_are_not_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let (data, log) = (folder.path().join("data"), folder.path().join("log"));
    let program = env!("CARGO_BIN_EXE_ludex-tests");
    let server = Process::start_logged(program, &data, &log, None, &["--register", "open"], "trace");
    let answer = post(server.address, "/register", BROWSER, "owner=ann").await;
    let token =
        answer.split("<pre class=\"token\" tabindex=\"0\">").nth(1).unwrap().split('<').next().unwrap().to_owned();
    post(server.address, "/register", JSON, &format!("owner=bob&invitation={token}")).await;
    assert_eq!(post(server.address, "/register", JSON, "owner=ann").await.matches("409").count(), 1);
    drop(Client::greet(server.address, None, json!({"token": token})).await);
    assert_eq!(status(&post(server.address, "/register/revoke", BROWSER, &format!("token={token}")).await), 200);
    server.terminate(Duration::from_secs(60));
    let log = std::fs::read_to_string(&log).unwrap();
    assert!(log.contains("owner registered") && log.contains("token revoked by its holder"), "{log}");
    assert!(!log.contains(&token) && !log.contains(&token[3..]), "the log contains a token");
}
