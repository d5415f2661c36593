// Settings of `namespaces`: separate sets of clients.

import { listOf } from '../schema/collections.ts'
import { namespacePattern } from '../schema/namespace.ts'
import { section, setting } from '../schema/setting.ts'
import { boolean, choice, integer, optional } from '../schema/setting-type.ts'

const limit = optional(integer({ min: 1, max: 2_147_483_647 }), 'none')
const atOnce = { appliesOn: 'at-once', defaultWords: 'any number' } as const

export const namespaces = section(
  'Namespaces: separate sets of clients on one broker. Each has its own topics, client IDs, credentials, rules and bans.',
  {
    enable: setting(boolean, false, {
      description:
        'Whether namespaces are used: the clients, topics and sessions of different namespaces are separated.',
    }),
    from: setting(listOf(choice(['listener', 'username', 'certificate']), 3), ['listener', 'username', 'certificate'], {
      field: 'sources',
      description:
        'Sources of the namespace of a client, in order of precedence: listeners.*.namespace, its user name by namespaces.username, its certificate by namespaces.certificate. A client whose user name or certificate belongs to another namespace than the selected one is refused.',
    }),
    username: setting(optional(namespacePattern, 'none'), undefined, {
      field: 'usernamePattern',
      description:
        'Position of the namespace in the user name of CONNECT: "${namespace}/*" finds plant-7 in plant-7/pump, "*@${namespace}" in pump@plant-7.',
    }),
    certificate: setting(optional(choice(['cn', 'o', 'ou']), 'none'), undefined, {
      field: 'certificateField',
      description: 'Part of the subject of a client certificate that is the namespace.',
    }),
    max_clients: setting(limit, undefined, {
      ...atOnce,
      description:
        'Maximum number of connected clients of one namespace. max_clients, max_retained_messages and messages_rate apply to each namespace without limits of its own (PUT /api/v5/namespaces/NAME).',
    }),
    max_retained_messages: setting(limit, undefined, {
      ...atOnce,
      description: 'Maximum number of retained messages of one namespace.',
    }),
    messages_rate: setting(limit, undefined, {
      ...atOnce,
      description:
        'Maximum number of messages per second that the clients of one namespace publish together. Beyond it, the broker reads from them more slowly.',
    }),
    max_rules: setting(integer({ min: 0, max: 10_000 }), 100, {
      field: 'maxRules',
      appliesOn: 'at-once',
      description: 'Maximum number of rules of one namespace.',
    }),
    max_actions: setting(integer({ min: 0, max: 1_000 }), 20, {
      field: 'maxActions',
      appliesOn: 'at-once',
      description:
        'Maximum number of actions of one namespace. The same limit applies to its connectors and to its sources.',
    }),
    required: setting(boolean, false, {
      field: 'isRequired',
      description: 'Whether a client that belongs to no namespace is refused.',
    }),
  },
)
