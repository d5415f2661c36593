// Names of the tests in a source file, as docs/SECURITY.md lists them.

import { parseSync, Visitor, type Argument, type CallExpression } from 'oxc-parser'

/** Clauses and numbers of bad inputs, at the start of a name. */
const tags = /^(\[[^\]]*\] ?)*/

/**
 * Returns the names of all tests in `text`: `group > group > test`, without clauses, and with `…` for each inserted expression. Tests
 * whose names are in a table are listed by their strings alone.
 */
export function namesInFile(file: string, text: string): ReadonlySet<string> {
  const groups: { readonly end: number; readonly name: string }[] = []
  const names = new Set<string>()
  const add = (start: number, name: string): void => {
    while ((groups.at(-1)?.end ?? Infinity) <= start) groups.pop()
    names.add([...groups.map((group) => group.name), name].join(' > '))
  }
  const ofTests = new Set<number>()
  new Visitor({
    CallExpression: (call) => {
      const kind = kindOf(call)
      const [argument] = call.arguments
      if (kind === undefined || argument === undefined) return
      ofTests.add(argument.start)
      const name = nameIn(argument).replace(tags, '')
      if (kind === 'test') add(call.start, name)
      while ((groups.at(-1)?.end ?? Infinity) <= call.start) groups.pop()
      groups.push({ end: call.end, name })
    },
    Literal: ({ start, value }) => {
      if (typeof value === 'string' && !ofTests.has(start)) names.add(value.replace(tags, ''))
    },
  }).visit(parseSync(file, text).program)
  return names
}

/** A test with steps (`context.test`) is a group of them. */
function kindOf({ callee }: CallExpression): 'describe' | 'test' | undefined {
  const name =
    callee.type === 'Identifier'
      ? callee.name
      : callee.type === 'MemberExpression' && callee.property.type === 'Identifier'
        ? callee.property.name
        : undefined
  return name === 'describe' || name === 'test' ? name : undefined
}

function nameIn(argument: Argument): string {
  if (argument.type === 'Literal') return String(argument.value)
  if (argument.type === 'TemplateLiteral') return argument.quasis.map(({ value }) => value.cooked ?? '').join('…')
  return '…'
}
