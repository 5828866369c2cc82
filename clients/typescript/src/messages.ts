// The messages of docs/protocol.md as types, in both encodings, with the names of the page. A test compares them with
// the golden frames.

/** Free documents: parameters, schemas, proposals. */
export type Json = Record<string, unknown>;

/** A column in a message: packed little-endian bytes in MessagePack, a flat list in JSON. */
export type WireColumn = Uint8Array | number[];
/** A column as a client passes it; each encoding packs it in its own way. */
export type SentColumn = Uint32Array | Int32Array | number[];
/** Bytes in a message: unchanged in MessagePack, base64 in JSON. */
export type WireBytes = Uint8Array | string;
export type Dtype = 'u1' | 'i1' | 'i2' | 'i4' | 'f4';
/** A tensor in a message: `b` in MessagePack, `v` in JSON. */
export interface WireTensor { d: Dtype; s: number[]; b?: Uint8Array; v?: number[] }
export type WireTensors = Record<string, WireTensor>;
export interface WireRagged { o: WireColumn; a: WireColumn }

export type Dynamics = 'sequential' | 'simultaneous' | 'mixed';
export type ChanceMode = 'deterministic' | 'explicit' | 'sampled';
export type Information = 'perfect' | 'imperfect';
export type GymView = 'tensor' | 'info' | 'struct' | 'text' | 'returns' | 'picture';
export type MatchView = 'struct' | 'text' | 'tensor' | 'info' | 'texts' | 'picture';
export type AgentKind = 'bot' | 'llm' | 'human' | 'learner';
export type Outcome = 'win' | 'loss' | 'draw' | 'none';
export type Scope = 'gym' | 'play' | 'spectate' | 'admin';
export type Reason =
  | 'finished' | 'illegal' | 'timeout' | 'disconnect' | 'resign' | 'truncated' | 'agent_error' | 'no_show'
  | 'infra_error' | 'aborted';
export type ErrorCode =
  | 'bad_frame' | 'bad_message' | 'bad_field' | 'unknown_type' | 'too_large' | 'too_deep' | 'protocol_version'
  | 'hello_first' | 'unauthorized' | 'forbidden' | 'unknown_game' | 'bad_params' | 'unknown_agent' | 'bad_seed'
  | 'unknown_env' | 'env_over' | 'bad_shape' | 'illegal_action' | 'unparsed' | 'bad_snapshot' | 'limit' | 'rate_limited'
  | 'window_full' | 'unknown_join' | 'unknown_match' | 'not_your_seat' | 'not_your_turn' | 'stale_turn' | 'conflict'
  | 'match_over' | 'unknown_suite' | 'unknown_run' | 'draining' | 'internal';

/** An action id; a text, as people write the move; a document (a proposal). */
export type Move = number | string | Json;
/** Ascending ids, or inclusive ranges of them. */
export type Legal = number[] | [number, number][];

export interface Clock { move_ms?: number; bank_ms?: number; inc_ms?: number; first_ms?: number; episode_ms?: number }
export interface AgentId { name: string; version?: string; kind?: AgentKind }
export interface SeatInfo { name: string; version?: string; kind?: AgentKind }
export interface Notes {
  analysis?: string;
  emotion?: string;
  say?: string;
  tokens?: { in: number; out: number };
  [more: string]: unknown;
}
export interface GameFilter {
  information?: Information;
  chance?: ChanceMode;
  dynamics?: Dynamics;
  players?: number;
  text?: string;
}

/** A game of the catalogue. */
export interface GameEntry {
  game: string;
  title: string;
  players: [min: number, max: number];
  dynamics: Dynamics;
  chance: ChanceMode;
  information: Information;
  presets: string[];
  rules: number;
}

export interface TensorSpec {
  d: Dtype;
  s: number[];
  low: number;
  high: number;
  parts: { name: string; at: number; len: number }[];
}

