// gateway.<name>.authentication and gateway.<name>.listeners.<type>.<name>.authentication.

import { textMap } from '../schema/collections.ts'
import { duration } from '../schema/quantities.ts'
import { section, setting } from '../schema/setting.ts'
import { boolean, choice, integer, optional, text } from '../schema/setting-type.ts'

const maybeText = optional(text(), 'none')

const hashAlgorithm = section('built_in_database: how new passwords are hashed.', {
  name: setting(choice(['sha256', 'sha512', 'sha', 'md5', 'plain']), 'sha256', {
    description: 'Hash algorithm of stored passwords.',
  }),
  salt_position: setting(choice(['prefix', 'suffix', 'disable']), 'prefix', {
    description:
      'Whether the salt is put before or after the password when it is hashed. disable is possible only with plain.',
  }),
})

/** `scope`: the gateway or listener that authenticates its clients; `otherwise`: the authentication that applies if it is not set. */
export function createAuthenticationSection(scope: string, otherwise: string) {
  return section(`Authentication of the clients of ${scope}. If it is not set, ${otherwise} applies.`, {
    enable: setting(boolean, true, {
      description: `Whether this authentication is used. If false, ${otherwise} applies.`,
    }),
    mechanism: setting(optional(choice(['password_based', 'jwt']), 'none'), undefined, {
      description: 'password_based: user name or client ID with a password. jwt: a signed token.',
    }),
    backend: setting(choice(['built_in_database', 'http']), 'built_in_database', {
      description:
        'password_based: built_in_database checks the users that the API stores for this gateway or listener, http queries an HTTP service.',
    }),
    user_id_type: setting(choice(['username', 'clientid']), 'username', {
      description: 'built_in_database: whether users are identified by the user name or by the client ID.',
    }),
    password_hash_algorithm: hashAlgorithm,
    method: setting(choice(['post', 'get']), 'post', { description: 'http: HTTP method of the requests.' }),
    url: setting(maybeText, undefined, {
      description: 'http: URL of the service. Status 200 accepts the client, 4xx refuses it.',
    }),
    headers: setting(textMap, new Map(), {
      description:
        'http: HTTP headers of the requests. content-type determines the encoding of the parameters of a POST request.',
      isSecret: true,
    }),
    body: setting(textMap, new Map(), {
      description:
        'http: parameters of the requests. ${clientid}, ${username}, ${password} and ${peerhost} are replaced by the values of the client.',
      isSecret: true,
    }),
    request_timeout: setting(duration({ minMs: 100, maxMs: 600_000 }), 5_000, {
      description: 'http: maximum time until the service has responded.',
    }),
    connect_timeout: setting(duration({ minMs: 100, maxMs: 600_000 }), 5_000, {
      description: 'http: maximum time until a connection to the service is open.',
    }),
    pool_size: setting(integer({ min: 1, max: 65_535 }), 8, {
      description:
        'http: maximum number of connections of each shard to the service. Further requests wait for a free one.',
    }),
    from: setting(choice(['password', 'username']), 'password', {
      description: 'jwt: whether the token is in the user name or in the password of CONNECT.',
    }),
    algorithm: setting(choice(['hmac-based', 'public-key']), 'hmac-based', {
      description:
        'jwt: how tokens are signed. hmac-based: with secret. public-key: with the private key of public_key.',
    }),
    secret: setting(maybeText, undefined, {
      description: 'jwt: secret that tokens are signed with, at least 32 bytes.',
      isSecret: true,
    }),
    secret_base64_encoded: setting(boolean, false, { description: 'jwt: whether secret is written in base64.' }),
    public_key: setting(maybeText, undefined, {
      description: 'jwt: public key that signatures are checked with, as PEM text.',
    }),
    verify_claims: setting(textMap, new Map(), {
      description:
        'jwt: claims that a token must have, each with its value. ${clientid} and ${username} in a value are replaced by those of the client.',
    }),
    acl_claim_name: setting(text(), 'acl', {
      description: 'jwt: name of the claim that contains the access rules of the client.',
    }),
    disconnect_after_expire: setting(boolean, true, {
      description: 'jwt: whether a client is disconnected when its token expires.',
    }),
  })
}
