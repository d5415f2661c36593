// Sends samples to Prometheus, and to other services with its remote write protocol (1.0).

import type { ActionsConfig, ConnectorsConfig } from '../../config/index.ts'
import { findConnectorUrlProblem, findHeadersProblem } from '../http/http-settings-check.ts'
import { toOutcome, findResponseProblem, ServiceClient } from '../http/service-client.ts'
import { MergedWrites } from '../merged-writes.ts'
import type { NamedValue, RuleData, Sink, SinkContext, SinkType, ActionEntry, Template, WriteOutcome } from '../sink.ts'
import { writeByHalves } from '../write-by-halves.ts'
import { compressSnappy } from './compress-snappy.ts'
import { encodeWriteRequest, type Sample } from './write-request.ts'

type PrometheusConnector = NamedValue<ConnectorsConfig['prometheus_remote_write']>
type PrometheusAction = NamedValue<ActionsConfig['prometheus_remote_write']>

const labelForm = /^[A-Za-z_][A-Za-z0-9_]*$/
const metricForm = /^[A-Za-z_:][A-Za-z0-9_:]*$/
const metricLabel = '__name__'
const maxSamplesPerRequest = 2_000
const headers = {
  'content-type': 'application/x-protobuf',
  'content-encoding': 'snappy',
  'x-prometheus-remote-write-version': '0.1.0',
}

export const prometheusSinkType: SinkType<PrometheusAction, PrometheusConnector> = {
  findConnectorProblem: (connector) =>
    findConnectorUrlProblem(connector) ?? findHeadersProblem(connector.headers, 'headers'),

  findActionProblem({ parameters: { metric, labels, value } }) {
    if (metric === '') return 'parameters.metric: write the name of the metric, such as temperature_celsius'
    if (value === '') return 'parameters.value: write the value, such as ${payload.value}'
    const wrong = [...labels.keys()].find((name) => !labelForm.test(name) || name === metricLabel)
    return wrong === undefined
      ? undefined
      : `parameters.labels: ${JSON.stringify(wrong)} is not a label name: use letters, digits and _`
  },

  createRenderer({ parameters: { metric, labels, value, timestamp } }, compile) {
    const names = [...labels].map(([name, text]) => ({ name, template: compile(text) }))
    const [metricTemplate, valueTemplate, timeTemplate] = [compile(metric), compile(value), compile(timestamp)]
    return (data, atMs = Date.now()) => {
      const found = names.flatMap(({ name, template }) => {
        const text = renderLabel(template, data, name)
        // Prometheus treats an empty label as a missing one.
        return text === '' ? [] : [[name, text] as const]
      })
      const sample: Sample = {
        labels: [[metricLabel, renderMetricName(metricTemplate, data)] as const, ...found].toSorted(([a], [b]) =>
          a < b ? -1 : 1,
        ),
        value: renderNumber(valueTemplate, data, 'the value'),
        timestamp: isMissing(timeTemplate, data)
          ? Math.floor(atMs)
          : Math.floor(renderNumber(timeTemplate, data, 'the timestamp')),
      }
      return { payload: Buffer.from(JSON.stringify(sample)), attributes: [] }
    }
  },

  findWriteOrder: () => 'calls',
  open: (connector, _, context) => new PrometheusSink(connector, context),
}

function isMissing(template: Template, data: RuleData): boolean {
  if (template.parts.length === 0) return true
  if (template.parts.length > 1 || typeof template.parts[0] === 'string') return false
  const [value] = template.resolveValues(data)
  return value === undefined || value === null
}

function renderLabel(template: Template, data: RuleData, name: string): string {
  if (isMissing(template, data)) return ''
  const text = template.render(data)
  if (typeof text !== 'string') throw new TypeError(`prometheus: the label ${name} is not valid UTF-8`)
  return text
}

function renderMetricName(template: Template, data: RuleData): string {
  const text = template.render(data)
  if (typeof text === 'string' && metricForm.test(text)) return text
  throw new TypeError(`prometheus: ${JSON.stringify(String(text).slice(0, 80))} is not a metric name`)
}

function renderNumber(template: Template, data: RuleData, subject: string): number {
  const text = template.render(data)
  const value = typeof text === 'string' && text.trim() !== '' ? Number(text) : Number.NaN
  if (Number.isFinite(value)) return value
  throw new TypeError(`prometheus: ${subject} ${JSON.stringify(String(text).slice(0, 40))} is not a number`)
}

class PrometheusSink implements Sink {
  readonly #client: ServiceClient
  /** The service accepts samples of a series only in the order of their times. */
  readonly #writes = new MergedWrites(maxSamplesPerRequest, (entries) => this.#writeAll(entries))

  constructor(connector: PrometheusConnector, { requestTimeoutMs }: SinkContext) {
    const { url, headers: own, ssl, pool_size: poolSize, connect_timeout: connectTimeoutMs } = connector
    this.#client = new ServiceClient({
      base: new URL(url ?? ''),
      headers: { ...Object.fromEntries([...own].map(([name, value]) => [name.toLowerCase(), value])), ...headers },
      ssl,
      poolSize,
      connectTimeoutMs,
      requestTimeoutMs,
    })
  }

  write(batch: readonly ActionEntry[]): Promise<readonly WriteOutcome[]> {
    return this.#writes.write(batch)
  }

  #writeAll(entries: readonly ActionEntry[]): Promise<readonly WriteOutcome[]> {
    const samples = entries.map(({ payload }) => JSON.parse(payload.toString()) as Sample)
    return writeByHalves(samples, async (some) => toOutcome(await this.#send(some)))
  }

  /** Sends a request without samples, to check that the service accepts the protocol. */
  async check(): Promise<string | undefined> {
    return findResponseProblem(await this.#send([]))
  }

  close(): void {
    this.#client.close()
  }

  #send(samples: readonly Sample[]) {
    return this.#client.send({ path: '', body: compressSnappy(encodeWriteRequest(samples)) })
  }
}