/** The description of a game, section 3. */
export interface Spec {
  game: string;
  title: string;
  /** Complete, with defaults filled in. */
  params: Json;
  /** The canonical game string. */
  string: string;
  rules: number;
  /** Policies and records carry over between games with equal hashes. */
  hash: string;
  players: number;
  /** The smallest and the largest number of seats over all parameters. */
  player_range: [number, number];
  /** Names of the seats. */
  seats: string[];
  dynamics: Dynamics;
  chance: ChanceMode;
  information: Information;
  utility: 'zero_sum' | 'constant_sum' | 'general_sum' | 'identical';
  rewards: 'terminal' | 'step';
  min_return: number;
  max_return: number;
  max_length: number;
  /** The number of actions; ids are below it. */
  actions: number;
  max_chance: number;
  legal: 'ids' | 'ranges';
  views: {
    tensor?: Record<string, TensorSpec>;
    info?: Record<string, TensorSpec>;
    /** JSON Schema. */
    struct: unknown;
    text: boolean;
    layouts: string[];
  };
  /** JSON Schema of each phase's moves, in games whose moves are documents or speech. */
  proposals?: Record<string, unknown>;
  params_schema: unknown;
  presets: Record<string, { params: Json; note: string }>;
  anchors: { level: number; bot: number; agent: string; rating?: number; low?: number; high?: number }[];
  /** The rules page (Markdown), if it was requested. */
  text?: string;
}

// ---- what a client sends: the fields of each request, by its type ---------------------------------------------------

export interface Hello {
  protocol: number[];
  client: string;
  token?: string;
  agent?: AgentId;
  resume?: { session: string; key: string; seen?: Record<string, number> };
  reclaim?: boolean;
}

/** `open`: the environments of one handle. */
export interface Open {
  game: string;
  params?: Json;
  /** How many environments [1]. */
  count?: number;
  /** The player of each seat: `"agent"` (this client) or an agent of the server, such as `"mcts sims=500"`. Absent: we
   * play all seats. */
  seats?: string[];
  rotate?: 'none' | 'cycle' | 'random';
  chance?: 'server' | 'client';
  autoreset?: 'next_step' | 'same_step' | 'disabled';
  /** The views in batches [tensor]. */
  views?: GymView[];
  layout?: string;
  mask?: 'u1' | 'bits' | 'ids' | 'none';
  /** Whose views are in batches. */
  observer?: 'acting' | 'all';
  on_illegal?: 'refuse' | 'lose';
  /** Truncates an episode after this many moves. */
  max_steps?: number;
  /** Keep episode records. */
  record?: boolean;
}

/** `join`: seats in matches. */
export interface Join {
  game?: string;
  params?: Json;
  /** The queue; only clients in the same queue meet. */
  queue?: string;
  /** Agents of the server for the other seats: one for all, or in seat order. */
  against?: string[];
  seat?: number;
  /** Matches at a time [1]. */
  slots?: number;
  /** Matches in all [1]; 0: until `leave`. */
  count?: number;
  /** The views in turns [struct, texts]. */
  views?: MatchView[];
  layout?: string;
  rated?: boolean;
  clock?: Clock;
  /** Whether matches come in pairs on one seed with the seats swapped; absent: as the server does it. */
  pairs?: boolean;
  ticket?: string;
}

/** `enrol`: the part of an agent in a run. */
export interface Enrol {
  /** The suite; not needed for a run that is there already. */
  suite?: string;
  /** Name of the run: 1 to 64 small letters, digits, `_` and `-`. */
  run: string;
  /** The share of the suite that is played, above 0 [1]. */
  scale?: number;
  /** Matches at a time [1]. */
  slots?: number;
  /** Only these parts of the suite. */
  only?: string[];
  /** Agents of the server that fill roles of the suite, by role. */
  roles?: Record<string, string[]>;
  /** How many agents the run is for [1]; it begins when they have all enrolled. */
  candidates?: number;
  /** The views in turns [struct, texts]. */
  views?: MatchView[];
  layout?: string;
}

