"""Types of the protocol's messages, in the form that MessagePack carries.

Generated from docs/protocol.schema.json: tests/run --bless
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from typing_extensions import NotRequired


class AgentId(TypedDict):
    """Identity of an agent.

    Attributes:
        name: Name of the agent, under which ratings are recorded: 1 to 40 characters of
            `A-Za-z0-9._-`.
        version: Version of the agent.
        kind: Kind of the agent; default `bot`.
        model: Model that the agent is based on.
        price: Prices of the model, from which the server computes the cost of moves whose
            notes have tokens and no `usd`.
    """

    name: str
    version: NotRequired[str | None]
    kind: NotRequired[AgentKind | None]
    model: NotRequired[str | None]
    price: NotRequired[TokenPrice | None]


AgentKind: TypeAlias = Literal["bot", "llm", "human", "learner"]
"""Kind of an agent."""


_TokenPrice = TypedDict("_TokenPrice", {"in": "float"})


class TokenPrice(_TokenPrice):
    """Prices of a model, in US dollars per million tokens.

    Attributes:
        in: Price of input tokens.
        out: Price of output tokens.
    """

    out: float


class ResumeSession(TypedDict):
    """The session to resume.

    Attributes:
        session: Id of the session, from `welcome.session`.
        key: Latest key of the session, from `welcome.key`.
        seen: Last processed `seq` of each match, by match id.
    """

    session: str
    key: str
    seen: NotRequired[dict[str, SeenFrames]]


SeenFrames: TypeAlias = "int | dict[str, int]"
"""The last processed `seq` of a match, for one seat or for several."""


class Hello(TypedDict):
    """`hello`: opens a session; must be the first message of a connection.

    Attributes:
        protocol: Protocol versions that the client supports.
        client: Name of the client program, free text, e.g. `mybot-go/0.1`.
        token: Access token, unless sent in the `Authorization` header.
        agent: Identity of the agent. A client without an identity has no name for ratings.
        resume: Session to resume; absent: a new session.
        reclaim: True to take over the seats still reserved for the agent's name.
    """

    protocol: list[int]
    client: str
    token: NotRequired[str | None]
    agent: NotRequired[AgentId | None]
    resume: NotRequired[ResumeSession | None]
    reclaim: NotRequired[bool]


class Ping(TypedDict):
    """`ping`: requests a `pong` with the server's time."""


class Pong(TypedDict):
    """`pong`: optional reply to the server's `ping`.

    Attributes:
        nonce: Value of `nonce` in the `ping`.
    """

    nonce: NotRequired[int | None]


class GameFilter(TypedDict):
    """A condition on games. Absent fields match every game.

    Attributes:
        information: Perfect or imperfect information.
        chance: Kind of chance in the game.
        dynamics: Order of moves: sequential, simultaneous or mixed.
        players: Number of players that the game must support.
        text: Text that occurs in the id or title.
    """

    information: NotRequired[Information | None]
    chance: NotRequired[ChanceMode | None]
    dynamics: NotRequired[Dynamics | None]
    players: NotRequired[int | None]
    text: NotRequired[str | None]


Information: TypeAlias = Literal["perfect", "imperfect"]
"""Perfect or imperfect information."""


ChanceMode: TypeAlias = Literal["deterministic", "explicit", "sampled"]
"""Kind of chance in a game."""


Dynamics: TypeAlias = Literal["sequential", "simultaneous", "mixed"]
"""Order of moves in a game."""


class ListGames(TypedDict):
    """`list_games`: requests the list of games.

    Attributes:
        filter: Condition on the games; absent: all games.
    """

    filter: NotRequired[GameFilter | None]


class Describe(TypedDict):
    """`describe`: requests the spec of a game under given parameters.

    Attributes:
        game: Game id, or a complete game string.
        params: Parameters of the game, which override the parameters in the game string.
        rules_text: True to include the game's rules page.
    """

    game: str
    params: NotRequired[dict[str, Any]]
    rules_text: NotRequired[bool]


Rotate: TypeAlias = Literal["none", "cycle", "random"]
"""Rotation of the entries of `seats` from episode to episode."""


ChanceBy: TypeAlias = Literal["server", "client"]
"""Source of chance outcomes."""


Autoreset: TypeAlias = Literal["next_step", "same_step", "disabled"]
"""Reset mode of finished environments, as in Gymnasium."""


GymView: TypeAlias = Literal["tensor", "info", "struct", "text", "returns", "picture", "prompt"]
"""Form of the views in batches and in `viewed`."""


MaskForm: TypeAlias = Literal["u1", "bits", "ids", "none"]
"""Encoding of the legal actions in a batch."""


Observer: TypeAlias = Literal["acting", "all"]
"""Seats whose views a batch contains."""


OnIllegal: TypeAlias = Literal["refuse", "lose"]
"""Consequence of an illegal action in an environment."""


