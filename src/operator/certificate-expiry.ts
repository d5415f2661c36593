// Expiry of the certificates that the brokers use.

import { X509Certificate } from 'node:crypto'
import { fileNames, nameObjects, readPath, type ClusterResource, type ClusterStatus } from '../deploy/index.ts'
import type { KubeResource } from '../kubernetes/index.ts'

export function readCertificates(
  { metadata }: ClusterResource,
  objects: readonly KubeResource[],
): ClusterStatus['certificates'] {
  const names = nameObjects(metadata.name)
  return (['mqtts', 'wss'] as const).flatMap((listener) => {
    const secret = objects.find((object) => object['kind'] === 'Secret' && object.metadata.name === names[listener])
    const encoded = readPath(secret, 'data', fileNames.certificate)
    if (typeof encoded !== 'string') return []
    const { validTo } = new X509Certificate(Buffer.from(encoded, 'base64'))
    return [{ listener, notAfter: new Date(validTo).toISOString().replace(/\.\d+Z$/, 'Z') }]
  })
}