/** `organise`: a tournament on the server, section "organise" of docs/protocol-runs.md. */
export interface Organise {
  run: string;
  /** The whole game string. */
  game: string;
  format: 'round_robin' | 'double_round_robin' | 'swiss' | 'ladder';
  /** Rounds of a Swiss tournament [as usual]. */
  rounds?: number;
  /** Seeds for each meeting [1]. */
  blocks?: number;
  /** An entrant is out after this number of matches that its own failures ended [0: never]. */
  strikes?: number;
  /** Time for a move [30,000]. */
  move_ms?: number;
  /** How long the tournament waits for clients to come, and for one that is away [300,000]. */
  grace_ms?: number;
  /** With `agent` an agent of the server, without it a client of that name and owner. */
  entrants: { name: string; agent?: string; owner?: string }[];
}

interface OfEnv { env: number; envs?: SentColumn }

/** Requests by type, and their replies. */
export interface Requests {
  ping: [object, ServerPong];
  list_games: [{ filter?: GameFilter }, Games];
  describe: [{ game: string; params?: Json; rules_text?: boolean }, SpecReply];
  open: [Open, Opened];
  reset: [OfEnv & { seed?: string; seeds?: string[]; seats?: string[] }, WireBatch];
  step: [OfEnv & { actions?: SentColumn; moves?: (Move | null)[] }, WireBatch];
  view: [{ env: number; i?: number; seat?: number; views?: GymView[]; names?: number[]; parse?: string[] }, Viewed];
  clone: [OfEnv & { seed?: string }, Opened];
  snapshot: [OfEnv, Snapshots];
  restore: [OfEnv & { items: WireBytes[] }, WireBatch];
  close: [{ env: number }, Done];
  join: [Join, Joined];
  leave: [{ join: string }, Done];
  act: [
    { match: string; turn: number; try?: number; action?: number; text?: string; proposal?: unknown; notes?: Notes },
    Accepted | Refused,
  ];
  resign: [{ match: string }, Done];
  list_matches: [{ game?: string; live?: boolean; limit?: number }, Matches];
  spectate: [{ match: string; view?: 'public' | 'full'; views?: MatchView[] }, Done];
  unspectate: [{ match: string }, Done];
  suites: [object, Suites];
  enrol: [Enrol, Enrolled];
  withdraw: [{ run: string }, Done];
  organise: [Organise, Organised];
}

export type ClientMessage =
  | ({ type: 'hello'; id: number } & Hello)
  | { [T in keyof Requests]: { type: T; id: number } & Requests[T][0] }[keyof Requests]
  | { type: 'ack'; match: string; seq: number }
  | { type: 'pong'; nonce?: number };

// ---- what a server sends --------------------------------------------------------------------------------------------

interface Reply { re?: number }
interface Numbered { match: string; seq: number }

export type Limits = Record<
  | 'frame_bytes' | 'message_bytes' | 'request_bytes' | 'list' | 'depth' | 'window' | 'requests_per_s' | 'envs' | 'batch'
  | 'batch_bytes' | 'search' | 'matches' | 'joins' | 'owner_envs' | 'owner_matches' | 'owner_joins'
  | 'owner_said_bytes' | 'owner_runs' | 'text_bytes'
  | 'notes_bytes' | 'idle_ms' | 'grace_ms' | 'hello_ms' | 'hello_bytes' | 'address_connections' | 'connections'
  | 'address_hellos' | 'hellos' | 'replies_kept',
  number
