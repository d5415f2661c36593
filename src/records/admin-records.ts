// Stored accounts and API keys of the management API. Only the node reads them.

/** What is kept of a password or a secret, with all that is needed to compare another one. */
export interface StoredPassword {
  /** `sha256` is for random secrets only: guessing them is not possible, however fast the hash is. */
  algorithm: 'sha256' | 'argon2id' | 'scrypt'
  /** KiB of argon2id, the cost N of scrypt; 0 for sha256. */
  memory: number
  /** Passes of argon2id, the block size r of scrypt; 0 for sha256. */
  passes: number
  lanes: number
  salt: Uint8Array
  hash: Uint8Array
}

/** An administrator may change things, a viewer may look, a publisher may publish and nothing else. */
export type AdminRole = 'administrator' | 'viewer' | 'publisher'

/** An account: name and password. */
export interface AccountRecord {
  readonly kind: 'account'
  name: string
  description: string
  role: AdminRole
  /** undefined: of no namespace, so that all of them are theirs. */
  namespace: string | undefined
  password: StoredPassword
  createdAtMs: number
  /** undefined: the password is enough. */
  secondFactor?: SecondFactor | undefined
}

/** One-time codes by RFC 6238. */
export interface SecondFactor {
  secret: Uint8Array
  /** A code of it was accepted: the secret is not shown any more. */
  isConfirmed: boolean
  /** Number of the interval whose code was shown last, 0 before: codes of it and before are used up. */
  lastStep: number
}

/** A program with an id and a secret. */
export interface ApiKeyRecord {
  readonly kind: 'api-key'
  id: string
  /** What people call it. */
  name: string
  description: string
  role: AdminRole
  namespace: string | undefined
  isEnabled: boolean
  /** Wall clock; undefined: never. */
  expiresAtMs: number | undefined
  secret: StoredPassword
  createdAtMs: number
}

/** A namespace that an administrator created; clients may belong to others as well. */
export interface NamespaceRecord {
  readonly kind: 'namespace'
  name: string
  createdAtMs: number
  /** What it may have, where that is otherwise than for all namespaces; undefined: in nothing. */
  limits?: NamespaceRecordLimits | undefined
}

/** Whole numbers from 1 on, or any number. */
export interface NamespaceRecordLimits {
  clients: number | 'infinity' | undefined
  retainedMessages: number | 'infinity' | undefined
  /** Published in a second, by all of its clients together. */
  messagesPerSecond: number | 'infinity' | undefined
}

export type AdminRecord = AccountRecord | ApiKeyRecord | NamespaceRecord

/** What names one of these records. */
export type AdminRecordKey =
  | { readonly kind: 'account' | 'namespace'; name: string }
  | { readonly kind: 'api-key'; id: string }
