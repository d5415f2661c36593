// Plugins in version 4: the codes 110 and 111 tell that there is nothing to do.

import type { ReplyOf } from '../../contract/index.ts'
import { type ApiError, type Handlers, refuse } from '../../management/index.ts'
import { hasStarted, type ListedPlugin, type PluginManager } from '../../node/index.ts'
import type { ApiContext } from '../context/api-context.ts'
import type { v4PluginEndpoints } from './v4-endpoints.ts'

type Known = typeof v4PluginEndpoints
type Row = ReplyOf<Known['list_node_plugins']>['data'][number]
type Action = 'load' | 'unload' | 'reload'

export function createV4PluginHandlers({
  nodeName,
  plugins,
}: Pick<ApiContext, 'nodeName' | 'plugins'>): Handlers<Known> {
  const list = (): Row[] => plugins.list().map(toRow)
  const refuseNode = (node: string): ApiError | undefined =>
    node === nodeName ? undefined : refuse('unknownError', `there is no node ${JSON.stringify(node)}`, 404)
  return {
    list_plugins: () => ({ code: 0, data: [{ node: nodeName, plugins: list() }] }),
    list_node_plugins: ({ params }) => refuseNode(params.node) ?? { code: 0, data: list() },
    control_plugin: ({ params }) => control(plugins, params.name, params.action),
    control_node_plugin: ({ params }) => refuseNode(params.node) ?? control(plugins, params.name, params.action),
  }
}

async function control(plugins: PluginManager, name: string, action: Action): Promise<{ code: 0 } | ApiError> {
  const plugin = plugins.find(name)
  if (plugin === undefined) return refuse('unknownError', `there is no plugin ${JSON.stringify(name)}`, 404)
  if (action === 'load' && hasStarted(plugin))
    return refuse('pluginEnabled', `the plugin ${JSON.stringify(name)} is loaded`)
  // A suspended plugin can be loaded, because it does not run, and unloaded, because it is enabled.
  if (action !== 'load' && plugin.state === undefined)
    return refuse('pluginClosed', `the plugin ${JSON.stringify(name)} is not loaded`)
  const outcome = await plugins[methods[action]](name)
  if (!('reason' in outcome)) return { code: 0 }
  if (outcome.reason === 'NOT_FOUND') return refuse('unknownError', outcome.problem, 404)
  return refuse('invalidParameter', outcome.problem)
}

const methods = { load: 'start', unload: 'stop', reload: 'reload' } as const satisfies Record<Action, string>

function toRow(plugin: ListedPlugin): Row {
  const { name, version, manifest } = plugin.record
  const authenticates = manifest.hooks.some((hook) => hook === 'client.authenticate' || hook === 'client.authorize')
  return {
    name,
    version,
    description: manifest.description ?? '',
    active: hasStarted(plugin),
    type: authenticates ? 'auth' : 'feature',
  }
}