class Open(TypedDict):
    """`open`: opens `count` environments of one game under one handle.

    Attributes:
        game: Game id, or a complete game string.
        params: Parameters of the game, which override the parameters in the game string.
        count: Number of environments to open.
        seats: Player of each seat: `"agent"` (the client) or an agent spec. Absent: the
            client plays all seats.
        rotate: Rotation of the entries of `seats` from episode to episode.
        chance: Source of chance outcomes.
        autoreset: Reset mode of finished environments.
        views: Views included in batches. Absent: `tensor`, if the game has a tensor.
        prompt: Settings of the view `prompt`, by name.
        layout: Layout of the tensor: `ludex`, or a layout that the spec lists.
        mask: Encoding of legal actions. Absent: `u1` up to 512 actions, else `ids`.
        observer: Seats whose views batches contain.
        on_illegal: Consequence of an illegal action.
        max_steps: Maximum number of moves in an episode; longer episodes are truncated. A
            joint move counts as one move, and chance outcomes do not count. Absent: no limit.
        record: True to store episode records on the server.
    """

    game: str
    params: NotRequired[dict[str, Any]]
    count: NotRequired[int]
    seats: NotRequired[list[str] | None]
    rotate: NotRequired[Rotate]
    chance: NotRequired[ChanceBy]
    autoreset: NotRequired[Autoreset]
    views: NotRequired[list[GymView] | None]
    prompt: NotRequired[dict[str, Any]]
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
    """`reset`: starts episodes in environments.

    Attributes:
        env: Handle of the environments.
        envs: Indices of the environments to reset; absent: all.
        seed: Base seed: environment i uses the seed `seed + i`, modulo 2^64.
        seeds: One seed for each listed environment, in the order of `envs`.
        seats: Player of each seat from now on, as in `open`; absent: unchanged.
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


class StepEnvs(TypedDict):
    """`step`: plays one action in each listed environment. Exactly one of `actions`, `moves` and
    `answers` must be present.

    Attributes:
        env: Handle of the environments.
        envs: Indices of the environments to step; absent: all.
        actions: Action ids; -1: no action. One id per environment; if the game has joint
            moves and the client plays several seats, one id per environment and seat.
        moves: Moves as ids, texts and documents; `null`: no move.
        answers: Answers of a language model as it wrote them; `null`: no move. A row with an
            answer that is not a legal move does not change.
    """

    env: int
    envs: NotRequired[ColumnU4 | None]
    actions: NotRequired[ColumnI4 | None]
    moves: NotRequired[list[Move | None] | None]
    answers: NotRequired[list[str | None] | None]


class ViewEnv(TypedDict):
    """`view`: requests views of one environment, as any seat.

    Attributes:
        env: Handle of the environments.
        i: Index of the environment.
        seat: Observing seat; absent: the seat to move.
        views: Requested forms of the view.
        names: Action ids whose texts are requested.
        parse: Texts whose action ids are requested.
        prompt: Settings of the prompt; absent: those of `open`.
        answers: Answers of a language model to read, without playing them.
    """

    env: int
    i: NotRequired[int]
    seat: NotRequired[int | None]
    views: NotRequired[list[GymView]]
    names: NotRequired[list[int] | None]
    parse: NotRequired[list[str] | None]
    prompt: NotRequired[dict[str, Any] | None]
    answers: NotRequired[list[str] | None]


class CloneEnvs(TypedDict):
    """`clone`: copies environments into a new handle.

    Attributes:
        env: Handle of the environments.
        envs: Indices of the environments to copy; absent: all.
        seed: Seed of new random streams for the copies; absent: the copies continue the
            streams of the originals.
    """

    env: int
    envs: NotRequired[ColumnU4 | None]
    seed: NotRequired[Seed | None]


class SnapshotEnvs(TypedDict):
    """`snapshot`: requests snapshots of environment states.

    Attributes:
        env: Handle of the environments.
        envs: Indices of the environments; absent: all.
    """

    env: int
    envs: NotRequired[ColumnU4 | None]


Bytes: TypeAlias = "bytes | str"
"""Bytes: base64 text in JSON, bin in MessagePack."""


class Restore(TypedDict):
    """`restore`: restores environment states from snapshots.

    Attributes:
        env: Handle of the environments.
        envs: Indices of the environments to restore; absent: all.
        items: One snapshot for each listed environment.
    """

    env: int
    envs: NotRequired[ColumnU4 | None]
    items: list[Bytes]


class CloseHandle(TypedDict):
    """`close`: closes an environment handle.

    Attributes:
        env: Handle of the environments to close.
    """

    env: int


MatchView: TypeAlias = Literal["struct", "text", "tensor", "info", "texts", "picture", "prompt"]
"""Form of the views in the turns and events of a match."""


class Clock(TypedDict):
    """The clock of a match, the same for every seat. If all fields are absent, turns have no
    time limit. Each turn has `move_ms` of free time. Time beyond `move_ms` is taken from the
    seat's bank. A seat whose bank runs out loses by `timeout`.

    Attributes:
        move_ms: Free time per turn in milliseconds; 0: all time is taken from the bank, as
            with a chess clock.
        bank_ms: Milliseconds in the bank at the start.
        inc_ms: Milliseconds added to the bank by every accepted move.
        first_ms: Replacement for `move_ms` in the seat's first turn.
        episode_ms: Time limit of the whole episode, in milliseconds.
    """

    move_ms: NotRequired[int | None]
    bank_ms: NotRequired[int]
    inc_ms: NotRequired[int]
    first_ms: NotRequired[int | None]
    episode_ms: NotRequired[int | None]


class Join(TypedDict):
    """`join`: requests seats in matches.

    Attributes:
        game: Game id, or a complete game string. Ignored with a `ticket`.
        params: Parameters of the game, which override the parameters in the game string.
        queue: Name of the queue. Only joins in the same queue are matched with each other.
        against: Server agents that play the remaining seats: one agent per seat, in seat
            order, or a single agent for all of them. With `against`, the match starts
            immediately.
        seat: Seat to play. Absent: drawn at random in a queue; with `against`, seat j mod P
            in match j, where P is the number of players.
        slots: Maximum number of simultaneous matches.
        count: Total number of matches; 0: no limit until `leave`.
        views: Views included in turns.
        prompt: Settings of the view `prompt` and of the reader of answers.
        layout: Layout of the tensor: `ludex`, or a layout that the spec lists.
        rated: True if the matches count for ratings.
        clock: Clock of the matches. Absent: ten seconds per move.
        pairs: True to play matches in pairs with the same seed and swapped seats. Absent: the
            server's default.
        ticket: Ticket of a tournament; replaces all other fields.
    """

    game: NotRequired[str]
    params: NotRequired[dict[str, Any]]
    queue: NotRequired[str]
    against: NotRequired[list[str] | None]
    seat: NotRequired[int | None]
    slots: NotRequired[int]
    count: NotRequired[int]
    views: NotRequired[list[MatchView]]
    prompt: NotRequired[dict[str, Any]]
    layout: NotRequired[str | None]
    rated: NotRequired[bool]
    clock: NotRequired[Clock]
    pairs: NotRequired[bool | None]
    ticket: NotRequired[str | None]


class Leave(TypedDict):
    """`leave`: stops a join from getting new matches. Running matches continue to their end.

    Attributes:
        join: Id of the join.
    """

    join: str


class Notes(TypedDict):
    """Notes of an agent that accompany its move. Stored in the record; only `say` is disclosed
    before the match ends.

    Attributes:
        analysis: Reasoning behind the move.
        emotion: Current emotion of the agent, free text.
        say: Message to the other seats, which receive a `say` event.
        tokens: Tokens used for the reply.
    """

    analysis: NotRequired[str | None]
    emotion: NotRequired[str | None]
    say: NotRequired[str | None]
    tokens: NotRequired[Tokens | None]


_Tokens = TypedDict("_Tokens", {"in": "int"})


class Tokens(_Tokens):
    """Number of tokens used for a reply.

    Attributes:
        in: Number of input tokens.
        out: Number of output tokens.
    """

    out: int


_Act = TypedDict("_Act", {"try": "NotRequired[int]"})


class Act(_Act):
    """`act`: plays a move in a match. Exactly one of `action`, `text`, `document` and `answer`
    must be present.

    Attributes:
        match: Id of the match.
        seat: Seat of the client; may be absent while the session holds one seat of the match.
        turn: Value of `turn` in the server's `turn` message.
        try: Number of earlier refusals in this turn, from 0.
        action: Move as an action id.
        text: Move as text, in the game's notation.
        document: Move as a document.
        answer: Answer of a language model as it wrote it, from which the server reads the
            move. The record has it as `notes.answer`.
        notes: Notes of the agent that accompany the move.
    """

    match: str
    seat: NotRequired[int | None]
    turn: int
    action: NotRequired[int | None]
    text: NotRequired[str | None]
    document: NotRequired[Any]
    answer: NotRequired[str | None]
    notes: NotRequired[Notes | None]


class Resign(TypedDict):
    """`resign`: resigns a seat of a match.

    Attributes:
        match: Id of the match.
        seat: Seat of the client; may be absent while the session holds one seat of the match.
    """

    match: str
    seat: NotRequired[int | None]


class ListMatches(TypedDict):
    """`list_matches`: requests the list of matches.

    Attributes:
        game: Game id to which the list is restricted; absent: all games.
        live: True for running matches, false for finished matches.
        limit: Maximum number of matches to return.
    """

    game: NotRequired[str | None]
    live: NotRequired[bool]
    limit: NotRequired[int]


SpectatorView: TypeAlias = Literal["public", "full"]
"""Information that a spectator sees."""


class Spectate(TypedDict):
    """`spectate`: starts watching a match.

    Attributes:
        match: Id of the match.
        view: Information to include: public or full.
        views: Views included in each event as `view`; absent: none.
    """

    match: str
    view: NotRequired[SpectatorView]
    views: NotRequired[list[MatchView] | None]


class Unspectate(TypedDict):
    """`unspectate`: stops watching a match.

    Attributes:
        match: Id of the match.
    """

    match: str


class Ack(TypedDict):
    """`ack`: acknowledges the messages of a match up to `seq`, so that the server may discard
    these messages. Optional; gets no reply.

    Attributes:
        match: Id of the match.
        seat: Seat of the client; may be absent while the session holds one seat of the match.
        seq: Number of the last message processed.
    """

    match: str
    seat: NotRequired[int | None]
    seq: int


class ListSuites(TypedDict):
    """`suites` from a client: requests the suites available for `enrol`."""


class Enrol(TypedDict):
    """`enrol`: enrolls the agent in a run of a suite, or in an existing run that has a slot for
    the agent. To continue the run after an interruption, repeat the request.

    Attributes:
        suite: Name of the suite. Absent for a run created by the server or its operator.
        run: Name of the run, chosen by the client.
        scale: Fraction of the suite to play, above 0 and at most 1.
        slots: Maximum number of simultaneous matches.
        only: Ids of the suite's parts to play; empty: all parts.
        roles: Server agents for the roles of the suite, by role name.
        variants: Labels of the agent's variants, for example its settings to compare; empty:
            none. Each variant plays the whole run as a candidate of its own, with other
            deals. `match_start.variant` names the variant of a match.
        candidates: Number of candidates. The run starts when all candidates have enrolled.
        rated: True if the run's matches count for ratings. A run with `false` belongs to no
            season. Only the run's first request sets this value.
        views: Views included in turns.
        prompt: Settings of the view `prompt` and of the reader of answers.
        layout: Layout of the tensor: `ludex`, or a layout that is listed in the specs of all
            games of the run.
    """

    suite: NotRequired[str]
    run: str
    scale: NotRequired[float]
    slots: NotRequired[int]
    only: NotRequired[list[str]]
    roles: NotRequired[dict[str, list[str]]]
    variants: NotRequired[list[str]]
    candidates: NotRequired[int]
    rated: NotRequired[bool]
    views: NotRequired[list[MatchView]]
    prompt: NotRequired[dict[str, Any]]
    layout: NotRequired[str | None]


class Withdraw(TypedDict):
    """`withdraw`: permanently ends the agent's run. The agent loses its unfinished matches.

    Attributes:
        run: Name of the run.
    """

    run: str


Scope: TypeAlias = Literal["gym", "play", "spectate", "admin"]
"""A permission that a token grants."""


class Limits(TypedDict):
    """The limits of a connection, as announced in `welcome.limits`. Absent limits have their
    default values.

    Attributes:
        frame_bytes: Maximum size of one WebSocket frame in bytes; a larger frame closes the
            connection.
        message_bytes: Maximum size of one message in bytes; a larger message gets the error
            `too_large`.
        request_bytes: Maximum size in bytes of all messages except `reset`, `step`,
            `restore`, `clone` and `snapshot`.
        list_entries: Maximum number of entries of one list or map. `batch` limits lists with
            one entry per environment.
        depth: Maximum nesting depth of maps and lists, including the message itself.
        window: Maximum number of requests without a reply.
        requests_per_s: Maximum requests per second, averaged over a few seconds; 0: no limit.
        pages_per_s: Maximum HTTP requests per second of one IP address, averaged over a few
            seconds; 0: no limit. A request for a game with parameters counts as ten.
        registrations_per_hour: Maximum number of owners that visitors register from one IP
            address within an hour; 0: no limit.
        registered_owners: Maximum number of owners that registered themselves without an
            invitation.
        envs: Maximum number of environment handles per session.
        batch: Maximum number of environments per handle.
        batch_bytes: Maximum size of one `batch` reply in bytes.
        search: Maximum number of plies that the server's agents search for one request,
            summed over all its environments.
        matches: Maximum number of matches that a session plays or watches at the same time.
        joins: Maximum number of active joins per session.
        owner_envs: Maximum number of environments over all sessions of one owner.
        owner_matches: Maximum number of matches over all sessions of one owner.
        owner_joins: Maximum number of joins over all sessions of one owner.
        owner_document_bytes: Maximum memory in bytes for documents in the environments of all
            sessions of one owner.
        owner_runs: Maximum number of unfinished runs per owner.
        text_bytes: Maximum size in bytes of one text in a message, such as a name, the text
            of a move or a document.
        notes_bytes: Maximum size of the notes of one act, in bytes of JSON, without the texts
            that `transcript_bytes` limits.
        transcript_bytes: Maximum size in bytes of the texts `prompt`, `answer` and
            `reasoning` in the notes of one act.
        idle_ms: Milliseconds without a message after which a connection without seats and
            environments is closed.
        grace_ms: Milliseconds for which a disconnected session can be resumed and its seats
            are reserved.
        hello_ms: Milliseconds within which `hello` must arrive.
        write_stall_ms: Milliseconds after which a connection is closed if its client reads no
            bytes. The client can resume. Before `welcome`, `hello_ms` applies.
        hello_bytes: Maximum number of bytes that a client may send before `welcome`.
        address_connections: Maximum number of connections per IP address.
        connections: Maximum number of connections over all addresses. A tenth of them is
            reserved for clients with a token.
        address_hellos: Maximum number of connections per IP address that have not completed
            `hello`.
        hellos: Maximum number of connections over all addresses that have not completed
            `hello`; at most a quarter of `connections`.
        replies_kept: Number of replies cached for repeated requests; at least `window`.
    """

    frame_bytes: NotRequired[int]
    message_bytes: NotRequired[int]
    request_bytes: NotRequired[int]
    list_entries: NotRequired[int]
    depth: NotRequired[int]
    window: NotRequired[int]
    requests_per_s: NotRequired[int]
    pages_per_s: NotRequired[int]
    registrations_per_hour: NotRequired[int]
    registered_owners: NotRequired[int]
    envs: NotRequired[int]
    batch: NotRequired[int]
    batch_bytes: NotRequired[int]
    search: NotRequired[int]
    matches: NotRequired[int]
    joins: NotRequired[int]
    owner_envs: NotRequired[int]
    owner_matches: NotRequired[int]
    owner_joins: NotRequired[int]
    owner_document_bytes: NotRequired[int]
    owner_runs: NotRequired[int]
    text_bytes: NotRequired[int]
    notes_bytes: NotRequired[int]
    transcript_bytes: NotRequired[int]
    idle_ms: NotRequired[int]
    grace_ms: NotRequired[int]
    hello_ms: NotRequired[int]
    write_stall_ms: NotRequired[int]
    hello_bytes: NotRequired[int]
    address_connections: NotRequired[int]
    connections: NotRequired[int]
    address_hellos: NotRequired[int]
    hellos: NotRequired[int]
    replies_kept: NotRequired[int]


class ResumedMatch(TypedDict):
    """A running match of a resumed session.

    Attributes:
        match: Id of the match.
        seat: Seat of the client; absent for a spectator.
        seq: Last sequence number sent so far.
    """

    match: str
    seat: NotRequired[int | None]
    seq: int


class ResumedJoin(TypedDict):
    """A join of a resumed session.

    Attributes:
        join: Id of the join.
        game: Canonical game string of the join.
        left: Number of remaining matches; absent: unlimited.
    """

    join: str
    game: str
    left: NotRequired[int | None]


class Welcome(TypedDict):
    """`welcome`: reply to `hello`.

    Attributes:
        protocol: Protocol version in use.
        server: Server program, e.g. `ludex/0.1.0`.
        session: Id of the session, which can be resumed with `key`.
        key: Key for resuming the session; new for every connection.
        resumed: True if an earlier session was resumed.
        scopes: Permissions of the client.
        agent: Name of the agent; empty if the client has no agent name.
        limits: Limits of the connection.
        envs: Environment handles of the session.
        matches: Running matches of the session.
        joins: Active joins of the session.
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
    matches: NotRequired[list[ResumedMatch]]
    joins: NotRequired[list[ResumedJoin]]


