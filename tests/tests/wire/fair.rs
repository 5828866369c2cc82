//! Fairness of matches: pairing of agents, assignment of seats and seeds, and clocks when the server is slow.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ludex_agents::{Agent, AgentEntry, AgentError, MoveReply, Roster};
use ludex_env::MoveRequest;
use ludex_protocol::record::RecordParts;
use ludex_referee::Verifier;
use ludex_referee::read::Source;
use ludex_server::auth::{NewToken, Scopes, add};
use ludex_tests::bot::first;
use ludex_tests::{Bot, Server};
use serde_json::{Value, json};

/// Returns the public record of a match; a released record must verify.
async fn episode(server: &Server, id: &str) -> Value {
    let (status, body) = server.get(&format!("/episodes/{id}")).await;
    assert_eq!(status, 200, "{body}");
    let page: Value = serde_json::from_str(&body).expect("JSON");
    if page["digest"].is_string() {
        let parts = RecordParts::parse(&body).expect("a record");
        Verifier::new(ludex_games::builtin())
            .verify(&parts, Source::default())
            .unwrap_or_else(|fault| panic!("{fault}: {body}"));
    }
    page
}

/// Plays until `count` matches are over and returns their records in order of their start.
async fn played(server: &Server, bot: &mut Bot, count: usize) -> Vec<Value> {
    let mut begun = Vec::new();
    while bot.over() < count {
        let message = bot.go_on().await.expect("a connection");
        if message["type"] == "match_start" {
            begun.push(message["match"].as_str().unwrap().to_owned());
        }
        bot.answer(&message, &mut first).await;
    }
    let mut all = Vec::new();
    for id in begun {
        all.push(episode(server, &id).await);
    }
    all
}

/// Returns the seat of `name` in each record.
fn seats(records: &[Value], name: &str) -> Vec<usize> {
    let seat = |r: &Value| r["seats"].as_array().unwrap().iter().position(|s| s["name"] == name);
    records.iter().filter_map(seat).collect()
}

fn field(records: &[Value], key: &str) -> Vec<Value> {
    records.iter().map(|r| r[key].clone()).collect()
}

/// Plays `count` queue matches between two bots and returns their records.
async fn meeting(server: &Server, count: usize, more: Value) -> Vec<Value> {
    let (mut a, mut b) = (Bot::new(server.address, "a").await, Bot::new(server.address, "b").await);
    for bot in [&mut a, &mut b] {
        let mut join = json!({"count": count});
        join.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        bot.join(join).await;
    }
    tokio::join!(played(server, &mut a, count), b.play(count, first)).0
}

#[tokio::test]
async fn queue_alternates_seats_when_opponents_meet_again() {
    let server = Server::start(|_| {}).await;
    for game in ["tic_tac_toe", "kuhn_poker"] {
        let seats = seats(&meeting(&server, 6, json!({"game": game})).await, "a");
        assert!(seats == [0, 1, 0, 1, 0, 1] || seats == [1, 0, 1, 0, 1, 0], "{game}: {seats:?}");
    }
    // With three seats, each bot has every seat once.
    let mut bots = Vec::new();
    for name in ["a", "b", "c"] {
        let mut bot = Bot::new(server.address, name).await;
        bot.join(json!({"game": "kuhn_poker(players=3)", "count": 3})).await;
        bots.push(bot);
    }
    let [a, b, c] = &mut bots[..] else { unreachable!() };
    let (all, ..) = tokio::join!(played(&server, a, 3), b.play(3, first), c.play(3, first));
    for name in ["a", "b", "c"] {
        assert_eq!(seats(&all, name).into_iter().collect::<BTreeSet<_>>().len(), 3, "{name}");
    }
    server.stop().stopped().await;
}

