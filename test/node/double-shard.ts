// Plays a shard for the tests of the node: it serves nobody and behaves as the file `behaviour` in its data directory
// says. Each life of it leaves a line in `lives`.

import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import type { NodeToShard, ShardStart, ShardToNode } from '../../src/shard/index.ts'
import { counterCells, Counters } from '../../src/telemetry/index.ts'

const start = workerData as ShardStart
const port = parentPort!
const tell = (message: ShardToNode): void => port.postMessage(message)

appendFileSync(join(start.dataDirectory, 'lives'), `${JSON.stringify(start.listeners)}\n`)
const lives = readFileSync(join(start.dataDirectory, 'lives'), 'utf8').trim().split('\n').length
const behaviourFile = join(start.dataDirectory, 'behaviour')
const behaviour = existsSync(behaviourFile) ? readFileSync(behaviourFile, 'utf8') : 'obeys'
new Counters(start.counters, start.shardNumber).add(counterCells.connectionsOpen, 1)

const ready = (): void => {
  tell({ kind: 'log', level: 'warn', event: 'the double lives', fields: { lives } })
  tell({
    kind: 'ready',
    listeners: start.listeners.map(({ name, host, port: number }) => ({ name, host, port: number })),
  })
}

port.on('message', (message: NodeToShard) => {
  if (message.kind !== 'stop' || behaviour === 'ignores stop') return
  appendFileSync(join(start.dataDirectory, 'stopped'), 'asked to stop\n')
  tell({ kind: 'stopped' })
})

switch (behaviour) {
  case 'cannot start':
    tell({ kind: 'failed', message: 'storage: the database is held by somebody else' })
    break
  case 'breaks at the start':
    throwIt()
    break
  case 'dies once':
    ready()
    if (lives === 1) setImmediate(() => process.nextTick(() => throwIt()))
    break
  case 'dies always':
    ready()
    setImmediate(() => throwIt())
    break
  default:
    ready()
}

function throwIt(): never {
  throw new Error('the double breaks')
}
