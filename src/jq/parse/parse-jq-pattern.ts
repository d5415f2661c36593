// Parses the patterns of jq, with which `as` takes values apart: `$x`, `[$x, $y]`, `{ a: $x }`.

import type { JqNode, JqPattern } from '../model/jq-syntax.ts'
import type { JqTokenReader } from './jq-token-reader.ts'

/** `parseKey` parses the key of an object, which may be any filter. */
export function parseJqPattern(reader: JqTokenReader, parseKey: () => JqNode): JqPattern {
  return reader.parseNested(() => {
    if (reader.take('[')) {
      const items: JqPattern[] = []
      do items.push(parseJqPattern(reader, parseKey))
      while (reader.take(','))
      reader.expect(']')
      return { kind: 'array', items }
    }
    if (!reader.take('{')) return { kind: 'variable', name: reader.takeVariable() }
    const members: { key: JqNode; pattern: JqPattern }[] = []
    do members.push(parseMember(reader, parseKey))
    while (reader.take(','))
    reader.expect('}')
    return { kind: 'object', members }
  })
}

function parseMember(reader: JqTokenReader, parseKey: () => JqNode): { key: JqNode; pattern: JqPattern } {
  if (reader.peek().kind === 'variable') {
    const name = reader.takeVariable()
    const key: JqNode = { kind: 'literal', value: name }
    return { key, pattern: reader.take(':') ? parseJqPattern(reader, parseKey) : { kind: 'variable', name } }
  }
  const key = parseKey()
  reader.expect(':')
  return { key, pattern: parseJqPattern(reader, parseKey) }
}
