// Whatever the contract has, by its name: for operations that no other command is made for, and for scripts.

import type { AnyCall, Endpoint, Failure } from '../../../contract/index.ts'
import { type EndpointName, endpoints } from '../../../api/endpoints.ts'
import { type CtlCall, type CtlCommand, type Outcome, showReply } from '../ctl-command.ts'

export const anyCommands: readonly CtlCommand[] = [
  {
    name: 'api list',
    description: 'list the operations of the API',
    run: ({ client }) =>
      showReply(client.list_endpoints(), ({ data }) => ({ rows: data, columns: ['name', 'method', 'path', 'descr'] })),
  },
  {
    name: 'api call',
    description: 'call an operation by its name; prints the response as JSON',
    arguments: ['<operation>', '[parameters...]'],
    options: [{ flags: '--body <json>', description: 'body of the request as JSON; "-": the next line of stdin' }],
    run: callByName,
  },
]

async function callByName({ client, operands, options, secrets }: CtlCall): Promise<Outcome> {
  const [name = '', ...parameters] = operands
  if (!Object.hasOwn(endpoints, name)) return { usage: `${name}: no such operation; "godwit ctl api list" has them` }
  const bodyText = options['body']
  const line = bodyText === '-' ? await secrets.next('body') : undefined
  if (line !== undefined && 'usage' in line) return line
  const endpoint: Endpoint = endpoints[name as EndpointName]
  const call = parseCall(endpoint, parameters, line?.secret ?? (bodyText === true ? undefined : bodyText))
  if ('usage' in call) return call
  const operation = client[name as EndpointName] as (
    request: AnyCall,
  ) => Promise<{ reply: unknown } | { failure: Failure }>
  const result = await operation(call)
  if ('failure' in result) return result
  const { reply } = result
  return { text: typeof reply === 'string' ? reply : JSON.stringify(reply) }
}

function parseCall(
  endpoint: Endpoint,
  parameters: readonly string[],
  body: string | undefined,
): AnyCall | { usage: string } {
  const params: Record<string, string> = {}
  const query: Record<string, string> = {}
  for (const word of parameters) {
    const [, key, value] = /^([^=]+)=(.*)$/s.exec(word) ?? []
    if (key === undefined || value === undefined) return { usage: `${word}: give parameters as KEY=VALUE` }
    if (endpoint.path.split('/').includes(`:${key}`)) params[key] = value
    else query[key] = value
  }
  if (body === undefined || endpoint.body === 'text') return { params, query, body }
  try {
    return { params, query, body: JSON.parse(body) as unknown }
  } catch (error) {
    return { usage: `--body: not JSON: ${(error as Error).message}` }
  }
}
