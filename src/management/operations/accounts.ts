import type { Caller, Role } from '../../contract/index.ts'

/** Somebody with a name and a password. */
export interface User {
  readonly name: string
  readonly role: Exclude<Role, 'publisher'>
  /** undefined: of none. */
  readonly namespace: string | undefined
  readonly description: string
}

/** A program with an id and a secret. */
export interface App {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly role: Role
  readonly namespace: string | undefined
  readonly isEnabled: boolean
  /** Wall clock; undefined: never. */
  readonly expiresAtMs: number | undefined
  /** Wall clock. */
  readonly createdAtMs: number
}

/** What stays as it is, is left out. */
export type AppChange = Partial<Omit<App, 'id' | 'createdAtMs'>>

export interface NewApp extends Omit<App, 'createdAtMs'> {
  /** undefined: a random one. */
  readonly secret: string | undefined
}

/** Why it is not done. */
export type AccountRefusal =
  | 'not-found'
  | 'exists'
  /** There are as many as may be. */
  | 'too-many'
  /** The account of `http_server` is never taken away, nor is its right to change things. */
  | 'is-own'
  /** The configuration says that password. */
  | 'is-configured'
  | 'wrong-password'

/** Who may use the API. What changes is on disk when the promise resolves; undefined: done. */
export interface AccountOperations {
  users(): readonly User[]
  createUser(user: User & { readonly password: string }, by: Caller): Promise<AccountRefusal | undefined>
  /** What is left out stays. */
  updateUser(name: string, change: Partial<Omit<User, 'name'>>, by: Caller): Promise<AccountRefusal | undefined>
  deleteUser(name: string, by: Caller): Promise<AccountRefusal | undefined>
  changePassword(
    /** `old` undefined: the caller need not know it. */
    change: { readonly name: string; readonly old: string | undefined; readonly new: string },
    by: Caller,
  ): Promise<AccountRefusal | undefined>
  /** Whether everybody tries this password first. */
  isWellKnown(name: string, password: string): boolean
  apps(): readonly App[]
  app(id: string): App | undefined
  createApp(app: NewApp, by: Caller): Promise<AccountRefusal | { readonly secret: string }>
  updateApp(id: string, change: AppChange, by: Caller): Promise<AccountRefusal | undefined>
  deleteApp(id: string, by: Caller): Promise<AccountRefusal | undefined>
}
