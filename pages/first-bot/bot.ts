// In Ludex's repository: npm install ./clients/typescript
import { play } from 'ludex';

const results = await play('{url}', {
  token: '{token}',
  name: '{owner}',
  game: 'tic_tac_toe',
  against: 'random',
  games: 10,
  agent: (turn) => turn.legal[0]!,
});
console.log(results.map((result) => result.outcome));
