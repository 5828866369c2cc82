//! Gym plane over real sockets, with hand-written JSON.

use ludex_tests::{Client, Server};
use serde_json::{Value, json};

fn numbers(column: &Value) -> Vec<i64> {
    column.as_array().expect("a column").iter().map(|n| n.as_i64().expect("a whole number")).collect()
}

#[tokio::test]
async fn reset_and_step_requests_return_batches() {
    let server = Server::start(|_| {}).await;
    let mut c = Client::hello(server.address).await;
    let opened = c.call("open", json!({"game": "connect_four", "count": 2})).await;
    assert_eq!((&opened["type"], &opened["env"], &opened["count"]), (&json!("opened"), &json!(1), &json!(2)));
    assert_eq!(opened["spec"]["game"], "connect_four");
    let b = c.call("reset", json!({"env": 1, "seed": "42"})).await;
    assert_eq!(b["type"], "batch", "{b}");
    assert_eq!(b["to_move"], json!([0, 0]));
    assert_eq!(b["mask"], json!(vec![1; 14]));
    assert_eq!(b["reward"], json!([0, 0, 0, 0]));
    assert_eq!(b["episode"], json!([0, 0]));
    let (d, s) = (&b["obs"], opened["spec"]["views"]["tensor"].as_object().unwrap());
    let (name, array) = s.iter().next().unwrap();
    let shape: Vec<i64> = std::iter::once(2).chain(numbers(&array["s"])).collect();
    assert_eq!(d[name]["s"], json!(shape));
    assert_eq!(d[name]["v"].as_array().unwrap().len() as i64, shape.iter().product::<i64>());
    let b = c.call("step", json!({"env": 1, "actions": [3, 4]})).await;
    assert_eq!((&b["to_move"], &b["length"]), (&json!([1, 1]), &json!([1, 1])));
    let b = c.call("step", json!({"env": 1, "envs": [1], "actions": [0]})).await;
    assert_eq!((&b["envs"], &b["to_move"], &b["length"]), (&json!([1]), &json!([0]), &json!([2])));
    assert_eq!(c.call("close", json!({"env": 1})).await["type"], "ok");
    let e = c.call("step", json!({"env": 1, "actions": [3, 4]})).await;
    assert_eq!((&e["type"], &e["code"], &e["path"]), (&json!("error"), &json!("unknown_env"), &json!("env")));
    assert!(server.is_well().await);
    server.stop().stopped().await;
}

async fn opened(c: &mut Client, fields: Value) -> i64 {
    let opened = c.call("open", fields).await;
    assert_eq!(opened["type"], "opened", "{opened}");
    opened["env"].as_i64().expect("a handle")
}

fn is_error(answer: &Value, code: &str, path: &str) {
    assert_eq!((&answer["type"], &answer["code"]), (&json!("error"), &json!(code)), "{answer}");
    assert_eq!(answer["path"], path, "{answer}");
}

#[tokio::test]
async fn catalogue_lists_games() {
    let server = Server::start(|_| {}).await;
    let mut c = Client::hello(server.address).await;
    let games = c.call("list_games", json!({})).await;
    let all = games["games"].as_array().unwrap().len();
    assert!(all >= 4, "{games}");
    let games = c.call("list_games", json!({"filter": {"information": "imperfect", "players": 2}})).await;
    let ids: Vec<&str> = games["games"].as_array().unwrap().iter().map(|g| g["game"].as_str().unwrap()).collect();
    assert!(ids.contains(&"kuhn_poker") && !ids.contains(&"connect_four"), "{ids:?}");
    let spec = c.call("describe", json!({"game": "kuhn_poker(players=3)", "rules_text": true})).await;
    assert_eq!(spec["spec"]["players"], 3);
    assert!(spec["spec"]["text"].as_str().unwrap().contains('#'));
    let e = c.call("describe", json!({"game": "conect_four"})).await;
    is_error(&e, "unknown_game", "game");
    assert_eq!((&e["nearest"], &e["got"]), (&json!("connect_four"), &json!("conect_four")));
    let e = c.call("describe", json!({"game": "kuhn_poker", "params": {"player": 3}})).await;
    is_error(&e, "bad_params", "params.player");
    assert_eq!(e["nearest"], "players");
    let e = c.call("describe", json!({"game": "kuhn_poker", "params": {"players": 99}})).await;
    is_error(&e, "bad_params", "params.players");
    server.stop().stopped().await;
}

