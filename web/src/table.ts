// One match of a person. What is asked and said is the protocol's; a lost network is resumed by the client's session.

import type {
  Enrol, ErrorMessage, EventMessage, MatchEnd, MatchEvent as Event, MatchStart, Refused, TurnMessage as Turn, Welcome,
} from '../../clients/typescript/src/messages.js';
import { Session } from '../../clients/typescript/src/session.js';
import { type Choice, show, Touch } from './board.js';
import { address, find, make, say } from './dom.js';
import { isStep, line, namesOf, verdict, words } from './story.js';
import { invitation, type Wish } from './wish.js';

type MatchMessage = Extract<EventMessage, { match: string }>;

const VIEWS = ['picture', 'texts'] as const;

export class Table {
  readonly #session: Session;
  readonly #touch = new Touch(find('#board'), find('#choices'), find('#hint'));
  readonly #list = find<HTMLOListElement>('#moves');
  readonly #status = find('#status');
  /** What the game calls its seats, where the page is of one game. */
  readonly #roles = (document.querySelector<HTMLElement>('[data-seats]')?.dataset.seats ?? '').split(' ');
  #match?: string;
  #start?: MatchStart;
  #names: string[] = [];
  #turn?: Turn;
  #steps = 0;
  #clock?: ReturnType<typeof setInterval>;
  readonly #off = new AbortController();
  /** What was heard of the next match of a run, while the end of the last one is shown. */
  #next?: MatchMessage[];

  constructor(readonly wish: Wish, name: string, readonly again: boolean, readonly left: () => void) {
    find('#table').hidden = false;
    find('#problem').textContent = '';
    for (const id of ['#again', '#other', '#watch']) find(id).hidden = true;
    find('#resign').hidden = false;
    find('#board').replaceChildren();
    this.#list.replaceChildren();
    find('#seats').replaceChildren();
    this.#tell('Connecting …');
    const agent = { name, kind: 'human' as const };
    // The seats of an earlier page of this tab come back by the name.
    this.#session = new Session(address(), { patience_ms: 24 * 3_600_000 }, {
      agent,
      reclaim: again,
      welcomed: (welcome) => this.#welcomed(welcome),
      event: (message) => this.#heard(message),
      failed: (error) => this.#problem(error.message),
    });
    this.#session.open().catch(() => {});
    const on = (id: string, what: () => void) => find(id).addEventListener('click', what, { signal: this.#off.signal });
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

  #tell(words: string): void {
    this.#status.textContent = words;
  }

  #problem(words: string): void {
    if (this.#off.signal.aborted) return;
    find('#problem').textContent = words;
    find('#other').hidden = false;
    this.#touch.rest();
  }

  // ---- sessions

  #welcomed(welcome: Welcome): void {
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
    this.#tell('Waiting for somebody else …');
    if (!this.wish.queue?.startsWith('f-')) return;
    const link = invitation(this.wish);
    this.#status.replaceChildren('Send this link to your friend, and wait here: ', make('a', link, { href: link, id: 'link' }));
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
    if (message.type === 'match_end') this.#over(message);
    if (message.type === 'resync') {
      this.#begin(message.start);
      for (const event of message.events ?? []) if (event.type === 'event') this.#event(event as Event);
      if (message.end) this.#over(message.end);
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
    find('#resign').hidden = false;
    find('#board').replaceChildren();
    find('#seats').replaceChildren();
    this.#list.replaceChildren();
    this.#match = undefined;
    this.#tell('Waiting for the next match …');
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
    this.#list.replaceChildren();
    const seats = start.seats.map(({ name, kind }, seat) => {
      const item = make('li', undefined, {
        'data-seat': String(seat), 'data-role': this.#roles[seat] || `seat ${seat}`,
      });
      item.append(make('bdi', name), ' ', make('small', seat === start.seat ? 'you' : kind), ' ', make('span', '', { class: 'clock' }));
      return item;
    });
    find('#seats').replaceChildren(...seats);
    const watch = find<HTMLAnchorElement>('#watch');
    watch.href = `/matches/${start.match}`;
    this.#tell('The match begins.');
    void this.#first();
  }

  #event(event: Event): void {
    if (isStep(event)) this.#steps++;
    this.#list.append(line(event, this.#names, isStep(event) ? this.#steps : undefined));
    this.#list.scrollTop = this.#list.scrollHeight;
    if (event.kind === 'presence') return this.#tell(words(event, this.#names));
    const svg = event.view?.picture?.svg;
    if (svg !== undefined) show(find('#board'), svg);
    say(words(event, this.#names));
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
    this.#offer(turn);
    this.#tell('Your turn.');
    this.#run(turn);
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
  }

  #act(move: { action: number } | { text: string }): void {
    const turn = this.#turn!;
    const given = { match: turn.match, turn: turn.turn, try: turn.try ?? 0, ...move };
    this.#tell('…');
    this.#session.post('act', given, (reply: Refused | ErrorMessage | { type: 'accepted' }) => {
      if (reply.type === 'accepted') {
        if (this.#turn === turn) this.#turn = undefined;
        if (this.#status.textContent === '…') this.#tell('The others are to move.');
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
      this.#session.post('resign', { match: this.#match }, (reply) => {
        if (reply.type === 'error') this.#tell(reply.message);
      });
    } else {
      this.#leave();
      this.left();
    }
  }

  /** Shows the clocks, which the server alone judges. */
  #run(turn: Turn): void {
    clearInterval(this.#clock);
    if (turn.budget_ms == null) return;
    const end = performance.now() + turn.budget_ms;
    const own = find(`#seats [data-seat="${this.#start?.seat ?? 0}"] .clock`);
    const show = () => {
      const left = Math.max(0, Math.ceil((end - performance.now()) / 1_000));
      own.textContent = this.#turn === turn ? `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}` : '';
    };
    show();
    this.#clock = setInterval(show, 500);
  }

  #over(end: MatchEnd): void {
    clearInterval(this.#clock);
    this.#turn = undefined;
    this.#touch.rest();
    const seat = this.#start?.seat ?? 0;
    const told = verdict(end, this.#names, seat);
    this.#tell(told);
    say(told);
    find('#resign').hidden = true;
    for (const id of this.wish.enrol ? ['#again', '#watch'] : ['#again', '#other', '#watch']) find(id).hidden = false;
    if (this.wish.enrol) this.#next = [];
    sessionStorage.removeItem(`ludex:${this.wish.game}`);
  }
}
