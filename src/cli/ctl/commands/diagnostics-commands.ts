// Where messages went, and what happened to clients.

import type { ApiClient } from '../../../contract/index.ts'
import { type CtlCall, type CtlCommand, type Outcome, type Row, shown } from '../ctl-command.ts'
import { queryFrom } from '../filters.ts'

export const insightCommands: readonly CtlCommand[] = [
  {
    name: 'explain',
    description: 'why a client may publish or subscribe, or may not, and who would hear it',
    arguments: ['<client>', '<action>', '<topic>'],
    options: [
      { flags: '-q, --qos <level>', description: 'of the publication (default: 2)' },
      { flags: '--user <name>', description: 'to be assumed of a client that is not in' },
      { flags: '--address <ip>', description: 'to be assumed of a client that is not in' },
    ],
    run: explain,
  },
  {
    name: 'dropped',
    description: 'messages that were dropped lately; filters as KEY=VALUE: reason=queue-full clientid=a topic=b/#',
    arguments: ['[filters...]'],
    run: ({ client, words }) => {
      const filters = queryFrom('list_dropped', words)
      if ('usage' in filters) return filters
      return shown(client.list_dropped(filters), ({ data }) => ({
        rows: data.map((drop) => ({ time: new Date(drop.ts).toISOString(), ...drop })),
        columns: ['time', 'reason', 'topic', 'qos', 'publisher', 'clientid'],
      }))
    },
  },
  {
    name: 'slow',
    description: 'clients that are behind, the slowest first, with the oldest message that they have not taken',
    options: [{ flags: '--threshold <milliseconds>', description: 'behind by so much at least (default: 500)' }],
    run: ({ client, options: { threshold } }) => {
      if (threshold !== undefined && !/^\d{1,8}$/.test(String(threshold)))
        return { usage: '--threshold: give a number' }
      const query = { _limit: mostSlow, ...(threshold === undefined ? {} : { threshold: Number(threshold) }) }
      return shown(client.list_slow_subscriptions({ query }), ({ data }) => ({
        rows: data,
        columns: ['clientid', 'topic', 'timespan', 'mqueue_len'],
      }))
    },
  },
  {
    name: 'clients timeline',
    description: 'what has happened to a client lately',
    arguments: ['<client>'],
    run: ({ client, words: [clientid = ''] }) =>
      shown(client.client_timeline({ params: { clientid } }), ({ data }) => ({
        rows: data.map((moment) => ({ time: new Date(moment.ts).toISOString(), ...moment })),
        columns: ['time', 'event', 'count', 'text', 'ip_address'],
      })),
  },
]

const mostSlow = 1_000

function explain({
  client,
  words: [clientid = '', action = '', topic = ''],
  options: { qos, user, address },
}: CtlCall): Promise<Outcome> | Outcome {
  if (action !== 'publish' && action !== 'subscribe') return { usage: `${action}: there are publish and subscribe` }
  if (qos !== undefined && !/^[012]$/.test(String(qos))) return { usage: '--qos: there are 0, 1 and 2' }
  const assumed = {
    ...(qos === undefined ? {} : { qos: Number(qos) }),
    ...(typeof user === 'string' ? { username: user } : {}),
    ...(typeof address === 'string' ? { ip_address: address } : {}),
  }
  return shown(client.explain({ query: { clientid, action, topic, ...assumed } }), ({ data }) => ({
    thing: inShort(data),
    document: data,
  }))
}

type Explanation = Extract<Awaited<ReturnType<ApiClient['explain']>>, { reply: unknown }>['reply']['data']

/** What decides, and who would hear it; the rest is in the document. */
function inShort({ decision, client, obstacle, subscriptions, truncated }: Explanation): Row {
  const heard = subscriptions.map(({ clientid, topic, outcome }) => `${clientid} by ${topic}: ${outcome}`)
  return {
    ...decision,
    obstacle,
    connected: client.connected,
    username: client.username,
    authenticated_by: client.authenticated_by,
    heard_by: `${heard.join('; ')}${truncated ? '; and more' : ''}`,
  }
}
