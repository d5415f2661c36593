// A test double of a shard for tests of the node. It serves no client, and behaves as described by the file `behaviour` in the data
// directory, which may apply to one shard. Each start adds a line to the file `starts`. The double sends a greeting over each
// link, and logs received greetings.

import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import type { NodeToShard, ShardLink, ShardStart, ShardToNode } from '../../src/shard/index.ts'
import { counterCells, Counters } from '../../src/telemetry/index.ts'

const start = workerData as ShardStart
const port = parentPort!
const post = (message: ShardToNode): void => port.postMessage(message)
const own = start.shardNumber

const line = {
  shard: own,
  shards: start.shards,
  peers: (start.links ?? []).map(({ peer }) => peer).toSorted((a, b) => a - b),
  listeners: start.listeners,
}
appendFileSync(join(start.dataDirectory, 'starts'), `${JSON.stringify(line)}\n`)
const startCount = readFileSync(join(start.dataDirectory, 'starts'), 'utf8')
  .trim()
  .split('\n')
  .filter((text) => (JSON.parse(text) as { shard: number }).shard === own).length
const behaviourFile = join(start.dataDirectory, 'behaviour')
const behaviourText = existsSync(behaviourFile) ? readFileSync(behaviourFile, 'utf8') : 'normal'
const [, targetShard, behaviourOfTarget] = /^shard (\d+) (.*)$/.exec(behaviourText) ?? [
  undefined,
  String(own),
  behaviourText,
]
const behaviour = Number(targetShard) === own ? behaviourOfTarget : 'normal'
new Counters(start.counters, own).add(counterCells.connectionsOpen, 1)

const ready = (): void => {
  post({ kind: 'log', level: 'warn', event: 'shard double started', fields: { starts: startCount } })
  post({
    kind: 'ready',
    listeners: start.listeners.map(({ name, host, port: number }) => ({ name, host, port: number })),
  })
}

function greet(link: ShardLink): void {
  const name = `shard ${own}, start ${startCount}`
  link.port.on('message', (peer: string) =>
    post({ kind: 'log', level: 'warn', event: `${name} received from ${peer}`, fields: undefined }),
  )
  link.port.postMessage(name)
}
for (const link of start.links ?? []) greet(link)

port.on('message', (message: NodeToShard) => {
  if (message.kind === 'link') greet(message)
  if (message.kind === 'settings') post({ kind: 'changed', change: message.change })
  if (message.kind !== 'stop' || behaviour === 'ignores stop') return
  appendFileSync(join(start.dataDirectory, 'stopped'), 'shutdown requested\n')
  post({ kind: 'stopped' })
})

switch (behaviour) {
  case 'cannot start':
    post({ kind: 'failed', message: 'storage: another process holds the database' })
    process.exit(1)
  case 'fails at the start':
    throwError()
    break
  case 'fails once':
    ready()
    if (startCount === 1) setImmediate(() => process.nextTick(() => throwError()))
    break
  case 'fails always':
    ready()
    setImmediate(() => throwError())
    break
  default:
    ready()
}

function throwError(): never {
  throw new Error('the double fails')
}
