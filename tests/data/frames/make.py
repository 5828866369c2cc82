#!/usr/bin/env python3
"""Writes frames.jsonl, the golden frames: every message of the protocol in both encodings.

    python3 tests/data/frames/make.py > tests/data/frames/frames.jsonl

One line per frame: {"name", "from": "client" | "server", "json": the message, "msgpack": hex}. The MessagePack here is
written by the few lines below and by nothing of Ludex, so that the frames check the library and not themselves. An
encoder may order fields as it likes; these are ordered as Ludex writes them, and integers take the least room.
"""
import base64
import json
import struct


class Col:
    """A column: packed in MessagePack, a flat list in JSON."""
    codes = {"u1": "B", "i1": "b", "i2": "h", "u4": "I", "i4": "i", "f4": "f", "f8": "d"}

    def __init__(self, kind, *values):
        self.values = list(values)
        self.packed = struct.pack("<%d%s" % (len(values), self.codes[kind]), *values)


class Bin:
    """Bytes: bin in MessagePack, base64 in JSON."""
    def __init__(self, raw):
        self.raw = raw


class Tensor:
    """An array with a shape: {d, s, b} in MessagePack, {d, s, v} in JSON."""
    def __init__(self, kind, shape, *values):
        self.kind, self.shape, self.column = kind, shape, Col(kind, *values)


def plain(x):
    if isinstance(x, Col):
        return x.values
    if isinstance(x, Bin):
        return base64.b64encode(x.raw).decode()
    if isinstance(x, Tensor):
        return {"d": x.kind, "s": x.shape, "v": x.column.values}
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, list):
        return [plain(v) for v in x]
    return x


def head(n, fix, fixmax, *wide):
    if n <= fixmax:
        return bytes([fix | n])
    for code, form in wide:
        if n < 256 ** struct.calcsize(form):
            return bytes([code]) + struct.pack(">" + form, n)
    raise ValueError(n)


def pack(x):
    if x is None:
        return b"\xc0"
    if isinstance(x, bool):
        return b"\xc3" if x else b"\xc2"
    if isinstance(x, int):
        if x >= 0:
            return head(x, 0, 127, (0xcc, "B"), (0xcd, "H"), (0xce, "I"), (0xcf, "Q"))
        if x >= -32:
            return struct.pack("b", x)
        for code, form in ((0xd0, "b"), (0xd1, "h"), (0xd2, "i"), (0xd3, "q")):
            if x >= -(256 ** struct.calcsize(form)) // 2:
                return bytes([code]) + struct.pack(">" + form, x)
    if isinstance(x, float):
        return b"\xcb" + struct.pack(">d", x)
    if isinstance(x, str):
        raw = x.encode()
        return head(len(raw), 0xa0, 31, (0xd9, "B"), (0xda, "H"), (0xdb, "I")) + raw
    if isinstance(x, (Col, Bin)):
        raw = x.packed if isinstance(x, Col) else x.raw
        return head(len(raw), 0, -1, (0xc4, "B"), (0xc5, "H"), (0xc6, "I")) + raw
    if isinstance(x, Tensor):
        return pack({"d": x.kind, "s": x.shape, "b": x.column})
    if isinstance(x, list):
        return head(len(x), 0x90, 15, (0xdc, "H"), (0xdd, "I")) + b"".join(map(pack, x))
    if isinstance(x, dict):
        return head(len(x), 0x80, 15, (0xde, "H"), (0xdf, "I")) + b"".join(pack(k) + pack(v) for k, v in x.items())
    raise TypeError(x)


def u1(*v): return Col("u1", *v)
def i1(*v): return Col("i1", *v)
def u4(*v): return Col("u4", *v)
def i4(*v): return Col("i4", *v)
def f4(*v): return Col("f4", *v)
def f8(*v): return Col("f8", *v)


