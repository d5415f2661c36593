// Reads kubeconfig files: https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/

import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { ConnectionReading } from './kube-connection.ts'

type Fields = Readonly<Record<string, unknown>>

/** A kubeconfig file has a fault. Thrown and caught in this file. */
class KubeconfigError extends Error {}

/** Reads the current context of a kubeconfig. `value`: the parsed file; paths in it are relative to `file`. */
export function readKubeconfig(value: unknown, file: string): ConnectionReading {
  try {
    const config = toFields(value)
    const contextName = readText(config, 'current-context')
    if (contextName === undefined)
      throw new KubeconfigError('current-context is not set: run kubectl config use-context')
    const context = findNamed(config, 'contexts', 'context', contextName)
    const cluster = findNamed(config, 'clusters', 'cluster', readText(context, 'cluster') ?? '')
    const userName = readText(context, 'user')
    const user = userName === undefined ? {} : findNamed(config, 'users', 'user', userName)
    const server = readText(cluster, 'server')
    if (server === undefined || !URL.canParse(server)) throw new KubeconfigError('cluster.server is no URL')
    return {
      connection: {
        server,
        authorities: readData(cluster, 'certificate-authority', file),
        clientCertificate: readClientCertificate(user, file),
        serverName: readText(cluster, 'tls-server-name'),
        skipsVerification: cluster['insecure-skip-tls-verify'] === true,
        readToken: createTokenReader(user, file),
        namespace: readText(context, 'namespace') ?? 'default',
      },
    }
  } catch (error) {
    return { problem: `${file}: ${(error as Error).message}` }
  }
}

function toFields(value: unknown): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new KubeconfigError('this is no kubeconfig')
  return value as Fields
}

function readText(fields: Fields, key: string): string | undefined {
  const value = fields[key]
  return typeof value === 'string' && value !== '' ? value : undefined
}

function findNamed(config: Fields, list: string, key: string, name: string): Fields {
  const items = config[list]
  const found = (Array.isArray(items) ? items : []).map(toFields).find((item) => item['name'] === name)
  if (found === undefined) throw new KubeconfigError(`${list} has no entry ${JSON.stringify(name)}`)
  return toFields(found[key])
}

/** Returns the text of `KEY-data` (base 64), or of the file `KEY`. */
function readData(fields: Fields, key: string, file: string): string | undefined {
  const data = readText(fields, `${key}-data`)
  if (data !== undefined) return Buffer.from(data, 'base64').toString()
  const path = readText(fields, key)
  return path === undefined ? undefined : readFileSync(resolve(dirname(file), path), 'utf8')
}

function readClientCertificate(user: Fields, file: string): { certificate: string; key: string } | undefined {
  const certificate = readData(user, 'client-certificate', file)
  const key = readData(user, 'client-key', file)
  if (certificate === undefined && key === undefined) return undefined
  if (certificate === undefined || key === undefined) {
    throw new KubeconfigError('a user needs both client-certificate and client-key')
  }
  return { certificate, key }
}

function createTokenReader(user: Fields, file: string): () => string | undefined {
  for (const kind of ['exec', 'auth-provider']) {
    if (user[kind] === undefined) continue
    throw new KubeconfigError(
      `the user is authenticated by ${kind}, which runs a program and is not supported: use a token or a client certificate`,
    )
  }
  if (user['username'] !== undefined) {
    throw new KubeconfigError('the user has a password, which API servers do not accept any more: use a token')
  }
  const token = readText(user, 'token')
  const tokenFile = readText(user, 'tokenFile')
  if (tokenFile === undefined) return () => token
  const path = resolve(dirname(file), tokenFile)
  readFileSync(path)
  return () => readFileSync(path, 'utf8').trim()
}
