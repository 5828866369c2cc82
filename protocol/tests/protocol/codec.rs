//! Tests of messages that the codec accepts or refuses, in both encodings.

use ludex_protocol::Move;
use ludex_protocol::message::{
    Ack, Act, ClientMessage, EventKind, Join, MatchEvent, MatchFrame, MatchStart, Open, Ping, Pong, Reset, Resync,
    Seed, ServerMessage, StepEnvs, TurnFrame,
};
use ludex_protocol::record::Clock;
use ludex_protocol::{Column, DecodeError, Encoding, ErrorCode, Id, Limits, MAX_INT};
use serde_json::{Value, json};

const DEPTH: u32 = 64;

fn read(text: &str) -> Result<(Option<Id>, ClientMessage), DecodeError> {
    Encoding::Json.decode_client(text.as_bytes(), DEPTH)
}

/// Decodes a message in both encodings; the results must be equal.
fn both(message: Value) -> Result<(Option<Id>, ClientMessage), DecodeError> {
    let json = Encoding::Json.decode_client(message.to_string().as_bytes(), DEPTH);
    let packed = Encoding::MsgPack.decode_client(&rmp_serde::to_vec_named(&message).unwrap(), DEPTH);
    assert_eq!(json, packed, "{message}");
    json
}

fn refusal_of(message: Value) -> (Option<Id>, Value) {
    let rejected = both(message).unwrap_err();
    (rejected.id, serde_json::to_value(&rejected.error).unwrap())
}

#[test]
fn null_and_unknown_fields_are_ignored() {
    let short = both(json!({"type": "join", "id": 7, "game": "chess"})).unwrap();
    let long = both(json!({
        "id": 7, "game": "chess", "params": null, "queue": null, "against": null, "seat": null, "slots": null,
        "count": null, "views": null, "layout": null, "rated": null, "clock": null, "pairs": null, "ticket": null,
        "what": {"ever": [1, {"a": null}]}, "type": "join"
    }))
    .unwrap();
    assert_eq!(short, long);
    assert_eq!(short, (Some(7), ClientMessage::Join(Box::new(Join::new("chess")))));
    let open = both(json!({"type": "open", "id": 1, "game": "chess", "count": null, "mask": null, "rotate": null}));
    assert_eq!(open.unwrap().1, ClientMessage::Open(Box::new(Open::new("chess"))));
}

#[test]
fn defaults_agree_with_protocol_page() {
    let join = Join::new("chess");
    assert_eq!((join.queue.as_str(), join.slots, join.count, join.rated), ("open", 1, 1, false));
    assert_eq!(serde_json::to_value(&join.views).unwrap(), json!(["struct", "texts"]));
    assert_eq!(join.clock, Clock::per_move(10_000));
    let (_, list) = both(json!({"type": "list_matches", "id": 1})).unwrap();
    assert!(matches!(list, ClientMessage::ListMatches(list) if list.live && list.limit == 50));
    let (_, none) = both(json!({"type": "join", "id": 1, "game": "go", "clock": {"bank_ms": 0}})).unwrap();
    assert!(matches!(&none, ClientMessage::Join(join) if join.clock == Clock::default()));
    let written = Encoding::Json.encode_client(Some(1), &none).unwrap();
    assert_eq!(Encoding::Json.decode_client(&written, 64).unwrap().1, none, "a join without a clock round-trips");
}

#[test]
fn invalid_clock_is_refused() {
    for (clock, path, word) in [
        (json!({}), "clock", "at least one of move_ms"),
        (json!({"move_ms": null}), "clock", "at least one of move_ms"),
        (json!({"move": 5}), "clock", "did you mean \"move_ms\"?"),
        (json!({"move_ms": 5, "bank": 1}), "clock", "unknown field \"bank\""),
        (json!({"move_ms": 1.5}), "clock.move_ms", "integer"),
    ] {
        let (_, error) = refusal_of(json!({"type": "join", "id": 1, "game": "go", "clock": clock}));
        assert_eq!((&error["code"], &error["path"]), (&json!("bad_field"), &json!(path)), "{error}");
        assert!(error["message"].as_str().unwrap().contains(word), "{error}");
    }
}

