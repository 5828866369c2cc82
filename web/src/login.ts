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

/**
 * Logs in by the link of an invitation. Its token is in the fragment, which browsers do not send, and is removed from the
 * address bar. Returns true if the page is loading again.
 */
export async function loginByLink(): Promise<boolean> {
  const token = /^#(lx_[\w-]+)$/.exec(location.hash)?.[1];
  if (!token || !location.pathname.startsWith('/runs/')) return false;
  history.replaceState(null, '', location.pathname + location.search);
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch('/login?link=true', { method: 'POST', headers }).catch(() => undefined);
  if (response?.ok) {
    location.reload();
    return true;
  }
  const refusal = (await response?.json().catch(() => undefined)) as { message?: string } | undefined;
  const problem = document.querySelector('#problem');
  if (problem) problem.textContent = refusal?.message ?? 'The server is unreachable. Open the link again.';
  return false;
}
