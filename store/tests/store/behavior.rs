//! Behavior that all engines share.

use std::pin::Pin;

use ludex_store::{
    ActRow, JoinRow, MatchFilter, MatchRow, OldRows, SeatRow, SessionRow, StoreError, StoreLocation, TokenHash,
    TokenRow, Write,
};

use super::rows::{act, body, check_log, end, open, result, row, start};

type Test = fn(StoreLocation) -> Pin<Box<dyn Future<Output = ()> + Send>>;

/// Tests of an empty store, by name.
pub const TESTS: [(&str, Test); 7] = [
    ("stored_match_is_read_back_unchanged", |location| Box::pin(stored_match_is_read_back_unchanged(location))),
    ("only_old_released_matches_are_removed", |location| Box::pin(only_old_released_matches_are_removed(location))),
    ("writes_are_stored_in_queue_order", |location| Box::pin(writes_are_stored_in_queue_order(location))),
    ("handles_of_a_store_work_in_any_runtime", |location| Box::pin(handles_of_a_store_work_in_any_runtime(location))),
    ("invalid_write_does_not_affect_other_writes", |location| {
        Box::pin(invalid_write_does_not_affect_other_writes(location))
    }),
    ("lists_and_records_are_filtered_and_paged", |location| {
        Box::pin(lists_and_records_are_filtered_and_paged(location))
    }),
    ("sessions_tokens_and_values_survive_a_restart", |location| {
        Box::pin(sessions_tokens_and_values_survive_a_restart(location))
    }),
];

pub async fn stored_match_is_read_back_unchanged(location: StoreLocation) {
    let store = open(&location).await;
    let mut first = row("m_1");
    first.run = Some("r".to_owned());
    first.seats = vec!["ann".into(), "ann".into(), "bob \"x\"".into()];
    first.seats[1].join = Some("j_1".to_owned());
    first.seats[2].session = Some("s_1".to_owned());
    store.write(vec![Write::MatchStart(first.clone()), act("m_1", 0)]).await.unwrap();
    store.write(vec![start("m_2"), Write::Restarted { id: "m_1".to_owned(), restarts: 2 }]).await.unwrap();
    store.write(vec![act("m_1", 1)]).await.unwrap();
    store.close().await.unwrap();

    let store = open(&location).await;
    let running = store.running().await.unwrap();
    assert_eq!(running.len(), 2);
    assert_eq!(running[0].row, first);
    assert_eq!(running[0].restarts, 2);
    assert_eq!(running[0].acts.len(), 2);
    check_log("m_1", &running[0].acts);
    assert_eq!((&running[0].end, running[0].released), (&None, false));
    assert_eq!((&running[1].row, running[1].acts.len()), (&row("m_2"), 0));

    let last = vec![ActRow { n: 2, body: body("m_1", 2) }, ActRow { n: 3, body: body("m_1", 3) }];
    store.write(vec![Write::MatchEnd { id: "m_1".to_owned(), acts: last, end: result(5_000) }]).await.unwrap();
    assert_eq!(store.running().await.unwrap().len(), 1);
    let ended = store.episode("m_1").await.unwrap().unwrap();
    assert_eq!((ended.acts.len(), ended.end, ended.released), (4, Some(result(5_000)), false));
    check_log("m_1", &ended.acts);
    assert_eq!(store.ended_since(5_000).await.unwrap(), [("m_1".to_owned(), "s_1".to_owned())]);
    assert_eq!(store.ended_since(5_001).await.unwrap(), []);
    assert_eq!(store.episode("m_3").await.unwrap(), None);

    // A running match is neither released nor deleted.
    let both = || vec!["m_1".to_owned(), "m_2".to_owned(), "m_3".to_owned()];
    let forget = |id: &str| Write::Forget { id: id.to_owned(), from: 0 };
    store
        .write(vec![act("m_2", 0), Write::Released { ids: both() }, forget("m_1"), forget("m_2"), forget("m_3")])
        .await
        .unwrap();
    let (ended, other) = (store.episode("m_1").await.unwrap().unwrap(), store.episode("m_2").await.unwrap().unwrap());
    assert_eq!((ended.released, ended.acts.len(), ended.row), (true, 0, first));
    assert_eq!((other.released, other.acts.len()), (false, 1));
}

