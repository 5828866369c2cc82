// Sends the token once, in a header that pages of other origins cannot send. The response sets a cookie.

import { find } from './dom.js';

export function login(): void {
  const form = find<HTMLFormElement>('#login');
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const token = find<HTMLInputElement>('[name=token]', form).value.trim();
    const problem = find('#problem');
    problem.textContent = '';
    try {
      const response = await fetch('/login', { method: 'POST', headers: { authorization: `Bearer ${token}` } });
      if (response.ok) {
        location.assign(form.dataset.next || '/');
      } else {
        problem.textContent = ((await response.json()) as { message?: string }).message ?? 'The token was rejected.';
      }
    } catch {
      problem.textContent = 'Cannot send the token. The server is unreachable, or the token has invalid characters.';
    }
  });
}
