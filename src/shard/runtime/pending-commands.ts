// What the operator wants of this shard, as promises: begun as an input of the core, and settled by its event.

import type { Command, CommandResult, Input, QuestionId } from '../../core/index.ts'

export class Commands {
  readonly #input: (input: Input) => void
  readonly #waiting = new Map<QuestionId, (result: CommandResult) => void>()
  /** 0 is what nobody waits for. */
  #last: QuestionId = 0

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

  settle(question: QuestionId, result: CommandResult): void {
    this.#waiting.get(question)?.(result)
    this.#waiting.delete(question)
  }
}
