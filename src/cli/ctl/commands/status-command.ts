// Shows the state of the broker on one page: version, sessions, message rates and problems.

import { setTimeout } from 'node:timers/promises'
import type { Result } from '../../../contract/index.ts'
import type { ApiClient } from '../../../api/endpoints.ts'
import { type CtlCall, type CtlCommand, type Outcome, type Row, showReply } from '../ctl-command.ts'

/** Rates are what is counted within this. */
const measuredMs = 500
/** Time between two attempts to reach a broker that starts. */
const attemptMs = 200
const bytesPerMib = 1_048_576
const noNode = { security_profile: '', shards: 0, memory_used: 0, memory_limit: 0, memory_level: 'normal' }

export const statusCommands: readonly CtlCommand[] = [
  {
    name: 'status',
    description: 'show version, health and problems of the broker; takes half a second',
    options: [{ flags: '--wait <seconds>', description: 'wait for a broker that starts, at most for this time' }],
    run: showStatus,
  },
]

async function showStatus({ client, options }: CtlCall): Promise<Outcome> {
  const waitSeconds = Number(options['wait'] ?? 0)
  if (!(waitSeconds >= 0)) return { usage: `--wait ${options['wait']}: use a number of seconds, such as 30` }
  const known = await listKnown(client, waitSeconds * 1_000)
  if ('failure' in known) return known
  const bridges = await client.get_mqtt_bridges()
  if ('failure' in bridges) return bridges
  const states = bridges.reply.data.bridge.nodes.map(({ name, enable, status: now }) => ({
    name,
    state: enable ? (now?.state ?? 'unknown') : 'off',
    spool: now?.spool_depth ?? 0,
  }))
  return showReply(client.list_activated_alarms(), ({ data }) => {
    const alarms = data.flatMap(({ alarms: holding }) =>
      holding.map(({ name, message, activated_at: since }) => ({ name, since, message })),
    )
    const troubles = alarms.map(({ name, since, message }) => [`alarm ${name}`, `since ${since}: ${message}`])
    return {
      thing: {
        ...known.reply,
        bridges: summarizeBridges(states),
        alarms: alarms.length === 0 ? 'none' : alarms.map(({ name }) => name).join(', '),
        ...(Object.fromEntries(troubles) as Row),
      },
      document: { ...known.reply, bridges: states, alarms },
    }
  })
}

/** Returns the state as soon as the broker responds: it opens its API after its listeners. After `waitMs`, returns why it does not. */
async function listKnown(client: ApiClient, waitMs: number): Promise<Result<Row>> {
  const startedMs = performance.now()
  for (;;) {
    const known = await readNodeStatus(client)
    const isUnreachable = 'failure' in known && known.failure.kind === 'unreachable'
    if (!isUnreachable || performance.now() - startedMs >= waitMs) return known
    await setTimeout(attemptMs)
  }
}

async function readNodeStatus(client: ApiClient): Promise<Result<Row>> {
  const brokers = await client.list_brokers()
  if ('failure' in brokers) return brokers
  const [broker] = brokers.reply.data
  const nodes = await client.list_nodes()
  if ('failure' in nodes) return nodes
  const [{ security_profile: profile, shards, ...memory } = noNode] = nodes.reply.data
  const stats = await client.get_stats()
  if ('failure' in stats) return stats
  const [{ node, stats: counts } = { node: '', stats: {} }] = stats.reply.data
  const current = await client.get_monitor_current()
  if ('failure' in current) return current
  const rates = await measureRates(client, node)
  if ('failure' in rates) return rates
  const metrics = await client.get_metrics()
  if ('failure' in metrics) return metrics
  const { cpuinfo: cpu } = metrics.reply
  const held = {
    connections: counts['connections.count'],
    sessions: counts['sessions.count'],
    subscriptions: counts['subscriptions.count'],
    retained: current.reply.data.retained,
  }
  const used = { memory: formatMemory(memory), cpu }
  return { reply: { node, ...broker, profile, shards, ...held, ...rates.reply, ...used } }
}

/** `212 MiB of 1536 MiB`, with the level if memory is short. */
function formatMemory(node: Omit<typeof noNode, 'security_profile' | 'shards'>): string {
  const [used, limit] = [node.memory_used, node.memory_limit].map((bytes) => `${Math.round(bytes / bytesPerMib)} MiB`)
  return `${used} of ${limit}${node.memory_level === 'normal' ? '' : ` (${node.memory_level})`}`
}

function summarizeBridges(bridges: readonly { readonly name: string; readonly state: string }[]): string {
  const wanted = bridges.filter(({ state }) => state !== 'off')
  if (wanted.length === 0) return 'none'
  const away = wanted.filter(({ state }) => state !== 'connected').map(({ name, state }) => `${name} is ${state}`)
  const connected = `${wanted.length - away.length} of ${wanted.length} connected`
  return away.length === 0 ? connected : `${connected}: ${away.join(', ')}`
}

const rated = ['messages.received', 'messages.sent', 'messages.dropped'] as const

async function measureRates(client: ApiClient, node: string): Promise<Result<Row>> {
  const startedMs = performance.now()
  const before = await client.get_node_metrics({ params: { node } })
  if ('failure' in before) return before
  await setTimeout(measuredMs)
  const after = await client.get_node_metrics({ params: { node } })
  if ('failure' in after) return after
  const seconds = (performance.now() - startedMs) / 1_000
  const rates = rated.map((name) => {
    const grown = (after.reply.data[name] ?? 0) - (before.reply.data[name] ?? 0)
    return [`${name}.rate`, `${Math.round(grown / seconds)}/s`]
  })
  return { reply: Object.fromEntries(rates) as Row }
}
