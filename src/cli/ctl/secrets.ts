// Reads passwords: hidden from the terminal, or from stdin, one per line. Arguments are not used, because every user of the
// system can read them.

import { createInterface, type Interface } from 'node:readline'
import type { Terminal, TextInput } from '../terminal/terminal.ts'

export interface Secrets {
  /** Reads the next secret, or returns a sentence if there is none. `prompt` names the secret, on the terminal and in that sentence. */
  next(prompt: string): Promise<{ readonly secret: string } | { readonly usage: string }>
  /** Whether the user confirms; undefined: there is no terminal. */
  confirm(prompt: string): Promise<boolean | undefined>
}

/** Maximum length of a password, in UTF-16 code units. */
const maxSecretLength = 65_535

export class InputSecrets implements Secrets {
  readonly #input: TextInput
  readonly #prompts: Terminal['errors']
  #reader: Interface | undefined
  #lines: AsyncIterator<string> | undefined

  constructor({ input, errors }: Terminal) {
    this.#input = input
    this.#prompts = errors
    this.#reader = undefined
    this.#lines = undefined
  }

  /** No more lines are read: an open stdin does not keep the process alive. */
  close(): void {
    this.#reader?.close()
  }

  async next(prompt: string): ReturnType<Secrets['next']> {
    const secret = this.#input.isTTY === true ? await this.#promptUser(prompt) : await this.#nextLine()
    if (secret === undefined || secret === '') return { usage: `${prompt}: stdin is empty` }
    return secret.length > maxSecretLength
      ? { usage: `${prompt}: too long; maximum ${maxSecretLength} characters` }
      : { secret }
  }

  async confirm(prompt: string): Promise<boolean | undefined> {
    if (this.#input.isTTY !== true) return undefined
    this.#prompts.write(`${prompt} (y/N) `)
    return /^y(es)?$/i.test((await this.#nextLine())?.trim() ?? '')
  }

  async #nextLine(): Promise<string | undefined> {
    this.#reader ??= createInterface({ input: this.#input })
    this.#lines ??= this.#reader[Symbol.asyncIterator]()
    const { done, value } = await this.#lines.next()
    return done === true ? undefined : value
  }

  #promptUser(prompt: string): Promise<string | undefined> {
    // Before the prompt, so that the terminal does not show what is typed at once.
    const secret = readHidden(this.#input)
    this.#prompts.write(`${prompt}: `)
    return secret.finally(() => this.#prompts.write('\n'))
  }
}

const [enter, lineFeed, endOfInput, interrupt] = ['\r', '\n', '\u0004', '\u0003']
const backspaces = new Set(['\u0008', '\u007f'])

/** Returns the typed line; undefined if the user cancels. */
function readHidden(input: TextInput): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const typed: string[] = []
  const end = (secret: string | undefined): void => {
    input.off('data', take)
    input.setRawMode?.(false)
    input.pause()
    resolve(secret)
  }
  const take = (chunk: Buffer | string): void => {
    for (const letter of String(chunk)) {
      if (letter === enter || letter === lineFeed) return end(typed.join(''))
      if (letter === interrupt || letter === endOfInput) return end(undefined)
      if (backspaces.has(letter)) typed.pop()
      else typed.push(letter)
    }
  }
  input.setRawMode?.(true)
  input.on('data', take)
  input.resume()
  return promise
}
