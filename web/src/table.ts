// One match of a person. What is asked and said is the protocol's; a lost network is resumed by the client's session.

import type {
  Accepted, Enrol, ErrorMessage, EventMessage, MatchEnd, MatchEvent as Event, MatchStart, Refused, TurnMessage as Turn, Welcome,
} from '../../clients/typescript/src/messages.js';
import { Session } from '../../clients/typescript/src/session.js';
import { type Choice, show, Touch } from './board.js';
import { address, copy, find, make, say } from './dom.js';
import { isStep, line, namesOf, rolesOf, verdict, words } from './story.js';
import { invitation, type Wish } from './wish.js';

type MatchMessage = Extract<EventMessage, { match: string }>;

const VIEWS = ['picture', 'texts'] as const;

/** How long the only possible move is shown before the page makes it. */
const FORCED_MS = 600;
/** An answer within this time is not announced as under way. */
const SOON_MS = 300;

export class Table {
  readonly #session: Session;
  readonly #touch = new Touch(find('#board'), find('#choices'), find('#hint'));
  readonly #list = find<HTMLOListElement>('#moves');
  readonly #status = find('#status');
  /** What the status says while the connection holds. */
  #told: (string | Node)[] = [];
  /** What is missing of the way to the server. */
  readonly #missing = new Set<'line' | 'network'>();
  #over = false;
  #match?: string;
  #start?: MatchStart;
  #names: string[] = [];
  #turn?: Turn;
  #steps = 0;
  #clock?: ReturnType<typeof setInterval>;
  /** What is left of each seat's bank, in ms, and since when the seat to move uses it. */
  #banks: number[] = [];
  #since = 0;
  readonly #off = new AbortController();
  /** What was heard of the next match of a run, while the end of the last one is shown. */
  #next?: MatchMessage[];