class ServerPong(TypedDict):
    """`pong`: reply to the client's `ping`.

    Attributes:
        now_ms: Current time on the server's monotonic clock, in milliseconds.
    """

    now_ms: int


class ServerPing(TypedDict):
    """`ping`: checks that the client is alive.

    Attributes:
        nonce: Value that the client may return in its `pong`.
    """

    nonce: int


class GameEntry(TypedDict):
    """A game of the catalogue.

    Attributes:
        game: Id of the game, for `describe`, `open` and `join`.
        title: Title of the game for display.
        players: Least and greatest number of seats.
        dynamics: Order of moves: sequential, simultaneous or mixed.
        chance: Kind of chance in the game.
        information: Perfect or imperfect information.
        presets: Names of the game's presets.
        rules: Version of the rules.
    """

    game: str
    title: str
    players: list[int]
    dynamics: Dynamics
    chance: ChanceMode
    information: Information
    presets: NotRequired[list[str]]
    rules: int


class GameList(TypedDict):
    """`games`: reply to `list_games`.

    Attributes:
        games: Matching games, in catalogue order.
    """

    games: list[GameEntry]


class Spec(TypedDict):
    """The specification of a game with given parameters. Absent fields have default values, so
    that client and server may have different versions.

    Attributes:
        game: Id of the game.
        title: Title of the game for display.
        params: Complete parameters, including defaults.
        string: Canonical game string, e.g. `connect_four(rows=6,columns=7,...)`.
        rules: Version of the rules.
        hash: Rules hash: hex digest over rules, parameters, action ids and views. Policies
            and records are compatible if the hashes are equal.
        players: Number of seats under these parameters.
        player_range: Least and greatest number of seats over all parameters.
        seats: Names of the seats, in seat order.
        dynamics: Order of moves: sequential, simultaneous or mixed.
        chance: Kind of chance in the game.
        information: Perfect or imperfect information.
        utility: Relation between the seats' returns.
        rewards: Time at which rewards are given.
        min_return: Least possible return of a seat.
        max_return: Greatest possible return of a seat.
        max_length: Upper bound on the moves of an episode. A joint move counts once; chance
            outcomes do not count.
        actions: Number A of action ids; the ids are 0 to A - 1.
        max_chance: Exclusive upper bound on chance outcome ids; 0 without chance.
        legal: Wire form of legal actions.
        views: Views that the game supports.
        document_schemas: JSON Schemas of documents by phase, for games whose moves are
            documents or utterances.
        params_schema: JSON Schema of the parameters.
        presets: Named sets of parameters, by name.
        anchors: Anchors of the ladder, in ascending order of level.
        text: Rules page in Markdown, if requested.
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
    document_schemas: NotRequired[dict[str, Any] | None]
    params_schema: NotRequired[Any]
    presets: NotRequired[dict[str, Preset]]
    anchors: NotRequired[list[Anchor]]
    text: NotRequired[str | None]


Utility: TypeAlias = Literal["zero_sum", "constant_sum", "general_sum", "identical"]
"""Relation between the returns of the seats."""


RewardModel: TypeAlias = Literal["terminal", "step"]
"""Time at which rewards are given."""


LegalForm: TypeAlias = Literal["ids", "ranges"]
"""Wire form of legal actions."""


class Views(TypedDict):
    """The views that a game supports.

    Attributes:
        tensor: Observation arrays from the seat's perspective, by name.
        struct: JSON Schema of the structured view.
        text: True if there is a text view; always true, present for compatibility.
        info: Arrays of the perfect-recall information state, by name.
        layouts: Layouts available for the tensor.
    """

    tensor: NotRequired[dict[str, TensorSpec] | None]
    struct: Any
    text: bool
    info: NotRequired[dict[str, TensorSpec] | None]
    layouts: list[str]


class TensorSpec(TypedDict):
    """Shape and content of one array of a view.

    Attributes:
        d: Type of the elements.
        s: Shape, in C order.
        low: Least value of any element.
        high: Greatest value of any element.
        parts: Named parts along axis 0, in order and without gaps.
    """

    d: Dtype
    s: list[int]
    low: float
    high: float
    parts: list[Part]


Dtype: TypeAlias = Literal["u1", "i1", "i2", "i4", "f4"]
"""Element type of a tensor, little-endian."""


class Part(TypedDict):
    """A named range of a tensor along its first axis.

    Attributes:
        name: Name of the content, e.g. `mine`.
        at: First index on axis 0.
        len: Number of indices on axis 0.
    """

    name: str
    at: int
    len: int


class Preset(TypedDict):
    """A named set of parameters.

    Attributes:
        params: Parameters that the preset sets.
        note: One-line description: differences from the defaults, and source of the
            parameters.
    """

    params: dict[str, Any]
    note: str


class Anchor(TypedDict):
    """An anchor of a game's ladder.

    Attributes:
        level: Level on the ladder; 0: random.
        bot: Number of the bot within its level, from 1.
        agent: Agent spec of the anchor.
        rating: Measured rating; absent if the anchor has not been measured.
        low: Lower end of the rating's confidence interval.
        high: Upper end of the rating's confidence interval.
    """

    level: int
    bot: int
    agent: str
    rating: NotRequired[float | None]
    low: NotRequired[float | None]
    high: NotRequired[float | None]


class SpecReply(TypedDict):
    """`spec`: reply to `describe`.

    Attributes:
        spec: Spec of the game under its parameters.
    """

    spec: Spec


class HandleOpened(TypedDict):
    """`opened`: reply to `open` and `clone`.

    Attributes:
        env: Handle of the environments.
        count: Number of environments of the handle.
        spec: Spec of the game under its parameters.
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


