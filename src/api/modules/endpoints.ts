// Modules: switches of features, with the names of EMQX 4.

import { endpoint, noContent, responseWith, Type } from '../../contract/index.ts'

const module = Type.Object({
  name: Type.String(),
  description: Type.String(),
  active: Type.Boolean({ description: 'Whether the feature is on.' }),
})

const ofNode = Type.Object({ node: Type.String(), modules: Type.Array(module) })
const node = Type.String({ description: 'Name of the node.' })
const name = Type.String({
  description:
    'Name of the module. The names of EMQX with a prefix, such as `emqx_mod_presence`, are possible as well.',
})
const action = Type.Union([Type.Literal('load'), Type.Literal('unload'), Type.Literal('reload')])
const summary =
  'Turns a feature on (load) or off (unload), also for the next starts, or reads its files again (reload). What is stored stays.'
const failures = ['pluginEnabled', 'pluginClosed', 'invalidParameter', 'unknownError'] as const
const otherStatuses = [['unknownError', 404]] as const

export const moduleEndpoints = {
  list_modules: endpoint({
    method: 'GET',
    path: '/modules',
    summary: 'Lists the modules of all nodes.',
    reply: responseWith(Type.Array(ofNode)),
    access: 'read',
  }),
  list_node_modules: endpoint({
    method: 'GET',
    path: '/nodes/:node/modules',
    summary: 'Lists the modules of a node.',
    params: Type.Object({ node }),
    reply: responseWith(Type.Array(module)),
    failures: ['unknownError'],
    otherStatuses,
    access: 'read',
  }),
  control_module: endpoint({
    method: 'PUT',
    path: '/modules/:name/:action',
    summary,
    params: Type.Object({ name, action }),
    reply: noContent,
    failures,
    otherStatuses,
    access: 'change',
  }),
  control_node_module: endpoint({
    method: 'PUT',
    path: '/nodes/:node/modules/:name/:action',
    summary,
    params: Type.Object({ node, name, action }),
    reply: noContent,
    failures,
    otherStatuses,
    access: 'change',
  }),
}
