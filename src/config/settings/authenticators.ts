// Authenticators of auth: the chain and its members.

import { listOf, textMap } from '../schema/collections.ts'
import { path } from '../schema/path.ts'
import { duration } from '../schema/quantities.ts'
import { namedSection, section, setting } from '../schema/setting.ts'
import { boolean, choice, integer, optional, text } from '../schema/setting-type.ts'

const dayMs = 86_400_000

/** The order if `auth.chain` is not set. */
export const authenticatorValues = ['certificate', 'psk', 'password', 'scram', 'jwt', 'http'] as const

export const scramAlgorithmValues = ['SCRAM-SHA-256', 'SCRAM-SHA-512'] as const

const onNextConnect = { appliesOn: 'on-next-connect' } as const
const nothing = optional(text(), 'none')
const noFile = optional(path('configuration-folder'), 'none')

const chain = setting(optional(listOf(choice(authenticatorValues), authenticatorValues.length), 'auto'), undefined, {
  description:
    'The authenticators in order: the first that knows the client decides. If the list is empty, the ' +
    'hardened profile refuses all clients.',
  defaultWords: 'those that are set up below, in the order certificate, psk, password, scram, jwt, http',
  ...onNextConnect,
})

const passwords = namedSection('User names with their passwords, mostly in a file of their own by include.', {
  entries: {},
  placeholder: 'username',
  named: setting(text(), '', { description: 'The password of this user.', isSecret: true, ...onNextConnect }),
})

const configuredPassword = setting(nothing, undefined, {
  description: 'Its password.',
  isSecret: true,
  ...onNextConnect,
})
const configuredSuperuser = setting(boolean, false, {
  description: 'Whether nothing is denied to it.',
  ...onNextConnect,
})

const users = namedSection(
  'Users, each under a name or number of its own; a stored user of the same name counts instead.',
  {
    entries: {},
    placeholder: 'name',
    named: section('One user.', {
      username: setting(nothing, undefined, { description: 'The user name.', ...onNextConnect }),
      password: configuredPassword,
      is_superuser: configuredSuperuser,
    }),
  },
)

const clients = namedSection('Clients with a password of their own, as users are, but known by client id.', {
  entries: {},
  placeholder: 'name',
  named: section('One client.', {
    clientid: setting(nothing, undefined, { description: 'The client id.', ...onNextConnect }),
    password: configuredPassword,
    is_superuser: configuredSuperuser,
  }),
})

const certificate = section('Clients that came with a certificate which the listener has verified.', {
  enable: setting(boolean, false, {
    description: 'Whether such a client is let in without a password.',
    ...onNextConnect,
  }),
  username: setting(choice(['common_name', 'subject', 'serial_number', 'fingerprint']), 'common_name', {
    description: 'What of the certificate is its user name, where the listener does not say so already.',
    ...onNextConnect,
  }),
})

const psk = section('Clients that came by TLS with a key that both sides know.', {
  enable: setting(boolean, false, {
    description: 'Whether such a client is let in without a password; the identity of its key is its user name.',
    ...onNextConnect,
  }),
})

const jwt = section('Clients that show a signed token. It must say when it ends (exp), and is checked locally.', {
  enable: setting(boolean, true, {
    description: 'Whether tokens are taken, where a key for them is set.',
    ...onNextConnect,
  }),
  from: setting(choice(['password', 'username']), 'password', {
    description: 'Where in CONNECT the token stands.',
    ...onNextConnect,
  }),
  secret: setting(nothing, undefined, {
    description: 'Secret of tokens that are signed with HMAC (HS256, HS384, HS512); at least 32 bytes.',
    isSecret: true,
    ...onNextConnect,
  }),
  secret_encoding: setting(choice(['text', 'base64']), 'text', {
    description: 'How the secret is written.',
    ...onNextConnect,
  }),
  public_key_file: setting(noFile, undefined, {
    description:
      'PEM file of a public key. The kind of key says how tokens are signed: RSA RS256, P-256 ES256, Ed25519 EdDSA.',
    ...onNextConnect,
  }),
  jwks_file: setting(noFile, undefined, {
    description: 'File with several public keys as a JSON Web Key Set. Keys that a token links to are never used.',
    ...onNextConnect,
  }),
  leeway: setting(duration({ minMs: 0, maxMs: 600_000 }), 5_000, {
    description: 'How far the clocks of issuer and broker may be apart.',
    ...onNextConnect,
  }),
  verify_claims: setting(textMap, new Map(), {
    description:
      'Claims that a token must have, each with its value. %c or ${clientid} in it is the client id, %u or ${username} the user name.',
    ...onNextConnect,
  }),
  username_claim: setting(nothing, undefined, {
    description: 'The claim that is the user name of the client.',
    defaultWords: 'none: the user name is that of CONNECT',
    ...onNextConnect,
  }),
  acl_claim: setting(text(), 'acl', {
    description: 'The claim with what the client may do: lists of topics under pub, sub and all.',
    ...onNextConnect,
  }),
  disconnect_when_expired: setting(boolean, true, {
    description: 'Whether a client is disconnected when its token expires.',
    ...onNextConnect,
  }),
})

