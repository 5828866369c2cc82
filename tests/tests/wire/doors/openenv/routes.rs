//! HTTP routes.

use serde_json::{Value, json};

use super::client::{post, server};

#[tokio::test]
async fn http_routes_answer_as_those_of_openenv() {
    let server = server().await;
    let base = "/openenv/tic_tac_toe";
    let get = async |path: &str| {
        let (status, body) = server.get(&format!("{base}{path}")).await;
        (status, serde_json::from_str::<Value>(&body).unwrap_or(Value::Null))
    };
    assert_eq!(get("/health").await, (200, json!({ "status": "healthy" })));
    let (_, metadata) = get("/metadata").await;
    assert_eq!(metadata["name"], "tic_tac_toe");
    assert!(metadata["readme_content"].as_str().unwrap().len() > 100);
    assert_eq!(get("/state").await.1["step_count"], 0);
    let (_, openapi) = get("/openapi.json").await;
    let (_, schemas) = get("/schema").await;
    let (status, first) = post(&server, &format!("{base}/reset"), r#"{"seed":7}"#).await;
    assert_eq!((status, &first["done"]), (200, &json!(false)));
    let names = |of: &Value| of.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    for name in names(&first["observation"]) {
        assert!(names(&schemas["observation"]["properties"]).contains(&name), "{name}");
    }
    let (status, next) =
        post(&server, &format!("{base}/step"), &json!({ "action": { "answer": "x(0,0)" }, "seed": 7 }).to_string())
            .await;
    assert_eq!((status, &next["observation"]["refusal"]), (200, &Value::Null));
    for (path, body, status) in [
        ("/reset", "", 200),
        ("/reset", "{", 422),
        ("/reset", r#"{"seed":"a"}"#, 422),
        ("/reset", r#"{"opponents":"absent"}"#, 400),
        ("/step", r#"{"action":"x"}"#, 422),
        ("/mcp", "{}", 200),
        ("/tic_tac_toe/tasks", r#"{"split":"test"}"#, 200),
        ("/tic_tac_toe/num_tasks", r#"{"split":"dev"}"#, 422),
        ("/tic_tac_toe/jump", "{}", 404),
        ("/nim/tasks", r#"{"split":"test"}"#, 404),
    ] {
        assert_eq!(post(&server, &format!("{base}{path}"), body).await.0, status, "{path} {body}");
    }
    assert_eq!(get("/list_environments").await.1, json!(["tic_tac_toe"]));
    assert_eq!(get("/tic_tac_toe/splits").await.1[0]["name"], "train");
    // The description names every route, and every route that it names exists.
    for (path, methods) in openapi["paths"].as_object().unwrap() {
        let path = path.replace("{env}", "tic_tac_toe");
        let status = match methods.get("get") {
            Some(_) => get(&path).await.0,
            None => post(&server, &format!("{base}{path}"), "{}").await.0,
        };
        assert!(matches!(status, 200 | 422), "{path}: {status}");
    }
    // Without an upgrade, the route of sessions refuses.
    assert_eq!(server.get(&format!("{base}/ws")).await.0, 426);
    server.stop().stopped().await;
}
