// Certificates of the listeners: what is given inline becomes a Secret of type kubernetes.io/tls.

import type { FaultList } from '../documents/fault-list.ts'
import type { ManifestPath } from '../documents/manifest-node.ts'
import type { CertificateDraft, ListenerDraft } from '../resource/open-ports.ts'

/** PEM texts of a listener. */
export interface CertificateTexts {
  readonly certificate: string
  readonly key: string
  readonly authorities: string | undefined
}

/** What is wrong with one of the texts. */
export interface CertificateProblem {
  readonly field: 'ca.cert' | 'tls.cert' | 'tls.key'
  readonly message: string
  readonly hint: string
}

/** Checks that the texts are PEM, and that key and certificate belong together. */
export type CertificateCheck = (texts: CertificateTexts) => readonly CertificateProblem[]

const fields = ['ca.cert', 'tls.cert', 'tls.key'] as const
type CertificateFieldName = (typeof fields)[number]

/** Returns the bytes of each field in base64: stringData replaces data key by key. */
export function mergeCertificate({
  data = {},
  stringData = {},
}: CertificateDraft): ReadonlyMap<CertificateFieldName, string> {
  return new Map(
    fields.flatMap((field): [CertificateFieldName, string][] => {
      const written = stringData[field] ?? ''
      const value = written === '' ? (data[field] ?? '') : Buffer.from(written, 'utf8').toString('base64')
      return value === '' ? [] : [[field, value]]
    }),
  )
}

/** Checks the certificates that are given inline. */
export function checkCertificates(
  certificates: ListenerDraft['certificate'],
  check: CertificateCheck,
  list: FaultList,
): void {
  for (const name of ['mqtts', 'wss'] as const) {
    const certificate = certificates?.[name]
    if (certificate === undefined) continue
    const path = ['spec', 'emqxTemplate', 'listener', 'certificate', name]
    checkCertificateTexts(certificate, check, path, list)
  }
}

function checkCertificateTexts(
  certificate: CertificateDraft,
  check: CertificateCheck,
  path: ManifestPath,
  list: FaultList,
): void {
  const values = mergeCertificate(certificate)
  if (values.size === 0) return
  const place = (field: CertificateFieldName): ManifestPath => [
    ...path,
    (certificate.stringData?.[field] ?? '') === '' ? 'data' : 'stringData',
    field,
  ]
  const [certificateBytes, keyBytes] = [values.get('tls.cert'), values.get('tls.key')]
  if (certificateBytes === undefined)
    list.addFault(place('tls.cert'), 'the certificate is missing', 'set tls.cert to the certificate, PEM')
  if (keyBytes === undefined)
    list.addFault(place('tls.key'), 'the private key is missing', 'set tls.key to the key, PEM')
  if (certificateBytes === undefined || keyBytes === undefined) return
  const authorities = values.get('ca.cert')
  const problems = check({
    certificate: decodeText(certificateBytes),
    key: decodeText(keyBytes),
    authorities: authorities === undefined ? undefined : decodeText(authorities),
  })
  for (const { field, message, hint } of problems) list.addFault(place(field), message, hint)
}

function decodeText(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8')
}
