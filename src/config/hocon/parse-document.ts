// Parses HOCON into nodes. After an error, the parser skips the rest of the line, so that all errors are reported
// together.
//
// Differences from other implementations: a missing include is always an error (a missing file of passwords must not
// mean "no passwords"), `url()` and `classpath()` are refused, and there are limits (limits.ts).

import { createConfigError, quoteForMessage } from './config-errors.ts'
import { hoconLimits } from './hocon-limits.ts'
import {
  addDefinition,
  mergeInto,
  type ArrayNode,
  type DefinitionNode,
  type GapNode,
  type ObjectNode,
  type Path,
  type ReferenceNode,
} from './nodes.ts'
import {
  isBlank,
  isComment,
  readPath,
  readQuoted,
  readUnquoted,
  refuseCharacter,
  skipToNext,
  HoconSyntaxError,
} from './read-text.ts'
import { openInclude, startsInclude } from './read-include.ts'
import type { Reading } from './reading.ts'
import { TextCursor } from './text-cursor.ts'
import { readScalar, type Position } from './config-values.ts'

/** Position of a text in the tree: the root, or the place of an include. */
interface Place {
  /** Path of the object; undefined inside an array. */
  readonly path: Path | undefined
  /** Path of the include; empty in the first text. */
  readonly prefix: Path
  /** Files that are being parsed, outermost first; the last one is this file. */
  readonly openFiles: readonly string[]
  readonly depth: number
}

/** Parses one text. Errors are added to `reading.errors`; the object contains what could be parsed. Throws nothing. */
export function parseDocument(text: string, file: string, reading: Reading): ObjectNode {
  return new DocumentParser(new TextCursor(text, file), reading, []).parse(text.length, {
    path: [],
    prefix: [],
    openFiles: [file],
    depth: 0,
  })
}

class DocumentParser {
  readonly #cursor: TextCursor
  readonly #reading: Reading
  #key: Path

  constructor(cursor: TextCursor, reading: Reading, key: Path) {
    this.#cursor = cursor
    this.#reading = reading
    this.#key = key
  }