class ChatMessage(TypedDict):
    """Message of a conversation.

    Attributes:
        role: Author of the message.
        content: Text of the message.
    """

    role: ChatRole
    content: str


ChatRole: TypeAlias = Literal["system", "user", "assistant"]
"""Author of a message."""


Mask: TypeAlias = "ColumnU1 | Ragged"
"""Legal actions: bytes or bits (a column of u1), or offsets and ids."""


ColumnU1: TypeAlias = "bytes | list[Any]"
"""Column of u1: a flat list in JSON, packed little-endian bin in MessagePack."""


class Ragged(TypedDict):
    """Lists of different lengths, concatenated: row r is `a[o[r]..o[r + 1]]`.

    Attributes:
        o: Offsets into `a`: one entry per row and one at the end.
        a: Ids, ascending within each row.
    """

    o: ColumnU4
    a: ColumnU4


class ChanceRows(TypedDict):
    """The outcomes of chance nodes: row r is `a[o[r]..o[r + 1]]`, with probabilities `p` at the
    same positions.

    Attributes:
        o: Offsets into `a` and `p`: one entry per row and one at the end.
        a: Ids of the chance outcomes.
        p: Probabilities of the outcomes.
    """

    o: ColumnU4
    a: ColumnU4
    p: ColumnF8


ColumnF8: TypeAlias = "bytes | list[Any]"
"""Column of f8: a flat list in JSON, packed little-endian bin in MessagePack."""


ColumnF4: TypeAlias = "bytes | list[Any]"
"""Column of f4: a flat list in JSON, packed little-endian bin in MessagePack."""


class FinalRows(TypedDict):
    """Final rows of ended episodes whose environments were reset in the same call.

    Attributes:
        at: For each entry, the position of its environment's row in this reply.
        seat: The client's seat in the ended episode; present if the client plays exactly one
            seat.
        obs: Final observations, in the form of `batch.obs`.
        info: Final information states, in the form of `batch.info`.
        struct: Final structured views, in the form of `batch.struct`.
        text: Final text views, in the form of `batch.text`.
        returns: Shape entries x P: return of each seat in the ended episode.
        length: Number of moves of seats in the ended episodes.
    """

    at: ColumnU4
    seat: NotRequired[ColumnI1 | None]
    obs: NotRequired[dict[str, Tensor] | None]
    info: NotRequired[dict[str, Tensor] | None]
    struct: NotRequired[list[Any] | None]
    text: NotRequired[list[str] | None]
    returns: ColumnF8
    length: ColumnU4


class ReadAnswer(TypedDict):
    """An answer of a language model, as read by the server.

    Attributes:
        verdict: Verdict on the answer.
        action: Id of the move; absent unless the verdict is `ok` and the move has an id.
        document: The move as a document; absent unless the verdict is `ok` and the move is a
            document.
        text: Text of the move, if the verdict is `ok`.
        message: Words for the model after a refused answer, as its next prompt contains them;
            absent if the verdict is `ok`.
        issues: Flaws of a refused document.
    """

    verdict: Verdict
    action: NotRequired[int | None]
    document: NotRequired[Any]
    text: NotRequired[str | None]
    message: NotRequired[str | None]
    issues: NotRequired[list[Issue] | None]


Verdict: TypeAlias = Literal["ok", "illegal", "unparsed", "empty"]
"""Verdict on an answer."""


class Issue(TypedDict):
    """An issue at one location of a document.

    Attributes:
        path: Location in the document, as a JSON pointer; empty for the whole document.
        got: Value at this location.
        allowed: Allowed values at this location.
        message: Human-readable description: one sentence.
        code: Machine-readable kind of the issue, defined on the game's page.
    """

    path: str
    got: NotRequired[Any]
    allowed: NotRequired[Any]
    message: str
    code: NotRequired[str | None]


class Skipped(TypedDict):
    """Episodes that ended before the client could act. Reported only here, never as rows of a
    batch.

    Attributes:
        at: For each skipped episode, the position of its environment's row in this reply.
        returns: Shape entries x P: return of each seat in the skipped episode.
    """

    at: ColumnU4
    returns: ColumnF8