#[tokio::test]
async fn open_request_with_invalid_settings_is_refused() {
    let server = Server::start(|c| {
        c.limits.batch = 100;
        c.limits.envs = 2;
        c.opponents.search.sims = 50;
    })
    .await;
    let mut c = Client::hello(server.address).await;
    let ttt = |more: Value| {
        let mut fields = json!({"game": "tic_tac_toe"});
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        fields
    };
    let cases = [
        (json!({"count": 101}), "limit", "count"),
        (json!({"count": 0}), "bad_field", "count"),
        (json!({"count": -1}), "bad_field", "count"),
        (json!({"seats": ["agent"]}), "bad_shape", "seats"),
        (json!({"seats": ["random", "random"]}), "bad_shape", "seats"),
        (json!({"seats": ["agent", "randm"]}), "unknown_agent", "seats"),
        (json!({"seats": ["uci cmd=stockfish", "agent"]}), "forbidden", "seats"),
        (json!({"seats": ["agent", "mcts sims=51"]}), "limit", "seats"),
        (json!({"views": ["tensor", "smell"]}), "bad_field", "views"),
        (json!({"layout": "klingon"}), "bad_field", "layout"),
        (json!({"max_steps": 0}), "bad_field", "max_steps"),
        (json!({"rotate": "often"}), "bad_field", "rotate"),
        (json!({"params": {"rows": 3}}), "bad_params", "params.rows"),
    ];
    for (fields, code, path) in cases {
        is_error(&c.call("open", ttt(fields)).await, code, path);
    }
    opened(&mut c, ttt(json!({}))).await;
    opened(&mut c, ttt(json!({}))).await;
    assert_eq!(c.call("open", ttt(json!({}))).await["code"], "limit");
    assert_eq!(c.call("clone", json!({"env": 1})).await["code"], "limit");
    assert!(server.is_well().await);
    server.stop().stopped().await;
}

#[tokio::test]
async fn step_with_one_invalid_action_is_refused() {
    let server = Server::start(|_| {}).await;
    let mut c = Client::hello(server.address).await;
    let env = opened(&mut c, json!({"game": "tic_tac_toe", "count": 3, "autoreset": "disabled"})).await;
    let e = c.call("step", json!({"env": env, "actions": [0, 1, 2]})).await;
    assert_eq!(e["code"], "env_over", "never reset: {e}");
    c.call("reset", json!({"env": env, "seed": "1"})).await;
    c.call("step", json!({"env": env, "actions": [0, 1, 2]})).await;
    let e = c.call("step", json!({"env": env, "actions": [3, 1, 3]})).await;
    is_error(&e, "illegal_action", "actions");
    assert_eq!((&e["index"], &e["got"]), (&json!(1), &json!(1)));
    assert_eq!(numbers(&e["allowed"]), [0, 2, 3, 4, 5, 6, 7, 8]);
    for (fields, code, path) in [
        (json!({"actions": [0]}), "bad_shape", "actions"),
        (json!({"actions": [3, 3, 3], "moves": [3, 3, 3]}), "bad_field", "actions"),
        (json!({}), "bad_field", "actions"),
        (json!({"envs": [7], "actions": [3]}), "bad_field", "envs"),
        (json!({"envs": [0, 0], "actions": [3, 4]}), "bad_field", "envs"),
        (json!({"actions": [9, 3, 3]}), "illegal_action", "actions"),
        (json!({"moves": ["x(9,9)", null, null]}), "unparsed", "moves"),
    ] {
        let mut fields = fields;
        fields["env"] = env.into();
        is_error(&c.call("step", fields).await, code, path);
    }
    let b = c.call("step", json!({"env": env, "actions": [-1, -1, -1]})).await;
    assert_eq!((&b["length"], &b["to_move"]), (&json!([1, 1, 1]), &json!([1, 1, 1])), "nothing has moved");
    let b = c.call("step", json!({"env": env, "moves": ["o(1,1)", 3, null]})).await;
    assert_eq!(b["length"], json!([2, 2, 1]));
    server.stop().stopped().await;
}

