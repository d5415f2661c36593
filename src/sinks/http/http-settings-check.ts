// Checks the settings of services over HTTP.

import { isPeerVerified } from '../../config/index.ts'
import type { TlsSettings } from '../service-address.ts'
import { findDialFilesProblem } from '../../transports/index.ts'

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
/** Headers that the broker sets itself, because they describe the body and the connection. */
const ownHeaders = ['content-length', 'transfer-encoding', 'host', 'connection', 'keep-alive', 'upgrade', 'expect']

/** Returns a problem, which begins with `setting`. */
export function findHeadersProblem(headers: ReadonlyMap<string, string>, setting: string): string | undefined {
  for (const name of headers.keys()) {
    if (!headerName.test(name)) return `${setting}: ${JSON.stringify(name)} is not the name of a header`
    if (ownHeaders.includes(name.toLowerCase())) return `${setting}: ${name} is set by the broker`
  }
  return undefined
}

/** Returns why the URL of a connector is invalid. The text begins with the name of the setting. */
export function findConnectorUrlProblem({
  url: text,
  ssl,
}: {
  readonly url: string | undefined
  readonly ssl: TlsSettings
}) {
  if (text === undefined) return 'url: an HTTP connector needs a url'
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return 'url: write http://host:port/path'
  const files = url.protocol === 'https:' ? findDialFilesProblem(toDialFiles(ssl)) : undefined
  return files === undefined ? undefined : `ssl.${files}`
}

function toDialFiles(ssl: TlsSettings) {
  return {
    verifyPeer: isPeerVerified(ssl),
    caFile: omitEmpty(ssl.cacertfile),
    certFile: omitEmpty(ssl.certfile),
    keyFile: omitEmpty(ssl.keyfile),
    keyPassword: omitEmpty(ssl.key_password),
  }
}

function omitEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text
}
