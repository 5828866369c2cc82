// Entry point of all pages. `data-page` on the body selects the page's script; pages degrade gracefully without it.

import { enableCopyButtons } from './dom.js';
import { home } from './home.js';
import { login, loginByLink } from './login.js';
import { match } from './match.js';
import { play } from './play.js';
import { runPlay } from './run-play.js';
import { run } from './run.js';

const pages: Record<string, () => void> = {
  home, login, match, play, registered: enableCopyButtons, run, 'run-play': runPlay,
};
if (!(await loginByLink())) pages[document.body.dataset.page ?? '']?.();
