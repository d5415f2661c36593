// Stored credentials, access rules and bans. The module access reads them, the main thread writes them; the core does not use
// them. `namespace`: the clients that a record applies to; undefined: clients of all namespaces.

/** How a password was made unreadable; part of the record, so that stored ones stay good when the default changes. */
/** `pbkdf2_sha512` comes with imported records only: its salt begins with the number of iterations (four bytes, big-endian). */
export type PasswordHash = 'plain' | 'md5' | 'sha' | 'sha256' | 'sha512' | 'pbkdf2_sha512'

/** PBKDF2 runs on the shard that the client came to: more would delay its other clients. About 6 ms. */
export const maxPbkdf2Iterations = 10_000
export const pbkdf2HashBytes = 64

/** A client's password, by user name or by client id: two lists that know nothing of each other. */
export interface CredentialRecord {
  readonly kind: 'credential'
  namespace?: string | undefined
  by: 'username' | 'clientid'
  id: string
  algorithm: PasswordHash
  /** Where the salt goes: before the password or behind it. */
  saltPosition: 'prefix' | 'suffix'
  /** As bytes; empty: none. */
  salt: Uint8Array
  /** The digest, or the password itself where the algorithm is plain. */
  hash: Uint8Array
  isSuperuser: boolean
  createdAtMs: number
}

/** A password for the clients of one gateway, or of one of its listeners, that has an authentication of its own. */
export interface GatewayUserRecord {
  readonly kind: 'gateway-user'
  /** `coap`, or `coap:udp:default`. */
  chain: string
  /** The user name or client ID, as the authentication says. */
  id: string
  algorithm: PasswordHash
  saltPosition: 'prefix' | 'suffix'
  salt: Uint8Array
  hash: Uint8Array
  isSuperuser: boolean
  createdAtMs: number
}

/** RFC 5802: what a server keeps in place of a password. */
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

/** Asked for while a connection is made: one of a namespace where listener or identity lead there. */
export interface PskRecord {
  readonly kind: 'psk'
  namespace?: string | undefined
  identity: string
  key: Uint8Array
}

/** One rule about one topic filter. Rules for one client come before rules for all clients, oldest first. */
export interface RuleRecord {
  readonly kind: 'rule'
  namespace?: string | undefined
  about: 'clientid' | 'username' | 'all'
  /** The client id or user name; '' where it is about all. */
  who: string
  topic: string
  action: 'publish' | 'subscribe' | 'pubsub'
  permit: 'allow' | 'deny'
  createdAtMs: number
}

export interface BanRecord {
  readonly kind: 'ban'
  namespace?: string | undefined
  as: 'clientid' | 'username' | 'peerhost'
  who: string
  reason: string
  by: string
  atMs: number
  /** Undefined: for ever. */
  untilMs: number | undefined
}

export type AccessRecord = CredentialRecord | GatewayUserRecord | ScramRecord | PskRecord | RuleRecord | BanRecord

/** What names one of these records. */
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
