// A run that is under way: the page is made again now and then, where somebody looks at it.

const AGAIN_MS = 15_000;

export function run(): void {
  if (!document.querySelector('progress')) return;
  setInterval(() => {
    if (document.visibilityState === 'visible') location.reload();
  }, AGAIN_MS);
}
