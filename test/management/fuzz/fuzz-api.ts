// Sends malformed requests to the API of a real broker, many at a time. Checks:
//
// - the process runs and none of its shards fails;
// - no response is a 5xx; a refusal is JSON with a code and a message, other responses have the form of their endpoint;
// - a healthy client is served throughout;
// - at the end, memory is as at the beginning, if the broker has time to release it, or else as it was once it had
//   completed the first third of the requests.

import { Agent, request as httpRequest } from 'node:http'
import {
  formatBasicAuthorization,
  type Endpoint,
  reasons,
  resultCodes,
  type Shape,
  compileShape,
} from '../../../src/contract/index.ts'
import { endpoints } from '../../../src/api/endpoints.ts'
import { listPossibleFailures, listPossibleReasons } from '../../../src/contract/documents/possible-failures.ts'
import type { Broker } from '../../e2e/godwit-process.ts'
import { residentMib } from '../../fuzz/fuzz-broker.ts'
import { HealthyClient } from '../../fuzz/healthy-client.ts'
import { Random } from '../../protocol/fuzz/random.ts'
import { sendBroken } from './broken-http.ts'
import { makeRequest, type MadeRequest } from './made-request.ts'
import type { Archive } from './uploads.ts'

/** Pinned settings: requests that changed them could lock out the fuzzer or make each password check take seconds. */
export const fuzzedSettings = [
  'auth.allow_anonymous=true',
  'auth.scram.iterations=4096',
  'mqtt.max_packet_size=2MB',
  'log.level=error',
] as const

export interface ApiFuzzOptions {
  readonly broker: Broker & { readonly url: string }
  /** `name:password` of the administrator. */
  readonly administrator: string
  readonly seed: number
  readonly requests: number
  /** The time that the broker has to return unused memory. Default: none. */
  readonly restSeconds?: number
  readonly report: (line: string) => void
}

export interface ApiFuzzOutcome {
  readonly requests: number
  /** Number of responses with each status; 0: the connection closed without one. */
  readonly statuses: ReadonlyMap<number, number>
  /** One sentence for each kind of fault, for its first occurrence. */
  readonly faults: readonly string[]
  readonly roundTrips: number
  readonly maxRoundTripMs: number
  /** Memory before the first request, after the first third of the requests, and at the end. */
  readonly residentMib: { readonly before: number; readonly warm: number; readonly after: number }
}

const requestsAtOnce = 16
const maxFaults = 40
const warmShare = 1 / 3
const toleratedShare = 1.25
const toleratedMib = 32
/** Round trips of the healthy client after which the broker counts as idle. */
const roundTripsUntilIdle = 40

export async function fuzzApi(options: ApiFuzzOptions): Promise<ApiFuzzOutcome> {
  const healthy = await HealthyClient.connect(options.broker.port, '$healthy/itself')
  const before = residentMib(options.broker.process)
  const run = new FuzzRun(options, healthy, await archiveOf(options))
  try {
    const warmRequests = Math.floor(options.requests * warmShare)
    await run.until(warmRequests)
    const warm = await idleMemory(options, healthy, Infinity)
    await run.until(options.requests)
    // With time to return memory, the base is the memory before the first request; otherwise that after the first third.
    const base = options.restSeconds === undefined ? warm : before
    const maxMib = base * toleratedShare + toleratedMib
    const after = await idleMemory(options, healthy, maxMib)
    if (after > maxMib) run.noteFault('memory', `${base.toFixed(1)} became ${after.toFixed(1)} MiB`)
    noteFaultsInLog(options.broker, run)
    const { statuses } = run
    return { requests: run.made, statuses, faults: run.faults, ...healthy.served, residentMib: { before, warm, after } }
  } finally {
    run.end()
    await healthy.end()
  }
}

/** Returns the memory of the idle broker in MiB. Stops waiting when at most `enoughMib` are used. */
async function idleMemory(
  { broker, restSeconds = 0 }: ApiFuzzOptions,
  healthy: HealthyClient,
  enoughMib: number,
): Promise<number> {
  const untilMs = performance.now() + restSeconds * 1_000
  for (let trip = 0; trip < roundTripsUntilIdle; trip++) await healthy.nextRoundTrip()
  while (residentMib(broker.process) > enoughMib && performance.now() < untilMs) await healthy.nextRoundTrip()
  return residentMib(broker.process)
}

