//! Rust client against a running server, over stable and unstable connections.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use ludex_client::protocol::message::{Autoreset, Join, ListMatches, MaskForm, Observer, Open, StepEnvs, ViewEnv};
use ludex_client::protocol::record::{EndReason, Notes};
use ludex_client::protocol::{ArrayError, Encoding, ErrorCode, Move};
use ludex_client::{
    Client, Error, Event, Failure, Handler, MatchResult, Options, Player, TurnReply, TurnRequest, play,
};
use ludex_tests::Server;
use ludex_tests::proxy::Proxy;
use parking_lot::Mutex;
use serde_json::json;

fn options(name: &str, encoding: Encoding) -> Options {
    Options { patience: Some(Duration::from_secs(10)), ..Options::default().agent(name).encoding(encoding) }
}

async fn first(ask: TurnRequest) -> Result<TurnReply, Failure> {
    let first = ask.legal.iter().next().ok_or("nothing is legal")?;
    Ok(TurnReply::action(first))
}

#[tokio::test]
async fn gym_works_in_json_and_messagepack() {
    let server = Server::start(|_| {}).await;
    let mut seen = Vec::new();
    for encoding in [Encoding::MsgPack, Encoding::Json] {
        let url = format!("ws://{}", server.address);
        let (client, _events) = Client::connect(&url, options("gym", encoding)).await.unwrap();
        assert!(client.list_games(None).await.unwrap().iter().any(|game| game.game == "connect_four"));
        let spec = client.describe("connect_four", Default::default(), true).await.unwrap();
        assert!(spec.text.is_some_and(|text| text.contains("Connect")));
        let open =
            Open { count: 3, autoreset: Autoreset::SameStep, mask: Some(MaskForm::Ids), ..Open::new("connect_four") };
        let env = client.open(open).await.unwrap();
        let mut batches = vec![env.reset(Some(1)).await.unwrap()];
        let one = env.post_step(&[3, 3, 3]).await.unwrap();
        let two = env.post_step(&[3, 2, 1]).await.unwrap();
        batches.push(one.await.unwrap());
        batches.push(two.await.unwrap());
        let snapshot = env.snapshot().await.unwrap();
        let view = env.view(ViewEnv { parse: Some(vec!["4".into()]), ..ViewEnv::default() }).await.unwrap();
        assert_eq!(view.parsed.unwrap().len(), 1);
        let twin = env.duplicate(None).await.unwrap();
        assert_eq!(twin.count(), 3);
        let refused = env.step(&[9, 0, 0]).await.unwrap_err();
        assert_eq!(refused.code(), Some(ErrorCode::IllegalAction), "{refused}");
        batches.push(env.step(&[0, 0, 0]).await.unwrap());
        batches.push(env.restore(snapshot.items).await.unwrap());
        assert_eq!(batches[4].length, batches[2].length);
        twin.close().await.unwrap();
        env.close().await.unwrap();
        client.close().await;
        for batch in &mut batches {
            batch.env = 0;
        }
        seen.push(batches);
    }
    assert_eq!(seen[0], seen[1]);
}

#[tokio::test]
async fn batch_fields_have_expected_shapes() {
    let server = Server::start(|_| {}).await;
    let (client, _events) = Client::connect(&format!("ws://{}", server.address), Options::default()).await.unwrap();
    for (observer, rows) in [(Observer::Acting, vec![3]), (Observer::All, vec![3, 2])] {
        for mask in [MaskForm::U1, MaskForm::Bits, MaskForm::Ids] {
            let env =
                client.open(Open { count: 3, observer, mask: Some(mask), ..Open::new("connect_four") }).await.unwrap();
            let batch = env.reset(Some(1)).await.unwrap();
            assert_eq!(batch.observation::<u8>("board").unwrap().shape(), [&rows[..], &[2, 6, 7]].concat());
            assert_eq!(batch.rewards().unwrap().shape(), [3, 2]);
            let legal = env.legal_actions(&batch).unwrap();
            assert_eq!(legal.shape(), [rows.iter().product(), 7], "{mask:?}");
            // With `observer = all`, the batch has rows of both seats, and seat 1 cannot act in the first position.
            assert_eq!(legal.iter().filter(|&&legal| legal).count(), 3 * 7, "{mask:?}");
        }
    }
    let env = client.open(Open { mask: Some(MaskForm::None), ..Open::new("connect_four") }).await.unwrap();
    let batch = env.reset(None).await.unwrap();
    assert!(matches!(env.legal_actions(&batch), Err(Error::Array(ArrayError::Name { .. }))));
    assert!(matches!(batch.observation::<f32>("board"), Err(ArrayError::Dtype { .. })));
}

