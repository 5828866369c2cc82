//! Access over HTTP on a server that requires tokens: a test for each row of the table in `docs/running-a-server.md`.

use ludex_arena::suites::Suites;
use ludex_server::auth::{NewToken, Scopes, add};
use ludex_tests::bot::first;
use ludex_tests::{Bot, Server};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const SUITE: &str = r#"
name = "little"
version = 1
title = "Little"
[[part]]
id = "nim"
game = "nim"
schedule = "against"
opponents = ["random"]
blocks = 1
"#;

/// Server that requires tokens, with an ended match.
struct Site {
    server: Server,
    id: String,
    /// Tokens of the owners ann and bob with the default scopes, and of owners with the scopes `metrics` and `admin`.
    ann: String,
    bob: String,
    metrics: String,
    admin: String,
}

impl Site {
    async fn start(public: bool) -> Self {
        let suites = Suites::default().with(SUITE).unwrap();
        let server = Server::start(|config| (config.suites, config.public) = (suites, public)).await;
        let mut bot = Bot::new(server.address, "mybot").await;
        bot.join(json!({"game": "reversi", "against": ["random"], "count": 1})).await;
        bot.play(1, first).await;
        let id = bot.only().0.to_owned();
        let owners =
            [("ann", Scopes::OPEN), ("bob", Scopes::OPEN), ("meter", Scopes::METRICS), ("operator", Scopes::ADMIN)];
        let wanted = |(owner, scopes): (&str, Scopes)| NewToken {
            owner: owner.into(),
            scopes,
            names: vec!["*".into()],
            expires_ms: None,
        };
        let tokens = add(&server.hub.store, &owners.map(wanted), 0).await.unwrap();
        let [ann, bob, metrics, admin] = tokens.try_into().unwrap();
        Site { server, id, ann, bob, metrics, admin }
    }

    /// Returns the status and the body of the reply to a program.
    async fn get(&self, path: &str, token: &str) -> (u16, String) {
        self.server.get_with(path, &bearer(token)).await
    }

    /// Returns the status of the reply to a browser, and the page.
    async fn browse(&self, path: &str, token: &str) -> (u16, String) {
        self.server.get_with(path, &format!("Accept: text/html\r\n{}", bearer(token))).await
    }

    /// Checks that programs and browsers get the page at a path with a token, and are refused without one.
    async fn needs_a_token(&self, path: &str) {
        for token in ["", "lx_unknown"] {
            assert_eq!((self.get(path, token).await.0, self.browse(path, token).await.0), (401, 401), "{path}");
        }
        assert!(![401, 403].contains(&self.get(path, &self.ann).await.0), "{path}");
    }

    /// Addresses with the data of the ended match.
    fn data_of_match(&self) -> [String; 3] {
        let id = &self.id;
        [format!("/episodes/{id}"), format!("/matches/{id}/notation"), format!("/matches/{id}/picture.svg")]
    }
}

fn bearer(token: &str) -> String {
    if token.is_empty() { String::new() } else { format!("Authorization: Bearer {token}\r\n") }
}

/// Enrols `ann` in a run, and returns her bot and the first turn of her first match.
async fn run_of_ann(site: &Site) -> (Bot, Value) {
    let mut bot = Bot::with(site.server.address, None, json!({"token": site.ann, "agent": {"name": "ann"}})).await;
    assert_eq!(bot.call("enrol", json!({"suite": "little", "run": "hers"})).await["type"], "enrolled");
    let turn = bot.wait("turn").await;
    (bot, turn)
}

#[tokio::test]
async fn health_and_game_pages_need_no_token() {
    let site = Site::start(false).await;
    for path in ["/health", "/games", "/games/chess/picture.svg", "/static/app.js", "/"] {
        assert_eq!(site.get(path, "").await.0, 200, "{path}");
    }
    for path in ["/", "/games", "/games/chess", "/login"] {
        assert_eq!(site.browse(path, "").await.0, 200, "{path}");
    }
}

#[tokio::test]
async fn list_pages_need_a_token() {
    let site = Site::start(false).await;
    for path in ["/matches", "/ladders", "/ladders/chess", "/runs", "/runs/none", "/ratings"] {
        site.needs_a_token(path).await;
    }
    for path in ["/agents/mybot", "/play/chess"] {
        assert_eq!(site.browse(path, "").await.0, 401, "{path}");
    }
}

