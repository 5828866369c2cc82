"""Types of the protocol's messages, in the form that MessagePack carries.

Generated from docs/protocol.schema.json: tests/run --bless
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from typing_extensions import NotRequired


class AgentId(TypedDict):
    """Who plays.

    Attributes:
        name: What ratings are kept under: 1-40 of `A-Za-z0-9._-`.
        version: Its version.
        kind: What it is; `bot` if absent.
    """

    name: str
    version: NotRequired[str | None]
    kind: NotRequired[AgentKind | None]


AgentKind: TypeAlias = Literal["bot", "llm", "human", "learner"]
"""What kind of agent sits on a seat."""


class Resume(TypedDict):
    """The session to resume.

    Attributes:
        session: `welcome.session`.
        key: `welcome.key`.
        seen: The last `seq` seen, by match.
    """

    session: str
    key: str
    seen: NotRequired[dict[str, int]]


class Hello(TypedDict):
    """`hello`: must be the first message.

    Attributes:
        protocol: Protocol versions that the client speaks.
        client: Free text, e.g. `mybot-go/0.1`.
        token: The token, if it did not come in the `Authorization` header.
        agent: Who plays.
        resume: The session to resume.
        reclaim: Take over the seats that the agent's name still holds.
    """

    protocol: list[int]
    client: str
    token: NotRequired[str | None]
    agent: NotRequired[AgentId | None]
    resume: NotRequired[Resume | None]
    reclaim: NotRequired[bool]


class Ping(TypedDict):
    """`ping`: asks for a `pong`."""


class Pong(TypedDict):
    """`pong`: the answer to the server's `ping`; optional.

    Attributes:
        nonce: The nonce of the `ping`.
    """

    nonce: NotRequired[int | None]


class GameFilter(TypedDict):
    """Which games are asked for. A field that is absent does not matter.

    Attributes:
        information: Whether anything is hidden.
        chance: What kind of luck there is.
        dynamics: Who moves when.
        players: Playable by this number of players.
        text: Occurs in the id or title.
    """

    information: NotRequired[Information | None]
    chance: NotRequired[ChanceMode | None]
    dynamics: NotRequired[Dynamics | None]
    players: NotRequired[int | None]
    text: NotRequired[str | None]


Information: TypeAlias = Literal["perfect", "imperfect"]
"""Whether every seat sees everything."""


ChanceMode: TypeAlias = Literal["deterministic", "explicit", "sampled"]
"""What kind of luck there is."""


Dynamics: TypeAlias = Literal["sequential", "simultaneous", "mixed"]
"""Who moves when."""


class ListGames(TypedDict):
    """`list_games`.

    Attributes:
        filter: Which games.
    """

    filter: NotRequired[GameFilter | None]


class Describe(TypedDict):
    """`describe`.

    Attributes:
        game: Game id, or the whole game string.
        params: Parameters.
        rules_text: Send the rules page too.
    """

    game: str
    params: NotRequired[dict[str, Any]]
    rules_text: NotRequired[bool]


Rotate: TypeAlias = Literal["none", "cycle", "random"]
"""How seats change from episode to episode."""


ChanceBy: TypeAlias = Literal["server", "client"]
"""Who decides chance."""


Autoreset: TypeAlias = Literal["next_step", "same_step", "disabled"]
"""What happens to an environment whose episode is over."""


GymView: TypeAlias = Literal["tensor", "info", "struct", "text", "returns", "picture"]
"""A form in which the gym plane shows a state."""


MaskForm: TypeAlias = Literal["u1", "bits", "ids", "none"]
"""The form in which a batch carries the legal actions."""


Observer: TypeAlias = Literal["acting", "all"]
"""Whose views a batch carries."""


OnIllegal: TypeAlias = Literal["refuse", "lose"]
"""What an illegal action does in the gym plane."""


class Open(TypedDict):
    """`open`: `count` environments of one game under one handle.

    Attributes:
        game: Game id, or the whole game string.
        params: Parameters.
        count: How many environments.
        seats: Who plays each seat: `"agent"` (the client) or an agent spec. Absent: all seats
            are the client's.
        rotate: How seats change from episode to episode.
        chance: Who decides chance.
        autoreset: What happens when an episode is over.
        views: What batches show. Absent: `tensor`, left out where the game has none.
        layout: Layout of the tensor: `ludex`, or one that the spec lists.
        mask: Form of the masks. Absent: `u1` up to 512 actions, else `ids`.
        observer: Whose views batches carry.
        on_illegal: What an illegal action does.
        max_steps: Truncates episodes after this number of moves of seats.
        record: Keep episode records.
    """

    game: str
    params: NotRequired[dict[str, Any]]
    count: NotRequired[int]
    seats: NotRequired[list[str] | None]
    rotate: NotRequired[Rotate]
    chance: NotRequired[ChanceBy]
    autoreset: NotRequired[Autoreset]
    views: NotRequired[list[GymView] | None]
    layout: NotRequired[str | None]
    mask: NotRequired[MaskForm | None]
    observer: NotRequired[Observer]
    on_illegal: NotRequired[OnIllegal]
    max_steps: NotRequired[int | None]
    record: NotRequired[bool]


ColumnU4: TypeAlias = "bytes | list[Any]"
"""Column of u4: a flat list in JSON, packed little-endian bin in MessagePack."""


Seed: TypeAlias = "str"
"""A number below 2^64 as a decimal string."""


class Reset(TypedDict):
    """`reset`: starts episodes.

    Attributes:
        env: The handle.
        envs: Which environments; absent: all.
        seed: Environment i gets this plus i, modulo 2^64.
        seeds: A seed for each environment named, by position in `envs`.
        seats: Who plays each seat from now on.
    """

    env: int
    envs: NotRequired[ColumnU4 | None]
    seed: NotRequired[Seed | None]
    seeds: NotRequired[list[Seed] | None]
    seats: NotRequired[list[str] | None]


ColumnI4: TypeAlias = "bytes | list[Any]"
"""Column of i4: a flat list in JSON, packed little-endian bin in MessagePack."""


Move: TypeAlias = "int | str | dict[str, Any] | list[Any]"
"""An action id, a text or a document."""


class Step(TypedDict):
    """`step`: one action for each environment named. Either `actions` or `moves`.

    Attributes:
        env: The handle.
        envs: Which environments; absent: all.
        actions: Action ids, R or R x P entries; -1 for none.
        moves: The same as ids, texts and documents; `null` for none.
    """

    env: int
    envs: NotRequired[ColumnU4 | None]
    actions: NotRequired[ColumnI4 | None]
    moves: NotRequired[list[Move | None] | None]


class View(TypedDict):
    """`view`: looks at one environment as any seat.

    Attributes:
        env: The handle.
        i: The environment's index.
        seat: Which seat looks; absent: the one to move.
        views: What it wants to see.
        names: Action ids whose texts are wanted.
        parse: Texts whose action ids are wanted.
    """

    env: int
    i: NotRequired[int]
    seat: NotRequired[int | None]
    views: NotRequired[list[GymView]]
    names: NotRequired[list[int] | None]
    parse: NotRequired[list[str] | None]


class CloneEnvs(TypedDict):
    """`clone`: copies environments into a new handle.

    Attributes:
        env: The handle.
        envs: Which environments; absent: all.
        seed: A fresh random stream; absent: the same one.
    """

    env: int
    envs: NotRequired[ColumnU4 | None]
    seed: NotRequired[Seed | None]


class Snapshot(TypedDict):
    """`snapshot`: asks for states as bytes.

    Attributes:
        env: The handle.
        envs: Which environments; absent: all.
    """

    env: int
    envs: NotRequired[ColumnU4 | None]


Bytes: TypeAlias = "bytes | str"
"""Bytes: base64 text in JSON, bin in MessagePack."""


class Restore(TypedDict):
    """`restore`: sets states from bytes.

    Attributes:
        env: The handle.
        envs: Which environments; absent: all.
        items: A snapshot for each environment named.
    """

    env: int
    envs: NotRequired[ColumnU4 | None]
    items: list[Bytes]


class Close(TypedDict):
    """`close`: closes a handle.

    Attributes:
        env: The handle.
    """

    env: int


MatchView: TypeAlias = Literal["struct", "text", "tensor", "info", "texts", "picture"]
"""A form in which the match plane shows a state."""


class Clock(TypedDict):
    """The clock of a match, the same for every seat. If all fields are absent, there is no
    clock. A turn may use `move_ms` freely. Time beyond that comes off the seat's bank. When
    both are used up, the seat has lost by `timeout`.

    Attributes:
        move_ms: Milliseconds free in each turn; 0 is a chess clock.
        bank_ms: Milliseconds in the bank at the start.
        inc_ms: Milliseconds added to the bank by every accepted act.
        first_ms: Replaces `move_ms` in the seat's first turn.
        episode_ms: Milliseconds of the whole episode.
    """

    move_ms: NotRequired[int | None]
    bank_ms: NotRequired[int]
    inc_ms: NotRequired[int]
    first_ms: NotRequired[int | None]
    episode_ms: NotRequired[int | None]


class Join(TypedDict):
    """`join`: asks for seats in matches.

    Attributes:
        game: Game id, or the whole game string. A `ticket` replaces it.
        params: Parameters.
        queue: Who meets: equal queues do.
        against: The server's agents for the other seats, in seat order, or one for all; the
            match starts at once.
        seat: The seat. Absent: drawn in a queue; with `against` match j is played in seat j
            mod P.
        slots: Matches at a time.
        count: Matches in all; 0: until `leave`.
        views: What turns show.
        layout: Layout of the tensor: `ludex`, or one that the spec lists.
        rated: Whether the matches count.
        clock: The clock. Absent: ten seconds for each move.
        pairs: Whether matches come in pairs: one seed, seats swapped. Absent: as the server
            does it.
        ticket: A tournament's ticket; replaces everything else.
    """

    game: NotRequired[str]
    params: NotRequired[dict[str, Any]]
    queue: NotRequired[str]
    against: NotRequired[list[str] | None]
    seat: NotRequired[int | None]
    slots: NotRequired[int]
    count: NotRequired[int]
    views: NotRequired[list[MatchView]]
    layout: NotRequired[str | None]
    rated: NotRequired[bool]
    clock: NotRequired[Clock]
    pairs: NotRequired[bool | None]
    ticket: NotRequired[str | None]


class Leave(TypedDict):
    """`leave`: takes no new matches. Matches that run are played to their end.

    Attributes:
        join: The join.
    """

    join: str


class Notes(TypedDict):
    """What an agent says beside its move. Kept in the record, shown to nobody before the end but
    `say`.

    Attributes:
        analysis: Why the move.
        emotion: How it feels.
        say: Said aloud: the others receive a `say` event.
        tokens: What the answer cost.
    """

    analysis: NotRequired[str | None]
    emotion: NotRequired[str | None]
    say: NotRequired[str | None]
    tokens: NotRequired[Tokens | None]


_Tokens = TypedDict("_Tokens", {"in": "int"})


class Tokens(_Tokens):
    """Tokens that an answer cost.

    Attributes:
        in: Tokens read.
        out: Tokens written.
    """

    out: int


_Act = TypedDict("_Act", {"try": "NotRequired[int]"})


class Act(_Act):
    """`act`: moves in a match. Exactly one of `action`, `text`, `proposal`.

    Attributes:
        match: The match.
        turn: The `turn` that is answered.
        try: The try within it: refusals so far.
        action: The move as an action id.
        text: The move as text.
        proposal: The move as a document.
        notes: What is said beside it.
    """

    match: str
    turn: int
    action: NotRequired[int | None]
    text: NotRequired[str | None]
    proposal: NotRequired[Any]
    notes: NotRequired[Notes | None]


class Resign(TypedDict):
    """`resign`: gives up a match.

    Attributes:
        match: The match.
    """

    match: str


class ListMatches(TypedDict):
    """`list_matches`.

    Attributes:
        game: Only this game's.
        live: Running matches, else finished ones.
        limit: At most this number of matches.
    """

    game: NotRequired[str | None]
    live: NotRequired[bool]
    limit: NotRequired[int]


SpectatorView: TypeAlias = Literal["public", "full"]
"""How much a spectator sees."""


class Spectate(TypedDict):
    """`spectate`: watches a match.

    Attributes:
        match: The match.
        view: How much is seen.
        views: What each event carries as its `view`; absent: none.
    """

    match: str
    view: NotRequired[SpectatorView]
    views: NotRequired[list[MatchView] | None]


class Unspectate(TypedDict):
    """`unspectate`: watches no longer.

    Attributes:
        match: The match.
    """

    match: str


class Ack(TypedDict):
    """`ack`: the messages of a match up to here were seen. The server may forget them. It is
    optional and gets no reply.

    Attributes:
        match: The match.
        seq: The last `seq` seen.
    """

    match: str
    seq: int


class ListSuites(TypedDict):
    """`suites` of a client: asks which suites there are to enrol for."""


class Enrol(TypedDict):
    """`enrol`: the agent plays a suite of the server, or takes its place in a run that has one
    for it. The same request continues the run after any interruption.

    Attributes:
        suite: The suite. Absent for a run that the server or its operator began.
        run: The name of the run.
        scale: The share of the suite that is played.
        slots: Matches at a time.
        only: Only these parts of the suite.
        roles: Agents of the server that fill roles of the suite, by role.
        candidates: How many agents the run is for. It begins when they have all enrolled.
        views: What turns show.
        layout: Layout of the tensor: `ludex`, or one that the specs of all games of the run
            list.
    """

    suite: NotRequired[str]
    run: str
    scale: NotRequired[float]
    slots: NotRequired[int]
    only: NotRequired[list[str]]
    roles: NotRequired[dict[str, list[str]]]
    candidates: NotRequired[int]
    views: NotRequired[list[MatchView]]
    layout: NotRequired[str | None]


class Withdraw(TypedDict):
    """`withdraw`: ends the agent's run for good. Its matches under way are lost.

    Attributes:
        run: The run.
    """

    run: str


class CupEntrant(TypedDict):
    """An entrant of a tournament.

    Attributes:
        name: Its name in the tournament. A client plays under this name.
        agent: The spec of an agent that the server plays. Absent: a client that connects.
        owner: The owner of the client's token; absent for a guest.
    """

    name: str
    agent: NotRequired[str | None]
    owner: NotRequired[str | None]


class Organise(TypedDict):
    """`organise`: begins a tournament, of the server's agents and of clients.

    Attributes:
        run: The name of the run.
        game: Game string.
        format: `round_robin`, `double_round_robin`, `swiss` or `ladder`.
        rounds: Rounds of a Swiss tournament. Absent: as many as are usual.
        blocks: Seeds for each meeting.
        strikes: An entrant is out after this number of matches that its own failures ended;
            0: never.
        move_ms: Milliseconds for a move. Absent: 30 seconds.
        grace_ms: How long the tournament waits for clients to come, and for one that is away.
            Absent: five minutes.
        entrants: Who takes part.
    """

    run: str
    game: str
    format: str
    rounds: NotRequired[int | None]
    blocks: NotRequired[int]
    strikes: NotRequired[int]
    move_ms: NotRequired[int | None]
    grace_ms: NotRequired[int | None]
    entrants: list[CupEntrant]


Scope: TypeAlias = Literal["gym", "play", "spectate", "admin"]
"""What a token grants."""


class Limits(TypedDict):
    """The limits of a connection, as announced in `welcome.limits`. A client takes an absent
    limit for its default.

    Attributes:
        frame_bytes: Bytes of one WebSocket frame; a longer one closes the connection.
        message_bytes: Bytes of one message; a longer one is answered with `too_large`.
        request_bytes: The same for messages without an entry for each environment: all but
            `reset`, `step`, `restore`, `clone` and `snapshot`.
        list: Entries of one list or map in such a message. Lists with an entry for each
            environment have at most `batch`.
        depth: Nesting of maps and lists in a message, the message itself counted.
        window: Requests without a reply.
        requests_per_s: Requests per second, averaged over a few seconds; 0: no limit.
        envs: Environment handles of a session.
        batch: Environments of one handle.
        batch_bytes: Bytes of one `batch` reply.
        search: Steps of search (simulations, positions) that one request may ask of the
            server's agents for a move: the sum over its environments.
        matches: Matches that a session plays or watches at once.
        joins: Joins of a session that have matches to come.
        owner_envs: Environments of all sessions of one owner.
        owner_matches: Matches of all sessions of one owner.
        owner_joins: Joins of all sessions of one owner.
        owner_said_bytes: Bytes of documents that the environments of all sessions of one
            owner keep.
        owner_runs: Runs of one owner that are not over.
        text_bytes: Bytes of one text in a message: a move's text, a proposal, a name.
        notes_bytes: Bytes of the notes of one act.
        idle_ms: Milliseconds of silence, with neither a seat nor an environment, after which
            a connection is closed.
        grace_ms: Milliseconds for which a lost session can be resumed and its seats are held.
        hello_ms: Milliseconds within which `hello` must come.
        hello_bytes: Bytes that may come before `welcome`.
        address_connections: Connections of one address.
        connections: Connections of all addresses.
        address_hellos: Connections of one address that are not welcome yet.
        hellos: Connections of all addresses that are not welcome yet.
        replies_kept: Replies that are kept for repeated requests; at least `window`.
    """

    frame_bytes: NotRequired[int]
    message_bytes: NotRequired[int]
    request_bytes: NotRequired[int]
    list: NotRequired[int]
    depth: NotRequired[int]
    window: NotRequired[int]
    requests_per_s: NotRequired[int]
    envs: NotRequired[int]
    batch: NotRequired[int]
    batch_bytes: NotRequired[int]
    search: NotRequired[int]
    matches: NotRequired[int]
    joins: NotRequired[int]
    owner_envs: NotRequired[int]
    owner_matches: NotRequired[int]
    owner_joins: NotRequired[int]
    owner_said_bytes: NotRequired[int]
    owner_runs: NotRequired[int]
    text_bytes: NotRequired[int]
    notes_bytes: NotRequired[int]
    idle_ms: NotRequired[int]
    grace_ms: NotRequired[int]
    hello_ms: NotRequired[int]
    hello_bytes: NotRequired[int]
    address_connections: NotRequired[int]
    connections: NotRequired[int]
    address_hellos: NotRequired[int]
    hellos: NotRequired[int]
    replies_kept: NotRequired[int]


class HeldMatch(TypedDict):
    """A running match of a resumed session.

    Attributes:
        match: The match.
        seat: The seat; absent for a spectator.
        seq: The last `seq` so far.
    """

    match: str
    seat: NotRequired[int | None]
    seq: int


class HeldJoin(TypedDict):
    """A join of a resumed session.

    Attributes:
        join: The join.
        game: The canonical game string.
        left: Matches still to come; absent: no end.
    """

    join: str
    game: str
    left: NotRequired[int | None]


class Welcome(TypedDict):
    """`welcome`: answers `hello`.

    Attributes:
        protocol: The protocol version in use.
        server: The program, e.g. `ludex/0.1.0`.
        session: The session; with `key` it can be resumed.
        key: A new key at every connection.
        resumed: Whether an earlier session was resumed.
        scopes: What the client may do.
        agent: The agent's name; empty for a client without one.
        limits: What the server allows.
        envs: The session's environment handles.
        matches: The session's running matches.
        joins: The session's joins.
    """

    protocol: int
    server: str
    session: str
    key: str
    resumed: NotRequired[bool]
    scopes: NotRequired[list[Scope]]
    agent: NotRequired[str]
    limits: NotRequired[Limits]
    envs: NotRequired[list[int]]
    matches: NotRequired[list[HeldMatch]]
    joins: NotRequired[list[HeldJoin]]


class ServerPong(TypedDict):
    """`pong`: answers `ping`.

    Attributes:
        now_ms: The server's monotonic clock.
    """

    now_ms: int


class ServerPing(TypedDict):
    """`ping`: is the client there?

    Attributes:
        nonce: To be sent back.
    """

    nonce: int


class GameEntry(TypedDict):
    """A game of the catalogue.

    Attributes:
        game: Game id.
        title: Title for people.
        players: Least and greatest number of seats.
        dynamics: Who moves when.
        chance: What kind of luck there is.
        information: Whether anything is hidden.
        presets: Names of the presets.
        rules: Rules version.
    """

    game: str
    title: str
    players: list[int]
    dynamics: Dynamics
    chance: ChanceMode
    information: Information
    presets: NotRequired[list[str]]
    rules: int


class Games(TypedDict):
    """`games`: answers `list_games`.

    Attributes:
        games: The games.
    """

    games: list[GameEntry]


class Spec(TypedDict):
    """Everything a client may want to know about a game with given parameters. A reader takes an
    absent field for its default, so that client and server may be of different versions.

    Attributes:
        game: Game id.
        title: Title for people.
        params: Complete parameters, defaults filled in.
        string: Canonical game string, e.g. `connect_four(rows=6,columns=7,...)`.
        rules: Rules version.
        hash: Hex over rules, parameters, action ids and views; equal hash = policies and
            records carry over.
        players: Number of seats.
        player_range: Least and greatest number of seats over all parameters.
        seats: Names of the seats, in seat order.
        dynamics: Who moves when.
        chance: What kind of luck there is.
        information: Whether anything is hidden.
        utility: How returns relate.
        rewards: When rewards are paid.
        min_return: Least possible return of a seat.
        max_return: Greatest possible return of a seat.
        max_length: Bound on the moves of an episode (a joint move is one, chance none).
        actions: Number of action ids, A: ids are `0..A`.
        max_chance: Bound on chance outcome ids, 0 without chance.
        legal: How legal actions travel.
        views: Forms of the view.
        proposals: JSON Schema per phase for games whose moves are documents or speech.
        params_schema: JSON Schema of the parameters.
        presets: Named parameter sets.
        anchors: The ladder.
        text: The rules page (Markdown), when asked for.
    """

    game: NotRequired[str]
    title: NotRequired[str]
    params: NotRequired[dict[str, Any]]
    string: NotRequired[str]
    rules: NotRequired[int]
    hash: NotRequired[str]
    players: NotRequired[int]
    player_range: NotRequired[list[int]]
    seats: NotRequired[list[str]]
    dynamics: NotRequired[Dynamics]
    chance: NotRequired[ChanceMode]
    information: NotRequired[Information]
    utility: NotRequired[Utility]
    rewards: NotRequired[RewardModel]
    min_return: NotRequired[float]
    max_return: NotRequired[float]
    max_length: NotRequired[int]
    actions: NotRequired[int]
    max_chance: NotRequired[int]
    legal: NotRequired[LegalForm]
    views: NotRequired[Views]
    proposals: NotRequired[dict[str, Any] | None]
    params_schema: NotRequired[Any]
    presets: NotRequired[dict[str, Preset]]
    anchors: NotRequired[list[Anchor]]
    text: NotRequired[str | None]


Utility: TypeAlias = Literal["zero_sum", "constant_sum", "general_sum", "identical"]
"""How the returns of the seats relate."""


RewardModel: TypeAlias = Literal["terminal", "step"]
"""When rewards are paid."""


LegalForm: TypeAlias = Literal["ids", "ranges"]
"""How legal actions travel."""


class Views(TypedDict):
    """In which forms a game can be seen.

    Attributes:
        tensor: The egocentric observation, by array name.
        struct: JSON Schema of the structured view.
        text: Whether there is a text view (there always is; kept for clients that ask).
        info: The perfect-recall information state, by array name.
        layouts: Layouts of the tensor that can be asked for.
    """

    tensor: NotRequired[dict[str, TensorSpec] | None]
    struct: Any
    text: bool
    info: NotRequired[dict[str, TensorSpec] | None]
    layouts: list[str]


class TensorSpec(TypedDict):
    """Shape and meaning of one array of a view.

    Attributes:
        d: Element type.
        s: Shape, C order.
        low: Least value.
        high: Greatest value.
        parts: Named parts along axis 0, in order, without gaps.
    """

    d: Dtype
    s: list[int]
    low: float
    high: float
    parts: list[Part]


Dtype: TypeAlias = Literal["u1", "i1", "i2", "i4", "f4"]
"""Element type of a tensor, little-endian."""


class Part(TypedDict):
    """A named stretch of a tensor along its first axis.

    Attributes:
        name: What it shows, e.g. `mine`.
        at: First index on axis 0.
        len: How many indices on axis 0.
    """

    name: str
    at: int
    len: int


class Preset(TypedDict):
    """A named set of parameters.

    Attributes:
        params: The parameters that it sets.
        note: What it changes and whose it is, in one line.
    """

    params: dict[str, Any]
    note: str


class Anchor(TypedDict):
    """One rung of a game's ladder.

    Attributes:
        level: Level, 0 = random.
        bot: Which bot of the level, from 1.
        agent: The agent spec that plays it.
        rating: Calibrated rating, if measured.
        low: Lower end of the rating's interval.
        high: Upper end of the rating's interval.
    """

    level: int
    bot: int
    agent: str
    rating: NotRequired[float | None]
    low: NotRequired[float | None]
    high: NotRequired[float | None]


class SpecReply(TypedDict):
    """`spec`: answers `describe`.

    Attributes:
        spec: The spec.
    """

    spec: Spec


class Opened(TypedDict):
    """`opened`: answers `open` and `clone`.

    Attributes:
        env: The handle.
        count: How many environments it holds.
        spec: The game's spec.
    """

    env: int
    count: int
    spec: Spec


ColumnI1: TypeAlias = "bytes | list[Any]"
"""Column of i1: a flat list in JSON, packed little-endian bin in MessagePack."""


class Tensor(TypedDict):
    """Array with a shape, C order: `v` in JSON, `b` (packed little-endian bin) in MessagePack."""

    d: Dtype
    s: list[int]
    v: list[float]


Mask: TypeAlias = "ColumnU1 | Ragged"
"""Legal actions: bytes or bits (a column of u1), or offsets and ids."""


ColumnU1: TypeAlias = "bytes | list[Any]"
"""Column of u1: a flat list in JSON, packed little-endian bin in MessagePack."""


class Ragged(TypedDict):
    """Lists of different lengths, one after the other: row r is `a[o[r]..o[r + 1]]`.

    Attributes:
        o: Offsets, one more than rows.
        a: Ids, ascending within a row.
    """

    o: ColumnU4
    a: ColumnU4


class ChanceRows(TypedDict):
    """The outcomes of chance nodes: row r is `a[o[r]..o[r + 1]]` with probabilities `p` at the
    same positions.

    Attributes:
        o: Offsets, one more than rows.
        a: Outcome ids.
        p: Probabilities.
    """

    o: ColumnU4
    a: ColumnU4
    p: ColumnF8


ColumnF8: TypeAlias = "bytes | list[Any]"
"""Column of f8: a flat list in JSON, packed little-endian bin in MessagePack."""


ColumnF4: TypeAlias = "bytes | list[Any]"
"""Column of f4: a flat list in JSON, packed little-endian bin in MessagePack."""


class Ended(TypedDict):
    """The ended episodes of the rows that were reset in the same call.

    Attributes:
        at: Positions in this reply.
        seat: The client's seat in the ended episode, when it had exactly one.
        obs: As `batch.obs`.
        info: As `batch.info`.
        struct: As `batch.struct`.
        text: As `batch.text`.
        returns: Entries x P: sums over the ended episodes.
        length: Moves of seats in the ended episodes.
    """

    at: ColumnU4
    seat: NotRequired[ColumnI1 | None]
    obs: NotRequired[dict[str, Tensor] | None]
    info: NotRequired[dict[str, Tensor] | None]
    struct: NotRequired[list[Any] | None]
    text: NotRequired[list[str] | None]
    returns: ColumnF8
    length: ColumnU4


class Skipped(TypedDict):
    """Episodes that ended before the client could act: counted, never shown as a step.

    Attributes:
        at: Positions in this reply, one entry per episode.
        returns: Entries x P.
    """

    at: ColumnU4
    returns: ColumnF8


class Batch(TypedDict):
    """`batch`: answers `reset`, `step` and `restore`. One row per environment named in the
    request, in its order (R rows, P players, A actions).

    Attributes:
        env: The handle.
        envs: The environments of the rows; absent: all.
        to_move: Rows R: the seat to move, or a value of [`to_move`].
        seat: Rows R: the client's seat, when it has exactly one.
        obs: First axis R (R x P with `observer = all`): what the observing seat sees.
        info: As `obs`: the perfect-recall information state.
        struct: Rows as `obs`: the structured view.
        text: Rows as `obs`: the text view.
        mask: Rows as `obs`: the legal actions of the observing seat.
        chance: Rows R: the outcomes of chance nodes, only with `chance = "client"`.
        reward: Rows R x P: since the client's previous action in this environment.
        returns: Rows R x P: sum over the episode so far, when asked for.
        terminated: Rows R: 1 where the rules ended the episode.
        truncated: Rows R: 1 where the step limit ended it.
        length: Rows R: moves of seats so far.
        episode: Rows R: episode number of the environment.
        final: The last view of the rows that were reset in this call (`same_step` only).
        illegal: Positions of rows that ended by `on_illegal = "lose"`.
        skipped: Episodes that ended before the client could act.
    """

    env: int
    envs: NotRequired[ColumnU4 | None]
    to_move: ColumnI1
    seat: NotRequired[ColumnI1 | None]
    obs: NotRequired[dict[str, Tensor] | None]
    info: NotRequired[dict[str, Tensor] | None]
    struct: NotRequired[list[Any] | None]
    text: NotRequired[list[str] | None]
    mask: NotRequired[Mask | None]
    chance: NotRequired[ChanceRows | None]
    reward: ColumnF4
    returns: NotRequired[ColumnF8 | None]
    terminated: ColumnU1
    truncated: ColumnU1
    length: ColumnU4
    episode: ColumnU4
    final: NotRequired[Ended | None]
    illegal: NotRequired[ColumnU4 | None]
    skipped: NotRequired[Skipped | None]


class PictureView(TypedDict):
    """A position drawn for people.

    Attributes:
        svg: An SVG document. What a person can touch carries `data-cell`.
        gestures: For the seat that is to move: legal action -> the cells that a person
            touches, in order, to mean it. Actions that are missing here have no cells.
    """

    svg: str
    gestures: NotRequired[dict[str, list[str]]]


class Viewed(TypedDict):
    """`viewed`: answers `view`.

    Attributes:
        tensor: The egocentric observation.
        struct: The structured view.
        text: The text view.
        info: The perfect-recall information state.
        picture: The position drawn for people.
        names: The texts of the ids asked for; empty where the id names no action.
        parsed: The ids of the texts asked for; `null` where the text names no action.
        phase: The phase, in games that have several.
        schema: Which of the spec's `proposals` a document of the seat must fit; absent: it is
            not asked, or no documents are heard.
    """

    tensor: NotRequired[dict[str, Tensor] | None]
    struct: NotRequired[Any]
    text: NotRequired[str | None]
    info: NotRequired[dict[str, Tensor] | None]
    picture: NotRequired[PictureView | None]
    names: NotRequired[list[str] | None]
    parsed: NotRequired[list[int | None] | None]
    phase: NotRequired[str | None]
    schema: NotRequired[str | None]


class Snapshots(TypedDict):
    """`snapshots`: answers `snapshot`.

    Attributes:
        hash: The spec's hash; `restore` wants the same.
        items: A snapshot for each environment named.
    """

    hash: str
    items: list[Bytes]


class Done(TypedDict):
    """`ok`: done."""


class Joined(TypedDict):
    """`joined`: answers `join`.

    Attributes:
        join: The join.
    """

    join: str


class Queued(TypedDict):
    """`queued`: a join waits for others.

    Attributes:
        join: The join.
        waiting: How many wait in the queue, this one counted.
        eta_ms: About how long it will take, if the server can tell.
    """

    join: str
    waiting: int
    eta_ms: NotRequired[int | None]


class SeatInfo(TypedDict):
    """Who sits on a seat of a match.

    Attributes:
        name: The agent's name.
        version: Its version.
        kind: What it is.
    """

    name: str
    version: NotRequired[str | None]
    kind: NotRequired[AgentKind]


class Illegal(TypedDict):
    """How a match treats illegal moves.

    Attributes:
        policy: What follows the last refusal.
        tries: Refusals in one turn until then.
        unparsed: What holds for texts that name no move, which are then counted apart;
            absent: they count as illegal moves.
    """

    policy: IllegalPolicy
    tries: int
    unparsed: NotRequired[Refusals | None]


IllegalPolicy: TypeAlias = Literal["forfeit", "random", "default"]
"""What follows the last refusal of a turn."""


class Refusals(TypedDict):
    """How many refusals a turn may have, and what follows the last one.

    Attributes:
        policy: What follows the last refusal.
        tries: Refusals in one turn until then.
    """

    policy: IllegalPolicy
    tries: int


class MatchStart(TypedDict):
    """`match_start`: the whole public record of a match that begins. Its `seq` is 0.

    Attributes:
        seq: Number within the match for this viewer.
        match: The match.
        join: The join that led to it; absent for a spectator.
        game: Game id.
        params: Complete parameters.
        rules: Rules version.
        hash: The spec's hash.
        seat: The viewer's seat; absent for a spectator.
        seats: Who sits where.
        rated: Whether the match counts.
        clock: The clock of every seat.
        illegal: How illegal moves are treated.
        skip_forced: Whether forced moves are played without asking.
        seed_commit: Hex SHA-256 over the salt's bytes and the seed's decimal text.
    """

    seq: int
    match: str
    join: NotRequired[str | None]
    game: str
    params: dict[str, Any]
    rules: int
    hash: str
    seat: NotRequired[int | None]
    seats: list[SeatInfo]
    rated: NotRequired[bool]
    clock: NotRequired[Clock]
    illegal: NotRequired[Illegal]
    skip_forced: NotRequired[bool]
    seed_commit: NotRequired[str | None]


Legal: TypeAlias = "list[int] | list[list[int]]"
"""Legal actions, in the form that the spec's `legal` names."""


