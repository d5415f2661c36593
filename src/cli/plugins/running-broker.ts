// Plugins of a running broker, over its API.

import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { ApiClient } from '../../api/endpoints.ts'
import { describeFileError } from '../../telemetry/index.ts'
import { type Outcome, reportDone, showReply } from '../ctl/ctl-command.ts'
import { describeAllowed, describeInstalled, pluginColumns, type PluginTarget } from './plugin-target.ts'

export function createRunningTarget(client: ApiClient): PluginTarget {
  const changeState = (name: string, action: 'start' | 'stop', sentence: string): Promise<Outcome> =>
    reportDone(client.change_plugin_state({ params: { name, action } }), sentence)
  return {
    list: () =>
      showReply(client.get_plugins(), (plugins) => ({
        rows: plugins.map(({ rel_vsn: version, running_status: [state], permissions, hooks, ...plugin }) => ({
          ...plugin,
          version,
          status: state?.status ?? 'stopped',
          permissions: permissions.join(' '),
          hooks: hooks.join(' '),
        })),
        columns: pluginColumns,
        document: plugins,
      })),
    install: (path, options) => install(client, path, options),
    uninstall: (name) => reportDone(client.delete_plugin({ params: { name } }), `${name} is uninstalled`),
    enable: (name) => changeState(name, 'start', `${name} is started`),
    disable: (name) => changeState(name, 'stop', `${name} is stopped`),
    reload: (name) =>
      reportDone(client.control_plugin({ params: { name, action: 'reload' } }), `${name} has a new process`),
    allow: (name) =>
      showReply(client.allow_plugin_permissions({ params: { name } }), ({ permissions }) => ({
        text: describeAllowed(name, permissions),
        document: { permissions },
      })),
    move: (name, position) =>
      reportDone(client.move_plugin({ params: { name }, body: { position } }), `${name} is moved`),
  }
}

async function install(
  client: ApiClient,
  path: string,
  { isUpgrade }: { readonly isUpgrade: boolean },
): Promise<Outcome> {
  try {
    await stat(path)
  } catch (error) {
    return { problem: `${path}: ${describeFileError(error)}` }
  }
  const body = { filename: basename(path), content: createReadStream(path) }
  return showReply(client.install_plugin({ query: { upgrade: isUpgrade }, body }), (plugin) => ({
    text: describeInstalled(plugin.name, plugin.rel_vsn, plugin.enabled),
    document: plugin,
  }))
}
