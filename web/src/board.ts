// A picture of a position that can be touched: cells by mouse, finger or keyboard, and buttons for what has no cell.

import { clean, make } from './dom.js';

export interface Choice {
  action: number;
  name: string;
  /** The cells that mean it, in order; empty for a button. */
  cells: string[];
}

/** Shows a picture of the server. It is made by the server alone; words of others are escaped in it. */
export function show(board: HTMLElement, svg: string): void {
  const parsed = new DOMParser().parseFromString(svg, 'image/svg+xml').documentElement;
  if (parsed.localName === 'svg') board.replaceChildren(document.importNode(parsed, true));
}

/** Lets a person choose among actions. */
export class Touch {
  /** More cells than this that may be touched are not framed, and not where nearly all may be touched. */
  static readonly MANY = 40;
  static readonly NEARLY_ALL = 0.8;
  #choices: Choice[] = [];
  #prefix: string[] = [];
  #chosen: (action: number) => void = () => {};
  #pressed?: string;
  /** The cell that had the keyboard when a move was made, or '' for the first one: it gets it with the next question. */
  #kept?: string = '';

  constructor(readonly board: HTMLElement, readonly list: HTMLElement, readonly hint: HTMLElement) {
    board.addEventListener('click', (event) => this.#touch(cellOf(event.target)));
    board.addEventListener('pointerdown', (event) => {
      this.#pressed = event.pointerType === 'mouse' ? cellOf(event.target) : undefined;
    });
    // Dragging with the mouse from one cell to another touches both.
    board.addEventListener('pointerup', (event) => {
      const to = cellOf(document.elementFromPoint(event.clientX, event.clientY));
      const from = this.#pressed;
      this.#pressed = undefined;
      if (from === undefined || to === undefined || from === to) return;
      if (this.#prefix.at(-1) !== from) this.#touch(from);
      this.#touch(to);
    });
    board.addEventListener('keydown', (event) => this.#key(event));
  }

  /** Asks for one of these actions. */
  ask(choices: Choice[], chosen: (action: number) => void): void {
    this.#choices = choices;
    this.#chosen = chosen;
    this.#prefix = [];
    this.#mark();
    this.#buttons(choices.filter(({ cells }) => cells.length === 0));
    if (choices.length > 0 && this.#kept !== undefined) {
      const next = this.#cell(this.#kept) ?? this.#first() ?? this.list.querySelector('button');
      if (document.activeElement === document.body) next?.focus({ preventScroll: true });
      this.#kept = undefined;
    }
  }

  /** Takes no choice until the next question. */
  rest(): void {
    this.ask([], () => {});
  }

  #fitting(prefix: string[]): Choice[] {
    return this.#choices.filter(({ cells }) => cells.length >= prefix.length && prefix.every((c, k) => cells[k] === c));
  }

  #touch(cell: string | undefined): void {
    if (cell === undefined || this.#choices.length === 0) return;
    let prefix = [...this.#prefix, cell];
    let fitting = this.#fitting(prefix);
    // A second touch of the same cell lets go of it; another cell begins anew.
    if (fitting.length === 0) {
      prefix = this.#prefix.at(-1) === cell ? [] : [cell];
      fitting = this.#fitting(prefix);
      if (fitting.length === 0) prefix = [];
    }
    this.#prefix = prefix;
    const whole = prefix.length > 0 ? fitting.filter(({ cells }) => cells.length === prefix.length) : [];
    if (whole.length === 1 && fitting.length === 1) return this.#choose(whole[0]!.action);
    this.#mark();
    this.#buttons(whole.length > 0 ? whole : this.#choices.filter(({ cells }) => cells.length === 0));
    if (whole.length > 0) this.list.querySelector('button')?.focus();
  }

  #choose(action: number): void {
    const chosen = this.#chosen;
    this.#kept = cellOf(document.activeElement) ?? '';
    this.rest();
    chosen(action);
  }

  #buttons(choices: Choice[]): void {
    const buttons = choices.map(({ action, name }) => {
      const button = make('button', name, { type: 'button', 'data-action': String(action) });
      button.addEventListener('click', () => this.#choose(action));
      return button;
    });
    this.list.replaceChildren(...buttons);
    // From then on the place of the buttons stays, so that nothing else comes under the finger.
    if (buttons.length > 0) this.list.classList.add('used');
  }

  /** Marks the cells that may be touched next, and makes them reachable by keyboard. */
  #mark(): void {
    const next = new Map<string, string[]>();
    for (const { name, cells } of this.#fitting(this.#prefix)) {
      const cell = cells[this.#prefix.length];
      if (cell !== undefined) next.set(cell, [...(next.get(cell) ?? []), name]);
    }
    const focused = cellOf(document.activeElement);
    let first = true;
    for (const cell of this.board.querySelectorAll<SVGElement>('[data-cell]')) {
      const name = cell.dataset.cell!;
      const names = next.get(name);
      const held = this.#prefix.includes(name);
      cell.classList.toggle('legal', names !== undefined);
      cell.classList.toggle('held', held);
      if (names || held) {
        const words = names && names.length === 1 ? `${name}: ${names[0]}` : name;
        cell.setAttribute('role', 'button');
        cell.setAttribute('tabindex', first ? '0' : '-1');
        cell.setAttribute('aria-label', clean(words));
        if (held) cell.setAttribute('aria-pressed', 'true');
        first = false;
      } else {
        for (const key of ['role', 'tabindex', 'aria-label', 'aria-pressed']) cell.removeAttribute(key);
      }
    }
    const all = this.board.querySelectorAll('[data-cell]').length;
    const many = next.size > Touch.MANY || this.#prefix.length === 0 && next.size >= all * Touch.NEARLY_ALL;
    this.board.classList.toggle('many', many);
    this.hint.textContent = this.#words(next.size, many);
    const svg = this.board.querySelector('svg');
    // What has buttons in it is not one image.
    if (svg) svg.setAttribute('role', next.size > 0 ? 'group' : 'img');
    if (focused !== undefined) this.#cell(focused)?.focus();
  }

  /** What a person may do now. */
  #words(cells: number, many: boolean): string {
    const buttons = this.#choices.some(({ cells }) => cells.length === 0);
    if (this.#prefix.length > 0) return 'Touch the next place, or the same one again to let it go.';
    if (cells === 0) return buttons ? 'Choose a move.' : '';
    const place = many ? 'Touch a place on the board' : 'Touch a place with a dashed frame';
    return buttons ? `${place}, or choose a move below.` : `${place}.`;
  }

  #cell(name: string): SVGElement | undefined {
    const cells = this.board.querySelectorAll<SVGElement>('[data-cell][tabindex]');
    return [...cells].find((cell) => cell.dataset.cell === name);
  }

  #key(event: KeyboardEvent): void {
    const at = (event.target as Element).closest<SVGElement>('[data-cell]');
    if (!at) return;
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      this.#touch(at.dataset.cell);
    } else if (event.key === 'Escape') {
      this.#prefix = [];
      this.#mark();
    } else if (event.key.startsWith('Arrow')) {
      event.preventDefault();
      this.#step(at, event.key);
    }
  }

  /** Moves the focus to the nearest cell in a direction. */
  #step(at: SVGElement, key: string): void {
    const middle = (cell: SVGElement) => {
      const { left, top, width, height } = cell.getBoundingClientRect();
      return [left + width / 2, top + height / 2] as const;
    };
    const [x, y] = middle(at);
    const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key] ?? [0, 0];
    let best: SVGElement | undefined;
    let least = Infinity;
    for (const cell of this.board.querySelectorAll<SVGElement>('[data-cell][tabindex]')) {
      const [cx, cy] = middle(cell);
      const along = (cx - x) * dx! + (cy - y) * dy!;
      const aside = Math.abs((cx - x) * dy!) + Math.abs((cy - y) * dx!);
      if (cell !== at && along > 1 && along + 3 * aside < least) {
        least = along + 3 * aside;
        best = cell;
      }
    }
    if (!best) return;
    at.setAttribute('tabindex', '-1');
    best.setAttribute('tabindex', '0');
    best.focus();
  }

  #first(): SVGElement | null {
    return this.board.querySelector<SVGElement>('[data-cell][tabindex="0"]');
  }
}

function cellOf(target: EventTarget | null): string | undefined {
  return (target as Element | null)?.closest?.<SVGElement>('[data-cell]')?.dataset.cell;
}
