//! Tests of tokens: admission, agent names, expiry.

use ludex_server::auth::{self, AuthError, Grant, NewToken, Scopes, TokenHash};
use ludex_store::Store;

const LOOPBACK: bool = true;
const OPEN_NET: bool = false;

fn new_token(owner: &str, scopes: Scopes, names: &[&str], expires_ms: Option<i64>) -> NewToken {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    NewToken { owner: owner.to_owned(), scopes, names, expires_ms }
}

#[tokio::test]
async fn guests_are_admitted_on_loopback_until_the_first_token() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    let guest = auth::admit(&store, None, LOOPBACK, 0).await.unwrap();
    assert_eq!(guest, Grant::guest());
    assert!(guest.may(Scopes::GYM | Scopes::PLAY | Scopes::SPECTATE) && !guest.may(Scopes::ADMIN));
    guest.check_name("anybody").unwrap();
    assert!(matches!(auth::admit(&store, None, OPEN_NET, 0).await, Err(AuthError::Required)));
    assert!(matches!(auth::admit(&store, Some("made up"), LOOPBACK, 0).await, Err(AuthError::Unknown)));

    auth::add(&store, &[new_token("ann", Scopes::PLAY, &["ann"], None)], 1).await.unwrap();
    assert!(matches!(auth::admit(&store, None, LOOPBACK, 2).await, Err(AuthError::Required)));
    auth::revoke(&store, "ann", 3).await.unwrap();
    assert!(matches!(auth::admit(&store, None, LOOPBACK, 4).await, Err(AuthError::Required)), "closed for good");
}

#[tokio::test]
async fn token_grants_its_scopes_until_it_expires() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    let list = [
        new_token("ann", Scopes::PLAY, &["ann", "ann-*"], Some(100)),
        new_token("bob", Scopes::OPEN | Scopes::ADMIN, &["*"], None),
        new_token("bob", Scopes::GYM, &["b*"], None),
    ];
    let shown = auth::add(&store, &list, 10).await.unwrap();
    assert_eq!(shown.len(), 3);
    // 3 characters of prefix and 32 bytes in base64url without padding.
    assert!(shown.iter().all(|token| token.len() == 46 && token.starts_with("lx_")));
    assert!(shown[0] != shown[1] && shown[1] != shown[2]);

    let ann = auth::admit(&store, Some(&shown[0]), OPEN_NET, 99).await.unwrap();
    assert_eq!((ann.owner.as_deref(), ann.token), (Some("ann"), Some(TokenHash::of(&shown[0]))));
    assert!(ann.may(Scopes::PLAY) && !ann.may(Scopes::GYM) && !ann.may(Scopes::PLAY | Scopes::GYM));
    assert_eq!(ann.default_name(), Some("ann"));
    for good in ["ann", "ann-", "ann-2"] {
        ann.check_name(good).unwrap();
    }
    for other in ["bob", "ann2", "Ann", "an"] {
        assert!(matches!(ann.check_name(other), Err(AuthError::Name { .. })), "{other}");
    }
    let long = "a".repeat(41);
    let bob = auth::admit(&store, Some(&shown[1]), OPEN_NET, 99).await.unwrap();
    for bad in ["", "a b", "é", "ann*", long.as_str()] {
        assert!(matches!(bob.check_name(bad), Err(AuthError::BadName { .. })), "{bad}");
    }
    assert_eq!(bob.default_name(), None);
    assert!(matches!(auth::admit(&store, Some(&shown[0]), OPEN_NET, 100).await, Err(AuthError::Expired)));

    // Revocation by token, by the first digits of its hash, and by owner; then nothing is left to revoke.
    assert!(matches!(auth::revoke(&store, "stranger", 1).await, Err(AuthError::Unknown)));
    assert!(matches!(auth::revoke(&store, "", 1).await, Err(AuthError::Unknown)));
    let id = TokenHash::of(&shown[2]).id();
    assert_eq!(auth::revoke(&store, &id, 20).await.unwrap().len(), 1);
    assert!(matches!(auth::admit(&store, Some(&shown[2]), OPEN_NET, 21).await, Err(AuthError::Revoked)));
    auth::admit(&store, Some(&shown[1]), OPEN_NET, 21).await.unwrap();
    assert_eq!(auth::revoke(&store, "bob", 30).await.unwrap().len(), 1);
    assert!(matches!(auth::admit(&store, Some(&shown[1]), OPEN_NET, 31).await, Err(AuthError::Revoked)));
    assert_eq!(auth::revoke(&store, &shown[0], 40).await.unwrap().len(), 1);
    assert_eq!(auth::revoke(&store, &shown[0], 50).await.unwrap().len(), 0);
    let revoked: Vec<_> = store.tokens().await.unwrap().into_iter().map(|row| row.revoked_ms).collect();
    assert!(revoked.contains(&Some(20)) && revoked.contains(&Some(30)) && revoked.contains(&Some(40)));
}

