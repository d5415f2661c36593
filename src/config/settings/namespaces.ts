// Settings of `namespaces`: separate sets of clients.

import { listOf } from '../schema/collections.ts'
import { namespacePattern } from '../schema/namespace.ts'
import { section, setting } from '../schema/setting.ts'
import { boolean, choice, integer, optional } from '../schema/setting-type.ts'

const limit = optional(integer({ min: 1, max: 2_147_483_647 }), 'none')
const atOnce = { appliesOn: 'at-once', defaultWords: 'any number' } as const

export const namespaces = section(
  'Clients can belong to namespaces. Each has topics, client ids, credentials, rules and bans of its own.',
  {
    enable: setting(boolean, false, { description: 'Whether clients belong to namespaces.' }),
    from: setting(listOf(choice(['listener', 'username', 'certificate']), 3), ['listener', 'username', 'certificate'], {
      description:
        'Where the namespace of a client comes from, in order of precedence: listeners.*.namespace, its user name by namespaces.username, its certificate by namespaces.certificate.',
    }),
    username: setting(optional(namespacePattern, 'none'), undefined, {
      description:
        'Position of the namespace in the user name of CONNECT: "${namespace}/*" finds plant-7 in plant-7/pump, "*@${namespace}" in pump@plant-7.',
    }),
    certificate: setting(optional(choice(['cn', 'o', 'ou']), 'none'), undefined, {
      description: 'The part of the subject of a client certificate that is the namespace.',
    }),
    max_clients: setting(limit, undefined, {
      ...atOnce,
      description:
        'Maximum connected clients of one namespace. This limit and the next ones apply to each namespace without limits of its own: PUT /api/v5/namespaces/NAME.',
    }),
    max_retained_messages: setting(limit, undefined, {
      ...atOnce,
      description: 'Maximum retained messages of one namespace.',
    }),
    messages_rate: setting(limit, undefined, {
      ...atOnce,
      description:
        'Maximum messages per second that the clients of one namespace publish together. Beyond it, they are read more slowly.',
    }),
    max_rules: setting(integer({ min: 0, max: 10_000 }), 100, {
      appliesOn: 'at-once',
      description: 'Maximum rules of one namespace.',
    }),
    max_actions: setting(integer({ min: 0, max: 1_000 }), 20, {
      appliesOn: 'at-once',
      description: 'Maximum actions of one namespace; the same maximum applies to its connectors and to its sources.',
    }),
    required: setting(boolean, false, { description: 'Whether a client that belongs to no namespace is refused.' }),
  },
)
