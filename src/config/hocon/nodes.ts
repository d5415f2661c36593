// The parsed text before substitutions are resolved. A key has all its definitions, oldest first, because its value depends on what
// substitutions find:
//
//   object ── fields: key -> [definition, definition, ...]      later ones win; objects merge
//   definition: scalar | array | object | reference | concatenation | append

import { assertNever } from './assert-never.ts'
import type { ConfigScalar, Position } from './config-values.ts'

export type Path = readonly string[]

export interface ObjectNode {
  readonly kind: 'object'
  readonly fields: Map<string, DefinitionNode[]>
  readonly at: Position
}

export interface ArrayNode {
  readonly kind: 'array'
  readonly items: DefinitionNode[]
  readonly at: Position
}

/** `${path}`. In an included file the path is searched below the position of the include first, then from the root. */
export interface ReferenceNode {
  readonly kind: 'reference'
  readonly paths: readonly Path[]
  readonly isOptional: boolean
  readonly at: Position
}

/** Blanks between two parts of a value: kept between texts, dropped between objects or arrays. */
export interface GapNode {
  readonly kind: 'gap'
  readonly text: string
}

export interface ConcatenationNode {
  readonly kind: 'concatenation'
  readonly pieces: readonly (DefinitionNode | GapNode)[]
  readonly at: Position
}

/** `key += item`. `path` is that of the key; undefined inside an array, where no older value exists. */
export interface AppendNode {
  readonly kind: 'append'
  readonly item: DefinitionNode
  readonly path: Path | undefined
  readonly at: Position
}

export type DefinitionNode = ConfigScalar | ObjectNode | ArrayNode | ReferenceNode | ConcatenationNode | AppendNode

/** Returns whether older definitions have no effect. */
export function isFinal(node: DefinitionNode): boolean {
  switch (node.kind) {
    case 'text':
    case 'number':
    case 'boolean':
    case 'null':
      return true
    // A substitution in an array may refer to an older value of its key.
    case 'array':
      return node.items.every(isFinal)
    case 'object':
    case 'reference':
    case 'concatenation':
    case 'append':
      return false
    default:
      return assertNever(node)
  }
}

/** Adds a definition to `key`; merges it if possible. */
export function addDefinition(object: ObjectNode, key: string, node: DefinitionNode): void {
  const definitions = object.fields.get(key)
  if (definitions === undefined) {
    object.fields.set(key, [node])
    return
  }
  const newest = definitions.at(-1)
  if (node.kind === 'object' && newest?.kind === 'object') {
    mergeInto(newest, node)
  } else if (node.kind === 'append' && newest?.kind === 'array' && isFinal(node.item)) {
    newest.items.push(node.item)
  } else if (isFinal(node)) {
    definitions.splice(0, definitions.length, node)
  } else {
    definitions.push(node)
  }
}

/** Adds all of `source` to `target`, as if it was written after it. */
export function mergeInto(target: ObjectNode, source: ObjectNode): void {
  for (const [key, definitions] of source.fields) {
    for (const definition of definitions) addDefinition(target, key, definition)
  }
}
