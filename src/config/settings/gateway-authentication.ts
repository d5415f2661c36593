// gateway.<name>.authentication and gateway.<name>.listeners.<type>.<name>.authentication.

import { textMap } from '../schema/collections.ts'
import { duration } from '../schema/quantities.ts'
import { section, setting } from '../schema/setting.ts'
import { boolean, choice, integer, optional, text } from '../schema/setting-type.ts'

const maybeText = optional(text(), 'none')

/** `scope`: what asks its clients by it, and `otherwise`: what asks them where it is not there. */
export function authenticationOf(scope: string, otherwise: string) {
  return section(`How clients of ${scope} are authenticated. Without it ${otherwise} counts.`, {
    enable: setting(boolean, true, { description: `Whether it counts; if not, ${otherwise} does.` }),
    mechanism: setting(optional(choice(['password_based', 'jwt']), 'none'), undefined, {
      description: 'password_based: user name or client ID with a password. jwt: a signed token.',
    }),
    backend: setting(choice(['built_in_database', 'http']), 'built_in_database', {
      description: 'password_based: the users that are stored for it over the API, or a service of yours.',
    }),
    user_id_type: setting(choice(['username', 'clientid']), 'username', {
      description: 'built_in_database: what the names of its users are compared with.',
    }),
    password_hash_algorithm: section('built_in_database: how new passwords are kept.', {
      name: setting(choice(['sha256', 'sha512', 'sha', 'md5', 'plain']), 'sha256', { description: 'Hash.' }),
      salt_position: setting(choice(['prefix', 'suffix', 'disable']), 'prefix', {
        description: 'Whether the salt stands before or behind the password. disable: only with plain.',
      }),
    }),
    method: setting(choice(['post', 'get']), 'post', { description: 'http: HTTP method.' }),
    url: setting(maybeText, undefined, { description: 'http: address of the service; 200 means yes, 4xx means no.' }),
    headers: setting(textMap, new Map(), {
      description: 'http: headers of the request. content-type says how parameters are sent by POST.',
      isSecret: true,
    }),
    body: setting(textMap, new Map(), {
      description:
        'http: parameters. ${clientid}, ${username}, ${password} and ${peerhost} stand for those of the client.',
      isSecret: true,
    }),
    request_timeout: setting(duration({ minMs: 100, maxMs: 600_000 }), 5_000, {
      description: 'http: how long an answer may take.',
    }),
    connect_timeout: setting(duration({ minMs: 100, maxMs: 600_000 }), 5_000, {
      description: 'http: how long connecting may take.',
    }),
    pool_size: setting(integer({ min: 1, max: 65_535 }), 8, {
      description: 'http: connections of each shard to the service; further requests wait.',
    }),
    from: setting(choice(['password', 'username']), 'password', { description: 'jwt: where the token stands.' }),
    algorithm: setting(choice(['hmac-based', 'public-key']), 'hmac-based', {
      description: 'jwt: whether tokens are signed with secret, or are checked with public_key.',
    }),
    secret: setting(maybeText, undefined, { description: 'jwt: the secret, at least 32 bytes.', isSecret: true }),
    secret_base64_encoded: setting(boolean, false, { description: 'jwt: whether the secret is written in base64.' }),
    public_key: setting(maybeText, undefined, { description: 'jwt: the public key, as PEM text.' }),
    verify_claims: setting(textMap, new Map(), {
      description:
        'jwt: claims that a token must have, each with its value. ${clientid} and ${username} are filled in.',
    }),
    acl_claim_name: setting(text(), 'acl', { description: 'jwt: the claim with what the client may do.' }),
    disconnect_after_expire: setting(boolean, true, {
      description: 'jwt: whether a client is disconnected when its token expires.',
    }),
  })
}