class SeatView(TypedDict):
    """What a viewer sees of a state, in the forms that it asked for.

    Attributes:
        struct: The structured view.
        text: The text view.
        tensor: The egocentric observation.
        info: The perfect-recall information state.
        picture: The position drawn for people.
    """

    struct: NotRequired[Any]
    text: NotRequired[str | None]
    tensor: NotRequired[dict[str, Tensor] | None]
    info: NotRequired[dict[str, Tensor] | None]
    picture: NotRequired[PictureView | None]


_Turn = TypedDict("_Turn", {"try": "NotRequired[int]"})


class Turn(_Turn):
    """`turn`: this seat is to move.

    Attributes:
        seq: Number within the match for this viewer.
        match: The match.
        turn: This seat's own turns, from 0.
        try: Refusals within the turn.
        budget_ms: After this much the seat has lost on time; absent: no clock.
        bank_ms: The bank of every seat.
        legal: The legal actions.
        names: The text of each legal action (view `texts`).
        view: What the seat sees.
        phase: The phase, in games that have several.
        schema: Which of the spec's `proposals` a document of this turn follows; absent:
            documents are not heard now.
    """

    seq: int
    match: str
    turn: int
    budget_ms: NotRequired[int | None]
    bank_ms: NotRequired[list[int]]
    legal: NotRequired[Legal]
    names: NotRequired[list[str] | None]
    view: NotRequired[SeatView]
    phase: NotRequired[str | None]
    schema: NotRequired[str | None]


