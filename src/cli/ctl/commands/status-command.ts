// How the broker does, on one page.

import { setTimeout } from 'node:timers/promises'
import type { ApiClient, Result } from '../../../contract/index.ts'
import { type CtlCall, type CtlCommand, type Outcome, type Row, shown } from '../ctl-command.ts'

/** Rates are what is counted within this. */
const measuredMs = 500

export const statusCommands: readonly CtlCommand[] = [
  { name: 'status', description: 'what the broker is and how it does; takes half a second', run: status },
]

async function status({ client }: CtlCall): Promise<Outcome> {
  const brokers = await client.list_brokers()
  if ('failure' in brokers) return brokers
  const [broker] = brokers.reply.data
  const nodes = await client.list_nodes()
  if ('failure' in nodes) return nodes
  const [{ security_profile: profile, shards } = { security_profile: '', shards: 0 }] = nodes.reply.data
  const stats = await client.get_stats()
  if ('failure' in stats) return stats
  const [{ node, stats: counts } = { node: '', stats: {} }] = stats.reply.data
  const rates = await ratesOf(client, node)
  if ('failure' in rates) return rates
  return shown(client.list_activated_alarms(), ({ data }) => {
    const alarms = data.flatMap(({ alarms: holding }) => holding.map(({ name }) => name))
    const {
      'connections.count': connections,
      'sessions.count': sessions,
      'subscriptions.count': subscriptions,
    } = counts
    const held = { connections, sessions, subscriptions, retained: counts['retained.count'] }
    return {
      thing: {
        node,
        ...broker,
        profile,
        shards,
        ...held,
        ...rates.reply,
        alarms: alarms.length === 0 ? 'none' : alarms.join(', '),
      },
    }
  })
}

const rated = ['messages.received', 'messages.sent', 'messages.dropped'] as const

async function ratesOf(client: ApiClient, node: string): Promise<Result<Row>> {
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
