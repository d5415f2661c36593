// Signature version 4 of AWS, as S3 and compatible services require it.

import { createHash, createHmac } from 'node:crypto'

export interface Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly region: string
}

export interface UnsignedRequest {
  readonly method: string
  readonly host: string
  /** Encoded, with `/` at the beginning. */
  readonly path: string
  /** Encoded, sorted by name; '': none. */
  readonly query: string
  readonly body: Buffer
  /** Further headers with the prefix `x-amz-`, in lower case, which must be signed. */
  readonly amzHeaders?: Readonly<Record<string, string>>
}

const algorithm = 'AWS4-HMAC-SHA256'
const service = 's3'

/** Returns the headers of the request. `nowMs`: the service refuses requests whose time differs by 15 minutes. */
export function signRequest(request: UnsignedRequest, credentials: Credentials, nowMs: number): Record<string, string> {
  const time = new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d+/g, '')
  const date = time.slice(0, 8)
  const bodyHash = computeSha256(request.body)
  const amzHeaders = { ...request.amzHeaders, 'x-amz-content-sha256': bodyHash, 'x-amz-date': time }
  const sorted = Object.entries(amzHeaders).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const headers = { host: request.host, ...Object.fromEntries(sorted) }
  const names = Object.keys(headers).join(';')
  const headerLines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`)
  const canonical = [request.method, request.path, request.query, headerLines.join(''), names, bodyHash].join('\n')
  const scope = `${date}/${credentials.region}/${service}/aws4_request`
  const toSign = [algorithm, time, scope, computeSha256(canonical)].join('\n')
  const key = [date, credentials.region, service, 'aws4_request'].reduce<Buffer | string>(
    (secret, part) => createHmac('sha256', secret).update(part).digest(),
    `AWS4${credentials.secretAccessKey}`,
  )
  const signature = createHmac('sha256', key).update(toSign).digest('hex')
  const authorization = `${algorithm} Credential=${credentials.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`
  return { ...amzHeaders, authorization }
}

function computeSha256(data: Buffer | string): string {
  return createHash('sha256').update(data).digest('hex')
}

/** Encodes a key for the path of a URL: all characters except letters, digits and -._~/. */
export function encodeKey(key: string): string {
  return key
    .split('/')
    .map((part) =>
      encodeURIComponent(part).replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`),
    )
    .join('/')
}
