// The front page: search, and lines to copy.

import { find } from './dom.js';

export function home(): void {
  const search = find<HTMLInputElement>('#search');
  const cards = [...document.querySelectorAll<HTMLElement>('.card')];
  const show = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    for (const card of cards) {
      const text = card.dataset.words?.toLowerCase() ?? '';
      card.hidden = !words.every((word) => text.includes(word));
      if (!card.hidden) found++;
    }
    find('#found').textContent = words.length > 0 ? `${found} games` : '';
  };
  search.addEventListener('input', show);
  show();
  for (const button of document.querySelectorAll<HTMLButtonElement>('[data-copy]')) {
    button.addEventListener('click', async () => {
      const text = find('pre', button.parentElement!).textContent ?? '';
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = 'Copied';
      } catch {
        getSelection()?.selectAllChildren(find('pre', button.parentElement!));
      }
    });
  }
}