#[tokio::test]
async fn tokens_are_created_atomically_and_stored_as_hashes() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    let mixed = [new_token("ann", Scopes::PLAY, &["ann"], None), new_token("bob", Scopes::PLAY, &["b*b"], None)];
    assert!(matches!(auth::add(&store, &mixed, 0).await, Err(AuthError::BadName { got }) if got == "b*b"));
    assert_eq!(store.tokens().await.unwrap().len(), 0, "all or none");
    let shown = auth::add(&store, &mixed[..1], 0).await.unwrap();
    let path = store.location().path().unwrap().to_owned();
    store.close().await.unwrap();
    let file = std::fs::read(path).unwrap();
    assert!(!file.windows(shown[0].len()).any(|part| part == shown[0].as_bytes()));
    let hash = TokenHash::of(&shown[0]);
    assert!(file.windows(32).any(|part| part == hash.0));
    assert_eq!(hash.to_string().parse::<TokenHash>().unwrap(), hash);
    assert!(matches!("abc".parse::<TokenHash>(), Err(auth::BadHash)));
}

#[test]
fn scopes_round_trip_as_text() {
    assert_eq!("gym, play".parse::<Scopes>().unwrap(), Scopes::GYM | Scopes::PLAY);
    assert_eq!("".parse::<Scopes>().unwrap(), Scopes::NONE);
    assert_eq!((Scopes::OPEN | Scopes::ADMIN).to_string(), "gym,play,spectate,admin");
    assert!(matches!("gym,root".parse::<Scopes>(), Err(auth::BadScope { got }) if got == "root"));
}

#[test]
fn expiry_parses_times_and_days() {
    assert_eq!(auth::parse_expiry("2d", 1_000).unwrap(), 172_801_000);
    assert_eq!(auth::parse_expiry("1970-01-02T00:00:00Z", 0).unwrap(), 86_400_000);
    for bad in ["0d", "1969-01-01T00:00:00Z", "soon", "-1d", ""] {
        assert!(auth::parse_expiry(bad, 0).is_err(), "{bad:?}");
    }
}

#[test]
fn token_list_is_parsed_from_csv() {
    let text = "owner,scopes,names,expires\n\
                ann,gym play,ann bot-*,2027-01-31T00:00:00Z\n\
                \"Doe, Jane\",,jane,\n\
                bob,,,30d\n";
    let tokens = auth::parse_csv(text, 1_000).unwrap();
    let expected = [
        new_token("ann", Scopes::GYM | Scopes::PLAY, &["ann", "bot-*"], Some(1_801_353_600_000)),
        new_token("Doe, Jane", Scopes::OPEN, &["jane"], None),
        new_token("bob", Scopes::OPEN, &["bob", "bob.*"], Some(2_592_001_000)),
    ];
    assert_eq!(tokens, expected);
    assert_eq!(auth::parse_csv("owner\n", 0).unwrap(), []);
    for (text, line, part) in [
        ("owner,colour\nann,red\n", 1, "colour"),
        ("owner,scopes\nann,gym\nbob,root\n", 3, "root"),
        ("owner,names\n,ann\n", 2, "expected an owner"),
        ("owner,expires\nann,tomorrow\n", 2, "tomorrow"),
        ("owner\nJane Doe\n", 2, "Jane Doe"),
    ] {
        match auth::parse_csv(text, 0) {
            Err(AuthError::BadLine { line: found, message }) => {
                assert_eq!(found, line, "{text}");
                assert!(message.contains(part), "{message}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
}
