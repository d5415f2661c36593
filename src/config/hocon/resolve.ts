// Resolves nodes into values: substitutions are looked up, concatenated, merged.
//
// A definition that is being evaluated is marked. A look-up of its key meanwhile finds the older definitions: so
// `path = ${path}":/bin"` and `+=` work, and a cycle finds nothing.
//
//   a = 1            definitions of a:  [ 1,  ${a}" and more" ]
//   a = ${a}2                             ^ found    ^ marked
//
// Results are not cached between look-ups. Counting steps limits the cost, so that repeated doubling ends in an error instead of
// exhausting the memory.

import { createConfigError, type ConfigError } from './config-errors.ts'
import { assertNever } from './assert-never.ts'
import { hoconLimits } from './hocon-limits.ts'
import type {
  AppendNode,
  ArrayNode,
  ConcatenationNode,
  DefinitionNode,
  GapNode,
  ObjectNode,
  Path,
  ReferenceNode,
} from './nodes.ts'
import { formatScalar, type ConfigObject, type ConfigScalar, type ConfigValue, type Position } from './config-values.ts'

/** Names and values that substitutions may use. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The text is too expensive to resolve. Thrown and caught in this file. */
class ResolveLimitExceeded extends Error {}

/** Resolves everything below `root`. Errors are added to `errors`; the value is complete only if there are none. */
export function resolveDocument(
  root: ObjectNode,
  errors: ConfigError[],
  environment: Environment | undefined,
): ConfigObject {
  const resolver = new Resolver(root, errors, environment)
  try {
    return resolver.resolveObject(root)
  } catch (error) {
    if (!(error instanceof ResolveLimitExceeded)) throw error
    errors.push(
      createConfigError(resolver.lastReference, '', error.message, 'write the values out instead of substituting them'),
    )
    return { kind: 'object', entries: new Map(), at: root.at }
  }
}

/** The definitions of a path, newest first. */
interface Found {
  readonly definitions: DefinitionNode[]
  /** A definition on the path was being evaluated: the path refers to itself. */
  hasLookedBack: boolean
}

class Resolver {
  /** Position of the latest substitution, for the error when resolving stops. */
  lastReference: Position
  readonly #root: ObjectNode
  readonly #errors: ConfigError[]
  readonly #environment: Environment | undefined
  /** Definitions that are being evaluated. */
  readonly #evaluating = new Set<DefinitionNode>()
  /** Definitions through which a path is being followed. */
  readonly #following = new Set<DefinitionNode>()
  /** The reference whose path is being followed. */
  #currentReference: ReferenceNode | undefined = undefined
  #steps = 0
  #chain = 0
  #joinedCharacters = 0

  constructor(root: ObjectNode, errors: ConfigError[], environment: Environment | undefined) {
    this.#root = root
    this.#errors = errors
    this.#environment = environment
    this.lastReference = root.at
  }

  resolveObject(node: ObjectNode): ConfigObject {
    const entries = new Map<string, ConfigValue>()
    for (const [key, definitions] of node.fields) {
      const value = this.#fold(definitions.toReversed())
      if (value !== undefined) entries.set(key, value)
    }
    return { kind: 'object', entries, at: node.at }
  }

