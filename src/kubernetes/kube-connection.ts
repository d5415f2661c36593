// How to reach an API server: from inside a pod, or by a kubeconfig file.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface KubeConnection {
  /** Such as `https://10.96.0.1:443`. */
  readonly server: string
  /** Certificates in PEM of the authorities of the server; undefined: those of the system. */
  readonly authorities: string | undefined
  /** Certificate and key of the client, in PEM. */
  readonly clientCertificate: { readonly certificate: string; readonly key: string } | undefined
  /** Name that the certificate of the server has, if it is not the host of `server`. */
  readonly serverName: string | undefined
  readonly skipsVerification: boolean
  /** Returns the bearer token; undefined: requests have none. It may change: the kubelet renews tokens of pods. */
  readonly readToken: () => string | undefined
  /** Namespace of requests that name none. */
  readonly namespace: string
}

/** Files that the kubelet writes into each pod with a service account. */
const accountDirectory = '/var/run/secrets/kubernetes.io/serviceaccount'

export type ConnectionReading = { readonly connection: KubeConnection } | { readonly problem: string }

/** Reads the connection of a pod. `directory`: that of the service account. */
export function readPodConnection(
  environment: Readonly<Record<string, string | undefined>>,
  directory = accountDirectory,
): ConnectionReading {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = environment
  if (host === undefined || host === '') {
    return { problem: 'this is no pod (KUBERNETES_SERVICE_HOST is not set): name a kubeconfig file with --kubeconfig' }
  }
  try {
    const tokenFile = join(directory, 'token')
    readFileSync(tokenFile)
    const connection: KubeConnection = {
      server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
      authorities: readFileSync(join(directory, 'ca.crt'), 'utf8'),
      clientCertificate: undefined,
      serverName: undefined,
      skipsVerification: false,
      readToken: () => readFileSync(tokenFile, 'utf8').trim(),
      namespace: readFileSync(join(directory, 'namespace'), 'utf8').trim(),
    }
    return { connection }
  } catch (error) {
    const remedy = 'set automountServiceAccountToken of the pod, and serviceAccountName'
    return { problem: `the service account of this pod cannot be read: ${(error as Error).message}; ${remedy}` }
  }
}