class Batch(TypedDict):
    """`batch`: reply to `reset`, `step` and `restore`. Contains one row per requested
    environment, in the order of the request. Shapes refer to R rows, P players and A actions.

    Attributes:
        env: Handle of the environments.
        envs: Environment index of each row; absent: all environments.
        to_move: Shape R: the seat to move, or one of the constants in the module [`to_move`]
            (chance, simultaneous, over).
        seat: Shape R: the client's seat; present if the client plays exactly one seat.
        obs: Observation of the observing seat; first axis R (R x P with `observer = all`).
        info: Perfect-recall information state; first axis as in `obs`.
        struct: Structured views; rows as in `obs`.
        text: Text views; rows as in `obs`.
        prompt: Prompts for a language model; rows as in `obs`, `null` for a seat that does
            not act.
        mask: Legal actions of the observing seat; rows as in `obs`.
        chance: Shape R: the outcomes of chance nodes; only with `chance = "client"`.
        reward: Shape R x P: reward since the client's previous action in the environment.
        returns: Shape R x P: sum of rewards in the episode so far; present if requested.
        terminated: Shape R: 1 if the rules or a forfeit ended the episode.
        truncated: Shape R: 1 if the step limit ended the episode.
        length: Shape R: number of moves of seats in the episode so far.
        episode: Shape R: episode number of the environment.
        final: Final views of the rows that were reset in this call (`same_step` only).
        illegal: Positions of rows whose episode ended by an illegal action (`on_illegal =
            "lose"`).
        answers: The `answers` of the step as read, by position; `null` where none was read.
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
    prompt: NotRequired[list[list[ChatMessage] | None] | None]
    mask: NotRequired[Mask | None]
    chance: NotRequired[ChanceRows | None]
    reward: ColumnF4
    returns: NotRequired[ColumnF8 | None]
    terminated: ColumnU1
    truncated: ColumnU1
    length: ColumnU4
    episode: ColumnU4
    final: NotRequired[FinalRows | None]
    illegal: NotRequired[ColumnU4 | None]
    answers: NotRequired[list[ReadAnswer | None] | None]
    skipped: NotRequired[Skipped | None]


class PictureView(TypedDict):
    """A picture of a position.

    Attributes:
        svg: SVG document. Clickable elements carry `data-cell`.
        gestures: Cells to click for each legal action of the seat to move, in click order.
            The keys are action ids. Actions without cells are omitted.
    """

    svg: str
    gestures: NotRequired[dict[str, list[str]]]


class Viewed(TypedDict):
    """`viewed`: reply to `view`.

    Attributes:
        tensor: Observation arrays from the seat's perspective, by name.
        struct: Structured view as JSON.
        text: View as plain text.
        info: Perfect-recall information state, by array name.
        picture: Picture of the position (SVG).
        prompt: Prompt for a language model in the seat: its messages, in the form of chat
            endpoints.
        names: Texts of the ids in the request's `names`; an empty text for an id that is not
            an action.
        parsed: Ids of the texts in the request's `parse`; `null` for a text that is not an
            action.
        answers: The request's `answers`, as read.
        phase: Name of the current phase, in games with several phases.
        schema: Key in the spec's `document_schemas`: names the JSON Schema for the seat's
            documents. Absent: the seat does not act, or documents are not accepted.
    """

    tensor: NotRequired[dict[str, Tensor] | None]
    struct: NotRequired[Any]
    text: NotRequired[str | None]
    info: NotRequired[dict[str, Tensor] | None]
    picture: NotRequired[PictureView | None]
    prompt: NotRequired[list[ChatMessage] | None]
    names: NotRequired[list[str] | None]
    parsed: NotRequired[list[int | None] | None]
    answers: NotRequired[list[ReadAnswer] | None]
    phase: NotRequired[str | None]
    schema: NotRequired[str | None]


class Snapshots(TypedDict):
    """`snapshots`: reply to `snapshot`.

    Attributes:
        hash: Rules hash from the game's spec; `restore` requires an equal hash.
        items: One snapshot for each requested environment.
    """

    hash: str
    items: list[Bytes]


class OkReply(TypedDict):
    """`ok`: the request succeeded."""


class Joined(TypedDict):
    """`joined`: reply to `join`.

    Attributes:
        join: Id of the new join.
    """

    join: str


class Queued(TypedDict):
    """`queued`: a join is waiting in its queue for opponents.

    Attributes:
        join: Id of the join.
        waiting: Number of joins waiting in the queue, including this join.
        eta_ms: Estimated waiting time in milliseconds, if known.
    """

    join: str
    waiting: int
    eta_ms: NotRequired[int | None]


class SeatInfo(TypedDict):
    """The agent on a seat of a match.

    Attributes:
        name: Name of the agent.
        version: Version of the agent.
        kind: Kind of the agent.
    """

    name: str
    version: NotRequired[str | None]
    kind: NotRequired[AgentKind]


class IllegalMoveRules(TypedDict):
    """Handling of illegal moves in a match.

    Attributes:
        policy: Consequence of reaching the limit.
        tries: Number of refusals in one turn at which the policy applies.
        unparsed: Separate rule for texts that contain no move; absent: such texts count as
            illegal moves.
    """

    policy: IllegalPolicy
    tries: int
    unparsed: NotRequired[Refusals | None]


IllegalPolicy: TypeAlias = Literal["forfeit", "random", "default"]
"""Consequence of reaching the limit of refusals in a turn."""


class Refusals(TypedDict):
    """Limit of refusals in a turn, and the consequence of reaching the limit.

    Attributes:
        policy: Consequence of reaching the limit.
        tries: Number of refusals in one turn at which the policy applies.
    """

    policy: IllegalPolicy
    tries: int


class MatchStart(TypedDict):
    """`match_start`: the public settings of a match that starts. Has `seq` 0.

    Attributes:
        seq: Sequence number of the message within the match for this viewer.
        match: Id of the match.
        join: Id of the client's join for this match; absent for spectators.
        game: Id of the game.
        params: Complete parameters, including defaults.
        rules: Version of the rules.
        hash: Rules hash from the game's spec.
        seat: Seat of the viewer; absent for spectators.
        variant: Variant of the agent that plays the seat, in a run with variants.
        kept_phases: Phases of the game in which the server asks the client each question only
            once per run, and plays the first answer again in later matches.
        seats: Agents in seat order.
        rated: True if the match counts for ratings.
        clock: Clock of every seat.
        grace_ms: Milliseconds for which a seat's client may be disconnected in the whole
            match, until which its clock stands still. A client that is away for longer loses
            the match. Absent without a limit.
        illegal: Handling of illegal moves.
        skip_forced: True if a seat's only legal move is played automatically.
        seed_commit: Commitment to the seed: hex SHA-256 over the salt's bytes and the seed's
            decimal text.
    """

    seq: int
    match: str
    join: NotRequired[str | None]
    game: str
    params: dict[str, Any]
    rules: int
    hash: str
    seat: NotRequired[int | None]
    variant: NotRequired[str | None]
    kept_phases: NotRequired[list[str]]
    seats: list[SeatInfo]
    rated: NotRequired[bool]
    clock: NotRequired[Clock]
    grace_ms: NotRequired[int | None]
    illegal: NotRequired[IllegalMoveRules]
    skip_forced: NotRequired[bool]
    seed_commit: NotRequired[str | None]


Legal: TypeAlias = "list[int] | list[list[int]]"
"""Legal actions, in the form declared by `legal` in the game's spec."""


class SeatView(TypedDict):
    """A viewer's knowledge of a state, in the requested forms.

    Attributes:
        struct: Structured view as JSON.
        text: View as plain text.
        tensor: Observation arrays from the seat's perspective, by name.
        info: Perfect-recall information state, by array name.
        picture: Picture of the position (SVG).
        prompt: Messages of the prompt for a language model, in a `turn`.
    """

    struct: NotRequired[Any]
    text: NotRequired[str | None]
    tensor: NotRequired[dict[str, Tensor] | None]
    info: NotRequired[dict[str, Tensor] | None]
    picture: NotRequired[PictureView | None]
    prompt: NotRequired[list[ChatMessage] | None]


_TurnFrame = TypedDict("_TurnFrame", {"try": "NotRequired[int]"})


class TurnFrame(_TurnFrame):
    """`turn`: the client's seat is to move.

    Attributes:
        seq: Sequence number of the message within the match for this viewer.
        match: Id of the match.
        seat: Seat that is to move.
        turn: Number of earlier turns of this seat.
        try: Number of refused attempts in this turn.
        budget_ms: Milliseconds until the seat loses on time; absent: no clock.
        bank_ms: Bank of every seat in milliseconds.
        legal: Legal actions of the seat.
        names: Text of each legal action, in the order of `legal` (view `texts`).
        view: Views of the state for the seat.
        phase: Name of the current phase, in games with several phases.
        schema: Key in the spec's `document_schemas`: names the JSON Schema for documents in
            this turn. Absent: documents are not accepted.
    """

    seq: int
    match: str
    seat: int
    turn: int
    budget_ms: NotRequired[int | None]
    bank_ms: NotRequired[list[int]]
    legal: NotRequired[Legal]
    names: NotRequired[list[str] | None]
    view: NotRequired[SeatView]
    phase: NotRequired[str | None]
    schema: NotRequired[str | None]


class Accepted(TypedDict):
    """`accepted`: reply to an `act` whose move was played.

    Attributes:
        match: Id of the match.
        seat: Seat that played the move.
        turn: Turn of the accepted move.
        action: Id of the action, if the move has one.
        text: Text of the move.
        bank_ms: Remaining time in the seat's bank, in milliseconds.
    """

    match: str
    seat: int
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
    "moved",
    "internal",
]
"""Machine-readable reason of an error."""