class Accepted(TypedDict):
    """`accepted`: the act was played.

    Attributes:
        match: The match.
        turn: The turn that was answered.
        action: The action's id, where it has one.
        text: The move as text.
        bank_ms: The seat's bank.
    """

    match: str
    turn: int
    action: NotRequired[int | None]
    text: str
    bank_ms: NotRequired[int]


ErrorCode: TypeAlias = Literal[
    "bad_frame",
    "bad_message",
    "bad_field",
    "unknown_type",
    "too_large",
    "too_deep",
    "protocol_version",
    "hello_first",
    "unauthorized",
    "forbidden",
    "unknown_game",
    "bad_params",
    "unknown_agent",
    "bad_seed",
    "unknown_env",
    "env_over",
    "bad_shape",
    "illegal_action",
    "unparsed",
    "bad_snapshot",
    "limit",
    "rate_limited",
    "window_full",
    "unknown_join",
    "unknown_suite",
    "unknown_run",
    "unknown_match",
    "not_your_seat",
    "not_your_turn",
    "stale_turn",
    "conflict",
    "match_over",
    "draining",
    "internal",
]
"""What went wrong, for programs."""


class Issue(TypedDict):
    """What is wrong with one place of a document.

    Attributes:
        path: Where in the document.
        got: The value there.
        allowed: The values that are allowed there.
        message: One sentence for people.
        code: What went wrong in one word of the game's page, for programs that count.
    """

    path: str
    got: NotRequired[Any]
    allowed: NotRequired[Any]
    message: str
    code: NotRequired[str | None]


