// Stored credentials, access rules and bans. The module access reads them, the main thread writes them; the core does not use
// them. `namespace`: the clients that a record applies to; undefined: clients of all namespaces.

/**
 * Hash algorithm of a password. Each record has its own, so that stored passwords stay valid when the default changes.
 * `pbkdf2_sha512` occurs in imported records only: its salt begins with the number of iterations (four bytes, big-endian).
 */
export type PasswordHash = 'plain' | 'md5' | 'sha' | 'sha256' | 'sha512' | 'pbkdf2_sha512'

/** Maximum number of iterations, which take about 6 ms. PBKDF2 runs on the shard of the connection, where it delays other clients. */
export const maxPbkdf2Iterations = 10_000
export const pbkdf2HashBytes = 64

/** Password of a user name or of a client ID. The two kinds are independent lists. */
export interface CredentialRecord {
  readonly kind: 'credential'
  namespace?: string | undefined
  by: 'username' | 'clientid'
  id: string
  algorithm: PasswordHash
  /** The salt is hashed before or after the password. */
  saltPosition: 'prefix' | 'suffix'
  /** Empty: no salt. */
  salt: Uint8Array
  /** The digest; for `plain` the password itself. */
  hash: Uint8Array
  isSuperuser: boolean
  createdAtMs: number
}

/** Password of a user of one gateway, or of one gateway listener, that has its own authentication. */
export interface GatewayUserRecord {
  readonly kind: 'gateway-user'
  /** The gateway (`coap`) or gateway listener (`coap:udp:default`) whose clients the password is for. */
  chain: string
  /** User name or client ID, as the settings of the authentication require. */
  id: string
  algorithm: PasswordHash
  saltPosition: 'prefix' | 'suffix'
  salt: Uint8Array
  hash: Uint8Array
  isSuperuser: boolean
  createdAtMs: number
}

/** The keys that a SCRAM server stores instead of a password [RFC5802]. */
export interface ScramRecord {
  readonly kind: 'scram'
  namespace?: string | undefined
  username: string
  algorithm: 'SCRAM-SHA-256' | 'SCRAM-SHA-512'
  salt: Uint8Array
  iterations: number
  storedKey: Uint8Array
  serverKey: Uint8Array
  isSuperuser: boolean
  createdAtMs: number
}

/** Pre-shared key of a TLS client. It is looked up in the handshake, in the namespace that the listener or the identity selects. */
export interface PskRecord {
  readonly kind: 'psk'
  namespace?: string | undefined
  identity: string
  key: Uint8Array
}

/** Access rule for one topic filter. Rules for one client are checked before rules for all clients, oldest first. */
export interface RuleRecord {
  readonly kind: 'rule'
  namespace?: string | undefined
  about: 'clientid' | 'username' | 'all'
  /** Client ID or user name; '' if `about` is `all`. */
  who: string
  topic: string
  action: 'publish' | 'subscribe' | 'pubsub'
  permit: 'allow' | 'deny'
  createdAtMs: number
}

/** Refuses clients by client ID, user name or address. */
export interface BanRecord {
  readonly kind: 'ban'
  namespace?: string | undefined
  as: 'clientid' | 'username' | 'peerhost'
  /** The client ID, user name, address or range of addresses. */
  who: string
  /** Text for administrators. */
  reason: string
  /** The creator of the ban: a name that the request of the API contains, or `flapping detector`. */
  by: string
  /** Start of the ban. */
  atMs: number
  /** Undefined: the ban does not expire. */
  untilMs: number | undefined
}

export type AccessRecord = CredentialRecord | GatewayUserRecord | ScramRecord | PskRecord | RuleRecord | BanRecord

/** Identifies one of these records. */
export type AccessRecordKey =
  | { readonly kind: 'credential'; namespace?: string | undefined; by: 'username' | 'clientid'; id: string }
  | { readonly kind: 'gateway-user'; chain: string; id: string }
  | { readonly kind: 'scram'; namespace?: string | undefined; username: string }
  | { readonly kind: 'psk'; namespace?: string | undefined; identity: string }
  | {
      readonly kind: 'rule'
      namespace?: string | undefined
      about: RuleRecord['about']
      who: string
      topic: string
      action: RuleRecord['action']
    }
  | { readonly kind: 'ban'; namespace?: string | undefined; as: BanRecord['as']; who: string }