_ActRefused = TypedDict("_ActRefused", {"try": "int"})


class ActRefused(_ActRefused):
    """`refused`: the move is illegal or unparsable; the state is unchanged.

    Attributes:
        match: Id of the match.
        seat: Seat of the refused move.
        turn: Turn of the refused move.
        try: Value of `try` for the next attempt.
        code: Reason of the refusal, for programs.
        message: Reason of the refusal, for people.
        tries_left: Number of remaining attempts; at 0, `applied_policy` was applied.
        legal: Legal actions of the turn.
        answer: Refused answer of a language model as read, if the act had an `answer`.
        issues: Issues found in the document.
        applied_policy: Policy that was applied after the last attempt.
    """

    match: str
    seat: int
    turn: int
    code: ErrorCode
    message: str
    tries_left: int
    legal: NotRequired[Legal | None]
    answer: NotRequired[ReadAnswer | None]
    issues: NotRequired[list[Issue] | None]
    applied_policy: NotRequired[IllegalPolicy | None]


class MatchEventBase(TypedDict):
    """`event`: an event of a match, as visible to this viewer.

    Attributes:
        seq: Sequence number of the message within the match for this viewer.
        match: Id of the match.
        viewer: Seat of the viewer; absent for spectators. The seat in the event's own fields
            is that of the player.
        view: State after the event, for spectators that requested views.
    """

    seq: int
    match: str
    viewer: NotRequired[int | None]
    view: NotRequired[SeatView | None]


class MatchEventMove(MatchEventBase):
    """A seat played a move.

    Attributes:
        seat: Seat that played the move.
        action: Id of the action, if the move has one and the viewer may see it.
        text: Text of the move.
        ms: Thinking time of the move in milliseconds.
        forced: True if the agent did not choose the move: a move of the illegal-move policy,
            a seat's only legal move, or a move of the start that the suite prescribes.
    """

    kind: Literal["move"]
    seat: int
    action: NotRequired[int | None]
    text: str
    ms: NotRequired[int]
    forced: NotRequired[bool]


class MatchEventChance(MatchEventBase):
    """A chance outcome was drawn.

    Attributes:
        action: Id of the outcome, if the viewer may see it.
        text: Text of the outcome.
    """

    kind: Literal["chance"]
    action: NotRequired[int | None]
    text: str


class MatchEventReveal(MatchEventBase):
    """Hidden information was revealed.

    Attributes:
        text: Description of the revealed information, for people.
        data: Machine-readable content; its structure depends on the game.
    """

    kind: Literal["reveal"]
    text: str
    data: NotRequired[Any]


class MatchEventSay(MatchEventBase):
    """A seat sent a message to the other seats.

    Attributes:
        seat: Seat of the speaker.
        text: Text of the message.
    """

    kind: Literal["say"]
    seat: int
    text: str


class MatchEventPhase(MatchEventBase):
    """A new phase of the game starts.

    Attributes:
        phase: Name of the phase.
    """

    kind: Literal["phase"]
    phase: str


class MatchEventReward(MatchEventBase):
    """The seats received rewards.

    Attributes:
        rewards: Reward of each seat.
    """

    kind: Literal["reward"]
    rewards: list[float]


class MatchEventPresence(MatchEventBase):
    """A seat's agent disconnected or reconnected.

    Attributes:
        seat: Seat of the agent.
        online: True if the agent is connected.
        grace_ms: Milliseconds for which the seat stays reserved.
    """

    kind: Literal["presence"]
    seat: int
    online: bool
    grace_ms: NotRequired[int | None]


MatchEvent: TypeAlias = (
    "MatchEventMove"
    " | MatchEventChance"
    " | MatchEventReveal"
    " | MatchEventSay"
    " | MatchEventPhase"
    " | MatchEventReward"
    " | MatchEventPresence"
)
"""`event`: an event of a match, as visible to this viewer."""


Outcome: TypeAlias = Literal["win", "loss", "draw", "none"]
"""Outcome of a match for a seat."""


