// `godwit deploy ...`: validates resources of Kubernetes, and renders the objects that the operator would create.

import { readFile, stat } from 'node:fs/promises'
import { createCrds, formatFault, manifestLimits, type Fault, type JsonObject } from '../../deploy/index.ts'
import { renderResources, validateText, writeYaml } from '../../manifests/index.ts'
import { describeFileError } from '../../telemetry/index.ts'
import { exitCodes, type TextInput, type Terminal } from '../terminal/terminal.ts'

export interface RenderArguments {
  readonly output: 'yaml' | 'json'
  readonly namespace?: string | undefined
  readonly withSecrets?: true | undefined
}

export interface ValidateArguments {
  readonly previous?: string | undefined
  readonly json?: true | undefined
}

export interface CrdArguments {
  readonly emqx?: true | undefined
  readonly output: 'yaml' | 'json'
}

/** Prints the definitions of the resources. Returns the exit code. */
export function printCrds({ emqx, output }: CrdArguments, terminal: Terminal): number {
  printObjects(createCrds({ isEmqx: emqx === true }), output, terminal)
  return exitCodes.done
}

/** The name of standard input as a file. */
const inputName = '-'

/** Prints the objects of all clusters in the file, or nothing if one resource is invalid. Returns the exit code. */
export async function runRender(file: string, args: RenderArguments, terminal: Terminal): Promise<number> {
  const { namespace, withSecrets, output } = args
  if (namespace !== undefined && !/^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/.test(namespace)) {
    terminal.fail(`--namespace ${namespace}: use at most 63 lower-case letters, digits and -`)
    return exitCodes.wrongUsage
  }
  const read = await readText(file, terminal)
  if ('problem' in read) return terminal.fail(read.problem)
  const { resources, faults, warnings } = validateText(read.text)
  printWarnings(file, warnings, terminal)
  if (faults.length > 0) return printFaults(file, faults, terminal)
  const objects = renderResources(resources, { namespace, withSecrets })
  if (objects.length === 0)
    return terminal.fail(`${file}: there is no cluster: write a GodwitCluster or an EmqxEnterprise`)
  printObjects(objects, output, terminal)
  return exitCodes.done
}

function printObjects(objects: readonly JsonObject[], output: 'yaml' | 'json', terminal: Terminal): void {
  const list = { apiVersion: 'v1', kind: 'List', items: objects }
  terminal.print(output === 'json' ? `${JSON.stringify(list, undefined, 2)}\n` : writeYaml(objects))
}

/** Prints every fault of the resources in the file. Returns the exit code. */
export async function runValidate(file: string, args: ValidateArguments, terminal: Terminal): Promise<number> {
  const read = await readText(file, terminal)
  if ('problem' in read) return terminal.fail(read.problem)
  const previous = args.previous === undefined ? undefined : await readText(args.previous, terminal)
  if (previous !== undefined && 'problem' in previous) return terminal.fail(previous.problem)
  const { faults, warnings } = validateText(read.text, previous?.text)
  const isGood = faults.length === 0
  if (args.json === true) {
    terminal.print(`${JSON.stringify({ file, isGood, faults, warnings })}\n`)
    return isGood ? exitCodes.done : exitCodes.failed
  }
  printWarnings(file, warnings, terminal)
  if (!isGood) return printFaults(file, faults, terminal)
  terminal.print(`${file}: the resources are good\n`)
  return exitCodes.done
}

/** Faults begin with the file, so that editors find their lines. */
function printFaults(file: string, faults: readonly Fault[], terminal: Terminal): number {
  for (const fault of faults) terminal.errors.write(`${formatFault(file, fault)}\n`)
  return exitCodes.failed
}

function printWarnings(file: string, warnings: readonly Fault[], terminal: Terminal): void {
  for (const warning of warnings) terminal.errors.write(`warning: ${formatFault(file, warning)}\n`)
}

type ReadText = { readonly text: string } | { readonly problem: string }

const maxBytes = 4 * manifestLimits.maxTextCharacters

async function readText(file: string, terminal: Terminal): Promise<ReadText> {
  try {
    if (file === inputName) return decodeText(file, await readInput(terminal.input))
    if ((await stat(file)).size > maxBytes) return { problem: describeLongText(file) }
    return decodeText(file, await readFile(file))
  } catch (error) {
    return { problem: `${file}: ${describeFileError(error)}` }
  }
}

/** Returns undefined if there are more bytes than a text may have. */
async function readInput(input: TextInput): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of input) {
    const bytes = Buffer.from(chunk as string | Uint8Array)
    size += bytes.length
    if (size > maxBytes) return undefined
    chunks.push(bytes)
  }
  return Buffer.concat(chunks)
}

function decodeText(file: string, bytes: Buffer | undefined): ReadText {
  if (bytes === undefined) return { problem: describeLongText(file) }
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return { problem: `${file}: the text is not UTF-8: save it as UTF-8` }
  }
}

function describeLongText(file: string): string {
  return `${file}: the text is longer than ${manifestLimits.maxTextCharacters} characters: divide it`
}
