// Resource types of objects 0 to 7 of the Open Mobile Alliance [LwM2M 1.1 Core, appendix E]. Unknown resources are text
// if they are UTF-8, otherwise bytes.

import type { ObjectDefinition } from './object-definition.ts'
import type { ObjectPath } from './lwm2m-path.ts'
import type { ResourceType } from './resource-type.ts'

const letters: Readonly<Record<string, ResourceType>> = {
  s: 'String',
  i: 'Integer',
  f: 'Float',
  b: 'Boolean',
  o: 'Opaque',
  t: 'Time',
  l: 'Objlnk',
}

/** The letter of each resource by its number; `-`: executable or not defined. */
const tables: readonly string[] = [
  // Security
  'sbioooioosiiiisiil',
  // Server
  'iiii-ibs--litiibbiiiissb',
  // Access control
  'iiii',
  // Device
  'ssss--iiiiii-tssssssiil',
  // Connectivity monitoring
  'iiiissisiiiii',
  // Firmware update
  'os-ibissii',
  // Location
  'ffffotf',
  // Connectivity statistics
  'iiiiii--i',
]

/** Built-in definitions and configured ones, which replace built-in ones. */
export class ObjectDefinitions {
  readonly #added: ReadonlyMap<number, ObjectDefinition>

  constructor(added: readonly ObjectDefinition[] = []) {
    this.#added = new Map(added.map((definition) => [definition.id, definition]))
  }

  /** Undefined: unknown. */
  findType([object = -1, , resource = -1]: ObjectPath): ResourceType | undefined {
    const added = this.#added.get(object)
    if (added !== undefined) return added.types.get(resource)
    return letters[tables[object]?.charAt(resource) ?? '']
  }
}