  parse(characters: number, context: Place): ObjectNode {
    const root: ObjectNode = { kind: 'object', fields: new Map(), at: this.#cursor.findPosition() }
    this.#reading.characters += characters
    if (this.#reading.characters > hoconLimits.maxTextCharacters) {
      this.#report(new HoconSyntaxError(root.at, `the text is longer than ${hoconLimits.maxTextCharacters} characters`))
      return root
    }
    this.#guard(() => {
      this.#checkEncoding()
      this.#parseRoot(root, context)
    })
    return root
  }

  /** Invalid UTF-8 became this character; a password that was changed so would never match. */
  #checkEncoding(): void {
    const start = this.#cursor.offset
    if (this.#cursor.takeUntil('\uFFFD') === undefined) return
    const at = this.#cursor.findPosition()
    this.#cursor.moveTo(start)
    this.#skipAll()
    throw new HoconSyntaxError(at, 'the file is not UTF-8 text', 'save it as UTF-8')
  }

  #parseRoot(root: ObjectNode, context: Place): void {
    skipToNext(this.#cursor)
    if (this.#cursor.peek() === '[') {
      throw new HoconSyntaxError(
        this.#cursor.findPosition(),
        'the text is a list',
        'a configuration consists of settings: key = value',
      )
    }
    if (this.#cursor.peek() === '{') {
      this.#parseBraces(root, context)
      skipToNext(this.#cursor)
      if (!this.#cursor.isAtEnd)
        throw new HoconSyntaxError(this.#cursor.findPosition(), 'unexpected text after the closing }')
      return
    }
    this.#parseFields(root, context)
    while (!this.#cursor.isAtEnd) {
      if (this.#hasTooManyErrors) return this.#skipAll()
      this.#report(new HoconSyntaxError(this.#cursor.findPosition(), `"${this.#cursor.peek()}" has no opening bracket`))
      this.#cursor.skip()
      this.#parseFields(root, context)
    }
  }

  /** The cursor is at `{`, and afterwards after `}`. */
  #parseBraces(object: ObjectNode, context: Place): void {
    const opened = this.#cursor.findPosition()
    this.#cursor.skip()
    this.#parseFields(object, context)
    if (this.#cursor.peek() === '}') {
      this.#cursor.skip()
      return
    }
    const closer = this.#cursor.peek()
    const instead = closer === '' ? 'has no closing }' : `is closed by "${closer}"`
    throw new HoconSyntaxError(opened, `{ ${instead}`, 'close it with }')
  }

  /** Parses fields up to `}`, `]` or the end of the text. */
  #parseFields(object: ObjectNode, context: Place): void {
    skipToNext(this.#cursor)
    while (!this.#cursor.isAtEnd && this.#cursor.peek() !== '}' && this.#cursor.peek() !== ']') {
      if (this.#hasTooManyErrors) return this.#skipAll()
      const key = this.#key
      this.#guard(() => {
        this.#parseField(object, context)
        this.#endItem()
      })
      this.#key = key
      skipToNext(this.#cursor)
    }
  }

  #parseField(object: ObjectNode, context: Place): void {
    if (startsInclude(this.#cursor)) return this.#parseInclude(object, context)
    const at = this.#cursor.findPosition()
    if (this.#cursor.peek() === ',') throw new HoconSyntaxError(at, 'expected a key, found a comma', 'remove it')
    const path = this.#readKey()
    const whole = context.path === undefined ? undefined : [...context.path, ...path]
    this.#key = whole ?? path
    const inside: Place = { ...context, path: whole, depth: context.depth + path.length }
    this.#checkDepth(inside, at)
    this.#define(object, path, this.#parseFieldValue(inside, at), at)
  }

  #readKey(): Path {
    const start = this.#cursor.peek()
    const path = start === '"' || start === '.' || canStartKey(start) ? readPath(this.#cursor) : undefined
    if (path === undefined) throw refuseCharacter(this.#cursor, 'where a key is expected')
    return path
  }

  /** Parses what follows a key: `= value`, `: value`, `+= value` or `{`. */
  #parseFieldValue(context: Place, at: Position): DefinitionNode {
    const keyEnd = this.#cursor.offset
    skipToNext(this.#cursor)
    if (this.#cursor.peek() === '{') return this.#parseValue(context)
    const appends = this.#cursor.startsWith('+=')
    if (!appends && this.#cursor.peek() !== '=' && this.#cursor.peek() !== ':') throw this.#refuseBareKey(keyEnd, at)
    this.#cursor.skip(appends ? 2 : 1)
    skipToNext(this.#cursor)
    if (!appends) return this.#parseValue(context)
    return { kind: 'append', item: this.#parseValue({ ...context, path: undefined }), path: context.path, at }
  }

  /** Returns the error for a key without a value. The next field is parsed from the end of the key. */
  #refuseBareKey(keyEnd: number, at: Position): HoconSyntaxError {
    this.#cursor.moveTo(keyEnd)
    this.#cursor.takeWhile(isBlank)
    const character = this.#cursor.peek()
    const isEnd = character === '' || ',}]\n'.includes(character) || isComment(this.#cursor)
    return isEnd
      ? new HoconSyntaxError(at, 'the key has no value', 'write key = value')
      : refuseCharacter(this.#cursor, 'in a key')
  }

  #define(object: ObjectNode, path: Path, node: DefinitionNode, at: Position): void {
    let definition = node
    for (let index = path.length - 1; index > 0; index--) {
      definition = { kind: 'object', fields: new Map([[path[index] ?? '', [definition]]]), at }
    }
    addDefinition(object, path[0] ?? '', definition)
  }

  /** Parses a value: one part, or several on one line that are concatenated. */
  #parseValue(context: Place): DefinitionNode {
    const at = this.#cursor.findPosition()
    const pieces: (DefinitionNode | GapNode)[] = []
    let gap = ''
    for (;;) {
      const piece = this.#parsePiece(context, pieces.length === 0)
      if (piece === undefined) break
      if (gap !== '') pieces.push({ kind: 'gap', text: gap })
      pieces.push(piece)
      gap = this.#cursor.takeWhile(isBlank)
    }
    const [only] = pieces
    if (only === undefined || only.kind === 'gap') throw this.#refuseMissingValue(at)
    return pieces.length === 1 ? only : { kind: 'concatenation', pieces, at }
  }

  #refuseMissingValue(at: Position): HoconSyntaxError {
    const character = this.#cursor.peek()
    const isEnd = character === '' || ',}]\n'.includes(character) || isComment(this.#cursor)
    return isEnd
      ? new HoconSyntaxError(at, 'a value is missing', 'write "" for an empty text')
      : refuseCharacter(this.#cursor, 'in a value')
  }

  /** Parses one part of a value; undefined at the end of the value. */
  #parsePiece(context: Place, isFirst: boolean): DefinitionNode | undefined {
    const at = this.#cursor.findPosition()
    const character = this.#cursor.peek()
    if (character === '' || ',}]\n'.includes(character) || isComment(this.#cursor)) return undefined
    this.#countValue(at)
    if (character === '"') return { kind: 'text', text: readQuoted(this.#cursor), at }
    if (character === '{') return this.#parseObject(context, at)
    if (character === '[') return this.#parseArray(context, at)
    if (this.#cursor.startsWith('${')) return this.#parseReference(context, at)
    const text = readUnquoted(this.#cursor)
    if (text === '') throw refuseCharacter(this.#cursor, 'in a value')
    return isFirst && this.#isValueEnd() ? readScalar(text, at) : { kind: 'text', text, at }
  }

  /** Returns whether the value ends here, so that `10` is a number and the `10` of `10 s` is text. */
  #isValueEnd(): boolean {
    let ahead = 0
    while (isBlank(this.#cursor.peek(ahead))) ahead++
    const character = this.#cursor.peek(ahead)
    const isSlashes = character === '/' && this.#cursor.peek(ahead + 1) === '/'
    return character === '' || ',}]\n#'.includes(character) || isSlashes
  }

  #parseObject(context: Place, at: Position): ObjectNode {
    const object: ObjectNode = { kind: 'object', fields: new Map(), at }
    const inside = { ...context, depth: context.depth + 1 }
    this.#checkDepth(inside, at)
    this.#parseBraces(object, inside)
    return object
  }

  #parseArray(context: Place, at: Position): ArrayNode {
    const array: ArrayNode = { kind: 'array', items: [], at }
    const inside: Place = { ...context, path: undefined, depth: context.depth + 1 }
    this.#checkDepth(inside, at)
    this.#cursor.skip()
    skipToNext(this.#cursor)
    while (this.#cursor.peek() !== ']') {
      if (this.#cursor.isAtEnd) throw new HoconSyntaxError(at, '[ has no closing ]', 'close it with ]')
      if (this.#cursor.peek() === '}') throw new HoconSyntaxError(at, '[ is closed by "}"', 'close it with ]')
      if (this.#hasTooManyErrors) {
        this.#skipAll()
        return array
      }
      this.#guard(() => {
        array.items.push(this.#parseValue(inside))
        this.#endItem()
      })
      skipToNext(this.#cursor)
    }
    this.#cursor.skip()
    return array
  }

  /** Skips the comma or line break between two items. */
  #endItem(): void {
    const hasBrokenLine = skipToNext(this.#cursor)
    const character = this.#cursor.peek()
    if (character === ',') this.#cursor.skip()
    else if (!hasBrokenLine && character !== '' && character !== '}' && character !== ']') {
      throw new HoconSyntaxError(
        this.#cursor.findPosition(),
        `expected a comma or a new line, found ${quoteForMessage(character)}`,
      )
    }
  }

  #parseReference(context: Place, at: Position): ReferenceNode {
    this.#cursor.skip(2)
    const isOptional = this.#cursor.peek() === '?'
    if (isOptional) this.#cursor.skip()
    const path = this.#cursor.peek() === '}' ? [] : readPath(this.#cursor)
    if (this.#cursor.peek() !== '}') throw new HoconSyntaxError(at, '${ has no closing }', 'write ${key} or ${?key}')
    this.#cursor.skip()
    if (path.length === 0) throw new HoconSyntaxError(at, '${} names no setting', 'write ${key} or ${?key}')
    if (path.length > hoconLimits.maxDepth) throw refuseDepth(at)
    const paths = context.prefix.length === 0 ? [path] : [[...context.prefix, ...path], path]
    return { kind: 'reference', paths, isOptional, at }
  }

  #parseInclude(object: ObjectNode, context: Place): void {
    const { text, file } = openInclude(this.#cursor, this.#reading, context.openFiles)
    const parser = new DocumentParser(new TextCursor(text, file), this.#reading, this.#key)
    const path = context.path
    const inside = { path, prefix: path ?? [], openFiles: [...context.openFiles, file], depth: context.depth }
    mergeInto(object, parser.parse(text.length, inside))
  }

  #checkDepth(context: Place, at: Position): void {
    if (context.depth > hoconLimits.maxDepth) throw refuseDepth(at)
  }

  #countValue(at: Position): void {
    this.#reading.values++
    if (this.#reading.values <= hoconLimits.maxValues) return
    this.#skipAll()
    throw new HoconSyntaxError(at, `there are more than ${hoconLimits.maxValues} values`)
  }

  get #hasTooManyErrors(): boolean {
    return this.#reading.errors.length >= hoconLimits.maxErrors
  }

  #skipAll(): void {
    while (!this.#cursor.isAtEnd) this.#cursor.skip(hoconLimits.maxTextCharacters)
  }

  /** Runs `read`; after an error in the text the rest of its line is skipped. */
  #guard(read: () => void): void {
    try {
      read()
    } catch (error) {
      if (!(error instanceof HoconSyntaxError)) throw error
      this.#report(error)
      skipInvalidItem(this.#cursor)
    }
  }

  #report(error: HoconSyntaxError): void {
    if (this.#hasTooManyErrors) return
    this.#reading.errors.push(createConfigError(error.at, this.#key.join('.'), error.message, error.hint))
  }
}

function canStartKey(character: string): boolean {
  return character !== '' && !/[$"{}[\]:=,+#`^?!@*&\\\p{Cc}]/u.test(character)
}

/** Skips the rest of the line, but not the closing bracket around the invalid item. */
function skipInvalidItem(cursor: TextCursor): void {
  let open = 0
  let isQuoted = false
  cursor.takeWhile((character) => {
    if (character === '"') isQuoted = !isQuoted
    if (isQuoted) return character !== '\n'
    if (character === '{' || character === '[') open++
    else if (character === '}' || character === ']') open--
    return open >= 0 && character !== '\n'
  })
}

function refuseDepth(at: Position): HoconSyntaxError {
  return new HoconSyntaxError(at, `values are nested more than ${hoconLimits.maxDepth} levels deep`)
}