EndReason: TypeAlias = Literal[
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
"""Reason of the end of a match."""


class MatchEnd(TypedDict):
    """`match_end`: a match has ended.

    Attributes:
        seq: Sequence number of the message within the match for this viewer.
        match: Id of the match.
        seat: Seat of the viewer; absent for spectators.
        returns: Return of each seat.
        outcome: Outcome of each seat.
        reason: Reason of the end.
        at_fault: Seat at fault, if a seat caused the end.
        rated: True if the match counts for ratings.
        digest: Final value of the digest chain in hex; disclosed once all matches with the
            same seed have ended.
        seed: Seed in decimal; disclosed once all matches with the same seed have ended.
        salt: Salt of `seed_commit` in hex; disclosed together with the seed.
        record: HTTP path of the episode record.
    """

    seq: int
    match: str
    seat: NotRequired[int | None]
    returns: list[float]
    outcome: list[Outcome]
    reason: EndReason
    at_fault: NotRequired[int | None]
    rated: NotRequired[bool]
    digest: NotRequired[str | None]
    seed: NotRequired[str | None]
    salt: NotRequired[str | None]
    record: str


class Resync(TypedDict):
    """`resync`: the complete state of a match, which replaces the client's state.

    Attributes:
        seq: Sequence number of the last message that the resync covers. The resync itself is
            not numbered.
        match: Id of the match.
        seat: Seat of the viewer; absent for spectators.
        start: Start message of the match.
        events: Messages since the start, in order.
        turn: Pending turn of the viewer's seat, with its own `seq`.
        end: End message of the match, if it has ended.
    """

    seq: int
    match: str
    seat: NotRequired[int | None]
    start: MatchStart
    events: NotRequired[list[MatchFrame]]
    turn: NotRequired[TurnFrame | None]
    end: NotRequired[MatchEnd | None]


class MatchEntry(TypedDict):
    """An entry of the list of matches.

    Attributes:
        match: Id of the match.
        game: Canonical game string of the match.
        seats: Agents in seat order.
        rated: True if the match counts for ratings.
        started_ms: Start time on the server's monotonic clock, in milliseconds.
    """

    match: str
    game: str
    seats: list[SeatInfo]
    rated: NotRequired[bool]
    started_ms: int


class Matches(TypedDict):
    """`matches`: reply to `list_matches`.

    Attributes:
        matches: Matches that meet the conditions of the request, newest first.
    """

    matches: list[MatchEntry]


class SuiteEntry(TypedDict):
    """An entry of the list of suites.

    Attributes:
        suite: Name of the suite, for `enrol`.
        version: Version of the suite; increases with every change that affects results.
        digest: Truncated SHA-256 of the suite's text.
        title: Title of the suite for display.
        matches: Maximum number of matches of one candidate.
        parts: Parts of the suite, in order.
        season: Season of a run that starts now, if the suite has seasons.
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
        part: Id of the part, for `enrol.only`.
        game: Canonical game string of the part.
        matches: Maximum number of matches of one candidate in this part.
        candidates: Minimum number of candidates.
        metrics: Names of the metrics that the part measures.
    """

    part: str
    game: str
    matches: int
    candidates: int
    metrics: list[str]


class SuiteList(TypedDict):
    """`suites` from a server: reply to `suites` from a client.

    Attributes:
        suites: Available suites, ordered by name.
    """

    suites: list[SuiteEntry]


class Enrolled(TypedDict):
    """`enrolled`: reply to `enrol`.

    Attributes:
        run: Name of the run.
        join: Id of the join that supplies the run's matches; absent if the run has ended.
        due: Number of matches to play, as currently known.
        done: Number of finished matches.
        left_out: Parts of the suite that cannot be played, by part, each with the reason.
        eta_ms: Estimated remaining time in milliseconds, if known.
    """

    run: str
    join: NotRequired[str | None]
    due: int
    done: int
    left_out: NotRequired[dict[str, str]]
    eta_ms: NotRequired[int | None]


class Progress(TypedDict):
    """`progress`: a match of a run has finished.

    Attributes:
        run: Name of the run.
        done: Number of finished matches.
        due: Number of matches to play, as currently known.
        verdict_so_far: Wins, draws and losses of the agent so far, by part.
    """

    run: str
    done: int
    due: int
    verdict_so_far: NotRequired[Any]


RunReason: TypeAlias = Literal["done", "withdrawn", "deadline"]
"""Reason of the end of a run."""


class RunEnd(TypedDict):
    """`run_end`: a run has ended, and its seeds are disclosed.

    Attributes:
        run: Name of the run.
        reason: Reason of the end.
        verdict: Results by part, in the format of `ludex evaluate --json`.
        ratings: Ratings of the agent, by game.
        report: Location of the report, as a path on this server's website.
    """

    run: str
    reason: RunReason
    verdict: Any
    ratings: Any
    report: str


class Draining(TypedDict):
    """`draining`: the server is shutting down and refuses new work such as `open` and `join`.

    Attributes:
        until_ms: Time of the shutdown on the server's monotonic clock, in milliseconds.
        resume: True if sessions can be resumed after the restart.
    """

    until_ms: int
    resume: NotRequired[bool]


Fault: TypeAlias = Literal["client", "agent", "server"]
"""Party at fault for an error."""


class MovedTo(TypedDict):
    """Cell of a server that serves a request.

    Attributes:
        at: URL of the cell.
        cell: Number of the cell.
    """

    at: str
    cell: int


class Refusal(TypedDict):
    """The refusal of a request, sent to the client as the message `error`.

    Attributes:
        code: Reason of the refusal, for programs.
        message: Human-readable reason: one sentence.
        fault: Party that caused the error.
        retry: True if the same request may succeed later.
        after_ms: Time to wait before a retry, in milliseconds.
        path: Path of the invalid field, e.g. `agent.name` or `views[1]`.
        index: Index of the invalid entry in the list at `path`.
        got: Received value, possibly truncated.
        allowed: Allowed values: a list, or a range.
        nearest: Allowed word that is most similar to the received word.
        issues: Issues found in the document.
        moved: Cell that serves the request, with the code `moved`.
    """

    code: ErrorCode
    message: str
    fault: Fault
    retry: bool
    after_ms: NotRequired[int | None]
    path: NotRequired[str | None]
    index: NotRequired[int | None]
    got: NotRequired[Any]
    allowed: NotRequired[Any]
    nearest: NotRequired[str | None]
    issues: NotRequired[list[Issue]]
    moved: NotRequired[MovedTo | None]


class Record(TypedDict):
    """The record of one episode.

    Attributes:
        ludex: Version of the record format, currently 2.
        episode: Id of the episode; equal to the match id for a match.
        number: Episode number, a part of the key of the chance draws; 0 for a match.
        flags: Special conditions of the episode, e.g. `peek`.
        game: Id of the game.
        params: Complete parameters, including defaults.
        rules: Version of the rules.
        hash: Rules hash from the game's spec.
        server: Program that wrote the record, e.g. `ludex/0.1.0`.
        seats: Agents in seat order.
        rated: True if the match was rated.
        clock: Clock of every seat.
        illegal: Handling of illegal moves.
        seed_commit: Commitment to the seed: hex SHA-256 over the salt's bytes and the seed's
            decimal text.
        start: Number of first events that the suite prescribes. Neither the agents nor the
            seed determine these events.
        started: Start time, UTC in RFC 3339.
        events: Events in order of play.
        returns: Return of each seat.
        outcome: Outcome of each seat.
        reason: Reason of the end.
        at_fault: Seat whose forfeit ended the episode.
        ended: End time, UTC in RFC 3339.
        stall_ms: Milliseconds for which the server was stalled and could not receive
            messages; excluded from the clocks.
        away_ms: Milliseconds for which each seat's client was disconnected during the match;
            absent if all were connected throughout.
        mirror: Return of each seat in the mirror match: a match with the same seed, in which
            the server's agent plays every seat. Absent without a mirror match.
        run: Name of the run to which the match belongs.
        pair: Id of the pair to which the match belongs. The matches of a pair have the same
            seed and swapped seats.
        seed: Seed of the episode, in decimal.
        salt: Salt of `seed_commit`: 16 bytes as 32 hex digits.
        digest: Final value of the digest chain, in hex.
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
    illegal: NotRequired[IllegalMoveRules]
    seed_commit: NotRequired[str | None]
    start: NotRequired[int]
    started: NotRequired[str]
    events: list[RecordEvent]
    returns: NotRequired[list[float]]
    outcome: NotRequired[list[Outcome]]
    reason: NotRequired[EndReason | None]
    at_fault: NotRequired[int | None]
    ended: NotRequired[str | None]
    stall_ms: NotRequired[int | None]
    away_ms: NotRequired[list[int]]
    mirror: NotRequired[list[float]]
    run: NotRequired[str | None]
    pair: NotRequired[str | None]
    seed: NotRequired[str | None]
    salt: NotRequired[str | None]
    digest: NotRequired[str | None]


class RecordSeat(TypedDict):
    """The agent that played a seat.

    Attributes:
        name: Name of the agent.
        version: Version of the agent.
        kind: Kind of the agent.
        model: Model that the agent is based on, as the agent's client states it.
        spec: Agent spec, if the server ran the agent; for an agent that the operator
            configured, its configured name.
    """

    name: str
    version: NotRequired[str | None]
    kind: NotRequired[AgentKind]
    model: NotRequired[str | None]
    spec: NotRequired[str | None]


class ChanceRecord(TypedDict):
    """A chance outcome in a record.

    Attributes:
        action: Id of the outcome; absent if hidden from the reader of a running match.
    """

    action: NotRequired[int | None]


class RefusedMove(TypedDict):
    """A refused attempt, as submitted.

    Attributes:
        action: Submitted move as an action id.
        text: Submitted move as text.
        document: Submitted move as a document.
        code: Reason of the refusal.
        issues: Issues found in the document.
        ms: Thinking time in milliseconds.
        notes: Notes that accompanied the attempt.
    """

    action: NotRequired[int | None]
    text: NotRequired[str | None]
    document: NotRequired[Any]
    code: ErrorCode
    issues: NotRequired[list[Issue]]
    ms: int
    notes: NotRequired[Notes | None]


class MoveRecord(TypedDict):
    """A seat's move in a record. Either `action` or `document` is present. Both are absent if
    hidden from the reader of a running match.

    Attributes:
        seat: Seat that played the move.
        turn: Turn number of the seat, from 0.
        action: Id of the action, if the move is an action.
        document: Canonical form of the document or utterance.
        ms: Thinking time in milliseconds.
        tries: Refused attempts before the move.
        notes: Notes that accompanied the move.
        forced: True if the agent did not choose the move: a move of the illegal-move policy,
            a seat's only legal move, or a move of the start that the suite prescribes.
        more: True if more moves of the same joint turn follow.
    """

    seat: int
    turn: int
    action: NotRequired[int | None]
    document: NotRequired[Any]
    ms: NotRequired[int]
    tries: NotRequired[list[RefusedMove]]
    notes: NotRequired[Notes | None]
    forced: NotRequired[bool]
    more: NotRequired[bool]


class HelloRequest(Hello):
    """Opens a session; the first message of a connection."""

    type: Literal["hello"]
    id: int


class PingRequest(Ping):
    """Requests the server's time."""

    type: Literal["ping"]
    id: int


class PongRequest(Pong):
    """Replies to the server's `ping`; gets no reply."""

    type: Literal["pong"]
    id: NotRequired[int]


class ListGamesRequest(ListGames):
    """Requests the list of games."""

    type: Literal["list_games"]
    id: int


class DescribeRequest(Describe):
    """Requests the spec of a game."""

    type: Literal["describe"]
    id: int


class OpenRequest(Open):
    """Opens environments of one game."""

    type: Literal["open"]
    id: int


class ResetRequest(Reset):
    """Starts episodes in environments."""

    type: Literal["reset"]
    id: int


class StepRequest(StepEnvs):
    """Plays actions in environments."""

    type: Literal["step"]
    id: int


class ViewRequest(ViewEnv):
    """Requests views of one environment."""

    type: Literal["view"]
    id: int


class CloneRequest(CloneEnvs):
    """Copies environments into a new handle."""

    type: Literal["clone"]
    id: int


class SnapshotRequest(SnapshotEnvs):
    """Requests snapshots of environment states."""

    type: Literal["snapshot"]
    id: int


class RestoreRequest(Restore):
    """Restores environment states from snapshots."""

    type: Literal["restore"]
    id: int


class CloseRequest(CloseHandle):
    """Closes an environment handle."""

    type: Literal["close"]
    id: int


class JoinRequest(Join):
    """Requests seats in matches."""

    type: Literal["join"]
    id: int


class LeaveRequest(Leave):
    """Stops a join from getting new matches."""

    type: Literal["leave"]
    id: int


class ActRequest(Act):
    """Plays a move in a match."""

    type: Literal["act"]
    id: int


class ResignRequest(Resign):
    """Resigns the client's seat in a match."""

    type: Literal["resign"]
    id: int


class ListMatchesRequest(ListMatches):
    """Requests the list of matches."""

    type: Literal["list_matches"]
    id: int


class SpectateRequest(Spectate):
    """Starts watching a match."""

    type: Literal["spectate"]
    id: int


class UnspectateRequest(Unspectate):
    """Stops watching a match."""

    type: Literal["unspectate"]
    id: int


class AckRequest(Ack):
    """Acknowledges the messages of a match; gets no reply."""

    type: Literal["ack"]
    id: NotRequired[int]


class SuitesRequest(ListSuites):
    """Requests the suites of the server."""

    type: Literal["suites"]
    id: int


class EnrolRequest(Enrol):
    """Enrolls the agent in a run."""

    type: Literal["enrol"]
    id: int


class WithdrawRequest(Withdraw):
    """Ends the agent's run early."""

    type: Literal["withdraw"]
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
)
"""A message sent by a client."""