/// Plays the cells 0, 1 and 2 for x, and 3 and 4 for o, so that x wins with the fifth move.
async fn win(c: &mut Client, env: i64) -> Value {
    for a in [0, 3, 1, 4] {
        c.call("step", json!({"env": env, "actions": [a]})).await;
    }
    c.call("step", json!({"env": env, "actions": [2]})).await
}

#[tokio::test]
async fn reset_works_in_every_autoreset_mode() {
    let server = Server::start(|_| {}).await;
    let mut c = Client::hello(server.address).await;
    let modes = ["next_step", "same_step", "disabled"];
    let mut envs = Vec::new();
    for mode in modes {
        let env =
            opened(&mut c, json!({"game": "tic_tac_toe", "autoreset": mode, "views": ["returns", "struct"]})).await;
        c.call("reset", json!({"env": env, "seed": "5"})).await;
        envs.push(env);
    }
    let b = win(&mut c, envs[0]).await;
    assert_eq!((&b["terminated"], &b["reward"], &b["to_move"]), (&json!([1]), &json!([1, -1]), &json!([-4])));
    assert_eq!(b["returns"], json!([1, -1]));
    let b = c.call("step", json!({"env": envs[0], "actions": [8]})).await;
    assert_eq!((&b["length"], &b["episode"], &b["reward"]), (&json!([0]), &json!([1]), &json!([0, 0])));

    let b = win(&mut c, envs[1]).await;
    assert_eq!((&b["terminated"], &b["reward"], &b["to_move"]), (&json!([1]), &json!([1, -1]), &json!([0])));
    assert_eq!((&b["length"], &b["episode"], &b["returns"]), (&json!([0]), &json!([1]), &json!([0, 0])));
    assert_eq!((&b["final"]["at"], &b["final"]["returns"]), (&json!([0]), &json!([1, -1])));
    assert_eq!(b["final"]["length"], json!([5]));
    assert_ne!(b["final"]["struct"][0], b["struct"][0]);

    let b = win(&mut c, envs[2]).await;
    assert_eq!((&b["terminated"], &b["final"]), (&json!([1]), &Value::Null));
    let e = c.call("step", json!({"env": envs[2], "actions": [8]})).await;
    assert_eq!((&e["code"], &e["index"]), (&json!("env_over"), &json!(0)));
    let b = c.call("reset", json!({"env": envs[2], "envs": [0]})).await;
    assert_eq!((&b["length"], &b["episode"]), (&json!([0]), &json!([1])));
    server.stop().stopped().await;
}

#[tokio::test]
async fn mask_encodings_contain_equal_legal_actions() {
    let server = Server::start(|_| {}).await;
    let mut c = Client::hello(server.address).await;
    let mut shown = Vec::new();
    for mask in ["u1", "bits", "ids", "none"] {
        let env = opened(&mut c, json!({"game": "tic_tac_toe", "count": 2, "mask": mask})).await;
        c.call("reset", json!({"env": env, "seed": "0"})).await;
        shown.push(c.call("step", json!({"env": env, "actions": [0, 8]})).await["mask"].clone());
    }
    assert_eq!(shown[0], json!([0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0]));
    assert_eq!(shown[1], json!([0xfe, 1, 0xff, 0]));
    assert_eq!(shown[2], json!({"o": [0, 8, 16], "a": [1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3, 4, 5, 6, 7]}));
    assert_eq!(shown[3], Value::Null);
    server.stop().stopped().await;
}

