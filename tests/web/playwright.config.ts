import { defineConfig } from '@playwright/test';

export default defineConfig({
  testDir: '.',
  // Only `npm run pictures` takes the screenshots of the documentation.
  testIgnore: process.env.PICTURES ? [] : ['pictures.spec.ts'],
  workers: 1,
  // Generous, since other tests may run in parallel.
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