#[derive(Clone, Default)]
struct Witness {
    asked: Arc<Mutex<Vec<(String, u32, u32)>>>,
    ended: Arc<Mutex<Vec<MatchResult>>>,
}

impl Handler for Witness {
    async fn turn(&self, ask: TurnRequest) -> Result<TurnReply, Failure> {
        self.asked.lock().push((ask.start.match_id.clone(), ask.turn, ask.attempt));
        assert_eq!(ask.names.as_ref().map(Vec::len), Some(ask.legal.iter().count()));
        if ask.turn == 1 && ask.attempt == 0 {
            return Ok(TurnReply::text("nonsense"));
        }
        if ask.attempt > 0 {
            let refusal = ask.refusal.as_ref().expect("the reason");
            assert_eq!(refusal.attempt, ask.attempt);
        }
        let last = ask.legal.iter().last().ok_or("nothing is legal")?;
        let name = ask.name(last).ok_or("it has no name")?;
        let notes = Notes { analysis: Some("the last one".into()), ..Notes::default() };
        Ok(TurnReply::text(name).with_notes(notes))
    }

    fn ended(&self, played: &MatchResult) {
        self.ended.lock().push(played.clone());
    }
}

#[tokio::test]
async fn player_acts_again_after_refusal() {
    let server = Server::start(|_| {}).await;
    for encoding in [Encoding::MsgPack, Encoding::Json] {
        let witness = Witness::default();
        let join = Join { against: Some(vec!["random".into()]), count: 6, slots: 3, ..Join::new("tic_tac_toe") };
        let url = format!("ws://{}", server.address);
        let played = play(&url, options("witness", encoding), join, witness.clone()).await.unwrap();
        assert_eq!(played.len(), 6);
        assert_eq!(*witness.ended.lock(), played);
        let ends: Vec<EndReason> = played.iter().map(|p| p.end.as_ref().unwrap().reason).collect();
        assert_eq!(ends, [EndReason::Finished; 6]);
        let asked = witness.asked.lock();
        assert_eq!(asked.iter().collect::<HashSet<_>>().len(), asked.len());
        assert_eq!(asked.iter().filter(|(_, turn, attempt)| (*turn, *attempt) == (1, 1)).count(), 6);
    }
}

#[tokio::test]
async fn queue_players_meet_and_stop_on_request() {
    let server = Server::start(|_| {}).await;
    let url = format!("ws://{}", server.address);
    let (a, a_events) = Client::connect(&url, options("a", Encoding::MsgPack)).await.unwrap();
    let (b, b_events) = Client::connect(&url, options("b", Encoding::Json)).await.unwrap();
    let endless = Join { count: 0, ..Join::new("tic_tac_toe") };
    let enough = Arc::new(tokio::sync::Notify::new());
    let told = enough.clone();
    let one = Player::new(a, a_events, endless, first).run(async move { told.notified().await });
    let join = Join { count: 3, ..Join::new("tic_tac_toe") };
    let two = async {
        let played = Player::new(b, b_events, join, first).run(std::future::pending()).await;
        enough.notify_one();
        played
    };
    let (one, two) = tokio::join!(one, two);
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_eq!((one.len(), two.len()), (3, 3));
    for (a, b) in one.iter().zip(&two) {
        assert_eq!(a.start.match_id, b.start.match_id);
        assert_eq!(a.own_return().unwrap() + b.own_return().unwrap(), 0.0);
    }
}