#[tokio::test]
async fn rated_queue_matches_come_in_pairs() {
    let server = Server::start(|_| {}).await;
    let all = meeting(&server, 5, json!({"game": "tic_tac_toe", "rated": true})).await;
    let (pairs, seeds, seats) = (field(&all, "pair"), field(&all, "seed"), seats(&all, "a"));
    for k in [0, 2] {
        assert!(pairs[k].is_string() && pairs[k] == pairs[k + 1] && seeds[k] == seeds[k + 1], "{pairs:?} {seeds:?}");
        assert_ne!(seats[k], seats[k + 1]);
    }
    assert!(pairs[0] != pairs[2] && seeds[0] != seeds[2], "{pairs:?}");
    // With an odd count, the last match has no partner.
    assert!(pairs[4].is_null() && seeds[4].is_string(), "{pairs:?}");
    // Unrated matches and matches with `pairs: false` have no partner, but seats still alternate.
    for more in [json!({"rated": true, "pairs": false}), json!({}), json!({"rated": true, "seat": null, "queue": "q"})]
    {
        let mut join = json!({"game": "tic_tac_toe"});
        join.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let all = meeting(&server, 2, join).await;
        let paired = more["queue"] == "q";
        assert_eq!(field(&all, "pair").iter().all(Value::is_string), paired, "{more}");
        assert_eq!(all[0]["seed"] == all[1]["seed"], paired, "{more}");
        // Two agents that agreed on a queue may have agreed on more, so their match is flagged.
        assert_eq!(all[0]["flags"], if paired { json!(["arranged"]) } else { json!([]) });
    }
    let (_, ratings) = server.get("/ratings").await;
    let ratings: Value = serde_json::from_str(&ratings).unwrap();
    assert_eq!(
        (&ratings["records"], &ratings["ratings"][0]["games"]),
        (&json!(9), &json!(7)),
        "arranged matches do not count"
    );
    server.stop().stopped().await;
}

#[tokio::test]
async fn rated_anchor_matches_come_in_pairs() {
    let server = Server::start(|_| {}).await;
    let mut bot = Bot::new(server.address, "mybot").await;
    let join = json!({"game": "tic_tac_toe", "against": ["random"], "rated": true, "count": 2});
    bot.join(join.clone()).await;
    // Nothing of the first match is released before the second match is over.
    let half = played(&server, &mut bot, 1).await;
    for key in ["seed", "salt", "digest", "pair"] {
        assert!(half[0][key].is_null(), "{key}: {}", half[0]);
    }
    let mut bot = Bot::new(server.address, "mybot").await;
    bot.join(join).await;
    let all = played(&server, &mut bot, 2).await;
    assert_eq!(
        (&all[0]["pair"], &all[0]["seed"], seats(&all, "mybot")),
        (&all[1]["pair"], &all[1]["seed"], vec![0, 1])
    );
    assert!(all[0]["pair"].is_string() && all[0]["mirror"].is_null(), "{all:?}");
    assert!(bot.matches.values().all(|seen| seen.end["seed"].is_null()), "only the record has the seed");

    // If a client leaves after the first match of an unrated pair, that match is released and nothing hangs.
    let mut bot = Bot::new(server.address, "leaver").await;
    let join = bot.join(json!({"game": "tic_tac_toe", "against": ["random"], "pairs": true, "count": 0})).await;
    bot.wait("turn").await;
    bot.call("leave", json!({"join": join})).await;
    let id = bot.matches.keys().next().unwrap().clone();
    bot.call("resign", json!({"match": id})).await;
    bot.play(1, first).await;
    assert!(episode(&server, &id).await["seed"].is_string());
    server.stop().stopped().await;
}

#[tokio::test]
async fn hidden_information_matches_use_unique_seeds_and_store_mirror_returns() {
    let server = Server::start(|_| {}).await;
    let mut bot = Bot::new(server.address, "mybot").await;
    bot.join(json!({"game": "kuhn_poker", "against": ["random"], "rated": true, "count": 6, "slots": 3})).await;
    let all = played(&server, &mut bot, 6).await;
    assert_eq!(field(&all, "seed").iter().map(ToString::to_string).collect::<BTreeSet<_>>().len(), 6);
    assert!(field(&all, "pair").iter().all(Value::is_null), "{all:?}");
    let mut seats = seats(&all, "mybot");
    seats.sort_unstable();
    assert_eq!(seats, [0, 0, 0, 1, 1, 1]);
    let game = ludex_games::load("kuhn_poker").unwrap();
    for record in &all {
        let seed = record["seed"].as_str().unwrap().parse().unwrap();
        let mirror = ludex_play::play(&game, ["random", "random"], seed).unwrap().record;
        assert_eq!(record["mirror"], serde_json::to_value(&mirror).unwrap()["returns"], "the mirror is replayable");
        let cards = |events: &Value| events.as_array().unwrap()[..2].to_vec();
        assert_eq!(
            cards(&record["events"]),
            cards(&serde_json::to_value(&mirror).unwrap()["events"]),
            "the cards are equal"
        );
    }
    let all = meeting(&server, 2, json!({"game": "kuhn_poker", "rated": true})).await;
    assert!(all[0]["seed"] != all[1]["seed"] && all[0]["mirror"].is_null() && all[0]["pair"].is_null(), "{all:?}");
    let (_, ratings) = server.get("/ratings?game=kuhn_poker").await;
    let ratings: Value = serde_json::from_str(&ratings).unwrap();
    let of = |name: &str| {
        let agents = ratings["ratings"][0]["agents"].as_array().unwrap();
        agents.iter().find(|a| a["name"] == name).unwrap()["metrics"].clone()
    };
    assert_eq!((&of("mybot")["mean_return"]["n"], &of("mybot")["mirrored_return"]["n"]), (&json!(6), &json!(6)));
    assert!(of("a")["mirrored_return"].is_null());
    server.stop().stopped().await;
}

