// What every command speaks through: results on stdout, one line for each problem on stderr, an exit code.

import { Readable } from 'node:stream'
import type { ReadStream } from 'node:tty'

export const exitCodes = { done: 0, failed: 1, wrongUsage: 2 } as const

export interface TextOutput {
  write(text: string): unknown
  /** Of a terminal: people look at it. */
  readonly isTTY?: boolean
}

/** What is read from: a terminal, a pipe or a file. */
export type TextInput = NodeJS.ReadableStream & Partial<Pick<ReadStream, 'isTTY' | 'setRawMode'>>

export class Terminal {
  readonly output: TextOutput
  readonly errors: TextOutput
  readonly input: TextInput

  constructor(output: TextOutput, errors: TextOutput, input: TextInput = Readable.from([])) {
    this.output = output
    this.errors = errors
    this.input = input
  }

  /** People read what is said, and no program. */
  get isForPeople(): boolean {
    return this.output.isTTY === true
  }

  say(text: string): void {
    this.output.write(text)
  }

  /** One line for each problem. Gives the exit code of what failed. */
  fail(...problems: readonly string[]): number {
    for (const problem of problems) this.errors.write(`godwit: ${problem}\n`)
    return exitCodes.failed
  }
}
