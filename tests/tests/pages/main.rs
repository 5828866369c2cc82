//! Web pages: HTML for browsers, and JSON for programs at the same addresses.

mod agents;
mod matches;
mod people;
mod rates;
mod register;
mod runs;
mod transfer;
mod words;
mod worlds;

use std::path::Path;
use std::process::Command;

use ludex_server::auth::{self, NewToken, Scopes};
use ludex_tests::bot::first;
use ludex_tests::{Bot, Server};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const BROWSER: &str = "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n";

/// Sends a request and returns the complete response.
async fn ask(server: &Server, request: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let host = server.address;
    let head = format!("{request} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

async fn page(server: &Server, path: &str) -> String {
    let (status, body) = server.get_with(path, BROWSER).await;
    assert_eq!(status, 200, "{path}: {body}");
    assert!(body.starts_with("<!doctype html>") && body.trim_end().ends_with("</html>"), "{path}: {body}");
    body
}

/// Plays a match against `random` and returns its id.
async fn played(server: &Server, name: &str, game: &str) -> String {
    let mut bot = Bot::new(server.address, name).await;
    bot.join(json!({"game": game, "against": ["random"], "count": 1})).await;
    bot.play(1, first).await;
    bot.only().0.to_owned()
}

async fn token(server: &Server, owner: &str) -> String {
    let names = auth::default_names(owner);
    let wanted = NewToken { owner: owner.to_owned(), scopes: Scopes::OPEN, names, expires_ms: None };
    auth::add(&server.hub.store, &[wanted], 0).await.unwrap().remove(0)
}

#[tokio::test]
async fn browsers_get_html_and_programs_get_json() {
    let server = Server::start(|_| {}).await;
    let id = played(&server, "mybot", "connect_four").await;
    for path in [
        "/",
        "/games",
        "/games/chess",
        "/matches",
        &format!("/matches/{id}"),
        &format!("/matches/{id}?at=2&seat=1"),
        &format!("/matches/{id}?seat=&at=3"),
        "/agents/mybot",
        "/runs",
        "/ladders",
        "/play/chess",
        "/login",
    ] {
        page(&server, path).await;
    }
    for path in ["/games", "/matches", "/runs", "/ladders", "/ratings"] {
        let (status, body) = server.get(path).await;
        assert_eq!(status, 200);
        serde_json::from_str::<Value>(&body).unwrap_or_else(|e| panic!("{path}: {e}"));
        assert_eq!(server.get_with(path, "Accept: */*\r\n").await, (200, body), "{path}");
    }
    assert!(server.get("/").await.1.starts_with("ludex: "));
    for path in ["/games/ches", "/matches/m_0", "/agents/stranger", "/runs/nothing", "/ladders/nothing", "/play/ches"] {
        let (status, body) = server.get_with(path, BROWSER).await;
        assert_eq!((status, body.contains(" not found</h1>")), (404, true), "{path}: {body}");
    }
    for path in ["/nosuch", "/games/%3Cscript%3Ealert(1)%3C/script%3E", "/episodes/m_0", "/runs/nothing/report.json"] {
        let (status, body) = server.get_with(path, BROWSER).await;
        assert!(status == 404 && body.contains("Page not found") && !body.contains("<script>"), "{path}: {body}");
        let (status, body) = server.get(path).await;
        assert!(status == 404 && serde_json::from_str::<Value>(&body).is_ok(), "{path}: {body}");
    }
}

#[tokio::test]
async fn pages_load_no_scripts_from_other_hosts() {
    let server = Server::start(|_| {}).await;
    let answer = ask(&server, "GET /", BROWSER).await.to_lowercase();
    for header in [
        "content-security-policy: default-src 'none'; script-src 'self';",
        "x-content-type-options: nosniff",
        "vary: accept, cookie",
    ] {
        assert!(answer.contains(header), "{header}: {answer}");
    }
    assert!(!answer.contains("<script>") && !answer.contains("http://www") && !answer.contains("javascript:"));
    for file in ["app.js", "app.css"] {
        let answer = ask(&server, &format!("GET /static/{file}"), "").await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("immutable"), "{file}");
    }
}

#[tokio::test]
async fn user_text_is_escaped_in_pages() {
    let server = Server::start(|_| {}).await;
    let hostile = "<script>alert(1)</script>\u{202e}\"'&";
    let mut bot = Bot::new(server.address, "mybot").await;
    bot.join(json!({"game": "tic_tac_toe", "against": ["random"], "count": 1})).await;
    let long = "x".repeat(10_000);
    let notes = json!({"say": hostile, "analysis": format!("{hostile}{long}")});
    bot.play(1, move |turn: &Value| json!({"action": turn["legal"][0], "notes": notes.clone()})).await;
    let id = bot.only().0.to_owned();
    let body = page(&server, &format!("/matches/{id}")).await;
    assert!(body.contains("&lt;script&gt;alert(1)") && !body.contains("<script>alert"), "{body}");
    assert!(!body.contains('\u{202e}') && !body.contains(&long));
    let (status, body) = server.get_with("/agents/%3Cscript%3Ealert(1)%3C%2Fscript%3E", BROWSER).await;
    assert!(status == 404 && !body.contains("<script>alert"), "{body}");
    let body = page(&server, "/matches?agent=%22%3E%3Cscript%3E").await;
    assert!(!body.contains("\"><script>"), "{body}");
}

#[tokio::test]
async fn pages_hide_cards_until_record_is_released() {
    let server = Server::start(|_| {}).await;
    let mut bot = Bot::new(server.address, "mybot").await;
    bot.join(json!({"game": "leduc_poker", "against": ["random"], "count": 1, "seat": 0})).await;
    let turn = bot.wait("turn").await;
    let id = turn["match"].as_str().unwrap().to_owned();
    // While a match runs, a seat's view is hidden from other clients.
    for seat in [0, 1] {
        assert_eq!(server.get(&format!("/matches/{id}/picture.svg?seat={seat}")).await.0, 404);
        assert_eq!(server.get_with(&format!("/matches/{id}?seat={seat}"), BROWSER).await.0, 404);
    }
    let (status, public) = server.get(&format!("/matches/{id}/picture.svg?at=0")).await;
    assert!(status == 200 && public.starts_with("<svg"));
    bot.act(&turn, first(&turn)).await;
    bot.play(1, first).await;
    let mut seen = Vec::new();
    for seat in ["", "&seat=0", "&seat=1"] {
        let (status, svg) = server.get(&format!("/matches/{id}/picture.svg?at=0{seat}")).await;
        assert_eq!(status, 200);
        seen.push(svg);
    }
    assert!(seen[1] != seen[0], "a seat sees its own card");
    assert_eq!(seen[0], public, "the public view has changed");
}

#[tokio::test]
async fn login_cookie_is_limited_to_this_server() {
    let server = Server::start(|_| {}).await;
    let login = "<a href=\"/login\">Log in</a>";
    assert!(!page(&server, "/").await.contains(login), "no client needs a token yet");
    let token = token(&server, "ada").await;
    assert!(page(&server, "/").await.contains(login));
    let own = format!("Origin: http://{}\r\n", server.address);
    // Lists now require a token: browsers get the login page, programs get an error as before.
    let (status, body) = server.get_with("/matches", BROWSER).await;
    assert!(status == 401 && body.contains("id=\"login\""), "{body}");
    assert_eq!(server.get("/matches").await.0, 401);
    let bearer = format!("Authorization: Bearer {token}\r\nContent-Length: 0\r\n");
    let answer = ask(&server, "POST /login", &format!("{own}{bearer}")).await;
    let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
    for word in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(word), "{cookie}");
    }
    assert!(!cookie.contains("Secure"), "over HTTP the browser would drop it");
    let cookie = format!("Cookie: {}\r\n", cookie.split(';').next().unwrap());
    assert_eq!(server.get_with("/matches", &format!("{BROWSER}{cookie}")).await.0, 200);
    let (status, body) = server.get_with("/nosuch", &format!("{BROWSER}{cookie}")).await;
    assert!(status == 404 && body.contains("Log out") && !body.contains(login), "{body}");
    // Pages of other origins can neither log in nor out, and the cookie gives them no WebSocket.
    let foreign = "Origin: http://127.0.0.1:1\r\n";
    assert!(ask(&server, "POST /login", &format!("{foreign}{bearer}")).await.starts_with("HTTP/1.1 403"));
    let out = "Content-Length: 0\r\n";
    assert!(ask(&server, "POST /logout", &format!("{foreign}{cookie}{out}")).await.starts_with("HTTP/1.1 403"));
    assert!(ask(&server, "POST /logout", &format!("{own}{cookie}{out}")).await.contains("Max-Age=0"));
    let upgrade = "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
    let socket = async |origin: &str| {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let host = server.address;
        let head = format!("GET /ws HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\n{upgrade}{origin}{cookie}\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await.unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    };
    assert_eq!(socket(&own).await, "HTTP/1.1 101");
    assert_eq!(socket(foreign).await, "HTTP/1.1 403");
    assert_eq!(socket("").await, "HTTP/1.1 403");
}

/// Checks that the embedded script equals a build of its sources.
#[test]
fn embedded_script_equals_build_of_sources() {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../web");
    let out = tempfile::tempdir().unwrap();
    if !web.join("node_modules/.bin/esbuild").is_file() {
        return eprintln!("SKIPPED: esbuild is missing (Node >= 20; `npm ci` in web/)");
    }
    let made = Command::new(web.join("build")).arg(out.path()).status().unwrap();
    assert!(made.success());
    for file in ["app.js", "app.css"] {
        let read = |folder: &Path| std::fs::read(folder.join(file)).unwrap();
        assert!(read(out.path()) == read(&web.join("../pages/dist")), "{file}: run web/build and keep what it writes");
    }
}
