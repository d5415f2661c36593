// Shapes that the endpoints of plugins share.

import { Type } from '../../contract/index.ts'

export const pluginParams = Type.Object({
  name: Type.String({ description: 'Name of the plugin, or name and version as `NAME-VERSION`.' }),
})

const status = Type.Union([Type.Literal('running'), Type.Literal('stopped')])

export const pluginRow = Type.Object({
  name: Type.String(),
  rel_vsn: Type.String({ description: 'Version of the plugin.' }),
  rel_apps: Type.Array(Type.String(), { description: 'Name and version of the plugin.' }),
  author: Type.Array(Type.String()),
  description: Type.String(),
  readme: Type.String({ description: 'README.md of the plugin, at most 262,144 characters.' }),
  sha256: Type.String({ description: 'SHA-256 of the archive, in hexadecimal digits.' }),
  permissions: Type.Array(Type.String(), { description: 'net, fs:read:PATH and fs:write:PATH.' }),
  hooks: Type.Array(Type.String(), { description: 'Hooks of the plugin.' }),
  enabled: Type.Boolean({ description: 'Whether the plugin starts with the broker.' }),
  network: Type.Union(
    [
      Type.Literal('allowed'),
      Type.Literal('refused-by-system'),
      Type.Literal('refused-by-process'),
      Type.Literal('unknown'),
    ],
    {
      description:
        'Access to the network. refused-by-system: the process has a network namespace without devices; refused-by-process: only Node refuses it; unknown: it is stopped.',
    },
  ),
  problem: Type.String({ description: 'Why its process ended or its calls fail; empty: it works, or it is stopped.' }),
  calls: Type.Integer({ minimum: 0, description: 'Number of calls since it was started.' }),
  failures: Type.Integer({ minimum: 0, description: 'Number of failed calls since it was started.' }),
  pending: Type.Integer({ minimum: 0, description: 'Number of calls without an answer.' }),
  restarts: Type.Integer({ minimum: 0, description: 'Number of times that its process was started again.' }),
  running_status: Type.Array(Type.Object({ node: Type.String(), status })),
})
