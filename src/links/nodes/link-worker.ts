// The link thread: has the data connections to other nodes, and forwards link buffers between them and the ports of shards.
//
//   shard <--MessagePort--> channel <--> LifeLinks <--> NodeSockets <~~> other node
//
// Its state is lost when it fails. The next thread of this life has a greater run, so other nodes end the channels of the earlier one.

import { MessageChannel, parentPort, type Transferable, workerData } from 'node:worker_threads'
import {
  type ChannelReceiver,
  LifeLinks,
  type LinkChannel,
  type LinkIdentity,
  type StartedShard,
} from '../../cluster/index.ts'
import { createLinkPort } from '../message-port.ts'
import type { LinkThreadStart, LinkThreadToNode, NodeToLinkThread } from './link-thread-messages.ts'
import { NodeSockets, type OtherNode } from './node-sockets.ts'

const start = workerData as LinkThreadStart
const links = new LifeLinks({
  own: start.identity,
  limits: { maxKeptBytes: start.maxKeptBytes },
  openChannel: (channel, other) => openChannel(channel, other),
})
const sockets = new NodeSockets({
  purpose: 'data',
  ...start,
  monotonicMs: () => performance.now(),
  isConnected: (life) => links.find(life)?.isResumed === true,
  admit: (connection, hello, nowMs) => links.admit(connection, hello, nowMs),
  onTick() {
    links.tick()
    reportLinks()
  },
  onEstablished: ({ nodeName, life }, address) => post({ kind: 'established', nodeName, life, address }),
  onEnd: (end) => post({ kind: 'connection-ended', end }),
  onRefused: (reason) => post({ kind: 'refused', reason }),
  onFilesProblem: (message) => post({ kind: 'files-problem', message }),
})
let nodes: readonly OtherNode[] = []
/** Whether the link to each life is open, as it was reported. */
const reported = new Map<string, boolean>()
/** IDs of announced shards. */
const shardIds = new Map<string, number>()

parentPort?.on('message', (message: NodeToLinkThread) => {
  if (message.kind === 'nodes') {
    ;({ nodes } = message)
    links.setLives(new Set(nodes.map(({ life }) => life)))
    sockets.setNodes(nodes)
  } else if (message.kind === 'shard-up') {
    shardIds.set(toKey(message.shard), links.addShard(message.shard))
  } else if (message.kind === 'shard-down') {
    const key = toKey(message.shard)
    const id = shardIds.get(key)
    shardIds.delete(key)
    if (id !== undefined) links.removeShard(id)
  } else void sockets.close().then(() => post({ kind: 'stopped' }))
})
sockets.open().then(
  (port) => post({ kind: 'ready', port }),
  (error: unknown) => {
    post({ kind: 'failed', message: error instanceof Error ? error.message : String(error) })
    process.exit(1)
  },
)

function openChannel(channel: LinkChannel, { life, nodeName }: LinkIdentity): ChannelReceiver {
  const { port1, port2 } = new MessageChannel()
  const port = createLinkPort(port1)
  port.onBuffer = (buffer) => channel.send(buffer)
  port.onClose = () => channel.end()
  post({ kind: 'channel', local: channel.local, remote: channel.remote, life, nodeName, port: port2 }, [port2])
  return {
    handleBuffer: (buffer) => port.send(buffer),
    handleFullChange: (isFull) => port.sendFull(isFull),
    handleEnd: () => port.close(),
  }
}

function reportLinks(): void {
  for (const { life } of nodes) {
    const isOpen = links.find(life)?.isResumed === true
    if (reported.get(life) === isOpen) continue
    reported.set(life, isOpen)
    post({ kind: 'link', life, isOpen })
  }
}

function toKey({ name, incarnation }: StartedShard): string {
  return JSON.stringify([name, incarnation])
}

function post(message: LinkThreadToNode, transfer: readonly Transferable[] = []): void {
  parentPort?.postMessage(message, transfer)
}
