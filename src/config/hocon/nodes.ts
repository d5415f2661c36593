// What was written, before it is known what it means. A key holds every definition that was given to it, oldest first,
// since what it comes to depends on what substitutions find:
//
//   object ── fields: key -> [definition, definition, ...]      later ones win; objects merge
//   definition: scalar | array | object | reference | concatenation | append

import { assertNever } from './assert-never.ts'
import type { ConfigScalar, Position } from './values.ts'

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

/** `${path}`. In an included file the path is looked for below the place of the include first, then from the top. */
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

/** `key += item`. `path` leads to the key from the top; undefined inside an array, where nothing older can be meant. */
export interface AppendNode {
  readonly kind: 'append'
  readonly item: DefinitionNode
  readonly path: Path | undefined
  readonly at: Position
}

export type DefinitionNode = ConfigScalar | ObjectNode | ArrayNode | ReferenceNode | ConcatenationNode | AppendNode

/** Whether nothing older than this definition can show through it. */
export function isFinal(node: DefinitionNode): boolean {
  switch (node.kind) {
    case 'text':
    case 'number':
    case 'boolean':
    case 'null':
      return true
    // An array that holds a substitution may look back at what its key was before.
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

/** Gives `key` one more definition; what can be merged at once is. */
export function define(object: ObjectNode, key: string, node: DefinitionNode): void {
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

/** Gives `target` all that `source` holds, as if it had been written below it. */
export function mergeInto(target: ObjectNode, source: ObjectNode): void {
  for (const [key, definitions] of source.fields) {
    for (const definition of definitions) define(target, key, definition)
  }
}