#[tokio::test]
async fn server_plays_seats_of_builtin_agents() {
    let server = Server::start(|c| {
        c.opponents.named.insert("house".into(), "random".into());
    })
    .await;
    let mut c = Client::hello(server.address).await;
    let fields = json!({"game": "connect_four", "count": 4, "seats": ["agent", "house"], "rotate": "cycle",
        "autoreset": "same_step", "views": ["tensor", "returns"]});
    let env = opened(&mut c, fields).await;
    let b = c.call("reset", json!({"env": env, "seed": "3"})).await;
    assert_eq!((&b["seat"], &b["to_move"]), (&json!([0, 0, 0, 0]), &json!([0, 0, 0, 0])));
    let (mut ended, mut turned) = (0, false);
    for k in 0..60 {
        // Chooses the first legal column according to the mask.
        let b = if k == 0 { b.clone() } else { c.call("step", json!({"env": env, "actions": []})).await };
        assert_eq!(b["code"], if k == 0 { Value::Null } else { json!("bad_shape") });
        let look = c.call("step", json!({"env": env, "actions": [-1, -1, -1, -1]})).await;
        let mask = numbers(&look["mask"]);
        let actions: Vec<usize> = (0..4).map(|i| mask[i * 7..][..7].iter().position(|&m| m == 1).unwrap()).collect();
        let b = c.call("step", json!({"env": env, "actions": actions})).await;
        assert_eq!(b["type"], "batch", "{b}");
        assert_eq!(b["to_move"], b["seat"], "expected the client to move");
        let over = numbers(&b["terminated"]).iter().sum::<i64>();
        ended += over;
        if over > 0 {
            let rewards = b["reward"].as_array().unwrap();
            let at = b["final"]["at"][0].as_u64().unwrap() as usize;
            let (seat, returns) = (b["final"]["seat"][0].as_u64().unwrap() as usize, &b["final"]["returns"]);
            assert_eq!(rewards[at * 2 + seat], returns[seat], "the reward includes the opponent's last move");
            turned |= numbers(&b["seat"]).contains(&1);
        }
    }
    assert!(ended > 4 && turned, "{ended} episodes, seats rotate");
    let e = c.call("reset", json!({"env": env, "seats": ["agent", "stranger"]})).await;
    is_error(&e, "unknown_agent", "seats");
    let b = c.call("reset", json!({"env": env, "seed": "3", "seats": ["house", "agent"]})).await;
    assert_eq!(b["seat"], json!([1, 1, 1, 1]));
    server.stop().stopped().await;
}

#[tokio::test]
async fn client_chooses_chance_outcomes() {
    let server = Server::start(|_| {}).await;
    let mut c = Client::hello(server.address).await;
    let env = opened(&mut c, json!({"game": "kuhn_poker", "chance": "client", "mask": "ids"})).await;
    let b = c.call("reset", json!({"env": env, "seed": "42"})).await;
    assert_eq!(b["to_move"], json!([-1]));
    assert_eq!((&b["chance"]["o"], &b["chance"]["a"]), (&json!([0, 3]), &json!([0, 1, 2])));
    assert_eq!(b["mask"], json!({"o": [0, 0], "a": []}));
    let names = c.call("view", json!({"env": env, "names": [0, 7]})).await;
    assert_ne!(names["names"][0], "");
    assert_eq!(names["names"][1], "");
    let e = c.call("step", json!({"env": env, "actions": [3]})).await;
    assert_eq!((&e["code"], &e["allowed"]), (&json!("illegal_action"), &json!([0, 1, 2])));
    c.call("step", json!({"env": env, "actions": [2]})).await;
    let b = c.call("step", json!({"env": env, "actions": [0]})).await;
    assert_eq!((&b["to_move"], &b["length"]), (&json!([0]), &json!([0])), "chance does not count as a move");
    c.call("step", json!({"env": env, "actions": [1]})).await;
    let b = c.call("step", json!({"env": env, "actions": [1]})).await;
    assert_eq!((&b["terminated"], &b["reward"]), (&json!([1]), &json!([2, -2])), "the king was bet and called");
    server.stop().stopped().await;
}

#[tokio::test]
async fn joint_moves_of_seats_are_accepted() {
    let server = Server::start(|_| {}).await;
    let mut c = Client::hello(server.address).await;
    let game = json!({"game": "iterated_prisoners_dilemma", "params": {"num_repetitions": 3}, "observer": "all"});
    let env = opened(&mut c, game).await;
    let b = c.call("reset", json!({"env": env})).await;
    assert_eq!((&b["to_move"], b["mask"].as_array().unwrap().len()), (&json!([-2]), 4));
    for (actions, at) in
        [(json!([0]), "bad_shape"), (json!([0, -1]), "illegal_action"), (json!([0, 2]), "illegal_action")]
    {
        assert_eq!(c.call("step", json!({"env": env, "actions": actions})).await["code"], at);
    }
    for _ in 0..2 {
        c.call("step", json!({"env": env, "actions": [0, 1]})).await;
    }
    let b = c.call("step", json!({"env": env, "actions": [1, 1]})).await;
    assert_eq!((&b["terminated"], &b["length"]), (&json!([1]), &json!([3])));
    server.stop().stopped().await;
}

