// Reads `include "file"` in a text, and the included text.

import { quoteForMessage } from './config-errors.ts'
import { hoconLimits } from './hocon-limits.ts'
import { HoconSyntaxError, isBlank, readQuoted } from './read-text.ts'
import type { Reading } from './reading.ts'
import type { TextCursor } from './text-cursor.ts'
import type { Position } from './config-values.ts'

const emptyHint = 'restore it; if it is to have no settings, write a comment, such as "# none"'

/** `include` is an ordinary key unless a file name follows. */
export function startsInclude(cursor: TextCursor): boolean {
  if (!cursor.startsWith('include')) return false
  let ahead = 'include'.length
  while (isBlank(cursor.peek(ahead))) ahead++
  if (cursor.peek(ahead) === '"') return true
  return ['file(', 'required(', 'url(', 'classpath('].some((opening) => cursor.startsWith(opening, ahead))
}

/** Reads an include at the cursor. `openFiles`: files that are being parsed, outermost first. */
export function openInclude(
  cursor: TextCursor,
  reading: Pick<Reading, 'readInclude' | 'includes'>,
  openFiles: readonly string[],
): { readonly text: string; readonly file: string } {
  const at = cursor.findPosition()
  const name = readIncludeName(cursor, at)
  const { readInclude } = reading
  reading.includes++
  if (reading.includes > hoconLimits.maxIncludes)
    throw new HoconSyntaxError(at, `more than ${hoconLimits.maxIncludes} files are included`)
  if (openFiles.length > hoconLimits.maxIncludeDepth) {
    throw new HoconSyntaxError(at, `files include each other more than ${hoconLimits.maxIncludeDepth} deep`)
  }
  if (readInclude === undefined)
    throw new HoconSyntaxError(at, 'files cannot be included here', 'write the settings themselves')
  const found = readInclude(name, cursor.file)
  if ('error' in found) throw new HoconSyntaxError(at, `cannot include ${quoteForMessage(name)}: ${found.error}`)
  // Such as a file that was cut by a full disk: what it denied would be allowed.
  if (found.text.trim() === '')
    throw new HoconSyntaxError(at, `cannot include ${quoteForMessage(name)}: the file is empty`, emptyHint)
  const file = found.file ?? resolveInclude(cursor.file, name)
  if (openFiles.includes(file)) throw new HoconSyntaxError(at, `${quoteForMessage(file)} includes itself`)
  return { text: found.text, file }
}

function readIncludeName(cursor: TextCursor, at: Position): string {
  cursor.skip('include'.length)
  cursor.takeWhile(isBlank)
  let open = 0
  while (cursor.peek() !== '"') {
    const word = cursor.takeWhile((character) => character !== '(' && character !== '\n' && character !== '"')
    if (word === 'url' || word === 'classpath')
      throw new HoconSyntaxError(at, `include ${word}() is not supported`, 'include a file')
    const isKnown = (word === 'required' && open === 0) || word === 'file'
    if (!isKnown || cursor.peek() !== '(')
      throw new HoconSyntaxError(at, 'the include names no file', 'write include "file"')
    cursor.skip()
    cursor.takeWhile(isBlank)
    open++
  }
  const name = readQuoted(cursor)
  for (; open > 0; open--) {
    cursor.takeWhile(isBlank)
    if (cursor.peek() !== ')')
      throw new HoconSyntaxError(at, 'a parenthesis of the include is not closed', 'close it with )')
    cursor.skip()
  }
  return name
}

/** Resolves `name` against the directory of the file `from`. */
function resolveInclude(from: string, name: string): string {
  const directory = from.slice(0, from.lastIndexOf('/') + 1)
  return name.startsWith('/') ? name : directory + name
}
