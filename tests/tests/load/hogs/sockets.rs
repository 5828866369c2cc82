//! Hand-written WebSocket traffic: frames and handshakes that RFC 6455 forbids, and slow or half-closed clients.

use std::time::Duration;

use ludex_tests::client::ClientEnd;
use ludex_tests::{Client, Server};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;

pub const FIN: u8 = 0x80;
pub const CONTINUED: u8 = 0;
pub const TEXT: u8 = 1;
pub const BINARY: u8 = 2;
pub const CLOSE: u8 = 8;
pub const PING: u8 = 9;
const PONG: u8 = 10;

/// Returns a masked frame; the first byte has the FIN flag, the reserved bits and the opcode.
pub fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = announced(first, payload.len() as u64, true);
    let mask = [0x5a, 0x11, 0xc3, 0x07];
    out.extend(mask);
    out.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    out
}

/// Returns the header of a frame, without its mask.
fn announced(first: u8, length: u64, masked: bool) -> Vec<u8> {
    let mut out = vec![first];
    let mask = u8::from(masked) << 7;
    match length {
        0..126 => out.push(mask | length as u8),
        126..0x1_0000 => {
            out.push(mask | 126);
            out.extend((length as u16).to_be_bytes());
        }
        _ => {
            out.push(mask | 127);
            out.extend(length.to_be_bytes());
        }
    }
    out
}

/// Attack that ends a connection: name, bytes, allowed close codes.
pub type Strike = (&'static str, Vec<u8>, &'static [u16]);

/// Returns all attacks on a MessagePack connection (`packed`) or a JSON connection.
pub fn strikes(packed: bool) -> Vec<Strike> {
    const WRONG: &[u16] = &[1002];
    let own = if packed { BINARY } else { TEXT };
    let with = |frames: &[(u8, &[u8])]| frames.iter().flat_map(|(first, payload)| frame(*first, payload)).collect();
    let mut strikes: Vec<Strike> = vec![
        ("a frame without a mask", [&announced(FIN | own, 2, false)[..], b"{}"].concat(), WRONG),
        ("a close without a mask", announced(FIN | CLOSE, 0, false), WRONG),
        ("a ping in pieces", with(&[(PING, b"a")]), WRONG),
        ("a close in pieces", with(&[(CLOSE, &[3, 232])]), WRONG),
        ("a ping that is too long", frame(FIN | PING, &[0; 126]), WRONG),
        ("a pong that is too long", frame(FIN | PONG, &[0; 200]), WRONG),
        ("a close that is too long", frame(FIN | CLOSE, &[3, 232].repeat(63)), WRONG),
        ("a continuation of nothing", with(&[(FIN | CONTINUED, b"{}")]), WRONG),
        ("a piece of nothing", with(&[(CONTINUED, b"{}")]), WRONG),
        ("a message within a message", with(&[(own, b"{"), (FIN | own, b"}")]), WRONG),
        ("a close of one byte", with(&[(FIN | CLOSE, &[3])]), WRONG),
    ];
    // Headers that announce a length, without the payload.
    for (length, codes) in
        [(17 << 20, &[1009][..]), (1 << 32, &[1009]), (1 << 63, &[1002, 1009]), (u64::MAX, &[1002, 1009])]
    {
        strikes.push(("a length beyond the limit", [announced(FIN | own, length, true), vec![0; 4]].concat(), codes));
    }
    for bits in 1..8u8 {
        strikes.push(("a reserved bit", frame(FIN | bits << 4 | own, b"{}"), WRONG));
    }
    for kind in (3..8u8).chain(11..16) {
        strikes.push(("a kind that does not exist", frame(FIN | kind, b"{}"), WRONG));
    }
    for code in [0u16, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, u16::MAX] {
        strikes.push(("a reserved code", frame(FIN | CLOSE, &code.to_be_bytes()), WRONG));
    }
    strikes.push(("a reason that is not UTF-8", frame(FIN | CLOSE, b"\x03\xe8\xff\xfe"), &[1002, 1007]));
    for text in [&b"\xff"[..], b"{\"a\":\"\xc0\xaf\"}", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xce"] {
        strikes.push((
            "a text that is not UTF-8",
            frame(FIN | TEXT, text),
            if packed { &[1003, 1007] } else { &[1007] },
        ));
        let pieces = [frame(TEXT, &text[..text.len() / 2]), frame(FIN | CONTINUED, &text[text.len() / 2..])].concat();
        strikes.push(("the same in pieces", pieces, if packed { &[1003, 1007] } else { &[1007] }));
    }
    let other = if packed { TEXT } else { BINARY };
    strikes.push(("a frame of the other encoding", frame(FIN | other, b"{}"), &[1003]));
    strikes
}

