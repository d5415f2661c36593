// Prints a command that tries a listener as it is configured: its port, its certificate, its authentication.

import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { BlockList, isIP } from 'node:net'
import type { ListenerAddress } from '../node/index.ts'

export interface TrialAccess {
  /** Whether the listener accepts clients without a user name. */
  readonly allowsAnonymous: boolean
  /** Whether topics that no rule names are denied. */
  readonly deniesByDefault: boolean
}

/** Undefined where no common client can connect: over QUIC, and through a proxy that speaks the PROXY protocol. */
export function formatTrialCommand(
  listener: ListenerAddress,
  { allowsAnonymous, deniesByDefault }: TrialAccess,
): string | undefined {
  const { kind, host, port, proxyProtocol } = listener
  if (proxyProtocol !== undefined) return undefined
  const reached = isAnyAddress(host) ? 'localhost' : host
  const path = 'webSocket' in listener ? quoteShellWord(listener.webSocket.path) : ''
  const login = allowsAnonymous ? '' : ' -u NAME -P PASSWORD'
  // Rules allow a filter only if one of them contains it, and none contains all topics.
  const topic = deniesByDefault ? 'TOPIC' : "'#'"
  switch (kind) {
    case 'tcp':
      return `mosquitto_sub -h ${reached} -p ${port}${login} -t ${topic} -v`
    case 'ssl': {
      if (listener.tls.certificate === undefined)
        return `mosquitto_sub -h ${reached} -p ${port} --psk-identity NAME --psk KEY -t ${topic} -v`
      const { name, authority } = toReached(listener.tls.certificate.certFile, reached)
      return `mosquitto_sub -h ${name} -p ${port} --cafile ${authority}${formatClientOptions(listener.tls)}${login} -t ${topic} -v`
    }
    case 'ws':
      return `npx mqtt sub -l ws -h ${reached} -p ${port} --path ${path}${login} -t ${topic} -v`
    case 'wss': {
      const file = listener.tls.certificate?.certFile
      const { name, authority } = file === undefined ? createDefaultReached(reached) : toReached(file, reached)
      const tls = ` --ca ${authority}${formatClientOptions(listener.tls)}`
      return `npx mqtt sub -l wss -h ${name} -p ${port} --path ${path}${tls}${login} -t ${topic} -v`
    }
    case 'quic':
      return undefined
    default:
      return kind satisfies never
  }
}

const anyAddresses = new BlockList()
anyAddresses.addAddress('0.0.0.0', 'ipv4')
anyAddresses.addAddress('::', 'ipv6')

/** Returns whether the host means all addresses, in any notation: `0.0.0.0`, `::`, `0:0::0`, `::ffff:0.0.0.0`. */
function isAnyAddress(host: string): boolean {
  const [address = ''] = host.split('%')
  const version = isIP(address)
  return version !== 0 && anyAddresses.check(address, version === 4 ? 'ipv4' : 'ipv6')
}

const plainWord = /^[\w@%+=:,./-]+$/

/** A path of a configuration may contain characters that are special in a shell. */
const quoteShellWord = (text: string): string =>
  plainWord.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`

type TlsWords = Extract<ListenerAddress, { kind: 'ssl' }>['tls']

function formatClientOptions({ failIfNoPeerCertificate }: Pick<TlsWords, 'failIfNoPeerCertificate'>): string {
  return failIfNoPeerCertificate ? ' --cert CERT.pem --key KEY.pem' : ''
}

interface Reached {
  /** A client compares it with the certificate. */
  readonly name: string
  /** File with the authority that a client is to trust. */
  readonly authority: string
}

const createDefaultReached = (reached: string): Reached => ({ name: reached, authority: 'CA.pem' })

/** The name under which the certificate holds for `reached`; a self-signed certificate is its own authority. */
function toReached(certFile: string, reached: string): Reached {
  const certificate = readCertificate(certFile)
  if (certificate === undefined) return createDefaultReached(reached)
  const authority = certificate.issuer === certificate.subject ? quoteShellWord(certFile) : 'CA.pem'
  const candidates = isLoopback(reached) ? [reached, ...loopbackNames] : [reached]
  const name = candidates.find((one) => isValidFor(certificate, one)) ?? findFirstName(certificate) ?? reached
  return { name, authority }
}

const loopbackNames = ['localhost', '127.0.0.1', '::1'] as const

const isLoopback = (host: string): boolean => host === 'localhost' || host.startsWith('127.') || host === '::1'

/** `checkIP` throws for anything that is not an address. */
function isValidFor(certificate: X509Certificate, host: string): boolean {
  const [address = ''] = host.split('%')
  return (isIP(address) === 0 ? certificate.checkHost(address) : certificate.checkIP(address)) !== undefined
}

/** The broker has read it before it listened; it may be gone since. */
function readCertificate(file: string): X509Certificate | undefined {
  try {
    return new X509Certificate(readFileSync(file))
  } catch {
    return undefined
  }
}

function findFirstName({ subjectAltName = '', subject }: X509Certificate): string | undefined {
  const [, alternative] = /(?:^|, )DNS:([\w.-]+)(?:,|$)/.exec(subjectAltName) ?? []
  return alternative ?? /^CN=([\w.-]+)$/m.exec(subject)?.[1]
}