_Refused = TypedDict("_Refused", {"try": "int"})


class Refused(_Refused):
    """`refused`: the act was not legal; the state is as it was.

    Attributes:
        match: The match.
        turn: The turn.
        try: The try to act again with.
        code: Why, for programs.
        message: Why, for people.
        tries_left: Refusals left; 0: `then` says what the policy did.
        legal: The legal actions.
        issues: What is wrong with a proposal.
        then: What the policy did.
    """

    match: str
    turn: int
    code: ErrorCode
    message: str
    tries_left: int
    legal: NotRequired[Legal | None]
    issues: NotRequired[list[Issue] | None]
    then: NotRequired[IllegalPolicy | None]


class EventBase(TypedDict):
    """`event`: something happened in a match, as this viewer sees it.

    Attributes:
        seq: Number within the match for this viewer.
        match: The match.
        view: What a spectator who asked for views sees afterwards.
    """

    seq: int
    match: str
    view: NotRequired[SeatView | None]


class EventMove(EventBase):
    """A seat moved.

    Attributes:
        seat: The seat.
        action: The action's id, where it has one and the viewer may see it.
        text: The move as text.
        ms: Milliseconds that it took.
        forced: Played by the illegal-move policy, not by the agent.
    """

    kind: Literal["move"]
    seat: int
    action: NotRequired[int | None]
    text: str
    ms: NotRequired[int]
    forced: NotRequired[bool]