/// Returns the subprotocol of an encoding.
pub fn subprotocol(packed: bool) -> Option<&'static str> {
    Some(if packed { "ludex.v1.msgpack" } else { "ludex.v1.json" })
}

/// Reads until the server ends the connection, and returns the kind of end.
pub async fn end(client: &mut Client) -> ClientEnd {
    loop {
        match client.next_frame().await {
            Ok(Message::Close(Some(with))) => return ClientEnd::Closed(with.code.into(), with.reason.to_string()),
            Ok(_) => {}
            Err(_) => return ClientEnd::Lost,
        }
    }
}

#[tokio::test]
async fn forbidden_frames_close_the_connection() {
    let server = Server::start(|config| config.limits.grace_ms = 100).await;
    let mut good = Client::hello(server.address).await;
    for packed in [false, true] {
        for (name, bytes, codes) in strikes(packed) {
            for welcome in [false, true] {
                let mut c = match welcome {
                    true => Client::greet(server.address, subprotocol(packed), json!({})).await,
                    false => Client::open(server.address, subprotocol(packed), &[]).await.expect("an upgrade"),
                };
                c.socket().write_all(&bytes).await.expect("a connection");
                let ended = end(&mut c).await;
                let fits = matches!(&ended, ClientEnd::Closed(code, _) if codes.contains(code));
                assert!(fits, "{name} ({bytes:x?}), packed {packed}, welcome {welcome}: {ended:?}");
            }
        }
        assert_eq!(good.call("ping", json!({})).await["type"], "pong");
    }
    server.stop().stopped().await;
}

#[tokio::test]
async fn unusual_but_valid_frames_are_accepted() {
    let server = Server::start(|_| {}).await;
    let mut c = Client::hello(server.address).await;
    let mut ping = |id: i64| {
        c.go_on_from(id);
        json!({"type": "ping", "id": id}).to_string().into_bytes()
    };
    let mut bytes = Vec::new();
    // Sends a message in one-byte fragments, with an empty fragment and a ping after each.
    let whole = ping(1);
    for (at, byte) in whole.iter().enumerate() {
        bytes.extend(frame(if at == 0 { TEXT } else { CONTINUED }, &[*byte]));
        bytes.extend(frame(CONTINUED, &[]));
        bytes.extend(frame(FIN | PING, &[*byte; 125]));
    }
    bytes.extend(frame(FIN | CONTINUED, &[]));
    // Sends unsolicited pongs and a flood of pings.
    bytes.extend(frame(FIN | PONG, b"?").repeat(100));
    bytes.extend(frame(FIN | PING, &[7; 125]).repeat(2_000));
    // Sends a zero mask, and a length in eight bytes where one byte is enough.
    let whole = ping(2);
    bytes.extend([&[FIN | TEXT, 0xff][..], &(whole.len() as u64).to_be_bytes(), &[0; 4], &whole].concat());
    c.socket().write_all(&bytes).await.expect("a connection");
    for id in [1, 2] {
        assert_eq!(c.reply(id).await["type"], "pong");
    }

    // One client closes one half of its socket; another one neither replies nor reads.
    let mut half = Client::hello(server.address).await;
    half.ask("ping", json!({})).await;
    half.socket().shutdown().await.expect("a connection");
    assert!(matches!(end(&mut half).await, ClientEnd::Lost | ClientEnd::Closed(..)));
    let mut deaf = Client::hello(server.address).await;
    let flood = frame(FIN | PING, &[7; 125]).repeat(20_000);
    let _ = tokio::time::timeout(Duration::from_millis(500), deaf.socket().write_all(&flood)).await;
    assert_eq!(c.call("ping", json!({})).await["type"], "pong");
    drop(deaf);
    server.stop().stopped().await;
}

