// Commands for listeners.

import { type CtlCommand, reportDone, showReply } from '../ctl-command.ts'

const columns = ['node', 'identifier', 'listen_on', 'current_conns', 'max_conns']

export const listenerCommands: readonly CtlCommand[] = [
  {
    name: 'listeners list',
    description: 'list the listeners with their addresses and numbers of connections',
    run: ({ client }) =>
      showReply(client.list_listeners(), ({ data }) => {
        const rows = data.flatMap(({ node, listeners }) => listeners.map((listener) => ({ node, ...listener })))
        return { rows, columns }
      }),
  },
  {
    name: 'listeners restart',
    description: 'disconnect the clients of a listener and open it again',
    arguments: ['<identifier>'],
    run: ({ client, operands: [identifier = ''] }) =>
      reportDone(client.restart_listener({ params: { identifier } }), `${identifier} is restarted`),
  },
]
