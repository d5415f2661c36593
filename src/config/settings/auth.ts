// auth and http_server: who may do what, as a client and as an administrator.

import { textMap } from '../schema/collections.ts'
import { duration, size } from '../schema/quantities.ts'
import { namedSection, section, setting } from '../schema/setting.ts'
import { boolean, choice, integer, optional, text } from '../schema/setting-type.ts'
import { acl, denyAction, noMatch, verdictCache } from './acl.ts'

const dayMs = 86_400_000

function requestSection(description: string) {
  return section(description, {
    url: setting(optional(text(), 'none'), undefined, { description: 'Address of the service.' }),
    method: setting(choice(['POST', 'GET']), 'POST', { description: 'HTTP method.' }),
    headers: setting(textMap, new Map(), { description: 'Headers of the request.', isSecret: true }),
    params: setting(textMap, new Map(), {
      description:
        'Parameters. %u is the user name, %c the client id, %P the password, %a the address, %t the topic, %A the action.',
      isSecret: true,
    }),
  })
}

const httpAuth = section(
  'A service of yours that is asked about clients over HTTP; 200 means yes.',
  {
    auth_req: requestSection('Asked when a client connects.'),
    super_req: requestSection('Asked whether a client may do everything.'),
    acl_req: requestSection('Asked when a client publishes or subscribes.'),
    timeout: setting(duration({ minMs: 100, maxMs: 600_000 }), 5_000, { description: 'How long an answer may take.' }),
    connect_timeout: setting(duration({ minMs: 100, maxMs: 600_000 }), 5_000, {
      description: 'How long connecting may take.',
    }),
    pool_size: setting(integer({ min: 1, max: 65_535 }), 32, { description: 'Connections to the service.' }),
    cache_ttl: setting(duration({ minMs: 0, maxMs: 30 * dayMs }), 0, { description: 'How long an answer holds.' }),
  },
  { engine: 'none yet' },
)

export const auth = section('Who may connect, publish and subscribe.', {
  allow_anonymous: setting(optional(boolean, 'unset'), undefined, {
    description: 'Whether clients without a known name are let in.',
    takes: 'on-next-connect',
    defaultWords: 'hardened: yes from this machine, no from elsewhere; legacy: yes',
  }),
  no_match: noMatch,
  deny_action: denyAction,
  password: namedSection('User names with their passwords, mostly in a file of their own by include.', {
    entries: {},
    placeholder: 'username',
    named: setting(text(), '', { description: 'The password of this user.', isSecret: true, takes: 'on-next-connect' }),
    engine: 'none yet',
  }),
  acl,
  http_auth: httpAuth,
  cache: verdictCache,
})

export const httpServer = section(
  'The management API over HTTP.',
  {
    port: setting(integer({ min: 0, max: 65_535 }), 8_081, { description: 'Port of the API.' }),
    ip_addr: setting(optional(text(), 'none'), undefined, {
      description: 'Address of the API.',
      defaultWords: 'as of listeners that are given as a port only',
    }),
    limit_conn: setting(integer({ min: 1, max: 65_535 }), 32, {
      description: 'Requests that are worked on at one time.',
    }),
    parallel: setting(optional(integer({ min: 1, max: 65_535 }), 'unset'), undefined, {
      description: 'The same as limit_conn, by an older name.',
    }),
    max_body: setting(size({ minBytes: 1_024, maxBytes: 1_073_741_824 }), 1_048_576, {
      description: 'The largest body of a request.',
    }),
    username: setting(text(), 'admin', { description: 'Name of the first administrator.' }),
    password: setting(optional(text(), 'none'), undefined, {
      description: 'Password of the first administrator.',
      isSecret: true,
      defaultWords: 'hardened: a random one, shown once at the first start; legacy: public',
    }),
    auth_type: setting(choice(['basic', 'jwt', 'no_auth']), 'basic', {
      description:
        'How a request shows who it is from: name and password, a signed token, or not at all (on loopback only).',
    }),
    jwt: section('Signed tokens.', {
      public: section('The key that tokens are checked with.', {
        keyfile: setting(optional(text(), 'none'), undefined, { description: 'File of the public key, PEM.' }),
      }),
      issuer: setting(optional(text(), 'none'), undefined, { description: 'The issuer that a token must name.' }),
      leeway: setting(duration({ minMs: 0, maxMs: 600_000 }), 5_000, {
        description: 'How far the clocks of issuer and broker may be apart.',
      }),
    }),
  },
  { engine: 'none yet' },
)
