//! Comparison of the engines: equal writes have equal outcomes, and all reads are equal afterwards.

use std::collections::HashSet;
use std::fmt::Debug;

use ludex_store::{
    ActRow, JoinRow, MatchFilter, MatchRow, OldRows, RunRow, SeasonRow, SeatRow, SessionRow, StandingRow, Store,
    StoreError, TokenHash, TokenRow, Write,
};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};

use super::rows::{result, row};

const AGENTS: [&str; 4] = ["ann", "bob", "Élan", "eve"];
const GAMES: [&str; 3] = ["chess", "nim", "pig"];

fn text(rng: &mut SmallRng, name: &str) -> String {
    format!("{name}_{}", rng.random_range(0..6))
}

fn maybe<T>(rng: &mut SmallRng, value: T) -> Option<T> {
    rng.random_bool(0.5).then_some(value)
}

/// Returns a random match. A few ids make conflicts likely.
fn random_match(rng: &mut SmallRng) -> MatchRow {
    let game = *GAMES.choose(rng).unwrap();
    let seat = |rng: &mut SmallRng| {
        let (session, join) = (text(rng, "s"), text(rng, "j"));
        let agent = (*AGENTS.choose(rng).unwrap()).to_owned();
        SeatRow { agent, session: maybe(rng, session), join: maybe(rng, join) }
    };
    let run = text(rng, "run");
    MatchRow {
        game: game.to_owned(),
        string: format!("{game}(a={})", rng.random_range(0..2)),
        rated: rng.random_bool(0.5),
        run: maybe(rng, run),
        seats: (0..rng.random_range(1..4)).map(|_| seat(rng)).collect(),
        started_ms: rng.random_range(0..1_000),
        ..row(&format!("m_{}", rng.random_range(0..60)))
    }
}

fn random_write(rng: &mut SmallRng) -> Write {
    let id = format!("m_{}", rng.random_range(0..60));
    let act =
        |rng: &mut SmallRng| ActRow { n: rng.random_range(0..4), body: format!("{{\"é\":{}}}", rng.random::<u8>()) };
    let time = rng.random_range(0..1_000);
    let (session, join, run) = (text(rng, "s"), text(rng, "j"), text(rng, "run"));
    match rng.random_range(0..24) {
        0..4 => Write::MatchStart(random_match(rng)),
        4 => Write::MatchPlayed { row: random_match(rng), end: result(time), released: rng.random_bool(0.5) },
        5..8 => {
            let ActRow { n, body } = act(rng);
            Write::Act { id, n, body }
        }
        8..10 => {
            Write::MatchEnd { id, acts: (0..rng.random_range(0..2)).map(|_| act(rng)).collect(), end: result(time) }
        }
        10..12 => Write::Released { ids: vec![id, format!("m_{}", rng.random_range(0..60))] },
        12 => Write::Restarted { id, restarts: rng.random_range(0..5) },
        13 => Write::Forget { id, from: rng.random_range(0..3) },
        14 => Write::MatchGone { id },
        15 => Write::Session(SessionRow {
            id: session,
            key_hash: "aa".to_owned(),
            old_key: maybe(rng, "bb".to_owned()),
            agent: "ann".to_owned(),
            body: "{}".to_owned(),
            expires_ms: time,
        }),
        16 => Write::Join(JoinRow { id: join, session, body: format!("{{\"t\":{time}}}") }),
        17 if rng.random_bool(0.5) => Write::JoinGone { id: join },
        17 => Write::SessionGone { id: session },
        18 => Write::Reclaimed { from: session, to: text(rng, "s"), seats: vec![(id, rng.random_range(0..3))] },
        19 => Write::Run(RunRow {
            name: run.clone(),
            suite: "quick".to_owned(),
            season: maybe(rng, "autumn".to_owned()),
            hidden: rng.random_bool(0.3),
            ended_ms: maybe(rng, time),
            body: "{}".to_owned(),
        }),
        20 => {
            let contest = format!("ladder:{}", GAMES.choose(rng).unwrap());
            let row = StandingRow {
                agent: (*AGENTS.choose(rng).unwrap()).to_owned(),
                owner: maybe(rng, session),
                body: maybe(rng, format!("{time}")),
            };
            let season = SeasonRow { contest: contest.clone(), name: run, frozen_ms: maybe(rng, time), body: join };
            let reset = Write::StandingsReset { contest: contest.clone(), season: "one".to_owned() };
            match rng.random_range(0..6) {
                0 => reset,
                1..3 => Write::Season(season),
                _ => Write::Standing { contest, season: "one".to_owned(), row },
            }
        }
        21 => Write::Token(TokenRow {
            hash: TokenHash::of(&session),
            owner: session,
            scopes: "gym,play".parse().unwrap(),
            names: vec!["ann*".to_owned()],
            created_ms: time,
            expires_ms: maybe(rng, time + 100),
            revoked_ms: None,
        }),
        22 => match rng.random_range(0..6) {
            0 => Write::TokenRevoked { hash: TokenHash::of(&session), revoked_ms: time },
            1 => Write::Suspended { owner: session, since_ms: time },
            2 => Write::Resumed { owner: session },
            3 => Write::EndRequested { id },
            4 => Write::EndProcessed { id },
            _ => Write::RunGone { name: run },
        },
        _ => match rng.random_range(0..3) {
            0 => Write::Meta { key: session, value: join },
            1 => Write::MetaOnce { key: session, value: join },
            _ => Write::Counter { key: session, value: rng.random_range(0..9) },
        },
    }
}