#[tokio::test]
async fn broken_connections_lose_no_match_and_no_move() {
    let server = Server::start(|_| {}).await;
    for encoding in [Encoding::MsgPack, Encoding::Json] {
        // Each connection lives slightly longer than the previous one, so that the match eventually ends.
        let proxy = Proxy::start(server.address, |k| if k == 0 { 3_000 } else { 300 + 170 * k }).await;
        let witness = Witness::default();
        let join = Join { against: Some(vec!["random".into()]), count: 4, slots: 2, ..Join::new("tic_tac_toe") };
        let url = format!("ws://{}", proxy.address);
        let played = play(&url, options("broken", encoding), join, witness.clone()).await.unwrap();
        assert!(proxy.connections() > 5, "only {} connections", proxy.connections());
        for played in &played {
            assert_eq!(played.end.as_ref().unwrap().reason, EndReason::Finished);
        }
        let asked = witness.asked.lock();
        assert_eq!(asked.iter().collect::<HashSet<_>>().len(), asked.len(), "no request is repeated");
    }
}

#[tokio::test]
async fn gym_steps_are_executed_once_over_broken_connections() {
    let server = Server::start(|_| {}).await;
    let proxy = Proxy::start(server.address, |k| 6_000 + 2_000 * k).await;
    let (client, mut events) =
        Client::connect(&format!("ws://{}", proxy.address), options("gym", Encoding::MsgPack)).await.unwrap();
    let env = client.open(Open { count: 64, ..Open::new("tic_tac_toe") }).await.unwrap();
    let mut length = env.reset(Some(3)).await.unwrap().length;
    for square in 0..5 {
        let batch = env.step(&[square; 64]).await.unwrap();
        assert!(batch.length.iter().zip(length.iter()).all(|(now, before)| now == before + 1));
        length = batch.length.clone();
    }
    assert!(proxy.connections() > 1);
    assert!(matches!(events.next().await, Some(Event::Connected(welcome)) if welcome.resumed));
}

#[tokio::test]
async fn client_errors_state_the_cause() {
    let refused = Client::connect("ws://127.0.0.1:1", Options::default()).await.unwrap_err();
    assert!(matches!(refused, Error::Connect { .. }), "{refused}");
    let server = Server::start(|_| {}).await;
    let url = format!("ws://{}", server.address);
    let unwelcome = Client::connect(&url, Options::default().agent("not a name")).await.unwrap_err();
    assert_eq!(unwelcome.code(), Some(ErrorCode::BadField), "{unwelcome}");
    let unknown = play(&url, options("lost", Encoding::Json), Join::new("no_such_game"), first).await.unwrap_err();
    assert_eq!(unknown.code(), Some(ErrorCode::UnknownGame), "{unknown}");

    // An agent that fails gives up its match and reports the reason.
    let join = Join { against: Some(vec!["random".into()]), ..Join::new("tic_tac_toe") };
    let fails = |_: TurnRequest| async { Err("no idea".into()) };
    let failed = play(&url, options("fails", Encoding::MsgPack), join, fails).await.unwrap_err();
    assert_eq!(failed, Error::Agent("no idea".into()));
    let (client, _events) = Client::connect(&url, options("looks", Encoding::MsgPack)).await.unwrap();
    assert_eq!(client.list_matches(ListMatches::default()).await.unwrap(), []);

    // If a server stops for good, the client gives up after `patience`.
    let impatient = Options { patience: Some(Duration::from_millis(300)), ..options("waits", Encoding::Json) };
    let (waits, mut events) = Client::connect(&url, impatient).await.unwrap();
    server.stop().stopped().await;
    assert!(matches!(waits.ping().await, Err(Error::Lost { .. })));
    loop {
        match events.next().await {
            Some(Event::Gone(Error::Lost { .. })) => break,
            Some(_) => {}
            None => panic!("it says that it is over"),
        }
    }
}