#[tokio::test]
async fn illegal_action_loses_if_configured() {
    let server = Server::start(|_| {}).await;
    let mut c = Client::hello(server.address).await;
    let env = opened(&mut c, json!({"game": "tic_tac_toe", "count": 2, "on_illegal": "lose"})).await;
    c.call("reset", json!({"env": env})).await;
    c.call("step", json!({"env": env, "actions": [4, 4]})).await;
    let b = c.call("step", json!({"env": env, "actions": [0, 4]})).await;
    assert_eq!((&b["illegal"], &b["terminated"]), (&json!([1]), &json!([0, 1])));
    assert_eq!(b["reward"], json!([0, 0, 1, -1]));
    server.stop().stopped().await;
}

#[tokio::test]
async fn step_limit_truncates_episode() {
    let server = Server::start(|_| {}).await;
    let mut c = Client::hello(server.address).await;
    let env = opened(&mut c, json!({"game": "connect_four", "max_steps": 2})).await;
    c.call("reset", json!({"env": env})).await;
    c.call("step", json!({"env": env, "actions": [0]})).await;
    let b = c.call("step", json!({"env": env, "actions": [0]})).await;
    assert_eq!((&b["truncated"], &b["terminated"], &b["to_move"]), (&json!([1]), &json!([0]), &json!([-4])));
    server.stop().stopped().await;
}

#[tokio::test]
async fn clone_and_restore_preserve_running_episodes() {
    let server = Server::start(|_| {}).await;
    let mut c = Client::hello(server.address).await;
    let env = opened(&mut c, json!({"game": "kuhn_poker", "count": 3, "views": ["struct", "returns"]})).await;
    c.call("reset", json!({"env": env, "seed": "42"})).await;
    let before = c.call("step", json!({"env": env, "actions": [0, 1, 0]})).await;

    let views = json!({"env": env, "i": 1, "seat": 0, "views": ["struct", "text", "tensor"], "names": [0, 1, 99, -1],
        "parse": ["Bet", "nonsense"]});
    let seen = c.call("view", views).await;
    assert!(seen["struct"].is_object() && seen["text"].is_string() && seen["tensor"].is_object(), "{seen}");
    assert_eq!((&seen["names"][2], &seen["names"][3]), (&json!(""), &json!("")));
    assert_eq!(seen["parsed"], json!([null, null]), "seat 0 is not to move");
    let seen = c.call("view", json!({"env": env, "i": 1, "parse": ["Bet", "nonsense"]})).await;
    assert_eq!(seen["parsed"], json!([1, null]));
    is_error(&c.call("view", json!({"env": env, "i": 3})).await, "bad_field", "i");
    is_error(&c.call("view", json!({"env": env, "seat": 2})).await, "bad_field", "seat");

    let snapshots = c.call("snapshot", json!({"env": env})).await;
    assert_eq!(snapshots["items"].as_array().unwrap().len(), 3);
    let copy = c.call("clone", json!({"env": env, "envs": [2, 0]})).await;
    assert_eq!((&copy["type"], &copy["count"]), (&json!("opened"), &json!(2)));
    assert_ne!(copy["env"], json!(env));
    let moved = c.call("step", json!({"env": copy["env"], "actions": [1, 1]})).await;
    assert_eq!(moved["length"], json!([2, 2]));
    c.call("step", json!({"env": env, "actions": [0, 0, 0]})).await;
    let back = c.call("restore", json!({"env": env, "items": snapshots["items"]})).await;
    for field in ["to_move", "struct", "length", "episode", "mask", "terminated"] {
        assert_eq!(back[field], before[field], "{field}");
    }
    // A snapshot includes the random stream, so the next episode has the same cards after a restore.
    let first = c.call("reset", json!({"env": env, "envs": [1]})).await;
    let second = c.call("reset", json!({"env": env, "envs": [1]})).await;
    c.call("restore", json!({"env": env, "items": snapshots["items"]})).await;
    assert_eq!(c.call("reset", json!({"env": env, "envs": [1]})).await["struct"], first["struct"]);
    assert_eq!(c.call("reset", json!({"env": env, "envs": [1]})).await["struct"], second["struct"]);

    for (items, at) in [(json!(["AAAA"]), 0), (json!(["", ""]), 0), (json!([snapshots["items"][0], "gaN4eXo="]), 1)] {
        let envs: Vec<usize> = (0..items.as_array().unwrap().len()).collect();
        let e = c.call("restore", json!({"env": env, "envs": envs, "items": items})).await;
        is_error(&e, "bad_snapshot", "items");
        assert_eq!(e["index"], at);
        let said = format!("expected an item returned by `snapshot` at index {at}, got undecodable bytes");
        assert_eq!(e["message"], said);
    }
    let other = opened(&mut c, json!({"game": "tic_tac_toe"})).await;
    c.call("reset", json!({"env": other})).await;
    let e = c.call("restore", json!({"env": other, "items": [snapshots["items"][0]]})).await;
    is_error(&e, "bad_snapshot", "items");
    server.stop().stopped().await;
}

