// Exchanges of mqtt-sn-pub and mqtt-sn-sub with the gateway, recorded with a relay (`recorded/mqtt-sn-tools.txt`) and replayed:
// Debian and npm do not have the tools.

import { test } from 'node:test'
import { playRecordings } from './recorded-exchanges.ts'

/** Messages of the tools. */
const published = [
  'sensors/1 21.5',
  'sensors/1 22.5',
  'ab short',
  'sensors/temperature predefined',
  'sensors/humidity without-session',
  'cd short-without-session',
  'sensors/kept kept',
  `sensors/big ${'x'.repeat(248)}`,
  'sensors/empty ',
  'sensors/fe forwarded',
  'sensors/s asleep',
]

test('[F3] mqtt-sn-tools f2ecdaa: the gateway sends the recorded responses', async (t) => {
  await playRecordings(t, 'mqtt-sn-tools', published)
})