#[tokio::test]
async fn matches_need_a_token() {
    let site = Site::start(false).await;
    for path in site.data_of_match() {
        assert_eq!((site.get(&path, "").await.0, site.get(&path, &site.ann).await.0), (401, 200), "{path}");
    }
    let page = format!("/matches/{}", site.id);
    let (status, body) = site.browse(&page, "").await;
    let next = format!("data-next=\"{}\"", page.replace('/', "&#x2f;"));
    assert!(status == 401 && body.contains("id=\"login\"") && body.contains(&next), "{body}");
    assert_eq!(site.browse(&page, &site.ann).await.0, 200);
    assert_eq!(site.get("/episodes/m_0", "").await.0, 401, "an unknown match looks like a known one");
}

#[tokio::test]
async fn public_server_shows_matches_without_a_token() {
    let site = Site::start(true).await;
    for path in site.data_of_match() {
        assert_eq!(site.get(&path, "").await.0, 200, "{path}");
    }
    assert_eq!(site.browse(&format!("/matches/{}", site.id), "").await.0, 200);
    assert_eq!(site.get("/matches", "").await.0, 401, "lists still need a token");
}

#[tokio::test]
async fn match_of_open_run_is_hidden_from_other_owners() {
    for public in [false, true] {
        let site = Site::start(public).await;
        let (mut bot, turn) = run_of_ann(&site).await;
        let id = turn["match"].as_str().unwrap();
        for path in [format!("/episodes/{id}"), format!("/matches/{id}/picture.svg")] {
            for (token, status) in [("", 401), (&site.bob, 403), (&site.ann, 200), (&site.admin, 200)] {
                assert_eq!(site.get(&path, token).await.0, status, "{path}");
            }
        }
        let mut bob = Bot::with(site.server.address, None, json!({"token": site.bob, "agent": {"name": "bob"}})).await;
        assert_eq!(bob.call("spectate", json!({"match": id})).await["code"], "forbidden");
        let (status, body) = site.browse(&format!("/matches/{id}"), &site.bob).await;
        assert!(status == 403 && body.contains("This match is hidden"), "{body}");
        bot.act(&turn, first(&turn)).await;
        bot.play(2, first).await;
        bot.wait("run_end").await;
        assert_eq!(site.get(&format!("/episodes/{id}"), &site.bob).await.0, 200);
        assert_eq!(site.get(&format!("/episodes/{id}"), "").await.0, if public { 200 } else { 401 });
    }
}

#[tokio::test]
async fn run_files_need_a_token_and_have_security_headers() {
    let site = Site::start(false).await;
    let (mut bot, turn) = run_of_ann(&site).await;
    bot.act(&turn, first(&turn)).await;
    bot.play(2, first).await;
    bot.wait("run_end").await;
    for path in ["/runs/hers/report.html", "/runs/hers/report.json"] {
        site.needs_a_token(path).await;
        let head = head(&site, path).await;
        for header in
            ["default-src 'none';", "frame-ancestors 'none'", "nosniff", "private, no-cache", "vary: accept, cookie"]
        {
            assert!(head.contains(header), "{path}: {header}: {head}");
        }
    }
}

#[tokio::test]
async fn json_responses_vary_by_accept_header() {
    let site = Site::start(false).await;
    for path in ["/games", "/matches", "/runs", "/ladders", "/runs/none", "/nosuch"] {
        let head = head(&site, path).await;
        assert!(head.contains("application/json") && head.contains("vary: accept, cookie"), "{path}: {head}");
    }
}

/// Returns the lower-case head of the reply to ann.
async fn head(site: &Site, path: &str) -> String {
    let mut stream = TcpStream::connect(site.server.address).await.unwrap();
    let (host, bearer) = (site.server.address, bearer(&site.ann));
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{bearer}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    answer.split("\r\n\r\n").next().unwrap().to_lowercase()
}

#[tokio::test]
async fn metrics_need_a_token_with_metrics_or_admin_scope() {
    let site = Site::start(false).await;
    for (token, status) in [("", 401), (&site.ann, 403), (&site.metrics, 200), (&site.admin, 200)] {
        assert_eq!(site.get("/metrics", token).await.0, status);
    }
}

#[tokio::test]
async fn owners_are_listed_for_administrators() {
    let site = Site::start(false).await;
    let _ann = Bot::with(site.server.address, None, json!({"token": site.ann, "agent": {"name": "ann"}})).await;
    let series = "ludex_owner_held{owner=\"ann\",of=\"environments\"} 0";
    let (_, page) = site.get("/metrics", &site.admin).await;
    assert!(page.contains(series) && page.contains("# HELP ludex_owner_held "), "{page}");
    let (_, page) = site.get("/metrics", &site.metrics).await;
    assert!(!page.contains("ludex_owner_held") && page.contains("# HELP ludex_matches_live "), "{page}");
}
