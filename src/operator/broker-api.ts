// Requests to the brokers in the pods, with tokens that are valid for a minute.

import { request } from 'node:http'
import { signToken } from '../access/index.ts'
import type { ObservedFiles } from '../deploy/index.ts'

export interface BrokerAddress {
  readonly host: string
  readonly port: number
  /** PEM. */
  readonly privateKey: string
}

export interface BrokerDrain {
  readonly connected: number
  /** Wall clock of the broker; undefined: it is not drained. */
  readonly startedAtMs: number | undefined
}

export interface BrokerReport {
  readonly version: string
  readonly files: ObservedFiles
}

/** The requests that the operator sends to a broker. They reject if it does not respond as expected. */
export interface BrokerApi {
  drain(address: BrokerAddress): Promise<BrokerDrain>
  cancelDrain(address: BrokerAddress): Promise<void>
  readDrain(address: BrokerAddress): Promise<BrokerDrain>
  readReport(address: BrokerAddress): Promise<BrokerReport>
}

const timeoutMs = 10_000
const maxResponseBytes = 1_048_576
const tokenSeconds = 60

export const brokerApi: BrokerApi = {
  drain: async (address) => toDrain(await send(address, 'POST', '/api/v5/drain')),
  cancelDrain: async (address) => {
    await send(address, 'DELETE', '/api/v5/drain')
  },
  readDrain: async (address) => toDrain(await send(address, 'GET', '/api/v5/drain')),
  readReport: async (address) => {
    const { files } = (await send(address, 'GET', '/api/v5/configuration_files')) as {
      readonly files: readonly {
        readonly path: string
        readonly sha256: string | null
        readonly problem: string | null
      }[]
    }
    const [broker] = (await send(address, 'GET', '/api/v4/brokers')) as readonly { readonly version?: string }[]
    const hashes = files.flatMap(({ path, sha256 }) => (sha256 === null ? [] : [[shortenPath(path), sha256] as const]))
    const problems = files.flatMap(({ problem }) => (problem === null ? [] : [problem]))
    return { version: broker?.version ?? '', files: { hashes: new Map(hashes), problems } }
  },
}

/** Returns folder and name. */
function shortenPath(path: string): string {
  return path.split('/').slice(-2).join('/')
}

function toDrain(data: unknown): BrokerDrain {
  const { connected, started_at: startedAtMs } = data as { connected: number; started_at: number | null }
  return { connected, startedAtMs: startedAtMs ?? undefined }
}

/** Resolves with the field `data` of the response. */
async function send({ host, port, privateKey }: BrokerAddress, method: string, path: string): Promise<unknown> {
  const iat = Math.floor(Date.now() / 1_000)
  const signed = await signToken({ sub: 'operator', iat, exp: iat + tokenSeconds }, privateKey)
  if ('problem' in signed) throw new Error(`the key of the operator: ${signed.problem}`)
  const headers = { authorization: `Bearer ${signed.token}` }
  const text = await new Promise<string>((resolve, reject) => {
    const sent = request({ host, port, method, path, headers, timeout: timeoutMs }, (response) => {
      const chunks: Buffer[] = []
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > maxResponseBytes)
          response.destroy(new Error(`the response is larger than ${maxResponseBytes} bytes`))
        else chunks.push(chunk)
      })
      response.on('end', () => {
        const body = Buffer.concat(chunks).toString()
        if (response.statusCode === 200) resolve(body)
        else reject(new Error(`${method} ${path}: ${response.statusCode} ${body.slice(0, 200)}`))
      })
      response.on('error', reject)
    })
    sent.on('timeout', () => sent.destroy(new Error(`no response within ${timeoutMs / 1_000} s`)))
    sent.on('error', reject)
    sent.end()
  })
  return (JSON.parse(text) as { readonly data: unknown }).data
}
