// The broker as a whole.

import { type CtlCommand, doneAs, shown } from '../ctl-command.ts'

export const brokerCommands: readonly CtlCommand[] = [
  {
    name: 'status',
    description: 'what the broker is and how it does',
    run: async ({ client }) => {
      const nodes = await client.list_nodes()
      if ('failure' in nodes) return nodes
      const [node] = nodes.reply.data
      return shown(client.list_brokers(), ({ data: [broker] }) => ({ thing: { ...broker, ...node } }))
    },
  },
  {
    name: 'stop',
    description: 'stop the broker: clients are told, the store is closed',
    run: ({ client }) => doneAs(client.ctrl_broker({ params: { action: 'stop' } }), 'stopping'),
  },
  {
    name: 'restart',
    description: 'stop the broker and start it anew, with what its configuration file says now',
    run: ({ client }) => doneAs(client.ctrl_broker({ params: { action: 'restart' } }), 'restarting'),
  },
]
