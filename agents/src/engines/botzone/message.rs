//! Encoding and parsing of messages: JSON or simplified interaction.

use serde_json::{Map, Value, json};

use super::codec::TurnLog;

/// Line by which a program announces that it keeps running.
pub(super) const KEEP: &str = ">>>BOTZONE_REQUEST_KEEP_RUNNING<<<";
/// Maximum size in bytes of a stored `debug` text.
const DEBUG: usize = 1 << 10;
/// Maximum size in bytes of a stored `data` or `globaldata` value.
const DATA: usize = 100 << 10;

/// Message format of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageFormat {
    /// One line of JSON per message.
    Json,
    /// One line of plain text per message: the values of these fields or, without fields, the message itself.
    Simple(&'static [&'static str]),
}

/// Parsed reply of a program.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ProgramReply {
    pub response: Value,
    /// Debug text for the owner's log.
    pub debug: Option<String>,
    /// Data that the program receives in its next turn of the match.
    pub data: Option<Value>,
    /// Data that the program receives in all later matches.
    pub globaldata: Option<Value>,
}

impl MessageFormat {
    /// Returns the input for a newly started program: all messages so far, and the data that the program stored.
    pub fn history(self, talk: &TurnLog, data: Option<&Value>, globaldata: Option<&Value>) -> String {
        let requests = talk.turns.iter().map(|t| &t.request).chain([&talk.now]);
        match self {
            MessageFormat::Json => {
                let requests: Vec<&Value> = requests.collect();
                let responses: Vec<&Value> = talk.turns.iter().map(|t| &t.response).collect();
                let mut input = Map::new();
                input.insert("requests".into(), json!(requests));
                input.insert("responses".into(), json!(responses));
                for (name, kept) in [("data", data), ("globaldata", globaldata)] {
                    input.extend(kept.map(|kept| (name.to_owned(), kept.clone())));
                }
                input.extend(["time_limit", "memory_limit"].map(|name| (name.to_owned(), "".into())));
                format!("{}\n", Value::Object(input))
            }
            MessageFormat::Simple(fields) => {
                let mut lines = vec![(talk.turns.len() + 1).to_string()];
                for turn in &talk.turns {
                    lines.extend([&turn.request, &turn.response].map(|message| values(fields, message)));
                }
                lines.push(values(fields, &talk.now));
                let text = |kept: Option<&Value>| kept.and_then(Value::as_str).unwrap_or_default().to_owned();
                lines.extend([text(data), text(globaldata)]);
                lines.join("\n") + "\n"
            }
        }
    }

    /// Returns the input for a persistent program: the current request.
    pub fn request(self, request: &Value) -> String {
        match self {
            MessageFormat::Json => format!("{request}\n"),
            MessageFormat::Simple(fields) => values(fields, request) + "\n",
        }
    }

    /// Parses a program's output; `None` if it is malformed.
    pub fn reply(self, output: &str) -> Option<ProgramReply> {
        match self {
            MessageFormat::Json => {
                let mut output: Value = serde_json::from_str(output.trim()).ok()?;
                let Some(parts) = output.as_object_mut().filter(|parts| parts.contains_key("response")) else {
                    return Some(ProgramReply { response: output, ..ProgramReply::default() });
                };
                let mut part = |name: &str| parts.remove(name).filter(|v| !v.is_null());
                let response = part("response").unwrap_or_default();
                let debug = part("debug").map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned));
                let [data, globaldata] = ["data", "globaldata"].map(part);
                Some(ProgramReply { response, debug, data, globaldata }.enforce_limits())
            }
            MessageFormat::Simple(fields) => {
                let mut lines = output.trim_start().lines();
                let first = lines.next()?.trim();
                let numbers: Vec<i64> = first.split_whitespace().map_while(|n| n.parse().ok()).collect();
                let named = fields.iter().zip(&numbers).map(|(f, n)| ((*f).to_owned(), (*n).into()));
                let fits = numbers.len() == fields.len() && numbers.len() == first.split_whitespace().count();
                let response = if fits { Value::Object(named.collect()) } else { first.into() };
                let mut part = || lines.next().filter(|line| !line.is_empty());
                let (debug, data) = (part().map(str::to_owned), part().map(Value::from));
                let rest = lines.collect::<Vec<_>>().join("\n");
                let globaldata = (!rest.is_empty()).then(|| rest.into());
                Some(ProgramReply { response, debug, data, globaldata }.enforce_limits())
            }
        }
    }
}

impl ProgramReply {
    /// Truncates `debug` to its maximum size, and removes `data` and `globaldata` that exceed theirs.
    fn enforce_limits(mut self) -> Self {
        if let Some(debug) = &mut self.debug {
            debug.truncate(debug.floor_char_boundary(DEBUG));
        }
        let small = |kept: &Value| kept.as_str().map_or_else(|| kept.to_string().len(), str::len) <= DATA;
        self.data = self.data.filter(small);
        self.globaldata = self.globaldata.filter(small);
        self
    }
}

