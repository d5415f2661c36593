// Authenticates by credentials that the transport has verified: a certificate or a pre-shared key. The user name comes
// from there, so a client with a certificate cannot use another's name.

import type { CertificateTraits } from '../../core/index.ts'
import { reasonCodes } from '../../protocol/index.ts'
import { unknownClient, type Attempt, type Authenticator, type AuthenticatorResult } from './authenticator.ts'

/** The part of a certificate that is the user name. */
export type CertificateName = 'common_name' | 'subject' | 'serial_number' | 'fingerprint'

export class CertificateAuthenticator implements Authenticator {
  readonly #name: CertificateName

  constructor(name: CertificateName) {
    this.#name = name
  }

  authenticate({ connection }: Attempt): AuthenticatorResult {
    const { origin } = connection
    if (origin?.certificate === undefined) return unknownClient
    const username = origin.username ?? selectCertificateName(origin.certificate, this.#name)
    if (username === undefined || username === '') {
      return { result: 'refused', reason: reasonCodes.notAuthorized, why: `the certificate has no ${this.#name}` }
    }
    return { result: 'accepted', username, isSuperuser: false }
  }
}

function selectCertificateName(certificate: CertificateTraits, name: CertificateName): string | undefined {
  switch (name) {
    case 'common_name':
      return certificate.commonName
    case 'subject':
      return certificate.subject
    case 'serial_number':
      return certificate.serialNumber
    case 'fingerprint':
      return certificate.fingerprint
    default:
      return name satisfies never
  }
}

export class PskAuthenticator implements Authenticator {
  authenticate({ connection }: Attempt): AuthenticatorResult {
    const username = connection.origin?.pskIdentity
    return username === undefined ? unknownClient : { result: 'accepted', username, isSuperuser: false }
  }
}
