// Gateways: clients that speak something else than MQTT.

import { type CtlCommand, doneAs, shown } from '../ctl-command.ts'

const columns = ['name', 'status', 'bind', 'current_connections', 'max_connections', 'received', 'sent']

export const gatewayCommands: readonly CtlCommand[] = [
  {
    name: 'gateways list',
    description: 'gateways, their sockets, and how many clients they have',
    run: ({ client }) =>
      shown(client.get_gateways(), (gateways) => {
        const rows = gateways.map(({ name, status, listeners, current_connections, max_connections, metrics }) => ({
          name,
          status,
          bind: listeners.map(({ bind }) => bind).join(' '),
          current_connections,
          max_connections,
          received: metrics['received'] ?? 0,
          sent: metrics['sent'] ?? 0,
        }))
        return { rows, columns }
      }),
  },
  {
    name: 'gateways enable',
    description: 'let a gateway run',
    arguments: ['<name>'],
    run: ({ client, words: [name = ''] }) =>
      doneAs(client.enable_gateway({ params: { name, enable: 'true' } }), `${name} is enabled`),
  },
  {
    name: 'gateways disable',
    description: 'stop a gateway and disconnect its clients',
    arguments: ['<name>'],
    run: ({ client, words: [name = ''] }) =>
      doneAs(client.enable_gateway({ params: { name, enable: 'false' } }), `${name} is disabled`),
  },
]
