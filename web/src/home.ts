// The front page: search, and code snippets to copy.

import { enableCopyButtons, find } from './dom.js';

export function home(): void {
  const search = find<HTMLInputElement>('#search');
  const cards = [...document.querySelectorAll<HTMLElement>('.card')];
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    for (const card of cards) {
      const text = card.dataset.words?.toLowerCase() ?? '';
      card.hidden = !words.every((word) => text.includes(word));
      if (!card.hidden) found++;
    }
    find('#found').textContent = words.length > 0 ? `${found} ${found === 1 ? 'game' : 'games'}` : '';
  };
  search.addEventListener('input', filter);
  filter();
  enableCopyButtons();
}
