// Where messages went, and what happened to clients.

import { type CtlCommand, shown } from '../ctl-command.ts'
import { queryFrom } from '../filters.ts'

export const insightCommands: readonly CtlCommand[] = [
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