#[tokio::test]
async fn equal_seeds_give_equal_episodes() {
    let server = Server::start(|_| {}).await;
    let mut c = Client::hello(server.address).await;
    let many = opened(&mut c, json!({"game": "kuhn_poker", "count": 3, "views": ["struct"], "observer": "all"})).await;
    let one = opened(&mut c, json!({"game": "kuhn_poker", "views": ["struct"], "observer": "all"})).await;
    let b = c.call("reset", json!({"env": many, "seed": "18446744073709551615"})).await;
    for (i, seed) in ["18446744073709551615", "0", "1"].into_iter().enumerate() {
        let single = c.call("reset", json!({"env": one, "seed": seed})).await;
        assert_eq!(single["struct"].as_array().unwrap()[..], b["struct"].as_array().unwrap()[2 * i..2 * i + 2]);
    }
    let each = c.call("reset", json!({"env": many, "envs": [2, 0], "seeds": ["1", "0"]})).await;
    assert_eq!(each["struct"].as_array().unwrap()[..2], b["struct"].as_array().unwrap()[4..]);
    for (fields, code) in [
        (json!({"seed": 42}), "bad_seed"),
        (json!({"seed": "18446744073709551616"}), "bad_seed"),
        (json!({"seed": "-1"}), "bad_seed"),
        (json!({"seeds": ["1"]}), "bad_shape"),
        (json!({"seed": "1", "seeds": ["1", "2", "3"]}), "bad_field"),
    ] {
        let mut fields = fields;
        fields["env"] = many.into();
        assert_eq!(c.call("reset", fields).await["code"], code);
    }
    server.stop().stopped().await;
}

#[tokio::test]
async fn pipelined_requests_of_an_environment_get_replies_in_order() {
    let server = Server::start(|_| {}).await;
    let mut c = Client::hello(server.address).await;
    let a = opened(&mut c, json!({"game": "tic_tac_toe"})).await;
    // A search agent on the compute pool plays in the second handle, whose replies arrive later but in order.
    let b = opened(&mut c, json!({"game": "connect_four", "seats": ["agent", "mcts sims=2000"]})).await;
    let mut ids = Vec::new();
    for (env, action) in [(b, -2), (a, -2), (b, 3), (b, 3), (a, 4), (a, 0), (b, 3)] {
        let id = match action {
            -2 => c.ask("reset", json!({"env": env, "seed": "1"})).await,
            _ => c.ask("step", json!({"env": env, "actions": [action]})).await,
        };
        ids.push((id, env));
    }
    let mut order = Vec::new();
    for _ in &ids {
        let message = c.hear().await;
        assert_eq!(message["type"], "batch", "{message}");
        order.push((message["re"].as_i64().unwrap(), message["env"].as_i64().unwrap()));
    }
    for env in [a, b] {
        let of = |list: &[(i64, i64)]| list.iter().filter(|x| x.1 == env).map(|x| x.0).collect::<Vec<_>>();
        assert_eq!(of(&order), of(&ids), "the replies of one environment come in order");
    }
    let look = c.call("step", json!({"env": b, "actions": [-1]})).await;
    assert_eq!(look["length"], json!([6]));
    // A `close` is executed after earlier requests to the handle, even if the handle is busy.
    let step = c.ask("step", json!({"env": b, "actions": [0]})).await;
    let close = c.ask("close", json!({"env": b})).await;
    let late = c.ask("step", json!({"env": b, "actions": [0]})).await;
    assert_eq!(c.reply(step).await["type"], "batch");
    assert_eq!(c.reply(close).await["type"], "ok");
    assert_eq!(c.reply(late).await["code"], "unknown_env");
    server.stop().stopped().await;
}

