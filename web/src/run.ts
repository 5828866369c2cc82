// Reloads the page of a run in progress while it is visible.

const RELOAD_MS = 15_000;

export function run(): void {
  if (!document.querySelector('progress')) return;
  setInterval(() => {
    if (document.visibilityState === 'visible') location.reload();
  }, RELOAD_MS);
}