class WelcomeMessage(Welcome):
    """Reply to `hello`, with session and limits."""

    type: Literal["welcome"]
    re: NotRequired[int]


class PongMessage(ServerPong):
    """Reply to `ping`, with the server's time."""

    type: Literal["pong"]
    re: NotRequired[int]


class PingMessage(ServerPing):
    """Liveness check; replying with `pong` is optional."""

    type: Literal["ping"]
    re: NotRequired[int]


class GamesMessage(GameList):
    """Reply to `list_games`, with the matching games."""

    type: Literal["games"]
    re: NotRequired[int]


class SpecMessage(SpecReply):
    """Reply to `describe`, with the game's spec."""

    type: Literal["spec"]
    re: NotRequired[int]


class OpenedMessage(HandleOpened):
    """Reply to `open` and `clone`."""

    type: Literal["opened"]
    re: NotRequired[int]


class BatchMessage(Batch):
    """Reply to `reset`, `step` and `restore`."""

    type: Literal["batch"]
    re: NotRequired[int]


class ViewedMessage(Viewed):
    """Reply to `view`, with the requested views."""

    type: Literal["viewed"]
    re: NotRequired[int]


class SnapshotsMessage(Snapshots):
    """Reply to `snapshot`, with one snapshot per environment."""

    type: Literal["snapshots"]
    re: NotRequired[int]


class OkMessage(OkReply):
    """Reply to `close`, `leave`, `resign`, `spectate`, `unspectate` and `withdraw`."""

    type: Literal["ok"]
    re: NotRequired[int]


class JoinedMessage(Joined):
    """Reply to `join`, with the id of the join."""

    type: Literal["joined"]
    re: NotRequired[int]


class QueuedMessage(Queued):
    """Event: a join is waiting in its queue."""

    type: Literal["queued"]
    re: NotRequired[int]


class MatchStartMessage(MatchStart):
    """Event: a match starts."""

    type: Literal["match_start"]
    re: NotRequired[int]


class TurnMessage(TurnFrame):
    """Event: the client's seat is to move."""

    type: Literal["turn"]
    re: NotRequired[int]


class AcceptedMessage(Accepted):
    """Reply to an `act` whose move was played."""

    type: Literal["accepted"]
    re: NotRequired[int]


class RefusedMessage(ActRefused):
    """Reply to an `act` that was refused."""

    type: Literal["refused"]
    re: NotRequired[int]


class MatchEventMoveMessage(MatchEventMove):
    """Event of a match, as visible to the viewer."""

    type: Literal["event"]
    re: NotRequired[int]


class MatchEventChanceMessage(MatchEventChance):
    """Event of a match, as visible to the viewer."""

    type: Literal["event"]
    re: NotRequired[int]


class MatchEventRevealMessage(MatchEventReveal):
    """Event of a match, as visible to the viewer."""

    type: Literal["event"]
    re: NotRequired[int]


class MatchEventSayMessage(MatchEventSay):
    """Event of a match, as visible to the viewer."""

    type: Literal["event"]
    re: NotRequired[int]


class MatchEventPhaseMessage(MatchEventPhase):
    """Event of a match, as visible to the viewer."""

    type: Literal["event"]
    re: NotRequired[int]


class MatchEventRewardMessage(MatchEventReward):
    """Event of a match, as visible to the viewer."""

    type: Literal["event"]
    re: NotRequired[int]


class MatchEventPresenceMessage(MatchEventPresence):
    """Event of a match, as visible to the viewer."""

    type: Literal["event"]
    re: NotRequired[int]


class MatchEndMessage(MatchEnd):
    """Event: a match has ended."""

    type: Literal["match_end"]
    re: NotRequired[int]


class ResyncMessage(Resync):
    """The complete state of a match, sent instead of missed messages."""

    type: Literal["resync"]
    re: NotRequired[int]


class MatchesMessage(Matches):
    """Reply to `list_matches`, with the matching matches."""

    type: Literal["matches"]
    re: NotRequired[int]


class SuitesMessage(SuiteList):
    """Reply to `suites`, with the available suites."""

    type: Literal["suites"]
    re: NotRequired[int]


class EnrolledMessage(Enrolled):
    """Reply to `enrol`, with the progress of the run."""

    type: Literal["enrolled"]
    re: NotRequired[int]


class ProgressMessage(Progress):
    """Event: a match of a run has finished."""

    type: Literal["progress"]
    re: NotRequired[int]


class RunEndMessage(RunEnd):
    """Event: a run has ended."""

    type: Literal["run_end"]
    re: NotRequired[int]


class DrainingMessage(Draining):
    """Event: the server is shutting down."""

    type: Literal["draining"]
    re: NotRequired[int]


class ErrorMessage(Refusal):
    """Reply to a request that failed, or to an invalid frame."""

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
    " | MatchEventMoveMessage"
    " | MatchEventChanceMessage"
    " | MatchEventRevealMessage"
    " | MatchEventSayMessage"
    " | MatchEventPhaseMessage"
    " | MatchEventRewardMessage"
    " | MatchEventPresenceMessage"
    " | MatchEndMessage"
    " | ResyncMessage"
    " | MatchesMessage"
    " | SuitesMessage"
    " | EnrolledMessage"
    " | ProgressMessage"
    " | RunEndMessage"
    " | DrainingMessage"
    " | ErrorMessage"
)
"""A message sent by the server."""


class MatchStartMatchFrame(MatchStart):
    """Start of the match."""

    type: Literal["match_start"]


class TurnMatchFrame(TurnFrame):
    """Request for a move of the viewer's seat."""

    type: Literal["turn"]


class MatchEventMoveMatchFrame(MatchEventMove):
    """Event of the match."""

    type: Literal["event"]


class MatchEventChanceMatchFrame(MatchEventChance):
    """Event of the match."""

    type: Literal["event"]


class MatchEventRevealMatchFrame(MatchEventReveal):
    """Event of the match."""

    type: Literal["event"]


class MatchEventSayMatchFrame(MatchEventSay):
    """Event of the match."""

    type: Literal["event"]


class MatchEventPhaseMatchFrame(MatchEventPhase):
    """Event of the match."""

    type: Literal["event"]


class MatchEventRewardMatchFrame(MatchEventReward):
    """Event of the match."""

    type: Literal["event"]


class MatchEventPresenceMatchFrame(MatchEventPresence):
    """Event of the match."""

    type: Literal["event"]


class MatchEndMatchFrame(MatchEnd):
    """End of the match."""

    type: Literal["match_end"]


MatchFrame: TypeAlias = (
    "MatchStartMatchFrame"
    " | TurnMatchFrame"
    " | MatchEventMoveMatchFrame"
    " | MatchEventChanceMatchFrame"
    " | MatchEventRevealMatchFrame"
    " | MatchEventSayMatchFrame"
    " | MatchEventPhaseMatchFrame"
    " | MatchEventRewardMatchFrame"
    " | MatchEventPresenceMatchFrame"
    " | MatchEndMatchFrame"
)
"""A numbered message of a match, stored for retransmission."""


class RecordEventChance(ChanceRecord):
    """A chance outcome that was drawn."""

    kind: Literal["chance"]


class RecordEventMove(MoveRecord):
    """A move of a seat."""

    kind: Literal["move"]


RecordEvent: TypeAlias = "RecordEventChance | RecordEventMove"
"""One event of a record. Events are in order of play."""
