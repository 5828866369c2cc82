//! Address of the client behind trusted proxies.

use std::net::IpAddr;

use axum::http::HeaderMap;
use ipnet::IpNet;

const FORWARDED_FOR: &str = "x-forwarded-for";

/// Returns the client's address: that of the socket or, behind trusted proxies, the rightmost untrusted address of
/// `X-Forwarded-For`. Each proxy appends the address of its own client, so all addresses further left are mere claims.
pub(super) fn client_address(socket: IpAddr, headers: &HeaderMap, proxies: &[IpNet]) -> IpAddr {
    let trusted = |ip: &IpAddr| proxies.iter().any(|proxy| proxy.contains(ip));
    if !trusted(&socket) {
        return socket;
    }
    let lines: Vec<&str> = headers.get_all(FORWARDED_FOR).into_iter().filter_map(|line| line.to_str().ok()).collect();
    let mut client = socket;
    for word in lines.into_iter().rev().flat_map(|line| line.rsplit(',')) {
        // If an address cannot be parsed, the last parsed address is used.
        let Some(ip) = parsed(word.trim()) else { break };
        client = ip;
        if !trusted(&ip) {
            break;
        }
    }
    client
}

/// Parses an address, with or without a port.
fn parsed(word: &str) -> Option<IpAddr> {
    let ip = word.parse().ok().or_else(|| Some(word.parse::<std::net::SocketAddr>().ok()?.ip()));
    ip.map(|ip: IpAddr| ip.to_canonical())
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn of(socket: &str, lines: &[&'static str]) -> String {
        let header = |line: &&'static str| (HeaderName::from_static(FORWARDED_FOR), HeaderValue::from_static(line));
        let proxies = ["127.0.0.0/8", "10.1.0.0/16", "fd00::/8"].map(|network| network.parse().unwrap());
        client_address(socket.parse().unwrap(), &lines.iter().map(header).collect(), &proxies).to_string()
    }

    #[test]
    fn rightmost_untrusted_address_is_the_client() {
        assert_eq!(of("127.0.0.1", &["203.0.113.7"]), "203.0.113.7");
        assert_eq!(of("127.0.0.1", &["1.1.1.1, 203.0.113.7, 10.1.2.3"]), "203.0.113.7");
        assert_eq!(of("fd00::1", &["1.1.1.1", "[2001:db8::5]:4711"]), "2001:db8::5");
        assert_eq!(of("127.0.0.1", &["::ffff:203.0.113.7"]), "203.0.113.7");
    }

    #[test]
    fn forwarded_address_is_ignored_unless_socket_is_trusted() {
        assert_eq!(of("203.0.113.9", &["198.51.100.1"]), "203.0.113.9");
        assert_eq!(of("10.2.0.1", &["127.0.0.1"]), "10.2.0.1");
    }

    #[test]
    fn unreadable_or_missing_header_yields_last_known_address() {
        assert_eq!(of("127.0.0.1", &[]), "127.0.0.1");
        assert_eq!(of("127.0.0.1", &["unknown"]), "127.0.0.1");
        assert_eq!(of("127.0.0.1", &["203.0.113.7, x, 10.1.0.9"]), "10.1.0.9");
    }
}