/// Plays the first match of a pair and leaves the second match unfinished.
async fn half(bot: &mut Bot) {
    while bot.over() == 0 {
        let message = bot.go_on().await.expect("a connection");
        bot.answer(&message, &mut first).await;
    }
}

#[tokio::test]
async fn client_that_leaves_a_pair_loses_the_second_match() {
    let server = Server::start(|config| config.limits.grace_ms = 300).await;
    let (mut a, mut b) = (Bot::new(server.address, "a").await, Bot::new(server.address, "b").await);
    for bot in [&mut a, &mut b] {
        bot.join(json!({"game": "tic_tac_toe", "rated": true, "count": 2})).await;
    }
    let mut c = Bot::new(server.address, "c").await;
    c.join(json!({"game": "tic_tac_toe", "rated": true, "count": 2, "against": ["random"]})).await;
    tokio::join!(half(&mut a), half(&mut b), half(&mut c));
    // `a` and `c` are done with their first match, and close their connections.
    drop(a);
    drop(c);
    b.play(2, first).await;
    let mut ratings = Value::Null;
    for _ in 0..200 {
        ratings = serde_json::from_str(&server.get("/ratings").await.1).unwrap();
        if ratings["records"] == 4 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!((&ratings["records"], &ratings["ratings"][0]["games"]), (&json!(4), &json!(4)), "{ratings}");
    let mut all = Vec::new();
    for id in b.matches.keys() {
        all.push(episode(&server, id).await);
    }
    assert!(all[0]["pair"].is_string() && all[0]["pair"] == all[1]["pair"], "{all:?}");
    let lost: Vec<&Value> = all.iter().filter(|record| record["at_fault"].is_u64()).collect();
    assert_eq!(lost.len(), 1, "{all:?}");
    let loser = &lost[0]["seats"][lost[0]["at_fault"].as_u64().unwrap() as usize]["name"];
    assert_eq!(loser, "a", "{lost:?}");
    server.stop().stopped().await;
}

#[tokio::test]
async fn leave_takes_effect_after_the_pair() {
    let server = Server::start(|_| {}).await;
    let (mut a, mut b) = (Bot::new(server.address, "a").await, Bot::new(server.address, "b").await);
    let join = a.join(json!({"game": "tic_tac_toe", "rated": true, "count": 0})).await;
    b.join(json!({"game": "tic_tac_toe", "rated": true, "count": 2})).await;
    let turn = b.go_on().await.expect("a connection");
    assert_eq!(a.call("leave", json!({"join": join})).await["type"], "ok");
    b.answer(&turn, &mut first).await;
    let (ours, _) = tokio::join!(played(&server, &mut a, 2), b.play(2, first));
    assert_eq!(field(&ours, "reason"), ["finished", "finished"], "{ours:?}");
    assert_eq!(seats(&ours, "a").into_iter().collect::<BTreeSet<_>>().len(), 2, "both seats");
    server.stop().stopped().await;
}

#[tokio::test]
async fn seat_cannot_be_chosen_in_rated_matches() {
    let server = Server::start(|_| {}).await;
    let mut bot = Bot::new(server.address, "a").await;
    let refused = bot.call("join", json!({"game": "tic_tac_toe", "rated": true, "seat": 0})).await;
    assert_eq!((&refused["code"], &refused["path"]), (&json!("bad_field"), &json!("seat")), "{refused}");
    for (more, flags) in [(json!({"seat": 1}), json!(["arranged"])), (json!({}), json!([]))] {
        let mut join = json!({"game": "tic_tac_toe", "rated": true, "against": ["random"], "count": 1});
        join.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        bot.join(join).await;
        let over = bot.over() + 1;
        let all = played(&server, &mut bot, over).await;
        assert_eq!(all[0]["flags"], flags);
    }
    server.stop().stopped().await;
}

#[tokio::test]
async fn declined_deals_are_rated_losses() {
    let server = Server::start(|_| {}).await;
    let (mut ana, mut bob) = (Bot::new(server.address, "ana").await, Bot::new(server.address, "bob").await);
    for bot in [&mut ana, &mut bob] {
        bot.join(json!({"game": "kuhn_poker", "rated": true, "count": 12, "clock": {"move_ms": 150}})).await;
    }
    // Ana does not act with the lowest card.
    let declining = async {
        let mut declined = 0;
        while ana.over() < 12 {
            let message = ana.go_on().await.expect("a connection");
            if message["type"] == "turn" && message["turn"] == 0 && message["view"]["struct"]["card"] == 0 {
                declined += 1;
            } else {
                ana.answer(&message, &mut first).await;
            }
        }
        declined
    };
    let (declined, ()) = tokio::join!(declining, bob.play(12, first));
    assert!(declined > 0, "no low card in 12 deals");
    let ratings: Value = serde_json::from_str(&server.get("/ratings").await.1).unwrap();
    assert_eq!(ratings["ratings"][0]["games"], 12, "{ratings}");
    let lost = bob.matches.values().filter(|seen| seen.end["reason"] == "timeout" && seen.end["rated"] == true);
    assert_eq!(lost.count(), declined);
    server.stop().stopped().await;
}

#[tokio::test]
async fn unfinished_pair_survives_restart() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_in(folder.path(), |_| {}).await;
    let address = server.address;
    let (mut a, mut b) = (Bot::new(address, "a").await, Bot::new(address, "b").await);
    for bot in [&mut a, &mut b] {
        bot.join(json!({"game": "tic_tac_toe", "rated": true, "count": 2})).await;
    }
    let mut c = Bot::new(address, "c").await;
    c.join(json!({"game": "tic_tac_toe", "rated": true, "count": 2, "against": ["random"]})).await;
    tokio::join!(half(&mut a), half(&mut b), half(&mut c));
    server.stop().stopped().await;
    let server = Server::start_at(folder.path(), address, |_| {}).await;
    tokio::join!(a.play(2, first), b.play(2, first), c.play(2, first));
    for (bot, name) in [(&a, "a"), (&c, "c")] {
        let mut all = Vec::new();
        for id in bot.matches.keys() {
            all.push(episode(&server, id).await);
        }
        let (pairs, seeds) = (field(&all, "pair"), field(&all, "seed"));
        assert!(pairs[0].is_string() && pairs[0] == pairs[1] && seeds[0] == seeds[1], "{pairs:?} {seeds:?}");
        let mut own = seats(&all, name);
        own.sort_unstable();
        assert_eq!(own, [0, 1]);
    }
    server.stop().stopped().await;
}

