// auth.acl and related settings: authorization of clients.

import { aclRule } from '../acl/acl-rule-setting.ts'
import { maxAclRules } from '../acl/read-acl-file.ts'
import { listOf } from '../schema/collections.ts'
import { path } from '../schema/path-type.ts'
import { duration } from '../schema/quantities.ts'
import { section, setting } from '../schema/setting.ts'
import { choice, integer, optional } from '../schema/setting-type.ts'

const dayMs = 86_400_000

/** What happens to an action that no rule matches, and to a denied one. */
export const aclDecisions = {
  no_match: setting(optional(choice(['allow', 'deny']), 'unset'), undefined, {
    description: 'Decision about a publication or subscription that no access rule matches.',
    appliesOn: 'at-once',
    defaultWords:
      'hardened: deny if auth.acl.rules, auth.acl.file or auth.http_auth.acl_req is set, otherwise allow; legacy: allow',
  }),
  deny_action: setting(choice(['ignore', 'disconnect']), 'ignore', {
    field: 'denyAction',
    description: 'Whether a denied publication or subscription also ends the connection. ignore: it does not.',
    appliesOn: 'at-once',
  }),
}

export const acl = section('Access rules: which clients may publish and subscribe to which topics.', {
  rules: setting(listOf(aclRule, maxAclRules), [], {
    description:
      'Each rule has permit (allow or deny), action (publish, subscribe or pubsub), topics, and the clients that it applies to: username, clientid, ' +
      'ipaddr, ipaddrs, or a list of these under the key and or the key or. The first matching rule decides. ' +
      '${clientid} and ${username} in a topic are replaced by the client ID and user name; a topic that begins with @ has no placeholders.',
    appliesOn: 'at-once',
  }),
  file: setting(optional(path('configuration-folder'), 'none'), undefined, {
    description:
      'File of further rules, which are checked after auth.acl.rules: an acl.conf of EMQX, or HOCON with a list named rules. ' +
      'If the file is missing, empty or invalid, the broker does not start; a file with a comment only has no rules. A relative path starts at the folder of the configuration file.',
    appliesOn: 'at-once',
  }),
})

export const authorizationCache = section('Cache of the responses to auth.http_auth.acl_req.', {
  max_size: setting(integer({ min: 0, max: 1_000_000 }), 32, {
    field: 'maxDecisions',
    description: 'Maximum number of cached responses for one client.',
    appliesOn: 'at-once',
  }),
  ttl: setting(duration({ minMs: 0, maxMs: 30 * dayMs }), 60_000, {
    description: 'Time for which a response is cached. It applies only if auth.http_auth.cache_ttl is 0.',
    appliesOn: 'at-once',
  }),
})
