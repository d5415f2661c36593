/** Lists of client credentials; names are unique within each. */
export type CredentialList = 'username' | 'clientid' | 'scram' | 'psk'

export type ScramName = 'SCRAM-SHA-256' | 'SCRAM-SHA-512'

/** The public part of an entry, without secrets. */
export interface StoredCredential {
  /** User name, client ID or identity of the key. */
  readonly id: string
  readonly createdAtMs: number
  /** Algorithm of a SCRAM user; undefined for other credentials. */
  readonly algorithm: ScramName | undefined
}

export interface NewCredential {
  readonly id: string
  /** The password, or the pre-shared key in hexadecimal. */
  readonly secret: string
  /** SCRAM users only. */
  readonly algorithm: ScramName | undefined
}

/** Conditions for entries of a list. */
export interface CredentialQuery {
  /** Exactly this name. */
  readonly id: string | undefined
  /** Names that contain this text. */
  readonly like: string | undefined
  readonly page: PageWanted
}

/** A page; numbers start at 1. */
export interface PageWanted {
  readonly page: number
  readonly limit: number
}

export interface PageFound<Item> {
  readonly items: readonly Item[]
  /** Over all pages. */
  readonly count: number
}

/** The write failed. The change is not active now, but may become so: it is written with the next change. */
export interface NotStored {
  /** A sentence for the caller. */
  readonly notStored: string
}

/** Changes are durable when the promises resolve, and apply to every later CONNECT. */
export interface CredentialOperations {
  /** Newest first. */
  list(list: CredentialList, query: CredentialQuery): Promise<PageFound<StoredCredential>>
  find(list: CredentialList, id: string): StoredCredential | undefined
  /** Entries are handled one after the other and separately. */
  create(
    list: CredentialList,
    entries: readonly NewCredential[],
  ): Promise<readonly ('created' | 'existed')[] | NotStored>
  /** `algorithm` undefined: unchanged. */
  update(list: CredentialList, entry: NewCredential): Promise<'updated' | 'missing' | NotStored>
  delete(list: CredentialList, id: string): Promise<'deleted' | 'missing' | NotStored>
}