#[test]
fn act_accepts_each_form_of_move() {
    let act = |extra: Value| {
        let mut message = json!({"type": "act", "id": 3, "match": "m", "turn": 1});
        message.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        both(message)
    };
    let chosen = |extra| match act(extra).unwrap().1 {
        ClientMessage::Act(act) => act.as_move().unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(chosen(json!({"action": 4})), Move::Id(4));
    assert_eq!(chosen(json!({"action": -4, "text": null})), Move::Id(-4));
    assert_eq!(chosen(json!({"text": "e4"})), Move::Text("e4".into()));
    assert_eq!(chosen(json!({"document": {"a": [1]}})), Move::Document(json!({"a": [1]})));
    for wrong in [json!({}), json!({"action": 1, "text": "e4"}), json!({"action": null})] {
        let rejected = act(wrong).unwrap_err();
        assert_eq!((rejected.id, rejected.error.code), (Some(3), ErrorCode::BadField));
    }
}

#[test]
fn columns_decode_from_bytes_and_lists() {
    let wanted = ClientMessage::Step(StepEnvs { env: 1, actions: Some([3, -1].into()), ..StepEnvs::default() });
    let plain = both(json!({"type": "step", "id": 1, "env": 1, "actions": [3, -1]})).unwrap();
    assert_eq!(plain, (Some(1), wanted.clone()));
    let packed = Encoding::MsgPack.encode_client(Some(1), &wanted).unwrap();
    assert!(packed.windows(10).any(|bytes| bytes == [0xc4, 8, 3, 0, 0, 0, 255, 255, 255, 255]));
    assert_eq!(Encoding::MsgPack.decode_client(&packed, DEPTH).unwrap(), (Some(1), wanted));
    let moves = both(json!({"type": "step", "id": 1, "env": 1, "moves": [3, "e4", {"a": 1}, null]})).unwrap();
    let list = vec![Some(Move::Id(3)), Some(Move::Text("e4".into())), Some(Move::Document(json!({"a": 1}))), None];
    assert_eq!(moves.1, ClientMessage::Step(StepEnvs { env: 1, moves: Some(list), ..StepEnvs::default() }));
    let neither = both(json!({"type": "step", "id": 1, "env": 1})).unwrap_err();
    assert_eq!(neither.error.code, ErrorCode::BadField);
}

#[test]
fn invalid_field_error_has_path_and_allowed_values() {
    let (id, error) = refusal_of(json!({"type": "open", "id": 5, "game": "chess", "autoreset": "samestep"}));
    assert_eq!(id, Some(5));
    assert_eq!(
        error,
        json!({
            "code": "bad_field", "fault": "client", "retry": false, "path": "autoreset", "got": "samestep",
            "allowed": ["next_step", "same_step", "disabled"], "nearest": "same_step",
            "message": "`autoreset`: \"samestep\" is not one of next_step, same_step, disabled; did you mean \"same_step\"?"
        })
    );
    let (_, error) = refusal_of(json!({"type": "open", "id": 5, "game": "chess", "count": -1}));
    assert_eq!((&error["path"], &error["got"]), (&json!("count"), &json!(-1)));
    assert_eq!(error["message"], "`count`: expected a nonnegative integer, got -1");
    let (_, error) = refusal_of(json!({"type": "act", "id": 5, "match": "m", "turn": 0, "action": 4.0}));
    assert_eq!(error["message"], "`action`: expected an integer, got the float 4.0");
    assert_eq!((&error["path"], &error["got"]), (&json!("action"), &json!(4.0)));
    let (_, error) = refusal_of(json!({"type": "open", "id": 5}));
    assert_eq!((&error["path"], &error["message"]), (&json!("game"), &json!("`game`: missing")));
    let (_, error) = refusal_of(json!({"type": "open", "id": 5, "game": "chess", "views": ["tensor", "txt"]}));
    assert_eq!((&error["path"], &error["index"], &error["nearest"]), (&json!("views"), &json!(1), &json!("text")));
    let hello = json!({"type": "hello", "id": 1, "protocol": [1], "client": "x", "agent": {"name": 7}});
    assert_eq!(refusal_of(hello).1["path"], "agent.name");
    let (_, error) = refusal_of(json!({"type": "step", "id": 5, "env": 1, "actions": [1, 2, 2.5]}));
    assert_eq!((&error["path"], &error["index"], &error["got"]), (&json!("actions"), &json!(2), &json!(2.5)));
    let (_, error) = refusal_of(json!({"type": "restore", "id": 5, "env": 1, "items": ["====", ""]}));
    assert_eq!((&error["path"], &error["index"]), (&json!("items"), &json!(0)));
}

#[test]
fn seed_must_be_decimal_string() {
    let reset = |seed: Value| json!({"type": "reset", "id": 1, "env": 0, "seed": seed});
    let (_, message) = both(reset(json!("18446744073709551615"))).unwrap();
    assert_eq!(message, ClientMessage::Reset(Reset { seed: Some(Seed(u64::MAX)), ..Reset::default() }));
    for wrong in [json!(""), json!("-1"), json!("+1"), json!("18446744073709551616"), json!("x"), json!(42), json!([])]
    {
        let (id, error) = refusal_of(reset(wrong));
        assert_eq!((id, &error["code"], &error["path"]), (Some(1), &json!("bad_seed"), &json!("seed")));
    }
    let (_, error) = refusal_of(json!({"type": "reset", "id": 1, "env": 0, "seeds": ["1", "y"]}));
    assert_eq!((&error["code"], &error["index"]), (&json!("bad_seed"), &json!(1)));
}

#[test]
fn error_for_unknown_message_type_suggests_nearest_type() {
    let (id, error) = refusal_of(json!({"type": "stepp", "id": 9}));
    assert_eq!(id, Some(9));
    assert_eq!((&error["code"], &error["nearest"]), (&json!("unknown_type"), &json!("step")));
    assert_eq!(error["allowed"].as_array().unwrap().len(), ClientMessage::TYPES.len());
    for no_type in [json!({"id": 9}), json!({"id": 9, "type": null}), json!({"id": 9, "type": 4})] {
        let (id, error) = refusal_of(no_type);
        assert_eq!((id, &error["code"]), (Some(9), &json!("unknown_type")));
    }
}

#[test]
fn decoder_accepts_every_message_type() {
    for kind in ClientMessage::TYPES {
        let code = both(json!({"type": kind, "id": 1})).err().map(|rejected| rejected.error.code);
        assert_ne!(code, Some(ErrorCode::UnknownType), "{kind}");
    }
    for kind in ServerMessage::TYPES {
        let frame = json!({"type": kind, "re": 1}).to_string();
        let code = Encoding::Json.decode_server(frame.as_bytes(), DEPTH).err().map(|rejected| rejected.error.code);
        assert_ne!(code, Some(ErrorCode::UnknownType), "{kind}");
    }
}

#[test]
fn request_requires_integer_id() {
    for id in [0, -1, MAX_INT, -MAX_INT] {
        assert_eq!(both(json!({"type": "ping", "id": id})).unwrap(), (Some(id), ClientMessage::Ping(Ping {})));
    }
    let wrong = [json!(MAX_INT + 1), json!(i64::MIN), json!(u64::MAX), json!(1.5), json!("1"), json!([1]), json!({})];
    for id in wrong {
        let (id, error) = refusal_of(json!({"type": "ping", "id": id}));
        assert_eq!((id, &error["code"], &error["path"]), (None, &json!("bad_message"), &json!("id")));
    }
    for message in [json!({"type": "ping"}), json!({"type": "ping", "id": null})] {
        assert_eq!(refusal_of(message).1["code"], "bad_message");
    }
    let ack = Ack { match_id: "m".into(), seat: None, seq: 4 };
    assert_eq!(both(json!({"type": "ack", "match": "m", "seq": 4})).unwrap(), (None, ClientMessage::Ack(ack)));
    let pong = ClientMessage::Pong(Pong { nonce: Some(4) });
    assert_eq!(both(json!({"type": "pong", "nonce": 4})).unwrap(), (None, pong));
}

#[test]
fn message_that_is_not_a_map_is_refused() {
    for value in [json!([1, 2]), json!(7), json!("step"), json!(null), json!(1.5), json!(true)] {
        assert_eq!(refusal_of(value).1["code"], "bad_message");
    }
    let extension = [0xc7, 3, 5, 1, 2, 3];
    let rejected = Encoding::MsgPack.decode_client(&extension, DEPTH).unwrap_err();
    assert_eq!(rejected.error.code, ErrorCode::BadMessage);
}

#[test]
fn frame_with_missing_or_trailing_bytes_is_refused() {
    let ping = ClientMessage::Act(Box::new(Act { match_id: "m".into(), action: Some(4), ..Act::default() }));
    for encoding in [Encoding::Json, Encoding::MsgPack] {
        let whole = encoding.encode_client(Some(1), &ping).unwrap();
        assert!(encoding.decode_client(&whole, DEPTH).is_ok());
        for end in 0..whole.len() {
            let rejected = encoding.decode_client(&whole[..end], DEPTH).unwrap_err();
            assert_eq!(rejected.error.code, ErrorCode::BadFrame, "{encoding:?} cut at {end}");
        }
        for tail in [&b"\x00"[..], b"{}", b"\xc1", b"\x91"] {
            let longer = [&whole, tail].concat();
            let rejected = encoding.decode_client(&longer, DEPTH).unwrap_err();
            assert_eq!((rejected.id, rejected.error.code), (Some(1), ErrorCode::BadFrame), "{encoding:?} {tail:?}");
        }
    }
    assert_eq!(read("{\"type\":\"ping\",\"id\":1} \n").unwrap().0, Some(1));
    assert_eq!(read("{\"type\":\"pi\u{1}ng\",\"id\":1}").unwrap_err().error.code, ErrorCode::BadFrame);
    assert_eq!(
        Encoding::Json.decode_client(b"{\"type\":\"\xff\",\"id\":1}", DEPTH).unwrap_err().error.code,
        ErrorCode::BadFrame
    );
}

#[test]
fn nesting_beyond_depth_limit_is_refused() {
    let nested = |levels: usize| {
        let inner = (1..levels).fold(json!(0), |value, _| json!([value]));
        json!({"type": "ping", "id": 4, "x": inner})
    };
    assert!(both(nested(DEPTH as usize)).is_ok());
    let (id, error) = refusal_of(nested(DEPTH as usize + 1));
    assert_eq!((id, &error["code"]), (Some(4), &json!("too_deep")));
    let text = format!(r#"{{"type":"act","id":4,"document":{}"#, "[".repeat(1_000_000));
    assert_eq!(read(&text).unwrap_err().error.code, ErrorCode::TooDeep);
    let mut packed = rmp_serde::to_vec_named(&json!({"id": 4, "type": "act", "x": 0})).unwrap();
    packed.pop();
    packed.extend([0x91].repeat(1_000_000));
    let rejected = Encoding::MsgPack.decode_client(&packed, DEPTH).unwrap_err();
    assert_eq!((rejected.id, rejected.error.code), (Some(4), ErrorCode::TooDeep));
    // Brackets inside strings do not count as nesting.
    let text = json!({"type": "leave", "id": 1, "join": "[\"[".repeat(100)}).to_string();
    assert!(read(&text).is_ok());
}

#[test]
fn invalid_field_in_long_frame_has_error_bad_field() {
    let actions: Vec<i32> = (0..600_000).collect();
    let message = json!({"type": "step", "id": 8, "env": "one", "actions": actions});
    let rejected = both_codes(message);
    assert_eq!(rejected, [(Some(8), ErrorCode::BadField); 2]);
}

fn both_codes(message: Value) -> [(Option<Id>, ErrorCode); 2] {
    let json = Encoding::Json.decode_client(message.to_string().as_bytes(), DEPTH).unwrap_err();
    let packed = Encoding::MsgPack.decode_client(&rmp_serde::to_vec_named(&message).unwrap(), DEPTH).unwrap_err();
    [(json.id, json.error.code), (packed.id, packed.error.code)]
}

#[test]
fn non_finite_number_is_not_encoded() {
    let reward = EventKind::Reward { rewards: vec![0.0, f64::NAN] };
    let event = MatchEvent { seq: 1, match_id: "m".into(), viewer: None, kind: reward, view: None };
    for encoding in [Encoding::Json, Encoding::MsgPack] {
        assert!(encoding.encode_server(None, &ServerMessage::Event(Box::new(event.clone()))).is_err());
        let batch = ludex_protocol::Batch { reward: Column::from([f32::INFINITY]), ..Default::default() };
        assert!(encoding.encode_server(Some(1), &ServerMessage::Batch(Box::new(batch))).is_err());
    }
}

#[test]
fn match_frame_encodes_like_top_level_message() {
    let frame = MatchFrame::Turn(Box::new(TurnFrame { seq: 4, match_id: "m".into(), ..TurnFrame::default() }));
    let message = frame.clone().into();
    assert_eq!(serde_json::to_vec(&frame).unwrap(), Encoding::Json.encode_server(None, &message).unwrap());
    assert_eq!(rmp_serde::to_vec_named(&frame).unwrap(), Encoding::MsgPack.encode_server(None, &message).unwrap());
}

#[test]
fn messages_inside_resync_contain_type() {
    let resync = Resync {
        match_id: "m".into(),
        start: Box::new(MatchStart { match_id: "m".into(), ..MatchStart::default() }),
        turn: Some(Box::default()),
        ..Resync::default()
    };
    let message = ServerMessage::Resync(Box::new(resync));
    let value: Value = serde_json::from_slice(&Encoding::Json.encode_server(None, &message).unwrap()).unwrap();
    assert_eq!((&value["start"]["type"], &value["turn"]["type"]), (&json!("match_start"), &json!("turn")));
    for encoding in [Encoding::Json, Encoding::MsgPack] {
        let bytes = encoding.encode_server(None, &message).unwrap();
        assert_eq!(encoding.decode_server(&bytes, DEPTH).unwrap(), (None, message.clone()));
    }
}

#[test]
fn subprotocols_map_to_encodings() {
    for encoding in [Encoding::Json, Encoding::MsgPack] {
        assert_eq!(Encoding::from_subprotocol(encoding.subprotocol()), Some(encoding));
    }
    assert_eq!(Encoding::from_subprotocol("ludex.v2.json"), None);
}

/// Checks that every list, map and text of every message in the schema has a limit.
#[test]
#[cfg(feature = "schema")]
fn every_list_and_text_has_limit() {
    let limits = Limits { list_entries: 8, batch: 16, text_bytes: 32, notes_bytes: 32, ..Limits::default() };
    let document = ludex_protocol::schema::document();
    for variant in document["$defs"]["ClientMessage"]["oneOf"].as_array().unwrap() {
        let kind = variant["properties"]["type"]["const"].as_str().unwrap();
        let message = variant["$ref"].as_str().map_or(variant, |at| &document["$defs"][at.rsplit('/').next().unwrap()]);
        let fields = [message, variant].into_iter().filter_map(|m| m["properties"].as_object()).flat_map(|m| m.keys());
        for field in fields.filter(|f| !["type", "id"].contains(&f.as_str())) {
            let map: serde_json::Map<_, _> = (0..9).map(|k| (k.to_string(), json!(k))).collect();
            for value in [json!(vec![0; 17]), json!("x".repeat(33)), map.into()] {
                let message = json!({"type": kind, "id": 1, field: value});
                for frame in [message.to_string().into_bytes(), rmp_serde::to_vec_named(&message).unwrap()] {
                    let encoding = if frame[0] == b'{' { Encoding::Json } else { Encoding::MsgPack };
                    let read = encoding.read_client(&frame, &limits);
                    let checked =
                        read.map_err(|r| r.error.code).and_then(|(_, m)| m.check(&limits).map_err(|e| e.code));
                    // `act` and `step` are decoded without a tree, so only their `check` applies the limits.
                    let straight = ["act", "step"].contains(&kind);
                    let bulk = ["reset", "restore", "clone", "snapshot"].contains(&kind) && !value.is_array();
                    match straight || bulk {
                        true => assert!(checked.is_err(), "{message}"),
                        false => assert_eq!(checked, Err(ErrorCode::TooLarge), "{message}"),
                    }
                }
            }
        }
    }
}

#[test]
fn oversized_message_is_refused_with_its_limit() {
    let limits = Limits { request_bytes: 4_096, message_bytes: 8_192, ..Limits::default() };
    let of = |kind: &str, names: usize| {
        let message = json!({"type": kind, "id": 7, "env": 1, "names": vec![5; names], "actions": [0]});
        rmp_serde::to_vec_named(&message).unwrap()
    };
    let refusal_of = |frame: &[u8]| {
        let rejected = Encoding::MsgPack.read_client(frame, &limits).unwrap_err();
        (rejected.id, rejected.error.code, rejected.error.allowed.as_deref().cloned())
    };
    assert_eq!(refusal_of(&of("view", 2_000)), (Some(7), ErrorCode::TooLarge, Some(json!(limits.list_entries))));
    assert_eq!(refusal_of(&of("view", 5_000)), (Some(7), ErrorCode::TooLarge, Some(json!(4_096))));
    let late = rmp_serde::to_vec_named(&json!({"names": vec![5; 9_000], "type": "step", "id": 7})).unwrap();
    assert_eq!(
        refusal_of(&late),
        (None, ErrorCode::TooLarge, Some(json!(4_096))),
        "`type` is not within the first kilobyte"
    );
    let typed = |rest: usize| {
        [&rmp_serde::to_vec_named(&json!({"id": 7, "type": "step"})).unwrap()[..], &vec![0; rest]].concat()
    };
    assert_eq!(refusal_of(&typed(9_000)), (Some(7), ErrorCode::TooLarge, Some(json!(8_192))));
    assert_eq!(refusal_of(&typed(5_000)).1, ErrorCode::BadFrame, "the message is decoded");
}