>;
export interface Welcome extends Reply {
  type: 'welcome';
  protocol: number;
  server: string;
  session: string;
  key: string;
  resumed?: boolean;
  scopes: Scope[];
  agent: string;
  limits: Limits;
  envs: number[];
  matches: { match: string; seat?: number; seq: number }[];
  joins?: { join: string; game: string; left?: number }[];
}
export interface ServerPong extends Reply { type: 'pong'; now_ms: number }
export interface ServerPing { type: 'ping'; nonce: number; re?: never }
export interface Games extends Reply { type: 'games'; games: GameEntry[] }
export interface SpecReply extends Reply { type: 'spec'; spec: Spec }
export interface Opened extends Reply { type: 'opened'; env: number; count: number; spec: Spec }
export interface Done extends Reply { type: 'ok' }
export interface Joined extends Reply { type: 'joined'; join: string }
export interface Snapshots extends Reply { type: 'snapshots'; hash: string; items: WireBytes[] }
export interface Matches extends Reply {
  type: 'matches';
  matches: { match: string; game: string; seats: SeatInfo[]; rated?: boolean; started_ms: number }[];
}
/** A part of a suite. */
export interface SuitePart {
  /** Its id, for `enrol.only`. */
  part: string;
  /** The canonical game string. */
  game: string;
  /** How many matches one candidate plays in it at most. */
  matches: number;
  /** How many candidates it needs, at least. */
  candidates: number;
  /** What is measured. */
  metrics: string[];
}
/** A suite that the server offers. */
export interface SuiteEntry {
  /** The name to enrol with. */
  suite: string;
  version: number;
  /** Names the text of the suite. */
  digest: string;
  title: string;
  /** How many matches one candidate plays at most. */
  matches: number;
  parts: SuitePart[];
  /** The season in which a run that begins now is played. */
  season?: string;
}
export interface Suites extends Reply { type: 'suites'; suites: SuiteEntry[] }
export interface Enrolled extends Reply {
  type: 'enrolled';
  run: string;
  /** The join of its matches; absent if the run is over. */
  join?: string;
  /** Matches to come, as far as is known now. */
  due: number;
  done: number;
  eta_ms?: number;
}
export interface Organised extends Reply {
  type: 'organised';
  run: string;
  /** What each client may show with `join`. */
  tickets: { name: string; ticket: string }[];
}
export interface Viewed extends Reply {
  type: 'viewed';
  tensor?: WireTensors;
  struct?: unknown;
  text?: string;
  info?: WireTensors;
  /** The position drawn for people. */
  picture?: PictureView;
  names?: string[];
  parsed?: (number | null)[];
  /** The phase, in games that have several. */
  phase?: string;
  /** Which of the spec's `proposals` a document of the seat must fit now. */
  schema?: string;
}

interface WireViews { obs?: WireTensors; info?: WireTensors; struct?: unknown[]; text?: string[] }
export interface WireFinal extends WireViews {
  at: WireColumn;
  seat?: WireColumn;
  returns: WireColumn;
  length: WireColumn;
}
/** The message `batch`, from which a `Batch` is made. */
export interface WireBatch extends Reply, WireViews {
  type: 'batch';
  env: number;
  envs?: WireColumn;
  to_move: WireColumn;
  seat?: WireColumn;
  mask?: WireColumn | WireRagged;
  chance?: WireRagged & { p: WireColumn };
  reward: WireColumn;
  returns?: WireColumn;
  terminated: WireColumn;
  truncated: WireColumn;
  length: WireColumn;
  episode: WireColumn;
  final?: WireFinal;
  illegal?: WireColumn;
  skipped?: { at: WireColumn; returns: WireColumn };
}

