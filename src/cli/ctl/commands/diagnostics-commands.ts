// Commands that show access decisions, dropped messages, queues and client events.

import type { ApiClient } from '../../../api/endpoints.ts'
import { type CtlCall, type CtlCommand, type Outcome, type Row, showReply } from '../ctl-command.ts'
import { parseQuery } from '../parse-query.ts'

export const diagnosticsCommands: readonly CtlCommand[] = [
  {
    name: 'explain',
    description:
      'explain whether a client may publish or subscribe, why, and which subscribers would receive the message',
    arguments: ['<client>', '<action>', '<topic>'],
    options: [
      { flags: '-q, --qos <level>', description: 'QoS of the publication: 0, 1 or 2 (default: 2)' },
      { flags: '--user <name>', description: 'user name to assume if the client is not connected' },
      { flags: '--address <ip>', description: 'address to assume if the client is not connected' },
    ],
    run: explain,
  },
  {
    name: 'dropped',
    description: 'list recently dropped messages; filters as KEY=VALUE: reason=queue-full clientid=a topic=b/#',
    arguments: ['[filters...]'],
    options: [
      { flags: '--limit <rows>', description: 'maximum number of rows, newest first (default: 1000)' },
      {
        flags: '--since <time>',
        description: 'earliest time: an age (30s, 10m, 2h, 1d) or a time such as 2026-01-31T12:00',
      },
    ],
    run: listDropped,
  },
  {
    name: 'slow',
    description: 'list clients that receive slowly, slowest first, with the delay of their oldest message',
    options: [{ flags: '--threshold <milliseconds>', description: 'minimum delay in ms (default: 500)' }],
    run: ({ client, options: { threshold } }) => {
      if (threshold !== undefined && !/^\d{1,8}$/.test(String(threshold)))
        return { usage: '--threshold: give milliseconds from 0 to 99999999' }
      const query = { _limit: maxSlowRows, ...(threshold === undefined ? {} : { threshold: Number(threshold) }) }
      return showReply(client.list_slow_subscriptions({ query }), ({ data }) => ({
        rows: data,
        columns: ['clientid', 'topic', 'timespan', 'mqueue_len'],
      }))
    },
  },
  {
    name: 'clients queue',
    description: 'list the queued and unacknowledged messages of a client',
    arguments: ['<client>'],
    run: ({ client, operands: [clientid = ''] }) =>
      showReply(client.client_queue({ params: { clientid }, query: { limit: maxQueuedRows } }), ({ data }) => ({
        rows: data.map(({ publish_at: ms, ...message }) => ({
          time: ms === null ? '' : new Date(ms).toISOString(),
          ...message,
          publish_at: ms,
        })),
        columns: ['time', 'state', 'qos', 'topic', 'payload_bytes'],
      })),
  },
  {
    name: 'clients timeline',
    description: 'list the recent events of a client',
    arguments: ['<client>'],
    run: ({ client, operands: [clientid = ''] }) =>
      showReply(client.client_timeline({ params: { clientid } }), ({ data }) => {
        if (data.length === 0)
          return {
            problem: `no events of the client ${clientid} are recorded: "godwit ctl clients list" lists the clients`,
          }
        return {
          rows: data.map((moment) => ({ time: new Date(moment.ts).toISOString(), ...moment })),
          columns: ['time', 'event', 'count', 'text', 'ip_address'],
        }
      }),
  },
]

const maxSlowRows = 1_000
const maxQueuedRows = 1_000
const defaultRows = 1_000
/** Maximum entries of the API. All are requested, so that the count of a row includes every dropped message. */
const maxSearched = 10_000

function listDropped({ client, operands, options: { limit, since } }: CtlCall): Promise<Outcome> | Outcome {
  const filters = parseQuery('list_dropped', operands)
  if ('usage' in filters) return filters
  if (limit !== undefined && !/^[1-9]\d{0,3}$/.test(String(limit)))
    return { usage: '--limit: give a number from 1 to 9999' }
  const sinceMs = since === undefined ? undefined : parseTime(String(since), Date.now())
  if (since !== undefined && sinceMs === undefined)
    return { usage: `--since ${String(since)}: give 30s, 10m, 2h, 1d, or a time such as 2026-01-31T12:00` }
  const query = {
    _limit: maxSearched,
    ...(sinceMs === undefined ? {} : { since: sinceMs }),
    ...filters.query,
  }
  return showReply(client.list_dropped({ query }), ({ data }) => ({
    rows: groupDrops(data).slice(0, Number(limit ?? defaultRows)),
    columns: ['time', 'count', 'reason', 'plugin', 'topic', 'qos', 'publisher', 'clientid'],
  }))
}

const unitsMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Returns the time in ms since 1970; undefined: the text is not a time. */
function parseTime(text: string, nowMs: number): number | undefined {
  const [, digits, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  if (digits !== undefined) return Math.max(0, nowMs - Number(digits) * (unitsMs[unit] ?? 0))
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? undefined : at
}

type Dropped = Extract<Awaited<ReturnType<ApiClient['list_dropped']>>, { reply: unknown }>['reply']['data'][number]

/** Messages that differ in their time only are one row, with the time of the newest. */
function groupDrops(drops: readonly Dropped[]): Row[] {
  const rows = new Map<string, Row & { count: number }>()
  for (const drop of drops) {
    const { ts, ...rest } = drop
    const key = JSON.stringify(rest)
    const known = rows.get(key)
    if (known === undefined) rows.set(key, { time: new Date(ts).toISOString(), ...drop, count: 1 })
    else known.count += 1
  }
  return [...rows.values()]
}

function explain({
  client,
  operands: [clientid = '', action = '', topic = ''],
  options: { qos, user, address },
}: CtlCall): Promise<Outcome> | Outcome {
  if (action !== 'publish' && action !== 'subscribe') return { usage: `${action}: use publish or subscribe` }
  if (qos !== undefined && !/^[012]$/.test(String(qos))) return { usage: '--qos: use 0, 1 or 2' }
  const assumed = {
    ...(qos === undefined ? {} : { qos: Number(qos) }),
    ...(typeof user === 'string' ? { username: user } : {}),
    ...(typeof address === 'string' ? { ip_address: address } : {}),
  }
  return showReply(client.explain({ query: { clientid, action, topic, ...assumed } }), ({ data }) => ({
    thing: summarize(data),
    document: data,
  }))
}

type Explanation = Extract<Awaited<ReturnType<ApiClient['explain']>>, { reply: unknown }>['reply']['data']

/** Returns the decision and the receivers as one row. The JSON document has the details. */
function summarize({ decision, client, obstacle, subscriptions, truncated }: Explanation): Row {
  const receivers = subscriptions.map(({ clientid, topic, outcome }) => `${clientid} by ${topic}: ${outcome}`)
  return {
    ...decision,
    obstacle,
    connected: client.connected,
    username: client.username,
    authenticated_by: client.authenticated_by,
    receivers: `${receivers.join('; ')}${truncated ? '; and more' : ''}`,
  }
}
