// YAML of Kubernetes objects. Only this file uses the library: it parses the syntax; the values are read here, as `kubectl` reads them
// (YAML 1.1: `yes` and `on` are true), with limits on everything.

import {
  Composer,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  Parser,
  stringify,
  type Alias,
  type CST,
  type Document,
  type Node,
  type ParsedNode,
} from 'yaml'
import { manifestLimits, type Fault, type JsonObject, type ManifestNode } from '../deploy/index.ts'

export type ParsedText = { readonly documents: readonly ManifestNode[] } | { readonly faults: readonly Fault[] }

/** Parses all documents of a text; empty ones are left out. JSON is YAML. Throws nothing, whatever the text. */
export function parseManifests(text: string): ParsedText {
  const { maxTextCharacters, maxDocuments } = manifestLimits
  if (text.length > maxTextCharacters) {
    const message = `the text has ${text.length} characters; at most ${maxTextCharacters} are read`
    return { faults: [{ path: '', line: 0, message, hint: 'divide it' }] }
  }
  const lines = new LineCounter()
  try {
    const tokens = readTokens(text, lines)
    const composer = createComposer(lines)
    const documents: ManifestNode[] = []
    const reader = new NodeReader(lines)
    let count = 0
    for (const document of composer.compose(tokens)) {
      if (++count > maxDocuments)
        throw new ManifestError(0, `there are more than ${maxDocuments} documents`, 'divide the text')
      const node = reader.readDocument(document)
      if (node !== undefined) documents.push(node)
    }
    if (documents.length === 0) throw new ManifestError(0, 'there is no document', 'write a resource')
    return { documents }
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error
    const { line, message, hint } = error
    return { faults: [{ path: '', line, message, hint }] }
  }
}

/** The library would collect all errors, which are many and slow for a text that is no YAML: the first one ends it. */
function createComposer(lines: LineCounter): Composer {
  const composer = new Composer({ lineCounter: lines, schema: 'failsafe', uniqueKeys: false, logLevel: 'silent' })
  let first: ManifestError | undefined
  const onError = (source: unknown, _code: string, message: string, isWarning?: boolean): void => {
    if (isWarning === true) return
    // The library catches errors in collections and reports them for the collection as well.
    first ??= createSyntaxError(lines.linePos(readOffset(source)).line, message)
    throw first
  }
  return Object.assign(composer, { onError })
}

/** Returns the offset in a source of the library: a number, a pair, or an object with one of them. */
function readOffset(source: unknown): number {
  if (typeof source === 'number') return source
  if (Array.isArray(source)) return readOffset(source[0])
  if (typeof source !== 'object' || source === null) return 0
  const { offset, range } = source as { readonly offset?: unknown; readonly range?: unknown }
  return readOffset(offset ?? range)
}

function createSyntaxError(line: number, message: string): ManifestError {
  const [first = ''] = message.split('\n')
  const words = first.replace(/ at line \d+, column \d+:?$/, '')
  return new ManifestError(line, words.charAt(0).toLowerCase() + words.slice(1), 'correct the YAML')
}

/** The text is no YAML, or exceeds a limit. Thrown and caught in this file. */
class ManifestError extends Error {
  readonly line: number
  readonly hint: string

  constructor(line: number, message: string, hint: string) {
    super(message)
    this.line = line
    this.hint = hint
  }
}

/** Lexemes of one text. An object has about six for each value. */
const maxLexemes = 8 * manifestLimits.maxNodes
/** The parser has up to four open tokens for each level: the document, the collection, and the value after a key. */
const maxOpenTokens = 4 * (manifestLimits.maxDepth + 2)

/** The parser stores its state in a list and the composer is recursive, so both are limited while the text is read. */
function* readTokens(text: string, lines: LineCounter): Generator<CST.Token> {
  const parser = new Parser(lines.addNewLine)
  lines.addNewLine(0)
  let count = 0
  for (const lexeme of new Lexer().lex(text)) {
    if (++count > maxLexemes)
      throw new ManifestError(0, `there are more than ${manifestLimits.maxNodes} values`, 'divide the text')
    yield* parser.next(lexeme)
    if (parser.stack.length > maxOpenTokens) throw createDepthError(0)
  }
  yield* parser.end()
}

function createDepthError(line: number): ManifestError {
  return new ManifestError(
    line,
    `the values are nested more than ${manifestLimits.maxDepth} levels deep`,
    'write fewer levels',
  )
}

interface ReadState {
  /** Nodes that the document may still have. */
  nodesLeft: number
  aliasedLeft: number
}

/** Converts the documents of one text to nodes. */
class NodeReader {
  readonly #lines: LineCounter
  readonly #state: ReadState = { nodesLeft: manifestLimits.maxNodes, aliasedLeft: manifestLimits.maxAliasedNodes }
  /** The latest node of each anchor. */
  readonly #anchors = new Map<string, Node>()

  constructor(lines: LineCounter) {
    this.#lines = lines
  }

  readDocument(document: Document.Parsed): ManifestNode | undefined {
    this.#anchors.clear()
    const [error] = document.errors
    if (error !== undefined) throw createSyntaxError(this.#findLine(error.pos[0]), error.message)
    const { contents } = document
    if (contents === null) return undefined
    const node = this.#read(contents, 0, false)
    return node.kind === 'scalar' && node.value === null ? undefined : node
  }

  #findLine(offset: number): number {
    return this.#lines.linePos(offset).line
  }

