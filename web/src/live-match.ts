// Live match of a person over the protocol. The client's session resumes lost connections.

import type {
  Accepted, Enrol, ErrorMessage, EventMessage, MatchEnd, MatchEvent as Event, MatchStart, Refused, TurnMessage as Turn, Welcome,
} from '../../clients/typescript/src/messages.js';
import { seatOf, Session } from '../../clients/typescript/src/session.js';
import { type Choice, MoveInput, showPicture } from './board.js';
import { announce, copyText, createElement, find, socketUrl } from './dom.js';
import { eventItem, eventText, isStep, resultText, seatNames, seatRoles } from './event-list.js';
import { inviteLink, type PlayRequest } from './play-request.js';

type MatchMessage = Extract<EventMessage, { match: string }>;

/** One seat of the person in a match. */
interface OwnSeat {
  start: MatchStart;
  events: Event[];
  /** Open turn. */
  turn?: Turn;
}

const VIEWS = ['picture', 'texts'] as const;

/** Delay in ms before the page plays a forced move. */
const FORCED_DELAY_MS = 600;
/** Delay in ms before the status reports that a move is being sent. */
const SENDING_DELAY_MS = 300;

/** One match that a person plays in one seat or several, with its board, seats, clocks and moves. */
export class LiveMatch {
  readonly #session: Session;
  readonly #input = new MoveInput(find('#board'), find('#choices'), find('#hint'));
  readonly #list = find<HTMLOListElement>('#moves');
  readonly #status = find('#status');
  /** Status line to display while connected. */
  #statusContent: (string | Node)[] = [];
  /** Parts of the connection that are down. */
  readonly #down = new Set<'socket' | 'network'>();
  #over = false;
  #match?: string;
  /** Seats of the person. The page displays one of them at a time. */
  readonly #own = new Map<number, OwnSeat>();
  /** Start of the match for the displayed seat. */
  #start?: MatchStart;
  #names: string[] = [];
  /** Open turn of the displayed seat. */
  #turn?: Turn;
  #steps = 0;
  #clock?: ReturnType<typeof setInterval>;
  /** Time since which an opponent is away, and its earlier time away since the last change of the clocks. */
  #awaySince?: number;
  #awayMs = 0;
  /** Time left in each seat's bank in ms, at the time `#since`. */
  #banks: number[] = [];
  #since = 0;
  readonly #off = new AbortController();
  /** Messages of the run's next match, buffered while the last result is displayed. */
  #buffer?: MatchMessage[];

