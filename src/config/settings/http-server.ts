// http_server: the management API over HTTP, and its first administrator.

import { path } from '../schema/path-type.ts'
import { duration, size } from '../schema/quantities.ts'
import { section, setting } from '../schema/setting.ts'
import { boolean, choice, integer, optional, text } from '../schema/setting-type.ts'

/** After the response to the change was sent. */
const atOnce = { appliesOn: 'at-once' } as const

/** Limits of API requests. */
export const requestLimits = {
  limit_conn: setting(integer({ min: 1, max: 65_535 }), 32, {
    ...atOnce,
    description:
      'Maximum number of API requests in progress at the same time. Further requests wait; while 1024 wait, a further one is refused with status 503.',
  }),
  parallel: setting(optional(integer({ min: 1, max: 65_535 }), 'unset'), undefined, {
    ...atOnce,
    description: 'Older name of http_server.limit_conn. If both are set, parallel applies.',
  }),
  max_body: setting(size({ minBytes: 1_024, maxBytes: 1_073_741_824 }), 1_048_576, {
    field: 'maxBodyBytes',
    ...atOnce,
    description:
      'Maximum size of the body of an API request, except uploaded archives (http_server.max_upload). A larger request is refused.',
  }),
  max_upload: setting(size({ minBytes: 1_024, maxBytes: 17_179_869_184 }), 8_589_934_592, {
    field: 'maxUploadBytes',
    ...atOnce,
    description: 'Maximum size of a backup archive that is uploaded over the API. A larger one is refused.',
  }),
}

export const httpServer = section('The HTTP server of the management API, which `godwit ctl` and the dashboard use.', {
  enable: setting(boolean, true, {
    field: 'isEnabled',
    ...atOnce,
    description: 'Whether the node serves the management API over HTTP.',
  }),
  port: setting(integer({ min: 0, max: 65_535 }), 8_081, {
    field: 'port',
    ...atOnce,
    description: 'TCP port of the management API. 0: a free port.',
  }),
  ip_addr: setting(optional(text(), 'none'), undefined, {
    field: 'host',
    ...atOnce,
    description: 'IP address that the management API listens on. 0.0.0.0 makes it reachable from the network.',
    defaultWords: 'as for listeners with only a port',
  }),
  ...requestLimits,
  username: setting(text(), 'admin', {
    field: 'username',
    ...atOnce,
    description: 'User name of the first administrator, an account of the management API that always exists.',
  }),
  password: setting(optional(text(), 'none'), undefined, {
    field: 'password',
    ...atOnce,
    description: 'Password of the first administrator. It applies in place of a stored one.',
    isSecret: true,
    defaultWords: 'the stored one; without one, hardened: a random one, shown once at the first start; legacy: public',
  }),
  auth_type: setting(choice(['basic', 'jwt', 'no_auth']), 'basic', {
    field: 'authType',
    ...atOnce,
    description:
      'Authentication of API requests. basic: by user name and password. jwt: by a token that http_server.jwt can verify; the first administrator cannot use a password then. no_auth: not at all, which is possible on loopback only.',
  }),
  operator_keyfile: setting(optional(path('configuration-folder'), 'none'), undefined, {
    field: 'operatorKeyFile',
    ...atOnce,
    description:
      'PEM file of the public key of an operator for Kubernetes. Its tokens, which are valid for at most five minutes, are accepted as those of an administrator, in addition to auth_type. The broker then applies changes of its configuration file and of the files that it names without a request.',
  }),
  jwt: section('JSON Web Tokens of API requests, if auth_type is jwt.', {
    public: section('The public key that the signatures of tokens are checked with.', {
      keyfile: setting(optional(path('configuration-folder'), 'none'), undefined, {
        ...atOnce,
        description: 'PEM file of the public key. auth_type = jwt requires it.',
      }),
    }),
    issuer: setting(optional(text(), 'none'), undefined, {
      field: 'issuer',
      ...atOnce,
      description: 'Issuer (claim iss) that a token must have. If it is not set, every issuer is accepted.',
    }),
    leeway: setting(duration({ minMs: 0, maxMs: 600_000 }), 5_000, {
      field: 'leewayMs',
      ...atOnce,
      description:
        'Time for which a token is already accepted before its start (nbf), because clocks differ. Its expiry (exp) is exact.',
    }),
  }),
})