class EventChance(EventBase):
    """Chance decided.

    Attributes:
        action: The outcome's id, if the viewer may see it.
        text: The outcome as text.
    """

    kind: Literal["chance"]
    action: NotRequired[int | None]
    text: str


class EventReveal(EventBase):
    """Something hidden is shown.

    Attributes:
        text: For people.
        data: For programs.
    """

    kind: Literal["reveal"]
    text: str
    data: NotRequired[Any]


class EventSay(EventBase):
    """A seat spoke.

    Attributes:
        seat: The seat.
        text: What it said.
    """

    kind: Literal["say"]
    seat: int
    text: str


class EventPhase(EventBase):
    """A phase begins.

    Attributes:
        phase: Its name.
    """

    kind: Literal["phase"]
    phase: str


class EventReward(EventBase):
    """Rewards were paid.

    Attributes:
        rewards: For each seat.
    """

    kind: Literal["reward"]
    rewards: list[float]


class EventPresence(EventBase):
    """A seat's agent went or came back.

    Attributes:
        seat: The seat.
        online: Whether it is there.
        grace_ms: How long the seat is held.
    """

    kind: Literal["presence"]
    seat: int
    online: bool
    grace_ms: NotRequired[int | None]


Event: TypeAlias = (
    "EventMove | EventChance | EventReveal | EventSay | EventPhase | EventReward | EventPresence"
)
"""`event`: something happened in a match, as this viewer sees it."""


