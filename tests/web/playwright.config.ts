import { defineConfig } from '@playwright/test';

export default defineConfig({
  testDir: '.',
  // Screenshots for the documentation are made with `npm run pictures` alone.
  testIgnore: process.env.PICTURES ? [] : ['pictures.spec.ts'],
  workers: 1,
  // Generous, because other tests may run beside these; nothing here waits for a fixed time.
  timeout: 240_000,
  expect: { timeout: 60_000 },
  reporter: 'line',
  use: {
    contextOptions: { reducedMotion: 'reduce' },
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: ['--no-sandbox'],
    },
  },
});
