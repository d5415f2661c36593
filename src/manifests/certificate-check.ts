// Checks certificates and keys that a resource has inline.

import { X509Certificate, createPrivateKey, type KeyObject } from 'node:crypto'
import type { CertificateProblem, CertificateTexts } from '../deploy/index.ts'

/** Checks that certificate, key and authorities are PEM, and that certificate and key belong together. */
export function checkCertificate({ certificate, key, authorities }: CertificateTexts): readonly CertificateProblem[] {
  const problems: CertificateProblem[] = []
  const [own, ...intermediate] = readCertificates(certificate) ?? []
  const isChainGood = own !== undefined && intermediate.every((one) => one !== undefined)
  if (!isChainGood)
    problems.push({
      field: 'tls.cert',
      message: 'this is no certificate in PEM',
      hint: 'write the certificate, followed by the intermediate certificates: -----BEGIN CERTIFICATE-----',
    })
  const privateKey = readPrivateKey(key)
  if (privateKey === undefined)
    problems.push({
      field: 'tls.key',
      message: 'this is no private key in PEM without a password',
      hint: 'write the key: -----BEGIN PRIVATE KEY-----',
    })
  if (own !== undefined && privateKey !== undefined && !own.checkPrivateKey(privateKey))
    problems.push({
      field: 'tls.key',
      message: 'the key does not belong to the certificate',
      hint: 'use the key with which the certificate was requested',
    })
  if (authorities !== undefined && readCertificates(authorities)?.every((one) => one !== undefined) !== true)
    problems.push({
      field: 'ca.cert',
      message: 'these are no certificates in PEM',
      hint: 'write the certificates of the authorities: -----BEGIN CERTIFICATE-----',
    })
  return problems
}

const pemBlock = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]*-----END CERTIFICATE-----/g

/** More are no chain. */
const maxCertificates = 1_000

/** Returns the certificates of a text; undefined for each that cannot be read. Undefined: there is none, or there are too many. */
function readCertificates(text: string): readonly (X509Certificate | undefined)[] | undefined {
  const blocks = text.match(pemBlock) ?? []
  return blocks.length === 0 || blocks.length > maxCertificates ? undefined : blocks.map(readCertificate)
}

function readCertificate(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem)
  } catch {
    // OpenSSL reports the reason in terms of its parser, which say nothing about the text.
    return undefined
  }
}

function readPrivateKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem)
  } catch {
    // The error must not be shown: it may contain parts of the key.
    return undefined
  }
}
