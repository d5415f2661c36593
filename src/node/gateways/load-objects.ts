// Loads definitions of LwM2M objects from the directory in `gateway.lwm2m.xml_dir`.

import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type ObjectDefinition, parseObjectDefinition } from '../../gateways/index.ts'
import { describeFileError } from '../../telemetry/index.ts'
import type { Problem } from '../configuration/config-consumers.ts'

const maxFiles = 1_000
const maxFileBytes = 1_048_576

/** A problem names the file. */
export async function loadObjects(
  directory: string | undefined,
): Promise<{ readonly objects: readonly ObjectDefinition[] } | Problem> {
  if (directory === undefined) return { objects: [] }
  const objects: ObjectDefinition[] = []
  try {
    const names = (await readdir(directory)).filter((name) => name.toLowerCase().endsWith('.xml')).toSorted()
    if (names.length > maxFiles) return { problem: `${directory} has more than ${maxFiles} .xml files` }
    for (const name of names) {
      const path = join(directory, name)
      const { size } = await stat(path)
      if (size > maxFileBytes) return { problem: `${path} is larger than ${maxFileBytes} bytes` }
      const parsed = parseObjectDefinition(await readFile(path, 'utf8'))
      if (typeof parsed === 'string') return { problem: `${path} is not a definition of an object: ${parsed}` }
      objects.push(parsed)
    }
  } catch (error) {
    return { problem: `${directory} cannot be read: ${describeFileError(error)}` }
  }
  return { objects }
}
