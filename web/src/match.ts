// The page of a match: live, or as a replay.

import type { EventMessage, MatchEvent as Event, MatchStart } from '../../clients/typescript/src/messages.js';
import { Session } from '../../clients/typescript/src/session.js';
import { showPicture } from './board.js';
import { announce, createElement, find, socketUrl } from './dom.js';
import { eventItem, eventText, isStep, resultText, seatNames } from './event-list.js';
import { recordDigest } from './record-digest.js';

export function match(): void {
  new MatchPage().start();
}

/** Returns the text of a list item without its number and its time. */
const stepText = (item: Element): string =>
  [...item.querySelectorAll(':scope > .who, :scope > bdi')].map((part) => part.textContent?.trim() ?? '').join(' ');

class MatchPage {
  readonly #data = find('#match').dataset;
  readonly #board = find('#board');
  readonly #list = find<HTMLOListElement>('#moves');
  readonly #slide = find<HTMLInputElement>('#slide');
  readonly #pictures = new Map<number, Promise<string | undefined>>();
  #last = Number(this.#data.last);
  #at = Number(this.#data.at);
  #auto?: ReturnType<typeof setTimeout>;
  #names: string[] = [];

  start(): void {
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
    const viewer = document.querySelector<HTMLSelectElement>('#viewer');
    viewer?.addEventListener('change', () => viewer.form!.requestSubmit());
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

  /** Goes to a step, clamped to the steps that exist. */
  #go(at: number): void {
    const to = Math.max(0, Math.min(at, this.#last));
    this.#at = to;
    this.#mark();
    history.replaceState(null, '', `#${to}`);
    const item = this.#list.querySelector(`[data-at="${to}"]`);
    announce(item ? `step ${to}: ${stepText(item)}` : 'first position', true);
    void this.#draw(to);
  }

  #mark(): void {
    this.#showCount();
    this.#list.querySelector('[aria-current]')?.removeAttribute('aria-current');
    const item = this.#list.querySelector<HTMLElement>(`[data-at="${this.#at}"]`);
    item?.setAttribute('aria-current', 'step');
    if (this.#at === 0) this.#list.scrollTop = 0;
    if (item) this.#list.scrollTop = item.offsetTop - this.#list.offsetTop - this.#list.clientHeight / 2;
  }

  /** Displays the numbers of the current and the last step. */
  #showCount(): void {
    find('#at').textContent = `${this.#at} / ${this.#last}`;
    this.#slide.max = String(this.#last);
    this.#slide.value = String(this.#at);
  }

  async #draw(at: number): Promise<void> {
    const svg = await this.#picture(at);
    if (svg !== undefined && this.#at === at) showPicture(this.#board, svg);
    if (at < this.#last) void this.#picture(at + 1);
  }

  #picture(at: number): Promise<string | undefined> {
    let picture = this.#pictures.get(at);
    if (!picture) {
      const seat = this.#data.seat === undefined ? '' : `&seat=${this.#data.seat}`;
      const load = async () => {
        const response = await fetch(`/matches/${this.#data.match}/picture.svg?at=${at}${seat}`);
        return response.ok ? response.text() : undefined;
      };
      picture = load().catch(() => undefined);
      this.#pictures.set(at, picture);
    }
    return picture;
  }

  // ---- live

  #watch(): void {
    const session: Session = new Session(socketUrl(), { patience_ms: 24 * 3_600_000 }, {
      onLost: () => { find('#status').textContent = 'Connection lost. Reconnecting …'; },
      onWelcome: () => session.post('spectate', { match: this.#data.match!, views: ['picture'] }, (reply) => {
        // The match ended before the subscription; a reload displays its result.
        if (reply.type === 'error') setTimeout(() => location.reload(), 5_000);
        else find('#status').replaceChildren(createElement('span', 'Live', { class: 'live' }));
      }),
      onEvent: (message) => this.#receive(message),
      onFailed: (error) => { find('#status').textContent = error.message; },
    });
    session.open().catch(() => {});
  }

  #receive(message: EventMessage): void {
    if (!('match' in message) || message.match !== this.#data.match) return;
    if (message.type === 'match_start') this.#restart(message);
    if (message.type === 'event') this.#event(message);
    if (message.type === 'resync') {
      this.#restart(message.start);
      for (const event of message.events ?? []) if (event.type === 'event') this.#event(event as Event);
      this.#follow(true);
    }
    const end = message.type === 'resync' ? message.end : message;
    if (end?.type === 'match_end') {
      const result = resultText(end, this.#names);
      find('#status').textContent = result;
      announce(result);
      // The reloaded page has the record, its digest and the views of the seats.
      setTimeout(() => location.reload(), 1_500);
    }
  }

  #restart(start: MatchStart): void {
    this.#names = seatNames(start);
    this.#list.replaceChildren();
    this.#last = 0;
  }

  #event(event: Event): void {
    const follows = this.#at === this.#last;
    const step = isStep(event);
    if (step) this.#last++;
    if (event.kind !== 'presence') this.#list.append(eventItem(event, this.#names, step ? this.#last : undefined));
    const svg = event.view?.picture?.svg;
    if (svg !== undefined) this.#pictures.set(this.#last, Promise.resolve(svg));
    if (!follows) return this.#showCount();
    this.#at = this.#last;
    if (step) announce(eventText(event, this.#names));
    if (svg === undefined) return;
    this.#mark();
    showPicture(this.#board, svg);
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
      line.textContent = 'Not verified: the browser requires HTTPS or localhost.';
      return;
    }
    try {
      const record = await (await fetch(`/episodes/${this.#data.match}`)).json();
      const matches = (await recordDigest(record)) === line.dataset.digest;
      line.replaceChildren(createElement('b', matches ? 'Verified in this browser' : 'Digest mismatch'));
      line.className = matches ? 'win' : 'loss';
    } catch {
      line.textContent = 'Verification failed';
    }
  }
}
