// Handlers of connectors as resources of EMQX 4, and of the types of resources and actions.

import type { Resource } from '../../../actions/index.ts'
import { randomBytes } from 'node:crypto'
import type { ReplyOf } from '../../../contract/index.ts'
import type { v4ResourceEndpoints } from './resource-endpoints.ts'
import { type ApiError, refuse, type Handlers } from '../../../management/index.ts'
import type { ConfiguredRules } from '../configured-rules.ts'
import { toSettings, V4Resources } from './v4-resource-settings.ts'
import { toApiError } from './rule-writer.ts'
import { findServiceNames, type ServiceNames } from './service-names.ts'

type Known = typeof v4ResourceEndpoints
type Status = ReplyOf<Known['get_resource_status']>['data']

const idBytes = 4
const functions = [
  ['inspect', 'Log', 'Writes each result to the log.', {}],
  ['do_nothing', 'Nothing', 'Only counts.', {}],
  [
    'republish',
    'Republish',
    'Publishes each result.',
    {
      target_topic: 'Template of the topic.',
      target_qos: '0, 1, 2 or a template; -1 keeps the QoS of the message.',
      target_retain: 'Whether the message is retained, or a template.',
      payload_tmpl: 'Template of the payload.',
    },
  ],
] as const

/** Handlers of connectors in the shapes of version 4. */
export function createV4ResourceHandlers(rules: ConfiguredRules): Handlers<Known> {
  const resources = new V4Resources(rules)
  const find = (id: string): Resource | ApiError =>
    resources.find(id) ?? refuse('invalidParameter', `there is no resource ${JSON.stringify(id)}`, 404)
  const findType = (id: string): ServiceNames | ApiError => resources.findType(id) ?? refuseType(id, 404)
  return {
    list_actions: () => ({
      code: 0,
      data: [...functions.map(toFunctionResponse), ...resources.listTypes().map(toActionResponse)],
    }),
    list_resources: () => ({ code: 0, data: resources.listConnectors().map((one) => resources.toResponse(one)) }),
    create_resource: async ({ body: { id, type, config = {}, description }, caller }) => {
      const names = resources.findType(type)
      if (names === undefined) return refuseType(type)
      const name = resources.parseName(id ?? randomBytes(idBytes).toString('hex'))
      if (typeof name !== 'string') return name
      const at = { type: names.type, name }
      const problem = await rules.putResource('connectors', at, toSettings(names, config, description), caller)
      if (problem !== undefined) return toApiError(problem)
      const created = find(`${names.type}:${name}`)
      return 'settings' in created ? { code: 0, data: resources.toResponse(created) } : created
    },
    show_resource: async ({ params: { id } }) => {
      const found = find(id)
      if (!('settings' in found)) return found
      return { code: 0, data: { ...resources.toResponse(found), status: [await readStatus(found, rules)] } }
    },
    update_resource: async ({ params: { id }, body: { type, config, description }, caller }) => {
      const found = find(id)
      if (!('settings' in found)) return found
      const names = findServiceNames(found.type)
      if (type !== undefined && resources.findType(type)?.type !== found.type)
        return refuse('invalidParameter', `the type of ${id} is ${names.resource}: create another resource`)
      const { description: before, enable } = found.settings
      const text = description ?? (typeof before === 'string' ? before : undefined)
      const settings =
        config === undefined ? { ...found.settings, description: text } : { ...toSettings(names, config, text), enable }
      const problem = await rules.putResource('connectors', found, settings, caller)
      if (problem !== undefined) return toApiError(problem)
      const changed = find(id)
      return 'settings' in changed ? { code: 0, data: resources.toResponse(changed) } : changed
    },
    start_resource: async ({ params: { id } }) => {
      const found = find(id)
      if (!('settings' in found)) return found
      const users = rules.listUsers('connectors', found)
      await Promise.all(users.map((action) => rules.controlAction(action, 'restart')))
      return { code: 0 }
    },
    delete_resource: async ({ params: { id }, caller }) => {
      const found = find(id)
      if (!('settings' in found)) return found
      const users = rules.listUsers('connectors', found)
      if (users.length > 0)
        return refuse('invalidParameter', `the resource ${id} is used by ${users.join(', ')}: change those first`)
      const problem = await rules.putResource('connectors', found, undefined, caller)
      return problem === undefined ? { code: 0 } : toApiError(problem)
    },
    get_resource_status: async ({ params: { id } }) => {
      const found = find(id)
      return 'settings' in found ? { code: 0, data: await readStatus(found, rules) } : found
    },
    list_resource_types: () => ({ code: 0, data: resources.listTypes().map(toTypeResponse) }),
    show_resource_type: ({ params: { id } }) => {
      const found = findType(id)
      return 'action' in found ? { code: 0, data: toTypeResponse(found) } : found
    },
  }
}

function refuseType(type: string, status?: number): ApiError {
  return refuse(
    'invalidParameter',
    `there is no type ${JSON.stringify(type)}: GET /api/v4/resource_types lists them`,
    status,
  )
}

/** Returns the status of the actions that use the connector; if none does, the service is probed. */
async function readStatus(resource: Resource, rules: ConfiguredRules): Promise<Status> {
  const users = rules.listUsers('connectors', resource)
  const states = users.length === 0 ? new Map() : await rules.readActionMetrics()
  const running = users.flatMap((id) => states.get(id) ?? [])
  if (running.length === 0) {
    const { settings } = resource
    const reason =
      settings['enable'] === false
        ? 'it is disabled'
        : await rules.probe('connectors', resource, settings, { namespace: undefined })
    return { node: rules.nodeName, is_alive: reason === undefined, reason: reason ?? '' }
  }
  const down = running.find(({ status }) => status !== 'connected')
  return { node: rules.nodeName, is_alive: down === undefined, reason: down?.statusReason ?? '' }
}

function toFunctionResponse([name, title, description, params]: (typeof functions)[number]) {
  return { name, for: '$any', types: [], title, description, params: { ...params } }
}

function toActionResponse({ action, type, resource, title, parameters }: ServiceNames) {
  const params = { $resource: `ID of a resource of the type ${resource}.` }
  const own = Object.entries(parameters).map(([name, setting]) => [name, `Is ${setting} in actions.${type}.`])
  const description = `Sends each result. Further parameters are those of actions.${type}: see CONFIGURATION.`
  return {
    name: action,
    for: '$any',
    types: [resource],
    title,
    description,
    params: { ...params, ...Object.fromEntries(own) },
  }
}

function toTypeResponse({ resource, type, title }: ServiceNames) {
  return {
    name: resource,
    title,
    description: `Settings are those of connectors.${type}: see CONFIGURATION.`,
    connector: type,
  }
}
