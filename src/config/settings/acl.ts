// auth.acl and related settings: authorization of clients.

import { aclRule } from '../acl/acl-rule-setting.ts'
import { maxAclRules } from '../acl/read-acl-file.ts'
import { listOf } from '../schema/collections.ts'
import { path } from '../schema/path.ts'
import { duration } from '../schema/quantities.ts'
import { section, setting } from '../schema/setting.ts'
import { choice, integer, optional } from '../schema/setting-type.ts'

const dayMs = 86_400_000

export const noMatch = setting(optional(choice(['allow', 'deny']), 'unset'), undefined, {
  description: 'What holds where no rule says anything.',
  takes: 'at-once',
  defaultWords:
    'hardened: deny once auth.acl.rules, auth.acl.file or auth.http_auth.acl_req is set, allow without; legacy: allow',
})

export const denyAction = setting(choice(['ignore', 'disconnect']), 'ignore', {
  description: 'What happens to a client that does what it may not: the message is dropped, or the connection ends.',
  takes: 'at-once',
})

export const acl = section('Rules about topics.', {
  rules: setting(listOf(aclRule, maxAclRules), [], {
    description:
      'Each rule says permit (allow or deny), action (publish, subscribe or pubsub), topics, and the clients that it applies to: username, clientid, ' +
      'ipaddr, ipaddrs, and or or with several of these. The first that fits counts. ' +
      '${clientid} and ${username} in a topic stand for what the client is called; a topic that begins with @ is taken literally.',
    takes: 'at-once',
  }),
  file: setting(optional(path('configuration-folder'), 'none'), undefined, {
    description:
      'File of further rules, asked after auth.acl.rules: an acl.conf of EMQX, or a list named rules in the language of this file. ' +
      'A file that is missing or has a fault keeps the broker from starting. Its name counts from the folder of this file.',
    takes: 'at-once',
  }),
})

export const authorizationCache = section('How long answers of auth.http_auth.acl_req are remembered.', {
  max_size: setting(integer({ min: 0, max: 1_000_000 }), 32, {
    description: 'Answers remembered for one client.',
    takes: 'at-once',
  }),
  ttl: setting(duration({ minMs: 0, maxMs: 30 * dayMs }), 60_000, {
    description: 'How long an answer holds, where auth.http_auth.cache_ttl is 0.',
    takes: 'at-once',
  }),
})
