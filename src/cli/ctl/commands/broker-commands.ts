// The broker as a whole.

import { type CtlCommand, shown } from '../ctl-command.ts'

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
]