/** Exports an archive of the broker. Most uploads and imports use it. */
async function archiveOf({ broker: { url }, administrator }: ApiFuzzOptions): Promise<Archive> {
  const [name = '', password = ''] = administrator.split(':')
  const headers = { authorization: formatBasicAuthorization(name, password) }
  const made = await fetch(`${url}/api/v5/data/export`, { method: 'POST', headers })
  const { filename } = (await made.json()) as { filename: string }
  const file = await fetch(`${url}/api/v5/data/files/${filename}`, { headers })
  return { filename, bytes: Buffer.from(await file.arrayBuffer()) }
}

function noteFaultsInLog({ process: broker }: Broker, run: FuzzRun): void {
  const bad = broker.soFar
    .split('\n')
    .filter((line) => /shard failed|shard did not start|uncaught|API request failed/i.test(line))
  for (const line of bad.slice(0, maxFaults)) run.noteFault(`log ${line.slice(0, 300)}`, '')
}

const replyShapes = new Map<string, Shape>()
for (const [name, { reply }] of Object.entries<Endpoint>(endpoints)) {
  if (typeof reply === 'object') replyShapes.set(name, compileShape(reply))
}

/** The documented errors of each operation: status with code (version 4) or reason (version 5). */
const documentedErrors = new Map<string, ReadonlySet<string>>()
for (const [name, endpoint] of Object.entries<Endpoint>(endpoints)) {
  const ofCodes = listPossibleFailures(endpoint).map(({ status, code }) => `${status} ${code}`)
  const ofReasons = listPossibleReasons(endpoint).map((reason) => `${reasons[reason].status} ${reason}`)
  documentedErrors.set(name, new Set([...ofCodes, ...ofReasons]))
}

interface ReceivedResponse {
  readonly status: number
  readonly text: string
  readonly type: string
}

class FuzzRun {
  readonly statuses: Map<number, number>
  readonly #options: ApiFuzzOptions
  readonly #healthy: HealthyClient
  readonly #agent: Agent
  readonly #faults: Map<string, string>
  readonly #authorization: string
  readonly #archive: Archive
  made: number

  constructor(options: ApiFuzzOptions, healthy: HealthyClient, archive: Archive) {
    const [name = '', password = ''] = options.administrator.split(':')
    this.#options = options
    this.#healthy = healthy
    this.#archive = archive
    this.#agent = new Agent({ keepAlive: true, maxSockets: requestsAtOnce })
    this.#authorization = formatBasicAuthorization(name, password)
    this.#faults = new Map()
    this.statuses = new Map()
    this.made = 0
  }

