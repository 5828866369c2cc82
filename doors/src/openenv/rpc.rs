//! JSON-RPC of the route `/mcp`. As on OpenEnv's servers of environments without tools, calls get errors.

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Request in JSON-RPC form.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RpcRequest {
    jsonrpc: String,
    method: String,
    #[serde(default)]
    #[allow(dead_code, reason = "checked for its type only")]
    params: Map<String, Value>,
    #[serde(default)]
    id: Option<RpcId>,
}

/// Id of a request.
#[derive(Deserialize, serde::Serialize)]
#[serde(untagged)]
enum RpcId {
    Number(i64),
    Text(String),
}

/// Returns the response to the text of a request.
pub(super) fn respond_to_text(text: &[u8]) -> Value {
    match serde_json::from_slice(text) {
        Ok(request) => respond(request),
        Err(_) => error(-32700, "Parse error", None),
    }
}

/// Returns the response to a request.
pub(super) fn respond(request: Value) -> Value {
    match serde_json::from_value::<RpcRequest>(request) {
        Ok(RpcRequest { jsonrpc, method, id, .. }) if jsonrpc == "2.0" => match method.as_str() {
            "tools/list" | "tools/call" => {
                error(-32603, "Environment does not support MCP; use reset and step on the WebSocket /ws", id)
            }
            _ => error(-32601, &format!("Method not found: {}", method.chars().take(80).collect::<String>()), id),
        },
        Ok(_) => error(-32600, "Invalid request: jsonrpc: expected \"2.0\"", None),
        Err(e) => error(-32600, &format!("Invalid request: {e}"), None),
    }
}

fn error(code: i32, message: &str, id: Option<RpcId>) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message, "data": null } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_get_the_codes_of_json_rpc() {
        let code = |text: &str| respond_to_text(text.as_bytes())["error"]["code"].as_i64().unwrap();
        assert_eq!(code("{"), -32700);
        assert_eq!([code("{}"), code("[]"), code(r#"{"jsonrpc":"1.0","method":"a"}"#)], [-32600; 3]);
        assert_eq!(code(r#"{"jsonrpc":"2.0","method":"initialize","id":"a"}"#), -32601);
        let listed = respond_to_text(br#"{"jsonrpc":"2.0","method":"tools/list","params":{},"id":7}"#);
        assert_eq!((&listed["id"], &listed["error"]["code"]), (&json!(7), &json!(-32603)));
    }
}