SPEC = {
    "game": "tic_tac_toe", "title": "Tic-tac-toe", "params": {}, "string": "tic_tac_toe", "rules": 1, "hash": "9d0c41aa",
    "players": 2, "player_range": [2, 2], "seats": ["x", "o"], "dynamics": "sequential", "chance": "deterministic",
    "information": "perfect", "utility": "zero_sum", "rewards": "terminal", "min_return": -1.5, "max_return": 1.5,
    "max_length": 9, "actions": 9, "max_chance": 0, "legal": "ids",
    "views": {
        "tensor": {"board": {"d": "u1", "s": [2, 3, 3], "low": 0.5, "high": 1.5,
                             "parts": [{"name": "mine", "at": 0, "len": 1}, {"name": "theirs", "at": 1, "len": 1}]}},
        "struct": {"type": "object"}, "text": True, "layouts": ["ludex", "openspiel"],
    },
    "document_schemas": {"talk": {"type": "string"}},
    "params_schema": {"type": "object"},
    "presets": {"small": {"params": {"rows": 3}, "note": "3 x 3"}},
    "anchors": [{"level": 0, "bot": 1, "agent": "random", "rating": 0.5, "low": -0.5, "high": 1.5}],
    "text": "# Tic-tac-toe\n",
}
START = {
    "seq": 0, "match": "m_7c", "join": "j_1", "game": "tic_tac_toe", "params": {}, "rules": 1, "hash": "9d0c41aa",
    "seat": 0, "seats": [{"name": "mybot", "version": "0.1", "kind": "llm"}, {"name": "random", "kind": "bot"}],
    "rated": False, "clock": {"move_ms": 0, "bank_ms": 300000, "inc_ms": 2000, "first_ms": 60000, "episode_ms": 900000},
    "grace_ms": 60000, "illegal": {"policy": "default", "tries": 3}, "skip_forced": False, "seed_commit": "e3b0c442",
}
TURN = {
    "seq": 4, "match": "m_7c", "seat": 0, "turn": 1, "try": 0, "budget_ms": 10000, "bank_ms": [0, 0], "legal": [3, 5],
    "names": ["x(1,0)", "x(1,2)"],
    "view": {"struct": {"board": ["xoo", ".x."]}, "text": "xoo\n.x.", "tensor": {"board": Tensor("u1", [2, 2], 0, 1, 1, 0)},
             "info": {"history": Tensor("f4", [2], 0.5, 1)}},
    "phase": "talk",
}
END = {
    "seq": 9, "match": "m_7c", "seat": 0, "returns": [1, -1.5], "outcome": ["win", "loss"], "reason": "illegal", "at_fault": 1,
    "rated": True, "digest": "77ab01f2", "seed": "1844674407370955", "salt": "5be1", "record": "/episodes/m_7c",
}


def batch(**more):
    base = {
        "env": 1, "to_move": i1(0, -4), "reward": f4(0, 0.5, -1, 1), "terminated": u1(0, 1), "truncated": u1(0, 0),
        "length": u4(3, 70000), "episode": u4(0, 1),
    }
    order = ["env", "envs", "to_move", "seat", "obs", "info", "struct", "text", "prompt", "mask", "chance", "reward",
             "returns", "terminated", "truncated", "length", "episode", "final", "illegal", "answers", "skipped"]
    base.update(more)
    return {k: base[k] for k in order if k in base}


def event(seq, kind, **fields):
    return {"seq": seq, "match": "m_7c", "viewer": 0, "kind": kind, **fields}


