// DOM helpers. User text reaches the page as text nodes, never as HTML.

/**
 * Returns the first element that matches `selector`.
 * @throws Error if there is none.
 */
export function find<E extends Element = HTMLElement>(selector: string, within: ParentNode = document): E {
  const found = within.querySelector<E>(selector);
  if (!found) throw new Error(`expected an element ${selector}, found none`);
  return found;
}

/** Creates an element with sanitized text and attributes. */
export function createElement<K extends keyof HTMLElementTagNameMap>(
  name: K, text?: string, attributes: Record<string, string> = {},
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = sanitizeText(text);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

const MAX_TEXT_CHARS = 2_000;
/** Time in ms within which announcements are joined. */
const ANNOUNCE_DELAY_MS = 200;

/** Removes bidirectional control characters and truncates long text. */
export function sanitizeText(text: string): string {
  const plain = text.replace(/[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]/g, '');
  return plain.length > MAX_TEXT_CHARS ? `${plain.slice(0, MAX_TEXT_CHARS)}…` : plain;
}

let pending: string[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;

/**
 * Announces `text` in the ARIA live region of the page. Texts in quick succession are joined; with `replace`, pending ones are
 * dropped.
 */
export function announce(text: string, replace = false): void {
  if (replace) pending = [];
  pending.push(sanitizeText(text));
  timer ??= setTimeout(() => {
    timer = undefined;
    find('#live-region').textContent = pending.join('. ');
    pending = [];
  }, ANNOUNCE_DELAY_MS);
}

/** Copies `text` to the clipboard and confirms on the button. Without clipboard access, selects `source` instead. */
export async function copyText(button: HTMLElement, text: string, source: Element): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
  } catch {
    getSelection()?.selectAllChildren(source);
  }
}

/** Makes each button `[data-copy]` copy the text next to it. */
export function enableCopyButtons(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>('[data-copy]')) {
    const lines = find('pre', button.parentElement!);
    button.addEventListener('click', () => copyText(button, lines.textContent ?? '', lines));
  }
}

/** Returns the WebSocket URL of this server. */
export function socketUrl(): string {
  return `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/ws`;
}