export interface MatchStart extends Numbered {
  type: 'match_start';
  re?: never;
  join?: string;
  game: string;
  params: Json;
  rules: number;
  hash: string;
  /** Absent for a spectator. */
  seat?: number;
  seats: SeatInfo[];
  rated: boolean;
  clock: Clock;
  illegal: {
    policy: 'forfeit' | 'random' | 'default';
    tries: number;
    /** Texts that name no move, where they are counted apart. */
    unparsed?: { policy: 'forfeit' | 'random' | 'default'; tries: number };
  };
  skip_forced?: boolean;
  seed_commit?: string;
}
/** A position drawn for people. */
export interface PictureView {
  /** An SVG document; what a person can touch carries `data-cell`. */
  svg: string;
  /** Legal action -> the cells that mean it, in order. */
  gestures?: Record<string, string[]>;
}
export interface SeatView {
  struct?: unknown;
  text?: string;
  tensor?: WireTensors;
  info?: WireTensors;
  picture?: PictureView;
}
export interface TurnMessage extends Numbered {
  type: 'turn';
  re?: never;
  turn: number;
  try?: number;
  budget_ms?: number;
  bank_ms?: number[];
  legal?: Legal;
  names?: string[];
  view?: SeatView;
  phase?: string;
  /** Which of the spec's `proposals` a document of this turn must fit. */
  schema?: string;
}
export interface Accepted extends Reply {
  type: 'accepted';
  match: string;
  turn: number;
  action?: number;
  text: string;
  bank_ms?: number;
}
export interface Issue { path: string; got?: unknown; allowed?: unknown; message: string; code?: string }
export interface Refused extends Reply {
  type: 'refused';
  match: string;
  turn: number;
  try: number;
  code: ErrorCode;
  message: string;
  tries_left: number;
  legal?: Legal;
  issues?: Issue[];
  then?: 'forfeit' | 'random' | 'default';
}
/** `event`: something happened in a match. */
export type MatchEvent = Numbered & { type: 'event'; re?: never; view?: SeatView } & (
    | { kind: 'move'; seat: number; action?: number; text: string; ms?: number; forced?: boolean }
    | { kind: 'chance'; action?: number; text: string }
    | { kind: 'reveal'; text: string; data?: unknown }
    | { kind: 'say'; seat: number; text: string }
    | { kind: 'phase'; phase: string }
    | { kind: 'reward'; rewards: number[] }
    | { kind: 'presence'; seat: number; online: boolean; grace_ms?: number }
  );
export interface MatchEnd extends Numbered {
  type: 'match_end';
  re?: never;
  returns: number[];
  outcome: Outcome[];
  reason: Reason;
  at_fault?: number;
  rated: boolean;
  digest?: string;
  seed?: string;
  salt?: string;
  record: string;
}
export interface Resync extends Numbered {
  type: 'resync';
  re?: never;
  start: MatchStart;
  events: (MatchStart | TurnMessage | MatchEvent | MatchEnd)[];
  turn?: TurnMessage;
  end?: MatchEnd;
}
export interface Queued { type: 'queued'; re?: never; join: string; waiting: number; eta_ms?: number }
export interface Draining { type: 'draining'; re?: never; until_ms: number; resume?: boolean }
/** `progress`: a match of a run is done. */
export interface Progress {
  type: 'progress';
  re?: never;
  run: string;
  done: number;
  /** Matches to come, as far as is known now. */
  due: number;
  /** About how many milliseconds the rest will take. */
  eta_ms?: number;
  /** The agent's own wins, draws and losses by part, since the server began or continued the run. */
  verdict_so_far?: Json;
}
/** `run_end`: a run is over. */
export interface RunEnd {
  type: 'run_end';
  re?: never;
  run: string;
  /** The deadline is the server's. After the last two, the verdict says what was played. */
  reason: 'done' | 'withdrawn' | 'deadline';
  /** The results by part and group, as `ludex evaluate --json` prints them. */
  verdict: Json;
  /** The ratings among them. */
  ratings: Json[];
  /** Path of the report on the server's web pages. */
  report: string;
}
export interface ErrorMessage extends Reply {
  type: 'error';
  code: ErrorCode | 'connection_lost' | 'session_lost' | 'superseded' | 'protocol' | 'tls';
  message: string;
  fault: 'client' | 'agent' | 'server';
  retry: boolean;
  after_ms?: number;
  path?: string;
  at?: number;
  got?: unknown;
  allowed?: unknown;
  nearest?: string;
  issues?: Issue[];
}

/** Events that are not about a match. */
export type LobbyMessage = Queued | Draining | Progress | RunEnd;
export type EventMessage = MatchStart | TurnMessage | MatchEvent | MatchEnd | Resync | LobbyMessage;
export type ServerMessage =
  | Welcome | ServerPing | ErrorMessage | EventMessage | { [T in keyof Requests]: Requests[T][1] }[keyof Requests];