#[tokio::test]
async fn sessions_of_one_owner_never_meet_in_rated_matches() {
    let server = Server::start(|_| {}).await;
    // Joins of the same guest never meet; joins of two guests do.
    let mut guest = Bot::new(server.address, "guest").await;
    for _ in 0..2 {
        guest.join(json!({"game": "tic_tac_toe", "rated": true})).await;
    }
    assert_eq!(guest.call("ping", json!({})).await["type"], "pong");
    assert_eq!(server.hub.live_matches(), 0);
    let mut other = Bot::new(server.address, "guest").await;
    other.join(json!({"game": "tic_tac_toe", "rated": true})).await;
    other.wait("match_start").await;
    guest.wait("match_start").await;

    let wanted =
        |owner: &str| NewToken { owner: owner.into(), scopes: Scopes::OPEN, names: vec!["*".into()], expires_ms: None };
    let tokens = add(&server.hub.store, &["ann", "ann", "bob"].map(wanted), 0).await.unwrap();
    let mut bots = Vec::new();
    for (k, token) in tokens.iter().enumerate() {
        let hello = json!({"token": token, "agent": {"name": format!("n{k}")}});
        bots.push(Bot::with(server.address, None, hello).await);
    }
    let [one, two, bob] = &mut bots[..] else { unreachable!() };
    one.join(json!({"game": "connect_four", "rated": true})).await;
    two.join(json!({"game": "connect_four", "rated": true})).await;
    assert_eq!(two.next().await["type"], "queued");
    bob.join(json!({"game": "connect_four", "rated": true})).await;
    let start = bob.wait("match_start").await;
    let other = 1 - start["seat"].as_u64().unwrap() as usize;
    assert_eq!(start["seats"][other]["name"], "n0", "the first to arrive");
    // In unrated matches, sessions of one owner may meet.
    one.join(json!({"game": "tic_tac_toe", "seat": 0})).await;
    two.join(json!({"game": "tic_tac_toe", "seat": 1})).await;
    two.wait("match_start").await;
    server.stop().stopped().await;
}

