// Prints a command that tries a listener as it is configured: its port, its certificate, its authentication.

import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { ListenerAddress } from '../node/index.ts'

export interface TrialAccess {
  /** Whether the listener accepts clients without a user name. */
  readonly allowsAnonymous: boolean
  /** Whether topics that no rule names are denied. */
  readonly deniesByDefault: boolean
}

/** Undefined where no common client can connect: over QUIC, and through a proxy that speaks the PROXY protocol. */
export function trialCommand(
  listener: ListenerAddress,
  { allowsAnonymous, deniesByDefault }: TrialAccess,
): string | undefined {
  const { kind, host, port, proxyProtocol } = listener
  if (proxyProtocol !== undefined) return undefined
  const reached = isAnyAddress(host) ? 'localhost' : host
  const login = allowsAnonymous ? '' : ' -u NAME -P PASSWORD'
  // Rules allow a filter only if one of them contains it, and none contains all topics.
  const topic = deniesByDefault ? 'TOPIC' : "'#'"
  switch (kind) {
    case 'tcp':
      return `mosquitto_sub -h ${reached} -p ${port}${login} -t ${topic} -v`
    case 'ssl': {
      if (listener.tls.certificate === undefined)
        return `mosquitto_sub -h ${reached} -p ${port} --psk-identity NAME --psk KEY -t ${topic} -v`
      const { name, authority } = shownBy(listener.tls.certificate.certFile, reached)
      return `mosquitto_sub -h ${name} -p ${port} --cafile ${authority}${clientWords(listener.tls)}${login} -t ${topic} -v`
    }
    case 'ws':
      return `npx mqtt sub -l ws -h ${reached} -p ${port} --path ${listener.webSocket.path}${login} -t ${topic} -v`
    case 'wss': {
      const file = listener.tls.certificate?.certFile
      const { name, authority } = file === undefined ? unknownCertificate(reached) : shownBy(file, reached)
      const tls = ` --ca ${authority}${clientWords(listener.tls)}`
      return `npx mqtt sub -l wss -h ${name} -p ${port} --path ${listener.webSocket.path}${tls}${login} -t ${topic} -v`
    }
    case 'quic':
      return undefined
    default:
      return kind satisfies never
  }
}

const isAnyAddress = (host: string): boolean => host === '0.0.0.0' || host === '::'

type TlsWords = Extract<ListenerAddress, { kind: 'ssl' }>['tls']

function clientWords({ failIfNoPeerCertificate }: Pick<TlsWords, 'failIfNoPeerCertificate'>): string {
  return failIfNoPeerCertificate ? ' --cert CERT.pem --key KEY.pem' : ''
}

interface Reached {
  /** A client compares it with the certificate. */
  readonly name: string
  /** File with the authority that a client is to trust. */
  readonly authority: string
}

const unknownCertificate = (reached: string): Reached => ({ name: reached, authority: 'CA.pem' })

/** The name under which the certificate holds for `reached`; a self-signed certificate is its own authority. */
function shownBy(certFile: string, reached: string): Reached {
  const certificate = certificateIn(certFile)
  if (certificate === undefined) return unknownCertificate(reached)
  const authority = certificate.issuer === certificate.subject ? certFile : 'CA.pem'
  if (certificate.checkIP(reached) !== undefined || certificate.checkHost(reached) !== undefined)
    return { name: reached, authority }
  if (isLoopback(reached) && certificate.checkHost('localhost') !== undefined) return { name: 'localhost', authority }
  return { name: firstNameOf(certificate) ?? reached, authority }
}

const isLoopback = (host: string): boolean => host.startsWith('127.') || host === '::1'

/** The broker has read it before it listened; it may be gone since. */
function certificateIn(file: string): X509Certificate | undefined {
  try {
    return new X509Certificate(readFileSync(file))
  } catch {
    return undefined
  }
}

function firstNameOf({ subjectAltName = '', subject }: X509Certificate): string | undefined {
  const [, alternative] = /DNS:([\w.-]+)/.exec(subjectAltName) ?? []
  return alternative ?? /^CN=([\w.-]+)$/m.exec(subject)?.[1]
}
