// What every command speaks through: results on stdout, one line for each problem on stderr, an exit code.

export const exitCodes = { done: 0, failed: 1, wrongUsage: 2 } as const

export interface TextOutput {
  write(text: string): unknown
  /** Of a terminal: people look at it. */
  readonly isTTY?: boolean
}

export class Terminal {
  readonly output: TextOutput
  readonly errors: TextOutput

  constructor(output: TextOutput, errors: TextOutput) {
    this.output = output
    this.errors = errors
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
