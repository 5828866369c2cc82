//! Message trees that can hold values that no parser returns: duplicate keys, numbers that are not finite, lists
//! without end.

use base64::Engine as _;
use serde_json::Value;

/// Part of a message.
#[derive(Clone, Debug)]
pub enum Node {
    /// Null, boolean, number or string.
    Plain(Value),
    /// Bytes, written as base64 in JSON.
    Bytes(Vec<u8>),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
    /// Raw bytes to write in JSON and in MessagePack.
    Raw(&'static str, &'static [u8]),
}

impl From<&Value> for Node {
    fn from(value: &Value) -> Self {
        match value {
            Value::Array(list) => Node::List(list.iter().map(Node::from).collect()),
            Value::Object(map) => Node::Map(map.iter().map(|(key, value)| (Node::text(key), value.into())).collect()),
            plain => Node::Plain(plain.clone()),
        }
    }
}

impl Node {
    pub fn text(text: &str) -> Self {
        Node::Plain(text.into())
    }

    /// Encodes the payload of a frame, in MessagePack if `packed`, otherwise in JSON.
    pub fn payload(&self, packed: bool) -> Vec<u8> {
        let mut out = Vec::new();
        if packed {
            self.pack(&mut out)
        } else {
            self.json(&mut out)
        }
        out
    }

    fn json(&self, out: &mut Vec<u8>) {
        let between = |out: &mut Vec<u8>, at: usize| {
            if at > 0 {
                out.push(b',');
            }
        };
        match self {
            Node::Plain(value) => out.extend(value.to_string().bytes()),
            Node::Bytes(bytes) => {
                let text = base64::engine::general_purpose::STANDARD.encode(bytes);
                out.extend(format!("\"{text}\"").bytes());
            }
            Node::List(nodes) => {
                out.push(b'[');
                for (at, node) in nodes.iter().enumerate() {
                    between(out, at);
                    node.json(out);
                }
                out.push(b']');
            }
            Node::Map(entries) => {
                out.push(b'{');
                for (at, (key, node)) in entries.iter().enumerate() {
                    between(out, at);
                    key.json(out);
                    out.push(b':');
                    node.json(out);
                }
                out.push(b'}');
            }
            Node::Raw(json, _) => out.extend(json.bytes()),
        }
    }

    fn pack(&self, out: &mut Vec<u8>) {
        match self {
            Node::Plain(value) => out.extend(rmp_serde::to_vec(value).expect("a plain value")),
            Node::Bytes(bytes) => {
                out.push(0xc6);
                out.extend((bytes.len() as u32).to_be_bytes());
                out.extend(bytes);
            }
            Node::List(nodes) => {
                length(out, 0x90, 0xdc, nodes.len());
                nodes.iter().for_each(|node| node.pack(out));
            }
            Node::Map(entries) => {
                length(out, 0x80, 0xde, entries.len());
                for (key, node) in entries {
                    key.pack(out);
                    node.pack(out);
                }
            }
            Node::Raw(_, packed) => out.extend(*packed),
        }
    }
}

/// Writes the header of a MessagePack list or map of `n` entries, with a length of 4, 16 or 32 bits.
fn length(out: &mut Vec<u8>, short: u8, long: u8, n: usize) {
    if n < 16 {
        out.push(short | n as u8);
    } else if let Ok(n) = u16::try_from(n) {
        out.push(long);
        out.extend(n.to_be_bytes());
    } else {
        out.push(long + 1);
        out.extend((n as u32).to_be_bytes());
    }
}
