// Sink that appends lines to a file. Each shard has its own file, as it has its own action queue: a file that several threads rotate would
// need a lock for each line.

import { isAbsolute, join, parse } from 'node:path'
import type { ActionsConfig, ConnectorsConfig } from '../../config/index.ts'
import { createCsvRenderer } from '../csv.ts'
import {
  toBytes,
  type NamedValue,
  type Sink,
  type SinkContext,
  type SinkType,
  type ActionEntry,
  type WriteOutcome,
} from '../sink.ts'
import type { AppendOptions, LineFile } from './line-file.ts'
import { releaseFile, acquireFile } from './open-files.ts'

type DiskLogConnector = NamedValue<ConnectorsConfig['disk_log']>
type DiskLogAction = NamedValue<ActionsConfig['disk_log']>

const done: WriteOutcome = { outcome: 'done' }

export const diskLogSinkType: SinkType<DiskLogAction, DiskLogConnector> = {
  findConnectorProblem({ filepath }) {
    if (filepath === undefined) return 'filepath: write the name of a file, such as readings.jsonl'
    if (filepath.endsWith('/')) return `filepath: ${filepath} is the name of a directory`
    if (/\.\d+$/.test(filepath)) return 'filepath: older files have names that end in .1, .2 and so on: choose another'
    return undefined
  },

  findActionProblem({ parameters: { format, template, header } }) {
    if (format === 'csv' && template === undefined)
      return 'parameters.template: write the row, such as "${timestamp},${topic},${payload.value}"'
    return /[\r\n]/.test(header) ? 'parameters.header: the header is one line' : undefined
  },

  createRenderer({ parameters: { format, template } }, compile, allColumns) {
    if (template === undefined) return (data) => ({ payload: Buffer.from(allColumns(data)), attributes: [] })
    if (format === 'csv') {
      const render = createCsvRenderer(template, compile)
      return (data) => ({ payload: render(data), attributes: [] })
    }
    const compiled = compile(template, 'json-if-shaped')
    return (data) => ({ payload: toBytes(compiled.render(data)), attributes: [] })
  },

  findWriteOrder: () => 'calls',
  open: (connector, action, context) => new DiskLogSink(connector, action, context),
}

class DiskLogSink implements Sink {
  readonly #file: LineFile
  readonly #options: AppendOptions
  #isClosed = false

  constructor(connector: DiskLogConnector, action: DiskLogAction, context: SinkContext) {
    this.#file = acquireFile(resolveShardFile(connector.filepath ?? '', context))
    this.#options = {
      maxFileBytes: connector.max_file_size,
      maxFiles: connector.max_file_number,
      header: action.parameters.header,
      timeoutMs: context.requestTimeoutMs,
    }
  }

  async write(batch: readonly ActionEntry[]): Promise<readonly WriteOutcome[]> {
    const lines = batch.map(({ payload }) => payload)
    const problems = await this.#file.append(lines, this.#options)
    return problems.map((why) => (why === undefined ? done : { outcome: 'retry', why }))
  }

  async check(): Promise<string | undefined> {
    const [problem] = await this.#file.append([], this.#options)
    return problem
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    releaseFile(this.#file)
  }
}

/** Returns the file of a shard: `readings.jsonl` for the first shard, `readings-shard1.jsonl` for the next. */
function resolveShardFile(filepath: string, { dataDirectory, shard }: SinkContext): string {
  const path = isAbsolute(filepath) ? filepath : join(dataDirectory, filepath)
  if (shard === 0) return path
  const { dir, name, ext } = parse(path)
  return join(dir, `${name}-shard${shard}${ext}`)
}