fn random_filter(rng: &mut SmallRng) -> MatchFilter {
    let game = *GAMES.choose(rng).unwrap();
    let run = text(rng, "run");
    let game = if rng.random_bool(0.5) { game.to_owned() } else { format!("{game}(a=1)") };
    let agent = (*AGENTS.choose(rng).unwrap()).to_owned();
    let (rated, live, before) = (rng.random_bool(0.5), rng.random_bool(0.5), rng.random_range(1..60));
    MatchFilter {
        game: maybe(rng, game),
        agent: maybe(rng, agent),
        run: maybe(rng, run),
        rated: maybe(rng, rated),
        released: rng.random_bool(0.3),
        live: maybe(rng, live),
        before: maybe(rng, before),
    }
}

/// Returns the kind of an outcome, whose text depends on the engine.
fn kind(outcome: &Result<(), StoreError>) -> String {
    match outcome {
        Ok(()) => "stored".to_owned(),
        Err(StoreError::Conflict { .. }) => "conflict".to_owned(),
        Err(StoreError::Broken { id }) => format!("broken {id}"),
        Err(other) => panic!("{other}"),
    }
}

/// Applies the same random writes to both stores, and compares all outcomes and reads. Numbers of matches are compared by
/// order, since a refused match may use up a number.
pub async fn check_equal(stores: [&Store; 2], seed: u64, writes: usize) {
    let mut rng = SmallRng::seed_from_u64(seed);
    for _ in 0..writes {
        let groups: Vec<Vec<Write>> = (0..rng.random_range(1..6))
            .map(|_| (0..rng.random_range(1..4)).map(|_| random_write(&mut rng)).collect())
            .collect();
        let mut outcomes = Vec::new();
        for store in stores {
            let stored = store.submit_groups(groups.clone()).await.unwrap().await;
            outcomes.push(stored.iter().map(kind).collect::<Vec<_>>());
        }
        assert_eq!(outcomes[0], outcomes[1], "{groups:?}");
    }
    compare_reads(stores, &mut rng).await;
    let counts = async |store: &Store, kind| store.count_old(kind, 800).await.unwrap();
    for kind in [OldRows::Logs, OldRows::UnratedMatches] {
        assert_eq!(counts(stores[0], kind).await, counts(stores[1], kind).await, "{kind:?}");
    }
    compare(stores, async |store| store.remove_old(OldRows::Logs, 800).await.unwrap()).await;
    compare(stores, async |store| store.remove_old(OldRows::UnratedMatches, 800).await.unwrap()).await;
    compare_reads(stores, &mut rng).await;
}

async fn compare<T: PartialEq + Debug>(stores: [&Store; 2], read: impl AsyncFn(&Store) -> T) {
    assert_eq!(read(stores[0]).await, read(stores[1]).await);
}

/// Compares the results of all reads.
pub async fn compare_reads(stores: [&Store; 2], rng: &mut SmallRng) {
    compare(stores, async |s| s.running().await.unwrap()).await;
    compare(stores, async |s| s.unreleased().await.unwrap()).await;
    compare(stores, async |s| s.ended_since(300).await.unwrap()).await;
    compare(stores, async |s| s.games().await.unwrap()).await;
    compare(stores, async |s| s.last_release().await.unwrap()).await;
    compare(stores, async |s| s.joins().await.unwrap()).await;
    compare(stores, async |s| s.tokens().await.unwrap()).await;
    compare(stores, async |s| s.has_tokens().await.unwrap()).await;
    compare(stores, async |s| s.suspended_owners().await.unwrap()).await;
    compare(stores, async |s| s.active_runs().await.unwrap()).await;
    compare(stores, async |s| s.finished_runs(None, "run_1", 3).await.unwrap()).await;
    compare(stores, async |s| s.finished_runs(Some(["quick", "autumn"]), "", 9).await.unwrap()).await;
    compare(stores, async |s| s.old_runs(700).await.unwrap()).await;
    let sorted = async |s: &Store| {
        let (mut sessions, mut requests) = (s.sessions().await.unwrap(), s.end_requests().await.unwrap());
        sessions.sort_by(|a, b| a.id.cmp(&b.id));
        requests.sort();
        (sessions, requests)
    };
    compare(stores, sorted).await;
    for k in 0..6 {
        let name = format!("s_{k}");
        compare(stores, async |s| s.meta(&name).await.unwrap()).await;
        compare(stores, async |s| s.session(&name).await.unwrap()).await;
        compare(stores, async |s| s.is_suspended(&name).await.unwrap()).await;
        compare(stores, async |s| s.token(&TokenHash::of(&name)).await.unwrap()).await;
    }
    let hashes: HashSet<TokenHash> = (0..150).map(|k| TokenHash::of(&format!("s_{k}"))).collect();
    compare(stores, async |s| s.void_tokens(hashes.clone(), 500).await.unwrap()).await;
    for game in GAMES {
        compare(stores, async |s| s.seasons(&format!("ladder:{game}")).await.unwrap()).await;
        compare(stores, async |s| s.standings(&format!("ladder:{game}"), "one").await.unwrap()).await;
    }
    for k in 0..60 {
        let id = format!("m_{k}");
        compare(stores, async |s| s.episode(&id).await.unwrap()).await;
        compare(stores, async |s| s.match_state(&id).await.unwrap()).await;
    }
    for _ in 0..200 {
        // A refused match uses up a number in one engine, so that the cursor `before` differs.
        let filter = MatchFilter { before: None, ..random_filter(rng) };
        let list = async |s: &Store| {
            let mut lines = s.matches(&filter, 20).await.unwrap();
            lines.iter_mut().for_each(|line| line.seq = 0);
            lines
        };
        compare(stores, list).await;
        compare(stores, async |s| s.records(&filter, 3, 20).await.unwrap()).await;
    }
}