const scram = section('Clients of MQTT 5.0 that show that they know a password without sending it (SCRAM).', {
  enable: setting(boolean, true, {
    description: 'Whether the methods SCRAM-SHA-256 and SCRAM-SHA-512 are offered, where there are users for them.',
    ...onNextConnect,
  }),
  iterations: setting(integer({ min: 4_096, max: 1_000_000 }), 10_000, {
    description: 'Work that is put between a password and what is kept of it.',
    ...onNextConnect,
  }),
  user: namedSection('Users, each under a name or number of its own; a stored one of the same name counts instead.', {
    entries: {},
    placeholder: 'name',
    named: section('One user.', {
      username: setting(nothing, undefined, { description: 'The user name.', ...onNextConnect }),
      password: configuredPassword,
      algorithm: setting(choice(scramAlgorithmValues), 'SCRAM-SHA-256', {
        description: 'The method by which it comes in.',
        ...onNextConnect,
      }),
      is_superuser: configuredSuperuser,
    }),
  }),
})

const placeholders =
  '%c is the client id, %u the user name, %P the password, %a the address of the client, %r the protocol, %p the port of ' +
  'the listener, %C and %d common name and subject of its certificate, %t the topic, %A the action (1 subscribe, 2 publish), ' +
  '%m the mount point.'

function requestSection(description: string) {
  return section(description, {
    url: setting(nothing, undefined, { description: 'Address of the service.', ...onNextConnect }),
    method: setting(choice(['POST', 'GET']), 'POST', { description: 'HTTP method.', ...onNextConnect }),
    headers: setting(textMap, new Map(), {
      description:
        'Headers of the request. content-type says how parameters are sent by POST: application/json, or as a form.',
      isSecret: true,
      ...onNextConnect,
    }),
    params: setting(textMap, new Map(), {
      description: `Parameters. ${placeholders}`,
      isSecret: true,
      ...onNextConnect,
    }),
  })
}

const httpAuth = section('A service of yours that is asked about clients over HTTP; 200 means yes, 4xx means no.', {
  enable: setting(boolean, true, { description: 'Whether it is asked, where an address is set.', ...onNextConnect }),
  auth_req: requestSection('Asked when a client connects.'),
  super_req: requestSection('Asked, when a client is let in, whether it may do everything.'),
  acl_req: requestSection('Asked when a client publishes or subscribes.'),
  timeout: setting(duration({ minMs: 100, maxMs: 600_000 }), 5_000, {
    description: 'How long an answer may take, with the waiting for a free connection.',
    ...onNextConnect,
  }),
  connect_timeout: setting(duration({ minMs: 100, maxMs: 600_000 }), 5_000, {
    description: 'How long connecting may take.',
    ...onNextConnect,
  }),
  pool_size: setting(integer({ min: 1, max: 65_535 }), 32, {
    description: 'Connections of each shard to the service; further requests wait.',
    ...onNextConnect,
  }),
  max_waiting: setting(integer({ min: 0, max: 1_000_000 }), 10_000, {
    description: 'Requests of each shard that wait for a free connection; one more counts as not answered.',
    ...onNextConnect,
  }),
  cache_ttl: setting(duration({ minMs: 0, maxMs: 30 * dayMs }), 0, {
    description: 'How long an answer to auth_req and super_req holds for the same client with the same password.',
    ...onNextConnect,
  }),
})

/** Entries of `auth`, in the order of the reference. */
export const authenticators = {
  chain,
  password: passwords,
  user: users,
  client: clients,
  password_hash: setting(choice(['sha256', 'sha512', 'sha', 'md5', 'plain']), 'sha256', {
    description: 'How new passwords of clients are kept.',
    ...onNextConnect,
  }),
  salt_position: setting(choice(['prefix', 'suffix']), 'prefix', {
    description:
      'Whether the salt of new passwords stands before or behind them when they are hashed. Each stored password carries the position that it was hashed with: a change locks no user out.',
    ...onNextConnect,
  }),
  certificate,
  psk,
  scram,
  jwt,
  http_auth: httpAuth,
}