pub async fn only_old_released_matches_are_removed(location: StoreLocation) {
    let store = open(&location).await;
    let unrated = |id: &str| Write::MatchStart(MatchRow { rated: false, ..row(id) });
    let released = |id: &str| Write::Released { ids: vec![id.to_owned()] };
    let mut joined = MatchRow { rated: false, ..row("m_joined") };
    joined.seats[0].join = Some("j_1".to_owned());
    let join = JoinRow { id: "j_1".to_owned(), session: "s_1".to_owned(), body: "{}".to_owned() };
    store.write(vec![Write::Join(join), Write::MatchStart(joined)]).await.unwrap();
    let ids = ["m_rated", "m_running", "m_unreleased", "m_young", "m_old", "m_newest"];
    store.write(ids.iter().map(|id| if *id == "m_rated" { start(id) } else { unrated(id) }).collect()).await.unwrap();
    for id in ids {
        store.write((0..3).map(|n| act(id, n)).collect()).await.unwrap();
    }
    let ends = ["m_joined", "m_rated", "m_unreleased", "m_old", "m_newest"].map(|id| end(id, 1_000));
    store.write(ends.into_iter().chain([end("m_young", 2_000)]).collect()).await.unwrap();
    let public = ["m_joined", "m_rated", "m_young", "m_old", "m_newest"].map(released);
    store.write(public.into()).await.unwrap();

    let counts =
        async || (store.count_old(OldRows::Logs, 2_000).await, store.count_old(OldRows::UnratedMatches, 2_000).await);
    let (logs, unrated) = counts().await;
    assert_eq!((logs.unwrap(), unrated.unwrap()), (3, 1));
    assert_eq!(store.remove_old(OldRows::Logs, 2_000).await.unwrap(), 3);
    assert_eq!(store.remove_old(OldRows::UnratedMatches, 2_000).await.unwrap(), 1);
    let (logs, unrated) = counts().await;
    assert_eq!((logs.unwrap(), unrated.unwrap()), (0, 0));
    let rows = async |id: &str| store.episode(id).await.unwrap().map(|kept| kept.acts.len());
    assert_eq!(rows("m_old").await, None);
    assert_eq!((rows("m_rated").await, rows("m_newest").await, rows("m_joined").await), (Some(0), Some(0), Some(0)));
    assert_eq!(
        (rows("m_running").await, rows("m_unreleased").await, rows("m_young").await),
        (Some(3), Some(3), Some(3))
    );
    // A match with a log is not removed, and release numbers continue.
    store
        .write(vec![Write::MatchGone { id: "m_young".to_owned() }, end("m_running", 3_000), released("m_running")])
        .await
        .unwrap();
    assert_eq!((rows("m_young").await, store.last_release().await.unwrap()), (Some(3), 6));
    // The join's match count is unchanged.
    assert_eq!(store.joins().await.unwrap()[0].1, 1);
    store.write(vec![Write::JoinGone { id: "j_1".to_owned() }]).await.unwrap();
    // The newest match stays.
    assert_eq!(store.remove_old(OldRows::UnratedMatches, 2_000).await.unwrap(), 1);
}