  constructor(readonly wish: Wish, name: string, readonly again: boolean, readonly left: () => void) {
    find('#table').hidden = false;
    find('#problem').textContent = '';
    for (const id of ['#again', '#other', '#watch']) find(id).hidden = true;
    this.#clear('Connecting …');
    const agent = { name, kind: 'human' as const };
    // The seats of an earlier page of this tab come back by the name.
    this.#session = new Session(address(), { patience_ms: 24 * 3_600_000 }, {
      agent,
      reclaim: again,
      welcomed: (welcome) => this.#welcomed(welcome),
      event: (message) => this.#heard(message),
      lost: () => this.#holds('line', false),
      failed: (error) => this.#problem(error.message),
    });
    this.#session.open().catch(() => {});
    const on = (id: string, what: () => void) => find(id).addEventListener('click', what, { signal: this.#off.signal });
    // The session learns only later that a network is gone.
    addEventListener('offline', () => this.#holds('network', false), { signal: this.#off.signal });
    addEventListener('online', () => this.#holds('network', true), { signal: this.#off.signal });
    on('#resign', () => this.#resign());
    on('#again', () => {
      if (wish.enrol) return this.#goOn();
      this.#leave();
      const seat = wish.turns ? ((this.#start?.seat ?? 0) + 1) % this.#names.length : wish.seat;
      const next = { ...wish, seat };
      sessionStorage.setItem(`ludex:${wish.game}`, JSON.stringify(next));
      new Table(next, name, false, this.left);
    });
    on('#other', () => {
      this.#leave();
      this.left();
    });
    if (wish.enrol) on('#withdraw', () => this.#withdraw(wish.enrol!.run));
    find<HTMLFormElement>('#type').addEventListener('submit', (event) => {
      event.preventDefault();
      const input = find<HTMLInputElement>('#type [name=text]');
      const text = input.value.trim();
      if (text && this.#turn) this.#act({ text });
      input.value = '';
    }, { signal: this.#off.signal });
  }

  #leave(): void {
    clearInterval(this.#clock);
    this.#off.abort();
    this.#touch.rest();
    this.#session.close();
  }

  /** The table before a match. */
  #clear(words: string): void {
    find('#resign').hidden = false;
    find('#resign').textContent = this.wish.enrol ? 'Resign' : 'Cancel';
    find('#type').hidden = true;
    find('#board').replaceChildren();
    find('#seats').replaceChildren();
    this.#list.replaceChildren();
    this.#tell(words);
  }

  #tell(...words: (string | Node)[]): void {
    this.#told = words;
    this.#status.replaceChildren(...(this.#missing.size === 0 ? words : ['The connection is lost. Trying again …']));
  }

  /** A part of the way to the server holds, or is lost; the session then tries to connect again. */
  #holds(part: 'line' | 'network', holds: boolean): void {
    if (holds) this.#missing.delete(part);
    else this.#missing.add(part);
    this.#tell(...this.#told);
  }

  /** Says who is to move. */
  #tellTurn(): void {
    if (this.#turn) return this.#tell('Your turn.');
    const other = this.#names.length === 2 ? this.#names[1 - (this.#start?.seat ?? 0)] : undefined;
    this.#tell(other === undefined ? 'The others are to move.' : `${other} is to move.`);
  }

  #problem(words: string): void {
    if (this.#off.signal.aborted) return;
    find('#problem').textContent = words;
    find('#other').hidden = false;
    this.#touch.rest();
  }

  // ---- sessions

  #welcomed(welcome: Welcome): void {
    this.#holds('line', true);
    if (this.wish.enrol) return welcome.resumed ? undefined : this.#enrol(this.wish.enrol);
    if (welcome.resumed || (welcome.matches ?? []).length > 0) return;
    if ((welcome.joins ?? []).length > 0) return this.#wait();
    if (this.#match !== undefined) return this.#problem('The server no longer knows this match.');
    if (this.again) {
      // The match of the earlier page may have ended meanwhile: its end comes before this answer.
      this.#session.post('ping', {}, () => {
        if (this.#match !== undefined) return;
        this.#leave();
        this.left();
      });
      return;
    }
    const { game, against, queue, seat, clock } = this.wish;
    this.#session.post('join', { game, against, queue, seat, clock, views: [...VIEWS] }, (reply) => {
      if (reply.type === 'error') return this.#problem(reply.message);
      if (!against) this.#wait();
    });
  }

  #wait(): void {
    if (this.#match !== undefined) return;
    if (!this.wish.queue?.startsWith('f-')) return this.#tell('Waiting for somebody else …');
    if (this.wish.invited) return this.#tell('Waiting for your friend …');
    const link = invitation(this.wish);
    const shown = make('a', link, { href: link, id: 'link' });
    const button = make('button', 'Copy', { type: 'button' });
    button.addEventListener('click', () => copy(button, link, shown));
    this.#tell('Send this link to your friend, and wait here: ', shown, ' ', button);
  }

  #heard(message: EventMessage): void {
    if (message.type === 'progress') return this.#progress(message.done, message.due);
    if (message.type === 'run_end') return this.#runOver(message.run);
    if (!('match' in message)) return;
    this.#session.seen[message.match] = message.seq;
    // What ended on an earlier page of a run is told again, and is not what comes next.
    if (this.wish.enrol && message.type === 'resync' && message.end && message.match !== this.#match) return;
    if (this.#next && message.match !== this.#match) this.#next.push(message);
    else this.#take(message);
  }

  #take(message: MatchMessage): void {
    if (message.type === 'match_start') this.#begin(message);
    if (message.match !== this.#match && message.type !== 'resync') return;
    if (message.type === 'event') this.#event(message);
    if (message.type === 'turn') this.#asked(message);
    if (message.type === 'match_end') this.#ended(message);
    if (message.type === 'resync') {
      this.#begin(message.start);
      for (const event of message.events ?? []) if (event.type === 'event') this.#event(event as Event);
      if (message.end) this.#ended(message.end);
      else if (message.turn) this.#asked(message.turn);
    }
  }

  // ---- runs

  #enrol(enrol: Enrol): void {
    this.#session.post('enrol', { ...enrol, slots: 1, views: [...VIEWS] }, (reply) => {
      if (reply.type === 'error') return this.#problem(reply.message);
      this.#progress(reply.done, reply.due);
      if (reply.join === undefined) this.#runOver(reply.run);
      else if (this.#match === undefined) this.#tell('Waiting for the next match …');
    });
  }

  #progress(done: number, due: number): void {
    find('#progress').textContent = `${done} of ${done + due} matches are done.`;
  }

  #runOver(run: string): void {
    this.#next = undefined;
    find('#again').hidden = true;
    find('#withdraw').hidden = true;
    find('#progress').replaceChildren('The run is over: ', make('a', 'see how it went', { href: `/runs/${run}` }));
    if (this.#match === undefined) this.#tell('The run is over.');
    this.#leave();
  }

  /** Takes up the next match of the run. */
  #goOn(): void {
    const heard = this.#next ?? [];
    this.#next = undefined;
    for (const id of ['#again', '#watch']) find(id).hidden = true;
    this.#match = undefined;
    this.#clear('Waiting for the next match …');
    for (const message of heard) this.#take(message);
  }

  #withdraw(run: string): void {
    if (!confirm('Withdraw from the run? It ends for good, and its match under way is lost.')) return;
    this.#session.post('withdraw', { run }, (reply) => {
      if (reply.type === 'error') this.#tell(reply.message);
    });
  }

  // ---- the match

  #begin(start: MatchStart): void {
    this.#match = start.match;
    this.#start = start;
    this.#names = namesOf(start);
    this.#steps = 0;
    this.#over = false;
    this.#turn = undefined;
    this.#list.replaceChildren();
    const roles = rolesOf(start);
    const seats = start.seats.map(({ name, kind }, seat) => {
      const item = make('li', undefined, {
        'data-seat': String(seat), 'data-role': roles[seat] || `seat ${seat}`,
      });
      const away = make('small', 'away', { class: 'away' });
      away.hidden = true;
      item.append(make('bdi', name), ' ', make('small', seat === start.seat ? 'you' : kind), ' ', away, ' ', make('span', '', { class: 'clock' }));
      return item;
    });
    find('#seats').replaceChildren(...seats);
    const watch = find<HTMLAnchorElement>('#watch');
    watch.href = `/matches/${start.match}`;
    find('#resign').textContent = 'Resign';
    find('#type').hidden = false;
    this.#banks = start.seats.map(() => start.clock.bank_ms ?? 0);
    this.#tellTurn();
    this.#runClocks();
    void this.#first();
  }

  #event(event: Event): void {
    if (isStep(event)) this.#steps++;
    this.#list.append(line(event, this.#names, isStep(event) ? this.#steps : undefined));
    this.#list.scrollTop = this.#list.scrollHeight;
    if (event.kind === 'presence') find(`#seats [data-seat="${event.seat}"] .away`).hidden = event.online;
    const svg = event.view?.picture?.svg;
    if (svg !== undefined) show(find('#board'), svg);
    if (event.kind !== 'phase') say(words(event, this.#names));
  }

  /** The position as everybody sees it, until this seat is shown its own. */
  async #first(): Promise<void> {
    const board = find('#board');
    const answer = await fetch(`/matches/${this.#match}/picture.svg`).catch(() => undefined);
    const svg = answer?.ok ? await answer.text() : undefined;
    if (svg !== undefined && !board.querySelector('svg')) show(board, svg);
  }

  #asked(turn: Turn): void {
    if (this.#turn && turn.turn === this.#turn.turn && (turn.try ?? 0) < (this.#turn.try ?? 0)) return;
    this.#turn = turn;
    const picture = turn.view?.picture;
    if (picture) show(find('#board'), picture.svg);
    if (turn.bank_ms) this.#banks = [...turn.bank_ms];
    this.#offer(turn);
    this.#tellTurn();
    this.#runClocks();
  }

  #offer(turn: Turn): void {
    const gestures = turn.view?.picture?.gestures ?? {};
    const ids = (turn.legal ?? []).flatMap((entry) =>
      typeof entry === 'number' ? [entry] : Array.from({ length: entry[1] - entry[0] + 1 }, (_, k) => entry[0] + k));
    const choices: Choice[] = ids.map((action, k) => ({
      action, name: turn.names?.[k] ?? String(action), cells: gestures[String(action)] ?? [],
    }));
    const names = choices.slice(0, 500).map(({ name }) => make('option', undefined, { value: name }));
    find('#names').replaceChildren(...names);
    this.#touch.ask(choices, (action) => this.#act({ action }));
    const [only] = choices;
    if (choices.length > 1 || !only || only.cells.length > 0 || turn.schema !== undefined) return;
    // Nobody wants to click through every "pass".
    setTimeout(() => {
      if (this.#turn !== turn) return;
      this.#touch.rest();
      this.#act({ action: only.action });
    }, FORCED_MS);
  }

  #act(move: { action: number } | { text: string }): void {
    const turn = this.#turn!;
    const given = { match: turn.match, turn: turn.turn, try: turn.try ?? 0, ...move };
    this.#tell('');
    const sending = setTimeout(() => this.#tell('Sending your move …'), SOON_MS);
    this.#session.post('act', given, (reply: Accepted | Refused | ErrorMessage) => {
      clearTimeout(sending);
      if (reply.type === 'accepted') {
        const own = this.#start?.seat ?? 0;
        if (this.#turn === turn) {
          this.#turn = undefined;
          this.#banks[own] = reply.bank_ms ?? this.#banks[own] ?? 0;
          this.#runClocks();
        }
        // The end may have come before.
        if (!this.#over) this.#tellTurn();
      } else if (reply.type === 'refused') {
        this.#tell(reply.message);
        say(reply.message);
        if (reply.tries_left === 0 || this.#turn !== turn) return;
        this.#turn = { ...turn, try: reply.try };
        this.#offer(this.#turn);
      } else if (reply.retry) {
        setTimeout(() => this.#turn === turn && this.#act(move), reply.after_ms ?? 100);
      } else if (reply.code !== 'stale_turn' && reply.code !== 'match_over') {
        this.#tell(reply.message);
      }
    }, false);
  }

  #resign(): void {
    if (this.#match !== undefined) {
      if (!confirm('Resign this match? You lose it.')) return;
      this.#session.post('resign', { match: this.#match }, (reply) => {
        if (reply.type === 'error') this.#tell(reply.message);
      });
    } else {
      this.#leave();
      this.left();
    }
  }

  /** Shows the clocks, which the server alone judges. */
  #runClocks(): void {
    clearInterval(this.#clock);
    this.#since = performance.now();
    const { seat: own, clock } = this.#start!;
    const budget = this.#turn?.budget_ms;
    const show = () => {
      const used = performance.now() - this.#since;
      for (const [seat, bank] of this.#banks.entries()) {
        const left = this.#left(seat, own ?? 0, bank, used);
        find(`#seats [data-seat="${seat}"] .clock`).textContent = left === undefined ? '' : written(left);
      }
    };
    show();
    if (budget != null || clock.bank_ms) this.#clock = setInterval(show, 500);
  }

  /** What a seat has left in ms; nothing where that is not known. Only of two players it is known who is to move. */
  #left(seat: number, own: number, bank: number, used: number): number | undefined {
    const free = this.#start?.clock.move_ms ?? 0;
    if (seat === own && this.#turn) return this.#turn.budget_ms == null ? undefined : this.#turn.budget_ms - used;
    if (!this.#start?.clock.bank_ms) return undefined;
    const moves = seat !== own && !this.#turn && this.#names.length === 2;
    return moves ? bank - Math.max(0, used - free) : bank;
  }

  #ended(end: MatchEnd): void {
    clearInterval(this.#clock);
    this.#turn = undefined;
    this.#over = true;
    this.#touch.rest();
    const seat = this.#start?.seat ?? 0;
    const told = verdict(end, this.#names, seat);
    const friend = this.wish.queue?.startsWith('f-') ? ' For a rematch, both of you press Rematch.' : '';
    this.#tell(told + friend);
    say(told);
    find('#type').hidden = true;
    find('#resign').hidden = true;
    for (const id of this.wish.enrol ? ['#again', '#watch'] : ['#again', '#other', '#watch']) find(id).hidden = false;
    if (this.wish.enrol) this.#next = [];
    // Who plays by keyboard continues here.
    const focused = document.activeElement;
    if (focused === document.body || focused?.closest('#board, #choices')) find('#again').focus({ preventScroll: true });
    sessionStorage.removeItem(`ludex:${this.wish.game}`);
  }
}

/** A time in minutes and seconds. */
function written(ms: number): string {
  const left = Math.max(0, Math.ceil(ms / 1_000));
  return `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}`;
}