  constructor(readonly request: PlayRequest, name: string, readonly reclaim: boolean, readonly onLeave: () => void) {
    find('#live-match').hidden = false;
    find('#problem').textContent = '';
    for (const id of ['#again', '#other', '#watch']) find(id).hidden = true;
    this.#clear('Connecting …');
    const agent = { name, kind: 'human' as const };
    // After a reload, the name reclaims the seats of this tab.
    this.#session = new Session(socketUrl(), { patience_ms: 24 * 3_600_000 }, {
      agent,
      reclaim,
      onWelcome: (welcome) => this.#onWelcome(welcome),
      onEvent: (message) => this.#onEvent(message),
      onLost: () => this.#setConnected('socket', false),
      onFailed: (error) => this.#fail(error.message),
    });
    this.#session.open().catch(() => {});
    const on = (id: string, action: () => void) => find(id).addEventListener('click', action, { signal: this.#off.signal });
    // The session detects a lost network only after a timeout.
    addEventListener('offline', () => this.#setConnected('network', false), { signal: this.#off.signal });
    addEventListener('online', () => this.#setConnected('network', true), { signal: this.#off.signal });
    on('#resign', () => this.#resign());
    on('#again', () => {
      if (request.enrol) return this.#startNext();
      this.#leave();
      const seat = request.alternate ? ((this.#start?.seat ?? 0) + 1) % this.#names.length : request.seat;
      const next = { ...request, seat };
      sessionStorage.setItem(`ludex:${request.game}`, JSON.stringify(next));
      new LiveMatch(next, name, false, this.onLeave);
    });
    on('#other', () => {
      this.#leave();
      this.onLeave();
    });
    if (request.enrol) on('#withdraw', () => this.#withdraw(request.enrol!.run));
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
    this.#input.clearChoices();
    this.#session.close();
  }

  /** Resets the page to its state before a match. */
  #clear(status: string): void {
    find('#resign').hidden = false;
    find('#resign').textContent = this.request.enrol ? 'Resign' : 'Cancel';
    find('#type').hidden = true;
    find('#board').replaceChildren();
    find('#seats').replaceChildren();
    this.#list.replaceChildren();
    this.#setStatus(status);
  }

  #setStatus(...content: (string | Node)[]): void {
    this.#statusContent = content;
    this.#status.replaceChildren(...(this.#down.size === 0 ? content : ['Connection lost. Reconnecting …']));
  }

  /** Records the state of the socket or network. The session reconnects by itself. */
  #setConnected(part: 'socket' | 'network', connected: boolean): void {
    if (connected) this.#down.delete(part);
    else this.#down.add(part);
    this.#setStatus(...this.#statusContent);
  }

  /** Displays the player to move. */
  #showTurn(): void {
    const seat = this.#start?.seat ?? 0;
    if (this.#turn) return this.#setStatus(this.#own.size > 1 ? `Your turn as ${this.#names[seat]}.` : 'Your turn.');
    const other = this.#names.length === 2 && this.#own.size === 1 ? this.#names[1 - seat] : undefined;
    this.#setStatus(other === undefined ? 'Waiting for the other players.' : `${other} to move.`);
  }

  #fail(text: string): void {
    if (this.#off.signal.aborted) return;
    find('#problem').textContent = text;
    find('#other').hidden = false;
    this.#input.clearChoices();
  }

  // ---- sessions

  #onWelcome(welcome: Welcome): void {
    this.#setConnected('socket', true);
    if (this.request.enrol) return welcome.resumed ? undefined : this.#enrol(this.request.enrol);
    if (welcome.resumed || (welcome.matches ?? []).length > 0) return;
    if ((welcome.joins ?? []).length > 0) return this.#wait();
    if (this.#match !== undefined) return this.#fail('This match is no longer on the server.');
    if (this.reclaim) {
      // The match may have ended during the reload; its `match_end` precedes this reply.
      this.#session.post('ping', {}, () => {
        if (this.#match !== undefined) return;
        this.#leave();
        this.onLeave();
      });
      return;
    }
    const { game, against, queue, seat, clock } = this.request;
    this.#session.post('join', { game, against, queue, seat, clock, views: [...VIEWS] }, (reply) => {
      if (reply.type === 'error') return this.#fail(reply.message);
      if (!against) this.#wait();
    });
  }

  #wait(): void {
    if (this.#match !== undefined) return;
    if (!this.request.queue?.startsWith('f-')) return this.#setStatus('Waiting for an opponent …');
    if (this.request.fromInvite) return this.#setStatus('Waiting for your friend …');
    const link = inviteLink(this.request);
    const anchor = createElement('a', link, { href: link, id: 'link' });
    const button = createElement('button', 'Copy', { type: 'button' });
    button.addEventListener('click', () => copyText(button, link, anchor));
    this.#setStatus('Send this link to your friend and keep this page open: ', anchor, ' ', button);
  }

  #onEvent(message: EventMessage): void {
    if (message.type === 'progress') return this.#progress(message.done, message.due);
    if (message.type === 'run_end') return this.#onRunEnd(message.run);
    if (!('match' in message)) return;
    const { seen } = this.#session;
    // A turn may be sent again with its old number.
    if (message.type === 'resync' || message.seq > seen.get(seatOf(message))) seen.set(seatOf(message), message.seq);
    // Skips the repeated end of a match that an earlier page of the run has displayed.
    if (this.request.enrol && message.type === 'resync' && message.end && message.match !== this.#match) return;
    if (this.#buffer && message.match !== this.#match) this.#buffer.push(message);
    else this.#apply(message);
  }

  #apply(message: MatchMessage): void {
    const seat = seatOf(message).seat ?? 0;
    if (message.type === 'match_start') this.#addSeat(seat, { start: message, events: [] });
    if (message.type === 'resync') {
      const events = (message.events ?? []).filter((event) => event.type === 'event') as Event[];
      this.#addSeat(seat, { start: message.start, events, turn: message.turn });
      if (message.end) this.#onEnd(message.end);
    }
    const own = this.#own.get(seat);
    if (message.match !== this.#match || !own) return;
    const isShown = seat === (this.#start?.seat ?? 0);
    if (message.type === 'event') {
      own.events.push(message);
      if (isShown) this.#onMatchEvent(message);
    }
    if (message.type === 'turn') {
      if (own.turn?.turn === message.turn && (message.try ?? 0) < (own.turn.try ?? 0)) return;
      own.turn = message;
      if (isShown) this.#onTurn(message);
      else if (!this.#turn) this.#showSeat(own);
    }
    if (message.type === 'match_end') this.#onEnd(message);
  }

  /** Adds or replaces a seat of the person. A seat of another match replaces all seats. */
  #addSeat(seat: number, own: OwnSeat): void {
    if (own.start.match !== this.#match) {
      this.#own.clear();
      this.#match = own.start.match;
      this.#turn = undefined;
      this.#start = undefined;
    }
    this.#own.set(seat, own);
    if (!this.#start || seat === (this.#start.seat ?? 0) || (own.turn && !this.#turn)) return this.#showSeat(own);
    find(`#seats [data-seat="${seat}"] small`).textContent = 'you';
  }

  /** Displays the match from a seat of the person. */
  #showSeat({ start, events, turn }: OwnSeat): void {
    this.#onStart(start);
    for (const event of events) this.#onMatchEvent(event, false);
    if (turn) this.#onTurn(turn);
  }

  // ---- runs

  #enrol(enrol: Enrol): void {
    this.#session.post('enrol', { ...enrol, slots: 1, views: [...VIEWS] }, (reply) => {
      if (reply.type === 'error') return this.#fail(reply.message);
      this.#progress(reply.done, reply.due);
      if (reply.join === undefined) this.#onRunEnd(reply.run);
      else if (this.#match === undefined) this.#setStatus('Waiting for the next match …');
    });
  }

  #progress(done: number, due: number): void {
    find('#progress').textContent = `${done} of ${done + due} ${done + due === 1 ? 'match' : 'matches'} finished`;
  }

  #onRunEnd(run: string): void {
    this.#buffer = undefined;
    find('#again').hidden = true;
    find('#withdraw').hidden = true;
    find('#progress').replaceChildren('Run finished. ', createElement('a', 'See the results', { href: `/runs/${run}` }));
    if (this.#match === undefined) this.#setStatus('Run finished.');
    this.#leave();
  }

  /** Starts the next match of the run. */
  #startNext(): void {
    const buffered = this.#buffer ?? [];
    this.#buffer = undefined;
    for (const id of ['#again', '#watch']) find(id).hidden = true;
    this.#match = undefined;
    this.#start = undefined;
    this.#clear('Waiting for the next match …');
    for (const message of buffered) this.#apply(message);
  }

  #withdraw(run: string): void {
    if (!confirm('Withdraw from the run? It ends permanently, and the current match is forfeited.')) return;
    this.#session.post('withdraw', { run }, (reply) => {
      if (reply.type === 'error') this.#setStatus(reply.message);
    });
  }

  // ---- the match

  #onStart(start: MatchStart): void {
    this.#start = start;
    this.#names = seatNames(start);
    this.#steps = 0;
    this.#over = false;
    this.#turn = undefined;
    this.#list.replaceChildren();
    const roles = seatRoles(start);
    const seats = start.seats.map(({ name, kind }, seat) => {
      const item = createElement('li', undefined, {
        'data-seat': String(seat), 'data-role': roles[seat] || `seat ${seat}`,
      });
      const away = createElement('small', 'away', { class: 'away' });
      away.hidden = true;
      item.append(createElement('bdi', name), ' ', createElement('small', this.#own.has(seat) ? 'you' : kind), ' ', away, ' ', createElement('span', '', { class: 'clock' }));
      return item;
    });
    find('#seats').replaceChildren(...seats);
    const watch = find<HTMLAnchorElement>('#watch');
    watch.href = `/matches/${start.match}`;
    find('#resign').textContent = 'Resign';
    find('#type').hidden = false;
    this.#banks = start.seats.map(() => start.clock.bank_ms ?? 0);
    this.#showTurn();
    this.#runClocks();
    void this.#showFirst();
  }

  #onMatchEvent(event: Event, isNew = true): void {
    if (isStep(event)) this.#steps++;
    this.#list.append(eventItem(event, this.#names, isStep(event) ? this.#steps : undefined));
    this.#list.scrollTop = this.#list.scrollHeight;
    if (event.kind === 'presence') {
      find(`#seats [data-seat="${event.seat}"] .away`).hidden = event.online;
      this.#holdClock(event.online);
    }
    const svg = event.view?.picture?.svg;
    if (svg !== undefined) showPicture(find('#board'), svg);
    if (isNew && event.kind !== 'phase') announce(eventText(event, this.#names));
  }

  /** Displays the public position until the seat's own view arrives. */
  async #showFirst(): Promise<void> {
    const board = find('#board');
    const response = await fetch(`/matches/${this.#match}/picture.svg`).catch(() => undefined);
    const svg = response?.ok ? await response.text() : undefined;
    if (svg !== undefined && !board.querySelector('svg')) showPicture(board, svg);
  }

  #onTurn(turn: Turn): void {
    this.#turn = turn;
    const picture = turn.view?.picture;
    if (picture) showPicture(find('#board'), picture.svg);
    if (turn.bank_ms) this.#banks = [...turn.bank_ms];
    this.#offer(turn);
    this.#showTurn();
    this.#runClocks();
  }

  #offer(turn: Turn): void {
    const gestures = turn.view?.picture?.gestures ?? {};
    const ids = (turn.legal ?? []).flatMap((entry) =>
      typeof entry === 'number' ? [entry] : Array.from({ length: entry[1] - entry[0] + 1 }, (_, k) => entry[0] + k));
    const choices: Choice[] = ids.map((action, k) => ({
      action, name: turn.names?.[k] ?? String(action), cells: gestures[String(action)] ?? [],
    }));
    const names = choices.slice(0, 500).map(({ name }) => createElement('option', undefined, { value: name }));
    find('#names').replaceChildren(...names);
    this.#input.offerChoices(choices, (action) => this.#act({ action }));
    const [only] = choices;
    if (choices.length > 1 || !only || only.cells.length > 0 || turn.schema !== undefined) return;
    // Forced moves, such as a pass, need no click.
    setTimeout(() => {
      if (this.#turn !== turn) return;
      this.#input.clearChoices();
      this.#act({ action: only.action });
    }, FORCED_DELAY_MS);
  }

  #act(move: { action: number } | { text: string }): void {
    const turn = this.#turn!;
    const { match, seat } = turn;
    const act = { match, seat, turn: turn.turn, try: turn.try ?? 0, ...move };
    this.#setStatus('');
    const sending = setTimeout(() => this.#setStatus('Sending your move …'), SENDING_DELAY_MS);
    this.#session.post('act', act, (reply: Accepted | Refused | ErrorMessage) => {
      clearTimeout(sending);
      // The turn may have been sent again meanwhile.
      const isOpen = this.#turn?.match === match && this.#turn.seat === seat && this.#turn.turn === turn.turn;
      if (reply.type === 'accepted') {
        if (isOpen) {
          this.#banks[seat] = reply.bank_ms ?? this.#banks[seat] ?? 0;
          if (this.#closeTurn(turn)) return;
          this.#runClocks();
        }
        // `match_end` may precede this reply.
        if (!this.#over) this.#showTurn();
      } else if (reply.type === 'refused') {
        this.#setStatus(reply.message);
        announce(reply.message);
        if (this.#turn !== turn) return;
        if (reply.tries_left === 0) return void this.#closeTurn(turn);
        this.#turn = { ...turn, try: reply.try };
        this.#own.get(seat)!.turn = this.#turn;
        this.#offer(this.#turn);
      } else if (reply.retry) {
        setTimeout(() => this.#turn === turn && this.#act(move), reply.after_ms ?? 100);
      } else if (reply.code === 'stale_turn') {
        if (isOpen) this.#closeTurn(turn);
      } else if (reply.code !== 'match_over') {
        this.#setStatus(reply.message);
      }
    }, false);
  }

  /** Ends the turn of the displayed seat. Returns true if another seat of the person is to move and is now displayed. */
  #closeTurn({ seat }: Turn): boolean {
    this.#turn = undefined;
    this.#own.get(seat)!.turn = undefined;
    const next = [...this.#own.values()].find((own) => own.turn);
    if (next) this.#showSeat(next);
    return next !== undefined;
  }

  #resign(): void {
    if (this.#match !== undefined) {
      if (!confirm('Resign this match?')) return;
      this.#session.post('resign', { match: this.#match, seat: this.#start?.seat }, (reply) => {
        if (reply.type === 'error') this.#setStatus(reply.message);
      });
    } else {
      this.#leave();
      this.onLeave();
    }
  }

  /** Stops the displayed clock of an opponent that is away, as the server does. */
  #holdClock(online: boolean): void {
    const now = performance.now();
    this.#awayMs += online && this.#awaySince !== undefined ? now - this.#awaySince : 0;
    this.#awaySince = online ? undefined : now;
  }

  /** Displays the clocks. Only the server's clocks decide. */
  #runClocks(): void {
    clearInterval(this.#clock);
    this.#since = performance.now();
    this.#awayMs = 0;
    this.#awaySince = this.#awaySince && this.#since;
    const { seat: own, clock } = this.#start!;
    const budget = this.#turn?.budget_ms;
    const update = () => {
      const used = performance.now() - this.#since;
      const away = this.#awayMs + (this.#awaySince === undefined ? 0 : performance.now() - this.#awaySince);
      for (const [seat, bank] of this.#banks.entries()) {
        const left = this.#timeLeft(seat, own ?? 0, bank, seat === own ? used : used - away);
        find(`#seats [data-seat="${seat}"] .clock`).textContent = left === undefined ? '' : clockText(left);
      }
    };
    update();
    if (budget != null || clock.bank_ms) this.#clock = setInterval(update, 500);
  }

  /** Returns the time left for a seat in ms, if known. With more than two players, the seat to move is unknown. */
  #timeLeft(seat: number, own: number, bank: number, used: number): number | undefined {
    const free = this.#start?.clock.move_ms ?? 0;
    if (seat === own && this.#turn) return this.#turn.budget_ms == null ? undefined : this.#turn.budget_ms - used;
    if (!this.#start?.clock.bank_ms) return undefined;
    const moves = seat !== own && !this.#turn && this.#names.length === 2;
    return moves ? bank - Math.max(0, used - free) : bank;
  }

  #onEnd(end: MatchEnd): void {
    // Each seat of the person has an end.
    if (this.#over) return;
    clearInterval(this.#clock);
    this.#turn = undefined;
    this.#over = true;
    this.#input.clearChoices();
    const seat = this.#start?.seat ?? 0;
    const result = resultText(end, this.#names, seat);
    const friend = this.request.queue?.startsWith('f-') ? ' For a rematch, both players press Rematch.' : '';
    this.#setStatus(result + friend);
    announce(result);
    find('#type').hidden = true;
    find('#resign').hidden = true;
    for (const id of this.request.enrol ? ['#again', '#watch'] : ['#again', '#other', '#watch']) find(id).hidden = false;
    if (this.request.enrol) this.#buffer = [];
    // Keeps the focus of keyboard users.
    const focused = document.activeElement;
    if (focused === document.body || focused?.closest('#board, #choices')) find('#again').focus({ preventScroll: true });
    sessionStorage.removeItem(`ludex:${this.request.game}`);
  }
}

/** Returns a time as `m:ss`, rounded up. */
function clockText(ms: number): string {
  const left = Math.max(0, Math.ceil(ms / 1_000));
  return `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}`;
}
