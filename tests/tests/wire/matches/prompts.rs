//! Prompts for language models in matches, and their answers.

use ludex_tests::{Bot, Server};
use serde_json::json;

#[tokio::test]
async fn model_plays_a_match_by_its_answers() {
    let server = Server::start(|_| {}).await;
    let mut bot = Bot::new(server.address, "model").await;
    bot.join(json!({"game": "tic_tac_toe", "against": ["random"], "seat": 0, "count": 1, "views": ["prompt"],
        "prompt": {"prompting": "chat"}}))
        .await;
    let turn = bot.wait("turn").await;
    let prompt = turn["view"]["prompt"].as_array().expect("a prompt");
    assert_eq!((&prompt[0]["role"], &prompt[1]["role"]), (&json!("system"), &json!("user")));

    // The prompt equals that of an environment in the same position.
    let game = json!({"game": "tic_tac_toe", "views": ["prompt"], "prompt": {"prompting": "chat"}});
    let env = bot.call("open", game).await["env"].clone();
    let batch = bot.call("reset", json!({"env": env})).await;
    assert_eq!(batch["prompt"][0], turn["view"]["prompt"]);

    let act = |attempt: u32, answer: &str| json!({"match": turn["match"], "turn": 0, "try": attempt, "answer": answer});
    let refused = bot.call("act", act(0, "I pass.")).await;
    assert_eq!((&refused["type"], &refused["answer"]["verdict"]), (&json!("refused"), &json!("unparsed")));
    assert!(refused["answer"]["message"].as_str().is_some_and(|words| !words.is_empty()), "{refused}");
    let accepted = bot.call("act", act(1, "The centre.\nAnswer: x(1,1)")).await;
    assert_eq!((&accepted["type"], &accepted["text"]), (&json!("accepted"), &json!("x(1,1)")));

    // A move beside the answer is ambiguous.
    let mut both = act(2, "Answer: x(0,0)");
    both["action"] = json!(0);
    assert_eq!(bot.call("act", both).await["code"], "bad_field");
    server.stop().stopped().await;
}

#[tokio::test]
async fn join_with_unknown_settings_of_prompts_is_refused() {
    let server = Server::start(|_| {}).await;
    let mut bot = Bot::new(server.address, "model").await;
    for (settings, path) in [
        (json!({"histroy": 3}), "prompt.histroy"),
        (json!({"prompting": "tot"}), "prompt.prompting"),
        (json!({"base_url": "http://127.0.0.1:1"}), "prompt.base_url"),
    ] {
        let join = json!({"game": "tic_tac_toe", "against": ["random"], "prompt": settings});
        let refused = bot.call("join", join).await;
        assert_eq!((&refused["code"], &refused["path"]), (&json!("bad_field"), &json!(path)), "{refused}");
        let enrol = bot.call("enrol", json!({"suite": "quick", "run": "r", "prompt": settings})).await;
        assert_eq!((&enrol["code"], &enrol["path"]), (&json!("bad_field"), &json!(path)), "{enrol}");
    }
    server.stop().stopped().await;
}
