import type { Caller, Role } from '../../contract/index.ts'

/** An account with a name and a password. */
export interface User {
  readonly name: string
  readonly role: Exclude<Role, 'publisher'>
  /** undefined: in none. */
  readonly namespace: string | undefined
  readonly description: string
  readonly mfa: 'none' | 'totp'
  /** `oidc`: the provider says role and namespace at each sign-in, and there is no password here. */
  readonly backend: 'local' | 'oidc'
}

/** A program with an ID and a secret. */
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

/** Absent fields are unchanged. */
export type AppChange = Partial<Omit<App, 'id' | 'createdAtMs'>>

export interface NewApp extends Omit<App, 'createdAtMs'> {
  /** undefined: a random one. */
  readonly secret: string | undefined
}

/** Reason why the request is refused. */
export type AccountRefusal =
  | 'not-found'
  | 'exists'
  /** The maximum is reached. */
  | 'too-many'
  /** The account of `http_server` cannot be deleted, and remains an administrator. */
  | 'is-own'
  /** The password is in the configuration. */
  | 'is-configured'
  | 'wrong-password'
  /** The account signs in by OpenID Connect. */
  | 'is-of-provider'
  /** The account has a second factor. */
  | 'has-mfa'

/** Accounts of the API. Changes are durable when the promise resolves; undefined: success. */
export interface AccountOperations {
  users(): readonly User[]
  createUser(
    user: Omit<User, 'mfa' | 'backend'> & { readonly password: string },
    by: Caller,
  ): Promise<AccountRefusal | undefined>
  /** Absent fields are unchanged. */
  updateUser(
    name: string,
    change: Partial<Omit<User, 'name' | 'mfa' | 'backend'>>,
    by: Caller,
  ): Promise<AccountRefusal | undefined>
  deleteUser(name: string, by: Caller): Promise<AccountRefusal | undefined>
  changePassword(
    /** `old` undefined: not required. */
    change: { readonly name: string; readonly old: string | undefined; readonly new: string },
    by: Caller,
  ): Promise<AccountRefusal | undefined>
  /** From the next login on a one-time code is needed as well. */
  requireMfa(name: string, by: Caller): Promise<AccountRefusal | undefined>
  removeMfa(name: string, by: Caller): Promise<AccountRefusal | undefined>
  /** Returns whether this is a well-known default password. */
  isWellKnown(name: string, password: string): boolean
  apps(): readonly App[]
  app(id: string): App | undefined
  createApp(app: NewApp, by: Caller): Promise<AccountRefusal | { readonly secret: string }>
  updateApp(id: string, change: AppChange, by: Caller): Promise<AccountRefusal | undefined>
  deleteApp(id: string, by: Caller): Promise<AccountRefusal | undefined>
}