#[tokio::test]
async fn tls_accepts_given_ca_certificate() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("data/tls");
    let (cert, key) = (folder.join("cert.pem"), folder.join("key.pem"));
    let files = ludex_server::config::TlsFiles { cert: cert.clone(), key };
    let server = Server::start(|c| c.tls = Some(files)).await;
    let at = |scheme: &str| format!("{scheme}://localhost:{}", server.address.port());
    // If the client retried, the test would not end.
    let forever = || Options { patience: Some(Duration::from_secs(3600)), ..Options::default() };

    let (client, _events) = Client::connect(&at("wss"), forever().ca(&cert).unwrap()).await.unwrap();
    assert!(!client.list_games(None).await.unwrap().is_empty());

    let why = async |url: String, options: Options| Client::connect(&url, options).await.err().unwrap().to_string();
    let unknown = why(at("wss"), forever()).await;
    assert!(unknown.contains("pass its PEM file with --ca or SSL_CERT_FILE"), "{unknown}");
    assert!(why(at("ws"), forever()).await.contains("use wss:// instead of ws://"));
    let plain = Server::start(|_| {}).await;
    let url = format!("wss://localhost:{}", plain.address.port());
    assert!(why(url, forever()).await.contains("use ws:// instead of wss://"));
    let none = forever().ca(folder.join("key.pem")).err().unwrap();
    assert!(none.to_string().contains("certificate in PEM, found none"), "{none}");
    plain.stop().stopped().await;
    server.stop().stopped().await;
}

#[tokio::test]
async fn documents_are_accepted_as_moves_in_gym_and_matches() {
    let server = Server::start(|config| config.games = own_game::registries().0).await;
    let url = format!("ws://{}", server.address);
    let (client, _events) = Client::connect(&url, options("gym", Encoding::MsgPack)).await.unwrap();
    let env = client.open(Open { observer: Observer::All, ..Open::new("naming") }).await.unwrap();
    env.reset(Some(1)).await.unwrap();
    let seen = env.view(ViewEnv { seat: Some(1), ..ViewEnv::default() }).await.unwrap();
    assert_eq!((seen.phase.as_deref(), seen.schema.as_deref()), (Some("name"), Some("name")));
    let step =
        |moves: [Option<Move>; 2]| StepEnvs { env: env.handle(), moves: Some(moves.into()), ..StepEnvs::default() };
    let named = |number: i64| Some(Move::Document(json!({ "number": number })));
    let refused = env.step_with(step([named(12), Some(Move::Id(3))])).await.unwrap_err();
    assert_eq!(refused.code(), Some(ErrorCode::IllegalAction), "{refused}");
    let batch = env.step_with(step([named(7), Some(Move::Id(3))])).await.unwrap();
    assert_eq!(batch.to_move.get(0), Some(0));
    let snapshot = env.snapshot().await.unwrap();
    let swap = json!({"swap": true, "say": "so be it"});
    let batch = env.step_with(step([Some(Move::Document(swap)), None])).await.unwrap();
    assert_eq!(batch.reward.to_vec(), [-4.0, 4.0]);
    assert_eq!(env.restore(snapshot.items).await.unwrap().to_move.get(0), Some(0));
    client.close().await;

    // In a match against a built-in agent, the client sends a document with a flaw and then a valid document.
    let said = Arc::new(Mutex::new(Vec::new()));
    let heard = said.clone();
    let agent = move |ask: TurnRequest| {
        let flaws = ask.refusal.as_ref().and_then(|r| r.issues.as_ref()).map_or(0, Vec::len);
        heard.lock().push((ask.schema.clone(), flaws));
        let document = match (ask.phase.as_deref(), ask.attempt) {
            (Some("name"), 0) => json!({"number": -1, "more": 1}),
            (Some("name"), _) => json!({"number": 9}),
            _ => json!({"swap": false, "say": "kept"}),
        };
        async move { Ok::<_, Failure>(TurnReply::document(document)) }
    };
    let join = Join { against: Some(vec!["random".into()]), seat: Some(0), ..Join::new("naming") };
    let played = play(&url, options("speaker", Encoding::Json), join, agent).await.unwrap();
    assert_eq!(played.len(), 1);
    assert_eq!(played[0].end.as_ref().map(|end| end.reason), Some(EndReason::Finished));
    assert_eq!(*said.lock(), [(Some("name".into()), 0), (Some("name".into()), 2), (Some("swap/first".into()), 0)]);
    server.stop().stopped().await;
}