  #read(node: Node | ParsedNode | null, depth: number, isAliased: boolean): ManifestNode {
    const state = this.#state
    const line = node?.range === undefined || node.range === null ? 0 : this.#findLine(node.range[0])
    state.nodesLeft--
    if (isAliased) state.aliasedLeft--
    if (state.nodesLeft < 0)
      throw new ManifestError(line, `there are more than ${manifestLimits.maxNodes} values`, 'divide the text')
    if (state.aliasedLeft < 0)
      throw new ManifestError(
        line,
        `the aliases stand for more than ${manifestLimits.maxAliasedNodes} values`,
        'write the values out',
      )
    if (depth > manifestLimits.maxDepth) throw createDepthError(line)
    if (node === null) return { kind: 'scalar', value: null, line }
    if (!isAlias(node) && node.anchor !== undefined && !isAliased) this.#anchors.set(node.anchor, node)
    if (isAlias(node)) return this.#readAlias(node, depth, line)
    if (isMap(node)) return this.#readMap(node, depth, isAliased, line)
    if (isSeq(node))
      return { kind: 'list', items: node.items.map((item) => this.#read(item as Node, depth + 1, isAliased)), line }
    if (isScalar(node)) return { kind: 'scalar', value: readScalar(node, line), line }
    throw new ManifestError(line, 'this is not a value', 'correct the YAML')
  }

  #readAlias(node: Alias, depth: number, line: number): ManifestNode {
    const target = this.#anchors.get(node.source)
    if (target === undefined) throw new ManifestError(line, 'the alias has no anchor', 'write the value out')
    // An alias within its own anchor would be read for ever; the depth ends it.
    return this.#read(target, depth + 1, true)
  }

  #readMap(node: Node, depth: number, isAliased: boolean, line: number): ManifestNode {
    const entries = new Map<string, ManifestNode>()
    const merged = new Map<string, ManifestNode>()
    if (!isMap(node)) return { kind: 'map', entries, line }
    for (const { key, value } of node.items) {
      const keyNode = this.#read(key as Node | null, depth + 1, isAliased)
      if (keyNode.kind !== 'scalar')
        throw new ManifestError(line, 'a key is a list or an object', 'write a text as key')
      const valueNode = this.#read(value as Node | null, depth + 1, isAliased)
      const isMerge = isScalar(key) && key.type === 'PLAIN' && key.source === '<<'
      if (isMerge) this.#merge(valueNode, merged)
      else addEntry(entries, String(keyNode.value), { ...valueNode, line: keyNode.line })
    }
    for (const [key, value] of merged) if (!entries.has(key)) entries.set(key, value)
    return { kind: 'map', entries, line }
  }

  /** `<<` adds the entries of one map or of several; earlier ones have priority. */
  #merge(value: ManifestNode, merged: Map<string, ManifestNode>): void {
    for (const source of value.kind === 'list' ? value.items : [value]) {
      if (source.kind !== 'map') throw new ManifestError(value.line, '<< merges objects only', 'write the values out')
      for (const [key, part] of source.entries) if (!merged.has(key)) merged.set(key, part)
    }
  }
}

function addEntry(entries: Map<string, ManifestNode>, key: string, value: ManifestNode): void {
  if (entries.has(key)) {
    const shown = JSON.stringify(key.length > 60 ? `${key.slice(0, 60)}...` : key)
    throw new ManifestError(value.line, `the key ${shown} is there twice`, 'remove one of them')
  }
  entries.set(key, value)
}

type Scalar = {
  readonly value: unknown
  readonly type?: string | undefined
  readonly tag?: string | undefined
  readonly source?: string | undefined
}

function readScalar(node: Scalar, line: number): string | number | boolean | null {
  const { value, type, tag } = node
  const text = typeof value === 'string' ? value : ''
  if (tag === undefined || tag === '!')
    return type === 'PLAIN' && tag === undefined ? resolvePlainScalar(node.source ?? text) : text
  if (tag === 'tag:yaml.org,2002:str') return text
  throw new ManifestError(line, `the tag ${JSON.stringify(tag.slice(0, 60))} is not known`, 'remove it')
}

const words: ReadonlyMap<string, boolean | null> = new Map<string, boolean | null>([
  ...['', '~', 'null', 'Null', 'NULL'].map((word): [string, null] => [word, null]),
  ...['true', 'True', 'TRUE', 'yes', 'Yes', 'YES', 'on', 'On', 'ON', 'y', 'Y'].map((word): [string, true] => [
    word,
    true,
  ]),
  ...['false', 'False', 'FALSE', 'no', 'No', 'NO', 'off', 'Off', 'OFF', 'n', 'N'].map((word): [string, false] => [
    word,
    false,
  ]),
])

/** Returns the value of a scalar without quotes, as the YAML parser of Kubernetes (go-yaml 2) resolves it. */
export function resolvePlainScalar(text: string): string | number | boolean | null {
  const word = words.get(text)
  if (word !== undefined) return word
  const digits = text.replaceAll('_', '')
  if (/^[-+]?(?:0|[1-9]\d*)$/.test(digits)) return Number(digits)
  const based = /^([-+]?)(0x[\da-fA-F]+|0b[01]+|0o?[0-7]+)$/.exec(digits)
  if (based !== null) {
    const [, sign = '', number = ''] = based
    const value = Number(/^0[0-7]/.test(number) ? `0o${number.slice(1)}` : number)
    return sign === '-' ? -value : value
  }
  if (/^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/.test(digits)) {
    const value = Number(digits)
    return Number.isFinite(value) ? value : text
  }
  return text
}

/** Writes objects as YAML, one document each. Texts that other parsers would read as something else are quoted. */
export function writeYaml(objects: readonly JsonObject[]): string {
  return objects
    .map((object) => `---\n${stringify(object, { version: '1.1', lineWidth: 0, aliasDuplicateObjects: false })}`)
    .join('')
}
