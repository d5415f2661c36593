// Where messages went, and what happened to clients.

import type { ApiClient } from '../../../contract/index.ts'
import { type CtlCommand, type Row, shown } from '../ctl-command.ts'
import { queryFrom } from '../filters.ts'

export const insightCommands: readonly CtlCommand[] = [
  {
    name: 'explain',
    description: 'why a client may publish or subscribe, or may not, and who would hear it',
    arguments: ['<client>', '<action>', '<topic>'],
    run: ({ client, words: [clientid = '', action = '', topic = ''] }) => {
      if (action !== 'publish' && action !== 'subscribe') return { usage: `${action}: there are publish and subscribe` }
      return shown(client.explain({ query: { clientid, action, topic } }), ({ data }) => ({
        thing: inShort(data),
        document: data,
      }))
    },
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