  /** Returns the value of definitions, newest first: the newest applies, and objects are merged with older ones. */
  #fold(newestFirst: readonly DefinitionNode[]): ConfigValue | undefined {
    let merged: ConfigObject | undefined
    for (const definition of newestFirst) {
      const value = this.#evaluateDefinition(definition)
      if (value === undefined) continue
      if (value.kind !== 'object') return merged ?? value
      merged = merged === undefined ? value : this.#merge(value, merged)
    }
    return merged
  }

  #evaluateDefinition(definition: DefinitionNode): ConfigValue | undefined {
    this.#evaluating.add(definition)
    this.#enter()
    const value = this.#evaluate(definition)
    this.#chain--
    this.#evaluating.delete(definition)
    return value
  }

  #evaluate(node: DefinitionNode): ConfigValue | undefined {
    switch (node.kind) {
      case 'text':
      case 'number':
      case 'boolean':
      case 'null':
        return node
      case 'object':
        return this.resolveObject(node)
      case 'array':
        return { kind: 'array', items: this.#evaluateItems(node.items), at: node.at }
      case 'reference':
        return this.#evaluateReference(node)
      case 'concatenation':
        return this.#evaluateConcatenation(node)
      case 'append':
        return this.#evaluateAppend(node)
      default:
        return assertNever(node)
    }
  }

  #evaluateItems(items: readonly DefinitionNode[]): ConfigValue[] {
    const values: ConfigValue[] = []
    for (const item of items) {
      const value = this.#evaluateDefinition(item)
      if (value !== undefined) values.push(value)
    }
    return values
  }

  #evaluateReference(node: ReferenceNode): ConfigValue | undefined {
    this.lastReference = node.at
    let hasLookedBack = false
    for (const path of node.paths) {
      this.#currentReference = node
      const found = this.#find(path)
      this.#currentReference = undefined
      hasLookedBack ||= found.hasLookedBack
      const value = this.#fold(found.definitions)
      if (value !== undefined) return { ...value, at: node.at }
    }
    const name = node.paths.at(-1)?.join('.') ?? ''
    const fromOutside = this.#readEnvironment(name)
    if (fromOutside !== undefined) return { kind: 'text', text: fromOutside, at: node.at }
    if (node.isOptional) return undefined
    const message = hasLookedBack ? `\${${name}} leads back to itself` : `\${${name}} is not set anywhere`
    this.#report(node.at, message, `set ${name}, or write \${?${name}} if it may be absent`)
    return undefined
  }

  #readEnvironment(name: string): string | undefined {
    if (this.#environment === undefined || !Object.hasOwn(this.#environment, name)) return undefined
    const value = this.#environment[name]
    return value?.isWellFormed() === true ? value : undefined
  }

  #evaluateAppend(node: AppendNode): ConfigValue | undefined {
    const before = node.path === undefined ? undefined : this.#fold(this.#find(node.path).definitions)
    const items = this.#evaluateItems([node.item])
    if (before === undefined) return { kind: 'array', items, at: node.at }
    if (before.kind !== 'array') {
      this.#report(node.at, `+= adds to a list, but the value so far is ${describeKind(before)}`, 'use =')
      return undefined
    }
    this.#count(before.items.length)
    return { kind: 'array', items: [...before.items, ...items], at: node.at }
  }

  #evaluateConcatenation(node: ConcatenationNode): ConfigValue | undefined {
    const values: (ConfigValue | GapNode)[] = []
    for (const piece of node.pieces) {
      const value = piece.kind === 'gap' ? piece : this.#evaluateDefinition(piece)
      if (value !== undefined) values.push(value)
    }
    const parts = values.filter((value) => value.kind !== 'gap')
    const [first] = parts
    if (first === undefined || parts.length === 1) return first
    if (parts.some((part) => part.kind === 'object')) return this.#joinObjects(parts, node.at)
    if (parts.some((part) => part.kind === 'array')) return this.#joinArrays(parts, node.at)
    return this.#joinTexts(values, node.at)
  }

  #joinObjects(parts: readonly ConfigValue[], at: Position): ConfigValue | undefined {
    let joined: ConfigObject | undefined
    for (const part of parts) {
      if (part.kind !== 'object') return this.#refuseMixture(part, 'an object', at)
      joined = joined === undefined ? part : this.#merge(joined, part)
    }
    return joined === undefined ? undefined : { ...joined, at }
  }

  #joinArrays(parts: readonly ConfigValue[], at: Position): ConfigValue | undefined {
    const items: ConfigValue[] = []
    for (const part of parts) {
      if (part.kind !== 'array') return this.#refuseMixture(part, 'a list', at)
      this.#count(part.items.length)
      for (const item of part.items) items.push(item)
    }
    return { kind: 'array', items, at }
  }

  #joinTexts(parts: readonly (ConfigValue | GapNode)[], at: Position): ConfigValue {
    let text = ''
    for (const part of parts) {
      if (part.kind === 'object' || part.kind === 'array') continue
      text += part.kind === 'gap' ? part.text : formatScalar(part)
    }
    this.#joinedCharacters += text.length
    if (this.#joinedCharacters > hoconLimits.maxJoinedCharacters) {
      throw new ResolveLimitExceeded(`joined texts come to more than ${hoconLimits.maxJoinedCharacters} characters`)
    }
    return { kind: 'text', text, at }
  }

  #refuseMixture(part: ConfigValue, other: string, at: Position): undefined {
    this.#report(
      at,
      `${describeKind(part)} cannot be joined with ${other}`,
      'begin a line or put a comma between two settings',
    )
    return undefined
  }

  #merge(lower: ConfigObject, upper: ConfigObject): ConfigObject {
    this.#count(lower.entries.size + upper.entries.size)
    const entries = new Map(lower.entries)
    for (const [key, value] of upper.entries) {
      const below = entries.get(key)
      entries.set(key, value.kind === 'object' && below?.kind === 'object' ? this.#merge(below, value) : value)
    }
    return { kind: 'object', entries, at: upper.at }
  }

  #find(path: Path): Found {
    const found: Found = { definitions: [], hasLookedBack: false }
    this.#collect([this.#root], path, 0, found)
    return found
  }

  /**
   * Collects the definitions of `path` from `depth` on inside `definitions` (oldest first), newest first. Returns
   * whether a definition hides older ones.
   */
  #collect(definitions: readonly DefinitionNode[], path: Path, depth: number, found: Found): boolean {
    const start = found.definitions.length
    // `a = ${a.b}` refers to an older value of `a.b`, whatever follows it in the text.
    const own =
      this.#currentReference === undefined || depth === path.length
        ? -1
        : definitions.lastIndexOf(this.#currentReference)
    if (own !== -1) found.hasLookedBack = true
    for (let index = (own === -1 ? definitions.length : own) - 1; index >= 0; index--) {
      const definition = definitions[index]
      if (definition === undefined) continue
      this.#count(1)
      const isAtGoal = depth === path.length
      if (isAtGoal ? this.#evaluating.has(definition) : this.#following.has(definition)) {
        found.hasLookedBack = true
        found.definitions.length = start
      } else if (isAtGoal) {
        found.definitions.push(definition)
        if (isOpaque(definition)) return true
      } else if (this.#follow(definition, path, depth, found)) return true
    }
    return false
  }

  /** Follows `path` through one definition. */
  #follow(definition: DefinitionNode, path: Path, depth: number, found: Found): boolean {
    this.#enter()
    const hides = this.#followInto(definition, path, depth, found)
    this.#chain--
    return hides
  }

  #followInto(definition: DefinitionNode, path: Path, depth: number, found: Found): boolean {
    if (definition.kind === 'object') {
      const next = definition.fields.get(path[depth] ?? '')
      return next !== undefined && this.#collect(next, path, depth + 1, found)
    }
    if (isOpaque(definition) || definition.kind === 'append') return true
    this.#following.add(definition)
    const hides =
      definition.kind === 'reference'
        ? this.#followReference(definition, path, depth, found)
        : this.#followPieces(definition, path, depth, found)
    this.#following.delete(definition)
    return hides
  }

  #followReference(node: ReferenceNode, path: Path, depth: number, found: Found): boolean {
    for (const target of node.paths) {
      const before = found.definitions.length
      const hides = this.#collect([this.#root], [...target, ...path.slice(depth)], 0, found)
      if (hides || found.definitions.length > before) return hides
    }
    return false
  }

  #followPieces(node: ConcatenationNode, path: Path, depth: number, found: Found): boolean {
    for (const piece of node.pieces.toReversed()) {
      if (piece.kind === 'gap') continue
      if (this.#follow(piece, path, depth, found)) return true
    }
    return false
  }

  #enter(): void {
    this.#count(1)
    this.#chain++
    if (this.#chain > hoconLimits.maxSubstitutionDepth) {
      throw new ResolveLimitExceeded(
        `substitutions follow each other more than ${hoconLimits.maxSubstitutionDepth} steps deep`,
      )
    }
  }

  #count(steps: number): void {
    this.#steps += steps
    if (this.#steps > hoconLimits.maxSteps)
      throw new ResolveLimitExceeded('the substitutions expand to far more than was written')
  }

  #report(at: Position, message: string, hint: string): void {
    if (this.#errors.length >= hoconLimits.maxErrors) return
    // A definition may be evaluated several times; its error is reported once.
    const isReported = this.#errors.some(
      (error) => error.line === at.line && error.column === at.column && error.file === at.file,
    )
    if (!isReported) this.#errors.push(createConfigError(at, '', message, hint))
  }
}

function isOpaque(node: DefinitionNode): node is ConfigScalar | ArrayNode {
  return (
    node.kind === 'text' ||
    node.kind === 'number' ||
    node.kind === 'boolean' ||
    node.kind === 'null' ||
    node.kind === 'array'
  )
}

function describeKind(value: ConfigValue): string {
  return value.kind === 'array' ? 'a list' : value.kind === 'object' ? 'an object' : 'a single value'
}
