// auth: authentication and authorization of clients.

import { section, setting } from '../schema/setting.ts'
import { boolean, choice, optional } from '../schema/setting-type.ts'
import { authenticators } from './authenticators.ts'
import { failedLogins } from './failed-logins.ts'
import { acl, aclDecisions, authorizationCache } from './acl.ts'

export const auth = section('Authentication and authorization of clients.', {
  allow_anonymous: setting(optional(boolean, 'unset'), undefined, {
    description:
      'Whether clients that no authenticator of auth.chain knows are accepted (anonymous clients). Set it to false when all clients have credentials.',
    appliesOn: 'on-next-connect',
    defaultWords: 'hardened: yes on loopback, otherwise no; legacy: yes',
  }),
  client_id_binding: setting(choice(['auto', 'identity', 'none']), 'auto', {
    description:
      'identity: a session belongs to the user name or certificate that created it, and a client with another identity cannot use its client ID. none: each accepted client can use any client ID, and takes over its session. auto: identity in the hardened profile, none in the legacy profile.',
    appliesOn: 'on-next-connect',
  }),
  ...authenticators,
  failed_logins: failedLogins,
  ...aclDecisions,
  acl,
  cache: authorizationCache,
})
