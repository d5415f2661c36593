// Authenticators of auth: the chain and its members.

import { listOf, textMap } from '../schema/collections.ts'
import { path } from '../schema/path-type.ts'
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
  field: 'chain',
  description:
    'The authenticators in order: the first that knows the client decides. If the list is empty, the ' +
    'hardened profile refuses all clients.',
  defaultWords: 'those that are set up below, in the order certificate, psk, password, scram, jwt, http',
  ...onNextConnect,
})

const passwords = namedSection(
  'Passwords of clients by user name: the key is the user name. `include` can keep them in a separate file.',
  {
    entries: {},
    placeholder: 'username',
    named: setting(text(), '', { description: 'The password of this user.', isSecret: true, ...onNextConnect }),
  },
)

const configuredPassword = setting(nothing, undefined, {
  description: 'Password of this client ID.',
  isSecret: true,
  ...onNextConnect,
})
const configuredSuperuser = setting(boolean, false, {
  description: 'Whether all publications and subscriptions are allowed, whatever the access rules are.',
  ...onNextConnect,
})

const users = namedSection(
  'Users with a user name and a password. `<name>` is a label of the entry and has no effect. A stored user with the same user name replaces the entry.',
  {
    entries: {},
    placeholder: 'name',
    named: section('One user.', {
      username: setting(nothing, undefined, {
        description: 'User name that the password belongs to.',
        ...onNextConnect,
      }),
      password: configuredPassword,
      is_superuser: configuredSuperuser,
    }),
  },
)

const clients = namedSection(
  'Clients that authenticate by client ID and password. `<name>` is a label of the entry and has no effect.',
  {
    entries: {},
    placeholder: 'name',
    named: section('A client with a client ID and a password.', {
      clientid: setting(nothing, undefined, {
        description: 'Client ID that the password belongs to.',
        ...onNextConnect,
      }),
      password: configuredPassword,
      is_superuser: configuredSuperuser,
    }),
  },
)

const certificate = section('Authentication by the client certificate, which the TLS listener has verified.', {
  enable: setting(boolean, false, {
    description: 'Whether a client with a verified certificate is accepted without a password.',
    ...onNextConnect,
  }),
  username: setting(choice(['common_name', 'subject', 'serial_number', 'fingerprint']), 'common_name', {
    description: 'Part of the certificate that is the user name, if the listener does not set peer_cert_as_username.',
    ...onNextConnect,
  }),
})

const psk = section('Authentication by the pre-shared key (PSK) of the TLS connection.', {
  enable: setting(boolean, false, {
    description:
      'Whether a client with a pre-shared key is accepted without a password. The identity of the key is its user name.',
    ...onNextConnect,
  }),
})

const jwt = section(
  'Authentication by a JSON Web Token. The broker checks it without a request to its issuer; it must have an expiry time (claim exp).',
  {
    enable: setting(boolean, true, {
      description: 'Whether JSON Web Tokens are accepted. A key to check them is required.',
      ...onNextConnect,
    }),
    from: setting(choice(['password', 'username']), 'password', {
      field: 'from',
      description: 'Whether the token is in the user name or in the password of CONNECT.',
      ...onNextConnect,
    }),
    secret: setting(nothing, undefined, {
      description: 'Secret of tokens that are signed with HMAC (HS256, HS384, HS512), at least 32 bytes.',
      isSecret: true,
      ...onNextConnect,
    }),
    secret_encoding: setting(choice(['text', 'base64']), 'text', {
      description: 'Encoding of secret in the configuration.',
      ...onNextConnect,
    }),
    public_key_file: setting(noFile, undefined, {
      description:
        'PEM file of a public key. The kind of key determines the signature algorithm: RS256 for RSA, ES256 for P-256, EdDSA for Ed25519.',
      ...onNextConnect,
    }),
    jwks_file: setting(noFile, undefined, {
      description: 'File with several public keys as a JSON Web Key Set. Keys that a token links to are never used.',
      ...onNextConnect,
    }),
    leeway: setting(duration({ minMs: 0, maxMs: 600_000 }), 5_000, {
      field: 'leewayMs',
      description:
        'Time for which a token is already accepted before its start (nbf), because clocks differ. Its expiry (exp) is exact.',
      ...onNextConnect,
    }),
    verify_claims: setting(textMap, new Map(), {
      description:
        'Claims that a token must have, each with its value. In a value, %c or ${clientid} is replaced by the client ID, and %u or ${username} by the user name.',
      ...onNextConnect,
    }),
    username_claim: setting(nothing, undefined, {
      field: 'usernameClaim',
      description: 'Name of the claim that contains the user name of the client.',
      defaultWords: 'none: the user name is that of CONNECT',
      ...onNextConnect,
    }),
    acl_claim: setting(text(), 'acl', {
      field: 'aclClaim',
      description:
        'Name of the claim that contains the access rules of the client: lists of topic filters under pub, sub and all.',
      ...onNextConnect,
    }),
    disconnect_when_expired: setting(boolean, true, {
      field: 'endsWithToken',
      description: 'Whether a client is disconnected when its token expires.',
      ...onNextConnect,
    }),
  },
)