pub async fn writes_are_stored_in_queue_order(location: StoreLocation) {
    let store = open(&location).await;
    let writers = 16;
    let tasks = (0..writers).map(|k| {
        let store = store.clone();
        tokio::spawn(async move {
            let id = format!("m_{k}");
            let mut receipts = Vec::new();
            store.write_behind(vec![start(&id)]).await.unwrap();
            for n in 0..100 {
                match n % 3 {
                    0 => store.write_behind(vec![act(&id, n)]).await.unwrap(),
                    1 => receipts.push(store.submit(vec![act(&id, n)]).await.unwrap()),
                    _ => store.write(vec![act(&id, n)]).await.unwrap(),
                }
            }
            for receipt in receipts {
                receipt.await.unwrap();
            }
            // Every third match ends. The end is valid only after the match's earlier writes.
            if k % 3 == 0 {
                store.write_behind(vec![end(&id, 1)]).await.unwrap();
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    store.flush().await.unwrap();
    for k in 0..writers {
        let kept = store.episode(&format!("m_{k}")).await.unwrap().unwrap();
        assert_eq!(kept.acts.len(), 100);
        check_log(&kept.row.id, &kept.acts);
        assert_eq!(kept.end.is_some(), k % 3 == 0);
    }
}

pub async fn handles_of_a_store_work_in_any_runtime(location: StoreLocation) {
    let store = open(&location).await;
    let threads: Vec<_> = (0..3)
        .map(|k| {
            let store = store.clone();
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(async {
                    let id = format!("m_{k}");
                    store.write(vec![start(&id), act(&id, 0)]).await.unwrap();
                    assert_eq!(store.episode(&id).await.unwrap().unwrap().acts.len(), 1);
                });
            })
        })
        .collect();
    let joined = tokio::task::spawn_blocking(|| threads.into_iter().try_for_each(std::thread::JoinHandle::join));
    joined.await.unwrap().unwrap();
    assert_eq!(store.running().await.unwrap().len(), 3);
}

pub async fn invalid_write_does_not_affect_other_writes(location: StoreLocation) {
    let store = open(&location).await;
    store.write(vec![start("m_1"), start("m_2"), act("m_2", 0)]).await.unwrap();
    // Queued together, so that they share a transaction.
    let good = store.submit(vec![act("m_1", 0)]).await.unwrap();
    let twice = store.submit(vec![Write::SessionGone { id: "s".to_owned() }, start("m_1")]).await.unwrap();
    let stored = store.submit(vec![act("m_9", 0)]).await.unwrap();
    let over = store.submit(vec![end("m_9", 1)]).await.unwrap();
    let huge = store.submit(vec![Write::Counter { key: "c".to_owned(), value: u64::MAX }]).await.unwrap();
    let again = store.submit(vec![act("m_2", 0)]).await.unwrap();
    let after = store.submit(vec![act("m_2", 1)]).await.unwrap();
    let fine = store.submit(vec![act("m_1", 1)]).await.unwrap();
    good.await.unwrap();
    for wrong in [twice, stored, over, huge, again] {
        assert!(matches!(wrong.await, Err(StoreError::Conflict { .. })));
    }
    assert!(matches!(after.await, Err(StoreError::Broken { id }) if id == "m_2"), "a gap must not be hidden");
    fine.await.unwrap();
    assert_eq!(store.episode("m_1").await.unwrap().unwrap().acts.len(), 2);

    // The match can still be ended, but only once.
    store.write(vec![end("m_2", 1)]).await.unwrap();
    assert!(matches!(store.write(vec![end("m_2", 1)]).await, Err(StoreError::Conflict { .. })));
    assert!(matches!(store.write(vec![act("m_2", 1)]).await, Err(StoreError::Conflict { .. })));
    assert_eq!(store.episode("m_2").await.unwrap().unwrap().acts.len(), 1);

    // A failed asynchronous write is reported once, by the next flush.
    store.write_behind(vec![act("m_8", 0)]).await.unwrap();
    assert!(matches!(store.flush().await, Err(StoreError::Conflict { .. })));
    store.flush().await.unwrap();
}

pub async fn lists_and_records_are_filtered_and_paged(location: StoreLocation) {
    let store = open(&location).await;
    for k in 0..10 {
        let mut row = row(&format!("m_{k}"));
        row.rated = k % 2 == 0;
        if k == 3 {
            row.string = "connect_four(rows=4,columns=4)".to_owned();
        }
        if k >= 8 {
            (row.game, row.string) = ("chess".to_owned(), "chess".to_owned());
            (row.seats[0], row.run) = ("carl".into(), Some("night".to_owned()));
        }
        store.write(vec![Write::MatchStart(row)]).await.unwrap();
    }
    let ids = |lines: Vec<ludex_store::MatchLine>| lines.into_iter().map(|line| line.id).collect::<Vec<_>>();
    let list = async |filter: MatchFilter| ids(store.matches(&filter, 100).await.unwrap());
    let any = MatchFilter::default();
    assert_eq!(list(any.clone()).await.len(), 10);
    assert_eq!(list(any.clone()).await[0], "m_9", "newest first");
    assert_eq!(list(MatchFilter { game: Some("chess".to_owned()), ..any.clone() }).await, ["m_9", "m_8"]);
    let small = Some("connect_four(rows=4,columns=4)".to_owned());
    assert_eq!(list(MatchFilter { game: small, ..any.clone() }).await, ["m_3"]);
    assert_eq!(list(MatchFilter { agent: Some("carl".to_owned()), ..any.clone() }).await, ["m_9", "m_8"]);
    assert_eq!(list(MatchFilter { run: Some("night".to_owned()), rated: Some(true), ..any.clone() }).await, ["m_8"]);
    assert_eq!(list(MatchFilter { agent: Some("' OR 1=1 --".to_owned()), ..any.clone() }).await.len(), 0);
    let page = store.matches(&any, 4).await.unwrap();
    let next = MatchFilter { before: Some(page[3].seq), ..any.clone() };
    assert_eq!(ids(store.matches(&next, 4).await.unwrap()), ["m_5", "m_4", "m_3", "m_2"]);

    // The order of release differs from the order of the ids.
    let order = ["m_5", "m_9", "m_0", "m_8"];
    for id in order {
        store.write(vec![end(id, 7), Write::Released { ids: vec![id.to_owned()] }]).await.unwrap();
    }
    store.write(vec![end("m_1", 8)]).await.unwrap();
    let lines = store.matches(&MatchFilter { live: Some(false), ..any.clone() }, 100).await.unwrap();
    assert_eq!(lines.len(), 5);
    assert_eq!(lines[0].ended, Some((7, "finished".to_owned())));
    assert_eq!(list(MatchFilter { live: Some(true), ..any.clone() }).await.len(), 5);
    let mut seen = Vec::new();
    let mut after = 0;
    loop {
        let page = store.records(&any, after, 3).await.unwrap();
        let Some(last) = page.last() else { break };
        after = last.seq;
        seen.extend(page.into_iter().map(|record| record.id));
    }
    assert_eq!(seen, order, "in order of release, without unreleased matches");
    store.write(vec![Write::Released { ids: vec!["m_1".to_owned(), "m_5".to_owned()] }]).await.unwrap();
    let more = store.records(&any, after, 3).await.unwrap();
    assert_eq!(more.iter().map(|record| record.id.as_str()).collect::<Vec<_>>(), ["m_1"]);
    let chess = MatchFilter { game: Some("chess".to_owned()), agent: Some("carl".to_owned()), ..any };
    assert_eq!(store.records(&chess, 0, 100).await.unwrap().len(), 2);
}

pub async fn sessions_tokens_and_values_survive_a_restart(location: StoreLocation) {
    let store = open(&location).await;
    let hash = TokenHash::of("secret");
    let session = SessionRow {
        id: "s_1".to_owned(),
        key_hash: "aa".to_owned(),
        old_key: Some("bb".to_owned()),
        agent: "ann".to_owned(),
        body: r#"{"kind":"bot"}"#.to_owned(),
        expires_ms: 9,
    };
    let guest = SessionRow { id: "s_2".to_owned(), old_key: None, ..session.clone() };
    let token = TokenRow {
        hash,
        owner: "Ann, of Leeds".to_owned(),
        scopes: "gym,play".parse().unwrap(),
        names: vec!["ann*".to_owned()],
        created_ms: 1,
        expires_ms: None,
        revoked_ms: None,
    };
    let join =
        |id: &str, session: &str| JoinRow { id: id.to_owned(), session: session.to_owned(), body: "{}".to_owned() };
    let mut played = row("m_1");
    played.seats[0] =
        SeatRow { agent: "ann".to_owned(), session: Some("s_1".to_owned()), join: Some("j_1".to_owned()) };
    let writes = vec![
        Write::Join(join("j_1", "s_1")),
        Write::Join(join("j_2", "s_1")),
        Write::Join(join("j_3", "s_2")),
        Write::JoinGone { id: "j_2".to_owned() },
        Write::MatchStart(played),
        Write::Session(session.clone()),
        Write::Session(guest.clone()),
        Write::Session(SessionRow { expires_ms: 10, ..guest.clone() }),
        Write::Token(token.clone()),
        Write::TokenRevoked { hash: TokenHash::of("other"), revoked_ms: 3 },
        Write::Meta { key: "k".to_owned(), value: "1".to_owned() },
        Write::Meta { key: "k".to_owned(), value: "2".to_owned() },
        Write::MetaOnce { key: "k".to_owned(), value: "3".to_owned() },
    ];
    store.write(writes).await.unwrap();
    let secret = store.secret("seeds").await.unwrap();
    assert_ne!(store.secret("else").await.unwrap(), secret);
    assert_eq!((store.next("rated").await.unwrap(), store.next("rated").await.unwrap()), (0, 1));
    store.close().await.unwrap();

    let store = open(&location).await;
    assert_eq!(store.session("s_1").await.unwrap(), Some(session));
    assert_eq!(store.session("s_2").await.unwrap(), Some(SessionRow { expires_ms: 10, ..guest }));
    assert_eq!(store.sessions().await.unwrap().len(), 2);
    assert_eq!(store.token(&hash).await.unwrap(), Some(token.clone()));
    assert_eq!(store.tokens().await.unwrap(), [token]);
    assert_eq!(store.meta("k").await.unwrap().as_deref(), Some("2"));
    assert_eq!(store.secret("seeds").await.unwrap(), secret);
    assert_eq!((store.next("rated").await.unwrap(), store.next("other").await.unwrap()), (2, 0));
    assert_eq!(store.joins().await.unwrap(), [(join("j_1", "s_1"), 1), (join("j_3", "s_2"), 0)]);
    let to_guest =
        Write::Reclaimed { from: "s_1".to_owned(), to: "s_2".to_owned(), seats: vec![("m_1".to_owned(), 0)] };
    store.write(vec![to_guest]).await.unwrap();
    assert_eq!(store.joins().await.unwrap()[0].0, join("j_1", "s_2"));
    assert_eq!(store.running().await.unwrap()[0].row.seats[0].session.as_deref(), Some("s_2"));
    store.write(vec![Write::SessionGone { id: "s_2".to_owned() }]).await.unwrap();
    assert_eq!(store.joins().await.unwrap(), []);
    store.write(vec![Write::SessionGone { id: "s_1".to_owned() }]).await.unwrap();
    assert_eq!(store.session("s_1").await.unwrap(), None);
}
