// What a stream has shown of its client, as the core wants to know it.

import { createHash } from 'node:crypto'
import { type ConnectionOrigin, Connection } from '../../core/index.ts'
import type { ByteStream, PeerCertificate } from '../../transports/index.ts'
import type { CertificateField, ShardListener } from '../messages/messages.ts'
import type { ClientOutput } from '../io/client-output.ts'

export function connectionOver(output: ClientOutput, listener: ShardListener): Connection {
  const { stream } = output
  const connection = new Connection(output, listener, stream.remoteAddress, originOf(stream, listener))
  connection.peerPort = stream.remotePort
  connection.gatewayClient = stream.gatewayClient
  return connection
}

/** Undefined where the client has shown nothing: most have not. */
export function originOf(stream: ByteStream, listener: ShardListener): ConnectionOrigin | undefined {
  const { credentials, remotePort } = stream
  if (credentials === undefined) return undefined
  const { certificate, pskIdentity } = credentials
  return {
    port: remotePort,
    clientId: fieldOf(certificate, listener.peerCertificateAsClientId),
    username: fieldOf(certificate, listener.peerCertificateAsUsername),
    certificate,
    pskIdentity,
  }
}

/**
 * A certificate that lacks the field gives an empty name and not none: with none CONNECT's would count, and whoever has any
 * certificate could take any name.
 */
function fieldOf(certificate: PeerCertificate | undefined, field: CertificateField | undefined): string | undefined {
  if (certificate === undefined || field === undefined) return undefined
  switch (field) {
    case 'cn':
      return certificate.commonName ?? ''
    case 'dn':
      return certificate.subject
    case 'crt':
      return Buffer.from(certificate.der).toString('base64')
    case 'pem':
      return pemOf(certificate.der)
    case 'md5':
      return createHash('md5').update(certificate.der).digest('hex')
    default:
      return field satisfies never
  }
}

function pemOf(der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}
