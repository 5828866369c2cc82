//! Mutations of valid messages and of the bytes of frames.

use ludex_env::Stream;
use serde_json::{Value, json};

use super::node::Node;

/// Invalid or unusual JSON and MessagePack values: numbers that are not finite or too long, lists and maps without end,
/// text that is not UTF-8, unknown types.
const RAW: &[(&str, &[u8])] = &[
    ("NaN", b"\xcb\x7f\xf8\0\0\0\0\0\0"),
    ("-Infinity", b"\xcb\xff\xf0\0\0\0\0\0\0"),
    ("1e999", b"\xca\x7f\x80\0\0"),
    ("123456789012345678901234567890", b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff"),
    ("-9223372036854775809", b"\xd3\x80\0\0\0\0\0\0\0"),
    ("[", b"\xdd\xff\xff\xff\xff"),
    ("{", b"\xdf\xff\xff\xff\xff"),
    ("\"\\ud800\"", b"\xa2\xff\xfe"),
    ("\"", b"\xdb\xff\xff\xff\xf0"),
    ("tru", b"\xc1"),
    ("01", b"\xc6\x7f\xff\xff\xff"),
    ("\"\\u0000\"", b"\xc7\x01\x05\0"),
    ("nul", b"\xd8\x01"),
];

/// Bytes with a special meaning in JSON or MessagePack.
const NASTY: &[u8] =
    b"\x00\x7f\x80\x8f\x90\x9f\xa0\xc0\xc1\xc4\xc6\xc7\xc9\xca\xcb\xcf\xd3\xd4\xd8\xdb\xdd\xdf\xe0\xff{}[]\",:\\-.eE9n";

/// Returns a random element of a list.
pub fn one<'a, T>(random: &mut Stream, of: &'a [T]) -> &'a T {
    &of[random.below(of.len())]
}

/// Returns true with a probability of `n` percent.
pub fn often(random: &mut Stream, n: usize) -> bool {
    random.below(100) < n
}

/// Changes one thing in a message, which is a map that starts with `type` and `id`. Returns false if a server may be
/// unable to find these two fields or to decode the message.
pub fn message(random: &mut Stream, message: &mut Node, others: &[Value]) -> bool {
    let Node::Map(entries) = message else { return false };
    if often(random, 3) || entries.len() <= 2 && often(random, 50) {
        // Changes the first two fields or replaces the whole message.
        match random.below(4) {
            0 => {
                let at = random.below(entries.len());
                return change(random, &mut entries[at].1, others) && at > 1;
            }
            1 => entries.rotate_left(1),
            2 => entries.push(entries[random.below(entries.len())].clone()),
            _ => *message = Node::List(vec![message.clone()]),
        }
        return false;
    }
    match random.below(10) {
        0 if entries.len() > 2 => {
            entries.remove(2 + random.below(entries.len() - 2));
            true
        }
        1 if entries.len() > 2 => {
            let (key, _) = entries[2 + random.below(entries.len() - 2)].clone();
            let (node, good) = value(random, others);
            entries.push((key, node));
            good
        }
        2 => {
            // Inserts a field of another message type, or an unknown field.
            let other = one(random, others).as_object().expect("a message");
            let at = random.below(other.len() + 1);
            let key = other.keys().nth(at).filter(|key| !matches!(key.as_str(), "type" | "id" | "re"));
            let key = Node::text(key.map_or("unknown", String::as_str));
            let (node, good) = value(random, others);
            entries.push((key, node));
            good
        }
        _ if entries.len() > 2 => {
            let at = 2 + random.below(entries.len() - 2);
            change(random, &mut entries[at].1, others)
        }
        _ => true,
    }
}

