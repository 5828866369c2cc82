//! JSON Schema of the protocol.

use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use crate::message::{ClientMessage, ServerMessage};
use crate::record::Record;
use crate::serde_helpers::MAX_INT;

/// Returns the schema document (draft 2020-12), with `ClientMessage`, `ServerMessage`, `Record` and all their
/// components under `$defs`. The schema describes the accepted JSON form, including the `id` or `re` of the envelope.
/// In a client's message, `x-replies` lists the types of the possible replies, without `error`.
pub fn document() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let int = json!({"type": "integer", "minimum": -MAX_INT, "maximum": MAX_INT});
    let id = with("description", "Number of the request, chosen by the client; the reply repeats it as `re`.", &int);
    let re = with("description", "Value of `id` in the request that this message replies to.", &int);
    generator.subschema_for::<ClientMessage>();
    generator.subschema_for::<ServerMessage>();
    generator.subschema_for::<Record>();
    let mut definitions = definitions(&mut generator);
    for (variant, replies) in variants(&mut definitions, "ClientMessage").zip(ClientMessage::REPLIES) {
        variant["properties"]["id"] = id.clone();
        if let (false, Some(required)) = (replies.is_empty(), variant["required"].as_array_mut()) {
            required.push(json!("id"));
        }
        variant["x-replies"] = json!(replies);
    }
    for variant in variants(&mut definitions, "ServerMessage") {
        variant["properties"]["re"] = re.clone();
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Ludex protocol 1",
        "description": "Messages between Ludex and its clients in their JSON form, and episode records.",
        "oneOf": [
            {"$ref": "#/$defs/ClientMessage"},
            {"$ref": "#/$defs/ServerMessage"},
            {"$ref": "#/$defs/Record"}
        ],
        "$defs": definitions
    })
}

fn with(name: &str, value: &str, schema: &Value) -> Value {
    let mut schema = schema.clone();
    schema[name] = json!(value);
    schema
}

fn definitions(generator: &mut SchemaGenerator) -> Map<String, Value> {
    generator.take_definitions(true)
}

/// Iterates over the alternatives of a message enum.
fn variants<'a>(definitions: &'a mut Map<String, Value>, name: &str) -> impl Iterator<Item = &'a mut Value> {
    let list = definitions.get_mut(name).and_then(|schema| schema.get_mut("oneOf")).and_then(Value::as_array_mut);
    list.into_iter().flatten()
}
