// A response as JSON text, or in pieces while it is sent, because it may have a million rows.

import { Readable } from 'node:stream'

export class JsonText {
  readonly #head: string
  readonly #rest: AsyncIterable<string> | undefined

  /** `head` and the pieces of `rest` form one JSON value. An error in `rest` aborts the response. */
  constructor(head: string, rest?: AsyncIterable<string>) {
    this.#head = head
    this.#rest = rest
  }

  get body(): string | Readable {
    return this.#rest === undefined
      ? this.#head
      : Readable.from(concatTexts(this.#head, this.#rest), { objectMode: false })
  }
}

async function* concatTexts(head: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield head
  yield* rest
}