/// True after the blocking agent has blocked its thread.
static HELD: AtomicBool = AtomicBool::new(false);
/// Time for which the thread is blocked, longer than the clock of the test's match.
const HOLD: Duration = Duration::from_secs(5);

/// Agent that blocks its thread when its match starts.
struct Blocker;

impl Agent for Blocker {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        Ok(MoveReply::id(ask.legal[0]))
    }

    fn enter(&self) {
        HELD.store(true, Ordering::Release);
        std::thread::sleep(HOLD);
    }
}

#[tokio::test]
async fn server_delay_costs_no_clock_time() {
    let blocker = AgentEntry::new("blocker", "holds its thread", |_, _| Ok(Arc::new(Blocker)));
    let server = Server::start(|c| c.opponents.agents = Roster::builtin().with(blocker)).await;
    let (mut x, mut o) = (Bot::new(server.address, "x").await, Bot::new(server.address, "o").await);
    for (seat, bot) in [&mut x, &mut o].into_iter().enumerate() {
        bot.join(json!({"game": "tic_tac_toe", "queue": "q", "seat": seat, "rated": true, "clock": {"move_ms": 4000}}))
            .await;
    }
    let turn = x.wait("turn").await;
    let mut hog = Bot::new(server.address, "hog").await;
    hog.ask("join", json!({"game": "tic_tac_toe", "against": ["blocker"]})).await;
    while !HELD.load(Ordering::Acquire) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // The act reaches the socket in time but is not read in time.
    let accepted = x.act(&turn, json!({"action": 4})).await;
    assert_eq!(accepted["type"], "accepted", "{accepted}");
    let id = turn["match"].as_str().unwrap().to_owned();
    assert_eq!(x.call("resign", json!({"match": id})).await["type"], "ok");
    x.wait("match_end").await;
    let record = episode(&server, &id).await;
    assert!(record["stall_ms"].as_u64().unwrap() >= HOLD.as_millis() as u64 / 2, "{record}");
    assert!(record["events"][0]["ms"].as_u64().unwrap() < 4_000, "{record}");
    assert!(record["ended"].as_str() >= record["started"].as_str(), "{record}");
    server.stop().stopped().await;
}

/// Agent whose host panics.
struct Bomb;

impl Agent for Bomb {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        Ok(MoveReply::id(ask.legal[0]))
    }

    fn needs_history(&self) -> bool {
        panic!("the bomb explodes")
    }
}

#[tokio::test]
async fn panic_ends_one_match() {
    let bomb = AgentEntry::new("bomb", "makes its match panic", |_, _| Ok(Arc::new(Bomb)));
    let server = Server::start(|c| c.opponents.agents = Roster::builtin().with(bomb)).await;
    for rated in [false, true] {
        let (mut x, mut victim) = (Bot::new(server.address, "x").await, Bot::new(server.address, "victim").await);
        x.join(json!({"game": "connect_four", "against": ["random"], "rated": rated})).await;
        x.wait("turn").await;
        victim.join(json!({"game": "tic_tac_toe", "against": ["bomb"], "seat": 0, "rated": rated})).await;
        let turn = victim.wait("turn").await;
        victim.ask("act", ludex_tests::bot::act(&turn, first(&turn))).await;
        let end = victim.wait("match_end").await;
        assert_eq!((&end["reason"], &end["rated"]), (&json!("infra_error"), &json!(false)), "{end}");
        // The session and the other match on the same thread continue.
        victim.join(json!({"game": "tic_tac_toe", "against": ["random"], "rated": rated})).await;
        victim.play(2, first).await;
        let turn = x.matches.values().next().unwrap().turn.clone();
        x.answer(&turn, &mut first).await;
        x.play(1, first).await;
    }
    assert_eq!(server.hub.live_matches(), 0);
    server.stop().stopped().await;
}
