//! HTTP caching and compression of pages, and pages that are computed once for many clients.

use ludex_tests::bot::{act, first};
use ludex_tests::{Bot, Server};
use serde_json::json;

use super::{BROWSER, ask, played};

/// Returns a header of a response.
fn header<'a>(reply: &'a str, name: &str) -> Option<&'a str> {
    let (head, _) = reply.split_once("\r\n\r\n").unwrap();
    head.lines().filter_map(|line| line.split_once(": ")).find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Returns the number of computed documents of one kind.
async fn computed(server: &Server, kind: &str) -> u64 {
    let (_, metrics) = server.get("/metrics").await;
    let line = format!("ludex_pages_computed_total{{of=\"{kind}\"}} ");
    metrics.lines().find_map(|text| text.strip_prefix(&line)).map_or(0, |count| count.parse().unwrap())
}

#[tokio::test]
async fn unchanged_pages_are_not_sent_again() {
    let server = Server::start(|_| {}).await;
    let id = played(&server, "mybot", "connect_four").await;
    let (page, picture) = (format!("GET /matches/{id}"), format!("GET /matches/{id}/picture.svg"));
    let script = ask(&server, "GET /", BROWSER).await;
    let script = script.split_once("src=\"").unwrap().1.split_once('"').unwrap().0.replace("&#x2f;", "/");
    let script = format!("GET {script}");
    for (request, headers) in
        [("GET /", BROWSER), (&*page, BROWSER), (&*picture, ""), ("GET /games", ""), (&*script, "")]
    {
        let reply = ask(&server, request, headers).await;
        let tag = header(&reply, "etag").unwrap_or_else(|| panic!("{request}: {reply}"));
        let again = ask(&server, request, &format!("{headers}If-None-Match: {tag}\r\n")).await;
        let (head, body) = again.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 304") && body.is_empty(), "{request}: {again}");
        assert_eq!(header(&again, "etag"), Some(tag), "{request}");
        let other = ask(&server, request, &format!("{headers}If-None-Match: \"other\"\r\n")).await;
        assert!(other.starts_with("HTTP/1.1 200"), "{request}");
    }
    let list = ask(&server, "GET /matches", BROWSER).await;
    played(&server, "another", "nim").await;
    let tag = header(&list, "etag").unwrap();
    let changed = ask(&server, "GET /matches", &format!("{BROWSER}If-None-Match: {tag}\r\n")).await;
    assert!(changed.starts_with("HTTP/1.1 200") && header(&changed, "etag") != Some(tag));
    server.stop().stopped().await;
}

#[tokio::test]
async fn large_texts_are_compressed_on_request() {
    let server = Server::start(|_| {}).await;
    let id = played(&server, "mybot", "connect_four").await;
    let (page, picture) = (format!("GET /matches/{id}"), format!("GET /matches/{id}/picture.svg"));
    for (request, headers) in [
        ("GET /", BROWSER),
        (&*page, BROWSER),
        (&*picture, ""),
        ("GET /games", ""),
        ("GET /static/app.js", ""),
        ("GET /static/app.css", ""),
    ] {
        let size = |reply: &str| header(reply, "content-length").unwrap().parse::<usize>().unwrap();
        let plain = ask(&server, request, headers).await;
        let gzip = ask(&server, request, &format!("{headers}Accept-Encoding: br, gzip\r\n")).await;
        assert!(header(&plain, "content-encoding").is_none(), "{request}");
        assert_eq!(header(&gzip, "content-encoding"), Some("gzip"), "{request}");
        assert_eq!(header(&plain, "etag"), header(&gzip, "etag"), "{request}");
        assert!(gzip.contains("vary: accept-encoding\r\n") && size(&gzip) < size(&plain), "{request}");
    }
    let small = ask(&server, "GET /ladders", "Accept-Encoding: gzip\r\n").await;
    assert!(header(&small, "content-encoding").is_none(), "{small}");
    server.stop().stopped().await;
}

#[tokio::test]
async fn match_page_is_computed_once_per_event() {
    let server = Server::start(|_| {}).await;
    let mut bots = [Bot::new(server.address, "ann").await, Bot::new(server.address, "bob").await];
    for (seat, bot) in bots.iter_mut().enumerate() {
        bot.join(json!({"game": "connect_four", "queue": "two", "seat": seat})).await;
    }
    bots[1].wait("match_start").await;
    let turn = bots[0].wait("turn").await;
    let id = turn["match"].as_str().unwrap().to_owned();
    let (page, picture) = (format!("/matches/{id}"), format!("/matches/{id}/picture.svg"));
    let read = async || {
        let pages = futures_util::future::join_all((0..24).map(|_| server.get_with(&page, BROWSER))).await;
        let pictures = futures_util::future::join_all((0..24).map(|_| server.get(&picture))).await;
        assert!(pages.iter().all(|(status, body)| *status == 200 && *body == pages[0].1));
        assert!(pictures.iter().all(|(status, _)| *status == 200));
        pages.into_iter().next().unwrap().1
    };
    let before = read().await;
    assert_eq!((computed(&server, "page").await, computed(&server, "picture").await), (1, 1));
    assert_eq!(bots[0].client.call("act", act(&turn, first(&turn))).await["type"], "accepted");
    let after = read().await;
    assert_ne!(before, after, "the page shows the new move");
    assert_eq!((computed(&server, "page").await, computed(&server, "picture").await), (2, 2));
    server.stop().stopped().await;
}
