// Small helpers. All words of others reach the page as text, never as HTML.

export function find<E extends Element = HTMLElement>(selector: string, within: ParentNode = document): E {
  const found = within.querySelector<E>(selector);
  if (!found) throw new Error(`the page lacks ${selector}`);
  return found;
}

export function make<K extends keyof HTMLElementTagNameMap>(
  name: K, words?: string, attributes: Record<string, string> = {},
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  if (words !== undefined) element.textContent = clean(words);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

const LONG = 2_000;
const TOGETHER_MS = 200;

/** Without what changes the direction of the words around it, and not too long. */
export function clean(words: string): string {
  const plain = words.replace(/[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]/g, '');
  return plain.length > LONG ? `${plain.slice(0, LONG)}…` : plain;
}

let said: string[] = [];

let due: ReturnType<typeof setTimeout> | undefined;

/**
 * Says something in the live region of the page. What comes together is said together, so that nothing is lost; or `instead` of
 * what was to be said.
 */
export function say(words: string, instead = false): void {
  if (instead) said = [];
  said.push(clean(words));
  due ??= setTimeout(() => {
    due = undefined;
    find('#said').textContent = said.join('. ');
    said = [];
  }, TOGETHER_MS);
}

/** Puts text on the clipboard, which the button then says. Where a page may not do that, the text is selected. */
export async function copy(button: HTMLElement, text: string, shown: Element): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
  } catch {
    getSelection()?.selectAllChildren(shown);
  }
}

/** The address of the WebSocket of this server. */
export function address(): string {
  return `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/ws`;
}
