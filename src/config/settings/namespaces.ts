// namespaces: clients that know nothing of each other.

import { listOf } from '../schema/collections.ts'
import { namespacePattern } from '../schema/namespace.ts'
import { section, setting } from '../schema/setting.ts'
import { boolean, choice, optional } from '../schema/setting-type.ts'

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
    required: setting(boolean, false, { description: 'Whether a client that belongs to no namespace is refused.' }),
  },
)
