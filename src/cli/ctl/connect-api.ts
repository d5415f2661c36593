// Connects a command to its broker: over the control socket in the data directory, or over HTTP.

import { readFileSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { formatBasicAuthorization, createClient, type Failure } from '../../contract/index.ts'
import { type ApiClient, endpoints } from '../../api/endpoints.ts'
import type { Installation } from '../../node/index.ts'
import type { Secrets } from './secrets.ts'

/** The options of every command that select the broker and the account. */
export interface ConnectOptions {
  readonly data?: string
  /** Configuration file with the data directory; ignored if `data` is set. */
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
      /** Absolute path, if the broker is on this machine. */
      readonly dataDirectory: string | undefined
      /** Returns the message for the user if the broker does not respond. */
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
    const needsUrl = username !== undefined || passwordStdin === true || tokenStdin === true
    return needsUrl
      ? { usage: '--username, --password-stdin and --token-stdin need --url URL' }
      : connectOverSocket(options, installation)
  }
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    return { usage: `--url ${url}: use a URL such as http://127.0.0.1:8081` }
  }
  const credentials = await readAuthorization(options, secrets)
  if ('usage' in credentials) return credentials
  return {
    client: createClient(endpoints, { at: { url }, ...credentials, namespace: options.namespace }),
    dataDirectory: undefined,
    explain: ({ message }) => `no broker responds at ${url}: ${message}`,
  }
}

async function readAuthorization(
  { username, passwordStdin, tokenStdin }: ConnectOptions,
  secrets: Secrets,
): Promise<{ readonly authorization?: string } | { readonly usage: string }> {
  if (tokenStdin === true) {
    const token = await secrets.next('token')
    return 'usage' in token ? token : { authorization: `Bearer ${token.secret}` }
  }
  if (username === undefined) return passwordStdin === true ? { usage: '--password-stdin needs --username NAME' } : {}
  const password = await secrets.next(`password of ${username}`)
  return 'usage' in password ? password : { authorization: formatBasicAuthorization(username, password.secret) }
}

async function connectOverSocket(
  { data, config, namespace }: ConnectOptions,
  installation: Installation,
): Promise<ConnectedApi> {
  const directory = data === undefined ? await findStartDirectory(installation, config) : resolve(data)
  const socket = join(directory, 'ctl.sock')
  // Resolved at each request: the broker may create the socket after the first one.
  const at = {
    get socketPath() {
      return resolveSocketLink(socket)
    },
  }
  const dataOption = data === undefined ? '' : ` --data ${directory}`
  return {
    client: createClient(endpoints, {
      at,
      namespace,
      // A broker makes a new secret when it starts.
      get authorization() {
        return `Bearer ${readSecret(directory)}`
      },
    }),
    dataDirectory: directory,
    explain: ({ message }) => {
      // The message of Node begins with the system call and the name of the error.
      if (/^connect (EACCES|EPERM) /.test(message))
        return `this system user has no access to the broker in ${directory}: run the command as the user that runs the broker, or use --url and --username`
      return `no broker runs in ${directory} (${message}): start it with "godwit start${dataOption}", or select another broker with --data or --url`
    },
  }
}

/** Returns the data directory that `godwit start` would use. Loads the module node, which knows the default, only here. */
async function findStartDirectory(installation: Installation, file: string | undefined): Promise<string> {
  const { resolveDefaultDataDirectory, readConfiguration } = await import('../../node/index.ts')
  const request = { file, dataDirectory: undefined, overrides: [], environment: process.env, installation }
  const read = file === undefined ? undefined : readConfiguration(request)
  const configured = read !== undefined && 'config' in read ? read.config.node.dataDir : undefined
  if (configured !== undefined) return resolve(configured)
  return resolveDefaultDataDirectory(installation, { userId: process.getuid?.(), homeDirectory: homedir() })
}

/** '' if there is none, or this user cannot read it: the broker refuses the request. */
function readSecret(directory: string): string {
  try {
    return readFileSync(join(directory, 'ctl.secret'), 'utf8')
  } catch {
    return ''
  }
}

/** Resolves a link: if the path is too long for a socket, the broker creates the socket elsewhere and a link to it. */
function resolveSocketLink(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    // There is no socket: connecting reports it.
    return path
  }
}
