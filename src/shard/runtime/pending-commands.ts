// Runs commands of the core. Each command is an input, and its promise resolves when the core reports the result as an event.

import type { Command, CommandResult, Input, RequestId } from '../../core/index.ts'

export class PendingCommands {
  readonly #handleInput: (input: Input) => void
  readonly #waiting = new Map<RequestId, (result: CommandResult) => void>()
  /** 0 is not used. */
  #last: RequestId = 0

  constructor(input: (input: Input) => void) {
    this.#handleInput = input
  }

  /** Resolves when the result is durable on this and other shards. Never rejects. */
  run(command: Command): Promise<CommandResult> {
    const requestId = ++this.#last
    return new Promise((resolve) => {
      this.#waiting.set(requestId, resolve)
      this.#handleInput({ kind: 'command', requestId, command })
    })
  }

  settle(requestId: RequestId, result: CommandResult): void {
    this.#waiting.get(requestId)?.(result)
    this.#waiting.delete(requestId)
  }
}
