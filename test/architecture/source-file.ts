// Reads one source file: its imports, functions, assertions and global names.

import { parseSync, visitorKeys } from 'oxc-parser'

export interface SourceImport {
  readonly specifier: string
  /** The import is erased when types are stripped. */
  readonly typeOnly: boolean
  readonly line: number
}

export interface SourceFunction {
  readonly name: string
  readonly line: number
  readonly lines: number
  readonly parameters: readonly SourceParameter[]
  /** Calls in its body, with those of functions inside it. */
  readonly calls: readonly SourceCall[]
}

/** A parameter; a name or type that is not a single word is empty. */
export interface SourceParameter {
  readonly name: string
  readonly type: string
}

/** A call of a function by its name; `passed` are the arguments that are single names. */
export interface SourceCall {
  readonly name: string
  readonly passed: readonly string[]
}

export interface NamePosition {
  readonly name: string
  readonly line: number
}

export interface SourceFile {
  /** Path below the root, with forward slashes. */
  readonly path: string
  readonly lines: number
  readonly imports: readonly SourceImport[]
  readonly functions: readonly SourceFunction[]
  /** Every name that is read as a variable or a type: `Date` in `Date.now()`, but not `now`. */
  readonly names: readonly NamePosition[]
  /** `async`, `await` and `Math.random`, which are not single names. */
  readonly constructs: readonly NamePosition[]
  /** Lines of `assert` calls that build a message at every call. */
  readonly costlyAssertions: readonly number[]
  readonly syntaxErrors: readonly string[]
}

