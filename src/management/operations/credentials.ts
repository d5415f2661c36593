/** Lists of those who may come in; each has names of its own. */
export type CredentialList = 'username' | 'clientid' | 'scram' | 'psk'

export type ScramName = 'SCRAM-SHA-256' | 'SCRAM-SHA-512'

/** What is told of an entry: nothing that is secret. */
export interface StoredCredential {
  /** User name, client id or identity of the key. */
  readonly id: string
  readonly createdAtMs: number
  /** Of SCRAM users. */
  readonly algorithm: ScramName | undefined
}

export interface NewCredential {
  readonly id: string
  /** The password; of a pre-shared key, the key in hexadecimal. */
  readonly secret: string
  /** SCRAM users only. */
  readonly algorithm: ScramName | undefined
}

/** Which entries of a list. */
export interface CredentialQuery {
  /** Exactly this name. */
  readonly id: string | undefined
  /** Names that hold this text. */
  readonly like: string | undefined
  readonly page: PageWanted
}

/** A page, from 1. */
export interface PageWanted {
  readonly page: number
  readonly limit: number
}

export interface PageFound<Item> {
  readonly items: readonly Item[]
  /** Of all pages. */
  readonly count: number
}

/** The disk did not take it. It does not hold, but it may later: it is tried again with the next change. */
export interface NotStored {
  /** A sentence for whoever asked. */
  readonly notStored: string
}

/** What holds when these resolve is on disk, and counts for every CONNECT from then on. */
export interface CredentialOperations {
  /** The newest first. */
  list(list: CredentialList, question: CredentialQuery): Promise<PageFound<StoredCredential>>
  find(list: CredentialList, id: string): StoredCredential | undefined
  /** One after the other, each for itself. */
  create(
    list: CredentialList,
    entries: readonly NewCredential[],
  ): Promise<readonly ('created' | 'existed')[] | NotStored>
  /** `algorithm` undefined: as it was. */
  update(list: CredentialList, entry: NewCredential): Promise<'updated' | 'missing' | NotStored>
  delete(list: CredentialList, id: string): Promise<'deleted' | 'missing' | NotStored>
}