Outcome: TypeAlias = Literal["win", "loss", "draw", "none"]
"""How a seat came out of a match."""


Reason: TypeAlias = Literal[
    "finished",
    "illegal",
    "timeout",
    "disconnect",
    "resign",
    "truncated",
    "agent_error",
    "no_show",
    "infra_error",
    "aborted",
]
"""Why a match ended."""


class MatchEnd(TypedDict):
    """`match_end`: a match is over.

    Attributes:
        seq: Number within the match for this viewer.
        match: The match.
        returns: Return of each seat.
        outcome: How each seat came out.
        reason: Why it ended.
        at_fault: Which seat is to blame.
        rated: Whether the match counts.
        digest: The digest chain's end, hex; once every match of the seed is over.
        seed: The seed, decimal; once every match of the seed is over.
        salt: The salt of `seed_commit`, hex; with the seed.
        record: Path of the episode over HTTP.
    """

    seq: int
    match: str
    returns: list[float]
    outcome: list[Outcome]
    reason: Reason
    at_fault: NotRequired[int | None]
    rated: NotRequired[bool]
    digest: NotRequired[str | None]
    seed: NotRequired[str | None]
    salt: NotRequired[str | None]
    record: str


class Resync(TypedDict):
    """`resync`: forget what you knew of this match, this is all of it.

    Attributes:
        seq: The last number covered; the resync uses none itself.
        match: The match.
        start: How it began.
        events: What happened since.
        turn: The turn that waits for this seat, with its own `seq`.
        end: How it ended.
    """

    seq: int
    match: str
    start: MatchStart
    events: NotRequired[list[MatchFrame]]
    turn: NotRequired[Turn | None]
    end: NotRequired[MatchEnd | None]


class MatchEntry(TypedDict):
    """A match of the list.

    Attributes:
        match: The match.
        game: The canonical game string.
        seats: Who sits where.
        rated: Whether it counts.
        started_ms: When it began, on the server's monotonic clock.
    """

    match: str
    game: str
    seats: list[SeatInfo]
    rated: NotRequired[bool]
    started_ms: int


class Matches(TypedDict):
    """`matches`: answers `list_matches`.

    Attributes:
        matches: The matches, newest first.
    """

    matches: list[MatchEntry]


class SuiteEntry(TypedDict):
    """A suite of the list.

    Attributes:
        suite: The name to enrol with.
        version: Raised with every change that has an effect on results.
        digest: Shortened SHA-256 of its text.
        title: What it is.
        matches: How many matches one candidate plays at most.
        parts: What is played.
        season: The season in which a run that begins now is played.
    """

    suite: str
    version: int
    digest: str
    title: str
    matches: int
    parts: list[SuitePart]
    season: NotRequired[str | None]


class SuitePart(TypedDict):
    """A part of a suite.

    Attributes:
        part: Its id, for `enrol.only`.
        game: The canonical game string.
        matches: How many matches one candidate plays in it at most.
        candidates: How many candidates it needs, at least.
        metrics: What is measured.
    """

    part: str
    game: str
    matches: int
    candidates: int
    metrics: list[str]


class Suites(TypedDict):
    """`suites` of a server: answers that request.

    Attributes:
        suites: The suites, by name.
    """

    suites: list[SuiteEntry]


class Enrolled(TypedDict):
    """`enrolled`: answers `enrol`.

    Attributes:
        run: The run.
        join: The join that its matches come from; absent if the run is over.
        due: Matches that are due, as far as is known now.
        done: Matches that are done.
        eta_ms: About how long the rest will take, if that is known.
    """

    run: str
    join: NotRequired[str | None]
    due: int
    done: int
    eta_ms: NotRequired[int | None]


class CupTicket(TypedDict):
    """The ticket of a client that takes part in a tournament.

    Attributes:
        name: The entrant.
        ticket: What `join` shows, from a client that does not enrol.
    """

    name: str
    ticket: str


class Organised(TypedDict):
    """`organised`: answers `organise`.

    Attributes:
        run: The run.
        tickets: A ticket for each client that takes part.
    """

    run: str
    tickets: list[CupTicket]


class Progress(TypedDict):
    """`progress`: a match of a run is done.

    Attributes:
        run: The run.
        done: Matches that are done.
        due: Matches that are due, as far as is known now.
        verdict_so_far: The agent's wins, draws and losses so far, by part.
    """

    run: str
    done: int
    due: int
    verdict_so_far: NotRequired[Any]


RunReason: TypeAlias = Literal["done", "withdrawn", "deadline"]
"""How a run ended."""


class RunOver(TypedDict):
    """`run_end`: a run is over, and its seeds are released.

    Attributes:
        run: The run.
        reason: How it ended.
        verdict: The results by part, as `ludex evaluate --json` prints them.
        ratings: The ratings by game.
        report: Where the report is, as a path of this server's web pages.
    """

    run: str
    reason: RunReason
    verdict: Any
    ratings: Any
    report: str


class Draining(TypedDict):
    """`draining`: no new `open` or `join`.

    Attributes:
        until_ms: When the server goes, on its monotonic clock.
        resume: Whether sessions can be resumed after the restart.
    """

    until_ms: int
    resume: NotRequired[bool]


Fault: TypeAlias = Literal["client", "agent", "server"]
"""Whose fault an error is."""


class Refusal(TypedDict):
    """Why something was refused. The `error` message is a refusal in the envelope of its
    request. It is small (below 128 bytes), so that it can be the error of any `Result`.

    Attributes:
        code: What went wrong, for programs.
        message: One sentence for people.
        fault: Whose fault it is.
        retry: Whether the same request may succeed later.
        after_ms: When to try again, in milliseconds from now.
        path: The field that is wrong, e.g. `agent.name` or `views[1]`.
        at: The position in the list that is wrong.
        got: What was sent.
        allowed: What could have been sent: a list of values, or a range.
        nearest: The allowed word that is most like what was sent.
        issues: What is wrong with a document.
    """

    code: ErrorCode
    message: str
    fault: Fault
    retry: bool
    after_ms: NotRequired[int | None]
    path: NotRequired[str | None]
    at: NotRequired[int | None]
    got: NotRequired[Any]
    allowed: NotRequired[Any]
    nearest: NotRequired[str | None]
    issues: NotRequired[list[Issue]]


