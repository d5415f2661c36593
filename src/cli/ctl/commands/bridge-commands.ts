// Connections to other brokers.

import { type CtlCall, type CtlCommand, reportDone, type Outcome, showReply } from '../ctl-command.ts'
import { settingsOption, withJson } from './rule-commands.ts'

export const bridgeCommands: readonly CtlCommand[] = [
  {
    name: 'bridges list',
    description: 'list the bridges with their status; lag is the age of the oldest queued message in seconds',
    run: ({ client }) =>
      showReply(client.get_mqtt_bridges(), ({ data }) => ({
        rows: data.bridge.nodes.map(({ status, ...node }) => ({
          ...node,
          server: status?.server ?? node.connector.server,
          state: status?.state ?? 'unknown',
          spool: status?.spool_depth ?? 0,
          lag: status?.lag ?? 0,
          sent: status?.counters.sent ?? 0,
          received: status?.counters.received ?? 0,
          'sent/s': status?.sent_rate ?? 0,
          'received/s': status?.received_rate ?? 0,
          error: status?.last_error ?? '',
        })),
        columns: [
          'name',
          'enable',
          'state',
          'server',
          'spool',
          'lag',
          'sent',
          'sent/s',
          'received',
          'received/s',
          'error',
        ],
      })),
  },
  {
    name: 'bridges show',
    description: 'show all settings of a bridge; secrets are masked',
    arguments: ['<name>'],
    run: ({ client, operands: [bridge = ''] }) =>
      showReply(client.get_mqtt_bridge({ params: { bridge_name: bridge } }), ({ data }): Outcome => {
        const [node] = data.bridge.nodes
        return node === undefined
          ? { problem: `bridge not found: ${bridge}; "godwit ctl bridges list" lists all` }
          : { thing: node }
      }),
  },
  {
    name: 'bridges create',
    description: 'create a bridge; it is disabled unless the settings contain "enable": true',
    arguments: ['<name>', '<server>'],
    options: [settingsOption],
    run: ({ client, operands: [name = '', server = ''], options }) =>
      withJson(options['settings'], (settings) =>
        reportDone(
          client.post_mqtt_bridge({ body: { ...settings, server, name } as { name: string } }),
          `${name} is created`,
        ),
      ),
  },
  {
    name: 'bridges delete',
    description: 'delete a bridge and its queue',
    arguments: ['<name>'],
    run: ({ client, operands: [bridge = ''] }) =>
      reportDone(client.delete_mqtt_bridge({ params: { bridge_name: bridge } }), `${bridge} is deleted`),
  },
  {
    name: 'bridges on',
    description: 'turn a bridge on',
    arguments: ['<name>'],
    run: (call) => switchBridge(call, true),
  },
  {
    name: 'bridges off',
    description: 'turn a bridge off',
    arguments: ['<name>'],
    run: (call) => switchBridge(call, false),
  },
]

function switchBridge({ client, operands: [bridge = ''] }: CtlCall, isOn: boolean): Promise<Outcome> {
  const body = { data: { bridge_switch: isOn } }
  const result = client.put_mqtt_bridge_switch({ params: { bridge_name: bridge }, body })
  return reportDone(result, `${bridge} is ${isOn ? 'on' : 'off'}`)
}
