// An answer that is JSON already, or becomes it while it is sent: nobody writes a million rows at once.

import { Readable } from 'node:stream'

export class JsonText {
  readonly #head: string
  readonly #rest: AsyncIterable<string> | undefined

  /** `head` and the pieces of `rest` make one JSON value. A fault in `rest` breaks the answer off. */
  constructor(head: string, rest?: AsyncIterable<string>) {
    this.#head = head
    this.#rest = rest
  }

  get body(): string | Readable {
    return this.#rest === undefined ? this.#head : Readable.from(joined(this.#head, this.#rest), { objectMode: false })
  }
}

async function* joined(head: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield head
  yield* rest
}
