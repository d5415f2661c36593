// Which broker a command is for, and how it is reached: over the socket in its data directory, or over HTTP.

import { realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { type ApiClient, basicAuthorization, createClient, type Failure } from '../../contract/index.ts'
import type { Installation } from '../../node/index.ts'
import type { Secrets } from './secrets.ts'

/** Options that every command has. */
export interface ConnectOptions {
  readonly data?: string
  /** Configuration file; counts where there is no `data`. */
  readonly config?: string
  readonly url?: string
  readonly username?: string
  readonly passwordStdin?: true
  readonly tokenStdin?: true
  readonly namespace?: string
}

export type ConnectedApi =
  | {
      readonly client: ApiClient
      /** Of a broker of this machine; absolute. */
      readonly dataDirectory: string | undefined
      /** The message if the broker does not answer. */
      readonly explain: (failure: Failure) => string
    }
  | { readonly usage: string }

export async function connectApi(
  options: ConnectOptions,
  installation: Installation,
  secrets: Secrets,
): Promise<ConnectedApi> {
  const { url, username, passwordStdin, tokenStdin } = options
  if (url === undefined) {
    const stray = username !== undefined || passwordStdin === true || tokenStdin === true
    return stray
      ? { usage: 'a name and a password are for --url URL: say where the API is' }
      : overSocket(options, installation)
  }
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    return { usage: `--url ${url}: give a URL like http://127.0.0.1:8081` }
  }
  const signedIn = await authorizationOf(options, secrets)
  if ('usage' in signedIn) return signedIn
  return {
    client: createClient({ at: { url }, ...signedIn, namespace: options.namespace }),
    dataDirectory: undefined,
    explain: ({ message }) => `no broker answers at ${url}: ${message}`,
  }
}

async function authorizationOf(
  { username, passwordStdin, tokenStdin }: ConnectOptions,
  secrets: Secrets,
): Promise<{ readonly authorization?: string } | { readonly usage: string }> {
  if (tokenStdin === true) {
    const token = await secrets.next('token')
    return 'usage' in token ? token : { authorization: `Bearer ${token.secret}` }
  }
  if (username === undefined) return passwordStdin === true ? { usage: '--password-stdin needs --username NAME' } : {}
  const password = await secrets.next(`password of ${username}`)
  return 'usage' in password ? password : { authorization: basicAuthorization(username, password.secret) }
}

async function overSocket(
  { data, config, namespace }: ConnectOptions,
  installation: Installation,
): Promise<ConnectedApi> {
  const directory = data === undefined ? await directoryOfStart(installation, config) : resolve(data)
  const socketPath = shortestPath(join(directory, 'ctl.sock'))
  const way = data === undefined ? '' : ` --data ${directory}`
  return {
    client: createClient({ at: { socketPath }, namespace }),
    dataDirectory: directory,
    explain: ({ message }) => {
      // Node's sentence begins with what was tried and the name of the system's error.
      if (/^connect (EACCES|EPERM) /.test(message))
        return `this account may not reach the broker in ${directory}: give the command as the account that runs it, or with --url and --username`
      return `no broker runs in ${directory} (${message}): start it with "godwit start${way}", or say where it is with --data or --url`
    },
  }
}

/** The data directory of `godwit start`. The module node, which knows the default, is loaded only if it is needed. */
async function directoryOfStart(installation: Installation, file: string | undefined): Promise<string> {
  const { defaultDataDirectory, readConfiguration } = await import('../../node/index.ts')
  const request = { file, dataDirectory: undefined, overrides: [], environment: process.env, installation }
  const read = file === undefined ? undefined : readConfiguration(request)
  const named = read !== undefined && 'config' in read ? read.config.node.dataDir : undefined
  if (named !== undefined) return resolve(named)
  return defaultDataDirectory(installation, { userId: process.getuid?.(), homeDirectory: homedir() })
}

/** The path of a socket is limited. If it is too long, the socket is in another directory, with a link to it. */
function shortestPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    // There is no socket: connecting reports it.
    return path
  }
}