interface SyntaxNode {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

const functionTypes = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'])

/** Parses TypeScript or JavaScript; a file that does not parse is reported in `syntaxErrors`, never thrown. */
export function readSource(path: string, text: string): SourceFile {
  const parsed = parseSync(path, text)
  const lineOf = lineCounter(text)
  const file = {
    path,
    lines: countLines(text),
    imports: [] as SourceImport[],
    functions: [] as SourceFunction[],
    names: [] as NamePosition[],
    constructs: [] as NamePosition[],
    costlyAssertions: [] as number[],
    syntaxErrors: parsed.errors.map((error) => error.message),
  }
  walk(parsed.program as unknown as SyntaxNode, undefined, '', (node, parent, key) => {
    const line = lineOf(node.start)
    const imported = importOf(node, line)
    if (imported !== undefined) file.imports.push(imported)
    if (functionTypes.has(node.type) && node['body'] !== null) {
      const lines = lineOf(node.end) - line + 1
      const parameters = (node['params'] as readonly SyntaxNode[]).map(parameterOf)
      file.functions.push({ name: nameOfFunction(node, parent), line, lines, parameters, calls: callsIn(node) })
    }
    if (node.type === 'Identifier' && !isMemberName(parent, key)) file.names.push({ name: String(node['name']), line })
    if (isCostlyAssertion(node)) file.costlyAssertions.push(line)
    const construct = constructOf(node)
    if (construct !== undefined) file.constructs.push({ name: construct, line })
  })
  return file
}

function importOf(node: SyntaxNode, line: number): SourceImport | undefined {
  const source = node['source'] as SyntaxNode | null | undefined
  switch (node.type) {
    case 'ImportDeclaration':
      return { specifier: specifierIn(source), typeOnly: importsTypesOnly(node, 'importKind'), line }
    case 'ExportNamedDeclaration':
    case 'ExportAllDeclaration':
      if (!source) return undefined
      return { specifier: specifierIn(source), typeOnly: importsTypesOnly(node, 'exportKind'), line }
    case 'ImportExpression':
      return { specifier: specifierIn(source), typeOnly: false, line }
    case 'TSImportType':
      return { specifier: specifierIn(source), typeOnly: true, line }
    default:
      return undefined
  }
}

/** Returns the module specifier. A computed specifier is returned as `(computed)`, which no rule allows. */
function specifierIn(source: SyntaxNode | null | undefined): string {
  const specifier = source?.['value']
  return typeof specifier === 'string' ? specifier : '(computed)'
}

function importsTypesOnly(node: SyntaxNode, kindField: 'importKind' | 'exportKind'): boolean {
  if (node[kindField] === 'type') return true
  const specifiers = (node['specifiers'] ?? []) as readonly SyntaxNode[]
  return specifiers.length > 0 && specifiers.every((specifier) => specifier[kindField] === 'type')
}

function constructOf(node: SyntaxNode): string | undefined {
  if (node.type === 'AwaitExpression' || (node.type === 'ForOfStatement' && node['await'] === true)) return 'await'
  if (functionTypes.has(node.type) && node['async'] === true) return 'async'
  if (node.type !== 'MemberExpression') return undefined
  const object = node['object'] as SyntaxNode
  const property = node['property'] as SyntaxNode
  const member = property['name'] ?? property['value']
  return object['name'] === 'Math' && member === 'random' ? 'Math.random' : undefined
}

function isCostlyAssertion(node: SyntaxNode): boolean {
  if (node.type !== 'CallExpression') return false
  const [callee, parts] = [node['callee'] as SyntaxNode, node['arguments'] as readonly SyntaxNode[]]
  const message = parts[1]
  return callee['name'] === 'assert' && message !== undefined && message.type !== 'Literal'
}

/** In `a.process`, `{ process: 1 }` and `interface A { process: string }` `process` is the name of a member, and not read. */
function isMemberName(parent: SyntaxNode | undefined, key: string): boolean {
  if (parent === undefined || parent['computed'] === true) return false
  // In the short form `{ process }` key and value have one position: the value is a name that is read.
  if (key === 'property' || key === 'key' || key === 'label') return true
  return key === 'right' && parent.type === 'TSQualifiedName'
}

function nameOfFunction(node: SyntaxNode, parent: SyntaxNode | undefined): string {
  const own = (node['id'] as SyntaxNode | null)?.['name']
  const given = (parent?.['id'] as SyntaxNode | null | undefined) ?? (parent?.['key'] as SyntaxNode | null | undefined)
  const name = own ?? given?.['name']
  return typeof name === 'string' ? name : '(anonymous)'
}

function parameterOf(node: SyntaxNode): SourceParameter {
  const type = (node['typeAnnotation'] as SyntaxNode | null | undefined)?.['typeAnnotation'] as SyntaxNode | undefined
  const typeName = (type?.['typeName'] as SyntaxNode | undefined)?.['name']
  return {
    name: node.type === 'Identifier' ? String(node['name']) : '',
    type: typeof typeName === 'string' ? typeName : '',
  }
}

function callsIn(functionNode: SyntaxNode): SourceCall[] {
  const calls: SourceCall[] = []
  walk(functionNode, undefined, '', (node) => {
    if (node.type !== 'CallExpression') return
    const callee = (node['callee'] as SyntaxNode)['name']
    const passed = (node['arguments'] as readonly SyntaxNode[]).flatMap((argument) =>
      argument.type === 'Identifier' ? [String(argument['name'])] : [],
    )
    if (typeof callee === 'string') calls.push({ name: callee, passed })
  })
  return calls
}

type Visit = (node: SyntaxNode, parent: SyntaxNode | undefined, key: string) => void

function walk(node: SyntaxNode, parent: SyntaxNode | undefined, key: string, visit: Visit): void {
  visit(node, parent, key)
  for (const childKey of visitorKeys[node.type] ?? []) {
    const child = node[childKey]
    for (const one of Array.isArray(child) ? child : [child]) {
      if (one !== null && typeof one === 'object') walk(one as SyntaxNode, node, childKey, visit)
    }
  }
}

function countLines(text: string): number {
  const breaks = text.split('\n').length
  return text.endsWith('\n') ? breaks - 1 : breaks
}

function lineCounter(text: string): (offset: number) => number {
  const starts = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return (offset) => {
    let low = 0
    let high = starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((starts[middle] ?? 0) <= offset) low = middle
      else high = middle - 1
    }
    return low + 1
  }
}