fn values(fields: &[&str], message: &Value) -> String {
    if let Some(text) = message.as_str() {
        return text.to_owned();
    }
    fields.iter().map(|f| message[*f].to_string()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::codec::PastTurn;
    use super::*;

    const POINT: MessageFormat = MessageFormat::Simple(&["x", "y"]);

    fn talk() -> TurnLog {
        let point = |x: i64, y: i64| json!({ "x": x, "y": y });
        let turn = PastTurn { request: point(-1, -1), action: 4, response: point(1, 1) };
        TurnLog { turns: vec![turn], now: point(0, 2), again: None }
    }

    #[test]
    fn new_program_receives_full_history() {
        let line = MessageFormat::Json.history(&talk(), None, None);
        assert!(line.ends_with('\n') && line.matches('\n').count() == 1, "{line}");
        let expected = json!({
            "requests": [{"x": -1, "y": -1}, {"x": 0, "y": 2}], "responses": [{"x": 1, "y": 1}],
            "time_limit": "", "memory_limit": "",
        });
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), expected);
        let line = MessageFormat::Json.history(&talk(), Some(&"a\nb".into()), Some(&json!({"n": 1})));
        let input: Value = serde_json::from_str(&line).unwrap();
        assert_eq!((&input["data"], &input["globaldata"]), (&"a\nb".into(), &json!({"n": 1})));
        assert_eq!(POINT.history(&talk(), None, None), "2\n-1 -1\n1 1\n0 2\n\n\n");
        assert_eq!(POINT.history(&talk(), Some(&"d".into()), Some(&"g\nh".into())), "2\n-1 -1\n1 1\n0 2\nd\ng\nh\n");
    }

    #[test]
    fn persistent_program_receives_only_the_request() {
        assert_eq!(MessageFormat::Json.request(&talk().now), "{\"x\":0,\"y\":2}\n");
        assert_eq!(POINT.request(&talk().now), "0 2\n");
    }

    #[test]
    fn json_replies_are_parsed() {
        let reply = |text: &str| MessageFormat::Json.reply(text);
        let full = reply(r#" {"response":{"x":1},"debug":"d","data":"e","globaldata":[1],"more":0} "#).unwrap();
        let expected = ProgramReply {
            response: json!({"x": 1}),
            debug: Some("d".into()),
            data: Some("e".into()),
            globaldata: Some(json!([1])),
        };
        assert_eq!(full, expected);
        // Without the field `response`, the whole value is the response.
        for (text, response) in [("-2", json!(-2)), ("{\"x\":1}", json!({"x": 1})), ("[]", json!([]))] {
            assert_eq!(reply(text), Some(ProgramReply { response, ..ProgramReply::default() }), "{text}");
        }
        assert_eq!(reply("{\"response\":null}").unwrap().response, Value::Null);
        assert_eq!(reply("{\"response\":3,\"debug\":{\"a\":1}}").unwrap().debug, Some("{\"a\":1}".into()));
        for text in ["", "hello", "{\"response\":1", "{\"response\":1}\n{\"response\":2}"] {
            assert_eq!(reply(text), None, "{text}");
        }
    }

    #[test]
    fn simple_replies_are_parsed() {
        let reply = POINT.reply("1 2\n\nkept\nfor\never\n").unwrap();
        assert_eq!((reply.response, reply.debug), (json!({"x": 1, "y": 2}), None));
        assert_eq!((reply.data, reply.globaldata), (Some("kept".into()), Some("for\never".into())));
        for text in ["1", "1 2 3", "1 b"] {
            assert_eq!(POINT.reply(text).unwrap().response, json!(text));
        }
        assert_eq!(POINT.reply(" \n"), None);
    }

    #[test]
    fn text_messages_are_sent_verbatim() {
        let text = MessageFormat::Simple(&[]);
        let turn = PastTurn { request: "0 1 3".into(), action: 0, response: "PASS".into() };
        let talk = TurnLog { turns: vec![turn], now: "2 W5".into(), again: None };
        assert_eq!(text.history(&talk, None, None), "2\n0 1 3\nPASS\n2 W5\n\n\n");
        assert_eq!(text.request(&talk.now), "2 W5\n");
        assert_eq!(text.reply("PLAY W5\nwhy\n").unwrap().response, json!("PLAY W5"));
        assert_eq!(MessageFormat::Json.request(&talk.now), "\"2 W5\"\n");
    }

    #[test]
    fn oversized_data_is_dropped() {
        let (long, short) = ("ä".repeat(60_000), "b".repeat(100 << 10));
        let text = json!({ "response": 0, "debug": long, "data": long, "globaldata": short }).to_string();
        let reply = MessageFormat::Json.reply(&text).unwrap();
        assert_eq!(reply.debug.unwrap().len(), 1024);
        assert_eq!((reply.data, reply.globaldata), (None, Some(short.into())));
    }
}
