// Plugins in version 4.

import { endpoint, noContent, responseWith, Type } from '../../contract/index.ts'
import { pluginParams } from './plugin-schemas.ts'

const plugin = Type.Object({
  name: Type.String(),
  version: Type.String(),
  description: Type.String(),
  active: Type.Boolean({ description: 'Whether the plugin is started.' }),
  type: Type.Union([Type.Literal('auth'), Type.Literal('feature')], {
    description: 'auth: it authenticates or authorizes clients.',
  }),
})

const ofNode = Type.Object({ node: Type.String(), plugins: Type.Array(plugin) })
const node = Type.String({ description: 'Name of the node.' })
const action = Type.Union([Type.Literal('load'), Type.Literal('unload'), Type.Literal('reload')])
const summary = 'Starts a plugin (load), stops it (unload), or replaces its process by a new one (reload).'
const failures = ['pluginEnabled', 'pluginClosed', 'invalidParameter', 'unknownError'] as const
const otherStatuses = [['unknownError', 404]] as const

export const v4PluginEndpoints = {
  list_plugins: endpoint({
    method: 'GET',
    path: '/plugins',
    summary: 'Lists the installed plugins of all nodes.',
    reply: responseWith(Type.Array(ofNode)),
    access: 'read',
  }),
  list_node_plugins: endpoint({
    method: 'GET',
    path: '/nodes/:node/plugins',
    summary: 'Lists the installed plugins of a node.',
    params: Type.Object({ node }),
    reply: responseWith(Type.Array(plugin)),
    failures: ['unknownError'],
    otherStatuses,
    access: 'read',
  }),
  control_plugin: endpoint({
    method: 'PUT',
    path: '/plugins/:name/:action',
    summary,
    params: Type.Object({ ...pluginParams.properties, action }),
    reply: noContent,
    failures,
    otherStatuses,
    access: 'change',
  }),
  control_node_plugin: endpoint({
    method: 'PUT',
    path: '/nodes/:node/plugins/:name/:action',
    summary,
    params: Type.Object({ node, ...pluginParams.properties, action }),
    reply: noContent,
    failures,
    otherStatuses,
    access: 'change',
  }),
}