/// Sends these bytes and returns the HTTP status of the response; `None` if the connection ends without a response.
async fn status(server: &Server, bytes: &[u8]) -> Option<u16> {
    let mut stream = TcpStream::connect(server.address).await.expect("a connection");
    // The server may respond and close before all bytes are sent.
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let mut piece = [0; 1_024];
    while !answer.windows(4).any(|four| four == b"\r\n\r\n") {
        match tokio::time::timeout(Duration::from_secs(15), stream.read(&mut piece)).await.expect("an end") {
            Ok(n) if n > 0 => answer.extend(&piece[..n]),
            _ => break,
        }
    }
    String::from_utf8_lossy(&answer).split(' ').nth(1)?.parse().ok()
}

#[tokio::test]
async fn invalid_handshakes_are_refused() {
    let server = Server::start(|config| config.limits.hello_ms = 300).await;
    let host = format!("Host: {}\r\n", server.address);
    let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let rest = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n";
    let with = |line: &str, headers: &[&str]| format!("{line}\r\n{}\r\n", headers.concat()).into_bytes();
    let get = "GET /ws HTTP/1.1";
    let long = format!("X-Long: {}\r\n", "x".repeat(20_000));
    let many = "X: y\r\n".repeat(200);
    let cases: Vec<(&str, Vec<u8>, &[u16])> = vec![
        ("as it should be", with(get, &[&host, key, rest]), &[101]),
        ("no key", with(get, &[&host, rest]), &[400]),
        ("a short key", with(get, &[&host, "Sec-WebSocket-Key: c2hvcnQ=\r\n", rest]), &[400]),
        (
            "a key that is not base64",
            with(get, &[&host, "Sec-WebSocket-Key: ??????????????????????==\r\n", rest]),
            &[400],
        ),
        ("two keys", with(get, &[&host, key, key, rest]), &[400]),
        ("no host", with(get, &[key, rest]), &[400]),
        ("a foreign host", with(get, &["Host: evil.example\r\n", key, rest]), &[421]),
        ("a foreign page", with(get, &[&host, key, rest, "Origin: https://evil.example\r\n"]), &[403]),
        ("two pages", with(get, &[&host, key, rest, "Origin: http://localhost\r\n", "Origin: null\r\n"]), &[403]),
        ("HTTP/1.0", with("GET /ws HTTP/1.0", &[&host, key, rest]), &[400]),
        ("POST", with("POST /ws HTTP/1.1", &[&host, key, rest]), &[400]),
        ("a body", with(get, &[&host, key, rest, "Content-Length: 5\r\n"]), &[400]),
        ("a body of unknown length", with(get, &[&host, key, rest, "Transfer-Encoding: chunked\r\n"]), &[400]),
        (
            "version 12",
            with(get, &[&host, key, "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 12\r\n"]),
            &[426],
        ),
        ("no Connection", with(get, &[&host, key, "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"]), &[400]),
        ("another place", with("GET /elsewhere HTTP/1.1", &[&host, key, rest]), &[404]),
        ("a header that is too long", with(get, &[&host, key, rest, &long]), &[431]),
        ("too many headers", with(get, &[&host, key, rest, &many]), &[431]),
        ("a header without a colon", with(get, &[&host, key, rest, "no colon\r\n"]), &[400]),
        ("a header with bytes of its own", with(get, &[&host, key, rest, "X: \0\r\n"]), &[400]),
        ("no HTTP", b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03\r\n\r\n".to_vec(), &[400]),
        ("frames at once", frame(FIN | TEXT, b"{}").repeat(9), &[400]),
    ];
    for (name, bytes, statuses) in cases {
        let status = status(&server, &bytes).await;
        // Without a valid HTTP request, there may be no response.
        let fits = status.map_or(statuses == [400], |status| statuses.contains(&status));
        assert!(fits, "{name}: {status:?}");
    }

    // The server does not wait for a header that never ends, in any fragments, or for a `hello` that never arrives.
    let mut slow = TcpStream::connect(server.address).await.expect("a connection");
    while slow.write_all(b"G").await.is_ok() && slow.try_read(&mut [0; 9]).is_err() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let mut silent = Client::mute(server.address).await;
    let sends = async {
        while silent.socket().write_all(&frame(FIN | PING, b"still here")).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(15), sends).await.expect("an end");
    assert!(server.is_well().await);
    server.stop().stopped().await;
}
