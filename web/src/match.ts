// A match: live, or step by step afterwards.

import type { EventMessage, MatchEvent as Event, MatchStart } from '../../clients/typescript/src/messages.js';
import { Session } from '../../clients/typescript/src/session.js';
import { show } from './board.js';
import { digest } from './digest.js';
import { address, find, make, say } from './dom.js';
import { isStep, line, namesOf, verdict, words } from './story.js';

export function match(): void {
  new Page().begin();
}

/** What a line of the list says, without its number and its time. */
const told = (item: Element): string =>
  [...item.querySelectorAll(':scope > .who, :scope > bdi')].map((part) => part.textContent?.trim() ?? '').join(' ');

class Page {
  readonly #data = find('#match').dataset;
  readonly #board = find('#board');
  readonly #list = find<HTMLOListElement>('#moves');
  readonly #slide = find<HTMLInputElement>('#slide');
  readonly #pictures = new Map<number, Promise<string | undefined>>();
  #last = Number(this.#data.last);
  #at = Number(this.#data.at);
  #auto?: ReturnType<typeof setTimeout>;
  #names: string[] = [];

  begin(): void {
    for (const button of document.querySelectorAll<HTMLElement>('[data-step]')) {
      button.addEventListener('click', (event) => {
        event.preventDefault();
        this.#press(button.dataset.step!);
      });
    }
    for (const hidden of document.querySelectorAll<HTMLElement>('.steps [hidden]')) hidden.hidden = false;
    this.#slide.hidden = false;
    this.#slide.addEventListener('input', () => {
      this.#stop();
      this.#go(Number(this.#slide.value));
    });
    const eyes = document.querySelector<HTMLSelectElement>('#eyes');
    eyes?.addEventListener('change', () => eyes.form!.requestSubmit());
    this.#list.addEventListener('click', (event) => {
      const at = (event.target as Element).closest<HTMLElement>('[data-at]')?.dataset.at;
      if (at === undefined || (event.target as Element).closest('details')) return;
      event.preventDefault();
      this.#go(Number(at));
    });
    document.addEventListener('keydown', (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey || (event.target as Element).closest('input, select')) return;
      const step = { ArrowLeft: 'back', ArrowRight: 'on', Home: 'first', End: 'last' }[event.key];
      if (!step) return;
      event.preventDefault();
      this.#press(step);
    });
    addEventListener('hashchange', () => this.#hash());
    this.#mark();
    this.#hash();
    if (this.#data.live === '1') this.#watch();
    void this.#check();
  }

  #hash(): void {
    const at = /^#(\d+)$/.exec(location.hash)?.[1];
    if (at !== undefined && Number(at) !== this.#at) this.#go(Number(at));
  }

  #press(step: string): void {
    const to = { first: 0, back: this.#at - 1, on: this.#at + 1, last: this.#last }[step];
    if (to !== undefined) {
      this.#stop();
      this.#go(to);
    } else if (this.#auto) {
      this.#stop();
    } else {
      if (this.#at === this.#last) this.#go(0);
      find('[data-step=auto]').setAttribute('aria-pressed', 'true');
      this.#tick();
    }
  }

  #stop(): void {
    clearTimeout(this.#auto);
    this.#auto = undefined;
    find('[data-step=auto]').setAttribute('aria-pressed', 'false');
  }

  #tick(): void {
    this.#auto = setTimeout(() => {
      this.#go(this.#at + 1);
      if (this.#at < this.#last) this.#tick();
      else this.#stop();
    }, Number(find<HTMLSelectElement>('#speed').value));
  }

  /** Shows a step. */
  #go(at: number): void {
    const to = Math.max(0, Math.min(at, this.#last));
    this.#at = to;
    this.#mark();
    history.replaceState(null, '', `#${to}`);
    const item = this.#list.querySelector(`[data-at="${to}"]`);
    say(item ? `step ${to}: ${told(item)}` : 'the first position', true);
    void this.#draw(to);
  }

  #mark(): void {
    this.#count();
    this.#list.querySelector('[aria-current]')?.removeAttribute('aria-current');
    const item = this.#list.querySelector<HTMLElement>(`[data-at="${this.#at}"]`);
    item?.setAttribute('aria-current', 'step');
    if (this.#at === 0) this.#list.scrollTop = 0;
    if (item) this.#list.scrollTop = item.offsetTop - this.#list.offsetTop - this.#list.clientHeight / 2;
  }

  /** Shows the number of the step, and of the last one. */
  #count(): void {
    find('#at').textContent = `${this.#at} / ${this.#last}`;
    this.#slide.max = String(this.#last);
    this.#slide.value = String(this.#at);
  }

  async #draw(at: number): Promise<void> {
    const svg = await this.#picture(at);
    if (svg !== undefined && this.#at === at) show(this.#board, svg);
    if (at < this.#last) void this.#picture(at + 1);
  }

  #picture(at: number): Promise<string | undefined> {
    let picture = this.#pictures.get(at);
    if (!picture) {
      const seat = this.#data.seat === undefined ? '' : `&seat=${this.#data.seat}`;
      const load = async () => {
        const answer = await fetch(`/matches/${this.#data.match}/picture.svg?at=${at}${seat}`);
        return answer.ok ? answer.text() : undefined;
      };
      picture = load().catch(() => undefined);
      this.#pictures.set(at, picture);
    }
    return picture;
  }

  // ---- live

  #watch(): void {
    const session: Session = new Session(address(), { patience_ms: 24 * 3_600_000 }, {
      lost: () => { find('#status').textContent = 'The connection is lost. Trying again …'; },
      welcomed: () => session.post('spectate', { match: this.#data.match!, views: ['picture'] }, (reply) => {
        // The match ended before it could be watched: the page has its end now.
        if (reply.type === 'error') setTimeout(() => location.reload(), 5_000);
        else find('#status').replaceChildren(make('span', 'live', { class: 'live' }));
      }),
      event: (message) => this.#heard(message),
      failed: (error) => { find('#status').textContent = error.message; },
    });
    session.open().catch(() => {});
  }

  #heard(message: EventMessage): void {
    if (!('match' in message) || message.match !== this.#data.match) return;
    if (message.type === 'match_start') this.#start(message);
    if (message.type === 'event') this.#event(message);
    if (message.type === 'resync') {
      this.#start(message.start);
      for (const event of message.events ?? []) if (event.type === 'event') this.#event(event as Event);
      this.#follow(true);
    }
    const end = message.type === 'resync' ? message.end : message;
    if (end?.type === 'match_end') {
      const told = verdict(end, this.#names);
      find('#status').textContent = told;
      say(told);
      // The record, its digest and the views of seats come with the page.
      setTimeout(() => location.reload(), 1_500);
    }
  }

  #start(start: MatchStart): void {
    this.#names = namesOf(start);
    this.#list.replaceChildren();
    this.#last = 0;
  }

  #event(event: Event): void {
    const follows = this.#at === this.#last;
    const step = isStep(event);
    if (step) this.#last++;
    if (event.kind !== 'presence') this.#list.append(line(event, this.#names, step ? this.#last : undefined));
    const svg = event.view?.picture?.svg;
    if (svg !== undefined) this.#pictures.set(this.#last, Promise.resolve(svg));
    if (!follows) return this.#count();
    this.#at = this.#last;
    if (step) say(words(event, this.#names));
    if (svg === undefined) return;
    this.#mark();
    show(this.#board, svg);
  }

  #follow(redraw: boolean): void {
    this.#mark();
    if (redraw) void this.#draw(this.#at);
  }

  // ---- the record

  async #check(): Promise<void> {
    const line = document.querySelector<HTMLElement>('#verified');
    if (!line) return;
    if (!globalThis.crypto?.subtle) {
      line.textContent = 'not checked: the browser checks over HTTPS or on this machine only';
      return;
    }
    try {
      const record = await (await fetch(`/episodes/${this.#data.match}`)).json();
      const right = (await digest(record)) === line.dataset.digest;
      line.replaceChildren(make('b', right ? 'verified in this browser' : 'the record does not have this digest'));
      line.className = right ? 'win' : 'loss';
    } catch {
      line.textContent = 'could not be checked';
    }
  }
}