/// Changes a node or one of its descendants. Returns false if the frame can no longer be decoded.
fn change(random: &mut Stream, node: &mut Node, others: &[Value]) -> bool {
    let inside = often(random, 70);
    match node {
        Node::List(nodes) if inside && !nodes.is_empty() => {
            let at = random.below(nodes.len());
            return change(random, &mut nodes[at], others);
        }
        Node::Map(entries) if inside && !entries.is_empty() => {
            let at = random.below(entries.len());
            let entry = &mut entries[at];
            // Keys must be strings in JSON.
            return match often(random, 20) {
                true => change(random, &mut entry.0, others) && matches!(entry.0, Node::Plain(Value::String(_))),
                false => change(random, &mut entry.1, others),
            };
        }
        Node::List(nodes) if often(random, 60) => match random.below(3) {
            0 => nodes.clear(),
            1 => nodes.extend(nodes.first().cloned().map(|node| vec![node; random.below(40)]).unwrap_or_default()),
            _ => {
                let (node, good) = value(random, others);
                nodes.insert(random.below(nodes.len() + 1), node);
                return good;
            }
        },
        Node::Map(entries) if often(random, 60) && !entries.is_empty() => {
            let at = random.below(entries.len());
            match random.below(2) {
                0 => drop(entries.remove(at)),
                _ => entries.push(entries[at].clone()),
            }
        }
        Node::Plain(Value::Number(number)) if often(random, 50) => {
            let n = number.as_f64().unwrap_or_default();
            let to = [
                json!(n + 1.0),
                json!((n as i64).wrapping_add(1)),
                json!((n as i64).wrapping_sub(1)),
                json!(-n),
                json!(n + 0.5),
                json!(n.to_string()),
            ];
            *node = Node::Plain(one(random, &to).clone());
        }
        Node::Plain(Value::String(text)) if often(random, 50) => {
            let to = match random.below(6) {
                0 => text.chars().skip(1).collect(),
                1 => text.to_uppercase(),
                2 => format!("{text}({text}=1)"),
                3 => format!("{text}\0"),
                4 => {
                    format!("{text} {}", ["sims=99999999", "depth=99", "level=-1", "seed=x", "ms=1e9"][random.below(5)])
                }
                _ => text.repeat(1 + random.below(60)),
            };
            *node = Node::text(&to);
        }
        _ => {
            let (new, good) = value(random, others);
            *node = new;
            return good;
        }
    }
    true
}

/// Returns a value that is rarely valid, and true if a frame that contains the value can be decoded.
fn value(random: &mut Stream, others: &[Value]) -> (Node, bool) {
    match random.below(12) {
        0 => {
            let (json, packed) = *one(random, RAW);
            (Node::Raw(json, packed), false)
        }
        // Excessive depth is refused before the `id` is read.
        1 => {
            let deep = (0..random.below(90)).fold(Node::List(vec![]), |inner, at| match at % 2 {
                0 => Node::List(vec![inner]),
                _ => Node::Map(vec![(Node::text("x"), inner)]),
            });
            (deep, false)
        }
        2 => (Node::Bytes(vec![random.below(256) as u8; random.below(300)]), true),
        3 => (Node::List(vec![Node::Plain(random.below(9).into()); *one(random, &[1, 2, 64, 1_025])]), true),
        4 => (Node::text(&"a".repeat(*one(random, &[64, 257, 4_096, 65_537]))), true),
        5 => {
            let values: Vec<&Value> = one(random, others).as_object().expect("a message").values().collect();
            ((*one(random, &values)).into(), true)
        }
        6 => (Node::Map(vec![]), true),
        _ => {
            let plain = [
                json!(null),
                json!(true),
                json!(0),
                json!(1),
                json!(-1),
                json!(2),
                json!(255),
                json!(i32::MAX),
                json!(u32::MAX),
                json!(1u64 << 53),
                json!(i64::MIN),
                json!(u64::MAX),
                json!(1e308),
                json!(-0.0),
                json!(0.5),
                json!(""),
                json!("18446744073709551616"),
                json!("tic_tac_toe"),
                json!("x(0,0)"),
                json!("\u{202e}\u{0}\u{1f600}"),
                json!("random"),
            ];
            (Node::Plain(one(random, &plain).clone()), true)
        }
    }
}

/// Mutates bytes: truncates, inserts, flips, removes or repeats some of them.
pub fn bytes(random: &mut Stream, frame: &mut Vec<u8>) {
    for _ in 0..1 + random.below(4) {
        let at = random.below(frame.len() + 1);
        let nasty = *one(random, NASTY);
        match random.below(6) {
            0 => frame.truncate(at),
            1 => frame.insert(at, nasty),
            2 if at < frame.len() => frame[at] = nasty,
            3 if at < frame.len() => frame[at] ^= 1 << random.below(8),
            4 if at < frame.len() => drop(frame.remove(at)),
            _ => frame.splice(at..at, vec![nasty; random.below(80)]).for_each(drop),
        }
    }
}
