// Stored accounts, API keys and namespaces of the management API. Only the main thread reads them.

/** Stored hash of a password or a secret, with its parameters. */
export interface StoredPassword {
  /** `sha256` is for random secrets only: they cannot be guessed, so the hash need not be slow. */
  algorithm: 'sha256' | 'argon2id' | 'scrypt'
  /** KiB of argon2id, the cost N of scrypt; 0 for sha256. */
  memory: number
  /** Passes of argon2id, the block size r of scrypt; 0 for sha256. */
  passes: number
  /** Parallelism of argon2id and scrypt; 0 for sha256. */
  lanes: number
  salt: Uint8Array
  hash: Uint8Array
}

/** An administrator can change everything, a viewer can read, a publisher can only publish. */
export type AdminRole = 'administrator' | 'viewer' | 'publisher'

/** An account: name and password. */
export interface AccountRecord {
  readonly kind: 'account'
  name: string
  description: string
  role: AdminRole
  /** Undefined: a global account. */
  namespace: string | undefined
  password: StoredPassword
  createdAtMs: number
  /** Undefined: the account has no second factor. */
  secondFactor?: SecondFactor | undefined
}

/** Second factor of an account: one-time codes [RFC6238]. */
export interface SecondFactor {
  secret: Uint8Array
  /** The account has logged in with a code: the API no longer returns the secret. */
  isConfirmed: boolean
  /** Number of the interval of the last accepted code; 0 before the first. Codes of this and earlier intervals are refused. */
  lastStep: number
}

/** An API key: ID and secret of a program. */
export interface ApiKeyRecord {
  readonly kind: 'api-key'
  id: string
  /** Name that is shown to administrators. */
  name: string
  description: string
  role: AdminRole
  namespace: string | undefined
  isEnabled: boolean
  /** Undefined: the key does not expire. */
  expiresAtMs: number | undefined
  secret: StoredPassword
  createdAtMs: number
}

/** A namespace that an administrator created. Clients can also belong to namespaces without a record. */
export interface NamespaceRecord {
  readonly kind: 'namespace'
  name: string
  createdAtMs: number
  /** Limits that differ from the configured ones; undefined: none. */
  limits?: NamespaceRecordLimits | undefined
}

/** Each limit is a whole number of at least 1, or `infinity` (no limit). Undefined: the configured limit applies. */
export interface NamespaceRecordLimits {
  clients: number | 'infinity' | undefined
  retainedMessages: number | 'infinity' | undefined
  /** Maximum messages per second of all clients of the namespace together. */
  messagesPerSecond: number | 'infinity' | undefined
}

export type AdminRecord = AccountRecord | ApiKeyRecord | NamespaceRecord

/** Identifies one of these records. */
export type AdminRecordKey =
  | { readonly kind: 'account' | 'namespace'; name: string }
  | { readonly kind: 'api-key'; id: string }
