//! Episodes: forfeits, seeds, prompts, legal moves.

use ludex_client::protocol::message::{GymView, Open, StepEnvs, ViewEnv};
use ludex_client::{Client, Options};
use ludex_tests::Server;
use serde_json::{Value, json};

use super::client::{OpenEnv, first_move, server};

#[tokio::test]
async fn refused_answers_end_as_a_forfeit() {
    let server = server().await;
    let mut client = OpenEnv::open(&server, "tic_tac_toe").await;
    let first = client.reset(json!({ "seed": 1, "tries": 2, "penalty": 0.25, "episode_id": "a" })).await;
    assert_eq!(
        (&first["reward"], &first["done"], &first["observation"]["refusal"]),
        (&Value::Null, &json!(false), &Value::Null)
    );
    let refused = client.step("I resign.").await;
    let words = refused["observation"]["refusal"].as_str().unwrap();
    assert!(refused["observation"]["prompt"].as_str().unwrap().contains(words));
    assert_eq!((&refused["reward"], &refused["done"]), (&json!(0.0), &json!(false)));
    assert_eq!(refused["observation"]["legal"], first["observation"]["legal"]);
    // A legal move starts the count again.
    let mut last = client.step(first_move(&first)).await;
    for _ in 0..2 {
        assert_eq!(last["done"], false);
        last = client.step("x(9,9)").await;
    }
    assert_eq!((&last["done"], &last["reward"]), (&json!(true), &json!(-1.75)));
    let metrics = &last["metadata"];
    assert_eq!((&metrics["forfeit"], &metrics["moves"], &metrics["return"]), (&json!(true), &json!(1), &json!(-1.0)));
    let (code, message) = client.fail(r#"{"type":"step","data":{"answer":"x(0,0)"}}"#).await;
    assert_eq!((code.as_str(), message.contains("reset")), ("EXECUTION_ERROR", true), "{message}");
    let state = client.call(json!({ "type": "state" })).await["data"].clone();
    assert_eq!((&state["episode_id"], &state["step_count"], &state["done"]), (&json!("a"), &json!(4), &json!(true)));
    assert_eq!(client.reset(json!({ "seed": 2 })).await["done"], false);
    server.stop().stopped().await;
}

#[tokio::test]
async fn episodes_follow_from_their_seeds() {
    let server = server().await;
    let (mut a, mut b) = (OpenEnv::open(&server, "leduc_poker").await, OpenEnv::open(&server, "leduc_poker").await);
    b.play(json!({ "seed": 3, "seat": 1, "history": 2 })).await;
    let mut starts = Vec::new();
    for seed in 1..9 {
        let arguments = json!({ "seed": seed, "seat": seed % 2, "scale": "unit" });
        let (one, two) = (a.play(arguments.clone()).await, b.play(arguments).await);
        assert_eq!(one, two);
        let reward = one[one.len() - 1]["reward"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&reward), "{reward}");
        starts.push(one[0]["observation"]["prompt"].clone());
    }
    starts.dedup();
    assert!(starts.len() > 1, "seeds have different starts");
    server.stop().stopped().await;
}

/// The prompts of an episode, on the native wire: system and user message of each turn.
async fn native_prompts(server: &Server, game: &str, settings: Value, seed: u64) -> Vec<Vec<String>> {
    let (client, _events) = Client::connect(&server.address.to_string(), Options::default()).await.unwrap();
    let env = client.open(Open {
        seats: Some(vec!["agent".into(), "random".into()]),
        views: Some(vec![GymView::Prompt]),
        prompt: settings.as_object().unwrap().clone(),
        ..Open::new(game)
    });
    let env = env.await.unwrap();
    let mut batch = env.reset(Some(seed)).await.unwrap();
    let mut prompts = Vec::new();
    while let Some(messages) = batch.prompt.as_ref().and_then(|rows| rows[0].as_ref()) {
        prompts.push(messages.iter().map(|message| message.content.clone()).collect());
        let legal = env.legal_actions(&batch).unwrap().row(0).iter().position(|legal| *legal).unwrap();
        let view = ViewEnv { names: Some(vec![legal as i64]), ..Default::default() };
        let name = env.view(view).await.unwrap().names.unwrap().remove(0);
        let answers = Some(vec![Some(format!("Answer: {name}"))]);
        batch = env.step_with(StepEnvs { answers, ..StepEnvs::default() }).await.unwrap();
    }
    prompts
}

#[tokio::test]
async fn prompts_equal_those_of_the_native_wire() {
    let server = server().await;
    for game in ["connect_four", "texas_holdem"] {
        for settings in
            [json!({ "prompting": "chat" }), json!({ "prompting": "cot", "history": 3, "template": "user" })]
        {
            let native = native_prompts(&server, game, settings.clone(), 5).await;
            let mut arguments = settings.clone();
            arguments["seed"] = json!(5);
            let played = OpenEnv::open(&server, game).await.play(arguments).await;
            assert_eq!(played.len(), native.len() + 1, "{game} {settings}");
            for (turn, (result, messages)) in played.iter().zip(&native).enumerate() {
                let observation = &result["observation"];
                assert_eq!(observation["prompt"], json!(messages[messages.len() - 1]));
                let in_conversation = settings["prompting"] == "chat" && turn > 0;
                let system = if in_conversation || messages.len() == 1 { "" } else { &messages[0] };
                assert_eq!(observation["system"], json!(system));
            }
            assert_eq!(played[native.len()]["observation"]["prompt"], "");
        }
    }
    server.stop().stopped().await;
}

#[tokio::test]
async fn hidden_and_document_moves_are_not_listed() {
    let server = server().await;
    let mut client = OpenEnv::open(&server, "tic_tac_toe").await;
    assert_eq!(client.reset(json!({ "seed": 1, "legal": false })).await["observation"]["legal"], json!([]));
    assert_eq!(client.step("x(1,1)").await["observation"]["legal"], json!([]));
    assert_ne!(client.reset(json!({ "seed": 1 })).await["observation"]["legal"], json!([]));
    // An object is the answer as the model wrote it.
    let reply = client.call(json!({ "type": "step", "data": { "move": "x(1,1)" } })).await;
    assert_eq!((&reply["data"]["observation"]["refusal"], &reply["data"]["done"]), (&Value::Null, &json!(false)));
    server.stop().stopped().await;
}
