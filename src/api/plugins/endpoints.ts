// Plugins: packages that extend the broker.

import { endpoint, Type } from '../../contract/index.ts'
import { pluginParams as params, pluginRow } from './plugin-schemas.ts'

const version = 'v5'
const config = Type.Record(Type.String(), Type.Unknown(), { description: 'Configuration of the plugin.' })

export const pluginEndpoints = {
  get_plugins: endpoint({
    version,
    method: 'GET',
    path: '/plugins',
    summary: 'Lists the installed plugins, in the order of their hooks.',
    reply: Type.Array(pluginRow),
    access: 'read',
  }),
  install_plugin: endpoint({
    version,
    method: 'POST',
    path: '/plugins/install',
    summary:
      'Installs a plugin from its archive, as `npm pack` makes it. Over HTTP, `plugins.allow_install` must be true. The plugin is not started.',
    query: Type.Object({
      upgrade: Type.Optional(
        Type.Boolean({ description: 'Replaces another version; configuration, order and state stay. Default: false.' }),
      ),
    }),
    body: 'upload',
    badFormReason: 'BAD_FORM_DATA',
    reply: pluginRow,
    reasons: ['ALREADY_INSTALLED', 'BAD_PLUGIN_INFO', 'BAD_FORM_DATA', 'PARAM_ERROR'],
    access: 'install',
    isLong: true,
  }),
  get_plugin: endpoint({
    version,
    method: 'GET',
    path: '/plugins/:name',
    summary: 'Returns a plugin.',
    params,
    reply: pluginRow,
    reasons: ['NOT_FOUND'],
    access: 'read',
  }),
  delete_plugin: endpoint({
    version,
    method: 'DELETE',
    path: '/plugins/:name',
    summary: 'Stops and uninstalls a plugin, with its configuration and its data.',
    params,
    status: 204,
    reply: Type.Null(),
    reasons: ['NOT_FOUND'],
    access: 'install',
  }),
  change_plugin_state: endpoint({
    version,
    method: 'PUT',
    path: '/plugins/:name/:action',
    summary: 'Starts or stops a plugin, now and at the next starts of the broker.',
    params: Type.Object({ ...params.properties, action: Type.Union([Type.Literal('start'), Type.Literal('stop')]) }),
    status: 204,
    reply: Type.Null(),
    reasons: ['NOT_FOUND', 'PARAM_ERROR'],
    access: 'change',
  }),
  get_plugin_config: endpoint({
    version,
    method: 'GET',
    path: '/plugins/:name/config',
    summary: 'Returns the configuration of a plugin. Secrets are masked.',
    params,
    reply: config,
    reasons: ['NOT_FOUND'],
    access: 'read',
  }),
  change_plugin_config: endpoint({
    version,
    method: 'PUT',
    path: '/plugins/:name/config',
    summary: 'Replaces the configuration of a plugin. A masked secret that is sent back stays.',
    params,
    body: config,
    status: 204,
    reply: Type.Null(),
    reasons: ['NOT_FOUND', 'BAD_CONFIG'],
    access: 'install',
  }),
  get_plugin_schema: endpoint({
    version,
    method: 'GET',
    path: '/plugins/:name/schema',
    summary: 'Returns the JSON Schema of the configuration of a plugin.',
    params,
    reply: Type.Unknown({ description: 'JSON Schema.' }),
    reasons: ['NOT_FOUND'],
    access: 'read',
  }),
  move_plugin: endpoint({
    version,
    method: 'POST',
    path: '/plugins/:name/move',
    summary: 'Changes the position of a plugin in the order of the hooks.',
    params,
    body: Type.Object({ position: Type.String({ description: '`front`, `rear`, `before:NAME` or `after:NAME`.' }) }),
    status: 204,
    reply: Type.Null(),
    reasons: ['NOT_FOUND', 'BAD_POSITION', 'MOVE_FAILED'],
    access: 'install',
  }),
  allow_plugin_permissions: endpoint({
    version,
    method: 'POST',
    path: '/plugins/:name/allow',
    summary:
      'Allows the permissions for which a version of a plugin was refused. Over HTTP, `plugins.allow_install` must be true.',
    params,
    reply: Type.Object({ permissions: Type.Array(Type.String(), { description: 'The added permissions.' }) }),
    reasons: ['NOT_FOUND'],
    access: 'install',
  }),
}
