// The script of all pages. Each page names its kind, and does without the script what it can.

import { enrolled } from './enrolled.js';
import { home } from './home.js';
import { login } from './login.js';
import { match } from './match.js';
import { play } from './play.js';
import { run } from './run.js';

const pages: Record<string, () => void> = { enrolled, home, login, match, play, run };
pages[document.body.dataset.page ?? '']?.();
