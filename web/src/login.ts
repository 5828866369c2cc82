// Sends the token once, in a header that no page of others can send here. The answer sets a cookie.

import { find } from './dom.js';

export function login(): void {
  const form = find<HTMLFormElement>('#login');
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const token = find<HTMLInputElement>('[name=token]', form).value.trim();
    const problem = find('#problem');
    problem.textContent = '';
    try {
      const answer = await fetch('/login', { method: 'POST', headers: { authorization: `Bearer ${token}` } });
      if (answer.ok) {
        location.assign(form.dataset.next || '/');
      } else {
        problem.textContent = ((await answer.json()) as { message?: string }).message ?? 'the token was refused';
      }
    } catch {
      problem.textContent = 'The token could not be sent: the server does not answer, or the token is not a word.';
    }
  });
}