#[tokio::test]
async fn json_and_messagepack_batches_are_equal() {
    let server = Server::start(|_| {}).await;
    let mut json = Client::hello(server.address).await;
    let mut packed = Client::greet(server.address, Some("ludex.v1.msgpack"), json!({})).await;
    let open = json!({"game": "kuhn_poker", "count": 2, "views": ["tensor", "struct", "text", "returns"],
        "seats": ["agent", "random"], "autoreset": "same_step", "mask": "bits", "observer": "all"});
    let (a, b) = (json.call("open", open.clone()).await, packed.call("open", open).await);
    assert_eq!(a, b);
    let script = [
        ("reset", json!({"env": 1, "seed": "9"})),
        ("step", json!({"env": 1, "actions": [0, 1]})),
        ("step", json!({"env": 1, "actions": [1, 0]})),
        ("step", json!({"env": 1, "actions": [9, 0]})),
    ];
    for (kind, fields) in script {
        let a = json.call(kind, fields.clone()).await;
        let mut b = packed.call(kind, fields).await;
        unpack(&mut b);
        assert_eq!(a, b, "{kind}");
    }
    let (a, b) = (json.call("snapshot", json!({"env": 1})).await, packed.call("snapshot", json!({"env": 1})).await);
    let raw = b["items"][0].as_array().unwrap().len();
    assert_eq!(a["items"][0].as_str().unwrap().len(), raw.div_ceil(3) * 4, "base64 beside bin");
    server.stop().stopped().await;
}

