// What goes on at the broker while a command waits for it: a line for each part, and on a terminal how far it is.

import type { ApiClient, Result } from '../../contract/index.ts'

export interface ProgressOutput {
  /** People look at it: a line may be written over. */
  readonly isForPeople: boolean
  write(text: string): void
}

const refreshMs = 150
const clearLine = '\r\u001b[2K'
const barWidth = 24

export class ProgressLines {
  readonly #output: ProgressOutput
  readonly #client: Pick<ApiClient, 'get_backup_progress'>
  readonly #wordsOf: (part: string) => string | undefined
  readonly #said = new Set<string>()

  constructor(
    output: ProgressOutput,
    client: Pick<ApiClient, 'get_backup_progress'>,
    wordsOf: (part: string) => string | undefined,
  ) {
    this.#output = output
    this.#client = client
    this.#wordsOf = wordsOf
  }

  /** Of parts that ended before the first look. */
  sayRest(parts: readonly string[]): void {
    for (const part of parts) this.#showPart(part)
  }

  #showPart(part: string): void {
    const words = this.#said.has(part) ? undefined : this.#wordsOf(part)
    this.#said.add(part)
    if (words !== undefined) this.say(words)
  }

  say(line: string): void {
    this.#output.write(`${this.#output.isForPeople ? clearLine : ''}${line}\n`)
  }

  /** Tells of the work of the broker until it has answered. */
  async follow<Reply>(asked: Promise<Result<Reply>>): Promise<Result<Reply>> {
    const state = { isOver: false }
    const over = asked.finally(() => (state.isOver = true))
    // The caller that awaits the response reports its errors.
    over.catch(() => {})
    while (!state.isOver) {
      await Promise.race([over, new Promise((resolve) => setTimeout(resolve, refreshMs).unref())])
      if (!state.isOver) await this.#refresh()
    }
    if (this.#output.isForPeople) this.#output.write(clearLine)
    return over
  }

  async #refresh(): Promise<void> {
    const found = await this.#client.get_backup_progress()
    if ('failure' in found || found.reply.data === null) return
    const { part, done, total } = found.reply.data
    this.#showPart(part)
    if (this.#output.isForPeople && part !== '') this.#output.write(`${clearLine}${barOf(done, total)} ${part} ${done}`)
  }
}

/** A moving bar, if the total is unknown. */
function barOf(done: number, total: number | null): string {
  if (total === null) {
    const at = Math.floor(Date.now() / refreshMs) % barWidth
    return `[${' '.repeat(at)}#${' '.repeat(barWidth - at - 1)}]`
  }
  const full = total === 0 ? barWidth : Math.min(barWidth, Math.round((done / total) * barWidth))
  return `[${'#'.repeat(full)}${' '.repeat(barWidth - full)}]`
}