const scram = section(
  'Authentication of MQTT 5.0 clients by SCRAM: they prove that they know a password without sending it.',
  {
    enable: setting(boolean, true, {
      description:
        'Whether clients may authenticate with SCRAM-SHA-256 and SCRAM-SHA-512 (enhanced authentication of MQTT 5.0). Users for SCRAM are required.',
      ...onNextConnect,
    }),
    iterations: setting(integer({ min: 4_096, max: 1_000_000 }), 10_000, {
      field: 'iterations',
      description:
        'Number of iterations of PBKDF2 for new SCRAM passwords. More iterations make guessing, and each login, slower.',
      ...onNextConnect,
    }),
    user: namedSection(
      'Users for SCRAM. `<name>` is a label of the entry and has no effect. A stored SCRAM user with the same user name replaces the entry.',
      {
        entries: {},
        placeholder: 'name',
        named: section('One user.', {
          username: setting(nothing, undefined, {
            description: 'User name that the password belongs to.',
            ...onNextConnect,
          }),
          password: configuredPassword,
          algorithm: setting(choice(scramAlgorithmValues), 'SCRAM-SHA-256', {
            description: 'SCRAM method of this user.',
            ...onNextConnect,
          }),
          is_superuser: configuredSuperuser,
        }),
      },
    ),
  },
)

const placeholders =
  '%c is the client id, %u the user name, %P the password, %a the address of the client, %r the protocol, %p the port of ' +
  'the listener, %C and %d common name and subject of its certificate, %t the topic, %A the action (1 subscribe, 2 publish), ' +
  '%m the mount point.'

function requestSection(description: string) {
  return section(description, {
    url: setting(nothing, undefined, { field: 'url', description: 'URL of the HTTP service.', ...onNextConnect }),
    method: setting(choice(['POST', 'GET']), 'POST', {
      field: 'method',
      description: 'HTTP method of the requests.',
      ...onNextConnect,
    }),
    headers: setting(textMap, new Map(), {
      description:
        'HTTP headers of the requests. content-type determines the encoding of the parameters of a POST request: JSON for application/json, otherwise form data.',
      isSecret: true,
      ...onNextConnect,
    }),
    params: setting(textMap, new Map(), {
      description: `Parameters of the requests. ${placeholders}`,
      isSecret: true,
      ...onNextConnect,
    }),
  })
}

const httpAuth = section(
  'Authentication and authorization by an HTTP service: status 200 accepts or allows, 4xx refuses or denies.',
  {
    enable: setting(boolean, true, { description: 'Whether the service is used. It requires url.', ...onNextConnect }),
    auth_req: requestSection('The request that decides whether a client that connects is accepted.'),
    super_req: requestSection(
      'The request that decides whether an accepted client is a superuser: access rules do not apply to superusers.',
    ),
    acl_req: requestSection(
      'The request that decides whether a client may publish to a topic or subscribe to a topic filter.',
    ),
    timeout: setting(duration({ minMs: 100, maxMs: 600_000 }), 5_000, {
      field: 'timeoutMs',
      description:
        'Maximum time until the service has responded, including the time that the request waits for a free connection.',
      ...onNextConnect,
    }),
    connect_timeout: setting(duration({ minMs: 100, maxMs: 600_000 }), 5_000, {
      field: 'connectTimeoutMs',
      description: 'Maximum time until a connection to the service is open.',
      ...onNextConnect,
    }),
    pool_size: setting(integer({ min: 1, max: 65_535 }), 32, {
      field: 'poolSize',
      description: 'Maximum number of connections of each shard to the service. Further requests wait for a free one.',
      ...onNextConnect,
    }),
    max_waiting: setting(integer({ min: 0, max: 1_000_000 }), 10_000, {
      field: 'maxWaiting',
      description:
        'Maximum number of requests of each shard that wait for a free connection. A further request fails as if the service had not responded.',
      ...onNextConnect,
    }),
    cache_ttl: setting(duration({ minMs: 0, maxMs: 30 * dayMs }), 0, {
      field: 'cacheTtlMs',
      description:
        'Time for which a response to auth_req and super_req is cached for the same client with the same password. 0: it is not cached.',
      ...onNextConnect,
    }),
  },
)

/** Entries of `auth`, in the order of the reference. */
export const authenticators = {
  chain,
  password: passwords,
  user: users,
  client: clients,
  password_hash: setting(choice(['sha256', 'sha512', 'sha', 'md5', 'plain']), 'sha256', {
    field: 'passwordHash',
    description: 'Hash algorithm of client passwords that are stored from now on. Stored passwords keep theirs.',
    ...onNextConnect,
  }),
  salt_position: setting(choice(['prefix', 'suffix']), 'prefix', {
    field: 'saltPosition',
    description:
      'Whether the salt is put before or after a new password when it is hashed. Each stored password keeps the position that it was hashed with, so that a change locks no user out.',
    ...onNextConnect,
  }),
  certificate,
  psk,
  scram,
  jwt,
  http_auth: httpAuth,
}
