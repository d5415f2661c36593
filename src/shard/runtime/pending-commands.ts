// What the operator wants of this shard, as promises: begun as an input of the core, and settled by its event.

import type { Command, CommandResult, Input, RequestId } from '../../core/index.ts'

export class PendingCommands {
  readonly #input: (input: Input) => void
  readonly #waiting = new Map<RequestId, (result: CommandResult) => void>()
  /** 0 is what nobody waits for. */
  #last: RequestId = 0

  constructor(input: (input: Input) => void) {
    this.#input = input
  }

  /** Resolves when what the result stands for is true on disk, here and on other shards. Never rejects. */
  run(command: Command): Promise<CommandResult> {
    const question = ++this.#last
    return new Promise((resolve) => {
      this.#waiting.set(question, resolve)
      this.#input({ kind: 'command', question, command })
    })
  }

  settle(question: RequestId, result: CommandResult): void {
    this.#waiting.get(question)?.(result)
    this.#waiting.delete(question)
  }
}
