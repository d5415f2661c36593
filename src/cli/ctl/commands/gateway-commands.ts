// Gateways: clients that speak something else than MQTT.

import { type CtlCommand, reportDone, showReply } from '../ctl-command.ts'
import { parseQuery } from '../parse-query.ts'

const columns = ['name', 'status', 'bind', 'current_connections', 'max_connections', 'received', 'sent']

export const gatewayCommands: readonly CtlCommand[] = [
  {
    name: 'gateways list',
    description: 'list gateways with their listeners and numbers of clients',
    run: ({ client }) =>
      showReply(client.get_gateways(), (gateways) => {
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
    description: 'start a gateway',
    arguments: ['<name>'],
    run: ({ client, operands: [name = ''] }) =>
      reportDone(client.enable_gateway({ params: { name, enable: 'true' } }), `${name} is enabled`),
  },
  {
    name: 'gateways disable',
    description: 'stop a gateway and disconnect its clients',
    arguments: ['<name>'],
    run: ({ client, operands: [name = ''] }) =>
      reportDone(client.enable_gateway({ params: { name, enable: 'false' } }), `${name} is disabled`),
  },
  {
    name: 'gateways show',
    description: 'show a gateway with its configuration',
    arguments: ['<name>'],
    run: ({ client, operands: [name = ''] }) =>
      showReply(client.get_gateway({ params: { name } }), ({ configuration, metrics, listeners, ...gateway }) => ({
        thing: { ...gateway, listeners: listeners.map(({ id, bind }) => `${id} ${bind}`).join(' ') },
        document: { ...gateway, listeners, configuration, metrics },
      })),
  },
  {
    name: 'gateways listeners',
    description: 'list the listeners of a gateway',
    arguments: ['<name>'],
    run: ({ client, operands: [name = ''] }) =>
      showReply(client.get_gateway_listeners({ params: { name } }), (rows) => ({
        rows,
        columns: ['id', 'running', 'bind', 'current_connections', 'max_connections'],
      })),
  },
  {
    name: 'gateways add-listener',
    description: 'add a listener to a gateway, such as coap:udp:plant',
    arguments: ['<id>'],
    options: [
      { flags: '--settings <json>', description: 'settings of the listener as JSON: {"bind": "127.0.0.1:5683"}' },
    ],
    run: ({ client, operands: [id = ''], options: { settings } }) => {
      const body = parseSettings(settings)
      if (body === undefined) return { usage: '--settings needs a JSON object such as {"bind": "127.0.0.1:5683"}' }
      const [name = ''] = id.split(':')
      return reportDone(
        client.add_gateway_listener({ params: { name }, body: { ...body, id } }),
        `the listener ${id} is open`,
      )
    },
  },
  {
    name: 'gateways remove-listener',
    description: 'close a listener of a gateway and disconnect its clients',
    arguments: ['<id>'],
    run: ({ client, operands: [id = ''] }) => {
      const [name = ''] = id.split(':')
      return reportDone(client.remove_gateway_listener({ params: { name, id } }), `the listener ${id} is closed`)
    },
  },
  {
    name: 'gateways clients',
    description: 'list the clients of a gateway; filters as KEY=VALUE: like_clientid=a conn_state=connected',
    arguments: ['<name>', '[filters...]'],
    run: ({ client, operands: [name = '', ...operands] }) => {
      const filters = parseQuery('get_gateway_clients', operands)
      if ('usage' in filters) return filters
      return showReply(client.get_gateway_clients({ params: { name }, ...filters }), ({ data }) => ({
        rows: data,
        columns: ['clientid', 'username', 'conn_state', 'sleeping', 'ip_address', 'keepalive', 'subscriptions_cnt'],
      }))
    },
  },
  {
    name: 'gateways kick',
    description: 'disconnect a client of a gateway',
    arguments: ['<name>', '<client>'],
    run: ({ client, operands: [name = '', clientid = ''] }) =>
      reportDone(client.kick_gateway_client({ params: { name, clientid } }), `${clientid} is disconnected`),
  },
  {
    name: 'gateways request',
    description: 'send a request to a CoAP client and show the response',
    arguments: ['<client>', '<method>', '[payload]'],
    run: ({ client, operands: [clientid = '', method = '', payload] }) => {
      const known = coapMethods.find((one) => one === method.toLowerCase())
      if (known === undefined) return { usage: `${method}: use ${coapMethods.join(', ')}` }
      const body = { method: known, ...(payload === undefined ? {} : { payload }) }
      return showReply(client.send_coap_request({ params: { clientid }, body }), (response) => ({ thing: response }))
    },
  },
  {
    name: 'gateways read',
    description: 'read a path of an LwM2M device; `gateways lookup` shows the response',
    arguments: ['<client>', '<path>'],
    run: ({ client, operands: [clientid = '', path = ''] }) =>
      reportDone(client.read_lwm2m({ params: { clientid }, query: { path } }), `${path} will be read`),
  },
  {
    name: 'gateways write',
    description: 'write a resource of an LwM2M device; type: Integer, Float, Time, String, Boolean or Opaque',
    arguments: ['<client>', '<path>', '<type>', '<value>'],
    run: ({ client, operands: [clientid = '', path = '', type = '', value = ''] }) =>
      reportDone(client.write_lwm2m({ params: { clientid }, query: { path, type, value } }), `${path} will be written`),
  },
  {
    name: 'gateways observe',
    description: 'observe a path of an LwM2M device, or stop observing it',
    arguments: ['<client>', '<path>'],
    options: [{ flags: '--off', description: 'stop observing the path' }],
    run: ({ client, operands: [clientid = '', path = ''], options }) => {
      const enable = options.off !== true
      const text = `${path} will ${enable ? '' : 'not '}be observed`
      return reportDone(client.observe_lwm2m({ params: { clientid }, query: { path, enable } }), text)
    },
  },
  {
    name: 'gateways lookup',
    description: 'show the last response of an LwM2M device to a command such as read',
    arguments: ['<client>', '<path>', '<action>'],
    run: ({ client, operands: [clientid = '', path = '', action = ''] }) =>
      showReply(client.lookup_lwm2m_answer({ params: { clientid }, query: { path, action } }), ({ data }) => ({
        thing: { ...data, content: JSON.stringify(data.content) },
        document: data,
      })),
  },
]

const coapMethods = ['get', 'post', 'put', 'delete'] as const

/** Parses the JSON object of an option. Undefined: the option is missing, or its text is not a JSON object. */
export function parseSettings(text: string | true | undefined): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(typeof text === 'string' ? text : '')
    const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
    return isObject ? (parsed as Record<string, unknown>) : undefined
  } catch {
    // Not JSON: the caller reports it.
    return undefined
  }
}
