// namespaces: separate sets of clients.

import { listOf } from '../schema/collections.ts'
import { namespacePattern } from '../schema/namespace.ts'
import { section, setting } from '../schema/setting.ts'
import { boolean, choice, integer, optional } from '../schema/setting-type.ts'

const limit = optional(integer({ min: 1, max: 2_147_483_647 }), 'none')
const atOnce = { takes: 'at-once', defaultWords: 'any number' } as const

export const namespaces = section(
  'Clients can belong to namespaces. Each has topics, client ids, credentials, rules and bans of its own.',
  {
    enable: setting(boolean, false, { description: 'Whether clients are asked for their namespace.' }),
    from: setting(listOf(choice(['listener', 'username', 'certificate']), 3), ['listener', 'username', 'certificate'], {
      description:
        'What says where a client belongs, the first that has an answer: listeners.*.namespace, its user name by namespaces.username, its certificate by namespaces.certificate.',
    }),
    username: setting(optional(namespacePattern, 'none'), undefined, {
      description:
        'Where in the user name of CONNECT the namespace stands: "${namespace}/*" finds plant-7 in plant-7/pump, "*@${namespace}" in pump@plant-7.',
    }),
    certificate: setting(optional(choice(['cn', 'o', 'ou']), 'none'), undefined, {
      description: 'The part of the subject of a client certificate that is the namespace.',
    }),
    max_clients: setting(limit, undefined, {
      ...atOnce,
      description:
        'Clients of one namespace that may be connected at one time. This and the two below hold for each namespace that has no limits of its own: PUT /api/v5/namespaces/NAME.',
    }),
    max_retained_messages: setting(limit, undefined, {
      ...atOnce,
      description: 'Topics of one namespace that may have a retained message.',
    }),
    messages_rate: setting(limit, undefined, {
      ...atOnce,
      description:
        'Messages a second that the clients of one namespace may publish together. They are read from more slowly then.',
    }),
    max_rules: setting(integer({ min: 0, max: 10_000 }), 100, {
      takes: 'at-once',
      description: 'Rules of one namespace.',
    }),
    max_actions: setting(integer({ min: 0, max: 1_000 }), 20, {
      takes: 'at-once',
      description: 'Actions of one namespace, and likewise its connectors and its sources.',
    }),
    required: setting(boolean, false, { description: 'Whether a client that belongs to no namespace is refused.' }),
  },
)
