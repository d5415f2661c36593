// Objects 0 to 7 of the Open Mobile Alliance [LwM2M 1.1 Core, appendix E]: of which type their resources are. What is not here
// is text where it is text, and octets else.

export type ResourceType = 'String' | 'Integer' | 'Float' | 'Boolean' | 'Opaque' | 'Time' | 'Objlnk'

const letters: Readonly<Record<string, ResourceType>> = {
  s: 'String',
  i: 'Integer',
  f: 'Float',
  b: 'Boolean',
  o: 'Opaque',
  t: 'Time',
  l: 'Objlnk',
}

/** The letter of each resource by its number; `-`: it is executed, or there is none. */
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

export function typeOfResource(objectId: number, resourceId: number): ResourceType | undefined {
  return letters[tables[objectId]?.charAt(resourceId) ?? '']
}
