// auth and http_server: authentication and authorization of clients and administrators.

import { path } from '../schema/path.ts'
import { duration, size } from '../schema/quantities.ts'
import { section, setting } from '../schema/setting.ts'
import { boolean, choice, integer, optional, text } from '../schema/setting-type.ts'
import { authenticators } from './authenticators.ts'
import { failedLogins } from './failed-logins.ts'
import { acl, denyAction, noMatch, authorizationCache } from './acl.ts'

export const auth = section('Authentication and authorization of clients.', {
  allow_anonymous: setting(optional(boolean, 'unset'), undefined, {
    description: 'Whether anonymous clients are accepted.',
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
  no_match: noMatch,
  deny_action: denyAction,
  acl,
  cache: authorizationCache,
})

/** After the response to the change was sent. */
const atOnce = { appliesOn: 'at-once' } as const

export const httpServer = section('The management API over HTTP.', {
  enable: setting(boolean, true, { ...atOnce, description: 'Whether the API is served over HTTP.' }),
  port: setting(integer({ min: 0, max: 65_535 }), 8_081, { ...atOnce, description: 'Port of the API.' }),
  ip_addr: setting(optional(text(), 'none'), undefined, {
    ...atOnce,
    description: 'Address of the API.',
    defaultWords: 'as for listeners with only a port',
  }),
  limit_conn: setting(integer({ min: 1, max: 65_535 }), 32, {
    ...atOnce,
    description: 'Maximum number of concurrent requests.',
  }),
  parallel: setting(optional(integer({ min: 1, max: 65_535 }), 'unset'), undefined, {
    ...atOnce,
    description: 'Older name of limit_conn.',
  }),
  max_body: setting(size({ minBytes: 1_024, maxBytes: 1_073_741_824 }), 1_048_576, {
    ...atOnce,
    description: 'Maximum size of the body of a request.',
  }),
  max_upload: setting(size({ minBytes: 1_024, maxBytes: 17_179_869_184 }), 8_589_934_592, {
    ...atOnce,
    description: 'Maximum size of an uploaded archive.',
  }),
  username: setting(text(), 'admin', { ...atOnce, description: 'Name of the first administrator.' }),
  password: setting(optional(text(), 'none'), undefined, {
    ...atOnce,
    description: 'Password of the first administrator.',
    isSecret: true,
    defaultWords: 'hardened: a random one, shown once at the first start; legacy: public',
  }),
  auth_type: setting(choice(['basic', 'jwt', 'no_auth']), 'basic', {
    ...atOnce,
    description:
      'How requests authenticate. basic: user name and password. jwt: a signed token. no_auth: not at all (on loopback only).',
  }),
  jwt: section('Signed tokens.', {
    public: section('The key that verifies tokens.', {
      keyfile: setting(optional(path('configuration-folder'), 'none'), undefined, {
        ...atOnce,
        description: 'File of the public key, PEM.',
      }),
    }),
    issuer: setting(optional(text(), 'none'), undefined, {
      ...atOnce,
      description: 'Required issuer (claim iss) of a token.',
    }),
    leeway: setting(duration({ minMs: 0, maxMs: 600_000 }), 5_000, {
      ...atOnce,
      description: 'Maximum difference between the clocks of issuer and broker.',
    }),
  }),
})
