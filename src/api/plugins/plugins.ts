// Plugins.

import { mask } from '../../config/index.ts'
import type { Caller, ReplyOf } from '../../contract/index.ts'
import { ApiError, type Handlers, MalformedUpload, refuseFor } from '../../management/index.ts'
import { hasStarted, type ListedPlugin, type PluginManager } from '../../node/index.ts'
import {
  formatPermission,
  formatVersionedName,
  type LibraryPlugin,
  maskPasswords,
  parsePosition,
  type PluginRefusal,
} from '../../plugins/index.ts'
import type { ApiContext } from '../context/api-context.ts'
import type { pluginEndpoints } from './endpoints.ts'

type Known = typeof pluginEndpoints
type Row = ReplyOf<Known['get_plugin']>
type Dependencies = Pick<ApiContext, 'nodeName' | 'plugins'>

export function createPluginHandlers(context: Dependencies): Handlers<Known> {
  const { plugins } = context
  const find = (name: string): ListedPlugin | ApiError => plugins.find(name) ?? refuseUnknown(name)
  return {
    get_plugins: () => Promise.all(plugins.list().map((plugin) => toRow(plugin, context))),
    install_plugin: async ({ query, body: { content }, caller, addToAudit }) => {
      const refused = refuseRemote(plugins, caller)
      if (refused !== undefined) return refused
      try {
        const installed = await plugins.install(content, { isUpgrade: query.upgrade === true })
        if ('reason' in installed) return toApiError(installed)
        const { name, version, sha256 } = installed.record
        addToAudit?.({ plugin: name, version, sha256 })
        return await toRow(plugins.find(name) ?? { ...installed, state: undefined }, context)
      } catch (error) {
        if (content.errored instanceof MalformedUpload) return refuseFor('BAD_FORM_DATA', content.errored.message)
        throw error
      } finally {
        content.destroy()
      }
    },
    get_plugin: ({ params }) => {
      const plugin = find(params.name)
      return plugin instanceof ApiError ? plugin : toRow(plugin, context)
    },
    delete_plugin: async ({ params }) => toReply(await plugins.delete(params.name)),
    change_plugin_state: async ({ params }) => toReply(await plugins[params.action](params.name)),
    get_plugin_config: ({ params }) => {
      const plugin = find(params.name)
      return plugin instanceof ApiError ? plugin : maskPasswords(plugin.record.schema, plugin.record.config, mask)
    },
    change_plugin_config: async ({ params, body }) => toReply(await plugins.configure(params.name, body)),
    get_plugin_schema: ({ params }) => {
      const plugin = find(params.name)
      if (plugin instanceof ApiError) return plugin
      const { schema, name } = plugin.record
      if (schema === undefined) return refuseFor('NOT_FOUND', `the plugin ${name} has no configuration`)
      return JSON.parse(schema) as unknown
    },
    move_plugin: async ({ params, body }) => {
      const position = parsePosition(body.position)
      if (position !== undefined) return toReply(await plugins.move(params.name, position))
      return refuseFor(
        'BAD_POSITION',
        `the position ${JSON.stringify(body.position)} is none of front, rear, before:NAME and after:NAME`,
      )
    },
    allow_plugin_permissions: async ({ params, caller, addToAudit }) => {
      const refused = refuseRemote(plugins, caller)
      if (refused !== undefined) return refused
      const allowed = await plugins.allowPermissions(params.name)
      if ('reason' in allowed) return toApiError(allowed)
      addToAudit?.({ permissions: allowed.join(', ') })
      return { permissions: [...allowed] }
    },
  }
}

/** Over HTTP, only a setting that the API cannot change allows code of others. The control socket is for users of this machine. */
function refuseRemote({ allowsInstall }: Pick<PluginManager, 'allowsInstall'>, { by }: Caller): ApiError | undefined {
  if (allowsInstall || by === 'socket') return undefined
  const message =
    'plugins cannot be installed over HTTP: set plugins.allow_install = true in the configuration file or with --set, or use "godwit plugins install" on the machine of the broker'
  return refuseFor('FORBIDDEN', message)
}

function toReply(outcome: LibraryPlugin | PluginRefusal): null | ApiError {
  return 'reason' in outcome ? toApiError(outcome) : null
}

export function toApiError({ reason, problem }: PluginRefusal): ApiError {
  return refuseFor(reason, problem)
}

function refuseUnknown(name: string): ApiError {
  return refuseFor('NOT_FOUND', `there is no plugin ${JSON.stringify(name)}`)
}

async function toRow(plugin: ListedPlugin, { nodeName: node, plugins }: Dependencies): Promise<Row> {
  const { record, state } = plugin
  const { name, version, sha256, manifest, isEnabled } = record
  return {
    name,
    rel_vsn: version,
    rel_apps: [formatVersionedName(record)],
    author: manifest.author === undefined ? [] : [manifest.author],
    description: manifest.description ?? '',
    readme: await plugins.readReadme(plugin),
    sha256,
    permissions: manifest.permissions.map(formatPermission),
    hooks: [...manifest.hooks],
    enabled: isEnabled,
    network: state !== undefined && hasStarted(plugin) ? state.network : 'unknown',
    problem: state?.problem ?? '',
    calls: state?.calls ?? 0,
    failures: state?.failures ?? 0,
    pending: state?.pending ?? 0,
    restarts: state?.restarts ?? 0,
    running_status: [{ node, status: hasStarted(plugin) ? 'running' : 'stopped' }],
  }
}
