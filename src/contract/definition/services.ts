// Schemas that requests and replies of connectors, actions and sources share.

import { Type } from './schema.ts'

/** Status of a service, in total and for the node. `states`: values that `status` can have. */
export function createStatusFields(states: string) {
  const status = Type.String({ description: states })
  const status_reason = Type.String({ description: 'Reason for the status; empty: none.' })
  const node = Type.Object({ node: Type.String(), status, status_reason: Type.String() })
  return { status, status_reason, node_status: Type.Array(node) }
}

/** A new one. */
export const newOne = Type.Object(
  { type: Type.String(), name: Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' }) },
  { additionalProperties: true, description: 'With settings as in the configuration.' },
)
/** One that is not stored. */
export const probed = Type.Object(
  { type: Type.String(), name: Type.Optional(Type.String()) },
  { additionalProperties: true, description: 'With settings as in the configuration.' },
)
/** All settings of one that exists. */
export const changed = Type.Object({}, { additionalProperties: true, description: 'Settings as in the configuration.' })
export const params = Type.Object({ id: Type.String({ description: 'ID as `type:name`.' }) })