  get faults(): string[] {
    return [...this.#faults.values()]
  }

  end(): void {
    this.#agent.destroy()
  }

  /** Notes only the first fault of a kind. */
  noteFault(kind: string, what: string): void {
    if (this.#faults.has(kind) || this.#faults.size >= maxFaults) return
    this.#faults.set(kind, `${kind}: ${what}`)
    this.#options.report(`${kind}: ${what}`)
  }

  async until(requests: number): Promise<void> {
    const one = async (): Promise<void> => {
      while (this.made < requests) await this.#next()
    }
    await Promise.all(Array.from({ length: requestsAtOnce }, one))
  }

  async #next(): Promise<void> {
    const { broker, seed } = this.#options
    const { child } = broker.process
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`seed ${seed}, request ${this.made}: the broker has ended\n${broker.process.soFar.slice(-2_000)}`)
    }
    this.#healthy.throwIfFailed()
    const random = new Random(seed * 1_000_003 + this.made++)
    if (this.made % 5_000 === 0)
      this.#options.report(`${this.made} requests, ${residentMib(broker.process).toFixed(0)} MiB`)
    if (random.oneIn(25)) return this.#sendBroken(random)
    const made = makeRequest(random, { authorization: this.#authorization, archive: this.#archive })
    const response = await this.#send(made)
    this.statuses.set(response.status, (this.statuses.get(response.status) ?? 0) + 1)
    this.#judge(made, response)
  }

  async #sendBroken(random: Random): Promise<void> {
    const response = await sendBroken(Number(new URL(this.#options.broker.url).port), random)
    // 505 is a valid response to an unsupported HTTP version.
    const [, status = '0'] = /^HTTP\/1\.1 (\d+)/.exec(response) ?? []
    if (status.startsWith('5') && status !== '505') this.noteFault(`broken HTTP ${status}`, response.slice(0, 300))
  }

  #judge(made: MadeRequest, { status, text, type }: ReceivedResponse): void {
    const shown = `${made.method} ${made.path.slice(0, 200)} ${String(made.body).slice(0, 200)} -> ${status} ${text.slice(0, 300)}`
    const kind = made.name ?? made.path.slice(0, 40)
    if (status >= 500) this.noteFault(`${status} ${kind}`, shown)
    if (made.method === 'HEAD' || status === 0) return
    if (status >= 400) this.#judgeRefusal(kind, shown, text)
    // With an additional slash, the path may be that of another operation.
    const isAsMeant = made.name !== undefined && !/\/\/(\?|$)/.test(made.path)
    if (status >= 400 && isAsMeant) this.#judgePromise(made.name, { status, shown, text })
    const shape = made.name === undefined ? undefined : replyShapes.get(made.name)
    if (status !== 200 || shape === undefined) return
    const value = type.startsWith('application/json') ? parsed(text) : undefined
    const fault = value === undefined ? { path: '', message: 'is not JSON' } : shape.findFault(value)
    if (fault !== undefined) this.noteFault(`reply of ${kind}`, `${fault.path} ${fault.message}: ${shown}`)
  }

  #judgePromise(name: string, { status, shown, text }: { status: number; shown: string; text: string }): void {
    const { code, reason = code } = (parsed(text) ?? {}) as { code?: number; reason?: unknown }
    // A longer path or another method may not be an operation.
    const isAbsent = code === resultCodes.unknownError.code && (status === 404 || status === 405)
    if (isAbsent || documentedErrors.get(name)?.has(`${status} ${String(reason)}`) === true) return
    this.noteFault(`${name} does not say ${status} ${String(reason)}`, shown)
  }

  #judgeRefusal(kind: string, shown: string, text: string): void {
    const { code, message } = (parsed(text) ?? {}) as { code?: unknown; message?: unknown }
    if (typeof code === 'number' && code > 0 && typeof message === 'string' && message !== '') return
    this.noteFault(`refusal without code and message, ${kind}`, shown)
  }

  #send({ method, path, headers, body }: MadeRequest): Promise<ReceivedResponse> {
    const { promise, resolve } = Promise.withResolvers<ReceivedResponse>()
    const closed = { status: 0, text: '', type: '' }
    const { hostname, port } = new URL(this.#options.broker.url)
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const isRight = headers['authorization'] === this.#authorization && !/auth|login|change_pwd/i.test(path)
    const way = isRight ? { agent: this.#agent } : { agent: false, localAddress: unknownAddress(this.made) }
    const options = { hostname, port, method, path, headers: { ...headers, ...length }, ...way }
    const request = httpRequest(options, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', () => resolve(closed))
      response.on('end', () => {
        const type = response.headers['content-type'] ?? ''
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString(), type })
      })
    })
    // For a body that is too long the broker responds and closes the connection. The client may notice the close first.
    request.on('error', () => resolve(closed))
    request.on('upgrade', (_response, socket) => {
      socket.destroy()
      resolve(closed)
    })
    request.setTimeout(responseTimeoutMs, () => {
      this.noteFault(
        `no response within ${responseTimeoutMs} ms`,
        `${method} ${path.slice(0, 200)} ${String(body).slice(0, 200)}`,
      )
      request.destroy()
    })
    request.end(body)
    return promise
  }
}

const responseTimeoutMs = 20_000

/** Failed logins are delayed for each address. To avoid the delays, each wrong request comes from another loopback address. */
function unknownAddress(number: number): string {
  return `127.1.${(number >> 8) & 0xff}.${number & 0xff}`
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
