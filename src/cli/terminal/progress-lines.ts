// Shows the progress of the broker while a command waits: one line for each part, and on a terminal a bar.

import type { Result } from '../../contract/index.ts'
import type { ApiClient } from '../../api/endpoints.ts'

export interface ProgressOutput {
  /** The output is a terminal: a line can be overwritten. */
  readonly isTerminal: boolean
  write(text: string): void
}

const refreshMs = 150
const clearLine = '\r\u001b[2K'
const barWidth = 24

export class ProgressLines {
  readonly #output: ProgressOutput
  readonly #client: Pick<ApiClient, 'get_backup_progress'>
  readonly #formatPart: (part: string) => string | undefined
  readonly #shown = new Set<string>()

  constructor(
    output: ProgressOutput,
    client: Pick<ApiClient, 'get_backup_progress'>,
    textOf: (part: string) => string | undefined,
  ) {
    this.#output = output
    this.#client = client
    this.#formatPart = textOf
  }

  /** Prints the parts that ended before the first request for progress. */
  printRemaining(parts: readonly string[]): void {
    for (const part of parts) this.#showPart(part)
  }

  #showPart(part: string): void {
    const text = this.#shown.has(part) ? undefined : this.#formatPart(part)
    this.#shown.add(part)
    if (text !== undefined) this.print(text)
  }

  print(line: string): void {
    this.#output.write(`${this.#output.isTerminal ? clearLine : ''}${line}\n`)
  }

  /** Shows progress until `call` is complete, and returns its result. */
  async follow<Reply>(call: Promise<Result<Reply>>): Promise<Result<Reply>> {
    const state = { isOver: false }
    const over = call.finally(() => (state.isOver = true))
    // The caller that awaits the response reports its errors.
    over.catch(() => {})
    while (!state.isOver) {
      await Promise.race([over, new Promise((resolve) => setTimeout(resolve, refreshMs).unref())])
      if (!state.isOver) await this.#refresh()
    }
    if (this.#output.isTerminal) this.#output.write(clearLine)
    return over
  }

  async #refresh(): Promise<void> {
    const found = await this.#client.get_backup_progress()
    if ('failure' in found || found.reply.data === null) return
    const { part, done, total } = found.reply.data
    this.#showPart(part)
    if (this.#output.isTerminal && part !== '')
      this.#output.write(`${clearLine}${formatBar(done, total)} ${part} ${done}`)
  }
}

/** A moving bar, if the total is unknown. */
function formatBar(done: number, total: number | null): string {
  if (total === null) {
    const at = Math.floor(Date.now() / refreshMs) % barWidth
    return `[${' '.repeat(at)}#${' '.repeat(barWidth - at - 1)}]`
  }
  const full = total === 0 ? barWidth : Math.min(barWidth, Math.round((done / total) * barWidth))
  return `[${'#'.repeat(full)}${' '.repeat(barWidth - full)}]`
}
