// node test/compile-cache.ts     Fills the compile cache of brokers: see `test/run.ts`.
//
// Node stores the compiled code of a file when the first process that has loaded it ends by itself, and never again. With that of
// `godwit --version` or of a shard that has no clients, each broker compiles most of its functions again, and most brokers of tests end with
// SIGKILL. So the first process is a broker that has served a client and the API: later ones start with 8 % less processor time.

import { connectAsync } from 'mqtt'
import { startBrokerWithApi } from './management/api.ts'

const ends: (() => unknown)[] = []
const broker = await startBrokerWithApi({ after: (end) => ends.push(end) })
await broker.request('/api/v4/brokers')
const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { protocolVersion: 5 })
await client.subscribeAsync('news', { qos: 2 })
const received = new Promise((resolve) => client.once('message', resolve))
await client.publishAsync('news', 'hello', { qos: 2, retain: true })
await received
await client.endAsync()
await broker.process.stop('SIGTERM')
for (const end of ends.toReversed()) await end()
