//! The gym plane over real sockets, in JSON written by hand.

use ludex_tests::{Client, Server};
use serde_json::{Value, json};

fn numbers(column: &Value) -> Vec<i64> {
    column.as_array().expect("a column").iter().map(|n| n.as_i64().expect("a whole number")).collect()
}

#[tokio::test]
async fn open_reset_step() {
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
