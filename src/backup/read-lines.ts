// Splits a stream of text into lines.

import { InvalidArchive } from '../archives/index.ts'

const newline = 0x0a

/** Yields each line without its line end. Throws InvalidArchive as soon as a line is longer than `maxBytes`. */
export async function* readLines(
  pieces: AsyncIterable<Buffer>,
  { name, maxBytes }: { readonly name: string; readonly maxBytes: number },
): AsyncGenerator<readonly string[]> {
  let begun: Buffer[] = []
  let begunBytes = 0
  let number = 0
  for await (const piece of pieces) {
    const lines: string[] = []
    let start = 0
    for (let end = piece.indexOf(newline); end !== -1; end = piece.indexOf(newline, start)) {
      number++
      if (begunBytes + end - start > maxBytes) throw createTooLongError(name, number, maxBytes)
      const rest = piece.subarray(start, end)
      lines.push((begunBytes === 0 ? rest : Buffer.concat([...begun, rest])).toString('utf8'))
      begun = []
      begunBytes = 0
      start = end + 1
    }
    if (start < piece.length) {
      begun.push(Buffer.from(piece.subarray(start)))
      begunBytes += piece.length - start
      if (begunBytes > maxBytes) throw createTooLongError(name, number + 1, maxBytes)
    }
    if (lines.length > 0) yield lines
  }
  if (begunBytes > 0) throw new InvalidArchive(`the last line of ${name} has no end`)
}

function createTooLongError(name: string, number: number, maxBytes: number): InvalidArchive {
  return new InvalidArchive(`${name}, line ${number} is longer than ${maxBytes} bytes, which no record here can be`)
}
