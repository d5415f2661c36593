// Creates connections of the core, with the properties of the client that are known from its stream: address, certificate, pre-shared key.

import { createHash } from 'node:crypto'
import { type ConnectionOrigin, Connection } from '../../core/index.ts'
import type { ByteStream, PeerCertificate } from '../../transports/index.ts'
import type { CertificateField, ShardListener } from '../messages/messages.ts'
import type { ClientOutput } from '../io/client-output.ts'

export function createConnection(output: ClientOutput, listener: ShardListener): Connection {
  const { stream } = output
  const connection = new Connection(output, listener, stream.remoteAddress, toConnectionOrigin(stream, listener))
  connection.peerPort = stream.remotePort
  connection.gatewayClient = stream.gatewayClient
  return connection
}

/** Returns what TLS proved about the client; undefined: nothing, as for most clients. */
export function toConnectionOrigin(stream: ByteStream, listener: ShardListener): ConnectionOrigin | undefined {
  const { credentials, remotePort } = stream
  if (credentials === undefined) return undefined
  const { certificate, pskIdentity } = credentials
  return {
    port: remotePort,
    clientId: readCertificateField(certificate, listener.peerCertificateAsClientId),
    username: readCertificateField(certificate, listener.peerCertificateAsUsername),
    certificate,
    pskIdentity,
  }
}

/**
 * A certificate without the field gives an empty name, not undefined. Otherwise the name of CONNECT would be used, and
 * any certificate would allow any name.
 */
function readCertificateField(
  certificate: PeerCertificate | undefined,
  field: CertificateField | undefined,
): string | undefined {
  if (certificate === undefined || field === undefined) return undefined
  switch (field) {
    case 'cn':
      return certificate.commonName ?? ''
    case 'dn':
      return certificate.subject
    case 'crt':
      return Buffer.from(certificate.der).toString('base64')
    case 'pem':
      return encodePem(certificate.der)
    case 'md5':
      return createHash('md5').update(certificate.der).digest('hex')
    default:
      return field satisfies never
  }
}

function encodePem(der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}