class Record(TypedDict):
    """One episode.

    Attributes:
        ludex: Version of the record format: 1.
        episode: Name of the episode; a match's is the match's.
        number: Episode number, the one in the chance key; 0 for a match.
        flags: What makes the episode special, e.g. `peek`.
        game: Game id.
        params: Complete parameters.
        rules: Rules version.
        hash: The spec's hash.
        server: The program that wrote it, e.g. `ludex/0.1.0`.
        seats: Who sat where.
        rated: Whether the match was rated.
        clock: The clock.
        illegal: How illegal moves were treated.
        seed_commit: Hex SHA-256 over the salt's bytes and the seed's decimal text.
        start: How many of the first events are a start that was given: no agent chose them,
            and the seed did not draw them.
        started: When it started, UTC in RFC 3339.
        events: What happened, in the order of play.
        returns: Return of each seat.
        outcome: How each seat came out.
        reason: Why it ended.
        at_fault: The seat whose forfeit ended the episode.
        ended: When it ended, UTC in RFC 3339.
        stall_ms: For how many milliseconds the server itself was held up and could not hear a
            seat. The clocks did not count them.
        mirror: Return of each seat when the server's opponent plays every seat on the same
            seed; kept where the agent's matches have a seed of their own each.
        run: The run that it belongs to.
        pair: The pair that it belongs to: same seed, seats swapped.
        seed: The seed, decimal.
        salt: 16 bytes as 32 hex digits.
        digest: The digest chain's end, hex.
    """

    ludex: int
    episode: str
    number: NotRequired[int]
    flags: NotRequired[list[str]]
    game: str
    params: dict[str, Any]
    rules: int
    hash: str
    server: NotRequired[str]
    seats: list[RecordSeat]
    rated: NotRequired[bool]
    clock: NotRequired[Clock]
    illegal: NotRequired[Illegal]
    seed_commit: NotRequired[str | None]
    start: NotRequired[int]
    started: NotRequired[str]
    events: list[RecordEvent]
    returns: NotRequired[list[float]]
    outcome: NotRequired[list[Outcome]]
    reason: NotRequired[Reason | None]
    at_fault: NotRequired[int | None]
    ended: NotRequired[str | None]
    stall_ms: NotRequired[int | None]
    mirror: NotRequired[list[float]]
    run: NotRequired[str | None]
    pair: NotRequired[str | None]
    seed: NotRequired[str | None]
    salt: NotRequired[str | None]
    digest: NotRequired[str | None]


class RecordSeat(TypedDict):
    """Who sat on a seat.

    Attributes:
        name: The agent's name.
        version: Its version.
        kind: What it is.
        spec: Its spec, if the server played it.
    """

    name: str
    version: NotRequired[str | None]
    kind: NotRequired[AgentKind]
    spec: NotRequired[str | None]


class ChanceRecord(TypedDict):
    """A chance outcome in a record.

    Attributes:
        action: The outcome's id; absent where the reader of a running match may not see it.
    """

    action: NotRequired[int | None]


class Try(TypedDict):
    """A refused attempt, as it was sent.

    Attributes:
        action: The action id.
        text: The move as text.
        proposal: The move as a document.
        code: Why it was refused.
        issues: What was wrong with a document.
        ms: Milliseconds that it took.
        notes: What was said beside it.
    """

    action: NotRequired[int | None]
    text: NotRequired[str | None]
    proposal: NotRequired[Any]
    code: ErrorCode
    issues: NotRequired[list[Issue]]
    ms: int
    notes: NotRequired[Notes | None]


class MoveRecord(TypedDict):
    """A seat's move in a record. `action` and `said` exclude each other; both are absent where
    the reader of a running match may not see them.

    Attributes:
        seat: The seat.
        turn: The seat's own turn, from 0.
        action: The action's id.
        said: The canonical form of a proposal or speech.
        ms: Milliseconds that it took.
        tries: The refused attempts before it.
        notes: What was said beside it.
        forced: Played by the illegal-move policy, not by the agent.
        more: More moves of the same joint turn follow.
    """

    seat: int
    turn: int
    action: NotRequired[int | None]
    said: NotRequired[Any]
    ms: NotRequired[int]
    tries: NotRequired[list[Try]]
    notes: NotRequired[Notes | None]
    forced: NotRequired[bool]
    more: NotRequired[bool]


class HelloRequest(Hello):
    """The first message."""

    type: Literal["hello"]
    id: int


class PingRequest(Ping):
    """Asks for the server's time."""

    type: Literal["ping"]
    id: int


class PongRequest(Pong):
    """Answers the server's `ping`; gets no reply."""

    type: Literal["pong"]
    id: NotRequired[int]


class ListGamesRequest(ListGames):
    """Asks for the catalogue."""

    type: Literal["list_games"]
    id: int


class DescribeRequest(Describe):
    """Asks for a game's spec."""

    type: Literal["describe"]
    id: int


class OpenRequest(Open):
    """Opens environments."""

    type: Literal["open"]
    id: int


class ResetRequest(Reset):
    """Starts episodes."""

    type: Literal["reset"]
    id: int


class StepRequest(Step):
    """Acts in environments."""

    type: Literal["step"]
    id: int


class ViewRequest(View):
    """Looks at an environment."""

    type: Literal["view"]
    id: int


class CloneRequest(CloneEnvs):
    """Copies environments into a new handle."""

    type: Literal["clone"]
    id: int


class SnapshotRequest(Snapshot):
    """Asks for states as bytes."""

    type: Literal["snapshot"]
    id: int


class RestoreRequest(Restore):
    """Sets states from bytes."""

    type: Literal["restore"]
    id: int


class CloseRequest(Close):
    """Closes a handle."""

    type: Literal["close"]
    id: int


class JoinRequest(Join):
    """Asks for seats in matches."""

    type: Literal["join"]
    id: int


class LeaveRequest(Leave):
    """Takes no new matches."""

    type: Literal["leave"]
    id: int


class ActRequest(Act):
    """Moves in a match."""

    type: Literal["act"]
    id: int


class ResignRequest(Resign):
    """Gives up a match."""

    type: Literal["resign"]
    id: int


class ListMatchesRequest(ListMatches):
    """Asks for the list of matches."""

    type: Literal["list_matches"]
    id: int


class SpectateRequest(Spectate):
    """Watches a match."""

    type: Literal["spectate"]
    id: int


class UnspectateRequest(Unspectate):
    """Watches no longer."""

    type: Literal["unspectate"]
    id: int


class AckRequest(Ack):
    """Saw the events of a match up to here; gets no reply."""

    type: Literal["ack"]
    id: NotRequired[int]


class SuitesRequest(ListSuites):
    """Asks for the suites that the server offers."""

    type: Literal["suites"]
    id: int


class EnrolRequest(Enrol):
    """Enters the agent for a run."""

    type: Literal["enrol"]
    id: int


class WithdrawRequest(Withdraw):
    """Ends the agent's run before its time."""

    type: Literal["withdraw"]
    id: int


class OrganiseRequest(Organise):
    """Begins a tournament."""

    type: Literal["organise"]
    id: int


