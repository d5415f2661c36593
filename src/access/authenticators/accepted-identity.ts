// The identity of a client that an authenticator has accepted.

import type { Connection, ConnectionOrigin, Identity } from '../../core/index.ts'
import type { Accepted, Attempt, AuthenticatorName } from './authenticator.ts'

/** With the name of the authenticator that accepted the client. */
export type Admission = Accepted & { readonly by: AuthenticatorName | 'anonymous' | `plugin:${string}` }

/** Returns the identity, written out: with a spread, each client would take 32 bytes more. */
export function toIdentity({ connection, namespace, clientId }: Attempt, success: Admission): Identity {
  return {
    namespace,
    clientId,
    username: success.username,
    principal: formatPrincipal(success, connection),
    peerAddress: connection.peerAddress,
    isSuperuser: success.isSuperuser,
    expiresAtMs: success.expiresAtMs,
    grants: success.grants,
    authenticatedBy: success.by,
    attributes: success.attributes,
  }
}

/** The authenticated name: a client that proved its client ID may send any user name. */
function formatPrincipal({ by, username, provesClientId }: Admission, { listener, origin }: Connection): string {
  if (by === 'anonymous')
    return (listener.gateway === undefined ? undefined : formatDeviceIdentity(origin)) ?? 'anonymous'
  return provesClientId === true ? 'clientid' : `user:${username ?? ''}`
}

/**
 * The identity that the DTLS handshake of a device proved. It counts also where no authenticator uses it: the gateway passes the datagrams of
 * this identity to its client.
 */
function formatDeviceIdentity(origin: ConnectionOrigin | undefined): string | undefined {
  if (origin?.pskIdentity !== undefined) return `psk:${origin.pskIdentity}`
  return origin?.certificate === undefined ? undefined : `certificate:${origin.certificate.subject}`
}
