// The sink for InfluxDB. It sends points in the line protocol, one request per batch.

import type { ActionsConfig, ConnectorsConfig } from '../../config/index.ts'
import {
  toBaseUrl,
  toBasicAuthorization,
  toOutcome,
  findResponseProblem,
  ServiceClient,
} from '../http/service-client.ts'
import { parseHostAndPort, findServerProblem } from '../service-address.ts'
import type { NamedValue, Sink, SinkContext, SinkType, ActionEntry, WriteOutcome } from '../sink.ts'
import { writeByHalves } from '../write-by-halves.ts'
import { LineTemplateError, parseLineTemplates, renderLine } from './line-template.ts'

type InfluxConnector = NamedValue<ConnectorsConfig['influxdb']>
type InfluxAction = NamedValue<ActionsConfig['influxdb']>

const defaultPort = 8_086
const nanosecondsPerMs = 1_000_000n
const perUnit = { ns: 1n, us: 1_000n, ms: nanosecondsPerMs, s: 1_000_000_000n }
const lineBreak = Buffer.from('\n')

export const influxdbSinkType: SinkType<InfluxAction, InfluxConnector> = {
  findConnectorProblem(connector) {
    const { influxdb_type: type, database, bucket, org, token } = connector.parameters
    if (type === 'influxdb_api_v1' && database === undefined) return 'parameters.database: set the name of the database'
    if (type === 'influxdb_api_v2' && (bucket === undefined || org === undefined || token === undefined))
      return 'parameters: influxdb_api_v2 needs bucket, org and token'
    return findServerProblem(connector, defaultPort)
  },

  findActionProblem({ parameters }, compile) {
    try {
      parseLineTemplates(parameters.write_syntax, compile)
      return undefined
    } catch (error) {
      if (error instanceof LineTemplateError) return `parameters.write_syntax: ${error.message}`
      throw error
    }
  },

  createRenderer({ parameters: { write_syntax: text, precision } }, compile) {
    const lines = parseLineTemplates(text, compile)
    const divisor = perUnit[precision]
    return (data, atMs = Date.now()) => {
      // A point without a time would become a second point if it is sent again.
      const now = String((BigInt(Math.floor(atMs)) * nanosecondsPerMs) / divisor)
      return { payload: Buffer.from(lines.map((line) => renderLine(line, data, now)).join('\n')), attributes: [] }
    }
  },

  findWriteOrder: () => 'batch',
  open: (connector, action, context) => new InfluxSink(connector, action, context),
}

class InfluxSink implements Sink {
  readonly #client: ServiceClient
  readonly #path: string

  constructor(connector: InfluxConnector, action: InfluxAction, { requestTimeoutMs }: SinkContext) {
    const { parameters, server, ssl, pool_size: poolSize, connect_timeout: connectTimeoutMs } = connector
    this.#path = formatWritePath(connector, action.parameters.precision)
    this.#client = new ServiceClient({
      base: toBaseUrl(parseHostAndPort(server ?? '', defaultPort), { isSecure: ssl.enable }),
      headers: {
        'content-type': 'text/plain; charset=utf-8',
        ...(parameters.influxdb_type === 'influxdb_api_v2'
          ? { authorization: `Token ${parameters.token ?? ''}` }
          : toBasicAuthorization(parameters.username, parameters.password)),
      },
      ssl,
      poolSize,
      connectTimeoutMs,
      requestTimeoutMs,
    })
  }

  /** A batch may be sent twice: a point with the same name, tags and time replaces the earlier one. */
  write(batch: readonly ActionEntry[]): Promise<readonly WriteOutcome[]> {
    return writeByHalves(batch, async (entries) => {
      const body = Buffer.concat(entries.flatMap(({ payload }) => [payload, lineBreak]))
      return toOutcome(await this.#client.send({ path: this.#path, body }))
    })
  }

  /** Checks that the database exists and that the user may write, with a request that contains no points. */
  async check(): Promise<string | undefined> {
    const result = await this.#client.send({ path: this.#path, body: Buffer.alloc(0) })
    // 400 rejects the missing points: the service has accepted the credentials.
    if ('status' in result && result.status === 400) return undefined
    return findResponseProblem(result)
  }

  close(): void {
    this.#client.close()
  }
}

function formatWritePath({ parameters }: InfluxConnector, precision: 'ns' | 'us' | 'ms' | 's'): string {
  const query = new URLSearchParams()
  if (parameters.influxdb_type === 'influxdb_api_v2') {
    query.set('org', parameters.org ?? '')
    query.set('bucket', parameters.bucket ?? '')
    query.set('precision', precision)
    return `/api/v2/write?${query.toString()}`
  }
  query.set('db', parameters.database ?? '')
  query.set('precision', precision === 'us' ? 'u' : precision === 'ns' ? 'n' : precision)
  return `/write?${query.toString()}`
}
