// Move input on the picture of a position: cells by mouse, touch or keyboard, and buttons for moves without a cell.

import { createElement, sanitizeText } from './dom.js';

export interface Choice {
  action: number;
  name: string;
  /** The cells to select, in order; empty for a button. */
  cells: string[];
}

/** Displays a picture that the server drew. The server escapes all user text in it. */
export function showPicture(board: HTMLElement, svg: string): void {
  const parsed = new DOMParser().parseFromString(svg, 'image/svg+xml').documentElement;
  if (parsed.localName === 'svg') board.replaceChildren(document.importNode(parsed, true));
}

/** Input of one action, by selecting cells or pressing a button. */
export class MoveInput {
  /** Maximum number of selectable cells for which frames are drawn. */
  static readonly MAX_FRAMED = 40;
  /** Share of selectable cells (0 to 1) from which no frames are drawn. */
  static readonly NEARLY_ALL = 0.8;
  #choices: Choice[] = [];
  #prefix: string[] = [];
  #chosen: (action: number) => void = () => {};
  #pressed?: string;
  /** Cell that had the focus at the last move; the next offer restores the focus. '' means the first cell. */
  #lastFocus?: string = '';

  constructor(readonly board: HTMLElement, readonly list: HTMLElement, readonly hint: HTMLElement) {
    board.addEventListener('click', (event) => this.#select(cellOf(event.target)));
    board.addEventListener('pointerdown', (event) => {
      this.#pressed = event.pointerType === 'mouse' ? cellOf(event.target) : undefined;
    });
    // Dragging with the mouse selects both cells.
    board.addEventListener('pointerup', (event) => {
      const to = cellOf(document.elementFromPoint(event.clientX, event.clientY));
      const from = this.#pressed;
      this.#pressed = undefined;
      if (from === undefined || to === undefined || from === to) return;
      if (this.#prefix.at(-1) !== from) this.#select(from);
      this.#select(to);
    });
    board.addEventListener('keydown', (event) => this.#key(event));
  }

  /** Offers these actions and passes the selected action to `chosen`. */
  offerChoices(choices: Choice[], chosen: (action: number) => void): void {
    this.#choices = choices;
    this.#chosen = chosen;
    this.#prefix = [];
    this.#mark();
    this.#buttons(choices.filter(({ cells }) => cells.length === 0));
    if (choices.length > 0 && this.#lastFocus !== undefined) {
      const next = this.#cell(this.#lastFocus) ?? this.#first() ?? this.list.querySelector('button');
      if (document.activeElement === document.body) next?.focus({ preventScroll: true });
      this.#lastFocus = undefined;
    }
  }

  /** Disables all input until the next offer. */
  clearChoices(): void {
    this.offerChoices([], () => {});
  }

  #matching(prefix: string[]): Choice[] {
    return this.#choices.filter(({ cells }) => cells.length >= prefix.length && prefix.every((c, k) => cells[k] === c));
  }

  #select(cell: string | undefined): void {
    if (cell === undefined || this.#choices.length === 0) return;
    let prefix = [...this.#prefix, cell];
    let matching = this.#matching(prefix);
    // Selecting the same cell again deselects it; another cell starts over.
    if (matching.length === 0) {
      prefix = this.#prefix.at(-1) === cell ? [] : [cell];
      matching = this.#matching(prefix);
      if (matching.length === 0) prefix = [];
    }
    this.#prefix = prefix;
    const complete = prefix.length > 0 ? matching.filter(({ cells }) => cells.length === prefix.length) : [];
    if (complete.length === 1 && matching.length === 1) return this.#choose(complete[0]!.action);
    this.#mark();
    this.#buttons(complete.length > 0 ? complete : this.#choices.filter(({ cells }) => cells.length === 0));
    if (complete.length > 0) this.list.querySelector('button')?.focus();
  }

  #choose(action: number): void {
    const chosen = this.#chosen;
    this.#lastFocus = cellOf(document.activeElement) ?? '';
    this.clearChoices();
    chosen(action);
  }

  #buttons(choices: Choice[]): void {
    const buttons = choices.map(({ action, name }) => {
      const button = createElement('button', name, { type: 'button', 'data-action': String(action) });
      button.addEventListener('click', () => this.#choose(action));
      return button;
    });
    this.list.replaceChildren(...buttons);
    // The space of the buttons stays reserved, so that the layout does not shift under the finger.
    if (buttons.length > 0) this.list.classList.add('used');
  }

  /** Marks the cells that can be selected next, and makes them focusable. */
  #mark(): void {
    const next = new Map<string, string[]>();
    for (const { name, cells } of this.#matching(this.#prefix)) {
      const cell = cells[this.#prefix.length];
      if (cell !== undefined) next.set(cell, [...(next.get(cell) ?? []), name]);
    }
    const focused = cellOf(document.activeElement);
    let first = true;
    for (const cell of this.board.querySelectorAll<SVGElement>('[data-cell]')) {
      const name = cell.dataset.cell!;
      const names = next.get(name);
      const selected = this.#prefix.includes(name);
      cell.classList.toggle('legal', names !== undefined);
      cell.classList.toggle('held', selected);
      if (names || selected) {
        const label = names && names.length === 1 ? `${name}: ${names[0]}` : name;
        cell.setAttribute('role', 'button');
        cell.setAttribute('tabindex', first ? '0' : '-1');
        cell.setAttribute('aria-label', sanitizeText(label));
        if (selected) cell.setAttribute('aria-pressed', 'true');
        first = false;
      } else {
        for (const key of ['role', 'tabindex', 'aria-label', 'aria-pressed']) cell.removeAttribute(key);
      }
    }
    const all = this.board.querySelectorAll('[data-cell]').length;
    const many = next.size > MoveInput.MAX_FRAMED || this.#prefix.length === 0 && next.size >= all * MoveInput.NEARLY_ALL;
    this.board.classList.toggle('many', many);
    this.hint.textContent = this.#hintText(next.size, many);
    const svg = this.board.querySelector('svg');
    // An element with buttons inside must not have the role of an image.
    if (svg) svg.setAttribute('role', next.size > 0 ? 'group' : 'img');
    if (focused !== undefined) this.#cell(focused)?.focus();
  }

  /** Returns the instruction below the board. */
  #hintText(cells: number, many: boolean): string {
    const buttons = this.#choices.some(({ cells }) => cells.length === 0);
    if (this.#prefix.length > 0) return 'Select a target, or tap again to deselect.';
    if (cells === 0) return buttons ? 'Choose a move.' : '';
    const prompt = many ? 'Select a cell on the board' : 'Select a cell with a dashed frame';
    return buttons ? `${prompt}, or choose a move below.` : `${prompt}.`;
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
      this.#select(at.dataset.cell);
    } else if (event.key === 'Escape') {
      this.#prefix = [];
      this.#mark();
    } else if (event.key.startsWith('Arrow')) {
      event.preventDefault();
      this.#step(at, event.key);
    }
  }

  /** Moves the focus to the nearest cell in the direction of an arrow key. */
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
