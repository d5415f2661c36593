// `npm run dashboard:figures -- [--clients 100000] [--rate 5000] [--seconds 20]`: measures the tasks of the page in the browser.
// `npm run dashboard:figures -- --pages 10 [--rounds 6] [--seconds 20]`: measures what open pages cost the broker.

import { parseArgs } from 'node:util'
import type { Scope } from '../../test/e2e/godwit-process.ts'
import { measureLongTasks } from './long-tasks.ts'
import { measurePagesCost } from './pages-cost.ts'

const { values } = parseArgs({
  options: {
    clients: { type: 'string', default: '100000' },
    rate: { type: 'string', default: '5000' },
    seconds: { type: 'string', default: '20' },
    pages: { type: 'string' },
    rounds: { type: 'string', default: '6' },
  },
})
const seconds = Number(values.seconds)
const ends: (() => unknown)[] = []
const scope: Scope = { after: (end) => void ends.push(end) }
try {
  if (values.pages === undefined) {
    await measureLongTasks(scope, { clients: Number(values.clients), messagesPerSecond: Number(values.rate), seconds })
  } else {
    await measurePagesCost(scope, { pages: Number(values.pages), rounds: Number(values.rounds), seconds })
  }
} finally {
  for (const end of ends.toReversed()) await end()
}
