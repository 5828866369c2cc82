//! Runs on a match plane without a network, with the order of events that is rare in operation.

use std::fs;
use std::path::Path;
use std::sync::{Arc, mpsc as blocking};
use std::time::Duration;

use ludex_gym::catalogue::Catalogue;
use ludex_gym::compute::Compute;
use ludex_gym::opponents::Opponents;
use ludex_play::machine::interface::Input;
use ludex_play::runs::folder::path_of;
use ludex_protocol::Encoding;
use ludex_store::Store;
use tokio::sync::mpsc;
use tokio::task::LocalSet;

use super::Runs;
use crate::live::Live;
use crate::mailbox::{Mailbox, MailboxItem};
use crate::matches::{Hub, HubConfig};
use crate::metrics::Metrics;
use crate::sessions::match_handle::MatchCommand;
use crate::sessions::{ClientInfo, Control, Session, SessionConnection};
use crate::settings::{Humans, PairMode};
use crate::suites::Suites;

const SUITE: &str = r#"
name = "plans"
version = 1
title = "Plans"
[[part]]
id = "plans"
game = "battle_cards(format=match,rounds=3,revise=alternate)"
schedule = "against"
opponents = ["anchor level=1"]
cache_answers = ["initial"]
blocks = 1
"#;

/// Match plane with its runs.
struct Plane {
    hub: Arc<Hub>,
    runs: Arc<Runs>,
}

/// Client with its session and its mailbox.
struct Agent {
    session: Arc<Session>,
    inbox: mpsc::Receiver<MailboxItem>,
    _control: mpsc::UnboundedReceiver<Control>,
}

impl Plane {
    async fn open(data: &Path) -> Plane {
        let config = HubConfig {
            limits: Live::default(),
            catalogue: Arc::new(Catalogue::new(ludex_games::builtin())),
            opponents: Opponents::default().into(),
            pairs: PairMode::default(),
            humans: Humans::default(),
            data: data.to_owned(),
            suites: Suites::default().with(SUITE).unwrap(),
            consent: None,
            run_time: Duration::from_secs(3_600),
            seasons: Live::default(),
            ladders: Vec::new(),
            urls: Arc::default(),
        };
        let (store, compute) = (Store::open(data).await.unwrap(), Compute::new(1).unwrap());
        let hub = Hub::new(store, config, compute, Arc::new(Metrics::new().unwrap()), 1).await.unwrap();
        Plane { runs: Runs::new(hub.clone()), hub }
    }

    fn run_matches(&self) {
        tokio::task::spawn_local(self.hub.clone().run_matches(0));
    }

    /// Enrolls a new client in the run `mine`.
    async fn enrol(&self) -> Agent {
        let about = ClientInfo { agent: "ann".to_owned(), ..Default::default() };
        let session = self.hub.sessions.create("s_1".to_owned(), about);
        let ((mail, inbox), (control, receiver)) = (mpsc::channel(64), mpsc::unbounded_channel());
        let (mailbox, generation) = (Mailbox::new(mail, Encoding::Json), self.hub.sessions.generation());
        session.hold("k_1", SessionConnection { control, mailbox, generation, token: None });
        self.hub.keep_session(&session, true).await;
        let request = serde_json::from_str(r#"{"suite": "plans", "run": "mine"}"#).unwrap();
        self.runs.enrol(&session, 1, request).await;
        Agent { session, inbox, _control: receiver }
    }

    /// Returns the id of the only stored match that has not ended.
    async fn running(&self) -> String {
        let mut running = self.hub.store.running().await.unwrap();
        assert_eq!(running.len(), 1);
        running.remove(0).row.id
    }

    /// Stops as in a crash: matches that have not ended stay in the store.
    async fn stop(self) {
        self.runs.halt();
        // The threads of the runs have ended.
        until(async || Arc::strong_count(&self.runs) == 1).await;
        self.hub.store.clone().close().await.unwrap();
    }
}

impl Agent {
    /// Waits for a message of this type.
    async fn receives(&mut self, kind: &str) {
        let kind = format!("\"type\":\"{kind}\"");
        loop {
            let item = self.inbox.recv().await.expect("an open mailbox");
            let MailboxItem::Frames(frames) = item else { continue };
            if frames.iter().any(|sent| format!("{:?}", sent.frame).replace('\\', "").contains(&kind)) {
                return;
            }
        }
    }
}

async fn until(holds: impl AsyncFn() -> bool) {
    while !holds().await {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn block_on(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(LocalSet::new().run_until(test));
}

#[test]
fn match_that_starts_while_its_run_is_stopped_ends_with_the_run() {
    let data = tempfile::tempdir().unwrap();
    block_on(async {
        let plane = Plane::open(data.path()).await;
        let mut agent = plane.enrol().await;
        // Without an event loop, the match remains about to start.
        until(async || plane.hub.live_matches() == 1).await;
        plane.runs.withdraw(&agent.session, "mine").await.unwrap();
        plane.run_matches();
        agent.receives("run_end").await;
        assert_eq!(plane.hub.live_matches(), 0);
        assert!(plane.hub.store.running().await.unwrap().is_empty());
        plane.stop().await;
    });
}

#[test]
fn suspended_match_is_not_played_on() {
    let data = tempfile::tempdir().unwrap();
    block_on(async {
        let plane = Plane::open(data.path()).await;
        plane.run_matches();
        let mut agent = plane.enrol().await;
        agent.receives("match_start").await;
        let id = plane.running().await;
        let handle = plane.hub.handle(&id).unwrap();
        // Both commands arrive in one round of the event loop.
        handle.send(MatchCommand::Suspend);
        handle.send(MatchCommand::Input(Input::Withdrawn(0)));
        until(async || !plane.hub.is_live(&id)).await;
        // Fails if an asynchronous write has failed.
        plane.hub.store.flush().await.unwrap();
        let stored = plane.hub.store.episode(&id).await.unwrap().unwrap();
        assert_eq!(stored.end, None);
        assert_eq!(stored.acts.iter().filter(|act| act.body.contains("away_ms")).count(), 1, "{:?}", stored.acts);
        plane.stop().await;
    });
}

#[test]
fn agent_of_a_restored_match_uses_the_cached_answers_of_the_run() {
    let data = tempfile::tempdir().unwrap();
    // The server stops before its agent has answered.
    let (release, released) = blocking::channel::<()>();
    block_on(async {
        let plane = Plane::open(data.path()).await;
        let busy = plane.hub.compute.run(&Arc::from("other"), move || released.recv().is_err());
        plane.run_matches();
        let mut agent = plane.enrol().await;
        agent.receives("match_start").await;
        plane.running().await;
        plane.stop().await;
        drop((release, busy));
    });
    block_on(async {
        let plane = Plane::open(data.path()).await;
        assert_eq!(plane.hub.restore().await.unwrap(), 1);
        plane.run_matches();
        plane.runs.clone().resume_runs().await.unwrap();
        let id = plane.running().await;
        until(async || !plane.hub.store.episode(&id).await.unwrap().unwrap().acts.is_empty()).await;
        let answers = fs::read_to_string(path_of(data.path(), "mine").join("answers.jsonl")).unwrap_or_default();
        assert!(answers.contains("anchor level=1"), "{answers:?}");
        plane.stop().await;
    });
}