CLIENT = [
    ("hello", 1, "hello", {"protocol": [1], "client": "mybot/0.1", "agent": {"name": "mybot"}}),
    ("hello_resume", 1, "hello", {
        "protocol": [1, 2], "client": "mybot/0.1", "token": "t0k", "agent": {
            "name": "my-bot_1.x", "version": "0.1", "kind": "llm", "model": "m-1", "price": {"in": 0.5, "out": 2.5}},
        "resume": {"session": "s_5f2a", "key": "k_91c07e", "seen": {"m_7c": 9, "m_7d": {"1": 1000000, "3": 4}}}, "reclaim": True}),
    ("ping", 2, "ping", {}),
    ("pong", None, "pong", {"nonce": 77}),
    ("list_games", 3, "list_games", {}),
    ("list_games_filter", 3, "list_games", {"filter": {
        "information": "imperfect", "chance": "explicit", "dynamics": "simultaneous", "players": 3, "text": "poker"}}),
    ("describe", 4, "describe", {"game": "breakthrough(rows=8,columns=3)"}),
    ("describe_params", 4, "describe", {"game": "breakthrough", "params": {"columns": 3, "rows": 8}, "rules_text": True}),
    ("open", 10, "open", {"game": "connect_four"}),
    ("open_all", 10, "open", {
        "game": "connect_four", "params": {"rows": 6}, "count": 2, "seats": ["agent", "anchor level=1"], "rotate": "cycle",
        "chance": "client", "autoreset": "same_step", "views": ["tensor", "info", "struct", "text", "returns"],
        "prompt": {"prompting": "chat", "history": 8}, "layout": "openspiel", "mask": "ids", "observer": "all", "on_illegal": "lose", "max_steps": 100, "record": True}),
    ("reset", 11, "reset", {"env": 1, "seed": "42"}),
    ("reset_some", 11, "reset", {"env": 1, "envs": u4(0, 3), "seeds": ["0", "18446744073709551615"], "seats": ["random", "agent"]}),
    ("step", 12, "step", {"env": 1, "actions": i4(3, -1, 70000)}),
    ("step_moves", -13, "step", {"env": 1, "envs": u4(1, 0, 2, 3), "moves": [3, "d1", {"offer": [1, 2]}, None]}),
    ("step_joint", 12, "step", {"env": 1, "moves": [{"number": 7}, 3]}),
    ("step_answers", 12, "step", {"env": 1, "answers": ["I take the centre.\nAnswer: d1", None]}),
    ("view", 14, "view", {"env": 1, "views": ["tensor", "text"]}),
    ("view_all", 14, "view", {"env": 1, "i": 1, "seat": 0, "views": ["struct"], "names": [0, 1], "parse": ["d1", "?"]}),
    ("view_prompt", 14, "view", {"env": 1, "views": ["prompt"], "prompt": {"format": "text"}, "answers": ["Answer: d1"]}),
    ("clone", 15, "clone", {"env": 1, "envs": u4(0), "seed": "7"}),
    ("snapshot", 16, "snapshot", {"env": 1, "envs": u4(0)}),
    ("restore", 17, "restore", {"env": 1, "envs": u4(0), "items": [Bin(b"\x81\xa1v\x01")]}),
    ("close", 18, "close", {"env": 1}),
    ("join", 2, "join", {"game": "tic_tac_toe", "against": ["random"], "seat": 0}),
    ("join_all", 2, "join", {
        "game": "tic_tac_toe", "params": {"rows": 3}, "queue": "night", "seat": 1, "slots": 4, "count": 0,
        "views": ["struct", "text", "tensor", "info", "texts", "prompt"], "prompt": {"prompting": "chat"}, "layout": "openspiel",
        "rated": True,
        "clock": {"move_ms": 0, "bank_ms": 60000, "inc_ms": 1000}, "pairs": True}),
    ("join_ticket", 2, "join", {"ticket": "T-1_a"}),
    ("leave", 5, "leave", {"join": "j_1"}),
    ("act", 3, "act", {"match": "m_7c", "turn": 0, "action": 4}),
    ("act_text", 5, "act", {"match": "m_7c", "turn": 1, "try": 1, "text": "x(0,0)"}),
    ("act_answer", 6, "act", {"match": "m_7c", "turn": 2, "answer": "I take the corner.\nAnswer: x(0,0)"}),
    ("act_document", 9007199254740991, "act", {
        "match": "m_7c", "seat": 2, "turn": 300, "document": {"act": "counter", "rules": {"n": [1, 0.5, None]}},
        "notes": {"analysis": "centre first", "emotion": "C", "say": "hello", "tokens": {"in": 512, "out": 20}, "cost": 0.25}}),
    ("resign", 6, "resign", {"match": "m_7c"}),
    ("resign_seat", 6, "resign", {"match": "m_7c", "seat": 2}),
    ("list_matches", 7, "list_matches", {}),
    ("list_matches_all", 7, "list_matches", {"game": "chess", "live": False, "limit": 5}),
    ("spectate", 8, "spectate", {"match": "m_7c"}),
    ("spectate_full", 8, "spectate", {"match": "m_7c", "view": "full", "views": ["struct"]}),
    ("unspectate", 9, "unspectate", {"match": "m_7c"}),
    ("ack", None, "ack", {"match": "m_7c", "seq": 9}),
    ("ack_seat", None, "ack", {"match": "m_7c", "seat": 2, "seq": 9}),
    ("suites", 3, "suites", {}),
    ("enrol", 4, "enrol", {"suite": "quick", "run": "mine"}),
    ("enrol_all", 4, "enrol", {
        "suite": "quick", "run": "mine", "scale": 0.5, "slots": 4, "only": ["nim"], "variants": ["fast", "slow"], "candidates": 2,
        "views": ["tensor"], "prompt": {"legal": False}, "layout": "openspiel"}),
    ("enrol_roles", 4, "enrol", {
        "suite": "mine", "run": "mine", "roles": {"reference": ["random", "mcts sims=100"]}}),
    ("withdraw", 5, "withdraw", {"run": "mine"}),
]
SERVER = [
    ("welcome", 1, "welcome", {
        "protocol": 1, "server": "ludex/0.1.0", "session": "s_5f2a", "key": "k_91c07e", "resumed": True,
        "scopes": ["gym", "play", "spectate", "admin"], "agent": "mybot",
        "limits": {"frame_bytes": 16777216, "message_bytes": 16777216, "request_bytes": 524288, "list_entries": 1024, "depth": 64,
                   "window": 256, "requests_per_s": 20000, "pages_per_s": 50,
                   "registrations_per_hour": 10, "registered_owners": 10000, "envs": 64, "batch": 16384, "batch_bytes": 67108864,
                   "search": 4000000, "matches": 256, "joins": 256, "owner_envs": 1048576, "owner_matches": 4096,
                   "owner_joins": 4096, "owner_document_bytes": 268435456, "owner_runs": 256, "text_bytes": 65536, "notes_bytes": 16384, "transcript_bytes": 262144, "idle_ms": 300000, "grace_ms": 60000,
                   "hello_ms": 10000, "write_stall_ms": 60000, "hello_bytes": 65536, "address_connections": 8192, "connections": 16384,
                   "address_hellos": 1024, "hellos": 4096, "replies_kept": 256},
        "envs": [1], "matches": [{"match": "m_7c", "seat": 0, "seq": 9}], "joins": [{"join": "j_1", "game": "chess", "left": 3}]}),
    ("pong", 2, "pong", {"now_ms": 1234567}),
    ("ping", None, "ping", {"nonce": 77}),
    ("games", 3, "games", {"games": [{
        "game": "kuhn_poker", "title": "Kuhn poker", "players": [2, 10], "dynamics": "sequential", "chance": "explicit",
        "information": "imperfect", "presets": ["three"], "rules": 1}]}),
    ("spec", 4, "spec", {"spec": SPEC}),
    ("opened", 10, "opened", {"env": 1, "count": 2, "spec": SPEC}),
    ("batch", 11, "batch", batch()),
    ("batch_dense", 12, "batch", batch(
        envs=u4(5, 6), seat=i1(0, 1), obs={"board": Tensor("u1", [2, 1, 2], 0, 1, 1, 0)}, mask=u1(1, 0, 1, 0),
        returns=f8(0.1, 0, -1, 1), illegal=u4(1))),
    ("batch_prompt", 12, "batch", batch(
        prompt=[[{"role": "system", "content": "You play."}, {"role": "user", "content": "Your move?"}], None],
        answers=[{"verdict": "ok", "action": 3, "text": "d1"}, {"verdict": "empty", "message": "Choose another move."}])),
    ("batch_same_step", 13, "batch", batch(
        obs={"board": Tensor("i1", [2, 1], -1, 1)}, info={"h": Tensor("i2", [2, 1], -300, 300)},
        struct=[{"board": "."}, {"board": "x"}], text=[".", "x"],
        mask={"o": u4(0, 2, 2), "a": u4(0, 6)},
        chance={"o": u4(0, 0, 2), "a": u4(0, 1), "p": f8(0.25, 0.75)},
        final={"at": u4(1), "seat": i1(0), "obs": {"board": Tensor("i4", [1, 1], -70000)},
               "info": {"h": Tensor("f4", [1, 1], 0.5)}, "struct": [{"board": "x"}], "text": ["x"],
               "returns": f8(-1, 1), "length": u4(7)},
        skipped={"at": u4(0, 0), "returns": f8(1, -1, 0.5, -0.5)})),
    ("viewed", 14, "viewed", {
        "tensor": {"board": Tensor("u1", [2], 0, 1)}, "struct": {"board": "x"}, "text": "x", "info": {"h": Tensor("u1", [0])},
        "names": ["a1", "b1"], "parsed": [3, None]}),
    ("viewed_prompt", 14, "viewed", {
        "prompt": [{"role": "user", "content": "Your move?"}], "answers": [
            {"verdict": "ok", "document": {"offer": [1, 2]}, "text": "{\"offer\":[1,2]}"},
            {"verdict": "illegal", "message": "Choose another move.", "issues": [{"path": "/offer/0", "message": "too many"}]}]}),
    ("viewed_schema", 14, "viewed", {"phase": "swap", "schema": "swap/first"}),
    ("snapshots", 16, "snapshots", {"hash": "9d0c41aa", "items": [Bin(b"\x81\xa1v\x01"), Bin(b"")]}),
    ("ok", 18, "ok", {}),
    ("joined", 2, "joined", {"join": "j_1"}),
    ("queued", None, "queued", {"join": "j_1", "waiting": 3, "eta_ms": 5000}),
    ("match_start", None, "match_start", START),
    ("match_start_variant", None, "match_start", {
        "seq": 0, "match": "m_7c", "game": "chess", "params": {}, "rules": 2, "hash": "00", "seat": 1, "variant": "slow",
        "kept_phases": ["initial"], "seats": [], "rated": False, "clock": {}, "illegal": {"policy": "forfeit", "tries": 3},
        "skip_forced": False}),
    ("match_start_spectator", None, "match_start", {
        "seq": 0, "match": "m_7c", "game": "chess", "params": {"fen": "8/8"}, "rules": 2, "hash": "00", "seats": [],
        "rated": True, "clock": {}, "illegal": {"policy": "forfeit", "tries": 3}, "skip_forced": True}),
    ("turn", None, "turn", TURN),
    ("turn_ranges", None, "turn", {
        "seq": 1000004, "match": "m_7c", "seat": 3, "turn": 0, "try": 2, "bank_ms": [], "legal": [[0, 18], [361, 361]],
        "view": {"prompt": [{"role": "system", "content": "You play."}, {"role": "user", "content": "Your move?"}]}}),
    ("turn_schema", None, "turn", {
        "seq": 2, "match": "m_7c", "seat": 0, "turn": 0, "try": 0, "bank_ms": [], "legal": [0, 1, 2, 3], "view": {},
        "phase": "swap", "schema": "swap/first"}),
    ("accepted", 3, "accepted", {"match": "m_7c", "seat": 0, "turn": 0, "action": 4, "text": "x(1,1)", "bank_ms": 0}),
    ("accepted_document", 3, "accepted", {"match": "m_7c", "seat": 1, "turn": 0, "text": "offer 3", "bank_ms": 250}),
    ("refused", 4, "refused", {
        "match": "m_7c", "seat": 0, "turn": 1, "try": 1, "code": "illegal_action", "message": "1 is o(0,1): the square is taken",
        "tries_left": 2, "legal": [0, 2, 3]}),
    ("refused_issues", 4, "refused", {
        "match": "m_7c", "seat": 0, "turn": 1, "try": 3, "code": "illegal_action", "message": "2 issues", "tries_left": 0,
        "issues": [{"path": "rules.n", "got": 0.5, "allowed": {"minimum": 1}, "message": "too small"},
                   {"path": "act", "message": "missing"}], "applied_policy": "random"}),
    ("refused_unparsed", 4, "refused", {
        "match": "m_7c", "seat": 0, "turn": 0, "try": 1, "code": "unparsed", "message": "these words name no move",
        "tries_left": 2, "legal": [0, 1],
        "answer": {"verdict": "unparsed", "message": "Choose another move."}, "issues": [
            {"path": "", "got": "well", "allowed": "keep or swap", "message": "these words name no move", "code": "unparsed"}]}),
    ("event_move", None, "event", event(5, "move", seat=0, action=4, text="x(1,1)", ms=12, forced=True)),
    ("event_move_hidden", None, "event", event(6, "move", seat=1, text="a card", ms=0)),
    ("event_chance", None, "event", event(7, "chance", action=3, text="deal K")),
    ("event_reveal", None, "event", event(8, "reveal", text="K", data={"cards": [2, None]})),
    ("event_say", None, "event", event(9, "say", seat=1, text="hello")),
    ("event_phase", None, "event", event(10, "phase", phase="PLAY")),
    ("event_reward", None, "event", event(11, "reward", rewards=[0.5, -1])),
    ("event_presence", None, "event", event(12, "presence", seat=0, online=False, grace_ms=60000)),
    ("event_view", None, "event", {
        "seq": 13, "match": "m_7c", "kind": "phase", "phase": "PLAY", "view": {"struct": {"board": "x"}}}),
    ("match_end", None, "match_end", END),
    ("match_end_short", None, "match_end", {
        "seq": 9, "match": "m_7c", "returns": [0, 0], "outcome": ["draw", "none"], "reason": "finished", "rated": False,
        "record": "/episodes/m_7c"}),
    ("resync", None, "resync", {
        "seq": 9, "match": "m_7c", "seat": 0, "start": {"type": "match_start", **START},
        "events": [{"type": "turn", **TURN}, {"type": "event", **event(5, "move", seat=0, action=3, text="x(1,0)", ms=9)}],
        "turn": {"type": "turn", **TURN}, "end": {"type": "match_end", **END}}),
    ("matches", 7, "matches", {"matches": [{
        "match": "m_7c", "game": "tic_tac_toe", "seats": [{"name": "a", "kind": "human"}], "rated": True, "started_ms": 5}]}),
    ("suites_reply", 3, "suites", {"suites": [{
        "suite": "quick", "version": 1, "digest": "0f1e2d3c", "title": "A quick look", "matches": 8, "parts": [{
            "part": "nim", "game": "nim(pile_sizes=1;3;5;7,is_misere=true)", "matches": 8, "candidates": 1,
            "metrics": ["length"]}]}]}),
    ("enrolled", 4, "enrolled", {"run": "mine", "join": "j_1", "due": 6, "done": 2, "eta_ms": 60000}),
    ("enrolled_left_out", 4, "enrolled", {
        "run": "mine", "join": "j_1", "due": 6, "done": 0, "left_out": {"chess": "expected at least 2 candidates, got 1"}}),
    ("progress", None, "progress", {
        "run": "mine", "done": 3, "due": 5, "verdict_so_far": {"nim": {"wins": 2, "draws": 0, "losses": 1}}}),
    ("run_end", None, "run_end", {
        "run": "mine", "reason": "done", "verdict": {"parts": [], "groups": []}, "ratings": [],
        "report": "/runs/mine/report.html"}),
    ("draining", None, "draining", {"until_ms": 99000, "resume": True}),
    ("error", 12, "error", {
        "code": "illegal_action", "message": "environment 1: expected an action id of connect_four from 0 to 6, got 9", "fault": "client",
        "retry": False, "path": "actions", "index": 1, "got": 9, "allowed": [0, 1, 2], "nearest": "0"}),
    ("error_short", None, "error", {
        "code": "rate_limited", "message": "too fast", "fault": "client", "retry": True, "after_ms": 250}),
]

for sender, number, frames in (("client", "id", CLIENT), ("server", "re", SERVER)):
    for name, n, kind, fields in frames:
        message = {"type": kind, **({} if n is None else {number: n}), **fields}
        line = {"name": name, "from": sender, "json": plain(message), "msgpack": pack(message).hex()}
        print(json.dumps(line, separators=(",", ":")))