/// Converts the bins of a MessagePack batch, decoded as lists of bytes, to the numbers that JSON shows.
fn unpack(b: &mut Value) {
    let columns = [("reward", 'f', 4), ("returns", 'f', 8), ("length", 'u', 4), ("episode", 'u', 4), ("at", 'u', 4)];
    fn column(v: &mut Value, kind: char, size: usize) {
        let Some(bytes) = v.as_array() else { return };
        let bytes: Vec<u8> = bytes.iter().map(|n| n.as_u64().unwrap() as u8).collect();
        let number = |c: &[u8]| -> Value {
            match (kind, size) {
                ('f', 4) => f64::from(f32::from_le_bytes(c.try_into().unwrap())).into(),
                ('f', _) => f64::from_le_bytes(c.try_into().unwrap()).into(),
                ('i', _) => i64::from(c[0] as i8).into(),
                _ => u32::from_le_bytes(c.try_into().unwrap()).into(),
            }
        };
        *v = bytes.chunks(size).map(number).map(whole).collect();
    }
    fn whole(v: Value) -> Value {
        match v.as_f64() {
            Some(f) if f.fract() == 0.0 => (f as i64).into(),
            _ => v,
        }
    }
    for (name, kind, size) in columns {
        for part in ["", "final", "skipped"] {
            let Some(of) = (if part.is_empty() { Some(&mut *b) } else { b.get_mut(part) }) else { continue };
            if let Some(v) = of.get_mut(name).filter(|v| v.is_array()) {
                column(v, kind, size);
            }
        }
    }
    for part in ["", "final"] {
        let Some(of) = (if part.is_empty() { Some(&mut *b) } else { b.get_mut(part) }) else { continue };
        for name in ["to_move", "seat"] {
            if let Some(v) = of.get_mut(name) {
                column(v, 'i', 1);
            }
        }
        for tensors in ["obs", "info"] {
            for (_, t) in of.get_mut(tensors).and_then(Value::as_object_mut).into_iter().flatten() {
                if let Some(bytes) = t.as_object_mut().and_then(|t| t.remove("b")) {
                    t["v"] = bytes;
                    if t["d"] == "f4" {
                        column(&mut t["v"], 'f', 4);
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn recorded_gym_episodes_are_stored_and_verify() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start_in(data.path(), |_| {}).await;
    let mut c = Client::greet(server.address, None, json!({"agent": {"name": "learner", "kind": "learner"}})).await;
    let games = [
        (json!({"game": "kuhn_poker", "count": 4, "seats": ["agent", "random"], "rotate": "cycle"}), 40),
        (json!({"game": "kuhn_poker", "count": 2, "chance": "client", "mask": "ids"}), 60),
        (json!({"game": "iterated_prisoners_dilemma", "params": {"num_repetitions": 3}, "observer": "all"}), 9),
        (json!({"game": "tic_tac_toe", "count": 2, "max_steps": 3}), 9),
        (json!({"game": "connect_four", "on_illegal": "lose", "seats": ["agent", "mcts sims=10 peek=true"]}), 0),
    ];
    for (mut fields, steps) in games {
        fields["record"] = true.into();
        fields["autoreset"] = "same_step".into();
        let env = opened(&mut c, fields.clone()).await;
        let mut b = c.call("reset", json!({"env": env, "seed": "7"})).await;
        for k in 0..steps {
            let rows = numbers(&b["to_move"]);
            let actions: Vec<i64> = match rows[0] {
                -2 => vec![k % 2, 1],
                _ => rows.iter().enumerate().map(|(i, &mover)| first_legal(&b, i, mover)).collect(),
            };
            b = c.call("step", json!({"env": env, "actions": actions})).await;
            assert_eq!(b["type"], "batch", "{b}");
        }
        if steps == 0 {
            c.call("step", json!({"env": env, "actions": [3]})).await;
            c.call("step", json!({"env": env, "actions": [99]})).await;
        }
    }
    // Records are written in the background and are complete after the store is closed.
    c.cut();
    server.stop().stopped().await;
    let store = ludex_store::Store::open_shared(data.path()).await.unwrap();
    let rows = store.records(&ludex_store::MatchFilter::default(), 0, 1_000).await.unwrap();
    let verifier = ludex_referee::verify::Verifier::new(ludex_games::builtin());
    let (mut reasons, mut flags) = (Vec::new(), Vec::new());
    for row in &rows {
        let record: Value = serde_json::from_str(&row.record).unwrap();
        let parts = ludex_protocol::record::RecordParts::parse(&row.record).unwrap();
        let source = ludex_referee::read::Source { file: "kept".into(), line: 1 };
        if let Err(fault) = verifier.verify(&parts, source) {
            panic!("{fault}: {record}");
        }
        assert_eq!(record["rated"], false);
        assert!(record["seats"].as_array().unwrap().iter().any(|s| s["name"] == "learner" && s["kind"] == "learner"));
        reasons.push(record["reason"].as_str().unwrap().to_owned());
        flags.extend(record["flags"].as_array().unwrap().iter().cloned());
    }
    assert!(rows.len() > 20, "{}", rows.len());
    for reason in ["finished", "truncated", "illegal"] {
        assert!(reasons.iter().any(|r| r == reason), "{reason}: {reasons:?}");
    }
    assert!(flags.contains(&json!("client_chance")) && flags.contains(&json!("peek")));
    store.close().await.unwrap();
    let server = Server::start_in(data.path(), |_| {}).await;
    let (status, page) = server.get(&format!("/episodes/{}", rows[0].id)).await;
    assert_eq!((status, serde_json::from_str::<Value>(&page).unwrap()["digest"].is_string()), (200, true), "{page}");
    server.stop().stopped().await;
}

fn first_legal(b: &Value, row: usize, mover: i64) -> i64 {
    if mover == -1 {
        return b["chance"]["a"][b["chance"]["o"][row].as_u64().unwrap() as usize].as_i64().unwrap();
    }
    if let Some(o) = b["mask"]["o"].as_array() {
        return b["mask"]["a"][o[row].as_u64().unwrap() as usize].as_i64().unwrap();
    }
    let mask = numbers(&b["mask"]);
    let actions = mask.len() / b["to_move"].as_array().unwrap().len();
    mask[row * actions..][..actions].iter().position(|&m| m == 1).unwrap() as i64
}