ClientMessage: TypeAlias = (
    "HelloRequest"
    " | PingRequest"
    " | PongRequest"
    " | ListGamesRequest"
    " | DescribeRequest"
    " | OpenRequest"
    " | ResetRequest"
    " | StepRequest"
    " | ViewRequest"
    " | CloneRequest"
    " | SnapshotRequest"
    " | RestoreRequest"
    " | CloseRequest"
    " | JoinRequest"
    " | LeaveRequest"
    " | ActRequest"
    " | ResignRequest"
    " | ListMatchesRequest"
    " | SpectateRequest"
    " | UnspectateRequest"
    " | AckRequest"
    " | SuitesRequest"
    " | EnrolRequest"
    " | WithdrawRequest"
    " | OrganiseRequest"
)
"""A message of a client."""


class WelcomeMessage(Welcome):
    """Answers `hello`."""

    type: Literal["welcome"]
    re: NotRequired[int]


class PongMessage(ServerPong):
    """Answers `ping`."""

    type: Literal["pong"]
    re: NotRequired[int]


class PingMessage(ServerPing):
    """Is the client there? Answering with `pong` is optional."""

    type: Literal["ping"]
    re: NotRequired[int]


class GamesMessage(Games):
    """Answers `list_games`."""

    type: Literal["games"]
    re: NotRequired[int]


class SpecMessage(SpecReply):
    """Answers `describe`."""

    type: Literal["spec"]
    re: NotRequired[int]


class OpenedMessage(Opened):
    """Answers `open` and `clone`."""

    type: Literal["opened"]
    re: NotRequired[int]


class BatchMessage(Batch):
    """Answers `reset`, `step` and `restore`."""

    type: Literal["batch"]
    re: NotRequired[int]


class ViewedMessage(Viewed):
    """Answers `view`."""

    type: Literal["viewed"]
    re: NotRequired[int]


class SnapshotsMessage(Snapshots):
    """Answers `snapshot`."""

    type: Literal["snapshots"]
    re: NotRequired[int]


class OkMessage(Done):
    """Answers `close`, `leave`, `resign`, `spectate`, `unspectate` and `withdraw`."""

    type: Literal["ok"]
    re: NotRequired[int]


class JoinedMessage(Joined):
    """Answers `join`."""

    type: Literal["joined"]
    re: NotRequired[int]


class QueuedMessage(Queued):
    """A join waits for others."""

    type: Literal["queued"]
    re: NotRequired[int]


class MatchStartMessage(MatchStart):
    """A match begins."""

    type: Literal["match_start"]
    re: NotRequired[int]


class TurnMessage(Turn):
    """This seat is to move."""

    type: Literal["turn"]
    re: NotRequired[int]


class AcceptedMessage(Accepted):
    """Answers an `act` that was played."""

    type: Literal["accepted"]
    re: NotRequired[int]


class RefusedMessage(Refused):
    """Answers an `act` that was not legal."""

    type: Literal["refused"]
    re: NotRequired[int]


class EventMoveMessage(EventMove):
    """Something happened in a match."""

    type: Literal["event"]
    re: NotRequired[int]


class EventChanceMessage(EventChance):
    """Something happened in a match."""

    type: Literal["event"]
    re: NotRequired[int]


class EventRevealMessage(EventReveal):
    """Something happened in a match."""

    type: Literal["event"]
    re: NotRequired[int]


class EventSayMessage(EventSay):
    """Something happened in a match."""

    type: Literal["event"]
    re: NotRequired[int]


class EventPhaseMessage(EventPhase):
    """Something happened in a match."""

    type: Literal["event"]
    re: NotRequired[int]


class EventRewardMessage(EventReward):
    """Something happened in a match."""

    type: Literal["event"]
    re: NotRequired[int]


class EventPresenceMessage(EventPresence):
    """Something happened in a match."""

    type: Literal["event"]
    re: NotRequired[int]


class MatchEndMessage(MatchEnd):
    """A match is over."""

    type: Literal["match_end"]
    re: NotRequired[int]


class ResyncMessage(Resync):
    """Everything about a match again, instead of what was missed."""

    type: Literal["resync"]
    re: NotRequired[int]


class MatchesMessage(Matches):
    """Answers `list_matches`."""

    type: Literal["matches"]
    re: NotRequired[int]


class SuitesMessage(Suites):
    """Answers `suites`."""

    type: Literal["suites"]
    re: NotRequired[int]


class EnrolledMessage(Enrolled):
    """Answers `enrol`."""

    type: Literal["enrolled"]
    re: NotRequired[int]


class OrganisedMessage(Organised):
    """Answers `organise`."""

    type: Literal["organised"]
    re: NotRequired[int]


class ProgressMessage(Progress):
    """A match of a run is done."""

    type: Literal["progress"]
    re: NotRequired[int]


class RunEndMessage(RunOver):
    """A run is over."""

    type: Literal["run_end"]
    re: NotRequired[int]


class DrainingMessage(Draining):
    """The server goes down."""

    type: Literal["draining"]
    re: NotRequired[int]


class ErrorMessage(Refusal):
    """Answers a request that was not carried out, or a frame that was not understood."""

    type: Literal["error"]
    re: NotRequired[int]


ServerMessage: TypeAlias = (
    "WelcomeMessage"
    " | PongMessage"
    " | PingMessage"
    " | GamesMessage"
    " | SpecMessage"
    " | OpenedMessage"
    " | BatchMessage"
    " | ViewedMessage"
    " | SnapshotsMessage"
    " | OkMessage"
    " | JoinedMessage"
    " | QueuedMessage"
    " | MatchStartMessage"
    " | TurnMessage"
    " | AcceptedMessage"
    " | RefusedMessage"
    " | EventMoveMessage"
    " | EventChanceMessage"
    " | EventRevealMessage"
    " | EventSayMessage"
    " | EventPhaseMessage"
    " | EventRewardMessage"
    " | EventPresenceMessage"
    " | MatchEndMessage"
    " | ResyncMessage"
    " | MatchesMessage"
    " | SuitesMessage"
    " | EnrolledMessage"
    " | OrganisedMessage"
    " | ProgressMessage"
    " | RunEndMessage"
    " | DrainingMessage"
    " | ErrorMessage"
)
"""A message of a server."""


class MatchStartFrame(MatchStart):
    """A match begins."""

    type: Literal["match_start"]


class TurnFrame(Turn):
    """This seat is to move."""

    type: Literal["turn"]


class EventMoveFrame(EventMove):
    """Something happened."""

    type: Literal["event"]


class EventChanceFrame(EventChance):
    """Something happened."""

    type: Literal["event"]


class EventRevealFrame(EventReveal):
    """Something happened."""

    type: Literal["event"]


class EventSayFrame(EventSay):
    """Something happened."""

    type: Literal["event"]


class EventPhaseFrame(EventPhase):
    """Something happened."""

    type: Literal["event"]


class EventRewardFrame(EventReward):
    """Something happened."""

    type: Literal["event"]


class EventPresenceFrame(EventPresence):
    """Something happened."""

    type: Literal["event"]


class MatchEndFrame(MatchEnd):
    """A match is over."""

    type: Literal["match_end"]


MatchFrame: TypeAlias = (
    "MatchStartFrame"
    " | TurnFrame"
    " | EventMoveFrame"
    " | EventChanceFrame"
    " | EventRevealFrame"
    " | EventSayFrame"
    " | EventPhaseFrame"
    " | EventRewardFrame"
    " | EventPresenceFrame"
    " | MatchEndFrame"
)
"""A numbered message of a match, as it is kept to be sent again."""


class RecordEventChance(ChanceRecord):
    """A chance outcome."""

    kind: Literal["chance"]


class RecordEventMove(MoveRecord):
    """A seat's move."""

    kind: Literal["move"]


RecordEvent: TypeAlias = "RecordEventChance | RecordEventMove"
"""One event of a record. Events are in the order of play."""
